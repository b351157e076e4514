/* SPDX-License-Identifier: Apache-2.0 */
/* A library that is opened while the program runs. THREADS: its constructor starts a thread that stays. */
#include <pthread.h>
#include <unistd.h>

unsigned long work(unsigned n);

static __attribute__((noinline, noclone)) unsigned long step(unsigned long x)
{
	unsigned long s = 1;

	for (unsigned i = 0; i < 3; i++)
		s = s * (x + 7) + i;
	return s;
}

unsigned long work(unsigned n)
{
	unsigned long s = n;

	for (unsigned i = 0; i < n; i++)
		s += step(s);
	return s;
}

#ifdef THREADS
static void *wait_for_end(void *data)
{
	for (;;)
		pause();
	return data;
}

__attribute__((constructor)) static void begin(void)
{
	pthread_t t;

	work(3);
	pthread_create(&t, NULL, wait_for_end, NULL);
}
#endif
