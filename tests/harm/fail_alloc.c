/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded: allocation number FAIL_AT of the program named FAIL_PROGRAM fails, all others do not. With
 * FAIL_FROM_MAIN those are counted that come after the initialisers of its libraries.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t size);

static int in_main;

int __libc_start_main(int (*program)(int, char **, char **), int argc, char **argv,
		      void (*init)(void), void (*fini)(void), void (*rtld_fini)(void),
		      void *stack_end)
{
	__typeof__(__libc_start_main) *next =
		(__typeof__(next))dlsym(RTLD_NEXT, "__libc_start_main");

	in_main = 1;
	return next(program, argc, argv, init, fini, rtld_fini, stack_end);
}

static int fails(void)
{
	static _Atomic long number;
	static long at = -1;
	const char *program = getenv("FAIL_PROGRAM"), *text = getenv("FAIL_AT");

	if (at < 0)
		at = text && program && strcmp(program, program_invocation_short_name) == 0
			     ? atol(text)
			     : 0;
	if (!at || (!in_main && getenv("FAIL_FROM_MAIN")) || ++number != at)
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
