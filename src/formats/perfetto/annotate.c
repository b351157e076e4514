/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Debug annotations of host records: every argument under its own name and with its own type, the
 * error if there was one, the ids that tie the record to others, and where it was called from.
 */
#include "formats/perfetto/writer.h"

#include <string.h>

#include "stream/reference.h"

uint64_t flow_id(uint32_t process, uint64_t correlation)
{
	return (uint64_t)process << 48 ^ correlation;
}

uint64_t flow_of_message(uint64_t match)
{
	return UINT64_C(1) << 63 | match;
}

/* Renders what has no type of its own in Perfetto: enumerators, flags, raw bytes. */
static void set_rendered(struct packet *p, Pf__DebugAnnotation *a, const struct t_field *f,
			 const struct wire_value *v)
{
	char text[512], *keep;
	size_t n = rec_value_text(NULL, f, v, text, sizeof(text));

	if (n >= sizeof(text))
		n = sizeof(text) - 1;
	keep = packet_room(p, n + 1);
	if (!keep)
		return;
	memcpy(keep, text, n);
	keep[n] = '\0';
	packet_set_interned(p, a, keep);
}

/* The name of what a field refers to, or its number. */
static void set_reference(struct perfetto *p, Pf__DebugAnnotation *a, const struct t_field *f,
			  const struct wire_value *v)
{
	char room[REFERENCE_TEXT], *keep;
	const char *name = reference_name(p->trace, f->reference, v->u, room, sizeof(room));

	keep = *name ? packet_room(&p->packet, strlen(name) + 1) : NULL;
	if (keep)
		packet_set_interned(&p->packet, a, strcpy(keep, name));
	else
		packet_set_uint(a, v->u);
}

/* A number of kind `kind`; `v` is the widened value. */
static void set_number(struct packet *p, Pf__DebugAnnotation *a, const struct t_field *f,
		       const struct wire_value *v)
{
	switch (v->kind) {
	case KYMO_KIND_SIGNED:
	case KYMO_KIND_TIME:
		packet_set_int(a, v->i);
		break;
	case KYMO_KIND_FLOAT:
		packet_set_double(a, v->f);
		break;
	case KYMO_KIND_POINTER:
	case KYMO_KIND_HANDLE:
		packet_set_pointer(a, v->u);
		break;
	case KYMO_KIND_BOOL:
		packet_set_bool(a, v->u != 0);
		break;
	case KYMO_KIND_ENUM:
	case KYMO_KIND_FLAGS:
		set_rendered(p, a, f, v);
		break;
	default:
		packet_set_uint(a, v->u);
		break;
	}
}

static double element_float(uint64_t bits, uint8_t size)
{
	double d;
	float f;
	uint32_t low = (uint32_t)bits;

	memcpy(&d, &bits, sizeof(d));
	memcpy(&f, &low, sizeof(f));
	return size == 4 ? (double)f : d;
}

static void set_elements(struct packet *p, Pf__DebugAnnotation *a, const struct t_field *f,
			 const struct wire_value *v)
{
	struct t_field element = *f;
	size_t i, n;
	bool cut = v->total > v->count;

	element.kind = f->element;
	n = packet_array(p, a, v->count + (cut ? 1u : 0u));
	if (!n)
		packet_set_interned(p, a, v->total ? "..." : "[]");
	for (i = 0; i < n; i++) {
		struct wire_value e = {.present = true, .kind = f->element};

		if (i == v->count || (i + 1 == n && n < v->count)) {
			packet_set_interned(p, a->array_values[i], "...");
			continue;
		}
		e.u = wire_element(v, f->element, f->size, (uint32_t)i);
		if (f->element == KYMO_KIND_FLOAT)
			e.f = element_float(e.u, f->size);
		set_number(p, a->array_values[i], &element, &e);
	}
}

static void set_value(struct perfetto *pf, Pf__DebugAnnotation *a, const struct t_field *f,
		      const struct wire_value *v)
{
	struct packet *p = &pf->packet;

	if (f->reference)
		set_reference(pf, a, f, v);
	else if (f->kind == KYMO_KIND_STRING)
		packet_set_text(p, a, v->data, v->count, v->total > v->count);
	else if (f->kind == KYMO_KIND_BYTES)
		set_rendered(p, a, f, v);
	else if (f->kind == KYMO_KIND_ARRAY)
		set_elements(p, a, f, v);
	else
		set_number(p, a, f, v);
}

static void annotate_fields(struct perfetto *p, const struct rec *r)
{
	struct rec_fields walk;
	const struct t_field *f;
	struct wire_value v;

	if (!r->wire)
		return;
	rec_fields_init(&walk, p->trace, r);
	while (rec_fields_next(&walk, &f, &v)) {
		Pf__DebugAnnotation *a = v.present ? packet_annotation(&p->packet, f->name) : NULL;

		if (a)
			set_value(p, a, f, &v);
	}
}

static void annotate_error(struct perfetto *p, const struct rec *r)
{
	const char *name = rec_status_name(&p->trace->ops[r->op], r->status);

	if (name)
		packet_add_text(&p->packet, "error", name);
	else
		packet_add_int(&p->packet, "error", r->status);
	/* A category of its own makes errors searchable whatever their API. */
	packet_category(&p->packet, "error");
}

static void annotate_place(struct perfetto *p, const struct rec *r)
{
	const struct trace *t = p->trace;
	struct symbols *symbols;

	if (r->site && r->site < t->sites_count && t->sites[r->site].function)
		packet_site(&p->packet, r->site, &t->sites[r->site], t->sites_count);
	symbols = r->stack && r->stack < t->stacks_count ? stacks_symbols(p) : NULL;
	if (symbols)
		packet_stack(&p->packet, symbols, r->stack);
}

void annotate_scope(struct perfetto *p, int64_t scope, uint32_t path)
{
	if (scope)
		packet_add_int(&p->packet, "scope", scope);
	if (path)
		packet_add_text(&p->packet, "scopes", around_text(&p->around, path));
}

void annotate_record(struct perfetto *p, const struct rec *r)
{
	struct packet *k = &p->packet;

	if (k->bare) {
		if (!r->ok)
			packet_category(k, "error");
		return;
	}
	annotate_fields(p, r);
	if (!r->ok)
		annotate_error(p, r);
	if (r->unwound)
		packet_add_bool(k, "unwound", true);
	if (r->id)
		packet_add_uint(k, "correlation", r->id);
	if (r->parent)
		packet_add_uint(k, "parent", r->parent);
	if (r->external)
		packet_add_uint(k, "external", r->external);
	annotate_scope(p, r->scope, around_path(&p->around, r->process, r->scope));
	annotate_place(p, r);
}
