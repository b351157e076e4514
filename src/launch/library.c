/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which libraries are here. Loading one runs code of vendors that may take long or crash, so it is
 * tried in a process of its own.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/launch.h"

enum { LOAD_SECONDS = 20, LOOK_YES = 7 };

bool launch_mentions(const char *path, const char *text)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	bool found = false;
	void *data;

	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && st.st_size > 0) {
		data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (data != MAP_FAILED) {
			found = memmem(data, (size_t)st.st_size, text, strlen(text)) != NULL;
			munmap(data, (size_t)st.st_size);
		}
	}
	close(fd);
	return found;
}

bool launch_loads(const char *library, struct text *why)
{
	char message[512];
	int ends[2], status = 0;
	ssize_t n = 0, got;
	pid_t pid;

	if (pipe(ends) != 0)
		return true; /* not known to be broken */
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		alarm(LOAD_SECONDS);
		if (dlopen(library, RTLD_NOW | RTLD_LOCAL))
			_exit(0);
		snprintf(message, sizeof(message), "%s", dlerror());
		_exit(write(ends[1], message, strlen(message)) < 0 ? 2 : 1);
	}
	close(ends[1]);
	while (pid > 0 && (got = read(ends[0], message + n, sizeof(message) - 1 - (size_t)n)) > 0)
		n += got;
	close(ends[0]);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status == 0)
		return true;
	message[n] = '\0';
	if (WIFSIGNALED(status))
		text_addf(why, "loading it ended with signal %d (%s)", WTERMSIG(status),
			  strsignal(WTERMSIG(status)));
	else
		text_add(why, n ? message : "it cannot be loaded");
	return false;
}

/* A library that has no memory ends its process with a message and a core file. */
static void be_silent(void)
{
	int none = open("/dev/null", O_WRONLY | O_CLOEXEC);

	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	for (int fd = STDOUT_FILENO; none >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(none, fd);
}

bool launch_look(bool (*look)(void))
{
	int status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		alarm(LOAD_SECONDS);
		be_silent();
		_exit(look() ? LOOK_YES : 0);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       WEXITSTATUS(status) == LOOK_YES;
}

const char *launch_first_that_loads(const char *const *libraries)
{
	for (; *libraries; libraries++) {
		struct text why = {0};
		bool loads = launch_loads(*libraries, &why);

		text_release(&why);
		if (loads)
			return *libraries;
	}
	return NULL;
}
