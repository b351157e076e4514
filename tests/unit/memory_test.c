/* SPDX-License-Identifier: Apache-2.0 */
/* Memory by address, and what is recorded of its beginning and end. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/activity/memory.h"
#include "tool_support.h"

static struct t_seen seen;
static struct cap_memories memories = CAP_MEMORIES;
static kymo_context_t tool;

static int setup(void **state)
{
	tool = t_context("allocation", &seen);
	return kymo_context_start(tool) == KYMO_OK ? 0 : -1;
}

static int teardown(void **state)
{
	free(memories.list);
	cap_memories_drop(&memories);
	return kymo_context_destroy(tool) == KYMO_OK ? 0 : -1;
}

static struct cap_frame at(uint64_t start, uint64_t end)
{
	return (struct cap_frame){.start = start, .end = end};
}

static void add(uint64_t address, uint64_t bytes, uint64_t span, uint64_t when)
{
	const struct cap_frame f = at(when, when);

	cap_memory_allocated(
		&memories, &f,
		(struct cap_memory){
			.address = address, .bytes = bytes, .span = span, .kind = MEMORY_DEVICE});
}

static uint64_t bytes_at(uint64_t address)
{
	return cap_memory_of(&memories, address).bytes;
}

static void expect_records(uint32_t allocated, uint32_t freed)
{
	uint32_t count[2] = {0};

	for (uint32_t i = 0; i < seen.count; i++)
		count[seen.list[i].op == ALLOCATION_OP_FREE]++;
	assert_int_equal(count[0], allocated);
	assert_int_equal(count[1], freed);
}

static void test_edges(void **state)
{
	assert_int_equal(cap_memory_of(&memories, 5).kind, MEMORY_HOST_PAGEABLE);
	add(3000, 10, 0, 1);
	add(1000, 100, 0, 1);
	add(2000, 1 << 20, 1, 1); /* a handle */
	assert_int_equal(bytes_at(999), 0);
	assert_int_equal(bytes_at(1000), 100);
	assert_int_equal(bytes_at(1099), 100);
	assert_int_equal(bytes_at(1100), 0);
	assert_int_equal(bytes_at(2000), 1 << 20);
	assert_int_equal(bytes_at(2001), 0);
	assert_int_equal(bytes_at(3009), 10);
	assert_int_equal(cap_memory_of(&memories, 3009).kind, MEMORY_DEVICE);
	assert_int_not_equal(cap_memory_of(&memories, 3000).id, cap_memory_of(&memories, 1000).id);
	add(0, 100, 0, 1); /* it failed */
	assert_int_equal(bytes_at(0), 0);
	expect_records(3, 0);
}

static void test_many(void **state)
{
	const struct cap_frame later = at(2, 3);

	for (uint64_t i = 0; i < 1000; i++)
		add((i * 7919 % 1000 + 1) << 12, 1 << 12, 0, 1);
	for (uint64_t i = 1; i <= 1000; i += 2)
		cap_memory_freed(&memories, &later, i << 12);
	for (uint64_t i = 1; i <= 1000; i++)
		assert_int_equal(bytes_at((i << 12) + 100), i % 2 ? 0 : 1 << 12);
	expect_records(1000, 500);
}

/* An allocation whose end was not seen, and a free that is told after the address was given out again. */
static void test_order(void **state)
{
	const struct cap_frame early = at(5, 20), late = at(30, 31);
	uint64_t first;

	add(1000, 10, 0, 1);
	first = cap_memory_of(&memories, 1000).id;
	add(1000, 20, 0, 10);
	assert_int_not_equal(cap_memory_of(&memories, 1000).id, first);
	expect_records(2, 1);
	cap_memory_freed(&memories, &early, 1000); /* of the first one */
	assert_int_equal(bytes_at(1000), 20);
	expect_records(2, 1);
	cap_memory_freed(&memories, &late, 1001); /* none begins there */
	assert_int_equal(bytes_at(1000), 20);
	cap_memory_freed(&memories, &late, 1000);
	cap_memory_freed(&memories, &late, 1000);
	assert_int_equal(bytes_at(1000), 0);
	expect_records(2, 2);
}

static void test_put_back(void **state)
{
	struct cap_memory m, same;

	add(1000, 10, 0, 1);
	assert_false(cap_memory_take(&memories, 1001, &m));
	assert_true(cap_memory_take(&memories, 1000, &m));
	assert_int_equal(bytes_at(1000), 0);
	cap_memory_put_back(&memories, &m);
	same = cap_memory_of(&memories, 1005);
	assert_int_equal(same.id, m.id);
	assert_int_equal(same.bytes, 10);
	expect_records(1, 0);
}

/* Locked by the parent: the child has what was there, and can go on. */
static void test_fork(void **state)
{
	int status;
	pid_t pid;

#ifdef __SANITIZE_THREAD__ /* which believes that a lock stays held that a child makes anew */
	skip();
#endif
	add(1000, 10, 0, 1);
	cap_memories_lock(&memories);
	pid = fork();
	if (pid == 0) {
		struct cap_memory m;

		alarm(60);
		cap_memories_fork_child(&memories);
		_exit(bytes_at(1000) == 10 && cap_memory_take(&memories, 1000, &m) ? 0 : 1);
	}
	cap_memories_unlock(&memories);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(bytes_at(1000), 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_edges, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many, setup, teardown),
		cmocka_unit_test_setup_teardown(test_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_put_back, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fork, setup, teardown),
	};

	t_register();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
