/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The OpenMP backend: what a runtime tells through OMPT becomes calls of the domain "openmp", and what
 * it does on devices dispatches, copies and allocations.
 *
 *   door.c      how the runtime finds us; which callbacks it is asked for
 *   describe.c  the domain: operations and their fields
 *   record.c    regions that are open on a thread, and writing their records
 *   host.c      callbacks of threads, regions, tasks, waits, locks
 *   target.c    callbacks of target regions
 *   device.c    devices as agents, and the records of what is done on them
 */
#ifndef CAPTURE_OPENMP_OPENMP_H
#define CAPTURE_OPENMP_OPENMP_H

#include <stdbool.h>

#include "capture/openmp/ompt.h"
#include "core/capture.h"

/* ---- operations: X(NAME, "name", fields, flags) ---- */

#define OMP_OPS(X)                                                                                 \
	X(PARALLEL, "parallel", parallel, KYMO_OP_MINIMAL)                                         \
	X(TEAMS, "teams", parallel, KYMO_OP_MINIMAL)                                               \
	X(IMPLICIT_TASK, "implicit_task", implicit, 0)                                             \
	X(TASK, "task", task, 0)                                                                   \
	X(LOOP, "loop", work, 0)                                                                   \
	X(SECTIONS, "sections", work, 0)                                                           \
	X(SINGLE, "single", work, 0)                                                               \
	X(SINGLE_OTHER, "single_other", work, KYMO_OP_CHATTY)                                      \
	X(WORKSHARE, "workshare", work, 0)                                                         \
	X(DISTRIBUTE, "distribute", work, 0)                                                       \
	X(TASKLOOP, "taskloop", work, 0)                                                           \
	X(SCOPE, "scope", work, 0)                                                                 \
	X(MASKED, "masked", none, 0)                                                             \
	X(BARRIER, "barrier", region, KYMO_OP_WAITS)                                               \
	X(BARRIER_WORKSHARE, "implicit_barrier", region, KYMO_OP_WAITS)                            \
	X(BARRIER_PARALLEL, "join_barrier", region, KYMO_OP_WAITS | KYMO_OP_CHATTY)                \
	X(BARRIER_OTHER, "runtime_barrier", region, KYMO_OP_WAITS)                                 \
	X(TASKWAIT, "taskwait", region, KYMO_OP_WAITS)                                             \
	X(TASKGROUP, "taskgroup", region, KYMO_OP_WAITS)                                           \
	X(REDUCTION, "reduction", region, 0)                                                       \
	X(WAIT, "wait", wait, KYMO_OP_WAITS | KYMO_OP_CHATTY)                                      \
	X(LOCK, "lock", acquire, KYMO_OP_WAITS)                                                    \
	X(NEST_LOCK, "nest_lock", acquire, KYMO_OP_WAITS)                                          \
	X(CRITICAL, "critical", acquire, KYMO_OP_WAITS)                                            \
	X(ATOMIC, "atomic", acquire, KYMO_OP_WAITS)                                                \
	X(ORDERED, "ordered", acquire, KYMO_OP_WAITS)                                              \
	X(RELEASE, "release", release, 0)                                                          \
	X(LOCK_INIT, "lock_init", init, KYMO_OP_CHATTY)                                            \
	X(LOCK_DESTROY, "lock_destroy", destroy, KYMO_OP_CHATTY)                                   \
	X(NEST_LOCK_SCOPE, "nest_lock_again", again, KYMO_OP_CHATTY)                               \
	X(FLUSH, "flush", none, KYMO_OP_CHATTY)                                                    \
	X(DISPATCH, "dispatch", dispatch, KYMO_OP_CHATTY)                                          \
	X(CANCEL, "cancel", cancel, 0)                                                             \
	X(ERROR, "error", error, KYMO_OP_MINIMAL)                                                  \
	X(CONTROL_TOOL, "control_tool", control, KYMO_OP_MINIMAL)                                  \
	X(TASK_CREATE, "task_create", create, 0)                                                   \
	X(DEPENDENCES, "dependences", dependences, 0)                                              \
	X(TASK_DEPENDENCE, "task_dependence", dependence, 0)                                       \
	X(THREAD_BEGIN, "thread_begin", thread, KYMO_OP_MINIMAL)                                   \
	X(THREAD_END, "thread_end", none, KYMO_OP_MINIMAL)                                         \
	X(TARGET, "target", target, KYMO_OP_MINIMAL | KYMO_OP_WAITS)                               \
	X(ENTER_DATA, "target_enter_data", target, KYMO_OP_MINIMAL | KYMO_OP_WAITS)                \
	X(EXIT_DATA, "target_exit_data", target, KYMO_OP_MINIMAL | KYMO_OP_WAITS)                  \
	X(UPDATE, "target_update", target, KYMO_OP_MINIMAL | KYMO_OP_WAITS)                        \
	X(SUBMIT, "target_submit", submit, KYMO_OP_MINIMAL | KYMO_OP_SUBMITS)                      \
	X(DATA_ALLOC, "target_alloc", data, KYMO_OP_MINIMAL | KYMO_OP_ALLOCATES)                   \
	X(DATA_TO, "target_transfer_to", data, KYMO_OP_MINIMAL | KYMO_OP_SUBMITS)                  \
	X(DATA_FROM, "target_transfer_from", data, KYMO_OP_MINIMAL | KYMO_OP_SUBMITS)              \
	X(DATA_DELETE, "target_delete", data, KYMO_OP_MINIMAL)                                     \
	X(DATA_ASSOCIATE, "target_associate", data, 0)                                             \
	X(DATA_DISASSOCIATE, "target_disassociate", data, 0)                                       \
	X(MAP, "target_map", map, 0)                                                               \
	X(DEVICE_INITIALIZE, "device_initialize", device, KYMO_OP_MINIMAL)                         \
	X(DEVICE_FINALIZE, "device_finalize", finalize, KYMO_OP_MINIMAL)                           \
	X(DEVICE_LOAD, "device_load", load, 0)                                                     \
	X(DEVICE_UNLOAD, "device_unload", unload, 0)                                               \
	X(PRIMARY_TASK, "primary_task", implicit, KYMO_OP_CHATTY)

#define OMP_OP_ENUM(name, text, fields, flags) OMP_OP_##name,
enum omp_op { OMP_OPS(OMP_OP_ENUM) OMP_OP_COUNT };

extern struct cap_op omp_ops[OMP_OP_COUNT];
extern const kymo_domain_desc_t omp_domain_desc;

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
	{event, {__VA_ARGS__, OMP_OP_COUNT}, (omp_function)(function)}

/* ---- devices (device.c) ---- */

void omp_device_define(int number, const char *type, const char *documentation);
/* Records of what was done on a device between two ticks, by the call `correlation`. */
void omp_device_dispatch(int device, uint64_t correlation, const void *code, uint64_t teams,
			 uint64_t begin, uint64_t end);
void omp_device_copy(int from, int to, uint64_t bytes, bool waited, uint64_t correlation,
		     uint64_t begin, uint64_t end);
void omp_device_memory(bool allocated, int device, const void *address, uint64_t bytes,
		       uint64_t correlation);
void omp_device_flush(void);
/* Some device was initialized. */
bool omp_device_any(void);

#endif
