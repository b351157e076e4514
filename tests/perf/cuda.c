/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CUDA program that does one thing again and again, said to the fake of tests/cuda. backends.py runs
 * it under callgrind with two numbers of rounds.
 *
 *   cuda call ROUNDS     an event is created: a pointer that the call writes, and flags
 *   cuda copy ROUNDS     a copy is put into a stream, and its record comes: five arguments
 *   cuda launch ROUNDS   a kernel likewise: ten arguments
 *   cuda extended ROUNDS the same by a configuration that a pointer leads to
 *   cuda wait ROUNDS     a stream is waited for
 *   cuda query ROUNDS    a call that no mode but full records
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/fake.h"

enum { RUNTIME = 2, DELIVER_EACH = 512 };
/* CUPTI's numbers of functions. */
enum {
	RT_EVENT_CREATE = 134,
	RT_MEMCPY_ASYNC = 41,
	RT_LAUNCH = 211,
	RT_LAUNCH_EXTENDED = 430,
	RT_STREAM_SYNC = 131,
	RT_GET_DEVICE = 17
};

struct kernel {
	uint32_t kind;
	uint8_t cache[2];
	uint16_t registers;
	uint32_t partitioned[2];
	uint64_t start, end, completed;
	uint32_t device, context, stream;
	int32_t grid[3], block[3], shared[2];
	uint32_t local[2], correlation;
	int64_t grid_id;
	const char *name;
	uint64_t rest[15];
};
_Static_assert(sizeof(struct kernel) >= 216, "CUPTI's record");

struct memcpy_record {
	uint32_t kind;
	uint8_t what[3], flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation, runtime, pad;
	uint64_t rest[5];
};
_Static_assert(sizeof(struct memcpy_record) == 96, "CUPTI's record");

static const char name[] = "step";
static uint64_t now; /* of the device: what the clock says is not what is measured */
static void *stream = (void *)0x55550000500d;

static uint32_t make(uint32_t cbid, const void *params, const char *symbol)
{
	const uint32_t correlation = fake_correlation();
	struct fake_call c = {.domain = RUNTIME,
			      .cbid = cbid,
			      .params = params,
			      .correlation = correlation,
			      .context_id = 1,
			      .symbol = symbol};

	fake_enter(&c);
	fake_leave(&c, 0);
	return correlation;
}

static void call(void)
{
	void *event = (void *)0x555500001230;
	struct {
		void **event;
		unsigned flags;
	} p = {&event, 2};

	make(RT_EVENT_CREATE, &p, NULL);
}

static void copy(void)
{
	struct {
		void *to;
		const void *from;
		size_t count;
		int kind;
		void *stream;
	} p = {(void *)0x7f0000001000, &p, 1 << 20, 1, stream};
	struct memcpy_record m = {
		.kind = 1, .what = {1, 1, 3}, .bytes = 1 << 20, .context = 1, .stream = 13};

	m.correlation = make(RT_MEMCPY_ASYNC, &p, NULL);
	m.start = now += 1000;
	m.end = now += 5000;
	fake_record(&m, 96);
}

static void ran(uint32_t correlation)
{
	struct kernel k = {.kind = 10,
			   .registers = 32,
			   .context = 1,
			   .stream = 13,
			   .grid = {128, 1, 1},
			   .block = {256, 1, 1},
			   .shared = {16, 48},
			   .correlation = correlation,
			   .name = name};

	k.start = now += 1000;
	k.end = now += 5000;
	fake_record(&k, 216);
}

static void launch(void)
{
	struct {
		const void *func;
		uint32_t grid[3], block[3];
		void **args;
		size_t shared;
		void *stream;
	} p = {name, {128, 1, 1}, {256, 1, 1}, (void **)&p, 48, stream};

	ran(make(RT_LAUNCH, &p, name));
}

static void extended(void)
{
	struct {
		uint32_t grid[3], block[3];
		size_t shared;
		void *stream, *attributes;
		unsigned count;
	} config = {{128, 1, 1}, {256, 1, 1}, 48, stream, NULL, 0};
	struct {
		const void *config, *func;
		void **args;
	} p = {&config, name, (void **)&config};

	ran(make(RT_LAUNCH_EXTENDED, &p, name));
}

static void wait(void)
{
	make(RT_STREAM_SYNC, &stream, NULL);
}

static void query(void)
{
	int device = 0, *out = &device;

	make(RT_GET_DEVICE, &out, NULL);
}

static const struct {
	const char *name;
	void (*run)(void);
} scenes[] = {{"call", call},         {"copy", copy}, {"launch", launch},
	      {"extended", extended}, {"wait", wait}, {"query", query}};

int main(int argc, char **argv)
{
	const unsigned long rounds = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	void (*run)(void) = NULL;

	for (unsigned i = 0; i < sizeof(scenes) / sizeof(scenes[0]) && argc == 3; i++)
		if (strcmp(scenes[i].name, argv[1]) == 0)
			run = scenes[i].run;
	if (!run) {
		fputs("usage: cuda call|copy|launch|extended|wait|query ROUNDS\n", stderr);
		return 2;
	}
	fake_init();
	fake_context(1);
	now = fake_now();
	for (unsigned long i = 0; i < rounds; i++) {
		run();
		if (i % DELIVER_EACH == DELIVER_EACH - 1)
			fake_deliver();
	}
	fake_deliver();
	return 0;
}
