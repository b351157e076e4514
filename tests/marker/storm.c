/* SPDX-License-Identifier: Apache-2.0 */
/* 5,000 threads alive at once, whose ranges are the first annotations of the process. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

#include <kymo/marker.h>

enum { THREADS = 5000 };

static pthread_barrier_t all_there;

static void *work(void *arg)
{
	pthread_barrier_wait(&all_there);
	kymo_range_push("work");
	kymo_range_pop();
	return arg;
}

int main(void)
{
	static pthread_t t[THREADS];
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	pthread_barrier_init(&all_there, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		assert(pthread_create(&t[i], &small, work, NULL) == 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	puts("done");
	return 0;
}
