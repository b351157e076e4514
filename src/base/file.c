/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files and directories; see file.h. */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

int file_open_regular(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st = {0};

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
	return -1;
}

/* From a descriptor, which is closed; -1: nothing. */
static char *read_all(int fd, size_t *bytes)
{
	size_t n = 0, room = 4096;
	char *data = malloc(room), *more;
	ssize_t got = -1;

	/* Files of /proc have no size: read until the end. */
	while (fd >= 0 && data && (got = read(fd, data + n, room - n - 1)) > 0) {
		n += (size_t)got;
		if (room - n > 1)
			continue;
		room *= 2;
		more = realloc(data, room);
		if (!more)
			break;
		data = more;
	}
	if (fd >= 0)
		close(fd);
	if (!data || got != 0) {
		free(data);
		return NULL;
	}
	data[n] = '\0';
	if (bytes)
		*bytes = n;
	return data;
}

char *file_read(const char *path, size_t *bytes)
{
	return read_all(open(path, O_RDONLY | O_CLOEXEC), bytes);
}

char *file_read_regular(const char *path, size_t *bytes)
{
	return read_all(file_open_regular(path), bytes);
}

size_t file_write_all(int fd, const void *data, size_t bytes)
{
	size_t done = 0;

	while (done < bytes) {
		ssize_t n = write(fd, (const char *)data + done, bytes - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return done;
}

bool file_replace(const char *path, const char *data, size_t bytes)
{
	char tmp[PATH_MAX];
	bool ok;
	int fd, saved;

	snprintf(tmp, sizeof(tmp), "%.*s.%d", PATH_MAX - 16, path, (int)getpid());
	fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		return false;
	ok = file_write_all(fd, data, bytes) == bytes;
	saved = errno;
	if (close(fd) != 0 && ok) {
		ok = false;
		saved = errno;
	}
	if (ok && rename(tmp, path) == 0)
		return true;
	if (ok)
		saved = errno;
	unlink(tmp);
	errno = saved;
	return false;
}

bool file_make_parents(const char *path, mode_t mode)
{
	char dir[PATH_MAX];

	snprintf(dir, sizeof(dir), "%s", path);
	for (char *p = strchr(dir + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		if (mkdir(dir, mode) != 0 && errno != EEXIST && access(dir, X_OK) != 0)
			return false;
		*p = '/';
	}
	return true;
}

int file_hold(const char *directory)
{
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

bool file_is_held(const char *directory)
{
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool held = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return held;
}

bool file_remove_tree(const char *path)
{
	struct dirent *e;
	struct stat st;
	bool ok = true;
	DIR *d;

	if (lstat(path, &st) != 0)
		return errno == ENOENT;
	if (!S_ISDIR(st.st_mode))
		return unlink(path) == 0;
	d = opendir(path);
	if (!d)
		return false;
	while ((e = readdir(d))) {
		char child[PATH_MAX];

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (snprintf(child, sizeof(child), "%s/%s", path, e->d_name) >= (int)sizeof(child))
			ok = false;
		else
			ok = file_remove_tree(child) && ok;
	}
	closedir(d);
	return rmdir(path) == 0 && ok;
}
