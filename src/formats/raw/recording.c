/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a trace still being written? A drain that is at work has a link control-HOST-TOKEN in it, to the
 * socket in a folder that the drain holds a lock on (drain/place.h); when it was killed the link stays
 * and the lock is gone. On other hosts only the raw file tells, which a drain at work writes to every
 * second.
 */
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

#include "base/clock.h"
#include "base/file.h"
#include "formats/raw/read.h"

#define LINK  "control-"
#define FRESH 10000000000ll /* ns */

/* Somebody holds the folder that the link leads to a file of. */
static bool is_held(int at, const char *link)
{
	char folder[PATH_MAX], *slash;
	ssize_t n = readlinkat(at, link, folder, sizeof(folder) - 1);
	bool held;
	int fd;

	if (n <= 0)
		return false;
	folder[n] = '\0';
	slash = strrchr(folder, '/');
	if (!slash)
		return false;
	*slash = '\0';
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	held = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
	if (fd >= 0)
		close(fd);
	return held;
}

/* A drain of that host is at work; elsewhere it has been. */
static bool drain_on(const char *directory, const char *host, bool here)
{
	DIR *d = opendir(directory);
	bool found = false;
	struct dirent *e;

	while (d && (e = readdir(d))) {
		const char *name = e->d_name + strlen(LINK), *dash = strrchr(e->d_name, '-');
		size_t n = dash && dash > name ? (size_t)(dash - name) : 0;

		if (strncmp(e->d_name, LINK, strlen(LINK)) != 0 || n != strlen(host) ||
		    memcmp(name, host, n) != 0)
			continue;
		found |= !here || is_held(dirfd(d), e->d_name);
	}
	if (d)
		closedir(d);
	return found;
}

static int64_t age_of(const char *file)
{
	struct stat st;

	if (stat(file, &st) != 0)
		return INT64_MAX;
	return (int64_t)clock_ns(CLOCK_REALTIME) -
	       ((int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec);
}

bool raw_being_written(const char *directory)
{
	char name[64] = "";

	gethostname(name, sizeof(name) - 1);
	return drain_on(directory, name, true);
}

/* A drain that has ended meanwhile has written to the file since it was read. */
static bool has_changed(const struct raw_process *p)
{
	struct stat st;

	return stat(p->file.path, &st) == 0 && (uint64_t)st.st_size != p->file.size;
}

void raw_find_recording(struct raw_trace *rt, const char *directory, bool at_work)
{
	char name[64] = "";

	gethostname(name, sizeof(name) - 1);
	for (uint32_t i = 0; i < rt->count; i++) {
		struct t_process *p = &rt->trace->processes[rt->processes[i].process];
		bool here = strcmp(p->hostname, name) == 0;
		int64_t age;

		if (p->how_ended != UINT32_MAX ||
		    !(drain_on(directory, p->hostname, here) ||
		      (here && at_work && has_changed(&rt->processes[i]))))
			continue;
		age = age_of(p->file);
		p->recording = here || age < FRESH;
		p->quiet_ns = age > 0 ? age : 0;
	}
}
