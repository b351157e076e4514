/* SPDX-License-Identifier: Apache-2.0 */
/* See replace.h. */
#include "drain/replace.h"

#include <errno.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "drain/rawfile.h"

/* One that is left over says by its name whose it was (rawfile_token()). */
static bool name_it(struct replacement *r)
{
	return snprintf(r->own, sizeof(r->own), "%s.%s.tmp", r->name, rawfile_token()) <
	       (int)sizeof(r->own);
}

static int create(struct replacement *r)
{
	const int flags = O_RDWR | O_APPEND | O_CLOEXEC;
	int fd = -1;

	/* It gets its name by way of /proc. */
	if (access("/proc/self/fd", X_OK) == 0)
		fd = openat(r->folder, ".", flags | O_TMPFILE, 0600);
	if (fd >= 0)
		return fd;
	if (!name_it(r)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	unlinkat(r->folder, r->own, 0);
	fd = openat(r->folder, r->own, flags | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	if (fd < 0)
		r->own[0] = '\0';
	else
		flock(fd, LOCK_EX | LOCK_NB); /* it is at work */
	return fd;
}

bool replacement_begin(struct replacement *r, int folder, const char *name)
{
	*r = (struct replacement){.folder = folder};
	snprintf(r->name, sizeof(r->name), "%s", name);
	r->fd = create(r);
	return r->fd >= 0;
}

static bool give_name(struct replacement *r)
{
	char link[32];

	if (r->own[0])
		return true;
	if (!name_it(r)) {
		errno = ENAMETOOLONG;
		return false;
	}
	unlinkat(r->folder, r->own, 0);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", r->fd);
	if (linkat(AT_FDCWD, link, r->folder, r->own, AT_SYMLINK_FOLLOW) == 0)
		return true;
	r->own[0] = '\0';
	return false;
}

/*
 * Both change their names, so that one that was removed does not come back. File systems that cannot do
 * that say so in many ways.
 */
static bool change_names(const struct replacement *r)
{
	if (renameat2(r->folder, r->own, r->folder, r->name, RENAME_EXCHANGE) == 0)
		return true;
	if (errno == ENOENT)
		return false;
	return faccessat(r->folder, r->name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
	       renameat(r->folder, r->own, r->folder, r->name) == 0;
}

bool replacement_take_place(struct replacement *r)
{
	bool ok = give_name(r) && change_names(r);
	int saved = errno;

	if (r->own[0])
		unlinkat(r->folder, r->own, 0);
	r->own[0] = '\0';
	flock(r->fd, LOCK_UN);
	errno = saved;
	return ok;
}

void replacement_end(struct replacement *r)
{
	if (r->fd >= 0)
		close(r->fd);
	if (r->own[0])
		unlinkat(r->folder, r->own, 0);
	r->own[0] = '\0';
	r->fd = -1;
}

/* ---- what is left over ----------------------------------------------------------------------- */

static bool is_ours(const char *name, const char *suffix)
{
	const char *own = strstr(name, suffix);
	size_t n = strlen(name);

	return own && own[strlen(suffix)] == '.' && n > 4 && strcmp(name + n - 4, ".tmp") == 0;
}

static void remove_unlocked(int folder, const char *name)
{
	int fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		unlinkat(folder, name, 0);
	close(fd);
}

void replacement_sweep(int folder, const char *suffix)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (is_ours(e->d_name, suffix))
			remove_unlocked(folder, e->d_name);
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
}
