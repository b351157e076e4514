/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the preloaded libkymo-lock.so, which stands before the C library's functions that wait for other threads, and
 * libkymo, which records their calls.
 *
 *	struct lock_call c = {.base.op = LOCK_MUTEX_LOCK, .object = mutex};
 *
 *	if (!door_enter(&c.base, caller, cap_sp()))
 *		return next(...);
 *	... next ...
 *	door_leave(&c.base, error);
 */
#ifndef CAPTURE_LOCK_LOCK_H
#define CAPTURE_LOCK_LOCK_H

#include "core/intercept/libc_call.h"

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

/* A call. What its op has no field for is not looked at. */
struct lock_call {
	struct libc_call base;
	/* The system's number of who had it when the wait began, or who ended it; 0: unknown. */
	uint32_t thread;
	uint64_t held;      /* ticks from when it was taken, then ns; 0: unknown */
	const void *object; /* the lock, the condition, ... */
	const void *mutex;  /* that a condition is waited for with */
	uint32_t timed_out; /* its time limit ended it, which is no error */
};

/* For libkymo-lock.so: NULL: nothing can be recorded. `counter`: tick_counter() counts. Keeps errno. */
KYMO_EXPORT struct libc_domain *kymo_lock_start(bool *counter);

#endif
