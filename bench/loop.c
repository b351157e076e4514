/* SPDX-License-Identifier: Apache-2.0 */
/* Timed loops; see loop.h. */
#include "loop.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct runner {
	const struct loop *loop;
	pthread_barrier_t *start;
	pthread_t thread;
	uint64_t rounds;
	double seconds, cpu;
};

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *run(void *arg)
{
	struct runner *r = arg;
	const struct loop *l = r->loop;
	double begin, cpu;

	l->work(l->batch, l->data); /* first touches are not what is measured */
	pthread_barrier_wait(r->start);
	begin = now(CLOCK_MONOTONIC);
	cpu = now(CLOCK_THREAD_CPUTIME_ID);
	do {
		l->work(l->batch, l->data);
		r->rounds += l->batch;
		r->seconds = now(CLOCK_MONOTONIC) - begin;
	} while (l->rounds ? r->rounds < l->rounds : r->seconds < l->seconds);
	r->cpu = now(CLOCK_THREAD_CPUTIME_ID) - cpu;
	return NULL;
}

void loop_run(const struct loop *l, struct loop_result *out)
{
	struct runner *all = calloc(l->threads, sizeof(*all));
	pthread_barrier_t start;
	double busy = 0, cpu = 0;

	if (!all || pthread_barrier_init(&start, NULL, l->threads) != 0)
		abort();
	*out = (struct loop_result){0};
	for (unsigned i = 0; i < l->threads; i++) {
		all[i] = (struct runner){.loop = l, .start = &start};
		if (pthread_create(&all[i].thread, NULL, run, &all[i]) != 0)
			abort();
	}
	for (unsigned i = 0; i < l->threads; i++) {
		pthread_join(all[i].thread, NULL);
		out->rounds += all[i].rounds;
		busy += all[i].seconds;
		cpu += all[i].cpu;
		if (all[i].seconds > out->seconds)
			out->seconds = all[i].seconds;
	}
	out->ns = busy * 1e9 / (double)out->rounds;
	out->cpu_ns = cpu * 1e9 / (double)out->rounds;
	pthread_barrier_destroy(&start);
	free(all);
}
