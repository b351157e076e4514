/* SPDX-License-Identifier: Apache-2.0 */
/* The table behind the functions that the preload library exports. */
#ifndef CAPTURE_OPENCL_DOOR_PRELOAD_H
#define CAPTURE_OPENCL_DOOR_PRELOAD_H

#include <stdatomic.h>
#include <stddef.h>

#include "capture/opencl/cl.h"

#define OCL_PRELOAD_ENTRIES (sizeof(cl_icd_dispatch) / sizeof(void *))

/* By index of the dispatch table; NULL: not exported. */
extern const char *const ocl_preload_names[OCL_PRELOAD_ENTRIES];

/* Where each exported function goes; NULL until the first call of any of them. */
extern void *_Atomic ocl_preload_table[OCL_PRELOAD_ENTRIES];

/* Opens the door and says where to go. */
void *ocl_preload_resolve(size_t entry);

static inline void *ocl_preload_entry(size_t entry)
{
	void *function = atomic_load_explicit(&ocl_preload_table[entry], memory_order_acquire);

	return __builtin_expect(function != NULL, 1) ? function : ocl_preload_resolve(entry);
}

#endif
