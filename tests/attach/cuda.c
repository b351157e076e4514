/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program of CUDA that has begun when Kymo comes, said to the fake CUPTI (tests/cuda). Lines on its input tell
 * its threads what to do: "launch N" kernels, "enter" a launch, "leave" it, "hold" buffers as if work in them went on, "release" them, "end"; others do nothing. Each is
 * answered, with whether anybody listens to launches, and to copies. program THREADS
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cuda/calls.h"

static struct fake_call *outer, *inner;
static pthread_barrier_t begin_step, end_step;
static char line[64];

static void enter(unsigned i)
{
	struct launch p = {"held", {1, 1, 1}, {1, 1, 1}, NULL, 0, NULL};
	const uint32_t correlation = fake_correlation();

	symbol = "held";
	begin(&outer[i], RUNTIME, RT_LAUNCH, &p, correlation);
	begin(&inner[i], DRIVER, CU_LAUNCH, NULL, correlation);
}

static void leave(unsigned i)
{
	fake_leave(&inner[i], 0);
	fake_leave(&outer[i], 0);
	now_ran("held", outer[i].correlation);
}

static void *work(void *number)
{
	const unsigned i = (unsigned)(uintptr_t)number;

	while (strcmp(line, "end\n") != 0) {
		pthread_barrier_wait(&begin_step);
		if (strncmp(line, "launch ", 7) == 0)
			kernels("kernel", atoi(line + 7));
		else if (strcmp(line, "enter\n") == 0)
			enter(i);
		else if (strcmp(line, "leave\n") == 0)
			leave(i);
		pthread_barrier_wait(&end_step);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	pthread_t *threads = calloc(n, sizeof(*threads));
	bool holds = false;

	outer = calloc(n, sizeof(*outer));
	inner = calloc(n, sizeof(*inner));
	pthread_barrier_init(&begin_step, NULL, n + 1);
	pthread_barrier_init(&end_step, NULL, n + 1);
	if (!threads || !outer || !inner || cuInit(0) != 0)
		return 2;
	fake_context(1);
	for (unsigned i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i) != 0)
			return 2;
	printf("ready\n");
	fflush(stdout);
	while (strcmp(line, "end\n") != 0 && fgets(line, sizeof(line), stdin)) {
		pthread_barrier_wait(&begin_step);
		pthread_barrier_wait(&end_step);
		if (strcmp(line, "hold\n") == 0)
			holds = true;
		if (strcmp(line, "release\n") == 0)
			holds = false;
		fake_hold(holds);
		if (!holds)
			fake_deliver();
		printf("listened %d others %d\n",
		       fake_enabled(RUNTIME, RT_LAUNCH) || fake_enabled(DRIVER, CU_LAUNCH),
		       fake_enabled(RUNTIME, RT_MEMCPY));
		fflush(stdout);
	}
	for (unsigned i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
