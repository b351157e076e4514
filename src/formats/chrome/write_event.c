/* SPDX-License-Identifier: Apache-2.0 */
/* One event as JSON; see write.h. */
#include <math.h>
#include <stdio.h>

#include "formats/chrome/write.h"
#include "record/value.h"

static void put_key(struct chrome_writer *w, const char *name)
{
	output_text(&w->out, ",\"");
	output_text(&w->out, name);
	output_text(&w->out, "\":");
}

/* Microseconds with the nanoseconds behind the point. */
void out_time(struct chrome_writer *w, int64_t ns)
{
	uint64_t v = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
	char fraction[8];

	if (ns < 0)
		output_char(&w->out, '-');
	output_unsigned(&w->out, v / 1000);
	if (v % 1000 == 0)
		return;
	snprintf(fraction, sizeof(fraction), ".%03u", (unsigned)(v % 1000));
	output_text(&w->out, fraction);
}

void out_begin(struct chrome_writer *w, char phase, const char *category, const char *name,
	       size_t name_length, uint32_t pid, uint32_t tid, int64_t time)
{
	struct output *o = &w->out;

	output_text(o, w->later ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
	output_char(o, phase);
	output_char(o, '"');
	w->later = true;
	if (category) {
		put_key(w, "cat");
		output_json(o, category);
	}
	put_key(w, "name");
	output_json_bytes(o, name, name_length);
	put_key(w, "pid");
	output_unsigned(o, pid);
	put_key(w, "tid");
	output_unsigned(o, tid);
	put_key(w, "ts");
	out_time(w, (int64_t)((uint64_t)time - (uint64_t)w->t->origin));
}

void out_duration(struct chrome_writer *w, int64_t ns)
{
	put_key(w, "dur");
	out_time(w, ns > 0 ? ns : 0);
}

void out_args(struct chrome_writer *w)
{
	output_text(&w->out, ",\"args\":{");
	w->later_arg = false;
}

void out_key(struct chrome_writer *w, const char *name)
{
	if (w->later_arg)
		output_char(&w->out, ',');
	w->later_arg = true;
	output_json(&w->out, name);
	output_char(&w->out, ':');
}

void out_unsigned(struct chrome_writer *w, const char *name, uint64_t v)
{
	out_key(w, name);
	output_unsigned(&w->out, v);
}

void out_text(struct chrome_writer *w, const char *name, const char *v)
{
	out_key(w, name);
	output_json(&w->out, v);
}

static void put_value(struct chrome_writer *w, const struct t_field *f, const struct wire_value *v)
{
	struct output *o = &w->out;
	char text[1024];

	if (f->kind == KYMO_KIND_STRING) {
		output_json_bytes(o, (const char *)v->data, v->count);
	} else if (f->kind == KYMO_KIND_SIGNED) {
		output_signed(o, v->i);
	} else if (f->kind == KYMO_KIND_UNSIGNED || f->kind == KYMO_KIND_SIZE) {
		output_unsigned(o, v->u);
	} else if (f->kind == KYMO_KIND_FLOAT && isfinite(v->f)) {
		snprintf(text, sizeof(text), "%.17g", v->f);
		output_text(o, text);
	} else if (f->kind == KYMO_KIND_POINTER || f->kind == KYMO_KIND_HANDLE) {
		output_char(o, '"');
		output_hex(o, v->u);
		output_char(o, '"');
	} else {
		rec_value_text(w->t, f, v, text, sizeof(text));
		output_json(o, text);
	}
}

void out_fields(struct chrome_writer *w, const struct rec *r)
{
	const struct t_field *f;
	struct rec_fields fields;
	struct wire_value v;

	if (!r->wire || r->wire->no_fields)
		return;
	rec_fields_init(&fields, w->t, r);
	while (rec_fields_next(&fields, &f, &v)) {
		/* Out-values of failed calls are no values; the correlation is the call's own. */
		if (!v.present || (!r->ok && f->flags & KYMO_FIELD_OUT) ||
		    strcmp(f->name, "correlation") == 0)
			continue;
		out_key(w, f->name);
		put_value(w, f, &v);
	}
}

void out_end(struct chrome_writer *w, bool args)
{
	output_text(&w->out, args ? "}}" : "}");
}
