/* SPDX-License-Identifier: Apache-2.0 */
/* Findings that cost no time: leaks and ignored errors, and what is neither. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/diagnose.h"

static const struct stream_sink whole_run = {.whole = true, .from = INT64_MIN, .to = INT64_MAX};

static const kymo_enum_value_t values[] = {{"cudaErrorInvalidValue", 1},
					   {"cudaErrorNotReady", 600}};
static struct t_enum_set statuses = {"status", (kymo_enum_value_t *)values, 2};
static struct t_domain domains[] = {{"", ""}, {"cuda", "CUDA"}};
static struct t_op ops[] = {{.name = ""},
			    {.name = "cudaLaunchKernel", .domain = 1, .status_set = &statuses}};

static struct facts {
	struct trace trace;
	struct timeline tl;
	struct t_process processes[3];
	struct t_thread threads[3];
	struct t_site sites[3];
	struct tallies *tallies;
	struct diagnosis d;
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
	t->ops_count = 2;
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

static void left(uint32_t site, uint64_t count, uint64_t bytes)
{
	const uint32_t key[TALLY_KEYS] = {1, [KEY_LEAK_SITE] = site};

	add(TALLY_LEAK, key, count, bytes);
}

/* The findings are those of these rules with these words in their titles, in this order. */
static void expect(unsigned count, const char *rule, const char *title)
{
	assert_true(timeline_finish(&facts.tl, &whole_run));
	assert_true(diagnose(&facts.d, "x.kymo", &facts.tl, facts.tallies, NULL));
	assert_int_equal(facts.d.count, count);
	if (count) {
		assert_string_equal(facts.d.findings[0].rule->id, rule);
		assert_non_null(strstr(facts.d.findings[0].title.s, title));
		assert_int_equal(facts.d.findings[0].gain, 0);
	}
	diagnosis_release(&facts.d);
	tallies_free(facts.tallies);
	for (unsigned i = 0; i < 3; i++)
		map_release(&facts.tl.call_of[i]);
	free(facts.tl.call_of);
	free(facts.tl.devices);
	free(facts.tl.calls);
	free(facts.tl.threads);
	free(facts.tl.order);
	free(facts.tl.outer);
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
	left(1, 50, 50 << 20);
	expect(1, "leak", "50 allocations of one line are never freed: 50.00 MiB");
	begin(); /* two buffers until the end, and many tiny ones */
	left(1, 2, 200 << 20);
	left(2, 100, 6400);
	expect(0, NULL, NULL);
	begin(); /* whose lines are not known */
	left(0, 100, 100 << 20);
	expect(1, "leak", "100 allocations are never freed: 100.0 MiB");
	begin(); /* likewise, but few: the buffers of a program */
	left(0, 40, 100 << 20);
	expect(0, NULL, NULL);
	begin(); /* nothing is known */
	left(1, 50, 50 << 20);
	facts.tl.lost = 1;
	expect(0, NULL, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_leaks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
