/* SPDX-License-Identifier: Apache-2.0 */
/* Invariants: base/assert.h, built with KYMO_ASSERTS and without. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/assert.h"
#include "base/locks.h"
#include "wire/wire.h"

#ifdef KYMO_ASSERTS
#define ON true
#else
#define ON false
#endif

static unsigned evaluated;

static __attribute__((unused)) bool is_true(void)
{
	return ++evaluated > 0;
}

static void holds(void **state)
{
	kymo_assert(is_true());
	assert_int_equal(evaluated, ON ? 1 : 0);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void not_true(void)
{
	kymo_assert(!is_true());
}

static void not_held(void)
{
	kymo_assert_held(&lock);
}

/* In a child: what it writes to standard error goes to `error`. Returns how it ended. */
static int violate(void (*claim)(void), char *error, size_t size)
{
	const struct rlimit no_core = {0, 0};
	ssize_t n = 0, got;
	int ends[2], status;
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		dup2(ends[1], STDERR_FILENO);
		setrlimit(RLIMIT_CORE, &no_core);
		signal(SIGABRT, SIG_DFL); /* cmocka's would report it */
		claim();
		_exit(3);
	}
	close(ends[1]);
	while ((got = read(ends[0], error + n, size - 1 - (size_t)n)) > 0)
		n += got;
	error[n] = '\0';
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void expect_violation(void (*claim)(void), const char *file, const char *wanted)
{
	char error[1024];
	int status = violate(claim, error, sizeof(error));

	if (ON) {
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
		assert_non_null(strstr(error, file));
		assert_non_null(strstr(error, wanted));
	} else {
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
		assert_string_equal(error, "");
	}
}

static void violated(void **state)
{
	expect_violation(not_true, "assert_test.c:", "not_true: assertion failed: !is_true()\n");
}

static void locks(void **state)
{
	expect_violation(not_held,
			 "assert_test.c:", "not_held: assertion failed: pthread_mutex_trylock(");
	pthread_mutex_lock(&lock);
	kymo_assert_held(&lock);
	pthread_mutex_unlock(&lock);
	assert_int_equal(pthread_mutex_trylock(&lock), 0); /* as it was */
	pthread_mutex_unlock(&lock);
}

/* A field that is written after a later one. */
static void not_ascending(void)
{
	static uint8_t memory[WIRE_RECORD_MAX + WIRE_SLACK];
	struct wire_ring ring = {.cur = memory};
	struct wire_event event = {0};
	struct wire_enc e;

	wire_begin(&e, &ring, &event, 40);
	wire_unsigned(&e, 0, 1);
	wire_unsigned(&e, 35, 1);
	wire_unsigned(&e, 34, 1);
}

static void twice(void)
{
	static uint8_t memory[WIRE_RECORD_MAX + WIRE_SLACK];
	struct wire_ring ring = {.cur = memory};
	struct wire_event event = {0};
	struct wire_enc e;

	wire_begin(&e, &ring, &event, 4);
	wire_unsigned(&e, 1, 7);
	wire_unsigned(&e, 1, 7);
}

static void order_of_fields(void **state)
{
	expect_violation(not_ascending, "wire.h:", "wire_class: assertion failed: wire_ascends(");
	expect_violation(twice, "wire.h:", "wire_class: assertion failed: wire_ascends(");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(holds),
		cmocka_unit_test(violated),
		cmocka_unit_test(locks),
		cmocka_unit_test(order_of_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
