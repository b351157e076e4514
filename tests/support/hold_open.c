/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loaded before a program: it holds its first opening of a raw file until the test lets it go on. The test makes two
 * pipes with names, HOLD_OPEN.held and HOLD_OPEN.go: whoever opens the one to read knows that the program is there, and
 * it goes on when the other is opened to write. Without these pipes nothing is held. HOLD_OPEN_AFTER: so many openings are
 * let pass before.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int open_function(const char *path, int flags, ...);

#define EXPORT __attribute__((visibility("default")))

EXPORT int open(const char *path, int flags, ...);
EXPORT int open64(const char *path, int flags, ...);

/* 0: there is no such pipe. */
static int pass(open_function *real, const char *end, int flags)
{
	const char *base = getenv("HOLD_OPEN");
	char name[4096];
	int fd;

	if (!base)
		return 0;
	snprintf(name, sizeof(name), "%s.%s", base, end);
	fd = real(name, flags | O_CLOEXEC);
	if (fd < 0)
		return 0;
	close(fd);
	return 1;
}

/* Those that are to be let pass have been. */
static int is_due(void)
{
	static _Atomic int seen;
	const char *after = getenv("HOLD_OPEN_AFTER");

	return atomic_fetch_add(&seen, 1) >= (after ? atoi(after) : 0);
}

static int held_open(const char *name, const char *path, int flags, mode_t mode)
{
	static _Atomic int held;
	open_function *real = (open_function *)dlsym(RTLD_NEXT, name);
	size_t n = strlen(path);

	if (n > 4 && strcmp(path + n - 4, ".kyr") == 0 && is_due() && !atomic_load(&held) &&
	    pass(real, "held", O_WRONLY)) {
		atomic_store(&held, 1);
		pass(real, "go", O_RDONLY);
	}
	return real(path, flags, mode);
}

#define OPEN(name)                                                                                 \
	int name(const char *path, int flags, ...)                                                 \
	{                                                                                          \
		va_list args;                                                                      \
		mode_t mode = 0;                                                                   \
                                                                                                   \
		va_start(args, flags);                                                             \
		if (flags & (O_CREAT | O_TMPFILE))                                                 \
			mode = va_arg(args, mode_t);                                               \
		va_end(args);                                                                      \
		return held_open(#name, path, flags, mode);                                        \
	}

OPEN(open)
OPEN(open64)
