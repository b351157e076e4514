/* SPDX-License-Identifier: Apache-2.0 */
/* See replace.h. */
#include "drain/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
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

/* Both change their names, so that one that was removed does not come back. */
static bool change_names(const struct replacement *r)
{
	if (renameat2(r->folder, r->own, r->folder, r->name, RENAME_EXCHANGE) == 0)
		return true;
	if (errno != EINVAL && errno != ENOSYS)
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
