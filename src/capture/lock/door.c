/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libkymo-lock.so: preloaded where the domain "lock" is named. It stands before the C library's functions in which threads
 * wait for threads. Who gets a lock at once is not recorded: it costs one try more, and what is kept of when it was taken.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "capture/lock/lock.h"

/* clang-format off */
#define DOOR_FUNCTIONS(X) \
	X(pthread_mutex_lock) X(pthread_mutex_trylock) X(pthread_mutex_timedlock) X(pthread_mutex_clocklock) \
	X(pthread_mutex_unlock) X(pthread_rwlock_rdlock) X(pthread_rwlock_tryrdlock) X(pthread_rwlock_timedrdlock) \
	X(pthread_rwlock_clockrdlock) X(pthread_rwlock_wrlock) X(pthread_rwlock_trywrlock) \
	X(pthread_rwlock_timedwrlock) X(pthread_rwlock_clockwrlock) X(pthread_cond_wait) X(pthread_cond_timedwait) \
	X(pthread_cond_clockwait) X(pthread_cond_signal) X(pthread_cond_broadcast) X(pthread_barrier_wait) \
	X(pthread_spin_lock) X(pthread_spin_trylock) X(sem_wait) X(sem_trywait) X(sem_timedwait) X(sem_clockwait) X(sem_post)
/* clang-format on */

#include "core/intercept/libc_door.h"

DOOR_STATE(lock)

/* ---- who ---- */

static bool counts;
static OWN_TLS uint32_t own_thread;

static uint32_t thread(void)
{
	if (!own_thread)
		own_thread = (uint32_t)syscall(SYS_gettid);
	return own_thread;
}

static void forget_thread(void)
{
	own_thread = 0;
}

/*
 * Who last ended, or may have ended, a wait for an object, by its address: 42 bits of that, 22 of the thread's number. Two
 * objects may share a place: then the one that was used last has it.
 */
#define WAKERS 4096u
static _Atomic uint64_t wakers[WAKERS];

static uint64_t key_of(const void *object)
{
	return (uint64_t)(uintptr_t)object >> 4 << 22;
}

static _Atomic uint64_t *place_of(const void *object)
{
	return &wakers[((uintptr_t)object >> 4) % WAKERS];
}

static void wakes(const void *object)
{
	atomic_store_explicit(place_of(object), key_of(object) | (thread() & 0x3fffff),
			      memory_order_relaxed);
}

/* 0: nobody knows, or this thread. */
static uint32_t woken_by(const void *object)
{
	const uint64_t word = atomic_load_explicit(place_of(object), memory_order_relaxed);
	const uint32_t who = (uint32_t)(word & 0x3fffff);

	return word >> 22 == key_of(object) >> 22 && who != (thread() & 0x3fffff) ? who : 0;
}

/* ---- since when ---- */

/* Mutexes that the thread has taken last. One of a time long past may stand in for one that another thread let go. */
enum { HELD = 16 };
static OWN_TLS struct {
	const void *mutex;
	uint64_t tick;
} held[HELD];
static OWN_TLS uint32_t held_next;

static inline void takes(const void *mutex)
{
	if (!counts)
		return;
	held[held_next % HELD].mutex = mutex;
	held[held_next++ % HELD].tick = tick_counter();
}

/* When it was taken; 0: not known. */
static inline uint64_t lets_go(const void *mutex)
{
	for (uint32_t i = 1; i <= HELD; i++) {
		const uint32_t at = (held_next - i) % HELD;

		if (held[at].mutex != mutex)
			continue;
		held[at].mutex = NULL;
		if (i == 1)
			held_next = at; /* the usual order */
		return held[at].tick;
	}
	return 0;
}

/* ---- recording ---- */

/* A wait that its time limit ended did what it was asked for. */
static void leave(struct lock_call *c, int error)
{
	c->timed_out = error == ETIMEDOUT;
	door_leave(&c->base, c->timed_out ? 0 : error);
}

/* Calls `what`, which returns an error's number, and records that. */
#define WAIT(c, error, what)                                                                       \
	do {                                                                                       \
		if (ENTER(c)) {                                                                    \
			(error) = (what);                                                          \
			leave(&(c), (error));                                                      \
		} else {                                                                           \
			(error) = (what);                                                          \
		}                                                                                  \
	} while (0)

/* ---- mutexes ---- */

static uint32_t owner_of(const pthread_mutex_t *mutex)
{
	return (uint32_t)__atomic_load_n(&mutex->__data.__owner, __ATOMIC_RELAXED);
}

/* Bits of its kind. */
enum { ROBUST = 16, INHERITS = 32 };

/*
 * EBUSY: the calling thread would have to wait. What is robust is looked at, not tried: the C library keeps such a mutex taken
 * that it refuses as not recoverable.
 */
static int try_mutex(pthread_mutex_t *mutex)
{
	const int kind = __atomic_load_n(&mutex->__data.__kind, __ATOMIC_RELAXED);
	const uint32_t word = (uint32_t)__atomic_load_n(&mutex->__data.__lock, __ATOMIC_RELAXED);
	const uint32_t owner = word & FUTEX_TID_MASK;

	if (cap_likely(!(kind & ROBUST)))
		return NEXT(pthread_mutex_trylock)(mutex);
	return owner && owner != thread() && !(word & FUTEX_OWNER_DIED) ? EBUSY : EINVAL;
}

static bool is_taken(int error)
{
	return error == 0 || error == EOWNERDEAD;
}

#define DEFINE_LOCK(name, parameters, valid, call)                                                 \
	EXPORT int name parameters                                                                 \
	{                                                                                          \
		struct lock_call c = {.base.op = LOCK_MUTEX_LOCK, .object = mutex};                \
		int error = (valid) ? try_mutex(mutex) : EINVAL;                                   \
                                                                                                   \
		if (cap_unlikely(!is_taken(error))) {                                              \
			c.thread = owner_of(mutex);                                                \
			if (error == EBUSY)                                                        \
				WAIT(c, error, NEXT(name) call);                                   \
			else                                                                       \
				error = NEXT(name) call;                                           \
		}                                                                                  \
		if (is_taken(error))                                                               \
			takes(mutex);                                                              \
		return error;                                                                      \
	}

static inline bool is_clock(clockid_t clock)
{
	return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}

DEFINE_LOCK(pthread_mutex_lock, (pthread_mutex_t * mutex), true, (mutex))
DEFINE_LOCK(pthread_mutex_timedlock, (pthread_mutex_t * mutex, const struct timespec *until), true,
	    (mutex, until))
DEFINE_LOCK(pthread_mutex_clocklock,
	    (pthread_mutex_t * mutex, clockid_t clock, const struct timespec *until),
	    is_clock(clock), (mutex, clock, until))

EXPORT int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	int error = NEXT(pthread_mutex_trylock)(mutex);

	if (is_taken(error))
		takes(mutex);
	return error;
}

/* Somebody sleeps until it is let go, as the C library notes in it. */
static bool is_waited_for(const pthread_mutex_t *mutex)
{
	const uint32_t word = (uint32_t)__atomic_load_n(&mutex->__data.__lock, __ATOMIC_RELAXED);
	const int kind = __atomic_load_n(&mutex->__data.__kind, __ATOMIC_RELAXED);

	if (kind & (ROBUST | INHERITS))
		return word & FUTEX_WAITERS;
	return (word & 3) == 2;
}

EXPORT int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	const uint64_t since = lets_go(mutex);
	struct lock_call c = {.base.op = LOCK_MUTEX_UNLOCK, .object = mutex};
	int error;

	if (cap_likely(!is_waited_for(mutex)))
		return NEXT(pthread_mutex_unlock)(mutex);
	c.held = since ? tick_counter() - since : 0;
	WAIT(c, error, NEXT(pthread_mutex_unlock)(mutex));
	return error;
}

/* ---- locks of readers and writers ---- */

#define DEFINE_RWLOCK(which, name, try, parameters, valid, call)                                   \
	EXPORT int name parameters                                                                 \
	{                                                                                          \
		struct lock_call c = {.base.op = (which), .object = lock};                         \
		int error = (valid) ? NEXT(try)(lock) : EINVAL;                                    \
                                                                                                   \
		if (cap_likely(error == 0))                                                        \
			return 0;                                                                  \
		if (error != EBUSY)                                                                \
			return NEXT(name) call;                                                    \
		c.thread =                                                                         \
			(uint32_t)__atomic_load_n(&lock->__data.__cur_writer, __ATOMIC_RELAXED);   \
		WAIT(c, error, NEXT(name) call);                                                   \
		return error;                                                                      \
	}

#define UNTIL const struct timespec *until

DEFINE_RWLOCK(LOCK_RWLOCK_RDLOCK, pthread_rwlock_rdlock, pthread_rwlock_tryrdlock,
	      (pthread_rwlock_t * lock), true, (lock))
DEFINE_RWLOCK(LOCK_RWLOCK_RDLOCK, pthread_rwlock_timedrdlock, pthread_rwlock_tryrdlock,
	      (pthread_rwlock_t * lock, UNTIL), true, (lock, until))
DEFINE_RWLOCK(LOCK_RWLOCK_RDLOCK, pthread_rwlock_clockrdlock, pthread_rwlock_tryrdlock,
	      (pthread_rwlock_t * lock, clockid_t clock, UNTIL), is_clock(clock),
	      (lock, clock, until))
DEFINE_RWLOCK(LOCK_RWLOCK_WRLOCK, pthread_rwlock_wrlock, pthread_rwlock_trywrlock,
	      (pthread_rwlock_t * lock), true, (lock))
DEFINE_RWLOCK(LOCK_RWLOCK_WRLOCK, pthread_rwlock_timedwrlock, pthread_rwlock_trywrlock,
	      (pthread_rwlock_t * lock, UNTIL), true, (lock, until))
DEFINE_RWLOCK(LOCK_RWLOCK_WRLOCK, pthread_rwlock_clockwrlock, pthread_rwlock_trywrlock,
	      (pthread_rwlock_t * lock, clockid_t clock, UNTIL), is_clock(clock),
	      (lock, clock, until))

EXPORT int pthread_spin_lock(pthread_spinlock_t *lock)
{
	struct lock_call c = {.base.op = LOCK_SPIN_LOCK, .object = (const void *)lock};
	int error = NEXT(pthread_spin_trylock)(lock);

	if (error)
		WAIT(c, error, NEXT(pthread_spin_lock)(lock));
	return error;
}

/* ---- conditions, barriers, semaphores ---- */

/* A thread that is cancelled leaves from inside of `what`: its call stays open. The mutex is let go meanwhile. */
#define DEFINE_WAIT(name, parameters, call)                                                        \
	EXPORT int name parameters                                                                 \
	{                                                                                          \
		struct lock_call c = {.base.op = LOCK_COND_WAIT, .object = cond, .mutex = mutex};  \
		int error;                                                                         \
                                                                                                   \
		(void)lets_go(mutex);                                                              \
		if (ENTER(c)) {                                                                    \
			error = NEXT(name) call;                                                   \
			c.thread = error ? 0 : woken_by(cond);                                     \
			leave(&c, error);                                                          \
		} else {                                                                           \
			error = NEXT(name) call;                                                   \
		}                                                                                  \
		takes(mutex);                                                                      \
		return error;                                                                      \
	}

DEFINE_WAIT(pthread_cond_wait, (pthread_cond_t * cond, pthread_mutex_t *mutex), (cond, mutex))
DEFINE_WAIT(pthread_cond_timedwait, (pthread_cond_t * cond, pthread_mutex_t *mutex, UNTIL),
	    (cond, mutex, until))
DEFINE_WAIT(pthread_cond_clockwait,
	    (pthread_cond_t * cond, pthread_mutex_t *mutex, clockid_t clock, UNTIL),
	    (cond, mutex, clock, until))

/* Where nobody waits it is no more than a look. */
#define DEFINE_SIGNAL(which, name)                                                                 \
	EXPORT int name(pthread_cond_t *cond)                                                      \
	{                                                                                          \
		struct lock_call c = {.base.op = (which), .object = cond};                         \
		int error;                                                                         \
                                                                                                   \
		if (!(__atomic_load_n(&cond->__data.__wrefs, __ATOMIC_RELAXED) >> 3))              \
			return NEXT(name)(cond);                                                   \
		wakes(cond);                                                                       \
		WAIT(c, error, NEXT(name)(cond));                                                  \
		return error;                                                                      \
	}

DEFINE_SIGNAL(LOCK_COND_SIGNAL, pthread_cond_signal)
DEFINE_SIGNAL(LOCK_COND_BROADCAST, pthread_cond_broadcast)

EXPORT int pthread_barrier_wait(pthread_barrier_t *barrier)
{
	struct lock_call c = {.base.op = LOCK_BARRIER_WAIT, .object = barrier};
	int result;

	wakes(barrier);
	if (!ENTER(c))
		return NEXT(pthread_barrier_wait)(barrier);
	result = NEXT(pthread_barrier_wait)(barrier);
	c.thread = woken_by(barrier);
	door_leave(&c.base, result == PTHREAD_BARRIER_SERIAL_THREAD ? 0 : result);
	return result;
}

#define DEFINE_SEMAPHORE(name, parameters, valid, call)                                            \
	EXPORT int name parameters                                                                 \
	{                                                                                          \
		struct lock_call c = {.base.op = LOCK_SEM_WAIT, .object = semaphore};              \
		const int saved = errno;                                                           \
		int result;                                                                        \
                                                                                                   \
		pthread_testcancel(); /* as it is one of its points */                             \
		if ((valid) && NEXT(sem_trywait)(semaphore) == 0)                                  \
			return 0;                                                                  \
		errno = saved;                                                                     \
		if (!ENTER(c))                                                                     \
			return NEXT(name) call;                                                    \
		result = NEXT(name) call;                                                          \
		c.thread = result ? 0 : woken_by(semaphore);                                       \
		leave(&c, result ? errno : 0);                                                     \
		return result;                                                                     \
	}

DEFINE_SEMAPHORE(sem_wait, (sem_t * semaphore), true, (semaphore))
DEFINE_SEMAPHORE(sem_timedwait, (sem_t * semaphore, UNTIL), true, (semaphore, until))
DEFINE_SEMAPHORE(sem_clockwait, (sem_t * semaphore, clockid_t clock, UNTIL), is_clock(clock),
		 (semaphore, clock, until))

/* Signals' handlers may call it: nothing is recorded here. */
EXPORT int sem_post(sem_t *semaphore)
{
	const int saved = errno;

	wakes(semaphore);
	errno = saved;
	return NEXT(sem_post)(semaphore);
}

static struct libc_domain *start(void)
{
	return kymo_lock_start(&counts);
}

__attribute__((constructor)) static void loaded(void)
{
	pthread_atfork(NULL, NULL, forget_thread);
	door_open(start);
}
