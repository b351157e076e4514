/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a trace still being written? A drain that is at work has a link control-HOST-PID in it; when it
 * was killed the link stays, so on this host its process is looked for, and elsewhere the raw file,
 * which a drain at work writes to every second.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "formats/raw/internal.h"

#define LINK  "control-"
#define FRESH 10000000000ll /* ns */

static bool is_drain(const char *pid)
{
	char path[64], *text, *after;
	bool yes;

	snprintf(path, sizeof(path), "/proc/%.16s/stat", pid);
	text = file_read(path, NULL);
	after = text ? strstr(text, "(kymo-drain) ") : NULL;
	yes = after && !strchr("ZX", after[strlen("(kymo-drain) ")]);
	free(text);
	return yes;
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
		found |= !here || is_drain(dash + 1);
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

void raw_find_recording(struct raw_trace *rt, const char *directory)
{
	char name[64] = "";

	gethostname(name, sizeof(name) - 1);
	for (uint32_t i = 0; i < rt->count; i++) {
		struct t_process *p = &rt->trace->processes[rt->processes[i].process];
		bool here = strcmp(p->hostname, name) == 0;
		int64_t age;

		if (p->how_ended != UINT32_MAX || !drain_on(directory, p->hostname, here))
			continue;
		age = age_of(p->file);
		p->recording = here || age < FRESH;
		p->quiet_ns = age > 0 ? age : 0;
	}
}
