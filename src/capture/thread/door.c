/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libkymo-threads.so: preloaded when all threads and processes are asked for (`--threads`). It stands
 * before the C library's functions that make, join and name threads, and that fork; each thread is
 * known from its first instruction on, and each process, whether they ever use a runtime or not.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#include "capture/thread/door.h"
#include "core/intercept/doors.h"

#define EXPORT __attribute__((visibility("default")))

typedef void *(*routine)(void *);

static const struct thread_door *door;
static int (*next_create)(pthread_t *, const pthread_attr_t *, routine, void *);
static int (*next_join)(pthread_t, void **);
static int (*next_setname)(pthread_t, const char *);
static int (*next_prctl)(int, ...);
static int (*next_thrd_create)(thrd_t *, thrd_start_t, void *);
static pid_t (*next_fork)(void);
static int (*next_daemon)(int, int);

/* Other constructors may make threads before ours ran. */
static void find_functions(void)
{
	if (next_prctl)
		return;
	DOORS_FIND(next_create, "pthread_create");
	DOORS_FIND(next_join, "pthread_join");
	DOORS_FIND(next_setname, "pthread_setname_np");
	DOORS_FIND(next_thrd_create, "thrd_create");
	DOORS_FIND(next_fork, "fork");
	DOORS_FIND(next_daemon, "daemon");
	DOORS_FIND(next_prctl, "prctl");
}

void kymo_door_find_threads(void)
{
	int saved = errno;

	find_functions();
	errno = saved;
}

__attribute__((constructor)) static void loaded(void)
{
	int saved = errno;

	find_functions();
	door = kymo_thread_door();
	door->attach();
	errno = saved;
}

/* ---- numbers of threads: what names are given by is a pthread_t ---- */

#define THREADS 1024u /* the latest of each place */
static struct {
	_Atomic uint64_t thread; /* pthread_t */
	_Atomic uint32_t tid;
} numbers[THREADS];

static unsigned slot_of(pthread_t t)
{
	return (unsigned)(((uint64_t)t * 0x9e3779b97f4a7c15ull) >> 54) % THREADS;
}

static void number_add(void)
{
	unsigned i = slot_of(pthread_self());

	atomic_store(&numbers[i].tid, (uint32_t)syscall(SYS_gettid));
	atomic_store(&numbers[i].thread, (uint64_t)pthread_self());
}

static uint32_t number_of(pthread_t t)
{
	unsigned i = slot_of(t);

	return atomic_load(&numbers[i].thread) == (uint64_t)t ? atomic_load(&numbers[i].tid) : 0;
}

/* ---- making ---- */

struct start {
	routine function;
	thrd_start_t function11;
	void *argument;
};

static struct start take_start(void *data)
{
	struct start s = *(struct start *)data;

	free(data);
	number_add();
	if (door)
		door->attach();
	return s;
}

static void *run_thread(void *data)
{
	struct start s = take_start(data);

	return s.function(s.argument);
}

static int run11(void *data)
{
	struct start s = take_start(data);

	return s.function11(s.argument);
}

static struct start *start_new(routine function, thrd_start_t function11, void *argument)
{
	int saved = errno;
	struct start *s = door && !door->own() ? malloc(sizeof(*s)) : NULL;

	errno = saved;
	if (s)
		*s = (struct start){function, function11, argument};
	return s;
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, routine function,
			  void *argument)
{
	struct start *s = start_new(function, NULL, argument);
	struct cap_frame *f;
	int status;

	find_functions();
	f = door ? door->enter(THREAD_OP_CREATE, __builtin_return_address(0)) : NULL;
	status = s ? next_create(thread, attributes, run_thread, s)
		   : next_create(thread, attributes, function, argument);
	if (door)
		door->leave(f, THREAD_OP_CREATE, status ? 0 : (uint64_t)*thread,
			    (const void *)(uintptr_t)function, status);
	if (status)
		free(s);
	return status;
}

EXPORT int thrd_create(thrd_t *thread, thrd_start_t function, void *argument)
{
	struct start *s = start_new(NULL, function, argument);
	struct cap_frame *f;
	int status;

	find_functions();
	f = door ? door->enter(THREAD_OP_CREATE, __builtin_return_address(0)) : NULL;
	status = s ? next_thrd_create(thread, run11, s)
		   : next_thrd_create(thread, function, argument);
	if (door)
		door->leave(f, THREAD_OP_CREATE, status ? 0 : (uint64_t)*thread,
			    (const void *)(uintptr_t)function, status);
	if (status != thrd_success)
		free(s);
	return status;
}

EXPORT int pthread_join(pthread_t thread, void **value)
{
	struct cap_frame *f;
	int status;

	find_functions();
	f = door ? door->enter(THREAD_OP_JOIN, __builtin_return_address(0)) : NULL;
	status = next_join(thread, value);
	if (door)
		door->leave(f, THREAD_OP_JOIN, (uint64_t)thread, NULL, status);
	return status;
}

/* ---- naming ---- */

EXPORT int pthread_setname_np(pthread_t thread, const char *name)
{
	uint32_t tid = pthread_equal(thread, pthread_self()) ? 0 : number_of(thread);
	int status;

	find_functions();
	status = next_setname(thread, name);
	if (status == 0 && door && (tid || pthread_equal(thread, pthread_self())))
		door->name(tid, name);
	return status;
}

/* As the C library has it: up to four more words, of which the system takes what the option needs. */
EXPORT int prctl(int option, ...)
{
	unsigned long a, b, c, d;
	int status, saved;
	va_list ap;

	va_start(ap, option);
	a = va_arg(ap, unsigned long);
	b = va_arg(ap, unsigned long);
	c = va_arg(ap, unsigned long);
	d = va_arg(ap, unsigned long);
	va_end(ap);
	find_functions();
	status = next_prctl(option, a, b, c, d);
	if (option != PR_SET_NAME || status != 0 || !door)
		return status;
	saved = errno;
	door->name(0, (const char *)a);
	errno = saved;
	return status;
}

/* ---- forked processes ---- */

static void attach(void)
{
	int saved = errno;

	if (door)
		door->attach();
	errno = saved;
}

EXPORT pid_t fork(void)
{
	pid_t child;

	find_functions();
	child = next_fork();
	if (child == 0)
		attach();
	return child;
}

/* Forks inside the C library; who comes back is the child. */
EXPORT int daemon(int keep_folder, int keep_streams)
{
	int status;

	find_functions();
	status = next_daemon(keep_folder, keep_streams);
	if (status == 0)
		attach();
	return status;
}
