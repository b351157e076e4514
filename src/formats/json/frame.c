/* SPDX-License-Identifier: Apache-2.0 */
/* Keys, and what lies between objects: one document has commas, lists and brackets, lines have none. */
#include <math.h>
#include <stdio.h>

#include "formats/json/json.h"

void json_key(struct output *o, const char *key, bool first)
{
	if (!first)
		output_char(o, ',');
	output_json(o, key);
	output_char(o, ':');
}

/* One of the writer's own, which has nothing to escape. */
static void own_key(struct output *o, const char *key)
{
	output_put(o, ",\"", 2);
	output_text(o, key);
	output_put(o, "\":", 2);
}

void json_key_text(struct output *o, const char *key, const char *value)
{
	own_key(o, key);
	output_json(o, value);
}

void json_key_unsigned(struct output *o, const char *key, uint64_t v)
{
	own_key(o, key);
	output_unsigned(o, v);
}

void json_key_signed(struct output *o, const char *key, int64_t v)
{
	own_key(o, key);
	output_signed(o, v);
}

void json_key_hex(struct output *o, const char *key, uint64_t v)
{
	own_key(o, key);
	if (!v) {
		output_text(o, "null");
		return;
	}
	output_char(o, '"');
	output_hex(o, v);
	output_char(o, '"');
}

void json_key_bool(struct output *o, const char *key, bool v)
{
	own_key(o, key);
	output_text(o, v ? "true" : "false");
}

void json_key_real(struct output *o, const char *key, double v)
{
	char text[40];

	own_key(o, key);
	snprintf(text, sizeof(text), "%.17g", v);
	output_text(o, isfinite(v) ? text : "null");
}

int64_t json_since(const struct trace *t, int64_t ns)
{
	return ns ? (int64_t)((uint64_t)ns - (uint64_t)t->origin) : 0;
}

static void close_line(struct json_writer *w)
{
	output_text(&w->out, "}\n");
	w->lines_written++;
}

void json_open_list(struct json_writer *w, const char *key)
{
	if (w->lines)
		return;
	output_text(&w->out, ",\n ");
	json_key(&w->out, key, true);
	output_char(&w->out, '[');
}

/* Positions are indexes, hence null at 0. */
void json_element(struct json_writer *w, const char *what, uint32_t i)
{
	struct output *o = &w->out;

	if (!w->lines) {
		output_text(o, i == 1 ? "null,\n  {" : ",\n  {");
		return;
	}
	output_text(o, "{\"definition\":");
	output_json(o, what);
	json_key_unsigned(o, "index", i);
	output_char(o, ',');
}

void json_item(struct json_writer *w, const char *kind, bool first)
{
	if (!w->lines) {
		output_text(&w->out, first ? "\n  {" : ",\n  {");
		return;
	}
	output_text(&w->out, "{\"kind\":");
	output_json(&w->out, kind);
	output_char(&w->out, ',');
}

void json_close_head(struct json_writer *w)
{
	output_char(&w->out, '}');
	close_line(w);
}

void json_close_element(struct json_writer *w)
{
	if (w->lines)
		close_line(w);
	else
		output_char(&w->out, '}');
}

void json_close_list(struct json_writer *w, uint32_t count)
{
	if (!w->lines)
		output_text(&w->out, count <= 1 ? "null]" : "]");
}

void json_open_record(struct json_writer *w, const char *kind)
{
	struct output *o = &w->out;

	if (w->lines)
		output_text(o, "{\"kind\":\"");
	else
		output_text(o, w->records ? ",\n{\"kind\":\"" : "\n{\"kind\":\"");
	w->records++;
	output_text(o, kind);
	output_char(o, '"');
}

kymo_status_t json_close_record(struct json_writer *w)
{
	json_close_element(w);
	return output_status(&w->out);
}
