/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands before the functions that start programs: of one that cannot be recorded (base/recordable.h) nobody would hear, so
 * the trace is told. Where another dynamic linker starts it, it gets nothing preloaded: such say that they cannot load it, or, as
 * musl's, give up. (Static programs hand the environment on to others, which can be recorded: valgrind.) May run in a child of vfork(), which has its parent's memory: takes no lock and no memory but the stack's, and
 * changes none. Not before what the C library itself starts, which is a shell.
 */
#include <dlfcn.h>
#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/recordable.h"
#include "base/unseen.h"
#include "base/variables.h"

enum { PATH_SIZE = 1024 };

#define EXPORT __attribute__((visibility("default")))

#define PRELOAD "LD_PRELOAD="

/* A program that cannot be recorded is told of. True: nor can it load what is preloaded. */
static bool is_other(const char *path)
{
	const char *trace = variable("KYMO_TRACE");
	char why[128];
	int saved = errno;
	bool other = false;

	if (path && access(path, X_OK) == 0 && !recordable(path, why, sizeof(why), &other) &&
	    trace && *trace)
		unseen_program(trace, path, why);
	errno = saved;
	return other;
}

/* As execvp() finds it. */
static bool is_other_in_path(const char *file)
{
	const char *folders = getenv("PATH");
	int saved = errno;
	bool is = false;

	if (!file || strchr(file, '/'))
		return is_other(file);
	for (const char *p = folders; p && *p;) {
		const int n = (int)strcspn(p, ":");
		char path[PATH_SIZE];

		snprintf(path, sizeof(path), "%.*s/%s", n, p, file);
		if (access(path, X_OK) == 0) {
			is = is_other(path);
			break;
		}
		p += n + (p[n] != '\0');
	}
	errno = saved;
	return is;
}

/* ---- environments ---- */

struct sizes {
	size_t count, preload;
};

static struct sizes sizes_of(char *const envp[])
{
	struct sizes s = {0, sizeof(PRELOAD)};

	for (; envp && envp[s.count]; s.count++)
		if (strncmp(envp[s.count], PRELOAD, strlen(PRELOAD)) == 0)
			s.preload = strlen(envp[s.count]) + 1;
	return s;
}

/* What else is preloaded stays. */
static void leave_others(const char *preload, char *out)
{
	strcpy(out, PRELOAD);
	out += strlen(PRELOAD);
	for (const char *p = preload + strlen(PRELOAD); *p; p += strspn(p, " :")) {
		const size_t n = strcspn(p, " :");
		const char *slash = memrchr(p, '/', n), *name = slash ? slash + 1 : p;

		if (strncmp(name, "libkymo", strlen("libkymo")) != 0) {
			if (out[-1] != '=')
				*out++ = ':';
			memcpy(out, p, n);
			out += n;
		}
		p += n;
	}
	*out = '\0';
}

/* `out` has room for as many and an end, `preload` for that entry. */
static char *const *without_kymo(char *const envp[], char **out, char *preload)
{
	size_t n = 0;

	for (; envp && envp[n]; n++) {
		out[n] = envp[n];
		if (strncmp(envp[n], PRELOAD, strlen(PRELOAD)) == 0) {
			leave_others(envp[n], preload);
			out[n] = preload;
		}
	}
	out[n] = NULL;
	return envp ? out : NULL;
}

/* ---- the functions ---- */

/*
 * The next one of the name is looked up while that is allowed; before, by who comes early. `environment`: of the program,
 * called `env` in `call`; without Kymo where `without` is true.
 */
#define STAND_BEFORE(what, parameters, without, environment, call, missing)                        \
	static int(*next_##what) parameters;                                                       \
                                                                                                   \
	__attribute__((constructor(102))) static void find_##what(void)                            \
	{                                                                                          \
		void *symbol = dlsym(RTLD_NEXT, #what);                                            \
                                                                                                   \
		memcpy(&next_##what, &symbol, sizeof(symbol));                                     \
	}                                                                                          \
                                                                                                   \
	static __attribute__((noinline)) int what##_without parameters                             \
	{                                                                                          \
		const struct sizes sizes = sizes_of(environment);                                  \
		char *room[sizes.count + 1], preload[sizes.preload];                               \
		char *const *env = without_kymo(environment, room, preload);                       \
                                                                                                   \
		return call;                                                                       \
	}                                                                                          \
                                                                                                   \
	static int look_##what parameters                                                          \
	{                                                                                          \
		char *const *env = environment;                                                    \
                                                                                                   \
		if (!next_##what)                                                                  \
			find_##what();                                                             \
		if (!next_##what)                                                                  \
			return missing;                                                            \
		return without ? what##_without ARGUMENTS_##what : call;                           \
	}                                                                                          \
                                                                                                   \
	EXPORT int what parameters                                                                 \
	{                                                                                          \
		return look_##what ARGUMENTS_##what;                                               \
	}

static int no_function(void)
{
	errno = ENOSYS;
	return -1;
}

#define ARGUMENTS_execve       (path, argv, envp)
#define ARGUMENTS_execvpe      (file, argv, envp)
#define ARGUMENTS_posix_spawn  (pid, path, actions, attributes, argv, envp)
#define ARGUMENTS_posix_spawnp (pid, file, actions, attributes, argv, envp)

STAND_BEFORE(execve, (const char *path, char *const argv[], char *const envp[]), is_other(path),
	     envp, next_execve(path, argv, env), no_function())
STAND_BEFORE(execvpe, (const char *file, char *const argv[], char *const envp[]),
	     is_other_in_path(file), envp, next_execvpe(file, argv, env), no_function())
STAND_BEFORE(posix_spawn,
	     (pid_t *restrict pid, const char *restrict path,
	      const posix_spawn_file_actions_t *restrict actions,
	      const posix_spawnattr_t *restrict attributes, char *const argv[restrict],
	      char *const envp[restrict]),
	     is_other(path), envp, next_posix_spawn(pid, path, actions, attributes, argv, env),
	     ENOSYS)
STAND_BEFORE(posix_spawnp,
	     (pid_t *restrict pid, const char *restrict file,
	      const posix_spawn_file_actions_t *restrict actions,
	      const posix_spawnattr_t *restrict attributes, char *const argv[restrict],
	      char *const envp[restrict]),
	     is_other_in_path(file), envp,
	     next_posix_spawnp(pid, file, actions, attributes, argv, env), ENOSYS)

/* Not by the names: the program may have functions of these names that call these. */
EXPORT int execv(const char *path, char *const argv[])
{
	return look_execve(path, argv, environ);
}

EXPORT int execvp(const char *file, char *const argv[])
{
	return look_execvpe(file, argv, environ);
}

/* Those whose arguments are their own: counted, then put where the others have them, on the stack. */
static size_t count_of(const char *first, va_list *rest)
{
	size_t n = 0;

	for (const char *a = first; a; a = va_arg(*rest, const char *))
		n++;
	return n;
}

static void list(char **out, const char *first, va_list *rest)
{
	const char *a = first;

	for (; a; a = va_arg(*rest, const char *))
		*out++ = (char *)(uintptr_t)a;
	*out = NULL;
}

/* `environment` may take what comes behind the arguments. */
#define WITH_LIST(what, environment, look)                                                         \
	EXPORT int what(const char *program, const char *first, ...)                               \
	{                                                                                          \
		char *const *envp;                                                                 \
		size_t count;                                                                      \
		va_list rest;                                                                      \
                                                                                                   \
		va_start(rest, first);                                                             \
		count = count_of(first, &rest);                                                    \
		va_end(rest);                                                                      \
		{                                                                                  \
			char *argv[count + 1];                                                     \
                                                                                                   \
			va_start(rest, first);                                                     \
			list(argv, first, &rest);                                                  \
			envp = environment;                                                        \
			va_end(rest);                                                              \
			return look(program, argv, envp);                                          \
		}                                                                                  \
	}

WITH_LIST(execl, environ, look_execve)
WITH_LIST(execle, va_arg(rest, char *const *), look_execve)
WITH_LIST(execlp, environ, look_execvpe)
