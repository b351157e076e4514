/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims on locks, written where comments would be, and checked:
 *
 *	static struct list *list GUARDED_BY(lock);
 *	static void add(struct item *i) REQUIRES(lock);      // the caller holds it
 *	void add_from_outside(struct item *i) EXCLUDES(lock); // the caller must not
 *
 * clang checks them on all paths (test abi.locks, tools/check/locks.py), which compiles with
 * KYMO_CHECK_LOCKS: to everything else they are nothing, and mutexes are those of the C library. At
 * run time kymo_assert_held() looks where assertions are on.
 */
#ifndef BASE_LOCKS_H
#define BASE_LOCKS_H

#include <errno.h>
#include <pthread.h>

#include "base/assert.h"

#ifdef KYMO_CHECK_LOCKS
#define GUARDED_BY(lock) __attribute__((guarded_by(lock)))
#define REQUIRES(...)    __attribute__((requires_capability(__VA_ARGS__)))
#define EXCLUDES(...)    __attribute__((locks_excluded(__VA_ARGS__)))
#define ACQUIRES(...)    __attribute__((acquire_capability(__VA_ARGS__)))
#define RELEASES(...)    __attribute__((release_capability(__VA_ARGS__)))
/* Of a function that takes locks in ways the analysis cannot follow; a comment says which. */
#define UNCHECKED_LOCKS __attribute__((no_thread_safety_analysis))

/* Mutexes that the analysis knows; nothing is ever linked with these. */
struct __attribute__((capability("mutex"))) checked_mutex {
	pthread_mutex_t mutex;
};
int checked_lock(struct checked_mutex *m) ACQUIRES(*m);
int checked_unlock(struct checked_mutex *m) RELEASES(*m);
int checked_trylock(struct checked_mutex *m) __attribute__((try_acquire_capability(0, *m)));
int checked_timedlock(struct checked_mutex *m, const struct timespec *t)
	__attribute__((try_acquire_capability(0, *m)));
int checked_init(struct checked_mutex *m, const pthread_mutexattr_t *a);
int checked_destroy(struct checked_mutex *m);
void checked_held(struct checked_mutex *m) __attribute__((assert_capability(*m)));
int checked_wait(pthread_cond_t *c, struct checked_mutex *m) REQUIRES(*m);
int checked_timedwait(pthread_cond_t *c, struct checked_mutex *m, const struct timespec *t)
	REQUIRES(*m);
#define pthread_mutex_t         struct checked_mutex
#define pthread_mutex_lock      checked_lock
#define pthread_mutex_unlock    checked_unlock
#define pthread_mutex_trylock   checked_trylock
#define pthread_mutex_timedlock checked_timedlock
#define pthread_mutex_init      checked_init
#define pthread_mutex_destroy   checked_destroy
#define pthread_cond_wait       checked_wait
#define pthread_cond_timedwait  checked_timedwait
#define kymo_assert_held        checked_held
#else
/* Somebody holds the mutex. Not in a forked child before its locks are made anew. */
#define kymo_assert_held(mutex) kymo_assert(pthread_mutex_trylock(mutex) == EBUSY)
#define GUARDED_BY(lock)
#define REQUIRES(...)
#define EXCLUDES(...)
#define ACQUIRES(...)
#define RELEASES(...)
#define UNCHECKED_LOCKS
#endif

#endif
