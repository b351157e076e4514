/* SPDX-License-Identifier: Apache-2.0 */
/* What a violated invariant does; see assert.h. */
#include "base/assert.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

/*
 * Without stdio's buffers and locks: it may happen anywhere. raise() and not abort(), which nothing
 * that is loaded into programs calls; the trap is for where SIGABRT is blocked or handled.
 */
void kymo_assert_failed(const char *expression, const char *file, int line, const char *function)
{
	char text[512];
	int n = snprintf(text, sizeof(text), "kymo: %s:%d: %s: assertion failed: %s\n", file, line,
			 function, expression);

	n = n < (int)sizeof(text) ? n : (int)sizeof(text) - 1;
	if (n > 0 && write(STDERR_FILENO, text, (size_t)n) == n)
		raise(SIGABRT);
	__builtin_trap();
}
