/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with a result that can be checked: threads that come and go, marks, ranges, names that
 * are new again and again, so that every part of what it shares is in use. Ends with status 5.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <kymo/marker.h>

enum { THREADS = 4, ROUNDS = 6, STEPS = 4000 };

static void *work(void *arg)
{
	unsigned long *sum = arg;
	char name[32];

	for (unsigned i = 0; i < STEPS; i++) {
		snprintf(name, sizeof(name), "step %u", i % 700 + (unsigned)*sum % 300);
		kymo_range_push(name);
		kymo_mark("inside");
		*sum = *sum * 31 + i;
		kymo_range_pop();
	}
	return NULL;
}

int main(void)
{
	unsigned long sums[THREADS] = {1, 2, 3, 4}, all = 0;

	for (unsigned round = 0; round < ROUNDS; round++) {
		pthread_t threads[THREADS];

		for (unsigned i = 0; i < THREADS; i++)
			if (pthread_create(&threads[i], NULL, work, &sums[i]) != 0)
				return 1;
		for (unsigned i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
	}
	for (unsigned i = 0; i < THREADS; i++)
		all = all * 31 + sums[i];
	printf("result %lu\n", all);
	return 5;
}
