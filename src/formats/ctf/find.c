/* SPDX-License-Identifier: Apache-2.0 */
/* Folders of traces: those with a file "metadata" that is CTF's. See reader.h. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"
#include "formats/ctf/read.h"
#include "formats/ctf/reader.h"

enum { DEPTH = 12, LOOKED = 65536 };

#define PLAIN "/* CTF 1.8"

/* Packets of metadata begin with this number, in either byte order. */
static bool is_metadata(const char *folder)
{
	static const uint8_t magic[2][4] = {{0x57, 0x1d, 0xd1, 0x75}, {0x75, 0xd1, 0x1d, 0x57}};
	char path[PATH_MAX], head[sizeof(PLAIN)] = "";
	struct stat st;
	ssize_t n = -1;
	int fd;

	if (snprintf(path, sizeof(path), "%s/metadata", folder) >= (int)sizeof(path))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		n = read(fd, head, sizeof(head) - 1);
	close(fd);
	return n >= 4 && (memcmp(head, magic[0], 4) == 0 || memcmp(head, magic[1], 4) == 0 ||
			  strcmp(head, PLAIN) == 0);
}

/*
 * The library merges by time only what has a clock, and what has none apart from it. Metadata is text, in packets or not,
 * and says "clock {" early where there is one.
 */
static bool has_clock(const char *folder)
{
	char path[PATH_MAX], text[32768], *at = text;
	size_t n = 0;
	FILE *f;

	if (snprintf(path, sizeof(path), "%s/metadata", folder) >= (int)sizeof(path))
		return false;
	f = fopen(path, "re");
	if (f) {
		n = fread(text, 1, sizeof(text) - 1, f);
		fclose(f);
	}
	for (size_t i = 0; i < n; i++)
		text[i] = text[i] ? text[i] : ' ';
	text[n] = '\0';
	while ((at = strstr(at, "clock"))) {
		at += strlen("clock");
		if (at[strspn(at, " \t\n")] == '{')
			return true;
	}
	return false;
}

static int by_name(const void *a, const void *b)
{
	char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

static bool look(const char *path, unsigned depth, struct ctf_folders *out);

static bool look_inside(const char *path, DIR *d, unsigned depth, struct ctf_folders *out)
{
	char inner[PATH_MAX];
	struct dirent *e;
	struct stat st;

	while (out->looked < LOOKED && (e = readdir(d))) {
		out->looked++;
		if (*e->d_name == '.' || (e->d_type != DT_DIR && e->d_type != DT_UNKNOWN) ||
		    snprintf(inner, sizeof(inner), "%s/%s", path, e->d_name) >= (int)sizeof(inner))
			continue;
		if (e->d_type == DT_UNKNOWN && (lstat(inner, &st) != 0 || !S_ISDIR(st.st_mode)))
			continue;
		if (!look(inner, depth + 1, out))
			return false;
	}
	return true;
}

static bool look(const char *path, unsigned depth, struct ctf_folders *out)
{
	bool ok = true;
	DIR *d;

	if (is_metadata(path)) {
		if (!vec_reserve(&out->paths, &out->room, out->count, 1))
			return false;
		out->paths[out->count] = strdup(path);
		return out->paths[out->count++] != NULL;
	}
	d = depth < DEPTH && out->count < CTF_FOLDERS ? opendir(path) : NULL;
	if (d) {
		ok = look_inside(path, d, depth, out);
		closedir(d);
	}
	return ok;
}

static bool put_clocks_first(struct ctf_folders *f)
{
	char **sorted = f->count ? calloc(f->count, sizeof(*sorted)) : NULL;
	uint32_t others = 0;

	if (!f->count)
		return true;
	if (!sorted)
		return false;
	for (uint32_t i = 0; i < f->count; i++)
		if (has_clock(f->paths[i]))
			sorted[f->clocked++] = f->paths[i];
		else
			sorted[f->count - ++others] = f->paths[i];
	qsort(sorted + f->clocked, others, sizeof(*sorted), by_name);
	free(f->paths);
	f->paths = sorted;
	f->room = f->count;
	return true;
}

bool ctf_find(const char *path, struct ctf_folders *out)
{
	*out = (struct ctf_folders){0};
	if (!look(path, 0, out))
		return false;
	if (out->count)
		qsort(out->paths, out->count, sizeof(*out->paths), by_name);
	return put_clocks_first(out);
}

void ctf_folders_release(struct ctf_folders *f)
{
	for (uint32_t i = 0; i < f->count; i++)
		free(f->paths[i]);
	free(f->paths);
	*f = (struct ctf_folders){0};
}

bool ctf_probe(const char *path)
{
	struct ctf_folders found;
	struct stat st;
	bool any;

	if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
		return false;
	any = ctf_find(path, &found) && found.count;
	ctf_folders_release(&found);
	return any;
}
