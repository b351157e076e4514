/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules about what hosts do (analysis/rules): target regions, memory, polling, messages. Runs are made up of calls of
 * two threads, each of its own process, and work of two devices of one name.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/diagnose.h"

#define MS 1000000
#define MB (1 << 20)

enum op {
	OP_TARGET = 1,
	OP_ENTER_DATA,
	OP_SUBMIT,
	OP_TRANSFER,
	OP_PARALLEL,
	OP_OTHER,
	OP_MPI_TEST,
	OP_MPI_IPROBE,
	OP_MPI_SEND,
	OP_KERNEL, /* activities from here on */
	OP_WRITE,
	OP_READ,
	OP_PEER,
	OP_MESSAGE,
	OP_ALLOCATE,
	OP_FREE,
	OPS
};

static struct t_domain domains[] = {{"", ""},         {"openmp", ""}, {"test", ""},
				    {"dispatch", ""}, {"copy", ""},   {"allocation", ""},
				    {"mpi", ""},      {"comm", ""}};
static struct t_op ops[OPS] = {
	{.name = ""},
	[OP_TARGET] = {.name = "target", .domain = 1, .flags = KYMO_OP_WAITS},
	[OP_ENTER_DATA] = {.name = "target_enter_data", .domain = 1, .flags = KYMO_OP_WAITS},
	[OP_SUBMIT] = {.name = "target_submit", .domain = 1, .flags = KYMO_OP_SUBMITS},
	[OP_TRANSFER] = {.name = "target_transfer_to", .domain = 1, .flags = KYMO_OP_SUBMITS},
	[OP_PARALLEL] = {.name = "parallel", .domain = 1},
	[OP_OTHER] = {.name = "testOther", .domain = 2},
	[OP_MPI_TEST] = {.name = "MPI_Test", .domain = 6},
	[OP_MPI_IPROBE] = {.name = "MPI_Iprobe", .domain = 6},
	[OP_MPI_SEND] = {.name = "MPI_Send", .domain = 6},
	[OP_KERNEL] = {.name = "kernel", .domain = 3, .flags = KYMO_OP_ACTIVITY},
	[OP_WRITE] = {.name = "write",
		      .domain = 4,
		      .number = COPY_OP_WRITE,
		      .flags = KYMO_OP_ACTIVITY},
	[OP_READ] = {.name = "read",
		     .domain = 4,
		     .number = COPY_OP_READ,
		     .flags = KYMO_OP_ACTIVITY},
	[OP_PEER] = {.name = "copy",
		     .domain = 4,
		     .number = COPY_OP_COPY,
		     .flags = KYMO_OP_ACTIVITY},
	[OP_MESSAGE] = {.name = "send",
			.domain = 7,
			.number = COMM_OP_SEND,
			.flags = KYMO_OP_ACTIVITY},
	[OP_ALLOCATE] = {.name = "allocate",
			 .domain = 5,
			 .number = ALLOCATION_OP_ALLOCATE,
			 .flags = KYMO_OP_ACTIVITY},
	[OP_FREE] = {.name = "free",
		     .domain = 5,
		     .number = ALLOCATION_OP_FREE,
		     .flags = KYMO_OP_ACTIVITY},
};
static struct t_process processes[] = {{0},
				       {.pid = 1, .start = 1, .rank = UINT32_MAX, .hostname = "h"},
				       {.pid = 2, .start = 1, .rank = UINT32_MAX, .hostname = "h"}};
static struct t_thread threads[] = {
	{0}, {.process = 1, .tid = 11, .main = true}, {.process = 2, .tid = 22, .main = true}};
static struct t_queue queues[] = {
	{0}, {.process = 1, .agent = 1, .name = ""}, {.process = 1, .agent = 2, .name = ""}};
static struct t_kernel kernels[] = {{0}, {.process = 1, .name = "work"}};
static struct t_site sites[3] = {{0}};

struct run {
	struct trace trace;
	struct timeline_sink sink;
	struct diagnosis diagnosis;
	struct t_agent agents[5];
	int64_t now;
	uint64_t id;
};

#define SET(name) .name = name, .name##_count = sizeof(name) / sizeof(*name)

static void begin(struct run *r)
{
	*r = (struct run){.now = 1000};
	for (unsigned i = 1; i < 5; i++)
		r->agents[i] = (struct t_agent){.process = 1, .type = "gpu", .name = "X"};
	r->agents[1].label = "X #0";
	r->agents[2].label = "X #1";
	r->agents[3].label = "Y";
	r->agents[4].label = "Y #1";
	r->trace = (struct trace){.path = "T",
				  SET(domains),
				  SET(ops),
				  SET(processes),
				  SET(threads),
				  SET(queues),
				  SET(kernels),
				  SET(sites),
				  .agents = r->agents,
				  .agents_count = 3,
				  .origin = 1000};
	timeline_sink_init(&r->sink, NULL);
	if (r->sink.sink.begin(&r->sink.sink, &r->trace) != KYMO_OK)
		abort();
}

static uint64_t call(struct run *r, enum op op, uint32_t thread, uint32_t site, int64_t start,
		     int64_t end)
{
	struct rec c = {.process = threads[thread].process,
			.thread = thread,
			.op = op,
			.site = site,
			.ok = true,
			.id = ++r->id,
			.start = start,
			.end = end};

	if (r->sink.sink.call(&r->sink.sink, &c) != KYMO_OK)
		abort();
	return c.id;
}

static struct rec_device times(uint64_t id, int64_t start, int64_t end)
{
	return (struct rec_device){.start = start, .end = end, .correlation = id};
}

static void kernel(struct run *r, uint32_t device, uint64_t id, int64_t start, int64_t end)
{
	struct rec_dispatch k = {
		.agent = device, .queue = device, .kernel = 1, .dims = 1, .global = {1}};

	k.base = (struct rec){
		.process = 1, .thread = 1, .op = OP_KERNEL, .ok = true, .start = start, .end = end};
	k.device = times(id, start, end);
	if (r->sink.sink.dispatch(&r->sink.sink, &k) != KYMO_OK)
		abort();
}

static void copy(struct run *r, uint32_t device, bool back, uint64_t bytes, uint64_t id,
		 int64_t start, int64_t end)
{
	struct rec_copy c = {.queue = device,
			     .bytes = bytes,
			     .source_kind = back ? MEMORY_DEVICE : MEMORY_HOST_PAGEABLE,
			     .destination_kind = back ? MEMORY_HOST_PAGEABLE : MEMORY_DEVICE,
			     .blocking = true};

	c.base = (struct rec){.process = 1,
			      .thread = 1,
			      .op = back ? OP_READ : OP_WRITE,
			      .ok = true,
			      .start = start,
			      .end = end};
	c.device = times(id, start, end);
	if (r->sink.sink.copy(&r->sink.sink, &c) != KYMO_OK)
		abort();
}

static void end(struct run *r)
{
	r->trace.end = r->now;
	if (r->sink.sink.end(&r->sink.sink, &r->trace) != KYMO_OK ||
	    !diagnose(&r->diagnosis, "T", r->sink.timeline, NULL, NULL))
		abort();
	for (uint32_t i = 0; i < r->diagnosis.count; i++)
		print_message("  %s: %s\n", r->diagnosis.findings[i].rule->id,
			      r->diagnosis.findings[i].title.s);
}

static void release(struct run *r)
{
	diagnosis_release(&r->diagnosis);
	timeline_free(r->sink.timeline);
}

static const struct finding *told(const struct run *r, const char *rule)
{
	for (uint32_t i = 0; i < r->diagnosis.count; i++)
		if (strcmp(r->diagnosis.findings[i].rule->id, rule) == 0)
			return &r->diagnosis.findings[i];
	return NULL;
}

/* Ends the run: the rule says nothing. */
static void silent(struct run *r, const char *rule)
{
	end(r);
	assert_null(told(r, rule));
	release(r);
}

/* Ends the run: the rule has a finding with this gain, and no other has one. */
static void check(struct run *r, const char *rule, uint64_t gain)
{
	end(r);
	assert_int_equal(r->diagnosis.count, 1);
	assert_non_null(told(r, rule));
	assert_int_equal(told(r, rule)->gain, gain);
	assert_true(told(r, rule)->show.length && told(r, rule)->advice.length);
	release(r);
}

/* ---- target regions ----------------------------------------------------------------------------- */

/* One that no device takes; the host computes it for so long. The field is a backend's. */
static void on_host(struct run *r, uint32_t thread, uint32_t site, int64_t ns)
{
	struct timeline *tl = r->sink.timeline;

	call(r, OP_TARGET, thread, site, r->now, r->now + 10);
	tl->calls[tl->calls_count - 1].flags |= CALL_FALLBACK;
	r->now += 10 + ns;
}

/* One on a device, which copies the data before and after its kernel. */
static void on_device(struct run *r, uint32_t device, uint32_t site, int64_t copying, int64_t ns,
		      uint64_t bytes)
{
	int64_t from = r->now, computes = from + copying, back = computes + ns;
	uint64_t to = copying ? call(r, OP_TRANSFER, 1, 0, from, computes) : 0;
	uint64_t work = call(r, OP_SUBMIT, 1, 0, computes, back);

	if (copying)
		copy(r, device, false, bytes, to, from, computes);
	kernel(r, device, work, computes, back);
	r->now = back + copying;
	if (copying)
		copy(r, device, true, bytes, call(r, OP_TRANSFER, 1, 0, back, r->now), back,
		     r->now);
	r->now += 100;
	call(r, OP_TARGET, 1, site, from, r->now);
}

static void test_fallback(void **state)
{
	const struct finding *f;
	struct run r;

	(void)state;
	begin(&r); /* how long a device takes is not known: all of it, at most */
	for (unsigned i = 0; i < 20; i++)
		on_host(&r, 1, 1, 10 * MS);
	call(&r, OP_OTHER, 1, 0, r.now, r.now + 10 * MS);
	r.now += 10 * MS;
	check(&r, "host-fallback", 20 * 10 * MS);

	begin(&r); /* others of the place ran on a device: of 2 ms each */
	for (unsigned i = 0; i < 20; i++)
		on_host(&r, 1, 1, 10 * MS);
	for (unsigned i = 0; i < 20; i++)
		on_device(&r, 1, 1, 0, 2 * MS, 0);
	end(&r);
	f = told(&r, "host-fallback");
	assert_non_null(f);
	assert_int_equal(f->gain, 20 * (8 * MS - 100));
	assert_int_equal(f->count, 20);
	assert_null(told(&r, "host-late"));
	assert_non_null(strstr(f->evidence.s, "ran on one"));
	release(&r);

	begin(&r); /* two processes at once: the run waits for both, not for their sum */
	for (unsigned i = 0; i < 20; i++) {
		int64_t from = r.now;

		on_host(&r, 1, 1, 10 * MS);
		r.now = from;
		on_host(&r, 2, 1, 10 * MS);
	}
	call(&r, OP_OTHER, 1, 0, r.now, r.now + MS);
	call(&r, OP_OTHER, 2, 0, r.now, r.now + MS);
	r.now += MS;
	check(&r, "host-fallback", 20 * 10 * MS);

	begin(&r); /* the host computes it with a team: until that is done */
	for (unsigned i = 0; i < 20; i++) {
		on_host(&r, 1, 1, 1000);
		call(&r, OP_PARALLEL, 1, 0, r.now, r.now + 5 * MS);
		r.now += 10 * MS;
	}
	call(&r, OP_OTHER, 1, 0, r.now, r.now);
	end(&r);
	assert_int_equal(told(&r, "host-fallback")->gain, 20 * (5 * MS + 1000));
	release(&r);
}

static void test_no_fallback(void **state)
{
	struct run r;

	(void)state;
	begin(&r); /* small ones stay on the host */
	for (unsigned i = 0; i < 60; i++) {
		on_host(&r, 1, 1, 20000);
		on_device(&r, 1, 2, 0, 10 * MS, 0);
	}
	silent(&r, "host-fallback");
}

/* Kernels on the processors, with a GPU that has work or has none. */
static void on_processors(struct run *r, int64_t ns, bool gpu_works)
{
	begin(r);
	r->agents[1].type = "cpu";
	r->agents[1].label = "C";
	r->trace.agents_count = 5;
	for (unsigned i = 0; i < 10; i++) {
		kernel(r, 1, 0, r->now, r->now + ns);
		if (gpu_works)
			kernel(r, 2, 0, r->now, r->now + ns);
		r->now += 10 * MS;
	}
}

static void test_processors_beside_gpu(void **state)
{
	const struct finding *f;
	struct run r;

	(void)state;
	on_processors(&r, 9 * MS, false);
	end(&r);
	f = told(&r, "host-fallback");
	assert_non_null(f);
	assert_int_equal(f->gain, 0); /* how much faster a GPU is is not known */
	assert_non_null(strstr(f->title.s, "90.00 ms, 90 %"));
	assert_non_null(strstr(f->evidence.s, "X #1 and 2 more"));
	release(&r);
	on_processors(&r, 9 * MS, true); /* shared on purpose */
	silent(&r, "host-fallback");
	on_processors(&r, MS / 4, false); /* a little */
	silent(&r, "host-fallback");
	on_processors(&r, 9 * MS, false);
	for (unsigned i = 2; i < 5; i++)
		r.agents[i].process = 2; /* of another program */
	silent(&r, "host-fallback");
}

static void test_mapping(void **state)
{
	struct run r;

	(void)state;
	begin(&r);
	for (unsigned i = 0; i < 20; i++)
		on_device(&r, 1, 1, 4 * MS, MS, MB);
	end(&r); /* but the first there and the last back */
	assert_int_equal(told(&r, "target-mapping")->gain, (20 - 1) * 2 * 4 * MS);
	assert_int_equal(told(&r, "target-mapping")->count, 38);
	assert_null(told(&r, "round-trip"));
	release(&r);

	begin(&r); /* two devices at once: each for itself */
	for (unsigned i = 0; i < 20; i++)
		on_device(&r, 1 + i % 2, 1, 4 * MS, MS, MB);
	end(&r);
	assert_int_equal(r.diagnosis.findings[0].gain + r.diagnosis.findings[1].gain,
			 (20 - 1) * 2 * 4 * MS);
	assert_string_equal(r.diagnosis.findings[1].rule->id, "target-mapping");
	release(&r);
}

static void test_mapped_as_needed(void **state)
{
	struct run r;

	(void)state;
	begin(&r); /* the host has the time to change 1 MiB: 53 us */
	for (unsigned i = 0; i < 20; i++) {
		on_device(&r, 1, 1, 4 * MS, MS, MB);
		r.now += 60000;
	}
	silent(&r, "target-mapping");
	begin(&r); /* another call, which may change it */
	for (unsigned i = 0; i < 20; i++) {
		on_device(&r, 1, 1, 4 * MS, MS, MB);
		call(&r, OP_OTHER, 1, 0, r.now, r.now + 6000);
		r.now += 6000;
	}
	silent(&r, "target-mapping");
	begin(&r); /* results of a few numbers */
	for (unsigned i = 0; i < 20; i++)
		on_device(&r, 1, 1, 4 * MS, MS, 64);
	silent(&r, "target-mapping");
	begin(&r); /* nine copies are no loop */
	for (unsigned i = 0; i < 5; i++)
		on_device(&r, 1, 1, 4 * MS, MS, MB);
	silent(&r, "target-mapping");
	begin(&r); /* short beside their kernels */
	for (unsigned i = 0; i < 20; i++)
		on_device(&r, 1, 1, 20000, MS, MB);
	silent(&r, "target-mapping");
}

/* ---- memory -------------------------------------------------------------------------------------- */

/* Of a device; it lives from its allocation to its release. */
static void allocate(struct run *r, uint32_t thread, uint32_t device, uint64_t number,
		     uint64_t bytes, bool freed)
{
	struct rec_allocation a = {.agent = device,
				   .kind = MEMORY_DEVICE,
				   .what = ALLOCATION_BUFFER,
				   .bytes = bytes,
				   .allocation = number};

	a.base = (struct rec){.process = threads[thread].process,
			      .thread = thread,
			      .op = freed ? OP_FREE : OP_ALLOCATE,
			      .ok = true,
			      .start = r->now,
			      .end = r->now};
	a.correlation = call(r, OP_OTHER, thread, 1, r->now, r->now + 6000);
	r->now += 6000;
	if (r->sink.sink.allocation(&r->sink.sink, &a) != KYMO_OK)
		abort();
}

enum { STEPS = 160 };

/* Steps of which each keeps a buffer; `kept`: so many at a time, 0: all to the end. */
static void steps(struct run *r, uint32_t thread, uint32_t device, unsigned number, unsigned kept)
{
	for (unsigned i = 0; i < number; i++) {
		if (kept && i >= kept)
			allocate(r, thread, device, i - kept, MB, true);
		allocate(r, thread, device, i, MB, false);
		kernel(r, 1, 0, r->now, r->now + MS);
		r->now += MS;
	}
	for (unsigned i = kept && number > kept ? number - kept : 0; i < number; i++)
		allocate(r, thread, device, i, MB, true);
}

static void test_growth(void **state)
{
	const struct finding *f;
	struct run r;

	(void)state;
	begin(&r);
	steps(&r, 1, 1, STEPS, 0);
	end(&r);
	f = told(&r, "memory-growth");
	assert_non_null(f);
	assert_int_equal(f->count, STEPS);
	assert_non_null(strstr(f->title.s, "80.00 MiB halfway, 160.0 MiB at the end"));
	assert_non_null(strstr(f->where.s, "testOther"));
	assert_non_null(strstr(f->where.s, "X #0"));
	release(&r);

	begin(&r); /* the host is done before its device begins: told by the work, not by time */
	for (unsigned i = 0; i < STEPS; i++) {
		allocate(&r, 1, 1, i, MB, false);
		kernel(&r, 1, call(&r, OP_SUBMIT, 1, 0, r.now, r.now + 1000),
		       (int64_t)(i + 1) * 10 * MS, (int64_t)(i + 2) * 10 * MS);
		r.now += 1000;
	}
	r.now = (STEPS + 2) * 10L * MS;
	end(&r);
	assert_non_null(told(&r, "memory-growth"));
	release(&r);

	begin(&r); /* a program without device work: by time */
	for (unsigned i = 0; i < STEPS; i++) {
		allocate(&r, 1, 0, i, MB, false);
		r.now += MS;
	}
	end(&r);
	assert_non_null(told(&r, "memory-growth"));
	release(&r);

	begin(&r); /* two devices of one name, and two processes: each for itself */
	for (unsigned i = 0; i < STEPS; i++) {
		allocate(&r, 1, 1, i, MB, false);
		if (i < 8)
			allocate(&r, 1, 2, STEPS + i, MB, false);
		allocate(&r, 2, 1, i, MB, false);
		if (i)
			allocate(&r, 2, 1, i - 1, MB, true);
		kernel(&r, 1, 0, r.now, r.now + MS);
		r.now += MS;
	}
	end(&r);
	f = told(&r, "memory-growth");
	assert_non_null(f);
	assert_int_equal(f->count, STEPS);
	assert_non_null(strstr(f->where.s, "X #0"));
	for (uint32_t i = 0; i < r.diagnosis.count; i++)
		assert_true(&r.diagnosis.findings[i] == f ||
			    r.diagnosis.findings[i].rule != f->rule);
	release(&r);
}

static void test_no_growth(void **state)
{
	static const struct rec_loss loss = {.process = 1, .thread = 1, .count = 1};
	struct run r;

	(void)state;
	begin(&r); /* a cache that fills once, by half of the run */
	steps(&r, 1, 1, STEPS, STEPS / 2);
	silent(&r, "memory-growth");
	begin(&r); /* freed in each step */
	steps(&r, 1, 1, STEPS, 1);
	silent(&r, "memory-growth");
	begin(&r); /* all at first */
	for (unsigned i = 0; i < STEPS; i++)
		allocate(&r, 1, 1, i, MB, false);
	for (unsigned i = 0; i < STEPS; i++, r.now += MS)
		kernel(&r, 1, 0, r.now, r.now + MS);
	silent(&r, "memory-growth");
	begin(&r); /* an array that doubles, and frees what it was before */
	for (unsigned i = 0; i < STEPS; i++, r.now += MS) {
		if (!(i & (i - 1))) {
			allocate(&r, 1, 1, 2 * i + 2, MB * (i + 1), false);
			allocate(&r, 1, 1, i + 2, 0, true);
		}
		kernel(&r, 1, 0, r.now, r.now + MS);
	}
	silent(&r, "memory-growth");
	begin(&r);
	steps(&r, 1, 1, STEPS, 0);
	r.sink.sink.loss(&r.sink.sink, &loss);
	end(&r);
	assert_null(told(&r, "memory-growth"));
	assert_non_null(strstr(r.diagnosis.abstained.s, "memory-growth"));
	release(&r);
}

/* ---- messages ------------------------------------------------------------------------------------ */

/* Asks so often, each time for 1 us, so far apart. */
static void ask(struct run *r, enum op op, uint32_t thread, unsigned times, int64_t apart)
{
	for (unsigned i = 0; i < times; i++) {
		call(r, op, thread, 1, r->now, r->now + 1000);
		r->now += 1000 + apart;
	}
}

static void test_mpi_polling(void **state)
{
	const struct finding *f;
	int64_t from;
	struct run r;

	(void)state;
	begin(&r); /* in bursts of a millisecond, which are one row */
	r.now += 10 * MS;
	ask(&r, OP_MPI_TEST, 1, 10000, 500);
	r.now += 10 * MS;
	end(&r);
	f = told(&r, "mpi-polling");
	assert_non_null(f);
	assert_int_equal(f->spent, 10000 * 1500 - 500);
	assert_int_equal(f->count, 10000);
	assert_int_equal(f->gain, 0);
	assert_null(told(&r, "polling"));
	release(&r);

	begin(&r); /* that had a processor for a part of it */
	threads[1].processor_ns = 4 * MS;
	ask(&r, OP_MPI_TEST, 1, 10000, 500);
	end(&r);
	threads[1].processor_ns = 0;
	f = told(&r, "mpi-polling");
	assert_non_null(f);
	assert_int_equal(f->spent, 4 * MS);
	assert_non_null(strstr(f->title.s, "10,000 times, 15.00 ms"));
	release(&r);

	begin(&r); /* two ranks at once: told is the one that asks longest, and the other */
	from = r.now;
	ask(&r, OP_MPI_TEST, 1, 5000, 500);
	r.now = from;
	ask(&r, OP_MPI_IPROBE, 2, 6000, 500);
	end(&r);
	f = told(&r, "mpi-polling");
	assert_non_null(f);
	assert_int_equal(f->spent, 6000 * 1500 - 500);
	assert_non_null(strstr(f->title.s, "MPI_Iprobe 6,000 times"));
	assert_non_null(strstr(f->evidence.s, "process 1 polls 5,000 times"));
	release(&r);
}

static void test_no_mpi_polling(void **state)
{
	struct run r;

	(void)state;
	begin(&r); /* between its own work */
	ask(&r, OP_MPI_TEST, 1, 10000, 40000);
	silent(&r, "mpi-polling");
	begin(&r); /* 99 are no loop */
	ask(&r, OP_MPI_TEST, 1, 99, 500);
	silent(&r, "mpi-polling");
	begin(&r); /* a little of the run */
	ask(&r, OP_MPI_TEST, 1, 1000, 500);
	r.now += 100 * MS;
	silent(&r, "mpi-polling");
}

/* A message of 1 MiB, in a call from `start` until now. */
static void send(struct run *r, int64_t start)
{
	struct rec_comm m = {.peer = 1, .tag = 0, .sent = MB};

	m.correlation = call(r, OP_MPI_SEND, 1, 1, start, r->now);
	m.base = (struct rec){.process = 1,
			      .thread = 1,
			      .op = OP_MESSAGE,
			      .ok = true,
			      .start = start,
			      .end = r->now};
	if (r->sink.sink.comm(&r->sink.sink, &m) != KYMO_OK)
		abort();
}

/* One for which MPI makes a copy; `op`: what kind of. The call takes 1 ms more than that. */
static void staged_send(struct run *r, uint32_t device, enum op op, int64_t copying)
{
	int64_t from = r->now, done = from + MS / 2 + copying;
	uint64_t id = call(r, OP_SUBMIT, 1, 0, from + MS / 2, done);
	struct rec_copy c = {.queue = device, .bytes = MB, .source_kind = MEMORY_DEVICE};

	c.base = (struct rec){.process = 1,
			      .thread = 1,
			      .op = op,
			      .ok = true,
			      .start = from + MS / 2,
			      .end = done};
	c.device = times(id, from + MS / 2, done);
	if (r->sink.sink.copy(&r->sink.sink, &c) != KYMO_OK)
		abort();
	r->now = done + MS / 2;
	send(r, from);
}

static void test_mpi_staging(void **state)
{
	const struct finding *f;
	struct run r;

	(void)state;
	begin(&r);
	for (unsigned i = 0; i < 20; i++)
		staged_send(&r, 1, OP_READ, 4 * MS);
	end(&r);
	f = told(&r, "mpi-staging");
	assert_non_null(f);
	assert_int_equal(f->gain, 20 * 4 * MS);
	assert_non_null(strstr(f->title.s, "80.00 ms of the 100.0 ms"));
	assert_non_null(
		strstr(f->evidence.s, "20 copies of 20.00 MiB for 20 messages of 20.00 MiB"));
	for (uint32_t i = 0; i < r.diagnosis.count; i++) /* the copies are told once */
		assert_null(strstr(r.diagnosis.findings[i].rule->id, "-copy"));
	release(&r);

	begin(&r); /* two devices, one after the other: the run waits for both */
	for (unsigned i = 0; i < 40; i++)
		staged_send(&r, 1 + i % 2, OP_READ, 4 * MS);
	end(&r);
	assert_int_equal(told(&r, "mpi-staging")->gain, 40 * 4 * MS);
	release(&r);

	begin(&r); /* two at once: it waits once */
	for (unsigned i = 0; i < 20; i++) {
		int64_t from = r.now;

		staged_send(&r, 1, OP_READ, 4 * MS);
		copy(&r, 2, true, MB, r.id - 1, from + MS / 2, from + MS / 2 + 4 * MS);
	}
	end(&r);
	assert_int_equal(told(&r, "mpi-staging")->gain, 20 * 4 * MS);
	assert_int_equal(told(&r, "mpi-staging")->count, 40);
	release(&r);

	begin(&r); /* kernels run meanwhile for half of it */
	for (unsigned i = 0; i < 20; i++) {
		kernel(&r, 1, 0, r.now + MS / 2, r.now + MS / 2 + 2 * MS);
		staged_send(&r, 1, OP_READ, 4 * MS);
	}
	end(&r);
	assert_int_equal(told(&r, "mpi-staging")->gain, 20 * 2 * MS);
	release(&r);
}

static void test_no_mpi_staging(void **state)
{
	struct run r;

	(void)state;
	begin(&r); /* from device to device */
	for (unsigned i = 0; i < 20; i++)
		staged_send(&r, 1, OP_PEER, 4 * MS);
	silent(&r, "mpi-staging");
	begin(&r); /* the program copies, and then sends */
	for (unsigned i = 0; i < 20; i++) {
		copy(&r, 1, true, MB, call(&r, OP_TRANSFER, 1, 0, r.now, r.now + 4 * MS), r.now,
		     r.now + 4 * MS);
		r.now += 4 * MS;
		r.now += MS;
		send(&r, r.now - MS);
	}
	silent(&r, "mpi-staging");
	begin(&r); /* nine are no pattern */
	for (unsigned i = 0; i < 9; i++)
		staged_send(&r, 1, OP_READ, 4 * MS);
	silent(&r, "mpi-staging");
	begin(&r); /* small beside what the calls take */
	for (unsigned i = 0; i < 20; i++)
		staged_send(&r, 1, OP_READ, 20000);
	silent(&r, "mpi-staging");
}

/* ---- the recording ------------------------------------------------------------------------------- */

static void lose(struct run *r, uint64_t number)
{
	struct rec_loss loss = {.process = 1, .thread = 1, .count = number};

	r->sink.sink.loss(&r->sink.sink, &loss);
}

static void record(struct run *r, uint32_t thread, unsigned number)
{
	for (unsigned i = 0; i < number; i++)
		call(r, OP_OTHER, thread, 0, r->now, r->now);
}

static void test_recording(void **state)
{
	const struct finding *f;
	struct run r;

	(void)state;
	begin(&r);                /* of all threads together */
	threads[1].records = 600; /* as it says: 100 of them were refused by the file system */
	threads[2].records = 1400;
	record(&r, 1, 500);
	record(&r, 2, 1400);
	r.now += MS;
	lose(&r, 100);
	end(&r);
	f = told(&r, "recording");
	assert_non_null(f);
	assert_non_null(strstr(f->title.s, "100 of 2,000 records were lost"));
	assert_int_equal(f->gain, 0);
	release(&r);
	begin(&r); /* a little */
	record(&r, 1, 1900);
	r.now += MS;
	lose(&r, 99);
	silent(&r, "recording");
	begin(&r); /* of few */
	record(&r, 1, 500);
	r.now += MS;
	lose(&r, 400);
	silent(&r, "recording");
	threads[1].records = threads[2].records = 0;

	/* The process with the larger share; two threads have twice the time. */
	begin(&r);
	r.now += 100 * MS;
	processes[1].calls_cost_ns = 9 * MS;
	processes[1].overhead_ns = 0.9 * MS;
	silent(&r, "recording");
	begin(&r);
	r.now += 100 * MS;
	processes[2].calls_cost_ns = 12 * MS;
	processes[2].overhead_ns = 8 * MS;
	end(&r);
	f = told(&r, "recording");
	assert_non_null(f);
	assert_non_null(strstr(f->title.s, "20 % of the time of the threads of process 2"));
	assert_non_null(strstr(f->evidence.s, "20.00 ms in all"));
	assert_false(f->first);
	release(&r);
	begin(&r); /* most of it: before all others */
	r.now += 100 * MS;
	processes[2].overhead_ns = 60 * MS;
	end(&r);
	assert_non_null(told(&r, "recording"));
	assert_true(told(&r, "recording")->first);
	release(&r);
	begin(&r); /* reckoned, and more than there was */
	r.now += 100 * MS;
	processes[2].overhead_ns = 120 * MS;
	end(&r);
	assert_non_null(strstr(told(&r, "recording")->title.s, "took 100 % of the time"));
	release(&r);
	begin(&r); /* of ranks counted together, that of all of them */
	r.now += 100 * MS;
	processes[2].overhead_ns = 108 * MS;
	processes[2].merged_ranks = 4;
	processes[2].thread_time_ns = 400 * MS;
	end(&r);
	assert_non_null(strstr(told(&r, "recording")->title.s, "took 30 % of the time"));
	release(&r);
	processes[2].merged_ranks = 0;
	processes[2].thread_time_ns = 0;
	begin(&r);
	threads[1].process = 2;
	r.now += 100 * MS + 1001 * 1000;
	processes[2].overhead_ns = 8 * MS;
	silent(&r, "recording");
	threads[1].process = 1;
	processes[1].calls_cost_ns = processes[1].overhead_ns = 0;
	processes[2].calls_cost_ns = processes[2].overhead_ns = 0;
}

static void test_early_work(void **state)
{
	struct run r;

	(void)state;
	for (unsigned early = 4; early <= 5; early++) {
		begin(&r);
		for (unsigned i = 0; i < 100; i++) {
			kernel(&r, 1, 0, r.now, r.now + MS);
			r.now += MS;
		}
		r.sink.timeline->early = early;
		end(&r);
		assert_int_equal(told(&r, "recording") != NULL, early == 5);
		if (early == 5)
			assert_non_null(strstr(told(&r, "recording")->title.s, "5 of 100 pieces"));
		release(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fallback),
		cmocka_unit_test(test_no_fallback),
		cmocka_unit_test(test_processors_beside_gpu),
		cmocka_unit_test(test_mapping),
		cmocka_unit_test(test_mapped_as_needed),
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_no_growth),
		cmocka_unit_test(test_mpi_polling),
		cmocka_unit_test(test_no_mpi_polling),
		cmocka_unit_test(test_mpi_staging),
		cmocka_unit_test(test_no_mpi_staging),
		cmocka_unit_test(test_recording),
		cmocka_unit_test(test_early_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
