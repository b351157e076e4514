/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded, stops a process at one step: the first time that it renames or removes a file, or writes into a raw
 * file, whose name ends in $HOLD_NAME. It makes the file $HOLD.there, and goes on once there is a file $HOLD.go: what
 * a test does meanwhile happens at that very moment.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void hold(const char *path)
{
	const char *at = getenv("HOLD"), *name = getenv("HOLD_NAME");
	const size_t length = strlen(path), end = name ? strlen(name) : 0;
	const struct timespec step = {0, 5000000};
	char there[PATH_MAX], go[PATH_MAX];
	static bool held;

	if (held || !at || !name || length < end || strcmp(path + length - end, name) != 0)
		return;
	held = true;
	snprintf(there, sizeof(there), "%s.there", at);
	snprintf(go, sizeof(go), "%s.go", at);
	close(open(there, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	while (access(go, F_OK) != 0)
		nanosleep(&step, NULL);
}

int unlink(const char *path)
{
	hold(path);
	return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

int rename(const char *from, const char *to)
{
	hold(from);
	return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

ssize_t write(int fd, const void *data, size_t bytes)
{
	char link[64], path[PATH_MAX], *raw;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	raw = strstr(path, ".kyr"); /* what follows says that it is not whole */
	if (raw) {
		raw[4] = '\0';
		hold(path);
	}
	return syscall(SYS_write, fd, data, bytes);
}
