/* SPDX-License-Identifier: Apache-2.0 */
/* Call stacks of calls, as callbacks and private buffers are told them. */
#include "tool_support.h"

#define DEEP 8

static struct {
	const uint64_t *entered, *exited, *recorded[3], *other;
	uint32_t entered_count, exited_count, recorded_count, without;
} seen;

static void called(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
	const uint64_t *addresses = NULL;
	uint32_t count = 0;
	kymo_status_t s = kymo_callback_stack(r, &addresses, &count);

	if (r->op != T_CALL) {
		assert_int_equal(s, KYMO_ERROR_NOT_FOUND);
		return;
	}
	assert_int_equal(s, KYMO_OK);
	if (r->phase == KYMO_PHASE_ENTER) {
		seen.entered = addresses;
		seen.entered_count = count;
	} else {
		seen.exited = addresses;
		seen.exited_count = count;
	}
}

static void recorded(kymo_buffer_t b, const kymo_record_t *r, void *data)
{
	const uint64_t *addresses;
	uint32_t count;
	kymo_status_t s = kymo_record_stack(r, &addresses, &count);

	if (s == KYMO_OK && seen.recorded_count < 3) {
		seen.recorded[seen.recorded_count++] = addresses;
		assert_int_equal(count, seen.exited_count - (r->op == T_CALL ? 0 : 1));
	} else {
		seen.without++;
	}
}

static __attribute__((noinline)) void call_from(unsigned depth, int op)
{
	if (depth)
		call_from(depth - 1, op);
	else
		t_call(op, 1, NULL, NULL);
	__asm__ volatile("" ::: "memory"); /* no tail call */
}

static kymo_context_t make(bool buffer, bool callback)
{
	kymo_selection_t all = {.size = sizeof(all), .domain = "t"};
	kymo_buffer_desc_t d = {.size = sizeof(d), .deliver = recorded};
	kymo_context_t c;
	kymo_buffer_t b;

	memset(&seen, 0, sizeof(seen));
	assert_int_equal(kymo_context_create(&c), KYMO_OK);
	if (buffer) {
		assert_int_equal(kymo_buffer_create(c, &d, &b), KYMO_OK);
		assert_int_equal(kymo_buffer_service(c, &all, b), KYMO_OK);
	}
	if (callback)
		assert_int_equal(kymo_callback_service(c, &all, called, NULL), KYMO_OK);
	return c;
}

static bool only_call(const kymo_domain_desc_t *d, uint32_t op, void *data)
{
	return op == T_CALL;
}

static void test_stacks(void **state)
{
	kymo_selection_t some = {.size = sizeof(some), .domain = "t", .select = only_call};
	kymo_context_t c = make(true, true);
	const uint64_t *deep;

	assert_int_equal(kymo_stack_service(c, &some), KYMO_OK);
	assert_int_equal(kymo_context_start(c), KYMO_OK);
	for (volatile int i = 0; i < 2; i++) /* from one place */
		call_from(DEEP, T_CALL);
	deep = seen.exited;
	assert_true(seen.entered_count > DEEP);
	call_from(0, T_OTHER); /* of which no stack is wanted */
	assert_int_equal(kymo_drain(c, 60000000000u), KYMO_OK);
	assert_ptr_equal(seen.entered, seen.exited); /* the same stack is the same */
	assert_int_equal(seen.recorded_count, 2);
	assert_ptr_equal(seen.recorded[0], deep);
	assert_ptr_equal(seen.recorded[1], deep);
	assert_int_equal(seen.without, 1);
	assert_int_equal(kymo_context_destroy(c), KYMO_OK);
}

static void test_without(void **state)
{
	kymo_context_t c = make(true, false);

	assert_int_equal(kymo_context_start(c), KYMO_OK);
	call_from(1, T_CALL);
	assert_int_equal(kymo_drain(c, 60000000000u), KYMO_OK);
	assert_int_equal(seen.recorded_count, 0);
	assert_int_equal(seen.without, 1);
	assert_int_equal(kymo_context_destroy(c), KYMO_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without),
		cmocka_unit_test(test_stacks),
	};

	t_register();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
