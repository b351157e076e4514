/* SPDX-License-Identifier: Apache-2.0 */
/* What is removed when a signal ends the process; see temporary.h. */
#include "base/temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"

static struct {
	volatile sig_atomic_t used;
	char path[PATH_MAX];
} entries[16];

/* What getdents64(2) writes. readdir() takes memory, which a signal handler cannot. */
struct entry64 {
	uint64_t inode;
	int64_t offset;
	unsigned short size;
	unsigned char type;
	char name[];
};

enum { FOLDERS_DEEP = 4 };

static void empty_folder(int fd, unsigned deep);

static void remove_entry(int fd, const char *name, unsigned deep)
{
	int inner;

	if (unlinkat(fd, name, 0) == 0 || !deep || strcmp(name, ".") == 0 ||
	    strcmp(name, "..") == 0)
		return;
	inner = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (inner < 0)
		return;
	empty_folder(inner, deep - 1);
	close(inner);
	unlinkat(fd, name, AT_REMOVEDIR);
}

static void empty_folder(int fd, unsigned deep)
{
	_Alignas(struct entry64) char block[2048];
	long n;

	while ((n = syscall(SYS_getdents64, fd, block, sizeof(block))) > 0) {
		for (long at = 0; at < n;) {
			const struct entry64 *e = (const void *)(block + at);

			remove_entry(fd, e->name, deep);
			at += e->size;
		}
	}
}

static void remove_now(const char *path)
{
	int fd;

	if (unlink(path) == 0)
		return;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	empty_folder(fd, FOLDERS_DEEP);
	close(fd);
	rmdir(path);
}

void temporary_end(void)
{
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
		if (entries[i].used)
			remove_now(entries[i].path);
}

static void on_end(int sig)
{
	temporary_end();
	raise(sig); /* the handler is reset */
}

static void watch_signals(void)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction a = {.sa_handler = on_end, .sa_flags = (int)SA_RESETHAND}, was;

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (sigaction(ends[i], NULL, &was) == 0 && was.sa_handler == SIG_DFL)
			sigaction(ends[i], &a, NULL);
}

void temporary_add(const char *path)
{
	size_t i = 0;

	while (i < sizeof(entries) / sizeof(entries[0]) && entries[i].used)
		i++;
	if (i == sizeof(entries) / sizeof(entries[0]) || strlen(path) >= sizeof(entries[i].path))
		return;
	watch_signals();
	snprintf(entries[i].path, sizeof(entries[i].path), "%s", path);
	atomic_signal_fence(memory_order_release);
	entries[i].used = 1;
}

void temporary_done(const char *path)
{
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
		if (entries[i].used && strcmp(entries[i].path, path) == 0)
			entries[i].used = 0;
}

/* Lies in folders that are made here: others' of such a name are not swept. */
#define MARK ".kymo-temporary"

static void mark_folder(const char *name)
{
	int folder = open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int fd = folder < 0 ? -1
			    : openat(folder, MARK, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	if (folder >= 0)
		close(folder);
}

bool temporary_folder(char *name, size_t room, int *hold)
{
	size_t n = strlen(name);

	errno = ENAMETOOLONG;
	for (int tries = 0; tries < 8 && n + FILE_TOKEN <= room; tries++) {
		file_token(name + n);
		temporary_add(name);
		if (mkdir(name, 0700) == 0) {
			*hold = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			if (*hold >= 0 && flock(*hold, LOCK_SH) != 0) {
				close(*hold);
				*hold = -1;
			}
			mark_folder(name);
			if (access(name, F_OK) == 0)
				return true;
			close(*hold); /* it was swept before it was held */
			errno = EEXIST;
		}
		temporary_done(name);
		if (errno != EEXIST)
			return false;
	}
	return false;
}

/* A folder under a name that temporary_folder() gives. */
static bool is_temporary_name(const char *name, const char *prefix)
{
	size_t n = strlen(prefix);

	return strncmp(name, prefix, n) == 0 && strlen(name) == n + FILE_TOKEN - 1;
}

/* Of folders that somebody else made nothing goes, unless they are empty. */
static void sweep_one(int at, int fd, const char *name)
{
	struct stat st;

	if (flock(fd, LOCK_EX | LOCK_NB) != 0)
		return;
	/* Held until it is gone: who has just made it, and waits to hold it, makes another. */
	if (fstatat(fd, MARK, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
		file_remove_tree_at(at, name);
	else
		unlinkat(at, name, AT_REMOVEDIR);
}

void temporary_sweep(const char *folder, const char *prefix)
{
	DIR *d = opendir(folder);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		int fd = is_temporary_name(e->d_name, prefix) ? file_open_own(dirfd(d), e->d_name)
							      : -1;

		if (fd < 0)
			continue;
		sweep_one(dirfd(d), fd, e->d_name);
		close(fd);
	}
	if (d)
		closedir(d);
}

/* ---- files without a name -------------------------------------------------------------------- */

static char place[PATH_MAX];

void temporary_place(const char *directory)
{
	snprintf(place, sizeof(place), "%s", directory ? directory : "");
}

const char *temporary_directory(void)
{
	const char *directory = getenv("TMPDIR");

	return directory && *directory ? directory : *place ? place : "/tmp";
}

int temporary_file(const char *directory)
{
	int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char *path;

	if (fd >= 0)
		return fd;
	if (asprintf(&path, "%s/.kymo-XXXXXX", directory) < 0) {
		errno = ENOMEM;
		return -1;
	}
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	free(path);
	return fd;
}
