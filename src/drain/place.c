/* SPDX-License-Identifier: Apache-2.0 */
/* See place.h. */
#include "drain/place.h"

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

#include "base/file.h"
#include "drain/drain.h"
#include "wire/shm.h"

#define PREFIX "kymo-drain-"
#define SOCKET "drain"
#define TRACE  "trace"
#define SHUT   ".shut"

enum { TRIES = 16 };

static const char *runtime_folder(void)
{
	const char *dir = getenv("XDG_RUNTIME_DIR");

	if (!dir || *dir != '/' || strlen(dir) > 60 || access(dir, W_OK | X_OK) != 0)
		return "/tmp";
	return dir;
}

static int open_folder(int at, const char *name)
{
	return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Who sweeps may have found it before it was held, and taken it for left over. */
static bool held(int fd)
{
	struct stat st;

	return flock(fd, LOCK_SH | LOCK_NB) == 0 && fstat(fd, &st) == 0 && st.st_nlink > 0;
}

bool place_make(char socket[PLACE_SOCKET], const char *trace)
{
	char folder[PLACE_SOCKET - 16];
	int error = 0;

	for (int i = 0; i < TRIES; i++) {
		int fd;

		snprintf(folder, sizeof(folder), "%.60s/" PREFIX "XXXXXX", runtime_folder());
		if (!mkdtemp(folder))
			return false;
		errno = 0;
		fd = open_folder(AT_FDCWD, folder);
		if (fd >= 0 && held(fd) && symlinkat(trace, fd, TRACE) == 0) {
			snprintf(socket, PLACE_SOCKET, "%s/" SOCKET, folder);
			return true;
		}
		error = errno;
		if (fd >= 0)
			close(fd);
		rmdir(folder);
	}
	errno = error ? error : EBUSY;
	return false;
}

/* False: the socket is not in such a folder. */
static bool folder_of(const char *socket, char folder[PLACE_SOCKET])
{
	char *slash;

	snprintf(folder, PLACE_SOCKET, "%s", socket);
	slash = strrchr(folder, '/');
	if (!slash || strcmp(slash + 1, SOCKET) != 0)
		return false;
	*slash = '\0';
	slash = strrchr(folder, '/');
	return slash && strncmp(slash + 1, PREFIX, strlen(PREFIX)) == 0;
}

int place_hold(const char *socket)
{
	char folder[PLACE_SOCKET];
	int fd = folder_of(socket, folder) ? open_folder(AT_FDCWD, folder) : -1;

	if (fd < 0 || held(fd))
		return fd;
	close(fd);
	return -1;
}

void place_token(const char *socket, char token[PLACE_TOKEN])
{
	char folder[PLACE_SOCKET];

	if (folder_of(socket, folder))
		snprintf(token, PLACE_TOKEN, "%.6s", strrchr(folder, '/') + 1 + strlen(PREFIX));
	else
		snprintf(token, PLACE_TOKEN, "%06d", (int)getpid() % 1000000);
}

/* ---- what is left over ----------------------------------------------------------------------- */

static bool ends_in(const char *name, const char *token, const char *suffix)
{
	char end[32];
	size_t n, length = strlen(name);

	snprintf(end, sizeof(end), "%s%s", token, suffix);
	n = strlen(end);
	return length > n && strcmp(name + length - n, end) == 0;
}

/* Files of that drain alone: its token is in their names. */
static void clean_folder(int at, const char *name, const char *token)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd >= 0 && file_is_own(fd) ? fdopendir(fd) : NULL;
	struct dirent *e;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((e = readdir(d)))
		if ((strncmp(e->d_name, DRAIN_CONTROL, strlen(DRAIN_CONTROL)) == 0 &&
		     ends_in(e->d_name, token, "")) ||
		    ends_in(e->d_name, token, ".tmp") || ends_in(e->d_name, token, ".part"))
			unlinkat(dirfd(d), e->d_name, 0);
	closedir(d);
}

static void clean_trace(const char *trace, const char *token)
{
	int fd = open_folder(AT_FDCWD, trace);

	if (fd < 0)
		return;
	clean_folder(fd, ".", token);
	clean_folder(fd, "raw", token);
	close(fd);
}

/* The folder open as `fd` is left over: nobody holds it. False: it stays, or no recording was in it yet. */
static bool remove_left(int at, const char *name, int fd, const char *token)
{
	char trace[PATH_MAX];
	ssize_t n = readlinkat(fd, TRACE, trace, sizeof(trace) - 1);

	if (n > 0) {
		trace[n] = '\0';
		clean_trace(trace, token);
	}
	unlinkat(fd, SOCKET, 0);
	unlinkat(fd, SOCKET SHUT, 0);
	unlinkat(fd, SOCKET SHM_STANDS, 0);
	unlinkat(fd, TRACE, 0);
	return unlinkat(at, name, AT_REMOVEDIR) == 0 && n > 0;
}

void place_stands(const char *socket, unsigned what)
{
	char link[PLACE_SOCKET + 16], temporary[PLACE_SOCKET + 24], text[16];

	snprintf(link, sizeof(link), "%s" SHM_STANDS, socket);
	snprintf(temporary, sizeof(temporary), "%s.new", link);
	snprintf(text, sizeof(text), "%u", what);
	unlink(temporary);
	if (symlink(text, temporary) == 0 && rename(temporary, link) != 0)
		unlink(temporary);
}

static void move_socket(const char *socket, bool shut)
{
	char away[PLACE_SOCKET + sizeof(SHUT)];

	snprintf(away, sizeof(away), "%s" SHUT, socket);
	if (rename(shut ? socket : away, shut ? away : socket) != 0 && shut)
		unlink(socket); /* there may be no room for another name */
}

void place_shut(const char *socket)
{
	move_socket(socket, true);
}

void place_open(const char *socket)
{
	move_socket(socket, false);
}

void place_remove(const char *socket)
{
	char folder[PLACE_SOCKET], token[PLACE_TOKEN];
	const int error = errno;
	int fd = folder_of(socket, folder) ? open_folder(AT_FDCWD, folder) : -1;

	if (fd >= 0) {
		place_token(socket, token);
		remove_left(AT_FDCWD, folder, fd, token);
		close(fd);
	}
	errno = error;
}

/* Of this user, and nobody else's to write to. -1: it is none. */
static int open_place(int at, const char *name)
{
	int fd = strncmp(name, PREFIX, strlen(PREFIX)) == 0 && strlen(name) == strlen(PREFIX) + 6
			 ? open_folder(at, name)
			 : -1;
	struct stat st;

	if (fd < 0 ||
	    (fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 0777) == 0700))
		return fd;
	close(fd);
	return -1;
}

/* False: nobody holds it. */
static bool is_left(int fd)
{
	return flock(fd, LOCK_EX | LOCK_NB) == 0;
}

static void sweep_folder(const char *path, void (*told)(const char *folder, unsigned n))
{
	struct dirent *e;
	unsigned n = 0;
	DIR *d = opendir(path);

	while (d && (e = readdir(d))) {
		int fd = open_place(dirfd(d), e->d_name);

		n += fd >= 0 && is_left(fd) &&
		     remove_left(dirfd(d), e->d_name, fd, e->d_name + strlen(PREFIX));
		if (fd >= 0)
			close(fd);
	}
	if (d)
		closedir(d);
	if (n && told)
		told(path, n);
}

void place_sweep(void (*told)(const char *folder, unsigned n))
{
	const char *dir = runtime_folder();

	sweep_folder(dir, told);
	if (strcmp(dir, "/tmp") != 0)
		sweep_folder("/tmp", told);
}

/* ---- what is there --------------------------------------------------------------------------- */

static bool read_link(int fd, const char *name, char *out, size_t size)
{
	ssize_t n = readlinkat(fd, name, out, size - 1);

	out[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static void each_in(const char *path, void (*told)(const char *, unsigned, void *), void *data)
{
	char trace[PATH_MAX], stands[16];
	struct dirent *e;
	DIR *d = opendir(path);

	while (d && (e = readdir(d))) {
		int fd = open_place(dirfd(d), e->d_name);

		if (fd < 0)
			continue;
		if (!is_left(fd) && faccessat(fd, SOCKET, F_OK, 0) == 0 &&
		    read_link(fd, TRACE, trace, sizeof(trace))) {
			read_link(fd, SOCKET SHM_STANDS, stands, sizeof(stands));
			told(trace, SHM_ASKED_WHAT((unsigned)strtoul(stands, NULL, 10)), data);
		}
		close(fd);
	}
	if (d)
		closedir(d);
}

void place_each(void (*told)(const char *trace, unsigned stands, void *data), void *data)
{
	const char *dir = runtime_folder();

	each_in(dir, told, data);
	if (strcmp(dir, "/tmp") != 0)
		each_in("/tmp", told, data);
}
