/* SPDX-License-Identifier: Apache-2.0 */
/* See orphan.h. */
#include "base/orphan.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/variables.h"

/* ---- where it is ---- */

/*
 * Where this library lies. Asked when it is loaded: later the loader's lock may be another thread's
 * that is inside a constructor and waits for what is locked while a drain is started.
 */
static char self[PATH_MAX];

__attribute__((constructor(101))) static void locate_own_library(void)
{
	Dl_info info;

	if (dladdr((void *)(uintptr_t)orphan_start, &info) && info.dli_fname)
		snprintf(self, sizeof(self), "%s", info.dli_fname);
}

bool orphan_kymo(char *out, size_t size)
{
	const char *set = variable("KYMO_BIN");
	char *slash;

	if (set && *set) {
		snprintf(out, size, "%s", set);
		return access(out, X_OK) == 0;
	}
	if (!*self)
		return false;
	snprintf(out, size, "%s", self);
	/* lib/libkymo-inject.so or lib/<triplet>/libkymo-inject.so: look upwards for bin/kymo. */
	for (int i = 0; i < 3 && (slash = strrchr(out, '/')); i++) {
		size_t n = (size_t)(slash - out);

		snprintf(slash, size - n, "/bin/kymo");
		if (access(out, X_OK) == 0)
			return true;
		*slash = '\0';
	}
	return false;
}

/* ---- starting it ---- */

/* Runtimes load the library that a variable of theirs names. */
static bool loads_us(const char *word)
{
	return strncmp(word, "LD_PRELOAD=", 11) == 0 ||
	       (strncmp(word, "KYMO_", 5) != 0 && strstr(word, "/libkymo.so"));
}

/* The environment less what would trace it. */
static char **untraced_environment(void)
{
	extern char **environ;
	size_t n = 0, kept = 0;
	char **copy;

	while (environ && environ[n])
		n++;
	copy = calloc(n + 1, sizeof(*copy));
	for (size_t i = 0; copy && i < n; i++)
		if (!loads_us(environ[i]))
			copy[kept++] = environ[i];
	return copy;
}

/* One after the other: none of them lies where another is to be. */
static void place_descriptors(const int fd[ORPHAN_FDS])
{
	int null = open("/dev/null", O_RDWR), moved[ORPHAN_FDS];

	for (int i = 0; i < (int)ORPHAN_FDS; i++) {
		int from = fd[i] < 0 && i < 3 ? null : fd[i];

		moved[i] = from < 0 ? -1 : fcntl(from, F_DUPFD, (int)ORPHAN_FDS);
	}
	for (int i = 0; i < (int)ORPHAN_FDS; i++)
		if (moved[i] >= 0)
			dup2(moved[i], i);
		else
			close(i);
	syscall(SYS_close_range, ORPHAN_FDS, ~0u, 0u);
}

/* In the child: only async-signal-safe calls, the program may have threads. */
static void exec_orphan(const char *path, char *const argv[], char *const envp[],
			const int fd[ORPHAN_FDS], unsigned seconds)
{
	const struct sigaction standard = {.sa_handler = SIG_DFL};
	sigset_t none;

	setsid();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int s = 1; s < 32; s++)
		sigaction(s, &standard, NULL);
	place_descriptors(fd);
	alarm(seconds);
	execve(path, argv, envp);
	_exit(127);
}

/*
 * A child would not do: exec() gives it back the exit signal that its clone() left out, and the program's
 * wait() would wait for it.
 */
bool orphan_start(const char *path, char *const argv[], const int fd[ORPHAN_FDS], unsigned seconds)
{
	char **envp = untraced_environment();
	long pid = envp ? syscall(SYS_clone, 0, NULL, NULL, NULL, NULL) : -1;
	int status = 0;

	if (pid == 0) {
		pid = syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
		if (pid == 0)
			exec_orphan(path, argv, envp, fd, seconds);
		syscall(SYS_exit, pid < 0);
	}
	while (pid > 0 && waitpid((pid_t)pid, &status, __WALL) < 0 && errno == EINTR)
		;
	free(envp);
	return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
