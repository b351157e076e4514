/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See between.h. The program's pthread_mutex_lock() stands before that of the C library for all
 * libraries of the process; locks count where a library of Kymo's takes them.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "between.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum role { OTHER, FIRST, SECOND };
enum { HELD = 64 };

static _Thread_local enum role role __attribute__((tls_model("initial-exec")));
static unsigned locks_left;
static sem_t news; /* the thread at work is stopped, blocked or done */
static _Atomic bool stopped;
static pthread_mutex_t *_Atomic held[HELD]; /* by the first */

static bool of_kymo(const void *caller)
{
	Dl_info info;

	return dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, "libkymo");
}

static void stay(void)
{
	sem_post(&news);
	for (;;)
		pause();
}

static void hold(const pthread_mutex_t *from, pthread_mutex_t *to)
{
	for (unsigned i = 0; i < HELD; i++) {
		pthread_mutex_t *m = atomic_load(&held[i]);

		if (m == from) {
			atomic_store(&held[i], to);
			return;
		}
	}
}

static bool is_held(const pthread_mutex_t *m)
{
	for (unsigned i = 0; i < HELD; i++)
		if (atomic_load(&held[i]) == m)
			return true;
	return false;
}

__attribute__((visibility("default"))) int pthread_mutex_lock(pthread_mutex_t *m)
{
	static int (*_Atomic next)(pthread_mutex_t *);
	int (*lock)(pthread_mutex_t *) = atomic_load(&next);

	if (!lock) {
		lock = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_lock");
		atomic_store(&next, lock);
	}
	if (role == FIRST) {
		if (of_kymo(__builtin_return_address(0)) && --locks_left == 0) {
			atomic_store(&stopped, true);
			stay();
		}
		hold(NULL, m);
	} else if (role == SECOND && is_held(m)) {
		stay();
	}
	return lock(m);
}

__attribute__((visibility("default"))) int pthread_mutex_unlock(pthread_mutex_t *m)
{
	static int (*_Atomic next)(pthread_mutex_t *);
	int (*unlock)(pthread_mutex_t *) = atomic_load(&next);

	if (!unlock) {
		unlock = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_unlock");
		atomic_store(&next, unlock);
	}
	if (role == FIRST)
		hold(m, NULL);
	return unlock(m);
}

struct part {
	enum role role;
	void (*work)(void);
};

static void *run(void *arg)
{
	struct part *p = arg;

	role = p->role;
	p->work();
	role = OTHER;
	sem_post(&news);
	return NULL;
}

static void start(enum role r, void (*work)(void))
{
	static struct part parts[3];
	pthread_t thread;

	parts[r] = (struct part){r, work};
	if (pthread_create(&thread, NULL, run, &parts[r]) != 0)
		_exit(2);
	while (sem_wait(&news) != 0)
		;
}

void between(unsigned n, void (*first)(void), void (*second)(void))
{
	sem_init(&news, 0, 0);
	locks_left = n;
	start(FIRST, first);
	if (!atomic_load(&stopped))
		_exit(3);
	start(SECOND, second);
	kill(getpid(), SIGKILL);
}
