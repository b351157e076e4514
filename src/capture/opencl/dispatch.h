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
	memset(w->size, 0, sizeof(w->size));
}

/* What is NULL stays as it was. */
static inline void ocl_dispatch_sizes(struct ocl_work *w, const size_t *offset,
				      const size_t *global, const size_t *local)
{
	for (unsigned i = 0; i < w->dims; i++) {
		w->size[i].global = global ? global[i] : w->size[i].global;
		w->size[i].local = local ? local[i] : w->size[i].local;
		w->size[i].offset = offset ? offset[i] : w->size[i].offset;
	}
}

static inline void ocl_dispatch_dims(struct ocl_work *w, cl_uint dims)
{
	w->dims = (uint8_t)(dims > 3 ? 3 : dims);
}

#endif
