/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files and directories; see file.h. */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/vec.h"

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

#define READ 4096u /* room for what is read next, at least */

/* From a descriptor, which is closed; -1: nothing. NULL, too, where there is more than `most`. */
static char *read_all(int fd, size_t *bytes, size_t most)
{
	size_t n = 0, room = 0;
	char *data = NULL;
	ssize_t got = -1;

	/* Files of /proc have no size: read until the end. */
	while (fd >= 0 && (got = -1, n <= most) && vec_reserve(&data, &room, n, READ) &&
	       (got = read(fd, data + n, room - n - 1)) > 0)
		n += (size_t)got;
	if (fd >= 0)
		close(fd);
	if (!data || got != 0) {
		free(data);
		errno = n > most ? EFBIG : errno;
		return NULL;
	}
	data[n] = '\0';
	if (bytes)
		*bytes = n;
	return data;
}

char *file_read(const char *path, size_t *bytes)
{
	return read_all(open(path, O_RDONLY | O_CLOEXEC), bytes, SIZE_MAX);
}

char *file_read_regular(const char *path, size_t *bytes)
{
	return read_all(file_open_regular(path), bytes, SIZE_MAX);
}

char *file_read_limited(const char *path, size_t most)
{
	return read_all(file_open_regular(path), NULL, most);
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

/* ---- folders and files of one's own ------------------------------------------------------------ */

/*
 * File systems exist that give every file another owner than who made it. There, what a file gets
 * that is made here says whose the folder is.
 */
static bool same_owner_here(int folder, uid_t owner)
{
	char name[FILE_TOKEN + 8] = ".";
	struct stat st;
	bool same;
	int fd;

	file_token(name + 1);
	fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	same = fstat(fd, &st) == 0 && st.st_uid == owner;
	close(fd);
	unlinkat(folder, name, 0);
	return same;
}

bool file_is_own(int folder)
{
	struct stat st;

	return fstat(folder, &st) == 0 && S_ISDIR(st.st_mode) &&
	       (st.st_uid == geteuid() || same_owner_here(folder, st.st_uid));
}

int file_open_own(int at, const char *path)
{
	int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || file_is_own(fd))
		return fd;
	close(fd);
	errno = EPERM;
	return -1;
}

void file_token(char out[FILE_TOKEN])
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuv";
	uint64_t random = 0;
	struct timespec t;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != (ssize_t)sizeof(random)) {
		clock_gettime(CLOCK_MONOTONIC, &t);
		random = ((uint64_t)t.tv_nsec << 32 ^ (uint64_t)t.tv_sec) * 0x9e3779b97f4a7c15ull ^
			 (uint64_t)getpid() << 40;
	}
	for (int i = 0; i < FILE_TOKEN - 1; i++, random >>= 5)
		out[i] = digits[random & 31];
	out[FILE_TOKEN - 1] = '\0';
}

/* The folder that `path` lies in, if it is one's own, and the name there. */
static int folder_of(const char *path, const char **name)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX];

	*name = slash ? slash + 1 : path;
	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path) : 1,
		 slash ? path : ".");
	return file_open_own(AT_FDCWD, slash == path ? "/" : folder);
}

int file_create_own(const char *path, int flags)
{
	const char *name;
	int folder = folder_of(path, &name), fd, saved;

	if (folder < 0)
		return -1;
	fd = openat(folder, name, flags | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	saved = errno;
	close(folder);
	errno = saved;
	return fd;
}

static bool write_file(int folder, const char *name, const char *data, size_t bytes)
{
	int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	bool ok;
	int saved;

	if (fd < 0)
		return false;
	ok = file_write_all(fd, data, bytes) == bytes;
	saved = errno;
	if (close(fd) != 0 && ok) {
		ok = false;
		saved = errno;
	}
	if (!ok)
		unlinkat(folder, name, 0);
	errno = saved;
	return ok;
}

bool file_replace(const char *path, const char *data, size_t bytes)
{
	char tmp[NAME_MAX + 1], token[FILE_TOKEN];
	const char *name;
	int folder = folder_of(path, &name), saved;
	bool ok;

	if (folder < 0)
		return false;
	file_token(token);
	snprintf(tmp, sizeof(tmp), ".%.200s.%s", name, token);
	ok = write_file(folder, tmp, data, bytes);
	if (ok && renameat(folder, tmp, folder, name) != 0) {
		saved = errno;
		unlinkat(folder, tmp, 0);
		errno = saved;
		ok = false;
	}
	saved = errno;
	close(folder);
	errno = saved;
	return ok;
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

/* By descriptors: a folder that somebody makes a link meanwhile is not followed. */
bool file_remove_tree_at(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct dirent *e;
	bool ok = true;
	DIR *d;

	if (fd < 0 && errno == ENOENT)
		return true;
	/* Where no more can be opened, an empty folder goes all the same. */
	if (fd < 0)
		return unlinkat(at, name, 0) == 0 || unlinkat(at, name, AT_REMOVEDIR) == 0;
	d = fdopendir(fd);
	if (!d) {
		close(fd);
		return false;
	}
	while ((e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			ok = file_remove_tree_at(dirfd(d), e->d_name) && ok;
	closedir(d);
	return unlinkat(at, name, AT_REMOVEDIR) == 0 && ok;
}

bool file_remove_tree(const char *path)
{
	return file_remove_tree_at(AT_FDCWD, path);
}
