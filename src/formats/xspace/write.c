/* SPDX-License-Identifier: Apache-2.0 */
/* The writer: its sink, and the file as a whole; see writer.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/bulk.h"
#include "base/temporary.h"
#include "formats/xspace/writer.h"

#define SPOOL_BYTES (32u << 20)

static kymo_status_t begin(struct stream_sink *s, const struct trace *t)
{
	struct xspace_writer *w = xspace_writer_of(s);

	w->t = t;
	return planes_begin(w);
}

/* ---- a folder -------------------------------------------------------------------------------- */

static bool make_folder(struct xspace_writer *w, struct text *path, const char *more)
{
	text_addf(path, "/%s", more);
	if (path->s && (mkdir(path->s, 0777) == 0 || errno == EEXIST))
		return true;
	stream_error(w->o.log, "%s: %s", path->s ? path->s : more, strerror(errno));
	return false;
}

/* FOLDER/plugins/profile/RUN: the run is named by when it began, in UTC, as JAX names it by when it ends. */
static bool make_run(struct xspace_writer *w, struct text *path)
{
	time_t seconds = (time_t)(w->base / 1000000000);
	struct tm at;
	char run[40];

	if (!gmtime_r(&seconds, &at) || !strftime(run, sizeof(run), "%Y_%m_%d_%H_%M_%S", &at))
		snprintf(run, sizeof(run), "run");
	text_add(path, w->o.output);
	return make_folder(w, path, "plugins") && make_folder(w, path, "profile") &&
	       make_folder(w, path, run);
}

/* No path, no hidden file, and nothing that a terminal or a shell would heed. */
static bool is_plain(char c, bool first)
{
	return c > ' ' && c != '/' && c != 127 && !(first && c == '.');
}

static uint32_t take_name(struct xspace_writer *w, struct names *taken, const struct text *name)
{
	return name->s ? names_get(taken, &w->scratch, name->s, name->length) : 0;
}

/* A host's name as that of a file, which no other host has. */
static void name_file(struct xspace_writer *w, struct names *taken, const char *host,
		      struct text *path)
{
	size_t n = strlen(host) < 180 ? strlen(host) : 180;
	uint32_t before = taken->count, number;
	struct text name = {0};

	for (size_t i = 0; i < n; i++)
		text_add_bytes(&name, is_plain(host[i], !i) ? &host[i] : "_", 1);
	if (!n)
		text_add(&name, "localhost");
	n = name.length;
	for (uint32_t i = before + 1; (number = take_name(w, taken, &name)) && number <= before;
	     i++) {
		name.length = n;
		text_addf(&name, "-%u", i);
	}
	w->failed |= name.failed || !number;
	text_addf(path, "/%s" XSPACE_SUFFIX, name.s ? name.s : "");
	text_release(&name);
}

static kymo_status_t write_file(struct xspace_writer *w, const struct file *f)
{
	w->written = 0;
	planes_write(w, f);
	if (w->written > INT32_MAX)
		stream_warn(
			w->o.log,
			"%s: the file is larger than 2 GiB, which readers of the format refuse; "
			"export a part (--during, --device, --process)",
			w->folder    ? f->host
			: w->o.named ? w->o.named
				     : "standard output");
	w->open = false;
	return output_close(&w->out, w->o.log);
}

static kymo_status_t write_folder(struct xspace_writer *w)
{
	struct text path = {0};
	struct names taken = {0};
	kymo_status_t status = make_run(w, &path) ? KYMO_OK : KYMO_ERROR_SYSTEM;
	size_t run = path.length;

	for (uint32_t i = 0; i < w->file_count && status == KYMO_OK && !w->failed; i++) {
		path.length = run;
		name_file(w, &taken, w->files[i].host, &path);
		status = path.failed ? KYMO_ERROR_NO_MEMORY
				     : output_open(&w->out, path.s, w->o.force, w->o.log);
		w->open = status == KYMO_OK;
		if (w->open)
			status = write_file(w, &w->files[i]);
	}
	text_release(&path);
	names_release(&taken);
	return status;
}

/* ---- the sink -------------------------------------------------------------------------------- */

static kymo_status_t end(struct stream_sink *s, const struct trace *t)
{
	struct xspace_writer *w = xspace_writer_of(s);
	kymo_status_t status = KYMO_OK;

	(void)t;
	planes_finish(w);
	if (!w->error && !w->failed)
		status = w->folder ? write_folder(w) : write_file(w, &w->files[0]);
	if (w->error)
		spool_tell(w->o.log, w->error);
	else if (w->failed)
		output_tell_memory(w->o.log, w->o.named ? w->o.named : "standard output");
	if (w->error || w->failed)
		return w->error ? KYMO_ERROR_SYSTEM : KYMO_ERROR_NO_MEMORY;
	unplaced_tell(&w->unplaced, w->o.log, "profiles of XLA have no place for");
	return status;
}

static bool is_packed(const char *path)
{
	size_t n = path ? strlen(path) : 0;

	return n > 3 && strcmp(path + n - 3, ".gz") == 0;
}

static kymo_status_t open_all(struct xspace_writer *w)
{
	const char *name = w->o.named ? w->o.named : w->o.output;
	kymo_status_t status;

	if (is_packed(name)) {
		stream_error(w->o.log,
			     "%s: readers of the format want it plain; name it NAME" XSPACE_SUFFIX,
			     name);
		return KYMO_ERROR_INVALID_ARGUMENT;
	}
	if (!w->o.output && isatty(STDOUT_FILENO)) {
		stream_error(w->o.log, "the format is binary: name an output file");
		return KYMO_ERROR_INVALID_ARGUMENT;
	}
	status = spool_init(&w->spool, sizeof(struct item), SPOOL_BYTES, temporary_directory());
	w->spool.compare = item_compare;
	if (status == KYMO_OK && (!pile_open(w, &w->events) || !pile_open(w, &w->sorted)))
		status = KYMO_ERROR_SYSTEM;
	if (w->folder)
		return status == KYMO_OK ? output_folder(w->o.output, w->o.force, w->o.log)
					 : status;
	if (status == KYMO_OK)
		status = output_open(&w->out, w->o.output, w->o.force, w->o.log);
	w->open = status == KYMO_OK;
	return status;
}

kymo_status_t xspace_write(const struct format_options *o, struct stream_sink **sink)
{
	struct xspace_writer *w = calloc(1, sizeof(*w));
	kymo_status_t status;

	*sink = NULL;
	if (!w)
		return KYMO_ERROR_NO_MEMORY;
	w->o = *o;
	w->folder = o->output && o->variant; /* there is one variant */
	w->events.fd = w->sorted.fd = w->spool.fd = -1;
	w->sink.begin = begin;
	w->sink.end = end;
	w->sink.unplaced = &w->unplaced;
	records_set(&w->sink);
	stream_sink_complete(&w->sink);
	status = open_all(w);
	if (status != KYMO_OK)
		xspace_sink_free(&w->sink);
	else
		*sink = &w->sink;
	return status;
}

void xspace_sink_free(struct stream_sink *s)
{
	struct xspace_writer *w = xspace_writer_of(s);

	if (!s)
		return;
	if (w->open)
		output_close(&w->out, w->o.log);
	planes_release(w);
	pile_release(&w->events);
	pile_release(&w->sorted);
	spool_release(&w->spool);
	names_release(&w->texts);
	bulk_map_release(&w->scope_places);
	bulk_free(w->scopes);
	text_release(&w->scratch);
	text_release(&w->packed);
	free(w->scopes_of);
	free(w);
}
