/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `kymo calibrate` measures through OpenCL, done in plain C: copies of doubles in vectors, chains of FMA, with the
 * same sizes, vector widths and number of threads. roofs.py compares the two.
 *
 *	bench_roofs THREADS copy BYTES		bytes of both arrays of one thread
 *	bench_roofs THREADS fp64x4|fp32x8
 *
 * Prints the best and the median of the faster half of 60 experiments of some 4 ms, in bytes or operations a second.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { EXPERIMENTS = 60, THREADS_MOST = 256, UNROLL = 4 };

typedef double d4 __attribute__((vector_size(32)));
typedef float f8 __attribute__((vector_size(32)));

struct work {
	pthread_barrier_t *gate;
	void (*run)(struct work *w, uint64_t passes);
	d4 *a, *b;
	uint64_t n, passes, experiments;
	double out;
};

static void copy(struct work *w, uint64_t passes)
{
	d4 *from = w->a, *to = w->b, *t;
	const uint64_t n = w->n;

	for (uint64_t p = 0; p < passes; p++) {
		to[0] = from[0] + 1;
		for (uint64_t i = 1; i < n; i++)
			to[i] = from[i];
		t = from;
		from = to;
		to = t;
		__asm__ volatile("" ::: "memory");
	}
	w->out = from[0][0];
}

/* The factors come from memory, so that no step can be foreseen. */
static volatile double factor = 1;

#define CHAINS(name, V, chains)                                                                    \
	static void name(struct work *w, uint64_t passes)                                          \
	{                                                                                          \
		const V m = (V){0} + (__typeof__(((V){0})[0]))factor, c = m;                       \
		V x[chains], sum = {0};                                                            \
                                                                                                   \
		for (int i = 0; i < (chains); i++)                                                 \
			x[i] = (V){0} + (__typeof__(((V){0})[0]))i;                                \
		for (uint64_t p = 0; p < passes; p++)                                              \
			for (int k = 0; k < UNROLL; k++)                                           \
				_Pragma("GCC unroll 16") for (int i = 0; i < (chains); i++) x[i] = \
					x[i] * m + c;                                              \
		for (int i = 0; i < (chains); i++)                                                 \
			sum += x[i];                                                               \
		w->out = (double)sum[0];                                                           \
	}

CHAINS(fma_d4, d4, 12)
CHAINS(fma_f8, f8, 12)

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* All threads begin together, and one that waits for them takes the time. */
static void *thread(void *data)
{
	struct work *w = data;

	for (uint64_t i = 0; i < w->experiments; i++) {
		pthread_barrier_wait(w->gate);
		w->run(w, w->passes);
		pthread_barrier_wait(w->gate);
	}
	return NULL;
}

static void measure(struct work *works, unsigned threads, uint64_t passes, unsigned count,
		    double *seconds)
{
	pthread_barrier_t gate;
	pthread_t id[THREADS_MOST];

	pthread_barrier_init(&gate, NULL, threads);
	for (unsigned i = 0; i < threads; i++) {
		works[i].gate = &gate;
		works[i].passes = passes;
		works[i].experiments = count;
		if (i && pthread_create(&id[i], NULL, thread, &works[i]) != 0)
			exit(1);
	}
	for (unsigned k = 0; k < count; k++) {
		double begin;

		pthread_barrier_wait(&gate);
		begin = now();
		works[0].run(&works[0], passes);
		pthread_barrier_wait(&gate);
		seconds[k] = now() - begin;
	}
	for (unsigned i = 1; i < threads; i++)
		pthread_join(id[i], NULL);
	pthread_barrier_destroy(&gate);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(struct work *w, uint64_t passes);
		double operations; /* of a pass */
	} kinds[] = {{"copy", copy, 0},
		     {"fp64x4", fma_d4, 2.0 * 4 * 12 * UNROLL},
		     {"fp32x8", fma_f8, 2.0 * 8 * 12 * UNROLL}};
	static struct work works[THREADS_MOST];
	unsigned threads = argc > 2 ? (unsigned)atoi(argv[1]) : 0, kind = 0;
	uint64_t bytes = argc > 3 ? strtoull(argv[3], NULL, 10) : 8192, passes = 1;
	double seconds[EXPERIMENTS], work;

	while (argc > 2 && kind < 3 && strcmp(kinds[kind].name, argv[2]) != 0)
		kind++;
	if (!threads || threads > THREADS_MOST || kind == 3)
		return 2;
	for (unsigned i = 0; i < threads; i++) {
		works[i].run = kinds[kind].run;
		works[i].n = bytes / 2 / sizeof(d4);
		works[i].a = aligned_alloc(4096, (bytes / 2 + 4095) / 4096 * 4096);
		works[i].b = aligned_alloc(4096, (bytes / 2 + 4095) / 4096 * 4096);
		if (!works[i].a || !works[i].b)
			return 1;
		memset(works[i].a, 0, bytes / 2);
		memset(works[i].b, 0, bytes / 2);
	}
	for (;; passes *= 2) {
		measure(works, threads, passes, 1, seconds);
		if (seconds[0] > 2e-3)
			break;
	}
	measure(works, threads, passes, EXPERIMENTS, seconds);
	qsort(seconds, EXPERIMENTS, sizeof(*seconds), compare);
	work = kind ? kinds[kind].operations : (double)works[0].n * sizeof(d4) * 2;
	work *= (double)passes * threads;
	printf("%.6g %.6g\n", work / seconds[0], work / seconds[EXPERIMENTS / 4]);
	return 0;
}
