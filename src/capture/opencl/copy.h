/* SPDX-License-Identifier: Apache-2.0 */
/* What a copy moves from where to where, for copies at once and for those recorded for later. */
#ifndef CAPTURE_OPENCL_COPY_H
#define CAPTURE_OPENCL_COPY_H

#include "capture/opencl/queue.h"

/* One end of a copy. */
struct ocl_end {
	uint32_t agent; /* 0: host */
	uint8_t kind;
	uint32_t id; /* of the allocation, 0: not known */
};

/* `agent` is the device that copies. */
struct ocl_end ocl_end_of_mem(uint32_t agent, cl_mem mem);
struct ocl_end ocl_end_of_address(uint32_t agent, const void *address);

/* Bytes of a region of bytes, and of pixels. */
uint64_t ocl_region_bytes(const size_t *region);
uint64_t ocl_region_pixels(cl_mem image, const size_t *region);

/* Whether it reads or writes the device where one end is the host's: COPY_OP_*. */
unsigned ocl_copy_op(struct ocl_end from, struct ocl_end to);

static inline void ocl_copy_describe(struct ocl_work *w, unsigned op, uint64_t bytes,
				     struct ocl_end from, struct ocl_end to)
{
	w->what = OCL_WORK_COPY;
	w->op = (uint8_t)op;
	w->bytes = bytes;
	w->source = from.agent;
	w->source_kind = from.kind;
	w->destination = to.agent;
	w->destination_kind = to.kind;
}

#endif
