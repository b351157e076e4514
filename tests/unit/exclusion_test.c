/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of calls that a context has excluded: not in its buffer, in another's all the same. */
#include "tool_support.h"

#include "core/activity/comm.h"

static bool only_call(const kymo_domain_desc_t *d, uint32_t op, void *data)
{
	return op == T_CALL;
}

static int64_t scopes[8]; /* of what was recorded last */

static void recorded(kymo_buffer_t b, const kymo_record_t *r, void *data)
{
	unsigned *count = data;

	scopes[*count % 8] = r->scope;
	++*count;
}

static kymo_context_t make(unsigned *count, bool excludes)
{
	kymo_selection_t messages = {.size = sizeof(messages), .domain = "comm"};
	kymo_selection_t calls = {.size = sizeof(calls), .domain = "t", .select = only_call};
	kymo_buffer_desc_t d = {.size = sizeof(d), .deliver = recorded, .data = count};
	kymo_context_t c;
	kymo_buffer_t b;

	*count = 0;
	assert_int_equal(kymo_context_create(&c), KYMO_OK);
	assert_int_equal(kymo_buffer_create(c, &d, &b), KYMO_OK);
	assert_int_equal(kymo_buffer_service(c, &messages, b), KYMO_OK);
	if (excludes)
		assert_int_equal(kymo_exclusion_service(c, &calls), KYMO_OK);
	assert_int_equal(kymo_context_start(c), KYMO_OK);
	return c;
}

/* A message of a call of that op, complete at once or later. */
static void message(int op, bool later)
{
	struct comm_transfer t = {.op = COMM_OP_SEND,
				  .excluded = t_ops[op].excluded,
				  .start = tick_now(),
				  .peer = 1,
				  .tag = -1};

	if (later)
		t.has_submission = cap_submission_take(&t.submission, NULL, &comm_ops[t.op], NULL);
	comm_write(&t, tick_now());
	assert_false(t.has_submission);
}

static void end(kymo_context_t c)
{
	assert_int_equal(kymo_drain(c, 60000000000u), KYMO_OK);
	assert_int_equal(kymo_context_destroy(c), KYMO_OK);
}

static void test_one_of_two(void **state)
{
	unsigned without, with;
	kymo_context_t a = make(&without, true), b = make(&with, false);

	assert_true(comm_wanted_of(&t_ops[T_CALL]));
	for (int later = 0; later < 2; later++) {
		message(T_CALL, later);
		message(T_OTHER, later);
	}
	end(a);
	end(b);
	assert_int_equal(without, 2);
	assert_int_equal(with, 4);
}

static void test_alone(void **state)
{
	unsigned count;
	kymo_context_t c = make(&count, true);

	assert_false(comm_wanted_of(&t_ops[T_CALL]));
	assert_true(comm_wanted_of(&t_ops[T_OTHER]));
	message(T_CALL, false);
	message(T_CALL, true);
	end(c);
	assert_int_equal(count, 0);
	assert_int_equal(t_ops[T_CALL].excluded, 0);
}

/* A message is in the range in which it was sent, though it is complete in another. */
static void test_scopes(void **state)
{
	unsigned count;
	kymo_context_t c = make(&count, false);
	struct comm_transfer t = {.op = COMM_OP_SEND, .start = tick_now(), .peer = 1, .tag = -1};
	int64_t sent, complete;

	assert_int_equal(kymo_scope_push(&sent), KYMO_OK);
	message(T_OTHER, false);
	t.has_submission = cap_submission_take(&t.submission, NULL, &comm_ops[t.op], NULL);
	assert_true(t.has_submission);
	assert_int_equal(kymo_scope_pop(), KYMO_OK);
	message(T_OTHER, false);
	assert_int_equal(kymo_scope_push(&complete), KYMO_OK);
	comm_write(&t, tick_now());
	message(T_OTHER, false);
	assert_int_equal(kymo_scope_pop(), KYMO_OK);
	end(c);
	assert_int_equal(count, 4);
	assert_int_equal(scopes[0], sent);
	assert_int_equal(scopes[1], 0);
	assert_int_equal(scopes[2], sent);
	assert_int_equal(scopes[3], complete);
	assert_int_not_equal(sent, complete);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_of_two),
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_scopes),
	};

	t_register();
	assert_true(comm_register());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
