/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that are sampled and counted, said to the fake. The first argument chooses the scene. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_profile.h"

enum {
	DRIVER = 1,
	RUNTIME = 2,
	CU_LAUNCH = 307,
	RT_LAUNCH = 211,
	CU_STREAM_SYNC = 126,
	CU_GRAPH_LAUNCH = 514,
	CU_BEGIN_CAPTURE = 539,
	CU_END_CAPTURE = 497
};

/* What is counted of a launch is done when the driver's call comes back. */
static uint32_t launch_of(void *context, const char *name, double warps)
{
	struct {
		const void *func;
		uint32_t grid[3], block[3];
		void **args;
		size_t shared;
		void *stream;
	} p = {name, {1, 1, 1}, {32, 1, 1}, NULL, 0, NULL};
	struct {
		void *f;
		unsigned grid[3], block[3], shared;
		void *stream;
		void **params, **extra;
	} d = {(void *)name, {1, 1, 1}, {32, 1, 1}, 0, NULL, NULL, NULL};
	uint32_t correlation = fake_correlation();
	struct fake_call outer = {RUNTIME, RT_LAUNCH, &p, 0, correlation, 1, 0, name};
	struct fake_call inner = {DRIVER, CU_LAUNCH, &d, 0, correlation, 1, 0, name};

	fake_enter(&outer);
	fake_enter(&inner);
	if (warps > 0)
		fake_range(context, warps);
	fake_leave(&inner, 0);
	fake_leave(&outer, 0);
	return correlation;
}

static uint32_t launch(const char *name)
{
	return launch_of(NULL, name, 0);
}

static void graph(void)
{
	void *params[2] = {(void *)0x9, NULL};
	struct fake_call c = {DRIVER, CU_GRAPH_LAUNCH, params, 0, fake_correlation(), 1, 0, NULL};

	fake_enter(&c);
	fake_graph();
	fake_leave(&c, 0);
}

static void wait_stream(void)
{
	void *stream = NULL;
	struct fake_call c = {DRIVER, CU_STREAM_SYNC, &stream, 0, fake_correlation(), 1, 0, NULL};

	fake_enter(&c);
	fake_leave(&c, 0);
}

static const char hot[] = "_Z3hotPfi", cold[] = "_Z4coldPf";

static void hot_and_cold(void *context)
{
	uint32_t first = launch(hot), second = launch(hot);

	fake_pc(context, 77, hot, 0x20, "long_scoreboard", 60, 50, first);
	fake_pc(context, 77, hot, 0x20, "wait", 10, 0, first);
	fake_pc(context, 77, hot, 0x28, "selected", 5, 0, second);
	fake_pc(context, 77, hot, 0x40, "wait", 20, 15, second);
	fake_pc(context, 78, cold, 0x20, "wait", 5, 5, 0);
}

static void call(uint32_t cbid, int32_t result, bool on)
{
	void *params[2] = {NULL, NULL};
	struct fake_call c = {DRIVER, cbid, params, 0, fake_correlation(), 1, 0, NULL};

	fake_enter(&c);
	fake_capture(on);
	fake_leave(&c, result);
}

/* A kernel that is captured, not run; with `result` not 0 nothing is captured. */
static void capture(void *context, int32_t result)
{
	call(CU_BEGIN_CAPTURE, result, result == 0);
	if (result)
		return;
	launch_of(context, hot, 4096);
	call(CU_END_CAPTURE, 0, false);
}

struct thread {
	void *context;
	unsigned number;
};

void now_ran(const char *name,
	     uint32_t correlation); /* of calls.c, whose other names are taken here */

/* With their records. */
static void hot_cold_hot_hot_cold(void *context)
{
	static const char *const names[] = {hot, cold, hot, hot, cold};

	for (unsigned i = 0; i < 5; i++)
		now_ran(names[i], launch_of(context, names[i], 4 << i));
	fake_deliver();
}

/* Kernels of 1000 * thread + n warps. */
static void *many_launches(void *arg)
{
	const struct thread *t = arg;

	for (unsigned i = 1; i <= 200; i++)
		launch_of(t->context, hot, 1000 * t->number + i);
	return NULL;
}

static void threads(void *context)
{
	struct thread threads[4];
	pthread_t t[4];

	for (unsigned i = 0; i < 4; i++) {
		threads[i] = (struct thread){context, i + 1};
		pthread_create(&t[i], NULL, many_launches, &threads[i]);
	}
	for (unsigned i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

static void *launch_hot(void *context)
{
	launch_of(context, hot, 8);
	return NULL;
}

/* While a launch that is not counted is being made another thread makes one that is to be; then it makes one itself. */
static void launch_inside(void *context)
{
	struct fake_call c = {DRIVER, CU_LAUNCH, NULL, 0, fake_correlation(), 1, 0, cold};
	unsigned starts;
	pthread_t t;

	fake_enter(&c);
	pthread_create(&t, NULL, launch_hot, context);
	pthread_join(t, NULL);
	starts = fake_range_starts();
	fake_leave(&c, 0);
	launch_of(context, hot, 16);
	printf("starts %u, then %u\n", starts, fake_range_starts());
}

static sem_t launched, forked;

/* A launch of four warps that is under way while the process forks. */
static void *long_launch(void *context)
{
	struct fake_call c = {DRIVER, CU_LAUNCH, NULL, 0, fake_correlation(), 1, 0, cold};

	fake_enter(&c);
	sem_post(&launched);
	sem_wait(&forked);
	fake_range(context, 4);
	fake_leave(&c, 0);
	return NULL;
}

/* Prints how the child ended. */
static void fork_while_launching(void *context)
{
	int status = -1;
	pthread_t t;
	pid_t child;

	sem_init(&launched, 0, 0);
	sem_init(&forked, 0, 0);
	pthread_create(&t, NULL, long_launch, context);
	sem_wait(&launched);
	child = fork();
	if (child == 0)
		exit(7);
	waitpid(child, &status, 0);
	sem_post(&forked);
	pthread_join(t, NULL);
	printf("child %d\n", WEXITSTATUS(status));
}

int main(int argc, char **argv)
{
	const char *scene = argc > 1 ? argv[1] : "pc";
	void *context;

	fake_init();
	fake_resource(5, NULL, NULL);
	context = fake_context(1);
	printf("period %u mode %u\n", fake_pc_period(), fake_pc_mode());
	fake_module(true);
	fake_module(false);
	if (strcmp(scene, "pc") == 0) {
		hot_and_cold(context);
	} else if (strcmp(scene, "ran") == 0) { /* with a record of a kernel */
		hot_and_cold(context);
		now_ran(hot, launch(hot));
		fake_deliver();
	} else if (strcmp(scene, "soon") == 0) { /* uses of loads: behind them, and far away */
		static const char far_away[] = "_Z3farPf";

		fake_pc(context, 77, hot, 0x28, "long_scoreboard", 60, 50, 0);
		fake_pc(context, 77, hot, 0x40, "wait", 40, 15, 0);
		fake_pc(context, 77, far_away, 0xb0, "long_scoreboard", 90, 50, 0);
		fake_pc(context, 77, far_away, 0x10, "wait", 10, 50, 0);
		for (uint64_t offset = 0; offset < 0x100; offset += 16)
			fake_pc(context, 77, far_away, offset, "selected", 1, 0, 0);
		now_ran(hot, launch(hot));
		now_ran(far_away, launch(far_away));
		fake_deliver();
	} else if (strcmp(scene, "many") == 0) { /* more than are fetched at once */
		for (unsigned i = 0; i < 5000; i++)
			fake_pc(context, 77, hot, 16 * i, "wait", 1, 0, 0);
		fake_pc_dropped(7);
	} else if (strcmp(scene, "full") == 0) {
		hot_and_cold(context);
		fake_pc_full();
	} else if (strcmp(scene, "paused") ==
		   0) { /* what a tool does at waits is in profile_tool.c */
		hot_and_cold(context);
		wait_stream();
		printf("period %u\n", fake_pc_period());
		hot_and_cold(context);
		wait_stream();
		printf("period %u\n", fake_pc_period());
		hot_and_cold(context);
	} else if (strcmp(scene, "count") == 0) {
		launch_of(context, hot, 4);
		launch_of(context, cold, 8);
		fake_range(context, 99); /* of a launch that nobody was told of */
		launch_of(context, hot, 16);
		graph();
		launch_of(context, cold, 32);
		capture(context, 0);
		capture(context, 900); /* does not begin */
		launch_of(context, cold, 64);
		printf("counting %d\n", fake_range_on());
	} else if (strcmp(scene, "chosen") == 0) {
		hot_cold_hot_hot_cold(context);
		printf("starts %u\n", fake_range_starts());
	} else if (strcmp(scene, "inside") == 0) {
		launch_inside(context);
	} else if (strcmp(scene, "forked") == 0) {
		fork_while_launching(context);
	} else if (strcmp(scene, "threads") == 0) {
		threads(context);
	} else if (strcmp(scene, "counted-end") == 0) {
		launch_of(context, hot, 4);
		fake_resource(2, context, NULL);
		printf("counting %d\n", fake_range_on());
		fake_context(1);
		launch_of(context, hot, 8);
	} else if (strcmp(scene, "end") == 0) {
		hot_and_cold(context);
		fake_resource(2, context, NULL);
		printf("period %u\n", fake_pc_period());
	}
	return 0;
}
