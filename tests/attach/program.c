/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that runs already when Kymo comes: some threads open, write and close a file each, again and again, in
 * round n at offset n, and keep when each round began (CLOCK_MONOTONIC). It allocates without pause, so that it is often inside the
 * allocator. When a line comes on its input it prints for each thread "rounds N", then "T begun" for each round,
 * and how often anything went wrong; "more" between has it go on. program THREADS FOLDER
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 1 << 20 };

struct thread {
	pthread_t thread;
	char path[256];
	uint64_t *begun;
	unsigned rounds, wrong;
};

static atomic_bool over;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Its own sums are what they should be whenever somebody else has used the thread. */
static unsigned allocate(unsigned seed)
{
	unsigned char *blocks[16];
	unsigned sum = 0, expected = 0;
	double x = seed * 0.5, y = 0;

	for (unsigned i = 0; i < 16; i++) {
		blocks[i] = malloc(16 + (seed + i) % 500);
		memset(blocks[i], (int)i, 16);
		expected += i;
		y += x;
	}
	for (unsigned i = 0; i < 16; i++) {
		sum += blocks[i][7];
		free(blocks[i]);
	}
	return sum != expected || y != x * 16;
}

static void *work(void *data)
{
	struct thread *t = data;
	struct timespec nap = {0, 200000};
	char text[64];

	while (!atomic_load(&over) && t->rounds < MOST) {
		int fd;

		t->begun[t->rounds] = now();
		fd = open(t->path, O_WRONLY | O_CREAT, 0600);
		memset(text, 'x', sizeof(text));
		t->wrong += fd < 0 ||
			    pwrite(fd, text, sizeof(text), t->rounds) != (ssize_t)sizeof(text);
		t->wrong += close(fd) != 0;
		t->rounds++;
		for (unsigned i = 0; i < 50; i++)
			t->wrong += allocate(t->rounds + i);
		t->wrong += nanosleep(&nap, NULL) != 0;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 2;
	struct thread *threads = calloc(n, sizeof(*threads));
	char line[64];

	for (unsigned i = 0; threads && i < n; i++) {
		snprintf(threads[i].path, sizeof(threads[i].path), "%s/file-%u",
			 argc > 2 ? argv[2] : ".", i);
		threads[i].begun = calloc(MOST, sizeof(uint64_t));
		if (!threads[i].begun ||
		    pthread_create(&threads[i].thread, NULL, work, &threads[i]) != 0)
			return 2;
	}
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) && strcmp(line, "end\n") != 0) {
		printf("here\n");
		fflush(stdout);
	}
	atomic_store(&over, true);
	for (unsigned i = 0; i < n; i++) {
		pthread_join(threads[i].thread, NULL);
		printf("rounds %u wrong %u\n", threads[i].rounds, threads[i].wrong);
		for (unsigned r = 0; r < threads[i].rounds; r++)
			printf("%u %llu\n", i, (unsigned long long)threads[i].begun[r]);
		unlink(threads[i].path);
		free(threads[i].begun);
	}
	free(threads);
	return 0;
}
