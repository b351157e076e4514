/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON format: one document, streamed; json.h describes it. */
#include <stdlib.h>

#include "formats/json/json.h"

static kymo_status_t begin(struct stream_sink *s, const struct trace *t)
{
	struct json_writer *w = json_writer_of(s);

	w->t = t;
	return json_definitions(w);
}

static kymo_status_t end(struct stream_sink *s, const struct trace *t)
{
	struct json_writer *w = json_writer_of(s);

	json_end(w, t);
	return output_close(&w->out, w->o.log);
}

static kymo_status_t json_write(const struct format_options *o, struct stream_sink **sink)
{
	struct json_writer *w = calloc(1, sizeof(*w));
	kymo_status_t status;

	*sink = NULL;
	if (!w)
		return KYMO_ERROR_NO_MEMORY;
	w->o = *o;
	w->sink.begin = begin;
	w->sink.end = end;
	json_set_records(&w->sink);
	stream_sink_complete(&w->sink);
	status = output_open(&w->out, o->output, o->force, o->log);
	if (status != KYMO_OK) {
		free(w);
		return status;
	}
	*sink = &w->sink;
	return KYMO_OK;
}

static void json_free(struct stream_sink *s)
{
	struct json_writer *w = json_writer_of(s);

	if (!s)
		return;
	output_close(&w->out, w->o.log);
	free(w);
}

extern const struct format format_json;
const struct format format_json = {
	.name = "json",
	.summary = "one JSON document: definitions, then records as objects with named arguments",
	.suffix = ".json",
	.write = json_write,
	.sink_free = json_free,
};
