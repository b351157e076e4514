/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of MPI: order, handles that stand for several transfers, persistent ones, that none
 * of it becomes dearer the more are under way, and that threads may share them: the first one needs
 * no lock until another comes, whatever it does at that moment, also when the process forks then.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "capture/mpi/backend.h"

enum { FEW = 1000, MANY = 100000, ROUNDS = 5, TRIES = 50, LIMIT = 120 /* s */ };

static struct mpi_module module = {.request_null = UINT64_MAX};

/* Threads are told from each other by what core knows of them; nobody looks into it here. */
static void begin_thread(void)
{
	static _Thread_local struct cap_thread self;

	cap_thread_current = &self;
}

static int prepare(void **state)
{
	mpi_module = &module;
	begin_thread();
	return 0;
}

static void add(uint64_t handle, uint64_t correlation, bool persistent)
{
	struct mpi_transfer t = {.item = {.correlation = correlation,
					  .own = persistent ? MPI_PERSISTENT : MPI_ACTIVE}};

	assert_true(mpi_requests_add(handle, &t));
}

static uint64_t complete(uint64_t handle, uint64_t started)
{
	struct mpi_transfer persistent, *t = mpi_requests_complete(handle, started, &persistent);
	uint64_t correlation = t ? t->item.correlation : 0;

	if (t && t != &persistent)
		mpi_requests_release(handle, t);
	return correlation;
}

static void oldest_first(void **state)
{
	for (uint64_t i = 1; i <= FEW; i++)
		add(7, i, false);
	for (uint64_t i = 1; i <= FEW; i++)
		assert_int_equal(complete(7, 0), i);
	assert_int_equal(complete(7, 0), 0);
}

static void many_handles(void **state)
{
	for (uint64_t i = 1; i <= MANY; i++)
		add(i * 64, i, false);
	for (uint64_t i = MANY; i >= 1; i--)
		assert_int_equal(complete(i * 64, 0), i);
	assert_int_equal(complete(64, 0), 0);
}

static void only_of_one_call(void **state)
{
	add(5, 1, false);
	add(5, 1, false);
	add(5, 2, false);
	assert_int_equal(complete(5, 2), 0);
	assert_int_equal(complete(5, 1), 1);
	assert_int_equal(complete(5, 1), 1);
	assert_int_equal(complete(5, 1), 0);
	assert_int_equal(complete(5, 0), 2);
}

static void persistent_stays(void **state)
{
	struct mpi_transfer *t;

	add(9, 1, true);
	assert_int_equal(complete(9, 0), 0);
	for (uint64_t i = 10; i < 13; i++) {
		mpi_requests_start(9, i, i);
		assert_int_equal(complete(9, 0), i);
		assert_int_equal(complete(9, 0), 0);
	}
	t = mpi_requests_drop(9);
	assert_non_null(t);
	assert_false(t->item.own & MPI_ACTIVE);
	mpi_requests_release(9, t);
	assert_null(mpi_requests_drop(9));
}

static void handle_used_again(void **state)
{
	add(11, 1, false);
	add(11, 2, false);
	add(12, 3, false);
	assert_int_equal(complete(11, 0), 1);
	assert_int_equal(complete(11, 0), 2);
	add(11, 4, false);
	add(11, 5, false);
	assert_int_equal(complete(12, 0), 3);
	assert_int_equal(complete(11, 0), 4);
	assert_int_equal(complete(11, 0), 5);
}

/* ---- what it costs ------------------------------------------------------------------------------
 */

static double cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Of adding and completing one while `n` are under way, one handle for all or one for each. */
static double cost(uint64_t n, uint64_t step)
{
	double best = 1e9;

	for (int round = 0; round < ROUNDS; round++) {
		double begin = cpu(), each;

		for (uint64_t i = 0; i < n; i++)
			add(1 + i * step, i + 1, false);
		for (uint64_t i = 0; i < n; i++)
			if (!complete(1 + i * step, 0))
				fail();
		each = (cpu() - begin) / (double)n;
		best = each < best ? each : best;
	}
	return best;
}

/* A hundred times as many would cost a hundred times as much each if they were walked through. */
static void any_number(void **state)
{
	for (uint64_t step = 0; step <= 64; step += 64) {
		double few = cost(FEW, step), many = cost(MANY, step);

		if (many > 20 * few)
			fail_msg("%d under way: %.0f ns each, %d: %.0f ns", FEW, few * 1e9, MANY,
				 many * 1e9);
	}
}

/* ---- threads ------------------------------------------------------------------------------------
 */

/* Starts some and completes them in the order of their start; false: one is not what was started. */
static bool turn(uint64_t handle, uint64_t step, uint64_t from)
{
	for (uint64_t i = 0; i < 20; i++)
		add(handle + i * step, from + i, false);
	for (uint64_t i = 0; i < 20; i++)
		if (complete(handle + i * step, 0) != from + i)
			return false;
	return true;
}

static atomic_bool begun, over;

/* Own handles: one for all, and one for each. */
static void *work(void *base)
{
	uint64_t handle = (uint64_t)(uintptr_t)base, n = 0;
	bool right = true;

	begin_thread();
	while (right && (n < 1000 || !atomic_load(&over))) {
		right = turn(handle, 0, ++n * 100) && turn(handle + 64, 64, ++n * 100);
		if (n > 100)
			atomic_store(&begun, true);
	}
	atomic_store(&begun, true);
	return right ? base : NULL;
}

/* In a child, so that there has been but one thread before. Returns what is wrong. */
static const char *second_comes(void)
{
	pthread_t first;
	void *right;

	if (pthread_create(&first, NULL, work, (void *)0x100000) != 0)
		return "no thread";
	while (!atomic_load(&begun))
		sched_yield();
	for (uint64_t n = 1; n <= 200; n++)
		if (!turn(0x200000, 0, n * 100) || !turn(0x200040, 64, n * 100))
			return "the second thread did not get what it started";
	atomic_store(&over, true);
	pthread_join(first, &right);
	return right ? NULL : "the first thread did not get what it started";
}

/* What one thread starts, as many as there are, another completes. */
static void *finish(void *handles)
{
	begin_thread();
	for (uint64_t i = 1; i <= FEW; i++)
		if (complete(7, 0) != i || complete(i * 64, 0) != i)
			return NULL;
	return handles;
}

static const char *another_completes(void)
{
	pthread_t other;
	void *right;

	for (uint64_t i = 1; i <= FEW; i++) {
		add(7, i, false);
		add(i * 64, i, false);
	}
	if (pthread_create(&other, NULL, finish, (void *)7) != 0)
		return "no thread";
	pthread_join(other, &right);
	return right ? NULL : "another thread did not get what was started";
}

/* A child of a process whose first thread is at work: no matter what it was doing. */
static const char *child(void)
{
	mpi_requests_fork_child();
	return turn(0x300000, 0, 1) && turn(0x300040, 64, 1)
		       ? NULL
		       : "the child did not get what it started";
}

/* Runs it in a child; NULL: all is right there. */
static void apart(const char *(*what)(void))
{
	pid_t pid = fork();
	const char *wrong;
	int status;

	if (pid == 0) {
		alarm(LIMIT);
		wrong = what();
		if (wrong && write(2, wrong, strlen(wrong)) < 0)
			_exit(2);
		_exit(wrong != NULL);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void two_threads(void **state)
{
	for (int i = 0; i < TRIES; i++)
		apart(second_comes);
	apart(another_completes);
}

static const char *forks(void)
{
	pthread_t first;

	if (pthread_create(&first, NULL, work, (void *)0x100000) != 0)
		return "no thread";
	while (!atomic_load(&begun))
		sched_yield();
	for (int i = 0; i < TRIES; i++)
		apart(child);
	atomic_store(&over, true);
	pthread_join(first, NULL);
	return NULL;
}

static void fork_at_work(void **state)
{
	apart(forks);
}

static struct mpi_transfer *page; /* writing to it takes until `over` */

static void on_fault(int signal)
{
	atomic_store(&begun, true);
	while (!atomic_load(&over))
		sched_yield();
	mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

static void *stay_at_work(void *unused)
{
	begin_thread();
	add(5, 1, false);
	add(6, 1, true);
	mpi_requests_start(6, 1, 1);
	mpi_requests_complete(6, 0, page);
	return NULL;
}

static const char *child_of_working(void)
{
	mpi_requests_fork_child();
	return complete(5, 0) || complete(6, 0) || !turn(5, 0, 1)
		       ? "the child has what was being changed"
		       : NULL;
}

static const char *child_of_idle(void)
{
	mpi_requests_fork_child();
	return complete(5, 0) == 1 ? NULL : "the child has not what its parent had";
}

static const char *forks_amid(void)
{
	pthread_t first;

	page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	signal(SIGSEGV, on_fault);
	if (pthread_create(&first, NULL, stay_at_work, NULL) != 0)
		return "no thread";
	while (!atomic_load(&begun))
		sched_yield();
	apart(child_of_working);
	atomic_store(&over, true);
	pthread_join(first, NULL);
	apart(child_of_idle);
	return NULL;
}

/* The first thread is in the midst of a change: the child has nothing rather than something torn. */
static void fork_amid(void **state)
{
	apart(forks_amid);
}

static void *come(void *unused)
{
	begin_thread();
	add(1, 1, false);
	assert_int_equal(complete(1, 0), 1);
	return NULL;
}

/* From here on there are locks. */
static void share(void **state)
{
	pthread_t other;

	add(2, 2, false);
	assert_int_equal(pthread_create(&other, NULL, come, NULL), 0);
	pthread_join(other, NULL);
	assert_int_equal(complete(2, 0), 2);
}

#define WHAT_HOLDS                                                                                 \
	cmocka_unit_test(oldest_first), cmocka_unit_test(many_handles),                            \
		cmocka_unit_test(only_of_one_call), cmocka_unit_test(persistent_stays),            \
		cmocka_unit_test(handle_used_again), cmocka_unit_test(any_number)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_threads), cmocka_unit_test(fork_at_work),
		cmocka_unit_test(fork_amid),   WHAT_HOLDS,
		cmocka_unit_test(share),       WHAT_HOLDS,
	};

	return cmocka_run_group_tests(tests, prepare, NULL);
}
