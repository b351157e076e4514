/* SPDX-License-Identifier: Apache-2.0 */
/* Records as JSON objects, one a line. */
#include <math.h>

#include <string.h>

#include "formats/json/json.h"
#include "record/value.h"
#include "stream/names.h"
#include "stream/payload.h"
#include "stream/reference.h"

static int64_t since(const struct json_writer *w, int64_t ns)
{
	return (int64_t)((uint64_t)ns - (uint64_t)w->t->origin);
}

/* What all records have but their times. */
static void begin_untimed(struct json_writer *w, const char *kind, const struct rec *r)
{
	struct output *o = &w->out;
	const struct t_op *op = &w->t->ops[r->op];

	json_open_record(w, kind);
	json_key_text(o, "domain", w->t->domains[op->domain].name);
	json_key_text(o, "op", op->name);
	json_key_unsigned(o, "thread", r->thread);
}

static void times(struct json_writer *w, int64_t start, int64_t end)
{
	json_key_signed(&w->out, "start", since(w, start));
	json_key_signed(&w->out, "end", since(w, end));
}

static void begin_record(struct json_writer *w, const char *kind, const struct rec *r)
{
	begin_untimed(w, kind, r);
	times(w, r->start, r->end);
}

/* By the time of the device, null where it is not known. */
static void begin_device(struct json_writer *w, const char *kind, const struct rec *r,
			 const struct rec_device *d)
{
	begin_untimed(w, kind, r);
	if (device_timed(d))
		times(w, d->start, d->end);
	else
		output_text(&w->out, ",\"start\":null,\"end\":null");
	json_key_signed(&w->out, "collected", since(w, r->start));
}

/* ---- arguments ----------------------------------------------------------------------------- */

static void quoted(struct output *o, const struct t_field *f, const struct wire_value *v)
{
	char text[512];
	size_t n = rec_value_text(NULL, f, v, text, sizeof(text));

	output_json_bytes(o, text, n < sizeof(text) ? n : sizeof(text) - 1);
}

/* JSON knows no infinity. */
static void real(struct output *o, const struct t_field *f, const struct wire_value *v)
{
	if (isfinite(v->f))
		output_value(o, NULL, f, v);
	else
		output_text(o, "null");
}

static void write_number(struct output *o, const struct t_field *f, const struct wire_value *v)
{
	switch (v->kind) {
	case KYMO_KIND_SIGNED:
	case KYMO_KIND_TIME:
		output_signed(o, v->i);
		break;
	case KYMO_KIND_FLOAT:
		real(o, f, v);
		break;
	case KYMO_KIND_BOOL:
		output_text(o, v->u ? "true" : "false");
		break;
	case KYMO_KIND_POINTER:
	case KYMO_KIND_HANDLE:
		if (v->u)
			quoted(o, f, v);
		else
			output_text(o, "null");
		break;
	case KYMO_KIND_ENUM:
	case KYMO_KIND_FLAGS:
		quoted(o, f, v);
		break;
	default:
		output_unsigned(o, v->u);
		break;
	}
}

/* An element as if it were a value of its own. */
static void array(struct output *o, const struct t_field *f, const struct wire_value *v)
{
	struct t_field one = *f;
	struct wire_value e = {.present = true, .kind = f->element};

	one.kind = f->element;
	output_char(o, '[');
	for (uint32_t i = 0; i < v->count; i++) {
		e.u = wire_element(v, f->element, f->size, i);
		if (f->element == KYMO_KIND_FLOAT && f->size == 4) {
			float narrow;

			memcpy(&narrow, &e.u, 4);
			e.f = (double)narrow;
		} else if (f->element == KYMO_KIND_FLOAT) {
			memcpy(&e.f, &e.u, 8);
		}
		if (i)
			output_char(o, ',');
		write_number(o, &one, &e);
	}
	output_char(o, ']');
}

/* Operations have no list: their names are short. */
static void op_name(struct json_writer *w, uint64_t index)
{
	char room[REFERENCE_TEXT];

	if (index)
		output_json(&w->out, reference_name(w->t, REFERENCE_OP, index, room, sizeof(room)));
	else
		output_text(&w->out, "null");
}

static void value(struct json_writer *w, const struct t_field *f, const struct wire_value *v)
{
	struct output *o = &w->out;

	if (!v->present)
		output_text(o, "null");
	else if (f->reference == REFERENCE_OP)
		op_name(w, v->u);
	else if (f->kind == KYMO_KIND_STRING)
		output_json_bytes(o, (const char *)v->data, v->count);
	else if (f->kind == KYMO_KIND_ARRAY)
		array(o, f, v);
	else if (f->kind == KYMO_KIND_BYTES)
		quoted(o, f, v);
	else
		write_number(o, f, v);
}

/* Out-values of failed calls are no values; see KYMO_FIELD_OUT. */
static bool has_value(const struct t_field *f, const struct rec *r)
{
	return r->ok || !(f->flags & KYMO_FIELD_OUT);
}

static void arguments(struct json_writer *w, const struct rec *r)
{
	struct output *o = &w->out;
	const struct t_field *f;
	struct rec_fields fields;
	struct wire_value v;
	bool first = true;

	if (!r->wire || r->wire->no_fields)
		return;
	json_key(o, "args", false);
	output_char(o, '{');
	rec_fields_init(&fields, w->t, r);
	while (rec_fields_next(&fields, &f, &v)) {
		if (!has_value(f, r))
			continue;
		json_key(o, f->name, first);
		value(w, f, &v);
		first = false;
	}
	output_char(o, '}');
}

/* True lengths of the arguments of which only a part was stored. */
static void cut(struct json_writer *w, const struct rec *r)
{
	const struct t_field *f;
	struct rec_fields fields;
	struct wire_value v;
	bool first = true;

	rec_fields_init(&fields, w->t, r);
	while (r->wire && rec_fields_next(&fields, &f, &v)) {
		if (v.total <= v.count)
			continue;
		if (first)
			output_text(&w->out, ",\"cut\":{");
		json_key(&w->out, f->name, first);
		output_unsigned(&w->out, v.total);
		first = false;
	}
	if (!first)
		output_char(&w->out, '}');
}

#include "record/show_json.inc"

/* ---- kinds --------------------------------------------------------------------------------- */

static kymo_status_t call(struct stream_sink *s, const struct rec *r)
{
	struct json_writer *w = json_writer_of(s);
	struct output *o = &w->out;
	const char *status;

	if (w->o.device_only)
		return KYMO_OK;
	status = rec_status_name(&w->t->ops[r->op], r->status);
	begin_record(w, "call", r);
	json_key_unsigned(o, "id", r->id);
	if (r->parent)
		json_key_unsigned(o, "parent", r->parent);
	json_key_signed(o, "status", r->status);
	if (status)
		json_key_text(o, "status_name", status);
	json_key_bool(o, "ok", r->ok);
	if (r->unwound)
		json_key_bool(o, "unwound", true);
	if (r->external)
		json_key_unsigned(o, "external", r->external);
	if (r->scope)
		json_key_signed(o, "scope", r->scope);
	if (r->site)
		json_key_unsigned(o, "site", r->site);
	if (r->stack)
		json_key_unsigned(o, "stack", r->stack);
	arguments(w, r);
	cut(w, r);
	return json_close_record(w);
}

static void device(struct json_writer *w, const struct rec_device *d)
{
	struct output *o = &w->out;

	json_key_unsigned(o, "correlation", d->correlation);
	if (device_timed(d)) {
		json_key_signed(o, "queued", since(w, d->queued));
		json_key_signed(o, "submitted", since(w, d->submitted));
	} else {
		json_key_text(o, "untimed", name_untimed(d->untimed));
	}
	if (d->submit)
		json_key_signed(o, "call_start", since(w, d->submit));
	if (d->status)
		json_key_signed(o, "status", d->status);
	if (d->causal_violation)
		json_key_bool(o, "causal_violation", true);
}

static void size(struct output *o, const char *key, const uint64_t v[3], uint32_t dims)
{
	json_key(o, key, false);
	output_char(o, '[');
	for (uint32_t i = 0; i < dims && i < 3; i++) {
		if (i)
			output_char(o, ',');
		output_unsigned(o, v[i]);
	}
	output_char(o, ']');
}

/* Only where a runtime tells it. */
static void launch(struct output *o, const struct rec_launch *l)
{
	const uint64_t cluster[3] = {l->cluster[0], l->cluster[1], l->cluster[2]};

	if (!rec_launch_is_set(l))
		return;
	json_key_unsigned(o, "registers", l->registers);
	json_key_unsigned(o, "static_shared", l->static_shared);
	json_key_unsigned(o, "dynamic_shared", l->dynamic_shared);
	json_key_unsigned(o, "local_memory", l->local_memory);
	size(o, "cluster", cluster, 3);
	json_key_unsigned(o, "graph", l->graph);
	json_key_unsigned(o, "graph_node", l->graph_node);
}

static kymo_status_t dispatch(struct stream_sink *s, const struct rec_dispatch *r)
{
	struct json_writer *w = json_writer_of(s);
	struct output *o = &w->out;

	begin_device(w, "dispatch", &r->base, &r->device);
	json_key_text(o, "kernel_name", w->t->kernels[r->kernel].name);
	json_key_unsigned(o, "kernel", r->kernel);
	json_key_unsigned(o, "agent", r->agent);
	json_key_unsigned(o, "queue", r->queue);
	size(o, "global", r->global, r->dims);
	size(o, "local", r->local, r->dims);
	size(o, "offset", r->offset, r->dims);
	launch(o, &r->launch);
	show_dispatch(o, w->t, r);
	device(w, &r->device);
	return json_close_record(w);
}

static kymo_status_t copy(struct stream_sink *s, const struct rec_copy *r)
{
	struct json_writer *w = json_writer_of(s);
	struct output *o = &w->out;

	begin_device(w, "copy", &r->base, &r->device);
	json_key_unsigned(o, "bytes", r->bytes);
	json_key_unsigned(o, "queue", r->queue);
	json_key_unsigned(o, "source_agent", r->source_agent);
	json_key_text(o, "source_kind", name_memory_kind(r->source_kind));
	json_key_unsigned(o, "destination_agent", r->destination_agent);
	json_key_text(o, "destination_kind", name_memory_kind(r->destination_kind));
	json_key_bool(o, "blocking", r->blocking);
	show_copy(o, w->t, r);
	device(w, &r->device);
	return json_close_record(w);
}

static kymo_status_t allocation(struct stream_sink *s, const struct rec_allocation *r)
{
	struct json_writer *w = json_writer_of(s);
	struct output *o = &w->out;

	if (w->o.device_only)
		return KYMO_OK;
	begin_record(w, "allocation", &r->base);
	json_key_text(o, "what", name_allocation_what(r->what));
	json_key_text(o, "memory", name_memory_kind(r->kind));
	json_key_unsigned(o, "bytes", r->bytes);
	json_key_hex(o, "address", r->address);
	json_key_unsigned(o, "allocation", r->allocation);
	json_key_unsigned(o, "parent_allocation", r->parent);
	json_key_unsigned(o, "agent", r->agent);
	json_key_unsigned(o, "correlation", r->correlation);
	show_allocation(o, w->t, r);
	return json_close_record(w);
}

static kymo_status_t sync(struct stream_sink *s, const struct rec_sync *r)
{
	struct json_writer *w = json_writer_of(s);

	if (w->o.device_only)
		return KYMO_OK;
	begin_record(w, "sync", &r->base);
	json_key_unsigned(&w->out, "queue", r->queue);
	json_key_unsigned(&w->out, "events", r->count);
	if (r->event)
		json_key_unsigned(&w->out, "event", r->event);
	json_key_unsigned(&w->out, "correlation", r->correlation);
	show_sync(&w->out, w->t, r);
	return json_close_record(w);
}

static kymo_status_t marker(struct stream_sink *s, const struct rec_marker *r)
{
	struct json_writer *w = json_writer_of(s);
	struct output *o = &w->out;

	if (w->o.device_only)
		return KYMO_OK;
	begin_record(w, "marker", &r->base);
	json_key(o, "name", false);
	output_json_bytes(o, r->text, r->text_length);
	json_key_text(o, "marker_domain", w->t->strings[r->domain].text);
	json_key_text(o, "category", w->t->strings[r->category].text);
	json_key_unsigned(o, "color", r->color);
	json_key_signed(o, "scope", r->scope);
	json_key_signed(o, "parent_scope", r->base.scope);
	json_key_unsigned(o, "starter", r->starter);
	json_key_bool(o, "left_open", r->left_open);
	json_key(o, "payload", false);
	payload_json(o, r);
	show_marker(o, w->t, r);
	return json_close_record(w);
}

/* What was lost is a record of its own kind, shown as it is. */
static kymo_status_t device_sample(struct stream_sink *s, const struct rec_device_sample *r)
{
	struct json_writer *w = json_writer_of(s);
	const struct t_code *code = &w->t->codes[r->code];
	struct output *o = &w->out;

	begin_record(w, r->lost || r->full ? "device_sample_loss" : "device_sample", &r->base);
	json_key_unsigned(o, "agent", r->agent);
	if (r->lost || r->full) {
		json_key_unsigned(o, "lost", r->lost);
		json_key_unsigned(o, "buffer_full", r->full);
		return json_close_record(w);
	}
	json_key_text(o, "function", code->function);
	json_key_unsigned(o, "offset", code->offset);
	json_key_hex(o, "module", code->module);
	if (code->line) {
		json_key_text(o, "file", code->file);
		json_key_unsigned(o, "line", code->line);
	}
	json_key_text(o, "reason", w->t->strings[r->reason].text);
	json_key_unsigned(o, "samples", r->samples);
	json_key_unsigned(o, "idle", r->idle);
	json_key_unsigned(o, "cycles", r->cycles);
	json_key_unsigned(o, "correlation", r->correlation);
	show_device_sample(o, w->t, r);
	return json_close_record(w);
}

static kymo_status_t other(struct stream_sink *s, const struct rec *r)
{
	struct json_writer *w = json_writer_of(s);

	if (w->o.device_only)
		return KYMO_OK;
	begin_record(w, "other", r);
	arguments(w, r);
	cut(w, r);
	return json_close_record(w);
}

static kymo_status_t comm(struct stream_sink *s, const struct rec_comm *r)
{
	struct json_writer *w = json_writer_of(s);

	if (w->o.device_only)
		return KYMO_OK;
	begin_record(w, "other", &r->base);
	arguments(w, &r->base);
	cut(w, &r->base);
	show_comm(&w->out, w->t, r);
	return json_close_record(w);
}

static kymo_status_t loss(struct stream_sink *s, const struct rec_loss *r)
{
	struct json_writer *w = json_writer_of(s);
	struct output *o = &w->out;

	json_open_record(w, "loss");
	json_key_unsigned(o, "thread", r->thread);
	if (!r->thread)
		json_key_unsigned(o, "process", r->process);
	json_key(o, "count", false);
	if (r->count)
		output_unsigned(o, r->count);
	else
		output_text(o, "null");
	json_key_signed(o, "start", since(w, r->after));
	json_key_signed(o, "end", since(w, r->before));
	return json_close_record(w);
}

void json_set_records(struct stream_sink *s)
{
	s->call = call;
	s->dispatch = dispatch;
	s->copy = copy;
	s->allocation = allocation;
	s->sync = sync;
	s->marker = marker;
	s->comm = comm;
	s->device_sample = device_sample;
	s->other = other;
	s->loss = loss;
	s->matches = true;
}

bool json_has_own_keys(const char *domain)
{
	return shown_by_own_code(domain);
}
