/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs beside their place; see staging.h. */
#include "cli/staging.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/temporary.h"
#include "cli/cli.h"

static kymo_status_t cannot(const char *path)
{
	cli_error("%s: cannot be written: %s", path, strerror(errno));
	return KYMO_ERROR_SYSTEM;
}

/* ---- where ------------------------------------------------------------------------------------- */

static bool is_same(const struct stat *a, const char *path)
{
	struct stat b;

	return stat(path, &b) == 0 && a->st_dev == b.st_dev && a->st_ino == b.st_ino;
}

/* The file or folder is the trace, or the folder of its raw files. */
static bool is_of_trace(const struct stat *st, const char *trace)
{
	char raw[PATH_MAX];

	return is_same(st, trace) ||
	       (snprintf(raw, sizeof(raw), "%s/raw", trace) < (int)sizeof(raw) && is_same(st, raw));
}

/* It, or a folder above it. `path` is absolute, without links. */
static const char *trace_that_has(const char *path, char *const *traces)
{
	char at[PATH_MAX];
	struct stat st;

	snprintf(at, sizeof(at), "%s", path);
	for (char *end = at + strlen(at); end; end = strrchr(at, '/')) {
		*end = '\0';
		if (stat(*at ? at : "/", &st) != 0)
			continue; /* it is still to be made */
		for (char *const *t = traces; *t; t++)
			if (is_of_trace(&st, *t))
				return *t;
	}
	return NULL;
}

/* The absolute path without links, of what need not be there. False: errno. */
static bool resolve(const char *output, char out[PATH_MAX])
{
	const char *name = strrchr(output, '/');
	char folder[PATH_MAX], resolved[PATH_MAX];

	if (realpath(output, out))
		return true;
	if (errno != ENOENT)
		return false;
	name = name ? name + 1 : output;
	if (!*name || snprintf(folder, sizeof(folder), "%.*s", (int)(name - output), output) >=
			      (int)sizeof(folder))
		return false;
	if (!realpath(*folder ? folder : ".", resolved))
		return false;
	errno = ENAMETOOLONG;
	return snprintf(out, PATH_MAX, "%s/%s", strcmp(resolved, "/") == 0 ? "" : resolved, name) <
	       PATH_MAX;
}

/* ---- beginning --------------------------------------------------------------------------------- */

/* Where it is to be written until it is whole: on the same file system as its place. */
static kymo_status_t choose_path(struct staging *s, const char *output)
{
	const char *name = strrchr(s->target, '/') + 1;
	char token[FILE_TOKEN];
	int n;

	file_token(token);
	if (s->as_it_is)
		n = snprintf(s->path, sizeof(s->path), "%s", output);
	else if (s->into)
		n = snprintf(s->path, sizeof(s->path), "%s/.kymo.%s", s->target, token);
	else /* a name of full length has no room for more */
		n = snprintf(s->path, sizeof(s->path), "%.*s.%.200s.%s", (int)(name - s->target),
			     s->target, name, token);
	if (n < (int)sizeof(s->path))
		return KYMO_OK;
	errno = ENAMETOOLONG;
	return cannot(output);
}

static kymo_status_t look_at_place(struct staging *s, const char *output)
{
	struct stat st;

	if (lstat(output, &st) != 0)
		return errno == ENOENT ? KYMO_OK : cannot(output);
	if (!s->force) {
		cli_error("%s: File exists; --force %s", output,
			  s->folder ? "overwrites its files" : "replaces it");
		return KYMO_ERROR_EXISTS;
	}
	if (stat(output, &st) != 0)
		return KYMO_OK; /* a link to nothing is replaced itself */
	if (s->folder && !S_ISDIR(st.st_mode)) {
		errno = ENOTDIR;
		return cannot(output);
	}
	s->into = s->folder;
	s->as_it_is = !s->folder && !S_ISREG(st.st_mode);
	s->mode = st.st_mode & 0777;
	return KYMO_OK;
}

kymo_status_t staging_begin(struct staging *s, const char *output, bool folder, bool force,
			    char *const *traces)
{
	kymo_status_t status;
	const char *trace;
	char bare[PATH_MAX];
	size_t n = strlen(output);

	*s = (struct staging){.folder = folder, .force = force};
	while (folder && n > 1 && output[n - 1] == '/')
		n--; /* "DIR/" that is still to be made */
	snprintf(bare, sizeof(bare), "%.*s", (int)n, output);
	if (!resolve(bare, s->target))
		return cannot(output);
	trace = trace_that_has(s->target, traces);
	if (trace) {
		cli_error("%s is in the trace %s, which is read: name another place with -o",
			  output, trace);
		return KYMO_ERROR_INVALID_ARGUMENT;
	}
	status = look_at_place(s, bare);
	if (status == KYMO_OK)
		status = choose_path(s, output);
	if (status == KYMO_OK && !s->as_it_is)
		temporary_add(s->path);
	return status;
}

void staging_opened(const struct staging *s)
{
	if (s->mode && !s->folder && !s->as_it_is)
		chmod(s->path, s->mode);
}

/* ---- end --------------------------------------------------------------------------------------- */

static bool join(char out[PATH_MAX], const char *folder, const char *name)
{
	if (snprintf(out, PATH_MAX, "%s/%s", folder, name) < PATH_MAX)
		return true;
	errno = ENAMETOOLONG;
	return false;
}

/* Files of the folder that is written, into the one that is there; of folders in it likewise. */
static bool move_files(const char *folder, const char *target)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	bool ok = d != NULL;

	while (ok && (e = readdir(d))) {
		char from[PATH_MAX], to[PATH_MAX];

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		ok = join(from, folder, e->d_name) && join(to, target, e->d_name) &&
		     (rename(from, to) == 0 ||
		      ((errno == ENOTEMPTY || errno == EEXIST) && move_files(from, to)));
	}
	if (d)
		closedir(d);
	return ok && rmdir(folder) == 0;
}

/* Files of the folder that is there which the one that was written has not, as those of an older export. */
static unsigned others(const struct staging *s)
{
	const char *own = strrchr(s->path, '/') + 1;
	DIR *d = opendir(s->target);
	struct dirent *e;
	unsigned n = 0;

	while (d && (e = readdir(d))) {
		char written[PATH_MAX];
		struct stat st;

		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
		    strcmp(e->d_name, own) != 0 && join(written, s->path, e->d_name) &&
		    lstat(written, &st) != 0)
			n++;
	}
	if (d)
		closedir(d);
	return n;
}

static kymo_status_t place(const struct staging *s)
{
	unsigned stay = s->into ? others(s) : 0;
	struct stat st;

	if (stay)
		cli_warn("%s: %u other%s there before stay%s: readers may take them for a part of "
			 "this "
			 "export; remove the folder first to have it alone",
			 s->target, stay, stay == 1 ? " that was" : "s that were",
			 stay == 1 ? "s" : "");

	if (!s->force && lstat(s->target, &st) == 0) {
		errno = EEXIST; /* made meanwhile */
		return cannot(s->target);
	}
	if (s->into ? move_files(s->path, s->target) : rename(s->path, s->target) == 0)
		return KYMO_OK;
	return cannot(s->target);
}

kymo_status_t staging_end(struct staging *s, bool ok)
{
	kymo_status_t status = KYMO_OK;

	if (s->as_it_is)
		return KYMO_OK;
	if (ok)
		status = place(s);
	if (!ok || status != KYMO_OK)
		file_remove_tree(s->path);
	temporary_done(s->path);
	return status;
}
