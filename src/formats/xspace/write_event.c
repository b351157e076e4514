/* SPDX-License-Identifier: Apache-2.0 */
/* An event, and its stats; see writer.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/xspace/writer.h"
#include "stream/payload.h"

/* Picoseconds that the format has room for. */
#define NS_MAX (INT64_MAX / 1000)

/* ---- parts of messages ----------------------------------------------------------------------- */

static size_t varint(uint64_t v, uint8_t out[10])
{
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		out[n++] = (uint8_t)(v | 0x80);
	out[n++] = (uint8_t)v;
	return n;
}

/* Of a field with a number below 16. */
size_t head_size(uint64_t length)
{
	uint8_t bytes[10];

	return 1 + varint(length, bytes);
}

void pack_head(struct text *out, unsigned field, uint64_t length)
{
	uint8_t bytes[11] = {(uint8_t)(field << 3 | 2)};

	text_add_bytes(out, (const char *)bytes, 1 + varint(length, bytes + 1));
}

void pack_message(struct xspace_writer *w, struct text *out, const ProtobufCMessage *m)
{
	size_t n = protobuf_c_message_get_packed_size(m);
	uint8_t *bytes = malloc(n + 1);

	if (bytes) {
		protobuf_c_message_pack(m, bytes);
		text_add_bytes(out, (const char *)bytes, n);
	}
	w->failed |= !bytes || out->failed;
	free(bytes);
}

void pack_field(struct xspace_writer *w, struct text *out, unsigned field,
		const ProtobufCMessage *m)
{
	pack_head(out, field, protobuf_c_message_get_packed_size(m));
	pack_message(w, out, m);
}

/* ---- stats ----------------------------------------------------------------------------------- */

static bool is_there(const struct event *e, int64_t id)
{
	for (size_t i = 0; i < e->message.n_stats; i++)
		if (e->stats[i].metadata_id == id)
			return true;
	return false;
}

/* A stat of that name; NULL: the event has one already, or no room. */
static Xs__Stat *add_stat(struct event *e, const char *name, size_t length)
{
	int64_t id = names_get(&e->plane->stats, &e->w->scratch, name, length);
	Xs__Stat *s;

	e->w->failed |= !id;
	if (!id || is_there(e, id) || e->message.n_stats == STATS_MAX) {
		unplaced_add(&e->w->unplaced, "values of one name, or too many, in an event", 1);
		return NULL;
	}
	s = &e->stats[e->message.n_stats];
	xs__stat__init(s);
	s->metadata_id = id;
	e->list[e->message.n_stats] = s;
	e->owned[e->message.n_stats++] = NULL;
	return s;
}

static void set_unsigned(Xs__Stat *s, uint64_t v)
{
	if (!s)
		return;
	s->value_case = XS__STAT__VALUE_UINT64_VALUE;
	s->uint64_value = v;
}

static void set_signed(Xs__Stat *s, int64_t v)
{
	if (!s)
		return;
	s->value_case = XS__STAT__VALUE_INT64_VALUE;
	s->int64_value = v;
}

static void set_real(Xs__Stat *s, double v)
{
	if (!s)
		return;
	s->value_case = XS__STAT__VALUE_DOUBLE_VALUE;
	s->double_value = v;
}

/* Where `shared` it is kept once for the plane, while that has room. */
static void set_text(struct event *e, Xs__Stat *s, const char *text, size_t length, bool shared)
{
	struct names one = {0},
		     *n = shared && e->plane->stats.count < TEXTS_MAX ? &e->plane->stats : &one;
	uint32_t id;

	if (!s)
		return;
	id = names_get(n, &e->w->scratch, text, length);
	e->w->failed |= !id;
	if (n != &one || !id) {
		s->value_case = XS__STAT__VALUE_REF_VALUE;
		s->ref_value = id;
	} else {
		s->value_case = XS__STAT__VALUE_STR_VALUE;
		s->str_value = e->owned[s - e->stats] = one.texts[0];
		one.texts[0] = NULL;
	}
	names_release(&one);
}

void xevent_unsigned(struct event *e, const char *name, uint64_t v)
{
	set_unsigned(add_stat(e, name, strlen(name)), v);
}

void xevent_signed(struct event *e, const char *name, int64_t v)
{
	set_signed(add_stat(e, name, strlen(name)), v);
}

void xevent_real(struct event *e, const char *name, double v)
{
	set_real(add_stat(e, name, strlen(name)), v);
}

void xevent_text(struct event *e, const char *name, const char *s, size_t length)
{
	set_text(e, add_stat(e, name, strlen(name)), s, length, true);
}

void xevent_word(struct event *e, const char *name, const char *s)
{
	xevent_text(e, name, s, strlen(s));
}

/* ---- arguments ------------------------------------------------------------------------------- */

/* Names with a meaning of their own: an argument of that name is no such value. */
static bool is_reserved(const char *name, size_t length)
{
	static const char *const names[] = {"correlation_id",
					    "scope_range_id",
					    "device_id",
					    "context_id",
					    "stream",
					    "group_id",
					    "kernel_details",
					    "memcpy_details",
					    "hlo_op",
					    "memalloc_details",
					    "MemFree_details",
					    "Memset_details",
					    "hlo_module",
					    "program_id",
					    "nvtx_range",
					    "tf_op",
					    "flow",
					    "process_id",
					    "domain",
					    "category",
					    "color",
					    "status",
					    "activity",
					    "left_open",
					    "external_id",
					    "cuda_graph_id",
					    "sync",
					    "MemoryResidency_details"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
			return true;
	return false;
}

/* NULL: it has no place, which was counted. */
static Xs__Stat *add_argument(struct event *e, const char *name, size_t length)
{
	char longer[300];
	int n;

	if (!is_reserved(name, length))
		return add_stat(e, name, length);
	n = snprintf(longer, sizeof(longer), "arg:%.*s", (int)length, name);
	return add_stat(e, longer, (size_t)n);
}

static void set_value(struct event *e, Xs__Stat *s, const struct t_field *f,
		      const struct wire_value *v)
{
	char text[1024];
	int n;

	if (f->kind == KYMO_KIND_STRING) {
		set_text(e, s, (const char *)v->data, v->count, true);
	} else if (f->kind == KYMO_KIND_SIGNED) {
		set_signed(s, v->i);
	} else if (f->kind == KYMO_KIND_UNSIGNED || f->kind == KYMO_KIND_SIZE) {
		set_unsigned(s, v->u);
	} else if (f->kind == KYMO_KIND_FLOAT) {
		set_real(s, v->f);
	} else if (f->kind == KYMO_KIND_POINTER || f->kind == KYMO_KIND_HANDLE) {
		n = snprintf(text, sizeof(text), "0x%llx", (unsigned long long)v->u);
		set_text(e, s, text, (size_t)n, false);
	} else {
		rec_value_text(e->w->t, f, v, text, sizeof(text));
		set_text(e, s, text, strlen(text), true);
	}
}

void xevent_fields(struct event *e, const struct rec *r)
{
	const struct t_field *f;
	struct rec_fields fields;
	struct wire_value v;

	if (!r->wire || r->wire->no_fields)
		return;
	rec_fields_init(&fields, e->w->t, r);
	while (rec_fields_next(&fields, &f, &v)) {
		/* Out-values of failed calls are no values. */
		if (!v.present || (!r->ok && f->flags & KYMO_FIELD_OUT))
			continue;
		set_value(e, add_argument(e, f->name, strlen(f->name)), f, &v);
	}
}

void xevent_payload(struct event *e, const struct rec_marker *r)
{
	struct payload_value v;
	struct payload p;

	payload_init(&p, r);
	while (payload_next(&p, &v)) {
		Xs__Stat *s = add_argument(e, v.key, v.key_length);

		if (v.type == KYMO_PAYLOAD_STRING) {
			set_text(e, s, (const char *)v.data, v.stored, true);
		} else if (v.type == KYMO_PAYLOAD_INT64) {
			set_signed(s, v.i);
		} else if (v.type == KYMO_PAYLOAD_UINT64) {
			set_unsigned(s, v.u);
		} else if (v.type == KYMO_PAYLOAD_DOUBLE) {
			set_real(s, v.d);
		} else if (s) {
			s->value_case = XS__STAT__VALUE_BYTES_VALUE;
			s->bytes_value =
				(ProtobufCBinaryData){v.stored, (uint8_t *)(uintptr_t)v.data};
		}
	}
	unplaced_add(&e->w->unplaced, "values of ranges that were left out before", p.left_out);
}

/* ---- events ---------------------------------------------------------------------------------- */

void xevent_begin(struct xspace_writer *w, struct event *e, uint32_t plane, uint32_t line,
		  const char *name, size_t length, const struct rec *r, int64_t start, int64_t end)
{
	e->w = w;
	e->plane = &w->planes[plane];
	e->item = (struct item){.key = {.time = start},
				.end = end,
				.line = line,
				.plane = plane,
				.process = r->process,
				.scope = r->scope};
	xs__event__init(&e->message);
	e->message.stats = e->list;
	e->message.metadata_id = names_get(&e->plane->events, &w->scratch, name, length);
	w->failed |= !e->message.metadata_id;
}

static bool set_times(struct event *e)
{
	int64_t offset, last;

	if (__builtin_sub_overflow(e->item.key.time, e->w->t->origin, &offset) ||
	    __builtin_sub_overflow(e->item.end, e->w->t->origin, &last) || offset < 0 ||
	    last < offset || last > NS_MAX)
		return false;
	e->message.when_case = XS__EVENT__WHEN_OFFSET_PS;
	e->message.offset_ps = offset * 1000;
	e->message.duration_ps = (last - offset) * 1000;
	return true;
}

void xevent_end(struct event *e)
{
	struct xspace_writer *w = e->w;
	int64_t scope = scope_number(w, e->item.process, e->item.scope);
	struct line *l = &w->lines[e->item.line];

	if (scope)
		xevent_signed(e, "scope_range_id", scope);
	if (!set_times(e)) {
		unplaced_leave(&w->unplaced, "events at times that it cannot hold", 1, 1);
	} else if (l->plane && l->plane != e->item.plane + 1) {
		unplaced_leave(&w->unplaced, "events whose queue is another device's", 1, 1);
	} else {
		w->packed.length = 0;
		pack_message(w, &w->packed, &e->message.base);
		e->item.offset = w->events.written;
		e->item.length = (uint32_t)w->packed.length;
		pile_add(w, &w->events, w->packed.s, w->packed.length);
		l->plane = e->item.plane + 1;
		spool_failed(w, spool_add(&w->spool, &e->item));
	}
	for (size_t i = 0; i < e->message.n_stats; i++)
		free(e->owned[i]);
}

/* ---- what scopes say ------------------------------------------------------------------------- */

/* The innermost scope that says it has it, as readers of annotations take it. */
struct said {
	const struct scope *first, *module, *op, *program, *step;
};

static struct said said_by(const struct xspace_writer *w, const struct item *i)
{
	const struct scope *s = scope_find(w, i->process, i->scope);
	struct said d = {.first = s};

	for (; s; s = scope_above(w, s)) {
		d.module = d.module || !s->module ? d.module : s;
		d.op = d.op || !s->op ? d.op : s;
		d.program = d.program || !s->has_program ? d.program : s;
		d.step = d.step || !s->has_step ? d.step : s;
	}
	return d;
}

static void late_text(struct event *e, const char *name, uint32_t text)
{
	if (text)
		xevent_word(e, name, e->w->texts.texts[text - 1]);
}

void xevent_scopes(struct xspace_writer *w, const struct item *i, struct text *out)
{
	struct said d = said_by(w, i);
	struct event e; /* large: what is not used is left as it is */

	out->length = 0;
	if (!d.first)
		return;
	e.w = w;
	e.plane = &w->planes[i->plane];
	xs__event__init(&e.message);
	e.message.stats = e.list;
	if (d.step)
		xevent_signed(&e, "group_id", d.step->step);
	if (i->device)
		late_text(&e, "nvtx_range", d.first->name);
	if (i->device && d.module)
		late_text(&e, "hlo_module", d.module->module);
	if (i->device && d.op)
		late_text(&e, "hlo_op", d.op->op);
	if (i->device && d.program)
		xevent_signed(&e, "program_id", d.program->program);
	if (e.message.n_stats)
		pack_message(w, out, &e.message.base);
	for (size_t n = 0; n < e.message.n_stats; n++)
		free(e.owned[n]);
}
