/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index.yaml of a folder of databases: of all that YAML is, what `rocpd package` and Kymo write: "path: FOLDER" and,
 * under "files:", lines of "- FILE", quoted or not.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/map.h"
#include "formats/rocpd/reader.h"

/* A value less its quotes and what is around it. */
static char *plain(char *s)
{
	size_t n;

	s += strspn(s, " \t");
	n = strcspn(s, "\r\n");
	while (n && (s[n - 1] == ' ' || s[n - 1] == '\t'))
		n--;
	s[n] = '\0';
	if (n >= 2 && (*s == '"' || *s == '\'') && s[n - 1] == *s) {
		s[n - 1] = '\0';
		s++;
	}
	return strncmp(s, "./", 2) == 0 ? s + 2 : s;
}

struct index {
	const char *folder;
	char *path; /* where the files are, beside or below the index; NULL: with it */
	struct map names;
	bool in_files;
};

static bool take_file(struct index *x, const char *name, take_name take, void *data)
{
	uint64_t key = hash_string(name);
	char whole[8300];
	const char *within = x->path && *x->path && strcmp(x->path, ".") != 0 ? x->path : NULL;
	int n;

	if (!*name || map_get(&x->names, key))
		return true;
	if (!map_set(&x->names, key, 1))
		return false;
	if (*name == '/')
		n = snprintf(whole, sizeof(whole), "%s", name);
	else if (within && *within == '/')
		n = snprintf(whole, sizeof(whole), "%s/%s", within, name);
	else
		n = snprintf(whole, sizeof(whole), "%s/%s%s%s", x->folder, within ? within : "",
			     within ? "/" : "", name);
	return n >= (int)sizeof(whole) || take(data, whole);
}

static bool take_line(struct index *x, char *line, take_name take, void *data)
{
	line += strspn(line, " \t");
	if (strncmp(line, "path:", 5) == 0) {
		free(x->path);
		x->path = strdup(plain(line + 5));
		return x->path != NULL;
	}
	if (line[0] == '-' && (line[1] == ' ' || line[1] == '\t'))
		return !x->in_files || take_file(x, plain(line + 2), take, data);
	if (*line && *line != '#' && *line != '\n')
		x->in_files = strncmp(line, "files:", 6) == 0;
	return true;
}

bool index_read(const char *folder, take_name take, void *data)
{
	struct index x = {.folder = folder};
	char path[4400], *line = NULL;
	size_t room = 0;
	bool ok = true;
	FILE *f;
	int fd;

	snprintf(path, sizeof(path), "%s/index.yaml", folder);
	fd = file_open_regular(path);
	if (fd < 0)
		return errno == ENOENT;
	f = fdopen(fd, "r");
	if (!f) {
		close(fd);
		return false;
	}
	while (ok && getline(&line, &room, f) > 0)
		ok = take_line(&x, line, take, data);
	if (ok && ferror(f))
		ok = false;
	free(line);
	free(x.path);
	map_release(&x.names);
	fclose(f);
	return ok;
}
