/* SPDX-License-Identifier: Apache-2.0 */
/* Memory as copies need it: what an object or an address is, and what is mapped where. */
#ifndef CAPTURE_OPENCL_MEMORY_H
#define CAPTURE_OPENCL_MEMORY_H

#include "capture/opencl/backend.h"
#include "core/activity/memory.h"

/* The memory object of a handle, learnt without an allocation record if need be, or NULL. */
struct ocl_mem *ocl_mem_get(cl_mem mem);

/* An SVM or USM allocation; id 0: the address is in none, so it is the host's. */
struct cap_memory ocl_range_of(const void *address);

/* Remembers how much a mapping moves, and how much its unmapping moves back. */
void ocl_map_add(const void *object, const void *address, uint64_t bytes);
uint64_t ocl_map_take(const void *object, const void *address);

void ocl_memory_fork_child(void);

#endif
