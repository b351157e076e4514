/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel's launch says about it, for launches at once and for those recorded for later. */
#ifndef CAPTURE_OPENCL_DISPATCH_H
#define CAPTURE_OPENCL_DISPATCH_H

#include <string.h>

#include "capture/opencl/queue.h"

static inline void ocl_dispatch_kernel(struct ocl_work *w, uint32_t kernel)
{
	w->what = OCL_WORK_DISPATCH;
	w->kernel = kernel;
	w->dims = 1;
	memset(w->global, 0, sizeof(w->global));
	memset(w->local, 0, sizeof(w->local));
	memset(w->offset, 0, sizeof(w->offset));
}

/* What is NULL stays as it was. */
static inline void ocl_dispatch_sizes(struct ocl_work *w, const size_t *offset,
				      const size_t *global, const size_t *local)
{
	for (unsigned i = 0; i < w->dims; i++) {
		w->global[i] = global ? global[i] : w->global[i];
		w->local[i] = local ? local[i] : w->local[i];
		w->offset[i] = offset ? offset[i] : w->offset[i];
	}
}

static inline void ocl_dispatch_dims(struct ocl_work *w, cl_uint dims)
{
	w->dims = (uint8_t)(dims > 3 ? 3 : dims);
}

#endif
