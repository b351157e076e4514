/* SPDX-License-Identifier: Apache-2.0 */
/* Runs made up for tests of rules; see device_rules_run.h. */
#include "device_rules_run.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/vec.h"
#include "wire/wire.h"

#define PROPERTIES "{\"compute_units\":8}"

static struct t_domain domains[] = {{"", ""},           {"test", "Test"},   {"dispatch", ""},
				    {"copy", ""},       {"allocation", ""}, {"sync", ""},
				    {"code_object", ""}};
static struct t_field copied[] = {{.name = "bytes", .kind = KYMO_KIND_UNSIGNED, .size = 8},
				  {.name = "ptr", .kind = KYMO_KIND_POINTER, .size = 8}};
static struct t_op ops[OPS] = {
	[OP_NONE] = {.name = ""},
	[OP_LAUNCH] = {.name = "launch", .domain = 1, .flags = KYMO_OP_SUBMITS},
	[OP_FINISH] = {.name = "finish", .domain = 1, .flags = KYMO_OP_WAITS},
	[OP_COPY] = {.name = "memcpy",
		     .domain = 1,
		     .flags = KYMO_OP_SUBMITS | KYMO_OP_WAITS,
		     .field_count = 2,
		     .fields = copied},
	[OP_ALLOCATE] = {.name = "allocate", .domain = 1, .flags = KYMO_OP_ALLOCATES},
	[OP_FREE] = {.name = "release", .domain = 1, .flags = KYMO_OP_ALLOCATES},
	[OP_MAKE_QUEUE] = {.name = "testCreateQueue", .domain = 1},
	[OP_DROP_QUEUE] = {.name = "testReleaseQueue", .domain = 1},
	[OP_BUILD] = {.name = "build", .domain = 1},
	[OP_ASK] = {.name = "testEventQuery", .domain = 1},
	[OP_KERNEL] = {.name = "kernel", .domain = 2, .flags = KYMO_OP_ACTIVITY},
	[OP_WRITE] = {.name = "write",
		      .domain = 3,
		      .number = COPY_OP_WRITE,
		      .flags = KYMO_OP_ACTIVITY},
	[OP_READ] = {.name = "read",
		     .domain = 3,
		     .number = COPY_OP_READ,
		     .flags = KYMO_OP_ACTIVITY},
	[OP_ALLOCATED] = {.name = "allocate",
			  .domain = 4,
			  .number = ALLOCATION_OP_ALLOCATE,
			  .flags = KYMO_OP_ACTIVITY},
	[OP_FREED] = {.name = "free",
		      .domain = 4,
		      .number = ALLOCATION_OP_FREE,
		      .flags = KYMO_OP_ACTIVITY},
	[OP_SYNC] = {.name = "queue", .domain = 5, .flags = KYMO_OP_ACTIVITY},
	[OP_FAULT] = {.name = "fault",
		      .domain = 3,
		      .number = COPY_OP_FAULT,
		      .flags = KYMO_OP_ACTIVITY},
};
static struct t_process processes[] = {{0}, {.pid = 1, .start = 1}};
static struct t_thread threads[] = {{0}, {.process = 1, .tid = 1, .main = true}};
static struct t_agent agents[2][1 + DEVICES] = {
	{{0},
	 {.process = 1, .type = "gpu", .name = "X", .properties = PROPERTIES, .label = "X #0"},
	 {.process = 1, .type = "gpu", .name = "X", .properties = PROPERTIES, .label = "X #1"},
	 {.process = 1, .type = "gpu", .name = "X", .properties = PROPERTIES, .label = "X #2"}},
	{{0},
	 {.process = 1, .type = "cpu", .name = "C", .properties = PROPERTIES, .label = "C"},
	 {.process = 1, .type = "cpu", .name = "C", .properties = PROPERTIES, .label = "C #1"},
	 {.process = 1, .type = "cpu", .name = "C", .properties = PROPERTIES, .label = "C #2"}}};
static struct t_queue queues[1 + DEVICES * QUEUES];
static struct t_kernel kernels[] = {{0},
				    {.process = 1, .program = 1, .name = "work"},
				    {.process = 1, .program = 2, .name = "work"},
				    {.process = 1, .program = 3, .name = "work"},
				    {.process = 1, .program = 4, .name = "work"}};
static struct t_blob blobs[] = {{0},
				{.process = 1, .data = "one", .stored = 3, .total = 3},
				{.process = 1, .data = "two", .stored = 3, .total = 3},
				{.process = 1, .data = "one", .stored = 3, .total = 3}};
static struct t_program programs[] = {{0},
				      {.process = 1, .source = 1},
				      {.process = 1, .source = 2},
				      {.process = 1, .source = 3},
				      {.process = 1, .source = 1}};
static struct t_site sites[] = {{0}};

#define SET(name) .name = name, .name##_count = sizeof(name) / sizeof(*name)

void run_begin(struct run *r, bool cpu)
{
	*r = (struct run){.now = 1000000};
	for (unsigned i = 0; i < DEVICES * QUEUES; i++)
		queues[i + 1] = (struct t_queue){
			.process = 1, .agent = 1 + i / QUEUES, .domain = "test", .name = ""};
	r->trace = (struct trace){.path = "T",
				  .domains = domains,
				  .domains_count = sizeof(domains) / sizeof(*domains),
				  .ops = ops,
				  .ops_count = OPS,
				  .processes = processes,
				  .processes_count = 2,
				  .threads = threads,
				  .threads_count = 2,
				  .agents = agents[cpu],
				  .agents_count = 1 + DEVICES,
				  .queues = queues,
				  .queues_count = 1 + DEVICES * QUEUES,
				  .kernels = kernels,
				  .kernels_count = 5,
				  .blobs = blobs,
				  .blobs_count = 4,
				  .programs = programs,
				  .programs_count = 5,
				  .sites = sites,
				  .sites_count = 1};
	timeline_sink_init(&r->sink, NULL);
	if (r->sink.sink.begin(&r->sink.sink, &r->trace) != KYMO_OK)
		abort();
}

static struct rec record(const struct run *r, enum run_op op, int64_t start, int64_t end)
{
	return (struct rec){.process = 1,
			    .thread = r->thread ? r->thread : 1,
			    .op = op,
			    .ok = true,
			    .start = start,
			    .end = end};
}

/* Returns its id. */
static uint64_t call(struct run *r, enum run_op op, int64_t start)
{
	struct rec c = record(r, op, start, r->now);

	c.id = ++r->id;
	r->sink.sink.call(&r->sink.sink, &c);
	return c.id;
}

/* With its arguments, as a program would have written them. */
static uint64_t call_copy(struct run *r, int64_t start, uint64_t bytes)
{
	static _Alignas(8) uint8_t memory[4096];
	struct wire_chunk *chunk = (struct wire_chunk *)memory;
	struct wire_ring ring = {.cur = memory + sizeof(*chunk), .chunk = chunk, .next_id = 1};
	struct wire_event event = {.id = 1, .start = 1, .end = 2, .op = OP_COPY};
	struct rec c = record(r, OP_COPY, start, r->now);
	struct wire_reader reader;
	struct wire_record arguments;
	struct wire_enc e;

	*chunk = (struct wire_chunk){.magic = WIRE_CHUNK_MAGIC,
				     .version = WIRE_VERSION,
				     .header_size = sizeof(*chunk),
				     .next_id = 1};
	wire_begin(&e, &ring, &event, 2);
	wire_unsigned(&e, 0, bytes);
	wire_pointer(&e, 1, (void *)(uintptr_t)r->memory); /* NOLINT(performance-no-int-to-ptr) */
	wire_end(&e, &ring);
	if (!wire_reader_init(&reader, memory, sizeof(memory)) ||
	    wire_next(&reader, &arguments) != 1)
		abort();
	c.id = ++r->id;
	c.wire = &arguments;
	r->sink.sink.call(&r->sink.sink, &c);
	return c.id;
}

void run_host(struct run *r, int64_t ns)
{
	r->now += ns;
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

int64_t run_done(const struct run *r, unsigned device, unsigned queue)
{
	return r->free[device][queue];
}

void run_kernel(struct run *r, unsigned device, unsigned queue, int64_t ns, uint64_t groups)
{
	struct rec_dispatch d = {.agent = device + 1,
				 .queue = 1 + device * QUEUES + queue,
				 .kernel = r->kernel ? r->kernel : 1,
				 .dims = 1,
				 .global = {groups},
				 .local = {1}};
	int64_t begin = r->now, start;

	r->now += CALL_NS + r->launching;
	start = later(r->now, r->free[device][queue]);
	if (!r->beside)
		start = later(start, r->kernels[device]);
	start += START_NS + r->starting;
	d.device = (struct rec_device){
		.start = start, .end = start + ns, .submit = begin, .submitted = r->now};
	r->free[device][queue] = start + ns;
	r->kernels[device] = later(r->kernels[device], start + ns);
	d.device.correlation = call(r, OP_LAUNCH, begin);
	d.base = record(r, OP_KERNEL, start, start + ns);
	r->sink.sink.dispatch(&r->sink.sink, &d);
}

void run_copy(struct run *r, unsigned queue, bool from, uint64_t bytes, int64_t ns, bool blocking,
	      unsigned kind)
{
	enum run_op op = from ? OP_READ : OP_WRITE;
	struct rec_copy c = {.queue = 1 + queue,
			     .bytes = bytes,
			     .blocking = blocking,
			     .source_kind = (uint8_t)(from ? MEMORY_DEVICE : kind),
			     .destination_kind = (uint8_t)(from ? kind : MEMORY_DEVICE)};
	int64_t begin = r->now, submitted = r->now += CALL_NS;
	int64_t *free = &r->free[queue / QUEUES][queue % QUEUES];
	int64_t start = later(r->now, *free) + START_NS;

	*free = start + ns;
	if (blocking)
		r->now = start + ns + RETURN_NS;
	c.device = (struct rec_device){
		.start = start, .end = start + ns, .submit = begin, .submitted = submitted};
	c.device.correlation = call_copy(r, begin, bytes);
	c.base = record(r, op, start, start + ns);
	r->sink.sink.copy(&r->sink.sink, &c);
}

void run_finish(struct run *r)
{
	struct rec_sync s = {0};
	int64_t begin = r->now;

	r->now += CALL_NS / 4;
	for (unsigned i = 0; i < DEVICES * QUEUES; i++)
		r->now = later(r->now, r->free[i / QUEUES][i % QUEUES] + RETURN_NS);
	s.correlation = call(r, OP_FINISH, begin);
	s.base = record(r, OP_SYNC, begin, r->now);
	r->sink.sink.sync(&r->sink.sink, &s);
}

void run_call(struct run *r, enum run_op op, int64_t ns)
{
	int64_t begin = r->now;

	r->now += ns;
	call(r, op, begin);
}

static void allocation(struct run *r, enum run_op op, uint64_t number, uint64_t bytes)
{
	struct rec_allocation a = {.base = record(r, op, r->now, r->now),
				   .correlation = r->id,
				   .agent = 1,
				   .bytes = bytes,
				   .allocation = number,
				   .what = ALLOCATION_BUFFER};

	r->sink.sink.allocation(&r->sink.sink, &a);
}

uint64_t run_allocate(struct run *r, uint64_t bytes, int64_t ns)
{
	run_call(r, OP_ALLOCATE, ns);
	allocation(r, OP_ALLOCATED, ++r->allocations, bytes);
	return r->allocations;
}

void run_free(struct run *r, uint64_t number, uint64_t bytes, int64_t ns)
{
	run_call(r, OP_FREE, ns);
	allocation(r, OP_FREED, number, bytes);
}

/* The fields of its record are those of a backend: it is put where the sink would put it. */
void run_build(struct run *r, uint32_t program, int64_t ns)
{
	struct timeline *tl = r->sink.timeline;
	int64_t begin = r->now;

	run_call(r, OP_BUILD, ns);
	if (!vec_reserve(&tl->builds, &tl->builds_room, tl->builds_count, 1))
		abort();
	tl->builds[tl->builds_count++] = (struct tl_build){.start = begin,
							   .end = r->now,
							   .id = r->id,
							   .thread = 1,
							   .op = OP_BUILD,
							   .program = program};
}

void run_fault(struct run *r, int64_t start, int64_t ns)
{
	struct rec_copy c = {.destination_agent = 1, .bytes = 65536};

	c.device = (struct rec_device){.start = start, .end = start + ns};
	c.base = record(r, OP_FAULT, start, start + ns);
	r->sink.sink.copy(&r->sink.sink, &c);
}

uint64_t run_end(struct run *r)
{
	r->trace.origin = 1000;
	r->trace.end = r->now;
	for (unsigned i = 0; i < DEVICES * QUEUES; i++)
		r->trace.end = later(r->trace.end, r->free[i / QUEUES][i % QUEUES]);
	if (r->sink.sink.end(&r->sink.sink, &r->trace) != KYMO_OK ||
	    !diagnose(&r->diagnosis, "T", r->sink.timeline, NULL, NULL))
		abort();
	return timeline_length(r->sink.timeline);
}

void run_release(struct run *r)
{
	diagnosis_release(&r->diagnosis);
	timeline_free(r->sink.timeline);
}

const struct finding *run_finding(const struct run *r, const char *rule)
{
	for (uint32_t i = 0; i < r->diagnosis.count; i++)
		if (strcmp(r->diagnosis.findings[i].rule->id, rule) == 0)
			return &r->diagnosis.findings[i];
	return NULL;
}

uint64_t run_length(run_program *p, const char *rule, uint64_t *gain)
{
	struct run r;
	uint64_t length;

	run_begin(&r, false);
	p(&r);
	length = run_end(&r);
	for (uint32_t i = 0; i < r.diagnosis.count; i++)
		print_message("  %s: %s\n", r.diagnosis.findings[i].rule->id,
			      r.diagnosis.findings[i].title.s);
	if (!rule) {
		assert_int_equal(r.diagnosis.count, 0);
	} else {
		/* What it tells, no other rule tells again. */
		assert_int_equal(r.diagnosis.count, 1);
		assert_string_equal(r.diagnosis.findings[0].rule->id, rule);
		assert_true(r.diagnosis.findings[0].show.length > 0);
		assert_true(r.diagnosis.findings[0].advice.length > 0);
		*gain = r.diagnosis.findings[0].gain;
	}
	run_release(&r);
	return length;
}

void run_check(const char *rule, run_program *bad, run_program *good)
{
	uint64_t gain = 0, before = run_length(bad, rule, &gain);
	uint64_t after = run_length(good, NULL, NULL), won = before - after;

	print_message("%s: told %llu, won %llu\n", rule, (unsigned long long)gain,
		      (unsigned long long)won);
	assert_true(before > after);
	assert_true(gain * 4 >= won * 3 && gain * 4 <= won * 5);
}

uint64_t run_gain(run_program *p, const char *rule, uint64_t *length)
{
	const struct finding *f;
	uint64_t gain;
	struct run r;

	run_begin(&r, false);
	p(&r);
	*length = run_end(&r);
	f = run_finding(&r, rule);
	gain = f ? f->gain : 0;
	run_release(&r);
	return gain;
}

void run_launches(struct run *r)
{
	for (unsigned i = 0; i < 5000; i++)
		run_kernel(r, 0, 0, 800, 100);
}

void run_no_other_calls(struct run *r)
{
	for (unsigned i = 0; i < 20; i++) {
		run_kernel(r, 0, 0, 1000000, 100);
		run_finish(r);
	}
}
