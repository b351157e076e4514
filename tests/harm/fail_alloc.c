/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded: allocation number FAIL_AT of the program named FAIL_PROGRAM fails, all others do not. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t size);

static int fails(void)
{
	static _Atomic long number;
	static long at = -1;
	const char *program = getenv("FAIL_PROGRAM"), *text = getenv("FAIL_AT");

	if (at < 0)
		at = text && program && strcmp(program, program_invocation_short_name) == 0
			     ? atol(text)
			     : 0;
	if (!at || ++number != at)
		return 0;
	errno = ENOMEM;
	return 1;
}

void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *p, size_t size)
{
	return fails() ? NULL : __libc_realloc(p, size);
}
