/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The OpenMP backend: what a runtime tells through OMPT becomes calls of the domain "openmp", and what
 * it does on devices dispatches, copies and allocations.
 *
 *   door.c      how the runtime finds us; which callbacks it is asked for
 *   record.c    regions that are open on a thread, and writing their records
 *   host.c      callbacks of threads, regions, tasks, waits, locks
 *   target.c    callbacks of target regions
 *   device.c    devices as agents, and the records of what is done on them
 */
#ifndef CAPTURE_OPENMP_OPENMP_H
#define CAPTURE_OPENMP_OPENMP_H

#include <stdbool.h>

#include "capture/openmp/ompt.h"
#include "capture/openmp/ops.h"
#include "core/capture.h"

/* ---- operations (api/openmp/openmp.json; the order of fields is that of the values which host.c and
 * target.c pass) ---- */

extern struct cap_op omp_ops[OMP_OP_COUNT];
extern const kymo_domain_desc_t *omp_desc; /* from the door's opening on */

/* The most fields that an op here has. */
#define OMP_VALUES 9u

/* Values of a record, one for each field, as words; texts as their addresses, 0 is absent. */
struct omp_values {
	uint64_t v[OMP_VALUES];
};
#define OMP_VALUES_OF(...) (&(struct omp_values){{__VA_ARGS__}})

/* ---- regions (record.c) ---- */

/* A region that is open on the thread. */
struct omp_region {
	uint16_t op;
	uint32_t index; /* in the frames */
	uint64_t id;    /* of its call; 0: it is not recorded */
	uint64_t key;   /* the runtime's or our number of it, 0: none */
	struct cap_frame *frame;
	struct omp_values values;
};

/*
 * Opens a region; `code` is where the program entered it, NULL if unknown. Returns NULL when there is
 * no room: its end will be passed over. The values may be changed until it ends.
 */
struct omp_region *omp_begin(enum omp_op op, uint64_t key, const void *code,
			     const struct omp_values *values);
/* The innermost open region of the thread that is `op` (and has `key`, if that is not 0), or NULL. */
struct omp_region *omp_find(enum omp_op op, uint64_t key);
/* Closes it and what is open in it, and writes its record. NULL is passed over. */
void omp_end(struct omp_region *r);
/* Something that takes no time. Returns its id, 0: not recorded. */
uint64_t omp_point(enum omp_op op, const void *code, const struct omp_values *values);
/* Id of the innermost region of the thread that is `op`, 0: none. */
uint64_t omp_current(enum omp_op op);
/* Time since it began, in ns; 0 if it is not recorded. */
uint64_t omp_since(const struct omp_region *r);
/* Whether anybody wants to hear of `op`; what is open goes on whatever this says. */
static inline bool omp_wanted(enum omp_op op)
{
	return atomic_load_explicit(&omp_ops[op].buffers, memory_order_relaxed) ||
	       atomic_load_explicit(&omp_ops[op].callbacks, memory_order_relaxed);
}
void omp_thread_end(void);

/* What a thread holds and since when; what is more is released without a time. */
#define OMP_HELD 16u
struct omp_held {
	uint64_t wait_id, since;
};
/* Of the calling thread; NULL: no memory. */
struct omp_held *omp_held(void);
/* Rough; for durations that are values. */
uint64_t omp_ns(uint64_t ticks);

/* ---- callbacks ---- */

/* The callback for an event, and by which ops it is wanted (until OMP_OP_COUNT). */
struct omp_callback {
	uint8_t event;
	uint8_t ops[12];
	omp_function function;
};
extern const struct omp_callback omp_host_callbacks[], omp_target_callbacks[]; /* to event 0 */
#define OMP_CALLBACK(event, function, ...)                                                         \
	{                                                                                          \
		event, {__VA_ARGS__, OMP_OP_COUNT}, (omp_function)(function)                       \
	}

/* ---- devices (device.c) ---- */

void omp_device_define(int number, const char *type, const char *documentation);
/* Records of what was done on a device between two ticks, by the call `correlation`. */
void omp_device_dispatch(int device, uint64_t correlation, const void *code, uint64_t teams,
			 uint64_t begin, uint64_t end);
void omp_device_copy(int from, int to, uint64_t bytes, bool waited, uint64_t correlation,
		     uint64_t begin, uint64_t end);
/* When the call is over, which began at `begin`. */
void omp_device_memory(bool allocated, int device, const void *address, uint64_t bytes,
		       uint64_t correlation, uint64_t begin);
void omp_device_flush(void);
void omp_device_fork_child(void);
/* Some device was initialized. */
bool omp_device_any(void);

#endif
