/* SPDX-License-Identifier: Apache-2.0 */
/* Work that is submitted now and done later: who is told, under which name, and when ids retire. */
#include "tool_support.h"

static struct t_seen seen[3];

static void work_done(struct cap_submission *o, bool wanted)
{
	if (wanted)
		t_complete(o);
}

/* Contexts count as they were when the work was submitted. */
static void test_captured(void **state)
{
	kymo_context_t early = t_context("sync", &seen[0]), late = t_context("sync", &seen[1]),
		       gone = t_context("sync", &seen[2]);
	struct cap_submission o;
	bool wanted;

	assert_int_equal(kymo_context_start(early), KYMO_OK);
	assert_int_equal(kymo_context_start(gone), KYMO_OK);
	assert_int_equal(kymo_external_push(early, 11), KYMO_OK);
	t_submit(&o, 1, &wanted);
	assert_true(wanted);
	assert_int_equal(kymo_external_pop(early, NULL), KYMO_OK);
	assert_int_equal(kymo_context_stop(early), KYMO_OK);
	assert_int_equal(kymo_context_start(late), KYMO_OK);
	assert_int_equal(kymo_context_destroy(gone), KYMO_OK);
	t_complete(&o);
	assert_int_equal(seen[0].count, 1); /* stopped since */
	assert_int_equal(seen[0].list[0].external, 11);
	assert_int_equal(seen[1].count, 0); /* started since */
	assert_int_equal(seen[2].count, 0); /* destroyed since */
	assert_int_equal(kymo_context_destroy(early), KYMO_OK);
	assert_int_equal(kymo_context_destroy(late), KYMO_OK);
	t_submit(&o, 1, &wanted);
	assert_false(wanted);
}

static bool big(const kymo_work_t *work, void *data)
{
	assert_string_equal(work->domain->name, "sync");
	assert_int_equal(work->size, sizeof(*work));
	return work->bytes >= 100;
}

static void test_filter(void **state)
{
	kymo_selection_t s = {.size = sizeof(s), .domain = "sync", .filter = big};
	kymo_context_t c, all = t_context("sync", &seen[1]);
	struct cap_submission o;
	bool wanted;

	memset(&seen[0], 0, sizeof(seen[0]));
	assert_int_equal(kymo_context_create(&c), KYMO_OK);
	assert_int_equal(kymo_callback_service(c, &s, t_keep, &seen[0]), KYMO_OK);
	assert_int_equal(kymo_context_start(c), KYMO_OK);
	assert_int_equal(kymo_context_start(all), KYMO_OK);
	for (uint64_t bytes = 50; bytes <= 150; bytes += 50) {
		t_submit(&o, bytes, &wanted);
		work_done(&o, wanted);
	}
	assert_int_equal(seen[0].count, 2);
	assert_int_equal(seen[1].count, 3); /* a filter is nobody else's */
	assert_int_equal(kymo_context_destroy(c), KYMO_OK);
	assert_int_equal(kymo_context_destroy(all), KYMO_OK);
}

/* An id retires after its call and all its work, in whatever order those end. */
static void test_retirement(void **state)
{
	kymo_context_t c = t_context(NULL, &seen[0]);
	struct cap_submission a, b;
	bool wanted_a, wanted_b;
	uint64_t first, second, third;

	assert_int_equal(kymo_context_start(c), KYMO_OK);
	seen[0].count = 0;
	first = t_submit(&a, 1, &wanted_a);
	second = t_submit(&b, 1, &wanted_b);
	third = t_call(T_CALL, 0, NULL, NULL);
	assert_true(wanted_a && wanted_b);
	assert_int_equal(t_count(&seen[0], "retirement", KYMO_PHASE_COMPLETE), 1);
	assert_int_equal(seen[0].list[seen[0].count - 1].value, third);
	t_complete(&b);
	assert_int_equal(seen[0].list[seen[0].count - 2].call, second);
	assert_int_equal(seen[0].list[seen[0].count - 1].value, second);
	t_complete(&a);
	assert_int_equal(seen[0].list[seen[0].count - 2].call, first);
	assert_int_equal(seen[0].list[seen[0].count - 1].value, first);
	assert_int_equal(t_count(&seen[0], "retirement", KYMO_PHASE_COMPLETE), 3);
	assert_int_equal(kymo_context_destroy(c), KYMO_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_captured),
		cmocka_unit_test(test_filter),
		cmocka_unit_test(test_retirement),
	};

	t_register();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
