/* SPDX-License-Identifier: Apache-2.0 */
/* The writer: the file, compressed where its name ends with .gz, and the sink. */
#include "formats/chrome/write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bulk.h"
#include "formats/chrome/chrome.h"

static bool pack(void *packer, const char *data, size_t n)
{
	errno = 0;
	while (n) {
		unsigned part = n < (1u << 30) ? (unsigned)n : 1u << 30;

		if (gzwrite(packer, data, part) != (int)part)
			return errno = errno ? errno : EIO, false;
		data += part;
		n -= part;
	}
	return true;
}

static bool is_packed(const char *path)
{
	size_t n = path ? strlen(path) : 0;

	return n > 3 && strcmp(path + n - 3, ".gz") == 0;
}

static kymo_status_t open_packer(struct chrome_writer *w)
{
	int fd;

	if (!is_packed(w->o.named ? w->o.named : w->o.output))
		return KYMO_OK;
	fd = dup(w->out.fd);
	w->packer = fd >= 0 ? gzdopen(fd, "wb6") : NULL;
	if (!w->packer) {
		if (fd >= 0)
			close(fd);
		return KYMO_ERROR_NO_MEMORY;
	}
	gzbuffer(w->packer, 1u << 17);
	w->out.pack = pack;
	w->out.packer = w->packer;
	return KYMO_OK;
}

/* What is still in the packer goes out before the file is closed. */
static kymo_status_t close_all(struct chrome_writer *w)
{
	if (w->packer) {
		output_reserve(&w->out, 1); /* writes what waits */
		if (gzclose_w(w->packer) != Z_OK && !w->out.error)
			w->out.error = errno ? errno : EIO;
		w->packer = NULL;
		w->out.pack = NULL;
	}
	return output_close(&w->out, w->o.log);
}

/* When it was recorded, as Kineto says it. */
static void put_window(struct chrome_writer *w, const struct trace *t)
{
	int64_t end = t->end > t->origin ? t->end : t->origin;

	output_text(&w->out, w->later ? ",\n" : "\n");
	output_text(&w->out, "{\"ph\":\"X\",\"cat\":\"Trace\",\"name\":\"Kymo\",\"pid\":\"Spans\","
			     "\"tid\":\"Kymo\",\"ts\":0,\"dur\":");
	out_time(w, end - t->origin);
	output_char(&w->out, '}');
}

static kymo_status_t begin(struct stream_sink *s, const struct trace *t)
{
	struct chrome_writer *w = chrome_writer_of(s);

	w->t = t;
	for (uint32_t i = 1; i < t->counters_count; i++)
		w->holds |= !t->processes[t->counters[i].process].telemetry;
	w->names = symbols_new(t, w->o.log);
	return w->names ? chrome_names(w) : KYMO_ERROR_NO_MEMORY;
}

static kymo_status_t end(struct stream_sink *s, const struct trace *t)
{
	struct chrome_writer *w = chrome_writer_of(s);

	chrome_write_held(w);
	put_window(w, t);
	output_text(&w->out, "\n]}\n");
	symbols_free(w->names);
	w->names = NULL;
	return close_all(w);
}

kymo_status_t chrome_write(const struct format_options *o, struct stream_sink **sink)
{
	struct chrome_writer *w = calloc(1, sizeof(*w));
	kymo_status_t status;

	*sink = NULL;
	if (!w)
		return KYMO_ERROR_NO_MEMORY;
	w->o = *o;
	w->sink.begin = begin;
	w->sink.end = end;
	chrome_set_records(&w->sink);
	stream_sink_complete(&w->sink);
	status = output_open(&w->out, o->output, o->force, o->log);
	if (status == KYMO_OK)
		status = open_packer(w);
	if (status != KYMO_OK) {
		chrome_sink_free(&w->sink);
		return status;
	}
	*sink = &w->sink;
	return KYMO_OK;
}

void chrome_sink_free(struct stream_sink *s)
{
	struct chrome_writer *w = chrome_writer_of(s);

	if (!s)
		return;
	close_all(w);
	free(w->pids);
	symbols_free(w->names);
	kernel_values_release(&w->values);
	map_release(&w->counters);
	map_release(&w->counter_rows);
	bulk_free(w->held.at);
	chrome_lanes_free(w);
	free(w->devices);
	free(w);
}
