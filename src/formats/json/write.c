/* SPDX-License-Identifier: Apache-2.0 */
/* The formats json and jsonl; json.h describes them. */
#include <stdlib.h>

#include "base/vec.h"
#include "formats/json/json.h"
#include "formats/json/lines.h"

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

static kymo_status_t open_call(struct stream_sink *s, const struct t_open_call *c)
{
	struct json_writer *w = json_writer_of(s);

	if (w->lines) {
		json_open_call(w, c, false);
		return output_status(&w->out);
	}
	if (!vec_reserve(&w->open_calls, &w->open_room, w->open_count, 1))
		return KYMO_ERROR_NO_MEMORY;
	w->open_calls[w->open_count++] = c;
	return KYMO_OK;
}

/* How many are not listed is with the processes. */
static kymo_status_t unfinished(struct stream_sink *s, const struct t_unfinished *u)
{
	struct json_writer *w = json_writer_of(s);

	if (u->unlisted)
		return KYMO_OK;
	if (w->lines) {
		json_unfinished(w, u, false);
		return output_status(&w->out);
	}
	if (!vec_reserve(&w->unfinished, &w->unfinished_room, w->unfinished_count, 1))
		return KYMO_ERROR_NO_MEMORY;
	w->unfinished[w->unfinished_count++] = u;
	return KYMO_OK;
}

static kymo_status_t make_writer(const struct format_options *o, bool lines,
				 struct stream_sink **sink)
{
	struct json_writer *w = calloc(1, sizeof(*w));
	kymo_status_t status;

	*sink = NULL;
	if (!w)
		return KYMO_ERROR_NO_MEMORY;
	w->o = *o;
	w->lines = lines;
	w->sink.begin = begin;
	w->sink.open_call = open_call;
	w->sink.unfinished = unfinished;
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

static kymo_status_t json_write(const struct format_options *o, struct stream_sink **sink)
{
	return make_writer(o, false, sink);
}

static kymo_status_t jsonl_write(const struct format_options *o, struct stream_sink **sink)
{
	return make_writer(o, true, sink);
}

static void json_free(struct stream_sink *s)
{
	struct json_writer *w = json_writer_of(s);

	if (!s)
		return;
	output_close(&w->out, w->o.log);
	free(w->open_calls);
	free(w->unfinished);
	free(w);
}

struct stream_sink *json_lines_new(const struct trace *t, struct output **out)
{
	const struct format_options none = {0};
	struct stream_sink *s;

	if (make_writer(&none, true, &s) != KYMO_OK)
		return NULL;
	json_writer_of(s)->t = t;
	*out = &json_writer_of(s)->out;
	return s;
}

void json_lines_free(struct stream_sink *s)
{
	json_free(s);
}

extern const struct format format_json;
const struct format format_json = {
	.name = "json",
	.kinds = FORMAT_KEEPS_EVERYTHING,
	.summary = "one JSON document: definitions, then records as objects with named arguments",
	.suffix = ".json",
	.write = json_write,
	.sink_free = json_free,
};

extern const struct format format_jsonl;
const struct format format_jsonl = {
	.name = "jsonl",
	.summary = "JSON lines: an object for each definition and record, for jq and pipelines",
	.suffix = ".jsonl",
	.kinds = FORMAT_KEEPS_EVERYTHING,
	.write = jsonl_write,
	.sink_free = json_free,
};
