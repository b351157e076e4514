/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What CUDA programs do, said to the fake. The first argument chooses the scene; prints what a
 * test has to know of it.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scenes.h"
#include "calls.h"
#include "../support/between.h"
#include "../../include/kymo/marker.h"

static void memory(void)
{
	uint64_t pointer = 0x7f0000001000, gone = pointer;
	struct {
		uint64_t *pointer;
		size_t bytes;
	} p = {&pointer, 4096};
	struct {
		void **pointer;
		size_t bytes;
	} r = {(void **)&pointer, 4096};
	struct fake_call outer, inner;
	uint32_t correlation = fake_correlation();

	begin(&outer, RUNTIME, RT_MALLOC, &r, correlation);
	begin(&inner, DRIVER, CU_MEM_ALLOC, &p, correlation);
	fake_leave(&inner, 0);
	fake_leave(&outer, 0);
	whole(DRIVER, CU_MEM_ALLOC, &p, 2); /* out of memory: nothing was allocated */
	whole(DRIVER, CU_MEM_FREE, &gone, 0);
}

static void allocated(size_t bytes)
{
	uint64_t pointer = 0x7f0000001000;
	struct {
		uint64_t *pointer;
		size_t bytes;
	} p = {&pointer, bytes};

	whole(DRIVER, CU_MEM_ALLOC, &p, 0);
}

static void *reuse(void *released)
{
	uint64_t pointer = 0x7f0000001000;

	allocated(8192);
	if (released)
		whole(DRIVER, CU_MEM_FREE, &pointer, 0);
	return NULL;
}

/*
 * Another thread gets memory that a call of this one has freed and not returned from: first it
 * keeps it until the call has, then it has freed it, too.
 */
static void reused(void)
{
	uint64_t pointer = 0x7f0000001000;
	struct fake_call c;
	pthread_t other;

	fake_context(1);
	for (int i = 0; i < 2; i++) {
		allocated(4096);
		begin(&c, DRIVER, CU_MEM_FREE, &pointer, fake_correlation());
		if (pthread_create(&other, NULL, reuse, i ? &pointer : NULL) != 0)
			abort();
		pthread_join(other, NULL);
		fake_leave(&c, 0);
		if (i == 0)
			whole(DRIVER, CU_MEM_FREE, &pointer, 0);
	}
}

static void waits(void *stream)
{
	void *event = (void *)0xe0;
	struct {
		void *event, *stream;
	} record = {event, stream};
	struct {
		void *stream, *event;
		unsigned flags;
	} wait = {stream, event, 0};

	whole(DRIVER, CU_EVENT_RECORD, &record, 0);
	whole(DRIVER, CU_STREAM_WAIT, &wait, 0);
	whole(DRIVER, CU_EVENT_SYNC, &event, 0);
	whole(DRIVER, CU_STREAM_SYNC, &stream, 0);
}

static void managed(void)
{
	uint64_t pointer = 0x7f1000000000;
	struct {
		uint64_t *pointer;
		size_t bytes;
		unsigned flags;
	} p = {&pointer, 1 << 21, 1};
	struct counter_record c = {.kind = 25,
				   .counter = 1,
				   .value = 65536,
				   .address = pointer,
				   .source = UINT32_MAX,
				   .flags = 3};

	whole(DRIVER, CU_MANAGED, &p, 0);
	c.start = fake_now();
	c.end = c.start + 2000;
	fake_record(&c, by_version(104, 64, 64));
	c.counter = 4;
	c.value = 17;
	c.source = 0;
	fake_record(&c, by_version(104, 64, 64));
}

static void basic(void)
{
	void *stream = make_stream(-5);
	uint64_t now;
	uint32_t a, b;
	int device = 0, *out = &device;

	fake_context(1);
	memory();
	copies();
	whole(RUNTIME, RT_GET_DEVICE, &out, 0);
	a = launch("_Z3addPfS_i", NULL, 128);
	b = launch("_Z3mulPfS_i", stream, 64);
	now = fake_now();
	ran("_Z3addPfS_i", a, now, now + 5000, 7, 128);
	ran("_Z3mulPfS_i", b, now + 100, now + 7100, 0x0d, 64);
	waits(stream);
	managed();
	fake_deliver();
}

/* Times that cannot be, and work whose call is not known. */
static void odd(void)
{
	uint64_t now = fake_now();

	fake_context(1);
	ran("none", launch("none", NULL, 1), 0, 0, 7, 1);
	ran("backwards", launch("backwards", NULL, 1), now + 1000, now, 7, 1);
	kymo_range_push("solve");
	ran("early", launch("early", NULL, 1), now - 5000000, now - 4000000, 7, 1);
	ran("in time", launch("in time", NULL, 1), now + 5000000, now + 6000000, 7, 1);
	kymo_range_pop();
	ran("stranger", 4000000, now, now + 10, 7, 1);
	fake_deliver();
}

static void overhead(uint32_t kind, uint64_t start, uint64_t end)
{
	struct overhead_record o = {.kind = 17, .overhead = kind << 16, .start = start, .end = end};

	fake_record(&o, by_version(56, 48, 40));
}

/* What the driver does of itself, and CUPTI: code compiled during a launch, loaded, pools, costs. */
static void driver_work(void)
{
	uint32_t correlation;
	uint64_t now;

	fake_context(1);
	correlation = launch("compiled", NULL, 1);
	now = fake_now();
	for (uint32_t operation = 1; operation <= 3; operation++) {
		struct jit_record j = {52,         1,           operation, 0, now - 3000,
				       now - 1000, correlation, 0,         7, 4096,
				       "/cache",   1,           2};

		fake_record(&j, by_version(72, 64, 64));
	}
	for (uint32_t operation = 1; operation <= 3; operation++) {
		struct pool_record p = {50,    operation, 1,       0,   1,    0, 65536,
					0xb00, 1 << 20,   1 << 16, now, 4096, 0};

		fake_record(&p, by_version(80, 72, 72));
	}
	for (uint32_t kind = 1; kind <= 8; kind++)
		overhead(kind, now - 1000, now - 500);
	ran("compiled", correlation, now, now + 10, 7, 1);
	fake_deliver();
}

/* Does what its input says: launches, whose records stay with CUPTI until somebody asks for them. */
static void served(void)
{
	unsigned count;

	fake_context(1);
	while (scanf(" launch %u", &count) == 1) {
		for (unsigned i = 0; i < count; i++)
			ran("served", launch("served", NULL, 1), fake_now(), fake_now() + 10, 7, 1);
		printf("done\n");
		fflush(stdout);
	}
}

/* A kernel on each of two devices, a copy from the first to the second. */
static void two_devices(void)
{
	struct peer_record p = {.kind = 22,
				.what = {10, 3, 3},
				.bytes = 4096,
				.device = 0,
				.context = 1,
				.stream = 7,
				.source = {0, 1},
				.destination = {1, 2}};
	struct kernel k = {.kind = 10,
			   .grid = {1, 1, 1},
			   .block = {1, 1, 1},
			   .device = 1,
			   .context = 2,
			   .stream = 7,
			   .name = "there"};
	struct fake_call c;

	fake_context(1);
	fake_context(2);
	ran("here", launch("here", NULL, 1), fake_now(), fake_now() + 10, 7, 1);
	k.correlation = launch("there", NULL, 1);
	k.start = fake_now();
	k.end = k.start + 10;
	fake_record(&k, by_version(216, 208, 200));
	p.correlation = fake_correlation();
	begin(&c, RUNTIME, RT_MEMCPY, NULL, p.correlation);
	fake_leave(&c, 0);
	p.start = fake_now();
	p.end = p.start + 100;
	fake_record(&p, by_version(96, 96, 96));
	fake_deliver();
}

static void *one_thread(void *arg)
{
	for (unsigned i = 0; i < 1000; i++) {
		uint64_t now = fake_now();

		ran("thread", launch("thread", NULL, 1), now, now + 10, 7, 1);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t t[8];

	fake_context(1);
	for (int i = 0; i < 8; i++)
		pthread_create(&t[i], NULL, one_thread, NULL);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	fake_deliver();
}

/* A call that takes a while, in a device context. */
static void takes_long(uint32_t context, uint32_t cbid, const void *params, int32_t result)
{
	struct fake_call c;
	uint64_t over;

	context_id = context;
	begin(&c, DRIVER, cbid, params, fake_correlation());
	over = fake_now() + 2000000;
	while (fake_now() < over)
		sched_yield();
	fake_leave(&c, result);
}

/* Two modules and a library on two devices, and one that cannot be loaded. */
static void modules(void)
{
	void *handles[] = {(void *)0xa100, (void *)0xa200, (void *)0xa300, NULL};
	struct {
		void **module;
		const void *image;
	} p[] = {{&handles[0], "one"}, {&handles[1], "two"}, {&handles[3], "bad"}};
	struct {
		void **library;
		const void *code;
		void *more[6];
	} library = {&handles[2], "three", {NULL}};

	fake_context(1);
	fake_context(2);
	takes_long(1, CU_MODULE_LOAD, &p[0], 0);
	takes_long(2, CU_MODULE_LOAD, &p[1], 0);
	takes_long(2, CU_LIBRARY_LOAD, &library, 0);
	takes_long(1, CU_MODULE_LOAD, &p[2], 209); /* no binary for the device */
	context_id = 1;
}

static void late(void)
{
	void *stream = NULL;

	ran("late", launch("late", NULL, 1), fake_now(), fake_now() + 10, 7, 1);
	whole(DRIVER, CU_STREAM_SYNC, &stream, 0);
}

static void fresh(void)
{
	launch("fresh", NULL, 1);
}

static void fresh_seen(void)
{
	uint64_t now = fake_now();

	ran("fresh", launch("fresh", NULL, 1), now, now + 10, 7, 1);
	fake_deliver();
}

static void dropped(void)
{
	kymo_range_push("step");
	many(10);
	kymo_range_pop();
	fake_drop(123);
	many(10);
}

/* False: there is none of that name. */
static bool plain_scene(const char *scene, char **argv)
{
	static const struct {
		const char *name;
		void (*make)(void);
	} scenes[] = {
		{"modules", modules},         {"odd", odd},       {"served", served},
		{"two_devices", two_devices}, {"reused", reused}, {"driver_work", driver_work},
		{"threads", threads},         {"fork", forked},   {"drop", dropped}};

	for (unsigned i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++)
		if (strcmp(scene, scenes[i].name) == 0) {
			scenes[i].make();
			return true;
		}
	if (strcmp(scene, "brought") == 0)
		brought(argv[2]);
	else if (strcmp(scene, "many") == 0)
		many((unsigned)atoi(argv[2]));
	else if (strcmp(scene, "objects") == 0)
		objects(strcmp(argv[2], "leaks") == 0);
	else
		return strcmp(scene, "late") == 0;
	return true;
}

int main(int argc, char **argv)
{
	const char *scene = argc > 1 ? argv[1] : "basic";

	if (strcmp(scene, "late") == 0)
		atexit(late); /* before CUDA: runs after everything of it */
	if (strcmp(scene, "other") == 0)
		fake_other_subscriber();
	if (strcmp(scene, "takes") == 0) {
		takes(argv[2], argc > 3 ? argv[3] : NULL);
		return 0;
	}
	fake_init();
	if (strcmp(scene, "hang") == 0)
		return hang(argv[2], argc > 3 ? atoi(argv[3]) : 0);
	if (strcmp(scene, "exit") == 0)
		return ends(argv[2]);
	if (strcmp(scene, "meet") == 0) {
		fake_context(1);
		between((unsigned)atoi(argv[2]), fresh, fresh_seen);
	}
	if (link_scene(scene, argc, argv) || pause_scene(scene, argc))
		return 0;
	if (!plain_scene(scene, argv) && !driver_scene(scene, argc, argv))
		basic();
	printf("kernels %d driver %d runtime %d\n", fake_kind(10), fake_enabled(DRIVER, CU_LAUNCH),
	       fake_enabled(RUNTIME, RT_LAUNCH));
	return 0;
}
