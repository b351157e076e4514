/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A disk that fails, to be preloaded: the FAIL_AT-th write of the process to a raw file gives FAIL_WITH
 * (a number of errno), and so do FAIL_COUNT - 1 more (all, if that is not set).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static long number(const char *name, long otherwise)
{
	const char *s = getenv(name);

	return s ? atol(s) : otherwise;
}

static int is_raw(int fd)
{
	char link[64], path[4096];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0)
		return 0;
	path[n] = '\0';
	return strstr(path, ".kyr") != NULL;
}

static int fails(int fd)
{
	static long writes;

	if (!is_raw(fd) || ++writes < number("FAIL_AT", 1) ||
	    writes - number("FAIL_AT", 1) >= number("FAIL_COUNT", 1L << 40))
		return 0;
	errno = (int)number("FAIL_WITH", EIO);
	return 1;
}

ssize_t write(int fd, const void *data, size_t bytes)
{
	return fails(fd) ? -1 : syscall(SYS_write, fd, data, bytes);
}

ssize_t writev(int fd, const struct iovec *pieces, int count)
{
	return fails(fd) ? -1 : syscall(SYS_writev, fd, pieces, count);
}
