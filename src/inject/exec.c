/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands before the functions that start programs: of one that cannot be recorded (base/recordable.h) nobody would hear, so
 * the trace is told. May run in a child of vfork(), which has its parent's memory: takes no lock and no memory, and changes
 * none. Not before execl() and its sisters, nor what the C library itself starts, which is a shell.
 */
#include <dlfcn.h>
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/recordable.h"
#include "base/unseen.h"
#include "base/variables.h"

enum { PATH_SIZE = 1024 };

#define EXPORT __attribute__((visibility("default")))

static void look(const char *path)
{
	const char *trace = variable("KYMO_TRACE");
	char why[128];
	int saved = errno;

	if (trace && *trace && path && access(path, X_OK) == 0 &&
	    !recordable(path, why, sizeof(why)))
		unseen_program(trace, path, why);
	errno = saved;
}

/* As execvp() finds it. */
static void look_in_path(const char *file)
{
	const char *folders = getenv("PATH");
	int saved = errno;

	if (!file || strchr(file, '/')) {
		look(file);
		return;
	}
	for (const char *p = folders; p && *p;) {
		const int n = (int)strcspn(p, ":");
		char path[PATH_SIZE];

		snprintf(path, sizeof(path), "%.*s/%s", n, p, file);
		if (access(path, X_OK) == 0) {
			look(path);
			break;
		}
		p += n + (p[n] != '\0');
	}
	errno = saved;
}

/* The next one of the name is looked up while that is allowed; before, by who comes early. */
#define STAND_BEFORE(what, parameters, arguments, before, missing)                                 \
	static int(*next_##what) parameters;                                                       \
                                                                                                   \
	__attribute__((constructor(102))) static void find_##what(void)                            \
	{                                                                                          \
		void *symbol = dlsym(RTLD_NEXT, #what);                                            \
                                                                                                   \
		memcpy(&next_##what, &symbol, sizeof(symbol));                                     \
	}                                                                                          \
                                                                                                   \
	EXPORT int what parameters                                                                 \
	{                                                                                          \
		if (!next_##what)                                                                  \
			find_##what();                                                             \
		if (!next_##what)                                                                  \
			return missing;                                                            \
		before;                                                                            \
		return next_##what arguments;                                                      \
	}

static int no_function(void)
{
	errno = ENOSYS;
	return -1;
}

STAND_BEFORE(execve, (const char *path, char *const argv[], char *const envp[]), (path, argv, envp),
	     look(path), no_function())
STAND_BEFORE(execv, (const char *path, char *const argv[]), (path, argv), look(path), no_function())
STAND_BEFORE(execvp, (const char *file, char *const argv[]), (file, argv), look_in_path(file),
	     no_function())
STAND_BEFORE(execvpe, (const char *file, char *const argv[], char *const envp[]),
	     (file, argv, envp), look_in_path(file), no_function())
STAND_BEFORE(posix_spawn,
	     (pid_t *restrict pid, const char *restrict path,
	      const posix_spawn_file_actions_t *restrict actions,
	      const posix_spawnattr_t *restrict attributes, char *const argv[restrict],
	      char *const envp[restrict]),
	     (pid, path, actions, attributes, argv, envp), look(path), ENOSYS)
STAND_BEFORE(posix_spawnp,
	     (pid_t *restrict pid, const char *restrict file,
	      const posix_spawn_file_actions_t *restrict actions,
	      const posix_spawnattr_t *restrict attributes, char *const argv[restrict],
	      char *const envp[restrict]),
	     (pid, file, actions, attributes, argv, envp), look_in_path(file), ENOSYS)
