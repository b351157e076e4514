/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What calls of OCCA say of its kernels, devices and buffers, in OCCA's words: no tally knows arguments, so they are
 * looked at while records stream by. Memory is proportional to kernels, devices and lines, and to allocations.
 */
#ifndef ANALYSIS_OCCA_USE_H
#define ANALYSIS_OCCA_USE_H

#include "base/map.h"
#include "stream/stream.h"

/* Texts are the trace's; "" where they are not known. */
struct occa_kernel_use {
	const char *device, *kernel, *source;
	uint64_t launches, host_ns;
	uint64_t dispatches, untimed, device_ns; /* added by the table */
};

struct occa_device_use {
	const char *device, *mode;
	uint64_t builds, build_ns, launches, launch_ns, copies, to_device, from_device;
	uint64_t allocated, freed, peak;
};

/* Buffers that one line got, of one size and kind. */
struct occa_memory_use {
	const char *device, *what;
	uint64_t bytes; /* of one */
	uint32_t site;
	uint64_t buffers, freed;
};

struct occa_use {
	const struct trace *trace;
	uint8_t *op_is; /* by op */
	struct occa_kernel_use *kernels;
	struct occa_device_use *devices;
	struct occa_memory_use *memory;
	struct occa_birth *births;
	struct occa_death *deaths;
	uint32_t kernels_count, kernels_room, devices_count, devices_room, memory_count,
		memory_room;
	uint32_t births_count, births_room, deaths_count, deaths_room;
	struct map kernel_places, device_places, memory_places; /* by hash: number from 1 */
	bool failed;                                            /* no memory */
};

/* Its calls are looked at. */
bool occa_use_op(const struct trace *t, const struct t_op *op);

struct occa_use *occa_use_new(const struct trace *t);
void occa_use_free(struct occa_use *o);
void occa_use_call_wanted(struct occa_use *o, const struct rec *r);

static inline void occa_use_call(struct occa_use *o, const struct rec *r)
{
	if (o->op_is[r->op])
		occa_use_call_wanted(o, r);
}

/* All records were there. */
void occa_use_finish(struct occa_use *o);

/* The row of a kernel, made when there is none. NULL: no memory. */
struct occa_kernel_use *occa_use_kernel(struct occa_use *o, const char *device, const char *kernel,
					const char *source);

#endif
