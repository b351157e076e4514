/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of calls: as intervals, or as an entry and an exit line each at its time. */
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "formats/text/text.h"

/* Out-values of a failed call were not stored: what is there is no value. */
static bool shown(const struct t_field *f, const struct rec *r, bool in, bool out_too)
{
	if (f->flags & KYMO_FIELD_RESULT)
		return false;
	if (f->flags & KYMO_FIELD_OUT)
		return out_too && r->ok;
	return in;
}

void text_arguments(struct text_writer *w, const struct rec *r, bool in, bool out_too)
{
	const struct t_field *f;
	struct rec_fields fields;
	struct wire_value v;
	bool first = true;

	if (!r->wire || r->wire->no_fields) {
		if (w->t->ops[r->op].field_count)
			output_put(&w->out, "...", 3);
		return;
	}
	rec_fields_init(&fields, w->t, r);
	while (rec_fields_next(&fields, &f, &v)) {
		if (!shown(f, r, in, out_too))
			continue;
		if (!first)
			output_put(&w->out, ", ", 2);
		output_name(&w->out, f->name);
		output_char(&w->out, '=');
		output_value(&w->out, w->t, f, &v);
		first = false;
	}
}

static void status_text(struct text_writer *w, const struct t_op *op, int32_t status)
{
	const char *name = rec_status_name(op, status);

	output_put(&w->out, " = ", 3);
	if (name)
		output_name(&w->out, name);
	else
		output_signed(&w->out, status);
}

/* The result of a call that succeeded and has one, its status otherwise. */
void text_status(struct text_writer *w, const struct rec *r)
{
	const struct t_op *op = &w->t->ops[r->op];
	const struct t_field *f;
	struct rec_fields fields;
	struct wire_value v;

	rec_fields_init(&fields, w->t, r);
	while (r->ok && rec_fields_next(&fields, &f, &v)) {
		if (!(f->flags & KYMO_FIELD_RESULT))
			continue;
		output_put(&w->out, " = ", 3);
		output_value(&w->out, w->t, f, &v);
		return;
	}
	if (op->status_set || !r->ok)
		status_text(w, op, r->status);
}

static void extras(struct text_writer *w, const struct rec *r)
{
	if (r->unwound)
		output_text(&w->out, " [left by an exception or longjmp]");
	if (r->external) {
		output_text(&w->out, " external=");
		output_unsigned(&w->out, r->external);
	}
	if (r->scope) {
		output_text(&w->out, " scope=");
		output_signed(&w->out, r->scope);
	}
	if (r->site) {
		output_put(&w->out, "  @ ", 4);
		output_name(&w->out, text_site(w, r->site));
	}
	if (r->stack) {
		uint32_t count;
		const uint32_t *sites = symbols_stack(w->symbols, r->stack, SYMBOLS_CALLER, &count);
		bool said = count && r->site && /* the innermost frame is the call site */
			    w->t->sites[sites[0]].address == w->t->sites[r->site].address;

		if (said)
			text_callers(w, sites[0]);
		for (uint32_t i = said; i < count; i++) {
			output_put(&w->out, " < ", 3);
			text_frames(w, sites[i]);
		}
	}
}

kymo_status_t text_call(struct stream_sink *s, const struct rec *r)
{
	struct text_writer *w = text_writer_of(s);

	if (w->o.device_only)
		return KYMO_OK;
	if (w->o.entry_exit)
		return text_call_entry(w, r);
	text_begin_line(w, r->start, (int64_t)((uint64_t)r->end - (uint64_t)r->start),
			w->thread_names[r->thread]);
	output_name(&w->out, w->op_names[r->op]);
	output_char(&w->out, '(');
	text_arguments(w, r, true, true);
	output_char(&w->out, ')');
	text_status(w, r);
	extras(w, r);
	output_char(&w->out, '\n');
	return output_status(&w->out);
}

/* ---- entry and exit ------------------------------------------------------------------------ */

static bool sooner(const struct pending *a, const struct pending *b)
{
	return a->end != b->end ? a->end < b->end : a->order > b->order;
}

static void swap(struct pending *a, struct pending *b)
{
	struct pending keep = *a;

	*a = *b;
	*b = keep;
}

static bool push_exit(struct text_writer *w, const struct pending *p)
{
	uint32_t i = w->exit_count;

	if (!vec_reserve(&w->exits, &w->exit_room, w->exit_count, 1))
		return false;
	w->exits[w->exit_count++] = *p;
	for (; i && sooner(&w->exits[i], &w->exits[(i - 1) / 2]); i = (i - 1) / 2)
		swap(&w->exits[i], &w->exits[(i - 1) / 2]);
	return true;
}

static struct pending pop_exit(struct text_writer *w)
{
	struct pending first = w->exits[0];
	uint32_t i = 0;

	w->exits[0] = w->exits[--w->exit_count];
	for (;;) {
		uint32_t left = 2 * i + 1, least = i;

		if (left < w->exit_count && sooner(&w->exits[left], &w->exits[least]))
			least = left;
		if (left + 1 < w->exit_count && sooner(&w->exits[left + 1], &w->exits[least]))
			least = left + 1;
		if (least == i)
			return first;
		swap(&w->exits[i], &w->exits[least]);
		i = least;
	}
}

void text_flush_exits(struct text_writer *w, int64_t time)
{
	while (w->exit_count && w->exits[0].end <= time) {
		struct pending p = pop_exit(w);

		output_put(&w->out, p.line, p.length);
		free(p.line);
	}
}

/* Renders the exit line into the buffer's end, then takes it away for later. */
static bool keep_exit(struct text_writer *w, const struct rec *r)
{
	struct pending p = {.end = r->end, .order = w->orders++};
	size_t from;

	if (!output_room(&w->out, w->out.size / 2)) /* no flush while the line is written */
		return false;
	from = w->out.used;
	text_begin_line(w, r->end, (int64_t)((uint64_t)r->end - (uint64_t)r->start),
			w->thread_names[r->thread]);
	output_put(&w->out, "< ", 2);
	output_name(&w->out, w->op_names[r->op]);
	output_char(&w->out, '(');
	if (r->wire && !r->wire->no_fields)
		text_arguments(w, r, false, true);
	output_char(&w->out, ')');
	text_status(w, r);
	if (r->unwound)
		output_text(&w->out, " [left by an exception or longjmp]");
	output_char(&w->out, '\n');
	if (w->out.used < from)
		from = 0; /* an enormous line: it began a new buffer, whose beginning is out */
	p.length = w->out.used - from;
	p.line = malloc(p.length);
	if (!p.line)
		return false;
	memcpy(p.line, w->out.data + from, p.length);
	w->out.used = from;
	if (push_exit(w, &p))
		return true;
	free(p.line);
	return false;
}

kymo_status_t text_call_entry(struct text_writer *w, const struct rec *r)
{
	text_flush_exits(w, r->start);
	text_begin_line(w, r->start, INT64_MIN, w->thread_names[r->thread]);
	output_put(&w->out, "> ", 2);
	output_name(&w->out, w->op_names[r->op]);
	output_char(&w->out, '(');
	text_arguments(w, r, true, false);
	output_char(&w->out, ')');
	if (r->site) {
		output_put(&w->out, "  @ ", 4);
		output_name(&w->out, text_site(w, r->site));
	}
	output_char(&w->out, '\n');
	return keep_exit(w, r) ? output_status(&w->out) : KYMO_ERROR_NO_MEMORY;
}
