/* SPDX-License-Identifier: Apache-2.0 */
/* Two threads that have each other's lock, for ever; says so. */
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

static __attribute__((noinline)) int take_second(void)
{
	return pthread_mutex_lock(&second);
}

static __attribute__((noinline)) int take_first(void)
{
	return pthread_mutex_lock(&first);
}

static void *other(void *unused)
{
	pthread_mutex_lock(&second);
	pthread_barrier_wait(&both);
	take_first();
	return NULL;
}

int main(void)
{
	pthread_t thread;

	pthread_barrier_init(&both, NULL, 2);
	pthread_mutex_lock(&first);
	if (pthread_create(&thread, NULL, other, NULL) != 0)
		return 1;
	pthread_barrier_wait(&both);
	puts("ready");
	fflush(stdout);
	return take_second();
}
