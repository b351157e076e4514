/* SPDX-License-Identifier: Apache-2.0 */
/* The text format: one record a line, for people and grep. */
#include <stdlib.h>

#include "formats/text/lines.h"
#include "formats/text/text.h"

static kymo_status_t begin(struct stream_sink *s, const struct trace *t)
{
	struct text_writer *w = text_writer_of(s);

	w->t = t;
	return text_names_init(w);
}

static kymo_status_t end(struct stream_sink *s, const struct trace *t)
{
	struct text_writer *w = text_writer_of(s);

	text_flush_exits(w, INT64_MAX);
	return output_close(&w->out, w->o.log);
}

static kymo_status_t text_write(const struct format_options *o, struct stream_sink **sink)
{
	struct text_writer *w = calloc(1, sizeof(*w));
	kymo_status_t status;

	*sink = NULL;
	if (!w)
		return KYMO_ERROR_NO_MEMORY;
	w->o = *o;
	w->sink = (struct stream_sink){.begin = begin,
				       .call = text_call,
				       .dispatch = text_dispatch,
				       .copy = text_copy,
				       .allocation = text_allocation,
				       .sync = text_sync,
				       .marker = text_marker,
				       .comm = text_comm,
				       .sample = text_sample,
				       .device_sample = text_device_sample,
				       .counter = text_counter,
				       .other = text_other,
				       .loss = text_loss,
				       .open_call = text_open_call,
				       .unfinished = text_unfinished,
				       .end = end};
	stream_sink_complete(&w->sink);
	status = output_open(&w->out, o->output, o->force, o->log);
	if (status != KYMO_OK) {
		free(w);
		return status;
	}
	*sink = &w->sink;
	return KYMO_OK;
}

static void text_free(struct stream_sink *s)
{
	struct text_writer *w = text_writer_of(s);

	if (!s)
		return;
	output_close(&w->out, w->o.log);
	while (w->exit_count)
		free(w->exits[--w->exit_count].line);
	free(w->exits);
	text_names_release(w);
	free(w);
}

struct stream_sink *text_lines_new(const struct trace *t, struct stream_log *log,
				   struct output **out)
{
	const struct format_options o = {.log = log};
	struct stream_sink *s;

	if (text_write(&o, &s) != KYMO_OK)
		return NULL;
	*out = &text_writer_of(s)->out;
	if (begin(s, t) == KYMO_OK)
		return s;
	text_free(s);
	return NULL;
}

void text_lines_free(struct stream_sink *s)
{
	text_free(s);
}

extern const struct format format_text;
const struct format format_text = {
	.name = "text",
	.kinds = FORMAT_KEEPS_EVERYTHING,
	.summary = "one record a line (what `kymo show` prints)",
	.suffix = ".txt",
	.needs_order = true,
	.write = text_write,
	.sink_free = text_free,
};
