/* SPDX-License-Identifier: Apache-2.0 */
/* From the node's disk into the trace; see collect.h. */
#include "drain/collect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "drain/rawfile.h"

enum { PIECE = 1 << 20, NAMES = 100000 };

bool collect_begin(char folder[PATH_MAX], const char *dir, const char *cwd)
{
	char raw[PATH_MAX];
	int n = snprintf(folder, PATH_MAX, "%s%s%s/kymo-XXXXXX", *dir == '/' ? "" : cwd,
			 *dir == '/' ? "" : "/", dir);

	if (n >= PATH_MAX - 128) {
		errno = ENAMETOOLONG;
		folder[0] = '\0';
		return false;
	}
	if (!file_make_parents(folder, 0777) || !mkdtemp(folder)) {
		folder[0] = '\0';
		return false;
	}
	snprintf(raw, sizeof(raw), "%.*s/raw", PATH_MAX - 8, folder);
	if (mkdir(raw, 0700) == 0)
		return true;
	n = errno;
	rmdir(folder);
	folder[0] = '\0';
	errno = n;
	return false;
}

static bool copy_all(int from, int to)
{
	char *piece = malloc(PIECE);
	ssize_t n = -1;

	while (piece && (n = read(from, piece, PIECE)) > 0)
		if (file_write_all(to, piece, (size_t)n) != (size_t)n) {
			errno = errno ? errno : ENOSPC;
			n = -1;
			break;
		}
	free(piece);
	return n == 0;
}

static bool copy_file(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out;
	bool ok;
	int saved;

	unlink(to); /* of a drain that was killed at it */
	out = in < 0 ? -1 : file_create_own(to, O_WRONLY);
	ok = out >= 0 && copy_all(in, out);
	saved = errno;
	if (out >= 0 && close(out) != 0 && ok) {
		saved = errno;
		ok = false;
	}
	if (in >= 0)
		close(in);
	if (!ok && out >= 0)
		unlink(to);
	errno = saved;
	return ok;
}

/*
 * Takes a name in the trace that is free: HOST-PID-N.kyr of the file, N counted on where a process
 * of the same number was recorded by somebody else. Nobody reads the file before it is whole. The
 * name is this process's as long as the descriptor is open. -1: errno.
 */
static int take_name(char out[PATH_MAX], const char *from, const char *trace)
{
	const char *name = strrchr(from, '/') + 1, *dash = strrchr(name, '-');
	unsigned n = dash ? (unsigned)strtoul(dash + 1, NULL, 10) : 0;
	int fd;

	for (unsigned end = n + NAMES; n < end; n++) {
		snprintf(out, PATH_MAX, "%.*s/raw/%.*s-%u.kyr", PATH_MAX - 300, trace,
			 dash ? (int)(dash - name) : 200, name, n);
		fd = file_create_own(out, O_WRONLY);
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}

bool collect_file(char path[PATH_MAX], const char *trace, const struct collect_note *note)
{
	char part[PATH_MAX], final[PATH_MAX];
	const char *name = strrchr(path, '/') + 1;
	int saved, fd;

	snprintf(part, sizeof(part), "%.*s/raw/.%.200s.%s.part", PATH_MAX - 300, trace, name,
		 rawfile_token());
	if (!copy_file(path, part))
		return false;
	fd = take_name(final, path, trace);
	if (fd >= 0) {
		note->name(note->data, note->number, final);
		close(fd);
		if (rename(part, final) == 0) {
			unlink(path);
			memcpy(path, final, PATH_MAX);
			return true;
		}
		saved = errno;
		unlink(final);
		errno = saved;
	}
	saved = errno;
	unlink(part);
	errno = saved;
	return false;
}

void collect_end(const char *folder)
{
	char raw[PATH_MAX];

	snprintf(raw, sizeof(raw), "%.*s/raw", PATH_MAX - 8, folder);
	if (rmdir(raw) == 0)
		rmdir(folder);
}
