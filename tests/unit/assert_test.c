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

#ifdef KYMO_ASSERTS
#define ON true
#else
#define ON false
#endif

static unsigned evaluated;

static bool is_true(void)
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

static void expect_violation(void (*claim)(void), const char *wanted)
{
	char error[1024];
	int status = violate(claim, error, sizeof(error));

	if (ON) {
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
		assert_non_null(strstr(error, "assert_test.c:"));
		assert_non_null(strstr(error, wanted));
	} else {
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
		assert_string_equal(error, "");
	}
}

static void violated(void **state)
{
	expect_violation(not_true, "not_true: assertion failed: !is_true()\n");
}

static void locks(void **state)
{
	expect_violation(not_held, "not_held: assertion failed: pthread_mutex_trylock(");
	pthread_mutex_lock(&lock);
	kymo_assert_held(&lock);
	pthread_mutex_unlock(&lock);
	assert_int_equal(pthread_mutex_trylock(&lock), 0); /* as it was */
	pthread_mutex_unlock(&lock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(holds),
		cmocka_unit_test(violated),
		cmocka_unit_test(locks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
