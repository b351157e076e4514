/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that leave a deep recursion by longjmp() and live on, one after the other; then each in turn is as deep again. Prints how often each
 * function was entered.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#define PLAIN __attribute__((no_instrument_function, noinline))

enum { DEEP = 2500, THREADS = 3, ROUNDS = 2 };

static pthread_barrier_t turn;
static unsigned long calls, shallows;
static _Thread_local jmp_buf back;

__attribute__((noinline, noclone)) unsigned long deeper(unsigned n)
{
	calls++;
	if (!n)
		longjmp(back, 1);
	return deeper(n - 1) + n;
}

__attribute__((noinline, noclone)) unsigned long shallow(unsigned n)
{
	__asm__ volatile("" : "+r"(n));
	shallows++;
	return n + 1;
}

/* What the recursion has left on the stack is gone. */
PLAIN static void use_stack(void)
{
	char room[1 << 20];

	memset(room, 1, sizeof(room));
	__asm__ volatile("" : : "r"(room) : "memory");
}

PLAIN static void *work(void *number)
{
	for (unsigned i = 0; i < THREADS * ROUNDS; i++) {
		if (i % THREADS == *(unsigned *)number && setjmp(back) == 0)
			deeper(DEEP);
		if (i % THREADS == *(unsigned *)number)
			shallow(i);
		use_stack();
		pthread_barrier_wait(&turn);
	}
	return NULL;
}

PLAIN int main(void)
{
	unsigned numbers[THREADS];
	pthread_t threads[THREADS];

	pthread_barrier_init(&turn, NULL, THREADS);
	for (unsigned i = 0; i < THREADS; i++) {
		numbers[i] = i;
		pthread_create(&threads[i], NULL, work, &numbers[i]);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("deeper %lu\nshallow %lu\n", calls, shallows);
	return 0;
}
