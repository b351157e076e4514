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

/* In a child: what it writes to standard error goes to `error`. Returns how it ended. */
static int violate(char *error, size_t size)
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
		kymo_assert(!is_true());
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

static void violated(void **state)
{
	char error[1024];
	int status = violate(error, sizeof(error));

	if (ON) {
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
		assert_non_null(strstr(error, "assert_test.c:"));
		assert_non_null(strstr(error, "violate: assertion failed: !is_true()\n"));
	} else {
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
		assert_string_equal(error, "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(holds),
		cmocka_unit_test(violated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
