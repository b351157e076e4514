/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles on disk: a file, compressed or not, or a folder with one for each host. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#include "base/vec.h"
#include "formats/xspace/reader.h"
#include "stream/unpack.h"

/* ---- what it is ------------------------------------------------------------------------------ */

static bool ends(const char *s, const char *with)
{
	size_t n = strlen(s), m = strlen(with);

	return n > m && strcmp(s + n - m, with) == 0;
}

static bool is_profile_name(const char *name)
{
	return ends(name, XSPACE_SUFFIX) || ends(name, XSPACE_SUFFIX ".gz");
}

static int is_profile(const struct dirent *d)
{
	return is_profile_name(d->d_name);
}

static int is_visible(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

static int profiles_in(const char *folder, struct dirent ***list)
{
	return scandir(folder, list, is_profile, alphasort);
}

static void free_list(struct dirent **list, int n)
{
	for (int i = 0; i < n; i++)
		free(list[i]);
	if (n >= 0)
		free(list);
}

static bool has_profiles(const char *folder)
{
	struct dirent **list;
	int n = profiles_in(folder, &list);

	free_list(list, n);
	return n > 0;
}

/* TensorBoard's folder: FOLDER/plugins/profile/RUN. */
static void runs_of(const char *folder, struct text *out)
{
	text_addf(out, "%s/plugins/profile", folder);
}

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* A file begins with a plane, which begins with its id and name. */
static bool begins_with_plane(const uint8_t *head, size_t n)
{
	struct part space = {head, n};
	struct proto_walk w = {head, head + n, false};
	struct proto_field f;
	uint64_t wrong = 0;

	if (n < 4 || head[0] != (1 << 3 | PROTO_PART))
		return false;
	w.p++;
	while (w.p < w.end && *w.p++ & 128) /* the length may reach beyond what is looked at */
		;
	space = (struct part){w.p, (size_t)(w.end - w.p)};
	w = proto_walk(space);
	while (proto_next(&w, &f) && f.number <= 2)
		if (proto_is(&f, 2, PROTO_PART, &wrong))
			return f.s.n && (f.s.s[0] == '/' || part_is(f.s, XSPACE_ENVIRONMENT));
	return false;
}

bool xspace_probe(const char *path)
{
	struct text runs = {0};
	uint8_t head[512];
	gzFile file;
	bool is;
	int n;

	if (is_folder(path)) {
		runs_of(path, &runs);
		is = has_profiles(path) || (runs.s && is_folder(runs.s));
		text_release(&runs);
		return is;
	}
	file = gzopen(path, "rbe");
	if (!file)
		return false;
	n = gzread(file, head, sizeof(head));
	gzclose_r(file);
	return is_profile_name(path) || (n > 0 && begins_with_plane(head, (size_t)n));
}

/* ---- one file -------------------------------------------------------------------------------- */

static bool add_file(struct inputs *in, const char *path, const struct format_options *o)
{
	const char *wrong = NULL;
	int fd = unpack_open(path, o->log, &wrong);
	struct input file = {.data = PART_NONE};
	struct stat st;
	void *data;

	if (fd < 0)
		return false;
	if (wrong)
		stream_error(o->log, "%s: %s: what comes after is lost", path, wrong);
	if (!vec_reserve(&in->files, &in->room, in->count, 1)) {
		close(fd);
		return false;
	}
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
		data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (data == MAP_FAILED) {
			stream_error(o->log, "%s: %s", path, strerror(errno));
			close(fd);
			return false;
		}
		file.data = (struct part){data, (size_t)st.st_size};
	}
	close(fd);
	in->files[in->count] = file;
	in->files[in->count].path = strdup(path);
	return in->files[in->count++].path != NULL;
}

/* ---- folders --------------------------------------------------------------------------------- */

static bool add_folder(struct inputs *in, const char *folder, const struct format_options *o)
{
	struct dirent **list;
	int n = profiles_in(folder, &list);
	bool ok = n > 0;

	if (!ok)
		stream_error(o->log, "%s: there is no profile (NAME" XSPACE_SUFFIX ") in it",
			     folder);
	in->folder = true;
	for (int i = 0; i < n && ok; i++) {
		struct text path = {0};

		text_addf(&path, "%s/%s", folder, list[i]->d_name);
		ok = path.s && add_file(in, path.s, o);
		text_release(&path);
	}
	free_list(list, n);
	return ok;
}

/* Of several runs the user says which. */
static bool add_runs(struct inputs *in, const char *runs, const struct format_options *o)
{
	struct dirent **list;
	int n = scandir(runs, &list, is_visible, alphasort);
	struct text run = {0};
	bool ok = n == 1;

	if (n > 1)
		stream_error(o->log, "%s: there are %d runs in it; name one, as %s/%s", runs, n,
			     runs, list[n - 1]->d_name);
	else if (n < 1)
		stream_error(o->log, "%s: there is no run in it", runs);
	else
		text_addf(&run, "%s/%s", runs, list[0]->d_name);
	ok = ok && run.s && add_folder(in, run.s, o);
	text_release(&run);
	free_list(list, n);
	return ok;
}

bool inputs_open(struct inputs *in, const char *path, const struct format_options *o)
{
	struct text runs = {0};
	bool ok;

	if (!is_folder(path))
		return add_file(in, path, o);
	if (has_profiles(path))
		return add_folder(in, path, o);
	runs_of(path, &runs);
	ok = runs.s && add_runs(in, runs.s, o);
	text_release(&runs);
	return ok;
}

void inputs_close(struct inputs *in)
{
	for (uint32_t i = 0; i < in->count; i++) {
		if (in->files[i].data.n)
			munmap((void *)(uintptr_t)in->files[i].data.s, in->files[i].data.n);
		free(in->files[i].path);
	}
	free(in->files);
	*in = (struct inputs){0};
}
