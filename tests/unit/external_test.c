/* SPDX-License-Identifier: Apache-2.0 */
/* External ids: a stack for each thread and context, of the own and of other threads. */
#include "tool_support.h"

#include <semaphore.h>

static struct t_seen seen[2];
static uint64_t delivered[64];
static uint32_t delivered_count;

static void deliver(kymo_buffer_t b, const kymo_record_t *r, void *data)
{
	if (delivered_count < 64)
		delivered[delivered_count++] = r->external;
}

static void test_stack(void **state)
{
	kymo_context_t c = t_context("t", &seen[0]), other = t_context("t", &seen[1]);
	uint64_t value = 0;

	assert_int_equal(kymo_context_start(c), KYMO_OK);
	assert_int_equal(kymo_context_start(other), KYMO_OK);
	for (uint64_t i = 1; i <= 100; i++)
		assert_int_equal(kymo_external_push(c, i), KYMO_OK);
	for (uint64_t i = 100; i > 0; i--) {
		seen[0].count = seen[1].count = 0;
		t_call(T_CALL, 0, NULL, NULL);
		assert_int_equal(seen[0].list[0].external, i);
		assert_int_equal(seen[0].list[1].external, i);
		assert_int_equal(seen[1].list[0].external, 0); /* another context's is another */
		assert_int_equal(kymo_external_pop(c, &value), KYMO_OK);
		assert_int_equal(value, i);
	}
	assert_int_equal(kymo_external_pop(c, &value), KYMO_ERROR_STATE);
	assert_int_equal(kymo_context_destroy(c), KYMO_OK);
	assert_int_equal(kymo_context_destroy(other), KYMO_OK);
}

/* A context in the place of one that is gone starts with nothing. */
static void test_generations(void **state)
{
	kymo_context_t c, again;
	uint64_t value;

	assert_int_equal(kymo_context_create(&c), KYMO_OK);
	assert_int_equal(kymo_external_push(c, 9), KYMO_OK);
	assert_int_equal(kymo_context_destroy(c), KYMO_OK);
	again = t_context("t", &seen[0]);
	assert_int_equal((uint32_t)again.handle, (uint32_t)c.handle);
	assert_int_equal(kymo_external_pop(c, &value), KYMO_ERROR_NOT_FOUND);
	assert_int_equal(kymo_external_pop(again, &value), KYMO_ERROR_STATE);
	assert_int_equal(kymo_context_start(again), KYMO_OK);
	t_call(T_CALL, 0, NULL, NULL);
	assert_int_equal(seen[0].list[0].external, 0);
	assert_int_equal(kymo_context_destroy(again), KYMO_OK);
}

/* What was pushed before the buffer was made is on its records. */
static void test_buffer(void **state)
{
	kymo_buffer_desc_t d = {.size = sizeof(d), .bytes = 1 << 20, .deliver = deliver};
	kymo_selection_t s = {.size = sizeof(s), .domain = "t"};
	kymo_context_t c;
	kymo_buffer_t b;

	assert_int_equal(kymo_context_create(&c), KYMO_OK);
	assert_int_equal(kymo_external_push(c, 7), KYMO_OK);
	assert_int_equal(kymo_buffer_create(c, &d, &b), KYMO_OK);
	assert_int_equal(kymo_buffer_service(c, &s, b), KYMO_OK);
	assert_int_equal(kymo_context_start(c), KYMO_OK);
	t_call(T_CALL, 0, NULL, NULL);
	assert_int_equal(kymo_external_push(c, 8), KYMO_OK);
	t_call(T_CALL, 0, NULL, NULL);
	assert_int_equal(kymo_external_pop(c, NULL), KYMO_OK);
	assert_int_equal(kymo_external_pop(c, NULL), KYMO_OK);
	t_call(T_CALL, 0, NULL, NULL);
	assert_int_equal(kymo_drain(c, 5000000000u), KYMO_OK);
	assert_int_equal(delivered_count, 3);
	assert_int_equal(delivered[0], 7);
	assert_int_equal(delivered[1], 8);
	assert_int_equal(delivered[2], 0);
	assert_int_equal(kymo_context_destroy(c), KYMO_OK);
}

static sem_t ready, go;
static uint32_t index_of_other;

static void *other_thread(void *arg)
{
	index_of_other = kymo_thread_index();
	sem_post(&ready);
	sem_wait(&go);
	t_call(T_CALL, 0, NULL, NULL);
	return NULL;
}

static void test_other_thread(void **state)
{
	kymo_context_t c = t_context("t", &seen[0]);
	uint64_t value = 0;
	pthread_t t;

	sem_init(&ready, 0, 0);
	sem_init(&go, 0, 0);
	assert_int_equal(kymo_context_start(c), KYMO_OK);
	assert_int_equal(pthread_create(&t, NULL, other_thread, NULL), 0);
	sem_wait(&ready);
	assert_int_not_equal(index_of_other, kymo_thread_index());
	assert_int_equal(kymo_external_push_thread(c, index_of_other, 1), KYMO_OK);
	assert_int_equal(kymo_external_push_thread(c, index_of_other, 2), KYMO_OK);
	assert_int_equal(kymo_external_push_thread(c, index_of_other, 3), KYMO_OK);
	assert_int_equal(kymo_external_pop_thread(c, index_of_other, &value), KYMO_OK);
	assert_int_equal(value, 3);
	assert_int_equal(kymo_external_pop(c, &value), KYMO_ERROR_STATE); /* this thread has none */
	sem_post(&go);
	assert_int_equal(pthread_join(t, NULL), 0);
	assert_int_equal(seen[0].list[0].external, 2);
	assert_int_equal(kymo_external_push_thread(c, index_of_other, 4), KYMO_ERROR_NOT_FOUND);
	assert_int_equal(kymo_context_destroy(c), KYMO_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stack),
		cmocka_unit_test(test_generations),
		cmocka_unit_test(test_buffer),
		cmocka_unit_test(test_other_thread),
	};

	t_register();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
