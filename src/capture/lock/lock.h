/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the preloaded libkymo-lock.so, which stands before the C library's functions that wait for other threads, and
 * libkymo, which records their calls.
 *
 *	struct lock_call c = {.op = LOCK_MUTEX_LOCK, .object = mutex};
 *
 *	if (!kymo_lock_enter(&c, caller, cap_sp()))
 *		return next(...);
 *	... next ...
 *	kymo_lock_leave(&c, error);
 */
#ifndef CAPTURE_LOCK_LOCK_H
#define CAPTURE_LOCK_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include <kymo/schema.h>
#include <kymo/tool.h>

struct cap_frame;
struct cap_op;

/* X(ID, name, fields). Numbers of ops are positions: append only. */
#define LOCK_OPS(X)                                                                                \
	X(MUTEX_LOCK, "pthread_mutex_lock", OWNED)                                                 \
	X(MUTEX_UNLOCK, "pthread_mutex_unlock", HELD)                                              \
	X(RWLOCK_RDLOCK, "pthread_rwlock_rdlock", OWNED)                                           \
	X(RWLOCK_WRLOCK, "pthread_rwlock_wrlock", OWNED)                                           \
	X(COND_WAIT, "pthread_cond_wait", WAIT)                                                    \
	X(COND_SIGNAL, "pthread_cond_signal", OBJECT)                                              \
	X(COND_BROADCAST, "pthread_cond_broadcast", OBJECT)                                        \
	X(BARRIER_WAIT, "pthread_barrier_wait", WOKEN)                                             \
	X(SPIN_LOCK, "pthread_spin_lock", OBJECT)                                                  \
	X(SEM_WAIT, "sem_wait", WOKEN)

enum lock_op {
#define LOCK_OP(id, name, fields) LOCK_##id,
	LOCK_OPS(LOCK_OP)
#undef LOCK_OP
		LOCK_OP_COUNT
};

/* A call, on the caller's stack. What its op has no field for is not looked at. */
struct lock_call {
	uint8_t op; /* enum lock_op */
	uint32_t
		thread; /* the system's number of who had it when the wait began, or who ended it; 0: unknown */
	uint64_t held;      /* ticks from when it was taken; 0: unknown */
	const void *object; /* the lock, the condition, ... */
	const void *mutex;  /* that a condition is waited for with */
	struct cap_frame *frame;
};

#define LOCK_FIELDS 3u /* of an op, at most */

/* ---- for libkymo-lock.so ---- */

/* Makes the domain and the calling thread known. False: nothing can be recorded. `counter`: tick_counter() counts. */
KYMO_EXPORT bool kymo_lock_start(bool *counter);
/* False: call on, nothing is recorded. Keeps errno, as all of these. */
KYMO_EXPORT bool kymo_lock_enter(struct lock_call *c, const void *caller, const void *sp);
/* The call returned; `error` is errno's number, 0: it succeeded. */
KYMO_EXPORT void kymo_lock_leave(struct lock_call *c, int error);
/* A call from a signal's handler was not recorded, because its thread was being recorded just then. */
KYMO_EXPORT void kymo_lock_passed(void);

/* ---- inside libkymo ---- */

bool lock_describe(void);
const kymo_op_desc_t *lock_op(unsigned op, struct cap_op **cap);
/* Which member of the call a field is. */
enum lock_field {
	LOCK_NO_FIELD,
	LOCK_OBJECT,
	LOCK_MUTEX,
	LOCK_OWNER,
	LOCK_WOKEN_BY,
	LOCK_HELD,
	LOCK_FIELD_KINDS
};
const uint8_t *lock_fields_of(unsigned op);

/* What is told when the process ends. */
void lock_tell(void);

#endif
