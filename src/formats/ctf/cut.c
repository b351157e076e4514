/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that were cut: libbabeltrace2 reads nothing of a trace that has one. The others are read from a folder of links
 * to them.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/temporary.h"
#include "formats/ctf/reader.h"

static bool make_place(struct ctf_reader *r)
{
	const char *folder = getenv("TMPDIR");

	if (*r->place)
		return true;
	r->hold = -1;
	folder = folder && *folder ? folder : "/tmp";
	if (snprintf(r->place, sizeof(r->place), "%s/kymo-ctf-", folder) < (int)sizeof(r->place) &&
	    temporary_folder(r->place, sizeof(r->place), &r->hold))
		return true;
	*r->place = 0;
	return false;
}

/* Links to all files of the folder but that one. */
static bool link_others(const char *from, const char *to, const char *but)
{
	DIR *d = opendir(from);
	struct dirent *e;
	char target[PATH_MAX], link[PATH_MAX + 300];
	bool ok = d && mkdir(to, 0700) == 0;

	while (ok && (e = readdir(d))) {
		if (*e->d_name == '.' || strcmp(e->d_name, but) == 0)
			continue;
		snprintf(link, sizeof(link), "%s/%s", from, e->d_name);
		if (!realpath(link, target))
			continue;
		snprintf(link, sizeof(link), "%s/%s", to, e->d_name);
		ok = symlink(target, link) == 0;
	}
	if (d)
		closedir(d);
	return ok;
}

static bool is_in(const char *folder, const char *file)
{
	const char *name = strrchr(file, '/');
	char a[PATH_MAX], b[PATH_MAX], of[PATH_MAX];

	return name &&
	       snprintf(of, sizeof(of), "%.*s", (int)(name - file), file) < (int)sizeof(of) &&
	       realpath(folder, a) && realpath(of, b) && strcmp(a, b) == 0;
}

bool ctf_leave_file(struct ctf_reader *r, const char *file)
{
	const char *name = strrchr(file, '/');
	size_t n;
	char to[PATH_MAX + 32];

	if (!name || !make_place(r))
		return false;
	n = strlen(r->place);
	if (strncmp(file, r->place, n) == 0 && file[n] == '/') /* a link by now */
		return unlink(file) == 0;
	for (uint32_t i = 0; i < r->folders.count; i++) {
		char *copy;

		if (!is_in(r->folders.paths[i], file))
			continue;
		snprintf(to, sizeof(to), "%s/%u", r->place, i);
		copy = strdup(to);
		if (!copy || !link_others(r->folders.paths[i], to, name + 1)) {
			free(copy);
			return false;
		}
		free(r->folders.paths[i]);
		r->folders.paths[i] = copy;
		return true;
	}
	return false;
}

void ctf_release_place(struct ctf_reader *r)
{
	if (!*r->place)
		return;
	file_remove_tree(r->place);
	temporary_done(r->place);
	if (r->hold >= 0)
		close(r->hold);
}
