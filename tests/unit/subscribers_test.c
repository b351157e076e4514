/* SPDX-License-Identifier: Apache-2.0 */
/* Subscribers of ops: lists that ops share, gone when no op names them, there as long as a call uses them. */
#include "tool_support.h"

#include <malloc.h>

#define MANY 12

static struct t_seen seen[MANY];

static void test_shared(void **state)
{
	kymo_context_t c = t_context("t", &seen[0]);

	assert_null(t_ops[T_CALL].callbacks);
	assert_int_equal(kymo_context_start(c), KYMO_OK);
	assert_non_null(t_ops[T_CALL].callbacks);
	assert_ptr_equal(t_ops[T_CALL].callbacks, t_ops[T_OTHER].callbacks);
	assert_int_equal(kymo_context_stop(c), KYMO_OK);
	assert_null(t_ops[T_CALL].callbacks);
	assert_int_equal(kymo_context_destroy(c), KYMO_OK);
}

/* Every combination of started contexts is a list of its own; none stays. */
static void test_memory(void **state)
{
	kymo_context_t c[MANY];
	size_t before = 0;

	for (int i = 0; i < MANY; i++)
		c[i] = t_context("t", &seen[i]);
	for (unsigned n = 1; n < 8192; n++) {
		int changed = __builtin_ctz(n) % MANY; /* as in a Gray code */
		bool active;

		assert_int_equal(kymo_context_is_active(c[changed], &active), KYMO_OK);
		assert_int_equal(active ? kymo_context_stop(c[changed])
					: kymo_context_start(c[changed]),
				 KYMO_OK);
		if (n == 1024)
			before = mallinfo2().uordblks;
	}
	assert_true(mallinfo2().uordblks < before + 131072);
	for (int i = 0; i < MANY; i++)
		assert_int_equal(kymo_context_destroy(c[i]), KYMO_OK);
}

static void stop(void *data)
{
	assert_int_equal(kymo_context_stop(*(kymo_context_t *)data), KYMO_OK);
}

static void replace(void *data)
{
	assert_int_equal(kymo_context_destroy(*(kymo_context_t *)data), KYMO_OK);
	for (int i = 0; i < 200; i++) { /* sweeps, and memory for others */
		kymo_context_t c = t_context("t", &seen[7]);

		assert_int_equal(kymo_context_start(c), KYMO_OK);
		t_call(T_OTHER, 0, NULL, NULL);
		assert_int_equal(kymo_context_destroy(c), KYMO_OK);
	}
}

static void test_captured(void **state)
{
	kymo_context_t c = t_context("t", &seen[0]), other;

	assert_int_equal(kymo_context_start(c), KYMO_OK);
	t_call(T_CALL, 1, stop, &c); /* saw it enter, sees it exit */
	assert_int_equal(seen[0].count, 2);
	assert_int_equal(seen[0].list[1].phase, KYMO_PHASE_EXIT);
	assert_int_equal(kymo_context_start(c), KYMO_OK);
	other = t_context("t", &seen[1]);
	assert_int_equal(kymo_context_start(other), KYMO_OK);
	t_call(T_CALL, 1, replace, &c); /* destroyed: it is not called, its neighbour is */
	assert_int_equal(seen[0].count, 3);
	assert_int_equal(seen[1].count, 2 + 200 * 2);
	assert_int_equal(seen[1].list[seen[1].count - 1].phase, KYMO_PHASE_EXIT);
	assert_int_equal(kymo_context_destroy(other), KYMO_OK);
}

static uint64_t ask(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
	return r->correlation + 1000;
}

static void has_answer(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
	unsigned *times = data;

	assert_int_equal(r->external, r->correlation + 1000);
	++*times;
}

/* Who is asked for the external id is asked before the callbacks of its context, and it alone. */
static void test_request(void **state)
{
	kymo_context_t c = t_context("t", &seen[0]), other = t_context("t", &seen[1]);
	const kymo_selection_t s = {.size = sizeof(s), .domain = "t"};
	unsigned more[2] = {0};

	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(kymo_callback_service(c, &s, has_answer, &more[i]), KYMO_OK);
	assert_int_equal(kymo_external_push(c, 5), KYMO_OK);
	assert_int_equal(kymo_external_push(other, 6), KYMO_OK);
	assert_int_equal(kymo_external_request_service(c, NULL, ask, NULL), KYMO_OK);
	assert_int_equal(kymo_context_start(other), KYMO_OK);
	assert_int_equal(kymo_context_start(c), KYMO_OK);
	t_call(T_CALL, 1, NULL, NULL);
	assert_int_equal(seen[0].list[0].external, seen[0].list[0].call + 1000);
	assert_int_equal(seen[0].list[1].external, seen[0].list[0].call + 1000);
	assert_int_equal(seen[1].list[0].external, 6);
	assert_int_equal(more[0], 2);
	assert_int_equal(more[1], 2);
	assert_int_equal(kymo_context_destroy(c), KYMO_OK);
	assert_int_equal(kymo_context_destroy(other), KYMO_OK);
}

static void check_word(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
	assert_int_equal(*r->user, 0);
	*r->user = 1;
	t_keep(c, r, data);
}

static kymo_context_t context_of(uint32_t phases, struct t_seen *s)
{
	const kymo_selection_t selection = {
		.size = sizeof(selection), .domain = "t", .phases = phases};
	kymo_context_t c;

	s->count = 0;
	assert_int_equal(kymo_context_create(&c), KYMO_OK);
	assert_int_equal(kymo_callback_service(c, &selection, check_word, s), KYMO_OK);
	assert_int_equal(kymo_context_start(c), KYMO_OK);
	return c;
}

/* Each is called in the phases that it asked for, whether others ask for the other one or not. */
static void test_phases(void **state)
{
	kymo_context_t exits = context_of(KYMO_PHASE_EXIT, &seen[0]), enters;
	const kymo_selection_t unknown = {.size = sizeof(unknown), .domain = "t", .phases = 4};

	for (int i = 0; i < 2; i++)
		t_call(T_CALL, 7, NULL, NULL);
	assert_int_equal(seen[0].count, 2);
	enters = context_of(KYMO_PHASE_ENTER, &seen[1]);
	t_call(T_CALL, 8, NULL, NULL);
	assert_int_equal(seen[0].count, 3);
	assert_int_equal(seen[1].count, 1);
	for (int i = 0; i < 3; i++)
		assert_int_equal(seen[0].list[i].phase, KYMO_PHASE_EXIT);
	assert_int_equal(seen[0].list[2].value, 8);
	assert_int_equal(seen[1].list[0].phase, KYMO_PHASE_ENTER);
	assert_int_equal(seen[0].list[2].call, seen[1].list[0].call);
	assert_int_equal(kymo_callback_service(exits, &unknown, check_word, &seen[0]),
			 KYMO_ERROR_INVALID_ARGUMENT);
	assert_int_equal(kymo_context_destroy(exits), KYMO_OK);
	assert_int_equal(kymo_context_destroy(enters), KYMO_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shared),   cmocka_unit_test(test_memory),
		cmocka_unit_test(test_captured), cmocka_unit_test(test_request),
		cmocka_unit_test(test_phases),
	};

	t_register();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
