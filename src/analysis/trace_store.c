/* SPDX-License-Identifier: Apache-2.0 */
/* Finding or building the store of a trace; see trace_store.h. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/trace_store.h"

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Reads the trace at `path`, whatever its format, into a new store at `file`. */
static kymo_status_t build(const char *path, const char *file, const struct format_options *o)
{
	const struct format *raw = format_find("raw");
	struct stream_sink *sink;
	kymo_status_t status;

	if (!raw->probe(path)) {
		stream_error(o->log, "%s: this is neither a trace nor a store", path);
		return KYMO_ERROR_NOT_FOUND;
	}
	status = store_writer_new(file, is_directory(path) ? path : NULL, o->log, &sink);
	if (status != KYMO_OK)
		return status;
	status = raw->read(path, NULL, false, sink, o);
	store_writer_free(sink);
	return status;
}

/* A store that nobody will look for: its name goes as soon as it is open. */
static kymo_status_t build_temporary(const char *path, const struct format_options *o,
				     struct store **out)
{
	const char *folder = getenv("TMPDIR");
	char dir[PATH_MAX], file[PATH_MAX + 16];
	kymo_status_t status;

	snprintf(dir, sizeof(dir), "%s/kymo-store-XXXXXX", folder && *folder ? folder : "/tmp");
	if (!mkdtemp(dir)) {
		stream_error(o->log, "%s: no store can be built here: %s; set TMPDIR to a folder "
				     "that can be written to",
			     dir, strerror(errno));
		return KYMO_ERROR_SYSTEM;
	}
	snprintf(file, sizeof(file), "%s/%s", dir, STORE_FILE);
	status = build(path, file, o);
	if (status == KYMO_OK)
		status = store_open(file, o->log, out);
	unlink(file);
	rmdir(dir);
	return status;
}

/* Under a temporary name first, so that nobody ever sees half a store. */
static kymo_status_t build_in_place(const char *path, const char *file,
				    const struct format_options *o, struct store **out)
{
	char temporary[PATH_MAX];
	kymo_status_t status;

	if (snprintf(temporary, sizeof(temporary), "%s.%d", file, (int)getpid()) >=
	    (int)sizeof(temporary))
		return KYMO_ERROR_LIMIT;
	unlink(temporary);
	status = build(path, temporary, o);
	if (status != KYMO_OK)
		return status;
	if (rename(temporary, file) != 0) {
		stream_error(o->log, "%s: %s", file, strerror(errno));
		unlink(temporary);
		return KYMO_ERROR_SYSTEM;
	}
	return store_open(file, o->log, out);
}

kymo_status_t trace_store_open(const char *path, bool rebuild, const struct format_options *o,
			       struct store **out)
{
	char file[PATH_MAX];

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
		stream_warn(o->log, "%s cannot be written to: its store is built in the folder for "
				    "temporary files, and again next time",
			    path);
		return build_temporary(path, o, out);
	}
	return build_in_place(path, file, o, out);
}
