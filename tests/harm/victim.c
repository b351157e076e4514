/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with a result that can be checked: threads that come and go, marks, ranges, names that
 * are new again and again, so that every part of what it shares is in use. Ends with status 5.
 *
 * victim wait FILE: one mark; then FILE.PID says how many descriptors it may have, and it waits until
 * FILE is there.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

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

static int mark_and_wait(const char *file)
{
	struct rlimit limit;
	char own[4096];
	FILE *f;

	kymo_mark("waits");
	getrlimit(RLIMIT_NOFILE, &limit);
	snprintf(own, sizeof(own), "%s.%d", file, (int)getpid());
	f = fopen(own, "w");
	if (!f)
		return 1;
	fprintf(f, "%lu\n", (unsigned long)limit.rlim_cur);
	fclose(f);
	while (access(file, F_OK) != 0)
		usleep(10000);
	return 5;
}

int main(int argc, char **argv)
{
	unsigned long sums[THREADS] = {1, 2, 3, 4}, all = 0;

	if (argc == 3 && strcmp(argv[1], "wait") == 0)
		return mark_and_wait(argv[2]);
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
