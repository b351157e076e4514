/* SPDX-License-Identifier: Apache-2.0 */
/* The writer: its sink, and the file as a whole; see writer.h. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/xspace/writer.h"

#define SPOOL_BYTES (32u << 20)

static kymo_status_t begin(struct stream_sink *s, const struct trace *t)
{
	struct xspace_writer *w = xspace_writer_of(s);

	w->t = t;
	return planes_begin(w);
}

static kymo_status_t end(struct stream_sink *s, const struct trace *t)
{
	struct xspace_writer *w = xspace_writer_of(s);

	planes_write(w);
	if (w->error)
		spool_tell(w->o.log, w->error);
	else if (w->failed)
		stream_error(w->o.log, "%s: there is not enough memory to write it",
			     w->o.named ? w->o.named : "standard output");
	if (w->error || w->failed)
		return w->error ? KYMO_ERROR_SYSTEM : KYMO_ERROR_NO_MEMORY;
	unplaced_tell(&w->unplaced, w->o.log, "profiles of XLA have no place for");
	if (w->written > INT32_MAX)
		stream_warn(w->o.log,
			    "the file is larger than 2 GiB, which readers of the format refuse; "
			    "export a part (--during, --device, --process)");
	w->open = false;
	return output_close(&w->out, w->o.log);
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
	status = spool_init(&w->spool, sizeof(struct item), SPOOL_BYTES, spool_directory());
	w->spool.compare = item_compare;
	if (status == KYMO_OK && (!pile_open(w, &w->events) || !pile_open(w, &w->sorted)))
		status = KYMO_ERROR_SYSTEM;
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
	map_release(&w->scope_places);
	free(w->scopes);
	text_release(&w->scratch);
	text_release(&w->packed);
	text_release(&w->warnings);
	free(w);
}
