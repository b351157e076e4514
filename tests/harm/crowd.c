/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crowd N: so many threads, all alive at once, each with two marks: one when it comes, one when all are
 * there. crowd N after: one after the other, each with one mark, when a line was read.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kymo/marker.h>

static pthread_barrier_t all;

static void *come(void *arg)
{
	kymo_mark("m0.come");
	pthread_barrier_wait(&all);
	kymo_mark("m0.stay");
	pthread_barrier_wait(&all);
	return NULL;
}

static long shared_kb(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];
	long kb = -1;

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "RssShmem: %ld", &kb);
	if (f)
		fclose(f);
	return kb;
}

static void *come_alone(void *arg)
{
	kymo_mark("m0.come");
	return NULL;
}

static int one_after_the_other(unsigned threads)
{
	pthread_t t;

	kymo_mark("m0.come");
	puts("begun");
	fflush(stdout);
	if (getchar() == EOF)
		return 1;
	for (unsigned i = 0; i < threads; i++) {
		if (pthread_create(&t, NULL, come_alone, NULL) != 0)
			return 1;
		pthread_join(t, NULL);
	}
	printf("%ld\n", shared_kb());
	fflush(stdout);
	return 7;
}

int main(int argc, char **argv)
{
	unsigned threads = argc > 1 ? (unsigned)atoi(argv[1]) : 0, made = 0;
	pthread_attr_t attr;
	pthread_t *t;

	if (argc > 2)
		return one_after_the_other(threads);
	t = calloc(threads + 1, sizeof(*t));
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 128 << 10);
	pthread_barrier_init(&all, NULL, threads + 1);
	while (made < threads && pthread_create(&t[made], &attr, come, NULL) == 0)
		made++;
	if (made < threads) {
		puts("too few threads");
		fflush(stdout);
		_Exit(77);
	}
	pthread_barrier_wait(&all);
	pthread_barrier_wait(&all);
	printf("%ld\n", shared_kb());
	for (unsigned i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	free(t);
	return 7;
}
