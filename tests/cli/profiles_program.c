/* SPDX-License-Identifier: Apache-2.0 */
/* Two threads that spend processor time in functions of their own; the name of one has a ';' in it. */
#include <pthread.h>
#include <stdint.h>
#include <time.h>

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

__attribute__((noinline)) uint64_t in_main(unsigned n);
__attribute__((noinline)) uint64_t in_main(unsigned n)
{
	for (volatile unsigned i = 0; i < n; i++)
		;
	return cpu_ns();
}

__attribute__((noinline)) uint64_t in_other(unsigned n);
__attribute__((noinline)) uint64_t in_other(unsigned n)
{
	for (volatile unsigned i = 0; i < n; i++)
		;
	return cpu_ns();
}

static void *other(void *argument)
{
	(void)argument;
	pthread_setname_np(pthread_self(), "semi;colon");
	while (in_other(100000) < 400000000)
		;
	return NULL;
}

int main(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, other, NULL) != 0)
		return 1;
	while (in_main(100000) < 200000000)
		;
	pthread_join(thread, NULL);
	return 0;
}
