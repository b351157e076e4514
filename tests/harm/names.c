/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names ROUNDS: threads that use the same new name at the same time, once a round. In the last round
 * who is done first kills the process, perhaps while the one that makes the name known is at it.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <kymo/marker.h>

enum { THREADS = 4 };

static _Atomic unsigned arrived;
static unsigned rounds;

static void *use(void *arg)
{
	char name[32];

	for (unsigned i = 0; i < rounds; i++) {
		snprintf(name, sizeof(name), "name %u", i);
		atomic_fetch_add(&arrived, 1);
		while (atomic_load(&arrived) < (i + 1) * THREADS)
			sched_yield(); /* there may be fewer processors than threads */
		kymo_mark(name);
		if (i + 1 == rounds)
			kill(getpid(), SIGKILL);
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS];

	rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, use, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	return 0;
}
