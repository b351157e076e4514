/* SPDX-License-Identifier: Apache-2.0 */
/* What the table of samples tells beside its rows: how many were lost, of all threads and traces. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/summary_parts.h"

static struct t_process processes[2];
static struct t_thread threads[3] = {{0}, {.process = 1}, {.process = 1}};
static struct t_stack stacks[1];
static struct trace trace = {.processes = processes,
			     .processes_count = 2,
			     .threads = threads,
			     .threads_count = 3,
			     .stacks = stacks,
			     .stacks_count = 1};

static void lose(struct tallies *t, uint32_t thread, uint64_t lost)
{
	tallies_sample(
		t, &(struct rec_sample){.base = {.process = 1, .thread = thread}, .lost = lost});
}

static void lost_samples_are_told(void **state)
{
	struct summary s[2] = {{.trace = &trace, .tallies = tallies_new(&trace)},
			       {.trace = &trace, .tallies = tallies_new(&trace)}};
	struct report r = {0};

	assert_true(summary_functions(&r, s, 2, BY_TRACE));
	assert_int_equal(r.table_count, 0);
	lose(s[0].tallies, 1, 3);
	lose(s[0].tallies, 1, 20);
	lose(s[0].tallies, 2, 400);
	lose(s[1].tallies, 2, 5000);
	assert_true(summary_functions(&r, s, 2, BY_TRACE));
	assert_int_equal(r.table_count, 1);
	assert_int_equal(r.tables[0]->row_count, 0);
	assert_int_equal(r.tables[0]->notes.count, 1);
	assert_string_equal(r.tables[0]->notes.lines[0], "5,423 samples were lost");
	report_release(&r);
	tallies_free(s[0].tallies);
	tallies_free(s[1].tallies);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(lost_samples_are_told)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
