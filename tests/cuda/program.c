/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What CUDA programs do, said to the fake. The first argument chooses the scene; prints what a
 * test has to know of it.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/between.h"
#include "../../include/kymo/marker.h"
#include "profiler.h"
#include "fake.h"

enum { DRIVER = 1, RUNTIME = 2 };
/* CUPTI's numbers of functions. */
enum {
	CU_MEM_ALLOC = 243,
	CU_MEM_FREE = 245,
	CU_MEMCPY_HTOD = 276,
	CU_LAUNCH = 307,
	CU_LAUNCH_EX = 652,
	CU_STREAM_SYNC = 126,
	CU_STREAM_CREATE_PRIORITY = 367,
	CU_MANAGED = 371,
	CU_EVENT_RECORD = 119,
	CU_STREAM_WAIT = 295,
	CU_EVENT_SYNC = 121,
	CU_MEMSET = 249,
	CU_GRAPH_LAUNCH = 514,
	CU_CTX_SYNC = 17,
	CU_MODULE_LOAD = 19,
	CU_LIBRARY_LOAD = 678,
	CU_GET_FUNCTION = 23,
	CU_BEGIN_CAPTURE = 539,
	CU_END_CAPTURE = 497,
	RT_LAUNCH = 211,
	RT_MALLOC = 20,
	RT_MEMCPY = 31,
	RT_STREAM_SYNC = 131,
	RT_GET_DEVICE = 17,
	RT_GRAPH_LAUNCH = 311
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
	void *reserved;
	uint64_t queued, submitted;
	uint8_t launch[4];
	uint32_t executed;
	uint64_t node;
	uint32_t limit, graph;
	void *policy;
	uint32_t channel[2], cluster[4];
	uint64_t local_total, maximum, last;
};

struct memcpy_record {
	uint32_t kind;
	uint8_t what[3], flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation, runtime, pad;
	void *reserved;
	uint64_t node;
	uint32_t graph, channel[2], launched;
	uint64_t count;
};

struct peer_record {
	uint32_t kind;
	uint8_t what[3], flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, source[2], destination[2], correlation;
	void *reserved;
	uint64_t node;
	uint32_t graph, channel[2], pad;
};

struct memset_record {
	uint32_t kind, value;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation;
	uint16_t flags, memory;
	uint32_t pad;
	void *reserved;
	uint64_t node;
	uint32_t graph, channel[2], launched;
};

struct counter_record {
	uint32_t kind, counter;
	uint64_t value, start, end, address;
	uint32_t source, destination, stream, process, flags, pad;
	uint64_t processors[5];
};

struct jit_record {
	uint32_t kind, entry, operation, device;
	uint64_t start, end;
	uint32_t correlation, pad;
	uint64_t id, cache_bytes;
	const char *path;
	uint32_t process, thread;
};

struct pool_record {
	uint32_t kind, operation, type, correlation, process, device;
	uint64_t least, address, bytes, threshold, time, used, managed;
};

struct overhead_record {
	uint32_t kind, overhead, object, ids[3];
	uint64_t start, end, more[2];
};

static size_t by_version(size_t v13, size_t v12, size_t v11)
{
	const char *v = getenv("FAKE_VERSION");
	int n = v ? atoi(v) : 130001;

	return n >= 130000 ? v13 : n >= 19 ? v12 : v11;
}

static uint32_t context_id = 1;
static _Thread_local const char *symbol; /* of the launch that is made */

static void begin(struct fake_call *c, int domain, uint32_t cbid, const void *params,
		  uint32_t correlation)
{
	*c = (struct fake_call){.domain = domain,
				.cbid = cbid,
				.params = params,
				.correlation = correlation,
				.context_id = context_id,
				.symbol = symbol};
	fake_enter(c);
}

static void whole(int domain, uint32_t cbid, const void *params, int32_t result)
{
	struct fake_call c;

	begin(&c, domain, cbid, params, fake_correlation());
	fake_leave(&c, result);
}

struct launch {
	const void *func;
	uint32_t grid[3], block[3];
	void **args;
	size_t shared;
	void *stream;
};
struct driver_launch {
	void *f;
	unsigned grid[3], block[3], shared;
	void *stream;
	void **params, **extra;
};

/* cudaLaunchKernel() and what follows from it. */
static void launch_as(uint32_t correlation, const char *name, void *stream, unsigned blocks)
{
	struct launch p = {name, {blocks, 1, 1}, {256, 1, 1}, NULL, 48, stream};
	struct driver_launch d = {(void *)name, {blocks, 1, 1}, {256, 1, 1}, 48,
				  stream,       NULL,           NULL};
	struct fake_call outer, inner;

	symbol = name;
	begin(&outer, RUNTIME, RT_LAUNCH, &p, correlation);
	begin(&inner, DRIVER, CU_LAUNCH, &d, correlation);
	fake_leave(&inner, 0);
	fake_leave(&outer, 0);
	symbol = NULL;
}

/* Returns the correlation number. */
static uint32_t launch(const char *name, void *stream, unsigned blocks)
{
	uint32_t correlation = fake_correlation();

	launch_as(correlation, name, stream, blocks);
	return correlation;
}

static void ran(const char *name, uint32_t correlation, uint64_t start, uint64_t end,
		uint32_t stream, unsigned blocks)
{
	struct kernel k = {.kind = 10,
			   .registers = 32,
			   .start = start,
			   .end = end,
			   .context = 1,
			   .stream = stream,
			   .grid = {(int)blocks, 1, 1},
			   .block = {256, 1, 1},
			   .shared = {16, 48},
			   .local = {8, 0},
			   .correlation = correlation,
			   .name = name,
			   .cluster = {2, 1, 1}};

	fake_record(&k, by_version(216, 208, 200));
}

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

static void copies(void)
{
	struct {
		void *to;
		const void *from;
		size_t count;
		int kind;
	} p = {(void *)0x7f0000001000, &p, 1 << 20, 1};
	struct memcpy_record m = {
		.kind = 1, .what = {1, 1, 3}, .bytes = 1 << 20, .context = 1, .stream = 7};
	struct memset_record s = {
		.kind = 2, .bytes = 4096, .context = 1, .stream = 7, .memory = 3, .flags = 1};
	struct {
		uint64_t to;
		unsigned char value;
		size_t n;
	} q = {0x7f0000001000, 1, 4096};
	struct fake_call c;

	m.correlation = fake_correlation();
	begin(&c, RUNTIME, RT_MEMCPY, &p, m.correlation);
	m.start = fake_now();
	m.end = m.start + 1000;
	fake_leave(&c, 0);
	fake_record(&m, by_version(96, 88, 88));
	s.correlation = fake_correlation();
	begin(&c, DRIVER, CU_MEMSET, &q, s.correlation);
	fake_leave(&c, 0);
	s.start = fake_now();
	s.end = s.start + 500;
	fake_record(&s, by_version(88, 88, 88));
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

static void *make_stream(int priority)
{
	void *stream = (void *)0x500d;
	struct {
		void **stream;
		unsigned flags;
		int priority;
	} p = {&stream, 1, priority};

	whole(DRIVER, CU_STREAM_CREATE_PRIORITY, &p, 0);
	return stream;
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

static void many(unsigned count)
{
	fake_context(1);
	for (unsigned i = 0; i < count; i++) {
		uint64_t now = fake_now();

		ran("empty", launch("empty", NULL, 1), now, now + 1000, 7, 1);
		if (i % 1000 == 999)
			fake_deliver();
	}
	fake_deliver();
}

static void direct(const char *name)
{
	struct driver_launch d = {(void *)name, {1, 1, 1}, {1, 1, 1}, 0, NULL, NULL, NULL};
	struct fake_call c;
	uint32_t correlation = fake_correlation();

	begin(&c, DRIVER, CU_LAUNCH, &d, correlation);
	fake_leave(&c, 0);
	ran(name, correlation, fake_now(), fake_now() + 10, 7, 1);
}

/* Launches by the driver: from the start, or after many by the runtime. */
static void driver(bool late)
{
	struct {
		void **function;
		void *module;
		const char *name;
	} p = {NULL, NULL, "named"};

	fake_context(1);
	if (late)
		many(1000);
	printf("listened to %d\n", fake_enabled(DRIVER, CU_LAUNCH));
	if (late)
		whole(DRIVER, CU_GET_FUNCTION, &p, 0);
	for (int i = 0; i < 1000; i++)
		direct("direct");
	fake_deliver();
}

struct within {
	struct fake_call outer, inner;
	struct launch p;
	pthread_barrier_t in, go, out;
	uint32_t number;
	bool let_in;
};

/* Stays in a launch until it may go, and makes another one. */
static void *within(void *arg)
{
	struct within *w = arg;

	w->number = fake_correlation();
	symbol = "within";
	begin(&w->outer, RUNTIME, RT_LAUNCH, &w->p, w->number);
	if (!w->let_in)
		begin(&w->inner, DRIVER, CU_LAUNCH, NULL, w->number);
	pthread_barrier_wait(&w->in);
	pthread_barrier_wait(&w->go);
	if (w->let_in) {
		w->inner = (struct fake_call){.domain = DRIVER,
					      .cbid = CU_LAUNCH,
					      .correlation = w->number,
					      .symbol = symbol,
					      .let_in = true};
		fake_enter(&w->inner);
		printf("listened to %d\n", fake_enabled(DRIVER, CU_LAUNCH));
	}
	fake_leave(&w->inner, 0);
	fake_leave(&w->outer, 0);
	symbol = NULL;
	ran("within", w->number, fake_now(), fake_now() + 10, 7, 1);
	ran("later", launch("later", NULL, 1), fake_now(), fake_now() + 10, 7, 1);
	ran("later", launch("later", NULL, 1), fake_now(), fake_now() + 10, 7, 1);
	pthread_barrier_wait(&w->out);
	return NULL;
}

/* What of the driver is used has shown while a thread is in a launch, or on its way into one (`late`). */
static void trial(bool late)
{
	static struct within w;
	pthread_t thread;

	w.let_in = late;
	fake_context(1);
	pthread_barrier_init(&w.in, NULL, 2);
	pthread_barrier_init(&w.go, NULL, 2);
	pthread_barrier_init(&w.out, NULL, 2);
	pthread_create(&thread, NULL, within, &w);
	pthread_barrier_wait(&w.in);
	many(1000);
	printf("listened to %d\n", fake_enabled(DRIVER, CU_LAUNCH));
	pthread_barrier_wait(&w.go);
	pthread_barrier_wait(&w.out);
	printf("listened to %d\n", fake_enabled(DRIVER, CU_LAUNCH));
	pthread_join(thread, NULL);
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

/* A launch by the driver, then many by the runtime: that function stays listened to, others do not. */
static void mixed(void)
{
	fake_context(1);
	direct("first");
	many(1000);
	printf("listened to %d %d\n", fake_enabled(DRIVER, CU_LAUNCH),
	       fake_enabled(DRIVER, CU_LAUNCH_EX));
	direct("again");
	fake_deliver();
}

/* Kernels of calls that were not listened to turn listening on again. */
static void unheard(void)
{
	fake_context(1);
	many(1000);
	direct("unheard");
	fake_deliver();
	direct("heard");
	fake_deliver();
}

/* What the callbacks alone cost: nanoseconds a launch. */
static void cost(int count)
{
	uint64_t start;

	fake_context(1);
	for (int i = 0; i < 1000; i++)
		launch("cost", NULL, 1);
	start = fake_now();
	for (int i = 0; i < count; i++)
		launch("cost", NULL, 1);
	fprintf(stderr, "%.1f ns\n", (double)(fake_now() - start) / count);
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

static void forked(void)
{
	pid_t child;

	fake_context(1);
	ran("parent", launch("parent", NULL, 1), fake_now(), fake_now() + 10, 7, 1);
	child = fork();
	if (child == 0) {
		whole(RUNTIME, RT_GET_DEVICE, NULL, 3);
		whole(DRIVER, CU_LAUNCH, NULL, 3); /* not initialised: what CUDA says in a child */
		exit(7);
	}
	waitpid(child, NULL, 0);
	ran("after", launch("after", NULL, 1), fake_now(), fake_now() + 10, 7, 1);
}

/* Ten kernels that CUPTI has not handed over. Returns what cannot be. */
static int ends(const char *how)
{
	pid_t child;
	int status = 0;

	fake_context(1);
	for (unsigned i = 0; i < 10; i++)
		ran("empty", launch("empty", NULL, 1), fake_now(), fake_now() + 1000, 7, 1);
	if (strcmp(how, "kill") == 0) {
		while (fake_held()) /* until somebody asks for it */
			sched_yield();
		launch("lost", NULL, 1);
		raise(SIGKILL);
	}
	if (strcmp(how, "quick") == 0)
		quick_exit(3);
	if (strcmp(how, "children") == 0) { /* which have nothing to collect */
		child = fork();
		if (child == 0)
			_exit(4);
		waitpid(child, &status, 0);
		child = WEXITSTATUS(status) == 4 ? vfork() : -1;
		if (child == 0)
			_exit(5);
		waitpid(child, &status, 0);
		if (WEXITSTATUS(status) != 5 || fake_flushed())
			return 1;
	}
	if (strcmp(how, "_Exit") == 0)
		_Exit(3);
	_exit(3);
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

/* On a device of its own, by a thread of its own: a kernel and a memset. */
static void *hang_there(void *arg)
{
	struct memset_record s = {.kind = 2, .bytes = 4096, .device = 1, .context = 2, .stream = 7};
	struct kernel k = {.kind = 10,
			   .grid = {1, 1, 1},
			   .block = {1, 1, 1},
			   .device = 1,
			   .context = 2,
			   .stream = 7,
			   .name = "there"};
	struct {
		uint64_t to;
		unsigned char value;
		size_t n;
	} p = {0x7f0000001000, 1, 4096};
	struct fake_call c;

	k.correlation = launch("there", NULL, 1);
	fake_record(&k, by_version(216, 208, 200));
	s.correlation = fake_correlation();
	begin(&c, DRIVER, CU_MEMSET, &p, s.correlation);
	fake_leave(&c, 0);
	fake_record(&s, by_version(88, 88, 88));
	return NULL;
}

/* What does not hang, though CUPTI has no record of it to give. */
static void around(void *stream)
{
	struct {
		void *to;
		const void *from;
		size_t count;
		int kind;
	} nothing = {&nothing, &nothing, 0, 1};
	struct {
		void *stream;
		int mode;
	} capture = {stream, 0};
	struct {
		void *stream, **graph;
	} captured = {stream, NULL};
	uint64_t now = fake_now();
	void *legacy = NULL;

	ran("seen", launch("seen", NULL, 1), now, now + 10, 7, 1);
	whole(DRIVER, CU_CTX_SYNC, NULL, 0);
	ran("waited", launch("waited", stream, 1), now, now + 10, 0x0d, 1);
	whole(DRIVER, CU_STREAM_SYNC, &stream, 0);
	whole(RUNTIME, RT_MEMCPY, &nothing, 0);
	whole(DRIVER, CU_BEGIN_CAPTURE, &capture, 0);
	launch("captured", stream, 1);
	whole(DRIVER, CU_END_CAPTURE, &captured, 0);
	whole(DRIVER, CU_STREAM_SYNC, &legacy,
	      999); /* failed: it says nothing of what came before */
}

/* Kernels on two devices and a memset that do not end, seen to hang; then the process ends as told. */
static int hang(const char *how, int more)
{
	void *stream = make_stream(0);
	uint64_t now = fake_now();
	pthread_t other;

	fake_context(1);
	fake_context(2);
	ran("before", launch("before", NULL, 1), now, now + 10, 7, 1);
	fake_deliver();
	fake_hold(true);
	around(stream);
	ran("hung", launch("hung", stream, 1), 0, 0, 0x0d, 1);
	for (int i = 0; i < more; i++) /* behind it */
		launch("behind", stream, 1);
	context_id = 2;
	if (pthread_create(&other, NULL, hang_there, NULL) != 0)
		return 1;
	pthread_join(other, NULL);
	while (strcmp(how, "live") != 0 && fake_kind(10) && fake_looked() < 4)
		sched_yield();
	printf("hangs\n");
	fflush(stdout);
	if (strcmp(how, "ends") == 0) /* and the program as well */
		fake_hold(false);
	else if (strcmp(how, "live") == 0)
		pause();
	else if (strcmp(how, "_exit") == 0)
		_exit(0);
	else if (strcmp(how, "exit") != 0)
		raise(atoi(how));
	return 0;
}

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

/* ---- which call a record is of ---- */

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

static void copied(uint32_t correlation, uint32_t graph, uint64_t node)
{
	struct memcpy_record m = {.kind = 1,
				  .what = {1, 1, 3},
				  .bytes = 4096,
				  .context = 1,
				  .stream = 7,
				  .correlation = correlation,
				  .graph = graph,
				  .node = node,
				  .start = fake_now()};

	m.end = m.start + 100;
	fake_record(&m, by_version(96, 88, 88));
}

static void now_ran(const char *name, uint32_t correlation)
{
	uint64_t now = fake_now();

	ran(name, correlation, now, now + 10, 7, 1);
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

static bool links(const char *scene, int argc, char **argv)
{
	if (strcmp(scene, "shared") == 0)
		shared();
	else if (strcmp(scene, "wraps") == 0)
		wraps();
	else if (strcmp(scene, "nested") == 0)
		nested(argc > 2 ? (unsigned)atoi(argv[2]) : 1);
	else if (strcmp(scene, "graphs") == 0)
		graphs();
	else if (strcmp(scene, "tooled_shared") == 0)
		tooled_shared();
	else
		return false;
	return true;
}

static void late(void)
{
	void *stream = NULL;

	ran("late", launch("late", NULL, 1), fake_now(), fake_now() + 10, 7, 1);
	whole(DRIVER, CU_STREAM_SYNC, &stream, 0);
}

static void kernels(const char *name, int count)
{
	for (int i = 0; i < count; i++)
		ran(name, launch(name, NULL, 1), fake_now(), fake_now() + 10, 7, 1);
}

/*
 * A program with a profiler of its own, which uses CUPTI for five kernels of ten; `how` it gets at
 * CUPTI, and when: "early" is before CUDA is initialised. `where`: the library to load or ask.
 */
static void takes(const char *how, const char *where)
{
	const bool loaded = strcmp(how, "loaded") == 0, asks = strcmp(how, "dlsym") == 0;
	void *library = where ? dlopen(where, RTLD_NOW | RTLD_LOCAL) : NULL;
	void *begin_at = loaded ? dlsym(library, "profiler_begin") : NULL;
	void *end_at = loaded ? dlsym(library, "profiler_end") : NULL;
	void (*profile)(void *, bool) = profiler_begin;
	void (*profiled)(void) = profiler_end;

	if (loaded) {
		memcpy(&profile, &begin_at, sizeof(profile));
		memcpy(&profiled, &end_at, sizeof(profiled));
	}
	if (strcmp(how, "early") == 0)
		profile(NULL, true);
	fake_init();
	fake_context(1);
	kernels("before", strcmp(how, "early") == 0 ? 0 : 3);
	if (strcmp(how, "early") != 0)
		profile(asks ? library : NULL, strcmp(how, "activities") != 0);
	kernels("profiled", 5);
	profiled();
	kernels("after", 2);
	printf("kernels wanted: %d\n", fake_kind(10));
}

/* A library that has CUPTI in it comes while kernels run. */
static void brought(const char *library)
{
	int waited = 0;

	fake_context(1);
	kernels("before", 3);
	if (!dlopen(library, RTLD_NOW | RTLD_LOCAL))
		abort();
	for (; (fake_kind(10) || fake_enabled(RUNTIME, RT_LAUNCH)) && waited < 60000; waited++) {
		kernels("meanwhile", 1); /* Kymo looks while there is work */
		usleep(1000);
	}
	kernels("after", 2);
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
	if (strcmp(scene, "meet") == 0) {
		fake_context(1);
		between((unsigned)atoi(argv[2]), fresh, fresh_seen);
	}
	if (links(scene, argc, argv))
		return 0;
	if (strcmp(scene, "modules") == 0)
		modules();
	else if (strcmp(scene, "odd") == 0)
		odd();
	else if (strcmp(scene, "brought") == 0)
		brought(argv[2]);
	else if (strcmp(scene, "many") == 0)
		many((unsigned)atoi(argv[2]));
	else if (strcmp(scene, "driver") == 0)
		driver(argc > 2);
	else if (strcmp(scene, "mixed") == 0)
		mixed();
	else if (strcmp(scene, "trial") == 0)
		trial(argc > 2);
	else if (strcmp(scene, "served") == 0)
		served();
	else if (strcmp(scene, "two_devices") == 0)
		two_devices();
	else if (strcmp(scene, "reused") == 0)
		reused();
	else if (strcmp(scene, "driver_work") == 0)
		driver_work();
	else if (strcmp(scene, "unheard") == 0)
		unheard();
	else if (strcmp(scene, "tooled") == 0)
		tooled();
	else if (strcmp(scene, "steps") == 0)
		steps();
	else if (strcmp(scene, "cost") == 0)
		cost(argc > 2 ? atoi(argv[2]) : 1000000);
	else if (strcmp(scene, "threads") == 0)
		threads();
	else if (strcmp(scene, "fork") == 0)
		forked();
	else if (strcmp(scene, "drop") == 0) {
		many(10);
		fake_drop(123);
		many(10);
	} else if (strcmp(scene, "exit") == 0) {
		return ends(argv[2]);
	} else if (strcmp(scene, "late") != 0)
		basic();
	printf("kernels %d driver %d runtime %d\n", fake_kind(10), fake_enabled(DRIVER, CU_LAUNCH),
	       fake_enabled(RUNTIME, RT_LAUNCH));
	return 0;
}
