/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits for other threads, and tells what was waited for, so that a trace can be held against it. A thread waits where it is
 * known to: who is to wait is seen asleep in the kernel (/proc/self/task) before who holds the lock lets it go.
 *
 *	lock_program each|two|free N|kinds|timed|cancelled
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void need(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "lock_program: %s: %s\n", what, strerror(errno));
	exit(1);
}

static pid_t tid(void)
{
	return (pid_t)syscall(SYS_gettid);
}

/* ---- a thread that waits ---- */

struct waiter {
	pthread_t thread;
	void (*waits)(void *object);
	void *object;
	_Atomic pid_t tid;
};

static void *wait_for(void *data)
{
	struct waiter *w = data;

	atomic_store(&w->tid, tid());
	w->waits(w->object);
	return NULL;
}

/* It sleeps in futex(). */
static void see_asleep(struct waiter *w)
{
	char path[64], text[32] = "";
	long call = -1;

	while (!atomic_load(&w->tid))
		sched_yield();
	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", (int)w->tid);
	while (call != SYS_futex) {
		FILE *f = fopen(path, "r");

		need(f != NULL, path);
		if (fgets(text, sizeof(text), f) && text[0] != 'r')
			call = strtol(text, NULL, 10);
		fclose(f);
		sched_yield();
	}
}

static void begin(struct waiter *w, void (*waits)(void *), void *object)
{
	*w = (struct waiter){.waits = waits, .object = object};
	need(pthread_create(&w->thread, NULL, wait_for, w) == 0, "pthread_create");
}

static void begin_asleep(struct waiter *w, void (*waits)(void *), void *object)
{
	begin(w, waits, object);
	see_asleep(w);
}

static void say(const char *call, const struct waiter *w, const void *object, pid_t other)
{
	printf("%s %d %p %d\n", call, (int)w->tid, object, (int)other);
}

static void end(struct waiter *w, const char *call)
{
	pthread_join(w->thread, NULL);
	say(call, w, w->object, tid());
}

/* ---- each function ---- */

static struct timespec in_an_hour(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_sec += 3600;
	return t;
}

static void lock(void *m)
{
	pthread_mutex_lock(m);
	pthread_mutex_unlock(m);
}

static void timed_lock(void *m)
{
	struct timespec t = in_an_hour(CLOCK_REALTIME);

	need(pthread_mutex_timedlock(m, &t) == 0, "timedlock");
	pthread_mutex_unlock(m);
}

static void clock_lock(void *m)
{
	struct timespec t = in_an_hour(CLOCK_MONOTONIC);

	need(pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &t) == 0, "clocklock");
	pthread_mutex_unlock(m);
}

static void read_lock(void *l)
{
	pthread_rwlock_rdlock(l);
	pthread_rwlock_unlock(l);
}

static void write_lock(void *l)
{
	pthread_rwlock_wrlock(l);
	pthread_rwlock_unlock(l);
}

static void down(void *s)
{
	need(sem_wait(s) == 0, "sem_wait");
}

static void timed_down(void *s)
{
	struct timespec t = in_an_hour(CLOCK_REALTIME);

	need(sem_timedwait(s, &t) == 0, "sem_timedwait");
}

static void arrive(void *b)
{
	pthread_barrier_wait(b);
}

struct meeting {
	pthread_cond_t changed;
	pthread_mutex_t mutex;
	int gone;
};

static void wait_changed(void *data)
{
	struct meeting *m = data;

	pthread_mutex_lock(&m->mutex);
	while (!m->gone)
		pthread_cond_wait(&m->changed, &m->mutex);
	pthread_mutex_unlock(&m->mutex);
}

static void timed_wait_changed(void *data)
{
	struct meeting *m = data;
	struct timespec t = in_an_hour(CLOCK_REALTIME);

	pthread_mutex_lock(&m->mutex);
	while (!m->gone)
		need(pthread_cond_timedwait(&m->changed, &m->mutex, &t) == 0, "timedwait");
	pthread_mutex_unlock(&m->mutex);
}

static void each_mutex(pthread_mutex_t *m)
{
	static void (*const ways[])(void *) = {lock, timed_lock, clock_lock};
	struct waiter w;

	for (unsigned i = 0; i < 3; i++) {
		pthread_mutex_lock(m);
		begin_asleep(&w, ways[i], m);
		pthread_mutex_unlock(m);
		end(&w, "pthread_mutex_lock");
		printf("pthread_mutex_unlock %d %p 0\n", (int)tid(), (void *)m);
	}
}

static void each_rwlock(pthread_rwlock_t *l)
{
	struct waiter w;

	pthread_rwlock_wrlock(l);
	begin_asleep(&w, read_lock, l);
	pthread_rwlock_unlock(l);
	end(&w, "pthread_rwlock_rdlock");
	pthread_rwlock_wrlock(l);
	begin_asleep(&w, write_lock, l);
	pthread_rwlock_unlock(l);
	end(&w, "pthread_rwlock_wrlock");
}

static void each_condition(struct meeting *m)
{
	struct waiter w;

	begin_asleep(&w, wait_changed, m);
	pthread_mutex_lock(&m->mutex);
	m->gone = 1;
	pthread_cond_signal(&m->changed);
	pthread_mutex_unlock(&m->mutex);
	end(&w, "pthread_cond_wait");
	printf("pthread_cond_signal %d %p 0\n", (int)tid(), (void *)&m->changed);
	m->gone = 0;
	begin_asleep(&w, timed_wait_changed, m);
	pthread_mutex_lock(&m->mutex);
	m->gone = 1;
	pthread_cond_broadcast(&m->changed);
	pthread_mutex_unlock(&m->mutex);
	end(&w, "pthread_cond_wait");
	printf("pthread_cond_broadcast %d %p 0\n", (int)tid(), (void *)&m->changed);
	pthread_cond_signal(&m->changed); /* nobody waits */
}

static void each_semaphore(sem_t *s)
{
	static void (*const ways[])(void *) = {down, timed_down};
	struct waiter w;

	for (unsigned i = 0; i < 2; i++) {
		begin_asleep(&w, ways[i], s);
		sem_post(s);
		end(&w, "sem_wait");
	}
}

static void each(void)
{
	static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
	static struct meeting meeting = {PTHREAD_COND_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, 0};
	static pthread_barrier_t barrier;
	static sem_t s;
	struct waiter w;

	sem_init(&s, 0, 0);
	pthread_barrier_init(&barrier, NULL, 2);
	each_mutex(&m);
	each_rwlock(&l);
	each_condition(&meeting);
	each_semaphore(&s);
	begin_asleep(&w, arrive, &barrier);
	pthread_barrier_wait(&barrier);
	end(&w, "pthread_barrier_wait");
	printf("pthread_barrier_wait %d %p 0\n", (int)tid(), (void *)&barrier);
}

/* ---- two locks, two who hold them ---- */

static pthread_mutex_t pair[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

static void hold_one(void *number)
{
	pthread_mutex_t *m = &pair[(pthread_mutex_t *)number - pair];
	struct waiter w[2];
	int n = m == pair ? 1 : 2;

	pthread_mutex_lock(m);
	for (int i = 0; i < n; i++)
		begin_asleep(&w[i], lock, m);
	pthread_mutex_unlock(m);
	for (int i = 0; i < n; i++)
		pthread_join(w[i].thread, NULL);
	flockfile(stdout);
	for (int i = 0; i < n; i++)
		say("wait", &w[i], m, tid());
	funlockfile(stdout);
}

static void two(void)
{
	struct waiter w[2];

	for (int i = 0; i < 2; i++)
		begin(&w[i], hold_one, &pair[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(w[i].thread, NULL);
}

/* ---- kinds of mutexes: results as without Kymo ---- */

static void make(pthread_mutex_t *m, int type, int robust, int protocol)
{
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_settype(&a, type);
	pthread_mutexattr_setrobust(&a, robust);
	pthread_mutexattr_setprotocol(&a, protocol);
	need(pthread_mutex_init(m, &a) == 0, "pthread_mutex_init");
	pthread_mutexattr_destroy(&a);
}

static void *die_with(void *m)
{
	pthread_mutex_lock(m);
	return NULL;
}

static void kinds(void)
{
	struct timespec past = {0, 0}, wrong = {0, -1};
	struct waiter w;
	pthread_mutex_t m;
	pthread_t t;
	sem_t s;

	make(&m, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
	printf("recursive %d", pthread_mutex_lock(&m));
	printf(" %d", pthread_mutex_lock(&m));
	begin_asleep(&w, lock, &m);
	printf(" %d", pthread_mutex_unlock(&m));
	printf(" %d\n", pthread_mutex_unlock(&m));
	pthread_join(w.thread, NULL);
	make(&m, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
	printf("checked %d", pthread_mutex_unlock(&m));
	printf(" %d", pthread_mutex_lock(&m));
	printf(" %d", pthread_mutex_lock(&m));
	printf(" %d\n", pthread_mutex_unlock(&m));
	make(&m, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE);
	pthread_create(&t, NULL, die_with, &m);
	pthread_join(t, NULL);
	printf("robust %d", pthread_mutex_lock(&m));
	printf(" %d", pthread_mutex_unlock(&m));
	printf(" %d\n", pthread_mutex_lock(&m));
	make(&m, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT);
	pthread_mutex_lock(&m);
	begin_asleep(&w, lock, &m);
	printf("inheriting %d\n", pthread_mutex_unlock(&m));
	pthread_join(w.thread, NULL);
	make(&m, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
	printf("timed %d", pthread_mutex_timedlock(&m, &wrong));
	printf(" %d", pthread_mutex_timedlock(&m, &past));
	printf(" %d", pthread_mutex_timedlock(&m, &wrong));
	printf(" %d", pthread_mutex_clocklock(&m, CLOCK_PROCESS_CPUTIME_ID, &past));
	printf(" %d\n", pthread_mutex_trylock(&m));
	sem_init(&s, 0, 1);
	errno = 7;
	printf("semaphore %d", sem_wait(&s));
	printf(" %d", errno);
	printf(" %d", sem_timedwait(&s, &past));
	printf(" %d\n", errno);
}

/* ---- waits that their limits end ---- */

static struct timespec in_two_ms(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_nsec += 2000000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

static void *write_lock_and_keep(void *l)
{
	need(pthread_rwlock_wrlock(l) == 0, "wrlock");
	return NULL;
}

static void timed(void)
{
	enum { REAL = CLOCK_REALTIME, STEADY = CLOCK_MONOTONIC };
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t c = PTHREAD_COND_INITIALIZER;
	pthread_rwlock_t l;
	struct timespec t;
	pthread_t writer;
	sem_t s;

/* `call` waits until t. */
#define LIMITED(clock, call)                                                                       \
	do {                                                                                       \
		t = in_two_ms(clock);                                                              \
		need((call) == ETIMEDOUT, #call);                                                  \
	} while (0)
	pthread_mutex_lock(&m);
	pthread_mutex_lock(&other);
	pthread_rwlock_init(&l, NULL);
	sem_init(&s, 0, 0);
	need(pthread_create(&writer, NULL, write_lock_and_keep, &l) == 0, "pthread_create");
	pthread_join(writer, NULL);
	LIMITED(REAL, pthread_mutex_timedlock(&m, &t));
	LIMITED(STEADY, pthread_mutex_clocklock(&m, STEADY, &t));
	LIMITED(REAL, pthread_rwlock_timedrdlock(&l, &t));
	LIMITED(STEADY, pthread_rwlock_clockrdlock(&l, STEADY, &t));
	LIMITED(REAL, pthread_rwlock_timedwrlock(&l, &t));
	LIMITED(STEADY, pthread_rwlock_clockwrlock(&l, STEADY, &t));
	LIMITED(REAL, pthread_cond_timedwait(&c, &other, &t));
	LIMITED(STEADY, pthread_cond_clockwait(&c, &other, STEADY, &t));
	LIMITED(REAL, sem_timedwait(&s, &t) ? errno : 0);
	LIMITED(STEADY, sem_clockwait(&s, STEADY, &t) ? errno : 0);
}

/* ---- cancelled while it waits, and at a semaphore that is free ---- */

static void let_go(void *m)
{
	printf("unlock %d\n", pthread_mutex_unlock(m));
}

static void wait_to_be_cancelled(void *data)
{
	struct meeting *m = data;

	pthread_mutex_lock(&m->mutex);
	pthread_cleanup_push(let_go, &m->mutex);
	for (;;)
		pthread_cond_wait(&m->changed, &m->mutex);
	pthread_cleanup_pop(0);
}

static void take_free(void *s)
{
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_cancel(pthread_self());
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	sem_wait(s);
	printf("not cancelled\n");
}

static void cancelled(void)
{
	static struct meeting m = {PTHREAD_COND_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, 0};
	struct waiter w;
	void *result;
	sem_t s;

	begin_asleep(&w, wait_to_be_cancelled, &m);
	pthread_cancel(w.thread);
	pthread_join(w.thread, &result);
	printf("cancelled %d\n", result == PTHREAD_CANCELED);
	sem_init(&s, 0, 1);
	begin(&w, take_free, &s);
	pthread_join(w.thread, &result);
	printf("cancelled %d\n", result == PTHREAD_CANCELED);
	each_mutex(&m.mutex);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (strcmp(what, "each") == 0) {
		each();
	} else if (strcmp(what, "two") == 0) {
		two();
	} else if (strcmp(what, "kinds") == 0) {
		kinds();
	} else if (strcmp(what, "timed") == 0) {
		timed();
	} else if (strcmp(what, "cancelled") == 0) {
		cancelled();
	} else if (strcmp(what, "free") == 0 && argc > 2) {
		pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

		for (long i = atol(argv[2]); i; i--) {
			pthread_mutex_lock(&m);
			pthread_mutex_unlock(&m);
		}
	} else {
		return 2;
	}
	return 0;
}
