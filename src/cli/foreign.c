/* SPDX-License-Identifier: Apache-2.0 */
/* Files of other tools as traces; see foreign.h. */
#include "cli/foreign.h"

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
#include "cli/input.h"
#include "formats/raw/write.h"
#include "stream/unplaced.h"

#define FOLDER "kymo-import-"

/* A folder may end with slashes. */
static const char *last_part(const char *path)
{
	size_t n = strlen(path);
	const char *slash;

	while (n > 1 && path[n - 1] == '/')
		n--;
	slash = memrchr(path, '/', n);
	return slash && (size_t)(slash - path) + 1 < n ? slash + 1 : path;
}

static bool ends(const char *name, size_t n, const char *with)
{
	size_t m = strlen(with);

	return n > m && memcmp(name + n - m, with, m) == 0;
}

void cli_foreign_name(const char *path, struct text *out)
{
	const char *name = last_part(path);
	size_t n = strlen(name);
	const char *dot;

	while (n > 1 && name[n - 1] == '/')
		n--;
	if (ends(name, n, ".gz"))
		n -= 3;
	dot = memrchr(name, '.', n);
	if (dot && dot > name)
		n = (size_t)(dot - name);
	if (ends(name, n, ".xplane"))
		n -= strlen(".xplane");
	text_add_bytes(out, name, n);
	text_add(out, ".kymo");
}

/* The first format that takes the file; NULL: none does, or it is none. */
static const struct format *format_of_file(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
		return NULL;
	for (const struct format *const *f = format_table; *f; f++)
		if ((*f)->read && (*f)->probe && (*f)->probe(path))
			return *f;
	return NULL;
}

/* Files of other formats in a folder that is read as one of `reader`: nobody else tells that they are not looked at. */
static void tell_others(const char *folder, const struct format *reader)
{
	enum { LOOKED_AT = 1000 };
	DIR *d = opendir(folder);
	struct unplaced others = {0};
	struct dirent *e;
	char path[PATH_MAX + 256], what[200];

	for (unsigned n = 0; d && n < LOOKED_AT && (e = readdir(d)); n++) {
		const struct format *f;

		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		f = *e->d_name == '.' ? NULL : format_of_file(path);
		if (f && f != reader)
			unplaced_add(&others, f->name, 1);
	}
	if (d)
		closedir(d);
	snprintf(what, sizeof(what),
		 "%.100s: read as %s; files of other formats in it, which can be named alone",
		 folder, reader->name);
	unplaced_tell(&others, &cli_log, what);
}

kymo_status_t cli_foreign_import(const struct format *reader, const char *path,
				 const char *directory, bool passing, uint64_t *records)
{
	const struct raw_origin origin = {path, reader->name, passing};
	const struct format_options o = {.log = &cli_log,
					 .progress = cli_progress,
					 .progress_data = (void *)(uintptr_t) "Importing"};
	struct stream_sink *sink;
	struct cli_counter c;
	kymo_status_t status = raw_writer_new(directory, &origin, &cli_log, &sink);

	if (status != KYMO_OK)
		return status;
	temporary_place(directory);
	cli_counter_init(&c, sink, 0);
	c.path = path;
	cli_log_keep();
	status = reader->read(path, NULL, false, &c.sink, &o);
	raw_writer_free(sink);
	temporary_place(NULL);
	cli_progress_clear();
	tell_others(path, reader);
	cli_log_settle(status == KYMO_OK);
	if (status == KYMO_ERROR_INVALID_ARGUMENT)
		status = KYMO_ERROR_NOT_FOUND; /* what is wrong is the file, not the command line */
	*records = c.count;
	return status;
}

/* ---- for a while ----------------------------------------------------------------------------- */

static struct {
	char path[PATH_MAX]; /* "" until there is one */
	int hold;
	unsigned traces;
	struct source {
		char *trace, *file; /* until the command ends */
	} * sources;
} place;

const char *cli_foreign_source(const char *trace)
{
	for (unsigned i = 0; place.sources && i < place.traces; i++)
		if (strcmp(place.sources[i].trace, trace) == 0)
			return place.sources[i].file;
	return NULL;
}

static void remove_place(void)
{
	file_remove_tree(place.path);
	temporary_done(place.path);
}

static bool make_place(void)
{
	const char *folder = getenv("TMPDIR");

	if (*place.path)
		return true;
	folder = folder && *folder ? folder : "/tmp";
	temporary_sweep(folder, FOLDER);
	if (snprintf(place.path, sizeof(place.path), "%s/" FOLDER, folder) <
		    (int)sizeof(place.path) &&
	    temporary_folder(place.path, sizeof(place.path), &place.hold))
		return atexit(remove_place) == 0;
	cli_error("%s: %s; set TMPDIR to a folder that can be written to", place.path,
		  strerror(errno));
	*place.path = 0;
	return false;
}

/* Of several files of one name each has a folder of its own. */
static char *place_of(const char *path)
{
	struct text out = {0};

	text_addf(&out, "%s/%u", place.path, place.traces++);
	if (!out.failed && mkdir(out.s, 0700) != 0)
		out.failed = true;
	text_add(&out, "/");
	cli_foreign_name(path, &out);
	if (!out.failed)
		return out.s;
	cli_error("%s: %s", place.path, strerror(errno));
	text_release(&out);
	return NULL;
}

static bool remember(char *trace, char *file)
{
	struct source *more = realloc(place.sources, sizeof(*place.sources) * (size_t)place.traces);

	if (!more) {
		cli_error("not enough memory");
		return false;
	}
	place.sources = more;
	more[place.traces - 1] = (struct source){trace, file};
	return true;
}

/* The format of another tool's file or folder; NULL: it is none. */
static const struct format *foreign_reader(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0 || !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
		return NULL;
	for (const struct format *const *f = format_table; *f; f++) {
		if (!(*f)->read || !(*f)->probe || !(*f)->probe(path))
			continue;
		return strcmp((*f)->name, "raw") == 0 || strcmp((*f)->name, "store") == 0 ? NULL
											  : *f;
	}
	return NULL;
}

bool cli_foreign_operands(int argc, char **argv, bool passes_on)
{
	for (int i = 0; i < argc; i++) {
		const struct format *reader = foreign_reader(argv[i]);
		struct stat st;
		uint64_t records;
		char *trace;

		if (stat(argv[i], &st) == 0 && S_ISFIFO(st.st_mode)) {
			cli_error("%s: it is a pipe, and traces are read at any place: write it to "
				  "a file first",
				  argv[i]);
			return false;
		}
		if (!reader || (passes_on && reader->reads_ordered))
			continue;
		trace = make_place() ? place_of(argv[i]) : NULL;
		if (trace && !remember(trace, argv[i]))
			return false;
		if (!trace || cli_foreign_import(reader, argv[i], trace, true, &records) != KYMO_OK)
			return false;
		argv[i] = trace; /* until the command ends */
	}
	return true;
}
