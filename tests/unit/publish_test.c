/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Publishing as a tool in the process sees it: values of every kind, times on clocks that run at
 * another rate, records that come late, tracks, callbacks, and what is refused.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <kymo/kymo.h>

#define SECOND 1000000000ull

static const kymo_enum_value_t colors[] = {{"red", 1}, {"green", 2}};
static const kymo_enum_set_t color_set = {"color", colors, 2};
static const kymo_field_t task_fields[] = {
	{"small", "u16", NULL, KYMO_KIND_UNSIGNED, 0, 2, 0},
	{"signed", "i32", NULL, KYMO_KIND_SIGNED, 0, 4, 0},
	{"ratio", "double", NULL, KYMO_KIND_FLOAT, 0, 8, 0},
	{"half", "float", NULL, KYMO_KIND_FLOAT, 0, 4, 0},
	{"name", "char *", NULL, KYMO_KIND_STRING, 0, 1, 0},
	{"list", "int[]", NULL, KYMO_KIND_ARRAY, KYMO_KIND_SIGNED, 4, 0},
	{"color", "color", &color_set, KYMO_KIND_ENUM, 0, 4, 0},
	{"pointer", "void *", NULL, KYMO_KIND_POINTER, 0, 8, 0},
	{"absent", "char *", NULL, KYMO_KIND_STRING, 0, 1, 0},
};
enum { TASK, TICK, OPS };
static const kymo_op_desc_t descs[OPS] = {
	{"task", task_fields, sizeof(task_fields) / sizeof(task_fields[0]), 0, NULL, 0},
	{"tick", NULL, 0, 0, NULL, 0},
};
static const kymo_domain_desc_t desc = {sizeof(desc), "jobs", "Jobs", 1, OPS, descs};
static kymo_published_domain_t domain;

/* ---- what arrives ---- */

struct seen {
	uint32_t op, thread;
	uint64_t id, parent, start, end;
	int32_t status;
	kymo_value_t v[9];
	char name[32];
	int32_t list[3];
};
static struct seen records[64], calls[64];
static uint32_t record_count, call_count;
static kymo_status_t inner_status;

static void deliver(kymo_buffer_t buffer, const kymo_record_t *r, void *data)
{
	struct seen *s = &records[record_count++];

	assert_true(record_count < 64);
	*s = (struct seen){.op = r->op,
			   .thread = r->thread,
			   .id = r->correlation,
			   .parent = r->parent,
			   .start = r->start,
			   .end = r->end,
			   .status = r->status};
	for (uint32_t i = 0; r->op == TASK && i < 9; i++) {
		s->v[i].size = sizeof(s->v[i]);
		assert_int_equal(kymo_record_value(r, i, &s->v[i]), KYMO_OK);
	}
	if (r->op == TASK && s->v[4].present)
		memcpy(s->name, s->v[4].data, s->v[4].count);
	for (uint32_t i = 0; r->op == TASK && i < s->v[5].count && i < 3; i++) {
		kymo_value_t e = {.size = sizeof(e)};

		assert_int_equal(kymo_value_element(&s->v[5], i, &e), KYMO_OK);
		s->list[i] = (int32_t)e.u;
	}
}

static void told(kymo_context_t context, const kymo_callback_record_t *r, void *data)
{
	const kymo_publication_t again = {.size = sizeof(again)};

	assert_int_equal(r->phase, KYMO_PHASE_COMPLETE);
	assert_true(call_count < 64);
	calls[call_count++] = (struct seen){.op = r->op,
					    .thread = r->thread,
					    .id = r->correlation,
					    .parent = r->parent,
					    .start = r->start,
					    .end = r->end,
					    .status = r->status};
	inner_status = kymo_publish(domain, TICK, &again, NULL);
}

static kymo_context_t context;

static void drain(void)
{
	assert_int_equal(kymo_drain(context, SECOND), KYMO_OK);
}

static int setup(void **state)
{
	kymo_selection_t all = {.size = sizeof(all), .domain = "jobs"};
	kymo_buffer_desc_t d = {
		.size = sizeof(d), .arguments = KYMO_ARGUMENTS_FULL, .deliver = deliver};
	kymo_buffer_t buffer;

	assert_int_equal(kymo_domain_publish(&desc, &domain), KYMO_OK);
	assert_int_equal(kymo_context_create(&context), KYMO_OK);
	assert_int_equal(kymo_buffer_create(context, &d, &buffer), KYMO_OK);
	assert_int_equal(kymo_buffer_service(context, &all, buffer), KYMO_OK);
	assert_int_equal(kymo_callback_service(context, &all, told, NULL), KYMO_OK);
	assert_int_equal(kymo_context_start(context), KYMO_OK);
	return 0;
}

static int begin(void **state)
{
	drain();
	record_count = call_count = 0;
	return 0;
}

/* ---- tests ---- */

#define NUMBER(x)                                                                                  \
	{                                                                                          \
		.size = sizeof(kymo_value_t), .present = true, .u = (uint64_t)(x)                  \
	}

static void test_values(void **state)
{
	const int32_t list[] = {-1, 70000, 3};
	const kymo_value_t values[] = {
		NUMBER(65535),
		NUMBER((int64_t)-5),
		{.size = sizeof(kymo_value_t), .present = true, .f = 0.1},
		{.size = sizeof(kymo_value_t), .present = true, .f = 0.5},
		{.size = sizeof(kymo_value_t), .present = true, .data = "first", .count = 5},
		{.size = sizeof(kymo_value_t), .present = true, .data = list, .count = 3},
		NUMBER(2),
		NUMBER(0x7fff12345678),
	};
	kymo_publication_t p = {.size = sizeof(p),
				.start = 1000,
				.end = 4000,
				.status = -3,
				.parent = 77,
				.values = values,
				.value_count = 8};
	char text[32];
	uint64_t id = 0;

	p.start += kymo_time();
	p.end = p.start + 3000;
	assert_int_equal(kymo_publish(domain, TASK, &p, &id), KYMO_OK);
	drain();
	assert_int_equal(record_count, 1);
	assert_int_not_equal(id, 0);
	assert_int_equal(records[0].id, id);
	assert_int_equal(records[0].parent, 77);
	assert_int_equal(records[0].status, -3);
	assert_int_equal(records[0].start, p.start);
	assert_int_equal(records[0].end, p.end);
	assert_int_equal(records[0].thread, kymo_thread_index());
	assert_int_equal(records[0].v[0].u, 65535);
	assert_int_equal((int64_t)records[0].v[1].u, -5);
	assert_true(records[0].v[2].f == 0.1);
	assert_true(records[0].v[3].f == 0.5);
	assert_string_equal(records[0].name, "first");
	assert_int_equal(records[0].list[0], -1);
	assert_int_equal(records[0].list[1], 70000);
	assert_int_equal(kymo_value_text(&records[0].v[6], text, sizeof(text), NULL), KYMO_OK);
	assert_string_equal(text, "green");
	assert_int_equal(records[0].v[7].u, 0x7fff12345678);
	assert_false(records[0].v[8].present);
	assert_int_equal(call_count, 1);
	assert_int_equal(calls[0].id, id);
	assert_int_equal(calls[0].parent, 77);
	assert_int_equal(calls[0].start, p.start);
	assert_int_equal(calls[0].end, p.end);
	assert_int_equal(calls[0].status, -3);
	assert_int_equal(inner_status, KYMO_ERROR_STATE);
}

/* A clock of 19.2 MHz nominally, which began elsewhere and runs 200 parts in a million fast. */
static uint64_t drifting(uint64_t host, uint64_t origin)
{
	return 5000000 + (uint64_t)((double)(host - origin) * 1.0002 / 52.08333333);
}

static void near(uint64_t got, uint64_t wanted, uint64_t within)
{
	if (got + within < wanted || got > wanted + within) {
		printf("%llu is %lld away from %llu\n", (unsigned long long)got,
		       (long long)(got - wanted), (unsigned long long)wanted);
		fail();
	}
}

static void test_clock(void **state)
{
	const uint64_t origin = kymo_time() - 10 * SECOND;
	kymo_publication_t p = {.size = sizeof(p)};
	kymo_track_t track;

	assert_int_equal(kymo_clock_create("engine", "device", 52083, &p.clock), KYMO_OK);
	assert_int_equal(kymo_track_create("engine 0", &track), KYMO_OK);
	/* Late and out of order. */
	for (int i = 8; i >= 0; i -= 2) {
		uint64_t host = origin + (uint64_t)i * SECOND;

		assert_int_equal(kymo_clock_sync(p.clock, host - 200, drifting(host, origin),
						 host + 200, KYMO_SYNC_SAMPLED),
				 KYMO_OK);
	}
	p.track = track;
	for (int i = 7; i >= 1; i -= 3) {
		p.start = drifting(origin + (uint64_t)i * SECOND, origin);
		p.end = drifting(origin + (uint64_t)i * SECOND + 1000000, origin);
		assert_int_equal(kymo_publish(domain, TICK, &p, NULL), KYMO_OK);
	}
	drain();
	assert_int_equal(record_count, 3);
	assert_int_equal(call_count, 3);
	for (unsigned i = 0; i < 3; i++) {
		near(records[i].start, origin + (7 - 3 * i) * SECOND, 300);
		near(records[i].end, origin + (7 - 3 * i) * SECOND + 1000000, 300);
		assert_int_equal(records[i].start, calls[i].start);
		assert_int_not_equal(records[i].thread, kymo_thread_index());
		assert_int_equal(records[i].thread, calls[i].thread);
	}
}

static void test_nobody(void **state)
{
	kymo_publication_t p = {.size = sizeof(p)};
	uint64_t id = 5;

	assert_int_equal(kymo_context_stop(context), KYMO_OK);
	assert_int_equal(kymo_publish(domain, TICK, &p, &id), KYMO_OK);
	assert_int_equal(id, 0);
	assert_int_equal(kymo_context_start(context), KYMO_OK);
	drain();
	assert_int_equal(record_count, 0);
}

static void test_refused(void **state)
{
	static const kymo_domain_desc_t empty = {sizeof(empty), "empty", NULL, 1, 0, descs};
	static kymo_field_t many[KYMO_FIELDS_MAX];
	static const kymo_op_desc_t wide[] = {
		{"wide", many, KYMO_PUBLISHED_FIELDS_MAX + 1, 0, NULL, 0}};
	static const kymo_domain_desc_t too_wide = {sizeof(too_wide), "wide", NULL, 1, 1, wide};
	static const kymo_field_t odd_field[] = {{"x", "u24", NULL, KYMO_KIND_UNSIGNED, 0, 3, 0}};
	static const kymo_op_desc_t odd_op[] = {{"odd", odd_field, 1, 0, NULL, 0}};
	static const kymo_domain_desc_t odd = {sizeof(odd), "odd", NULL, 1, 1, odd_op};
	const kymo_value_t value = {.size = sizeof(value)};
	kymo_publication_t p = {.size = sizeof(p)};
	kymo_published_domain_t other;
	kymo_clock_t clock;
	kymo_track_t track;

	for (unsigned i = 0; i < KYMO_FIELDS_MAX; i++)
		many[i] = (kymo_field_t){"f", "u8", NULL, KYMO_KIND_UNSIGNED, 0, 1, 0};
	assert_int_equal(kymo_domain_publish(NULL, &other), KYMO_ERROR_INVALID_ARGUMENT);
	assert_int_equal(kymo_domain_publish(&empty, &other), KYMO_ERROR_INVALID_ARGUMENT);
	assert_int_equal(kymo_domain_publish(&too_wide, &other), KYMO_ERROR_INVALID_ARGUMENT);
	assert_int_equal(kymo_domain_publish(&odd, &other), KYMO_ERROR_INVALID_ARGUMENT);
	assert_int_equal(kymo_domain_publish(&desc, &other), KYMO_ERROR_EXISTS);
	assert_int_equal(kymo_publish(domain, TICK, NULL, NULL), KYMO_ERROR_INVALID_ARGUMENT);
	assert_int_equal(kymo_publish(domain, OPS, &p, NULL), KYMO_ERROR_NOT_FOUND);
	assert_int_equal(kymo_publish((kymo_published_domain_t){0}, TICK, &p, NULL),
			 KYMO_ERROR_NOT_FOUND);
	assert_int_equal(kymo_publish((kymo_published_domain_t){99}, TICK, &p, NULL),
			 KYMO_ERROR_NOT_FOUND);
	p.clock.handle = 99;
	assert_int_equal(kymo_publish(domain, TICK, &p, NULL), KYMO_ERROR_NOT_FOUND);
	p.clock.handle = 0;
	p.track.handle = 99;
	assert_int_equal(kymo_publish(domain, TICK, &p, NULL), KYMO_ERROR_NOT_FOUND);
	p.track.handle = 0;
	p.start = 2;
	p.end = 1;
	assert_int_equal(kymo_publish(domain, TICK, &p, NULL), KYMO_ERROR_INVALID_ARGUMENT);
	p.end = 2;
	p.values = &value;
	p.value_count = 1;
	assert_int_equal(kymo_publish(domain, TICK, &p, NULL), KYMO_ERROR_INVALID_ARGUMENT);
	p.value_count = 0;
	p.size = 8;
	assert_int_equal(kymo_publish(domain, TICK, &p, NULL), KYMO_ERROR_INCOMPATIBLE);
	assert_int_equal(kymo_clock_create(NULL, "device", 1000, &clock),
			 KYMO_ERROR_INVALID_ARGUMENT);
	assert_int_equal(kymo_clock_create("c", "device", 0, &clock), KYMO_ERROR_INVALID_ARGUMENT);
	assert_int_equal(kymo_clock_sync((kymo_clock_t){99}, 1, 1, 2, KYMO_SYNC_SAMPLED),
			 KYMO_ERROR_NOT_FOUND);
	assert_int_equal(kymo_clock_sync((kymo_clock_t){1}, 2, 1, 1, KYMO_SYNC_SAMPLED),
			 KYMO_ERROR_INVALID_ARGUMENT);
	assert_int_equal(kymo_track_create(NULL, &track), KYMO_ERROR_INVALID_ARGUMENT);
	drain();
	assert_int_equal(record_count, 0);
}

/* ---- devices ---- */

static uint32_t kernels_seen, copies_seen, queues_seen;
static uint64_t kernel_value, copied;

static void device_told(kymo_context_t from, const kymo_callback_record_t *r, void *data)
{
	const kymo_op_desc_t *op = &r->domain->ops[r->op];
	kymo_value_t v = {.size = sizeof(v)};

	queues_seen += strcmp(r->domain->name, "stream") == 0;
	kernels_seen += strcmp(r->domain->name, "dispatch") == 0;
	copies_seen += strcmp(r->domain->name, "copy") == 0;
	for (uint32_t i = 0; i < op->field_count; i++) {
		assert_int_equal(kymo_callback_value(r, i, &v), KYMO_OK);
		if (strcmp(op->fields[i].name, "kernel") == 0)
			kernel_value = v.u;
		if (strcmp(op->fields[i].name, "bytes") == 0)
			copied = v.u;
		if (strcmp(op->fields[i].name, "correlation") == 0 && kernels_seen)
			assert_int_equal(v.u, r->correlation);
	}
}

static bool only_copies_of_7(const kymo_work_t *work, void *data)
{
	return strcmp(work->domain->name, "copy") != 0 || work->bytes == 7;
}

static void test_devices(void **state)
{
	static const char *const domains[] = {"dispatch", "copy", "stream"};
	kymo_agent_publication_t a = {.size = sizeof(a),
				      .type = KYMO_AGENT_NPU,
				      .name = "toy",
				      .domain = "toy",
				      .handle = 4711};
	kymo_queue_publication_t q = {.size = sizeof(q), .name = "first"};
	kymo_dispatch_publication_t d = {
		.size = sizeof(d), .correlation = 12, .start = 100, .end = 200, .dims = 1};
	kymo_copy_publication_t c = {.size = sizeof(c),
				     .op = KYMO_COPY_READ,
				     .start = 100,
				     .end = 200,
				     .bytes = 6,
				     .source_kind = KYMO_MEMORY_DEVICE};
	const kymo_agent_t *shown;
	static const char *name; /* lives as long as the process */
	const char *again;
	kymo_context_t own;
	uint32_t agent, queue, kernel;

	assert_int_equal(kymo_context_create(&own), KYMO_OK);
	for (unsigned i = 0; i < 3; i++) {
		kymo_selection_t s = {
			.size = sizeof(s), .domain = domains[i], .filter = only_copies_of_7};

		assert_int_equal(kymo_callback_service(own, &s, device_told, NULL), KYMO_OK);
	}
	assert_int_equal(kymo_context_start(own), KYMO_OK);
	assert_int_equal(kymo_agent_publish(&a, &agent), KYMO_OK);
	assert_int_equal(kymo_agent_find_record(agent, &shown), KYMO_OK);
	assert_int_equal(shown->type, KYMO_AGENT_NPU);
	assert_int_equal(kymo_queue_publish(&q, &queue), KYMO_ERROR_NOT_FOUND);
	q.agent = agent;
	assert_int_equal(kymo_queue_publish(&q, &queue), KYMO_OK);
	assert_int_equal(queues_seen, 1);
	assert_int_equal(kymo_kernel_publish("toy", "scale", 3, &kernel), KYMO_OK);
	assert_int_equal(kymo_ref_name("kernel", kernel, &name), KYMO_OK);
	assert_string_equal(name, "scale");
	assert_int_equal(kymo_ref_name("kernel", kernel, &again), KYMO_OK);
	assert_ptr_equal(again, name); /* asking costs no memory */
	assert_int_equal(kymo_dispatch_publish(&d), KYMO_ERROR_NOT_FOUND);
	d.queue = c.queue = queue;
	d.kernel = kernel;
	assert_int_equal(kymo_dispatch_publish(&d), KYMO_OK);
	assert_int_equal(kernels_seen, 1);
	assert_int_equal(kernel_value, kernel);
	d.end = 50;
	assert_int_equal(kymo_dispatch_publish(&d), KYMO_ERROR_INVALID_ARGUMENT);
	assert_int_equal(kymo_copy_publish(&c), KYMO_OK);
	assert_int_equal(copies_seen, 0);
	c.bytes = 7;
	assert_int_equal(kymo_copy_publish(&c), KYMO_OK);
	assert_int_equal(copies_seen, 1);
	assert_int_equal(copied, 7);
	c.op = (kymo_copy_op_t)99;
	assert_int_equal(kymo_copy_publish(&c), KYMO_ERROR_INVALID_ARGUMENT);
	assert_int_equal(kymo_context_destroy(own), KYMO_OK);
}

/* ---- measures ---- */

static struct {
	const char *domain;
	uint64_t start, end, parent, value_of, pc;
	uint32_t thread;
	double value;
} measured[4];
static uint32_t measured_count;

static void measure_told(kymo_context_t from, const kymo_callback_record_t *r, void *data)
{
	const kymo_op_desc_t *op = &r->domain->ops[r->op];
	kymo_value_t v = {.size = sizeof(v)};

	assert_true(measured_count < 4);
	measured[measured_count].domain = r->domain->name;
	measured[measured_count].start = r->start;
	measured[measured_count].end = r->end;
	measured[measured_count].parent = r->parent;
	measured[measured_count].thread = r->thread;
	for (uint32_t i = 0; i < op->field_count; i++) {
		assert_int_equal(kymo_callback_value(r, i, &v), KYMO_OK);
		if (strcmp(op->fields[i].name, "value") == 0)
			measured[measured_count].value = v.f;
		if (strcmp(op->fields[i].name, "counter") == 0)
			measured[measured_count].value_of = v.u;
		if (strcmp(op->fields[i].name, "pc") == 0)
			measured[measured_count].pc = v.u;
	}
	measured_count++;
}

static void test_measures(void **state)
{
	const uint64_t addresses[] = {0x401000, 0x402000}, now = kymo_time();
	kymo_counter_publication_t c = {
		.size = sizeof(c), .name = "heat", .publisher = "toy", .unit = "K", .gauge = true};
	kymo_count_publication_t n = {
		.size = sizeof(n), .value = 311.5, .start = 1000, .end = 3000, .correlation = 9};
	kymo_sample_publication_t s = {.size = sizeof(s),
				       .time = 2000,
				       .addresses = addresses,
				       .count = 2,
				       .correlation = 9};
	kymo_context_t own;
	uint32_t counter;

	assert_int_equal(kymo_clock_create("plain", "device", 1000, &n.clock), KYMO_OK);
	assert_int_equal(kymo_clock_sync(n.clock, now, 1000, now, KYMO_SYNC_SAMPLED), KYMO_OK);
	assert_int_equal(kymo_track_create("core 0", &n.track), KYMO_OK);
	s.clock = n.clock;
	s.track = n.track;
	assert_int_equal(kymo_count_publish(&n), KYMO_ERROR_NOT_FOUND);
	assert_int_equal(kymo_counter_publish(&c, &counter), KYMO_OK);
	n.counter = counter;
	assert_int_equal(kymo_context_create(&own), KYMO_OK);
	for (unsigned i = 0; i < 2; i++) {
		kymo_selection_t all = {.size = sizeof(all), .domain = i ? "sample" : "counter"};

		assert_int_equal(kymo_callback_service(own, &all, measure_told, NULL), KYMO_OK);
	}
	assert_int_equal(kymo_context_start(own), KYMO_OK);
	assert_int_equal(kymo_count_publish(&n), KYMO_OK);
	assert_int_equal(kymo_sample_publish(&s), KYMO_OK);
	assert_int_equal(measured_count, 2);
	assert_string_equal(measured[0].domain, "counter");
	assert_int_equal(measured[0].start, now);
	assert_int_equal(measured[0].end, now + 2000);
	assert_int_equal(measured[0].value_of, counter);
	assert_true(measured[0].value == 311.5);
	assert_int_equal(measured[0].parent, 9);
	assert_int_not_equal(measured[0].thread, kymo_thread_index());
	assert_string_equal(measured[1].domain, "sample");
	assert_int_equal(measured[1].start, now + 1000);
	assert_int_equal(measured[1].pc, 0x401000);
	assert_int_equal(measured[1].thread, measured[0].thread);
	n.start = 4000;
	assert_int_equal(kymo_count_publish(&n), KYMO_ERROR_INVALID_ARGUMENT);
	s.count = 0;
	assert_int_equal(kymo_sample_publish(&s), KYMO_ERROR_INVALID_ARGUMENT);
	assert_int_equal(kymo_context_destroy(own), KYMO_OK);
}

#define ROUNDS 3000u

static pthread_barrier_t round_begins, round_ends;

/* All begin at once, and look when all are done: none may have hidden the counter of another. */
static void *publish_counters(void *publication)
{
	kymo_counter_publication_t c = {
		.size = sizeof(c), .name = "many", .unit = "", .publisher = "test"};
	kymo_count_publication_t n = *(kymo_count_publication_t *)publication;
	uintptr_t refused = 0;

	for (unsigned i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&round_begins);
		refused += kymo_counter_publish(&c, &n.counter) != KYMO_OK;
		pthread_barrier_wait(&round_ends);
		refused += kymo_count_publish(&n) != KYMO_OK;
	}
	return (void *)refused;
}

/* An id that has been given is known, whoever was given a lower one later. */
static void test_counters_of_threads(void **state)
{
	kymo_count_publication_t n = {.size = sizeof(n)};
	pthread_t threads[4];
	void *refused;

	assert_int_equal(kymo_clock_create("of many", "device", 1000, &n.clock), KYMO_OK);
	assert_int_equal(kymo_track_create("of many", &n.track), KYMO_OK);
	pthread_barrier_init(&round_begins, NULL, 4);
	pthread_barrier_init(&round_ends, NULL, 4);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, publish_counters, &n), 0);
	for (unsigned i = 0; i < 4; i++) {
		pthread_join(threads[i], &refused);
		assert_int_equal((uintptr_t)refused, 0);
	}
}

/* ---- many threads ---- */

#define THREADS 4u
#define EACH    2000u

static void *publish_many(void *arg)
{
	kymo_clock_t clock = *(kymo_clock_t *)arg;
	kymo_published_domain_t mine = domain;

	for (unsigned i = 0; i < EACH; i++) {
		kymo_publication_t p = {
			.size = sizeof(p), .clock = clock, .start = i, .end = i + 1};
		kymo_track_t track;

		if (i % 500 == 0)
			kymo_track_create("of a thread", &track);
		if (i % 50 == 0)
			kymo_clock_sync(clock, kymo_time(), i, kymo_time(), KYMO_SYNC_BOUNDED);
		kymo_publish(mine, TICK, &p, NULL);
	}
	return NULL;
}

static _Atomic uint32_t counted;

static void count(kymo_buffer_t buffer, const kymo_record_t *r, void *data)
{
	counted++;
}

static void test_threads(void **state)
{
	kymo_selection_t all = {.size = sizeof(all), .domain = "jobs"};
	kymo_buffer_desc_t d = {.size = sizeof(d), .deliver = count};
	kymo_buffer_t buffer;
	kymo_context_t own;
	kymo_clock_t clock;
	pthread_t threads[THREADS];

	assert_int_equal(kymo_context_stop(context), KYMO_OK);
	assert_int_equal(kymo_clock_create("shared", "device", 1000, &clock), KYMO_OK);
	assert_int_equal(kymo_context_create(&own), KYMO_OK);
	assert_int_equal(kymo_buffer_create(own, &d, &buffer), KYMO_OK);
	assert_int_equal(kymo_buffer_service(own, &all, buffer), KYMO_OK);
	assert_int_equal(kymo_context_start(own), KYMO_OK);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, publish_many, &clock), 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(kymo_drain(own, 10 * SECOND), KYMO_OK);
	assert_int_equal(counted, THREADS * EACH);
	assert_int_equal(kymo_context_destroy(own), KYMO_OK);
	assert_int_equal(kymo_context_start(context), KYMO_OK);
}

/* A child publishes as its parent did, on the same clocks and tracks. */
static void test_fork(void **state)
{
	kymo_publication_t p = {.size = sizeof(p), .start = kymo_time(), .track = {1}};
	int status = 0;
	pid_t child;

	p.end = p.start;
	child = fork();
	if (child == 0) {
		uint64_t id = 0;
		bool ok = kymo_publish(domain, TICK, &p, &id) == KYMO_OK && id != 0;

		_exit(ok && call_count == 1 && calls[0].start == p.start ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_values, begin),
		cmocka_unit_test_setup(test_clock, begin),
		cmocka_unit_test_setup(test_nobody, begin),
		cmocka_unit_test_setup(test_refused, begin),
		cmocka_unit_test_setup(test_devices, begin),
		cmocka_unit_test_setup(test_measures, begin),
		cmocka_unit_test_setup(test_counters_of_threads, begin),
		cmocka_unit_test_setup(test_threads, begin),
		cmocka_unit_test_setup(test_fork, begin),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
