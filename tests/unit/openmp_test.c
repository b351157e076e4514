/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of OpenMP's devices: what is freed has the size and id with which it was obtained. */
#include "tool_support.h"

#include <semaphore.h>
#include <sys/wait.h>

#include "base/map.h"
#include "capture/openmp/openmp.h"
#include "record/fields.h"

enum { MANY = 6000, BYTES = 64 };

static uint64_t freed, freed_bytes;
static struct {
	uint64_t id, bytes;
} last[2]; /* by op */

static uint64_t value(const kymo_callback_record_t *r, unsigned field)
{
	kymo_value_t v = {.size = sizeof(v)};

	assert_int_equal(kymo_callback_value(r, field, &v), KYMO_OK);
	return v.u;
}

static void count(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
	assert_in_range(r->op, ALLOCATION_OP_ALLOCATE, ALLOCATION_OP_FREE);
	last[r->op].id = value(r, ALLOCATION_ID);
	last[r->op].bytes = value(r, ALLOCATION_BYTES);
	if (r->op != ALLOCATION_OP_FREE)
		return;
	freed++;
	freed_bytes += last[r->op].bytes;
}

static kymo_context_t listen(void)
{
	kymo_selection_t s = {.size = sizeof(s), .domain = "allocation"};
	kymo_context_t c;

	assert_int_equal(kymo_context_create(&c), KYMO_OK);
	assert_int_equal(kymo_callback_service(c, &s, count, NULL), KYMO_OK);
	assert_int_equal(kymo_context_start(c), KYMO_OK);
	return c;
}

static const void *address(uint64_t i)
{
	return (const void *)(uintptr_t)((i + 1) * 4096);
}

/* More than a small table holds, on two devices that use the same addresses. */
static void test_many(void **state)
{
	kymo_context_t c = listen();

	for (uint64_t i = 0; i < MANY; i++)
		for (int device = 0; device < 2; device++)
			omp_device_memory(true, device, address(i), BYTES + (uint64_t)device, 0,
					  tick_now());
	for (uint64_t i = 0; i < MANY; i++)
		for (int device = 0; device < 2; device++)
			omp_device_memory(false, device, address(i), 0, 0, tick_now());
	omp_device_memory(false, 0, address(0), 0, 0, tick_now()); /* nobody saw it begin */
	assert_int_equal(freed, 2 * MANY + 1);
	assert_int_equal(freed_bytes, MANY * (2 * BYTES + 1));
	assert_int_equal(kymo_context_destroy(c), KYMO_OK);
}

static uint64_t allocate(uint64_t bytes)
{
	omp_device_memory(true, 0, address(MANY), bytes, 0, tick_now());
	assert_int_equal(last[ALLOCATION_OP_ALLOCATE].bytes, bytes);
	return last[ALLOCATION_OP_ALLOCATE].id;
}

/* By a call that began at `begin`. */
static void release(uint64_t begin, uint64_t id, uint64_t bytes)
{
	omp_device_memory(false, 0, address(MANY), 0, 0, begin);
	assert_int_equal(last[ALLOCATION_OP_FREE].id, id);
	assert_int_equal(last[ALLOCATION_OP_FREE].bytes, bytes);
}

/* Calls that free are told late: other threads have the address, and have freed it. */
static void test_reused(void **state)
{
	kymo_context_t c = listen();
	uint64_t id[3], begin[3];

	for (unsigned i = 0; i < 3; i++) {
		id[i] = allocate(100 + i);
		begin[i] = tick_now();
	}
	assert_int_not_equal(id[0], id[1]);
	release(begin[1], id[1], 101);
	release(begin[0], id[0], 100);
	release(begin[0], 0, 0); /* there is a younger one only */
	release(begin[2], id[2], 102);
	release(tick_now(), 0, 0);
	assert_int_equal(kymo_context_destroy(c), KYMO_OK);
}

/* Memory that ends unseen, again and again: the next call frees what is there now. */
static void test_unseen(void **state)
{
	kymo_context_t c = listen();
	uint64_t id = 0;

	for (unsigned i = 0; i < 100; i++)
		id = allocate(i);
	release(tick_now(), id, 99);
	for (unsigned i = 0; i < 20; i++) /* few are kept */
		omp_device_memory(false, 0, address(MANY), 0, 0, tick_now());
	assert_int_equal(last[ALLOCATION_OP_FREE].id, 0);
	id = allocate(7);
	release(tick_now(), id, 7);
	assert_int_equal(kymo_context_destroy(c), KYMO_OK);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* whose calloc() it must be */

/* A table that grows does so under its lock: the thread that is to be held stays there. */
void *__libc_calloc(size_t n, size_t size);
static __thread bool held;
static sem_t inside, go_on;

void *calloc(size_t n, size_t size)
{
	if (held && size == sizeof(struct map_entry)) {
		held = false;
		sem_post(&inside);
		sem_wait(&go_on);
	}
	return __libc_calloc(n, size);
}

static void *grow(void *unused)
{
	held = true;
	for (uint64_t i = 0; held; i++)
		omp_device_memory(true, 2, address(i), 1, 0, tick_now());
	return NULL;
}

/* Another thread held the lock at the fork; in the child nobody will ever give it back. */
static void test_fork_while_it_grows(void **state)
{
	kymo_context_t c = listen();
	pthread_t t;
	int status;
	pid_t pid;

	sem_init(&inside, 0, 0);
	sem_init(&go_on, 0, 0);
	assert_int_equal(pthread_create(&t, NULL, grow, NULL), 0);
	sem_wait(&inside);
	pid = fork();
	if (pid == 0) {
		alarm(30);
		omp_device_fork_child();
		omp_device_memory(true, 2, address(0), 1, 0, tick_now());
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	sem_post(&go_on);
	pthread_join(t, NULL);
	assert_int_equal(status, 0);
	assert_int_equal(kymo_context_destroy(c), KYMO_OK);
}

#else

static void test_fork_while_it_grows(void **state)
{
	skip();
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many), cmocka_unit_test(test_reused),
		cmocka_unit_test(test_unseen), cmocka_unit_test(test_fork_while_it_grows)};

	t_register();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
