/* SPDX-License-Identifier: Apache-2.0 */
/* Scenes: which call a record is of, and what was captured then. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenes.h"
#include "calls.h"
#include "../../include/kymo/marker.h"

/* Work of which tools want to know more: kernels, one refused by a filter, a graph, a failure. */
static void tooled(void)
{
	uint32_t first, second, graph = fake_correlation();
	void *params[2] = {(void *)0x9, NULL};
	struct fake_call c;

	fake_context(1);
	first = launch("first", NULL, 1);
	second = launch("second", NULL, 1);
	begin(&c, RUNTIME, RT_GRAPH_LAUNCH, params, graph);
	fake_leave(&c, 0);
	copies();
	whole(RUNTIME, RT_LAUNCH, NULL, 1);
	ran("second", second, fake_now(), fake_now() + 10, 7, 1);
	ran("node", graph, fake_now(), fake_now() + 10, 7, 1);
	fake_deliver();
	ran("node", graph, fake_now(), fake_now() + 10, 7, 1);
	ran("first", first, fake_now(), fake_now() + 10, 7, 1);
	fake_deliver();
	ran("node", graph, fake_now(), fake_now() + 10, 7, 1);
}

struct to_device {
	uint64_t to;
	const void *from;
	size_t count;
};

/* A copy by the runtime, which asks the driver for `parts`. */
static void copy_as(uint32_t correlation, unsigned parts)
{
	struct {
		void *to;
		const void *from;
		size_t count;
		int kind;
	} p = {(void *)0x7f0000001000, &p, 4096 * parts, 1};
	struct to_device q = {0x7f0000001000, &p, 4096};
	struct fake_call outer, inner;

	begin(&outer, RUNTIME, RT_MEMCPY, &p, correlation);
	for (unsigned i = 0; i < parts; i++) {
		begin(&inner, DRIVER, CU_MEMCPY_HTOD, &q, correlation);
		fake_leave(&inner, 0);
	}
	fake_leave(&outer, 0);
}

static void compiled(uint32_t correlation)
{
	uint64_t now = fake_now();
	struct jit_record j = {52, 1, 3,    0,        now - 3000, now - 1000, correlation,
			       0,  7, 4096, "/cache", 1,          2};

	fake_record(&j, by_version(72, 64, 64));
}

static void *stays(void *number)
{
	for (int i = 0; i < 3; i++)
		launch_as(*(uint32_t *)number, "again", NULL, 1);
	copy_as(*(uint32_t *)number, 1);
	return NULL;
}

/* All calls of a thread have one number, which a call of another had before. */
static void shared(void)
{
	uint32_t own, number;
	pthread_t other;

	many(1000);
	number = launch("first", NULL, 1);
	now_ran("first", number);
	fake_deliver(); /* while it is known whose number that is */
	own = launch("own", NULL, 1);
	if (pthread_create(&other, NULL, stays, &number) != 0)
		abort();
	pthread_join(other, NULL);
	for (int i = 0; i < 3; i++)
		now_ran("again", number);
	copied(number, 0, 0);
	compiled(number);
	now_ran("own", own);
	fake_deliver();
	printf("listened to %d\n", fake_enabled(DRIVER, CU_LAUNCH));
}

/* Numbers go round, and places in Kymo's table much sooner. */
static void wraps(void)
{
	const uint32_t far = 1000000000;

	fake_context(1);
	fake_skip(0xfffffffd);
	for (int i = 0; i < 5; i++)
		now_ran("around", launch("around", NULL, 1));
	fake_deliver();
	for (int i = 0; i < 3; i++) {
		launch_as(far + (i == 1) * (1 << 18), "far", NULL, 1);
		now_ran("far", far + (i == 1) * (1 << 18));
		fake_deliver();
	}
}

static void nested(unsigned parts)
{
	uint32_t number = fake_correlation();

	fake_context(1);
	copy_as(number, parts);
	for (unsigned i = 0; i < parts; i++)
		copied(number, 0, 0);
	fake_deliver();
}

static void node(const char *name, uint32_t correlation, uint32_t device, uint64_t number)
{
	struct kernel k = {.kind = 10,
			   .start = fake_now(),
			   .device = device,
			   .context = device + 1,
			   .stream = 7,
			   .grid = {1, 1, 1},
			   .block = {1, 1, 1},
			   .correlation = correlation,
			   .name = name,
			   .graph = 5,
			   .node = number};

	k.end = k.start + 10;
	fake_record(&k, by_version(216, 208, 200));
}

static uint32_t graph_launch(uint32_t correlation)
{
	void *params[2] = {(void *)0x9, NULL};
	struct fake_call outer, inner;

	begin(&outer, RUNTIME, RT_GRAPH_LAUNCH, params, correlation);
	begin(&inner, DRIVER, CU_GRAPH_LAUNCH, params, correlation);
	fake_leave(&inner, 0);
	fake_leave(&outer, 0);
	return correlation;
}

/* A graph launched twice, with kernels on two devices, a copy and a memset; and twice by one number. */
static void graphs(void)
{
	struct memset_record s = {
		.kind = 2, .bytes = 64, .context = 1, .stream = 7, .graph = 5, .node = 102};
	uint32_t launches[3];

	fake_context(1);
	fake_context(2);
	for (int i = 0; i < 3; i++)
		launches[i] = graph_launch(fake_correlation());
	graph_launch(launches[2]);
	for (int i = 0; i < 3; i++) {
		for (uint64_t n = 1; n <= 100; n++)
			node("node", launches[i], n % 2, n);
		copied(launches[i], 5, 101);
		s.correlation = launches[i];
		s.start = fake_now();
		s.end = s.start + 10;
		fake_record(&s, by_version(88, 88, 88));
		fake_deliver(); /* what is left comes in another buffer */
		node("last", launches[i], 0, 103);
	}
	fake_deliver();
}

/* Steps whose work is told of in the next one, and work between them. */
static void steps(void)
{
	void *params[2] = {(void *)0x9, NULL};
	uint32_t add = 0, mul = 0, graph = 0, between = 0;
	struct fake_call c;

	fake_context(1);
	for (int i = 0; i <= 8; i++) {
		kymo_range_push(i < 8 ? "step" : "end");
		if (i) {
			ran("_Z3addPfS_i", add, fake_now(), fake_now() + 10, 7, 1);
			ran("_Z3mulPfS_i", mul, fake_now(), fake_now() + 10, 7, 1);
			ran("node", graph, fake_now(), fake_now() + 10, 7, 1);
			ran("between", between, fake_now(), fake_now() + 10, 7, 1);
			fake_deliver();
		}
		add = launch("_Z3addPfS_i", NULL, 1);
		mul = launch("_Z3mulPfS_i", NULL, 1);
		copies();
		graph = fake_correlation();
		begin(&c, RUNTIME, RT_GRAPH_LAUNCH, params, graph);
		fake_leave(&c, 0);
		kymo_range_pop();
		between = launch("between", NULL, 1);
		copies();
	}
	fake_deliver();
}

/* Two calls of a number, of which tools keep more than a place in the table has. */
static void tooled_shared(void)
{
	uint32_t number = fake_correlation();

	fake_context(1);
	launch_as(number, "one", NULL, 1);
	launch_as(number, "two", NULL, 1);
	now_ran("one", number);
	now_ran("two", number);
	now_ran("refused", launch("refused", NULL, 1)); /* the second that the filter is asked of */
	now_ran("three", launch("three", NULL, 1));
	fake_deliver();
}

bool link_scene(const char *scene, int argc, char **argv)
{
	if (strcmp(scene, "shared") == 0)
		shared();
	else if (strcmp(scene, "wraps") == 0)
		wraps();
	else if (strcmp(scene, "nested") == 0)
		nested(argc > 2 ? (unsigned)atoi(argv[2]) : 1);
	else if (strcmp(scene, "graphs") == 0)
		graphs();
	else if (strcmp(scene, "tooled") == 0)
		tooled();
	else if (strcmp(scene, "tooled_shared") == 0)
		tooled_shared();
	else if (strcmp(scene, "steps") == 0)
		steps();
	else
		return false;
	return true;
}
