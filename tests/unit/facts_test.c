/* SPDX-License-Identifier: Apache-2.0 */
/* Findings that cost no time: leaks and ignored errors, and what is neither. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/diagnose.h"
#include "stream/large.h"
#include "wire/raw.h"

static const struct stream_sink whole_run = {.whole = true, .from = INT64_MIN, .to = INT64_MAX};

static const kymo_enum_value_t values[] = {{"cudaErrorInvalidValue", 1},
					   {"cudaErrorNotReady", 600}};
static struct t_enum_set statuses = {"status", (kymo_enum_value_t *)values, 2};
static struct t_domain domains[] = {{"", ""}, {"cuda", "CUDA"}};
static struct t_field stream_out[] = {
	{.name = "*pStream", .type = "cudaStream_t *", .flags = KYMO_FIELD_OUT | KYMO_FIELD_DEREF}};
static struct t_op ops[] = {
	{.name = ""},
	{.name = "cudaLaunchKernel", .domain = 1, .status_set = &statuses},
	{.name = "cudaStreamCreate", .domain = 1, .field_count = 1, .fields = stream_out}};
enum { OP_CREATE = 2 };

static struct facts {
	struct trace trace;
	struct timeline tl;
	struct t_process processes[3];
	struct t_thread threads[3];
	struct t_site sites[3];
	struct tallies *tallies;
	struct diagnosis d;
	const char *unknown; /* of what is not known; NULL: all is known */
} facts;

static void begin(void)
{
	struct trace *t = &facts.trace;

	memset(&facts, 0, sizeof(facts));
	t->origin = 1;
	t->end = 1000000000;
	t->domains = domains;
	t->domains_count = 2;
	t->ops = ops;
	t->ops_count = 3;
	t->processes = facts.processes;
	t->threads = facts.threads;
	t->sites = facts.sites;
	t->processes_count = t->threads_count = t->sites_count = 3;
	t->pauses_count = 1; /* the first of each array is none */
	facts.processes[1].rank = facts.processes[2].rank = UINT32_MAX;
	facts.threads[1].process = 1;
	facts.threads[2].process = 2;
	facts.tl.trace = t;
	facts.tl.threads = calloc(3, sizeof(*facts.tl.threads));
	facts.tl.call_of = calloc(3, sizeof(*facts.tl.call_of));
	facts.tl.start = 1;
	facts.tl.end = t->end;
	facts.tl.objects = objects_new(t);
	assert_non_null(facts.tl.objects);
	facts.tallies = tallies_empty(t);
	assert_non_null(facts.tallies);
}

static void add(enum tally_kind kind, const uint32_t *key, uint64_t count, uint64_t bytes)
{
	struct tally *y = tally_at(facts.tallies, kind, key);

	assert_non_null(y);
	y->count = count;
	y->bytes = bytes;
}

static void failed(uint32_t status, uint64_t count)
{
	const uint32_t key[TALLY_KEYS] = {
		1, [KEY_ERROR_OP] = 1, [KEY_ERROR_STATUS] = status, [KEY_ERROR_THREAD] = 1};

	add(TALLY_ERROR, key, count, 0);
}

static uint32_t site_of(void *data, const struct tally_live *l)
{
	return (uint32_t)l->call;
}

/* `count` allocations of one line that are kept, from `from` on one every `each` ns. */
static void left(uint32_t site, uint32_t count, uint64_t bytes, int64_t from, int64_t each)
{
	struct tallies *a = facts.tallies;
	struct tally_live *live = realloc(a->live, (a->live_count + count) * sizeof(*live));

	assert_non_null(live);
	a->live = live;
	for (uint32_t i = 0; i < count; i++)
		live[a->live_count++] = (struct tally_live){.call = site,
							    .bytes = bytes / count,
							    .time = from + i * each,
							    .process = 1,
							    .thread = 1};
}

/* The findings are those of these rules with these words in their titles, in this order. */
static void expect(unsigned count, const char *rule, const char *title)
{
	assert_true(timeline_finish(&facts.tl, &whole_run));
	assert_true(tallies_leaks(facts.tallies, site_of, NULL));
	assert_true(diagnose(&facts.d, "x.kymo", &facts.tl, facts.tallies, NULL));
	assert_int_equal(facts.d.count, count);
	if (count) {
		assert_string_equal(facts.d.findings[0].rule->id, rule);
		assert_non_null(strstr(facts.d.findings[0].title.s, title));
		assert_int_equal(facts.d.findings[0].gain, 0);
	}
	assert_int_equal(facts.unknown != NULL, facts.d.abstained.length != 0);
	if (facts.unknown)
		assert_non_null(strstr(facts.d.abstained.s, facts.unknown));
	diagnosis_release(&facts.d);
	tallies_free(facts.tallies);
	objects_free(facts.tl.objects);
	for (unsigned i = 0; i < 3; i++)
		large_free(facts.tl.call_of[i].at);
	free(facts.tl.call_of);
	for (uint32_t i = 0; i < facts.trace.processes_count; i++)
		intervals_release(&facts.tl.building[i]);
	free(facts.tl.building);
	free(facts.tl.devices);
	large_free(facts.tl.calls);
	free(facts.tl.threads);
	large_free(facts.tl.order);
	large_free(facts.tl.outer);
}

static void test_errors(void **state)
{
	begin();
	failed(1, 10);
	expect(1, "ignored-errors", "cudaLaunchKernel fails 10 times (cudaErrorInvalidValue)");
	begin(); /* tried once or twice */
	failed(1, 2);
	expect(0, NULL, NULL);
	begin(); /* an answer */
	failed(600, 1000);
	expect(0, NULL, NULL);
}

static void test_leaks(void **state)
{
	begin();
	left(1, 50, 50 << 20, 5000000, 19000000);
	expect(1, "leak", "50 allocations of one line are never freed: 50.00 MiB");
	begin(); /* two buffers until the end, and many tiny ones */
	left(1, 2, 200 << 20, 5000000, 900000000);
	left(2, 100, 6400, 5000000, 9000000);
	expect(0, NULL, NULL);
	begin(); /* whose lines are not known */
	left(0, 100, 100 << 20, 5000000, 9500000);
	expect(1, "leak", "100 allocations are never freed: 100.0 MiB");
	begin(); /* likewise, but few: the buffers of a program */
	left(0, 40, 100 << 20, 5000000, 22000000);
	expect(0, NULL, NULL);
	begin(); /* taken at the begin and kept, by a caching allocator, but for the last */
	left(0, 99, (uint64_t)99 << 25, 5000000, 1000000);
	left(0, 1, 1 << 20, 990000000, 0);
	expect(0, NULL, NULL);
	begin(); /* likewise, of one line */
	left(1, 99, (uint64_t)99 << 25, 5000000, 1000000);
	expect(0, NULL, NULL);
	begin(); /* in the second half of the run alone */
	left(1, 99, (uint64_t)99 << 25, 510000000, 4900000);
	expect(0, NULL, NULL);
	begin(); /* nothing is known */
	left(1, 50, 50 << 20, 5000000, 19000000);
	facts.tl.lost = 1;
	facts.unknown = "records are missing";
	expect(0, NULL, NULL);
}

/* `count` streams of one line, from `from` on one every `each` ns; those from number `kept` on stay. */
static void streams(uint32_t site, uint32_t count, uint32_t kept, int64_t from, int64_t each)
{
	struct objects *o = facts.tl.objects;

	o->lines = calloc(1, sizeof(*o->lines));
	o->list = calloc(count, sizeof(*o->list));
	assert_true(o->lines && o->list);
	o->lines[0] = (struct object_line){.process = 1,
					   .kind = o->ops[OP_CREATE].kind,
					   .op = OP_CREATE,
					   .site = site,
					   .made = count,
					   .first = INT64_MAX};
	o->lines_count = 1;
	for (uint32_t i = 0; i < count; i++)
		o->list[i] = (struct object){.handle = i + 1,
					     .makes = 1,
					     .releases = i < kept,
					     .made = from + i * each,
					     .released = i < kept ? INT64_MAX : INT64_MIN,
					     .process = 1,
					     .kind = o->ops[OP_CREATE].kind,
					     .line = 1};
	o->count = count;
	objects_finish(o);
}

static void ends(uint32_t process, uint32_t how, bool recording, const char *unknown)
{
	facts.processes[process].pid = 700 + process;
	facts.processes[process].how_ended = how;
	facts.processes[process].recording = recording;
	facts.unknown = unknown;
}

/* What a process has not given back when it is seen last is no leak if it may still do so. */
static void test_endless(void **state)
{
	static const struct {
		uint32_t how;
		bool recording;
		const char *leak, *object_leak;
	} cases[] = {
		{UINT32_MAX, true, "leak: process 701 is still being recorded: what it would",
		 "object-leak: process 701 is still being recorded: what it would"},
		{UINT32_MAX, false, "process 701 has no end: it was killed, or goes on",
		 "object-leak: process 701 has no end: what it would"},
		{RAW_END_KILLED, false, "leak: process 701 was killed",
		 "object-leak: process 701 was killed"},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		begin();
		ends(1, cases[i].how, cases[i].recording, cases[i].leak);
		left(1, 50, 50 << 20, 5000000, 19000000);
		expect(0, NULL, NULL);
		begin();
		ends(1, cases[i].how, cases[i].recording, cases[i].object_leak);
		streams(1, 100, 0, 5000000, 9900000);
		expect(0, NULL, NULL);
	}
	begin(); /* another process was killed */
	ends(2, RAW_END_KILLED, false, NULL);
	streams(1, 100, 0, 5000000, 9900000);
	expect(1, "object-leak", "100 of 100 CUDA streams of one line are never released");
}

static void test_objects(void **state)
{
	begin(); /* all over the run */
	streams(1, 100, 0, 5000000, 9900000);
	expect(1, "object-leak", "100 of 100 CUDA streams of one line are never released");
	begin(); /* a few of them */
	streams(1, 15, 0, 5000000, 66000000);
	expect(0, NULL, NULL);
	begin(); /* likewise, where lines are not known */
	streams(0, 63, 0, 5000000, 15000000);
	expect(0, NULL, NULL);
	begin();
	streams(0, 64, 0, 5000000, 15000000);
	expect(1, "object-leak", "64 of 64 CUDA streams are never released");
	begin(); /* a pool at the begin */
	streams(1, 1000, 0, 1000000, 1000);
	expect(0, NULL, NULL);
	begin(); /* the newest are kept, the others given back */
	streams(1, 1000, 900, 1000000, 990000);
	expect(0, NULL, NULL);
	begin(); /* nothing is known */
	streams(1, 100, 0, 5000000, 9900000);
	facts.tl.lost = 1;
	facts.unknown = "records are missing";
	expect(0, NULL, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_leaks),
		cmocka_unit_test(test_objects),
		cmocka_unit_test(test_endless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
