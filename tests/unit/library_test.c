/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries loaded by name: what is not there, is damaged or lacks a function is told apart, with the package to install. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/library.h"

static struct maths {
	double (*cos)(double);
	void (*none)(void);
} maths;

static const struct library_function known[] = {LIBRARY_FUNCTION(struct maths, cos, "cos"),
						LIBRARY_OPTIONAL(struct maths, none, "kymo_none")},
				     unknown[] = {
					     LIBRARY_FUNCTION(struct maths, cos, "cos"),
					     LIBRARY_FUNCTION(struct maths, none, "kymo_none")};

static void expect(const char *first, const char *second, const char *package,
		   const struct library_function *functions, const char *wanted)
{
	const char *const names[] = {first, second, NULL};
	char why[LIBRARY_WHY] = "";

	memset(&maths, 0, sizeof(maths));
	assert_int_equal(library_find(names, package, functions, 2, &maths, why), wanted == NULL);
	assert_string_equal(why, wanted ? wanted : "");
}

static void found(void **state)
{
	expect("libm.so.6", NULL, "libc6", known, NULL);
	assert_true(maths.cos(0) == 1);
	assert_null(maths.none);
	expect("libkymo-none.so.1", "libm.so.6", NULL, known, NULL);
	assert_true(maths.cos(0) == 1);
}

static void not_there(void **state)
{
	expect("libkymo-none.so.1", NULL, NULL, known, "libkymo-none.so.1 was not found");
	expect("libkymo-none.so.1", "libkymo-none.so.2", "kymo-none1", known,
	       "libkymo-none.so.1 was not found (Debian: kymo-none1)");
}

static void too_old(void **state)
{
	expect("libm.so.6", NULL, "libc6", unknown,
	       "libm.so.6 is too old: it has no function kymo_none (Debian: libc6)");
}

static void damaged(void **state)
{
	char path[] = "/tmp/kymo-library-XXXXXX", wanted[100];
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "no library", 10), 10);
	close(fd);
	snprintf(wanted, sizeof(wanted), "%s: file too short (Debian: some)", path);
	expect(path, NULL, "some", known, wanted);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(found),
		cmocka_unit_test(not_there),
		cmocka_unit_test(too_old),
		cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests_name("library", tests, NULL, NULL);
}
