/* SPDX-License-Identifier: Apache-2.0 */
/* Finding or building the store of a trace; see trace_store.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/trace_store.h"
#include "stream/demangle.h"
#include "base/file.h"
#include "base/temporary.h"
#include "formats/raw/read.h"

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Passes messages on and remembers whether one was an error. */
struct watched_log {
	struct stream_log log; /* first */
	struct stream_log *next;
	bool error;
};

static void forward_message(struct stream_log *l, int severity, const char *text)
{
	struct watched_log *w = (struct watched_log *)(void *)l;

	w->error |= severity >= 3;
	w->next->message(w->next, severity, text);
}

/*
 * Reads the trace at `path`, whatever its format, into a new store at `file`. *whole: nothing of
 * the trace was left out because it could not be read.
 */
static kymo_status_t build_store(const char *path, const char *file, const struct format_options *o,
				 bool *whole)
{
	struct watched_log log = {.log = {forward_message}, .next = o->log};
	struct format_options watched = *o;
	const struct format *raw = format_find("raw");
	struct stream_sink *sink;
	kymo_status_t status;

	if (!raw->probe(path)) {
		stream_error(o->log, "%s: this is neither a trace nor a store", path);
		return KYMO_ERROR_NOT_FOUND;
	}
	watched.log = &log.log;
	status = store_writer_new(file, is_directory(path) ? path : NULL, o->log, &sink);
	if (status != KYMO_OK)
		return status;
	status = raw->read(path, o->filter, false, sink, &watched);
	store_writer_free(sink);
	*whole = !log.error;
	return status;
}

/*
 * A folder to build a store in, held as long as somebody is at work there. At first `folder` says how
 * its name begins.
 */
struct workplace {
	char folder[PATH_MAX], file[PATH_MAX + 16];
	int hold;
};

static bool workplace_make(struct workplace *w)
{
	if (!temporary_folder(w->folder, sizeof(w->folder), &w->hold))
		return false;
	snprintf(w->file, sizeof(w->file), "%s/%s", w->folder, STORE_FILE);
	return true;
}

static void workplace_remove(struct workplace *w)
{
	file_remove_tree(w->folder);
	temporary_done(w->folder);
	if (w->hold >= 0)
		close(w->hold);
}

/* What was built there, for who asks now. */
static kymo_status_t open_temporary(struct workplace *w, const struct format_options *o,
				    struct store **out)
{
	kymo_status_t status = store_open(w->file, o->log, out);

	if (status == KYMO_OK)
		store_set_temporary(*out, w->folder, w->hold);
	else
		workplace_remove(w);
	return status;
}

/* A store that nobody will look for. */
static kymo_status_t build_temporary(const char *path, const struct format_options *o,
				     struct store **out)
{
	const char *folder = getenv("TMPDIR");
	struct workplace w;
	kymo_status_t status;
	bool whole;

	folder = folder && *folder ? folder : "/tmp";
	temporary_sweep(folder, "kymo-store-");
	if (snprintf(w.folder, sizeof(w.folder), "%s/kymo-store-", folder) >= (int)sizeof(w.folder))
		return KYMO_ERROR_LIMIT;
	if (!workplace_make(&w)) {
		stream_error(o->log,
			     "%s: no store can be built here: %s; set TMPDIR to a folder "
			     "that can be written to",
			     w.folder, strerror(errno));
		return KYMO_ERROR_SYSTEM;
	}
	status = build_store(path, w.file, o, &whole);
	if (status == KYMO_OK)
		return open_temporary(&w, o, out);
	workplace_remove(&w);
	return status;
}

/* Files that this user makes in other users' folders are neither theirs nor safe from them. */
static bool is_own(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool own = fd >= 0 && file_is_own(fd);

	if (fd >= 0)
		close(fd);
	return own;
}

/*
 * Under a temporary name first, so that nobody ever sees half a store. One that misses a file is
 * not kept: who asks next is to hear of it, too.
 */
static kymo_status_t build_in_place(const char *path, const char *file,
				    const struct format_options *o, struct store **out)
{
	struct workplace w;
	kymo_status_t status;
	mode_t mask;
	bool whole;

	if (snprintf(w.folder, sizeof(w.folder), "%s.", file) >= (int)sizeof(w.folder))
		return KYMO_ERROR_LIMIT;
	if (!workplace_make(&w)) {
		stream_error(o->log, "%s: %s", w.folder, strerror(errno));
		return KYMO_ERROR_SYSTEM;
	}
	mask = umask(077); /* SQLite would make it for everybody to read */
	status = build_store(path, w.file, o, &whole);
	umask(mask);
	if (status == KYMO_OK && whole && rename(w.file, file) != 0) {
		stream_warn(o->log, "%s: %s; the store that is built now is not kept", file,
			    strerror(errno));
		whole = false;
	}
	if (status == KYMO_OK && !whole)
		return open_temporary(&w, o, out);
	workplace_remove(&w);
	return status == KYMO_OK ? store_open(file, o->log, out) : status;
}

void trace_store_sweep(const char *path)
{
	temporary_sweep(path, STORE_FILE ".");
}

/* Of what is selected, for who asks now. */
static kymo_status_t open_selected(const char *path, const struct format_options *o,
				   struct store **out)
{
	if (access(path, F_OK) != 0) {
		stream_error(o->log, "%s: %s", path, strerror(errno));
		return KYMO_ERROR_NOT_FOUND;
	}
	if (is_directory(path) || !store_probe(path))
		return build_temporary(path, o, out);
	stream_error(o->log,
		     "%s: records are selected from the raw files of a trace, and this is a store: "
		     "name the trace's directory, or say it in SQL, with WHERE",
		     path);
	return KYMO_ERROR_INVALID_ARGUMENT;
}

kymo_status_t trace_store_open_named(const char *path, bool rebuild, const struct format_options *o,
				     struct store **out)
{
	char file[PATH_MAX];

	trace_store_sweep(path);
	/* Names that the store has otherwise are asked for once. */
	if (o->filter || demangle_is_off())
		return open_selected(path, o, out);
	if (!is_directory(path)) {
		if (access(path, F_OK) != 0) {
			stream_error(o->log, "%s: %s", path, strerror(errno));
			return KYMO_ERROR_NOT_FOUND;
		}
		return store_probe(path) ? store_open(path, o->log, out)
					 : build_temporary(path, o, out);
	}
	if (snprintf(file, sizeof(file), "%s/%s", path, STORE_FILE) >= (int)sizeof(file))
		return KYMO_ERROR_LIMIT;
	if (!rebuild && store_fresh(file, path))
		return store_open(file, o->log, out);
	if (access(path, W_OK) != 0) {
		stream_warn(o->log,
			    "%s cannot be written to: its store is built in the folder for "
			    "temporary files, and again next time",
			    path);
		return build_temporary(path, o, out);
	}
	if (!is_own(path)) {
		stream_warn(o->log,
			    "%s belongs to another user: its store is built in the folder for "
			    "temporary files, and again next time",
			    path);
		return build_temporary(path, o, out);
	}
	return build_in_place(path, file, o, out);
}

kymo_status_t trace_store_open(const char *path, bool rebuild, const struct format_options *o,
			       struct store **out)
{
	kymo_status_t status = trace_store_open_named(path, rebuild, o, out);

	if (status == KYMO_OK)
		store_remove_temporary(*out);
	return status;
}

bool trace_being_written(const char *path)
{
	return raw_being_written(path);
}
