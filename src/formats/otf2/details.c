/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call says beside its times: arguments and payloads of markers as parameters of the region that
 * was entered, call sites and stacks as calling contexts that an attribute refers to.
 *
 * OTF2 has texts in its definitions, so of those that programs pass only TEXTS_MAX different ones are kept.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "formats/otf2/otf2.h"
#include "record/fields.h"
#include "stream/payload.h"
#include "stream/symbol.h"

#define TEXTS_MAX 65536u
#define KEYS_MAX  4096u

static const char texts[] = "texts of arguments and payloads beyond 65,536 different ones",
		  keys[] = "values of payloads beyond 4,096 different names",
		  damaged[] = "records whose arguments are damaged";

/* ---- texts --------------------------------------------------------------------------------- */

/* NO_STRING: there are too many. */
uint32_t details_text(struct otf2 *w, const char *text)
{
	uint32_t before = w->archive.text_count, number;

	if (w->detail_texts >= TEXTS_MAX && !archive_has_string(&w->archive, text)) {
		unplaced_add(&w->unplaced, texts, 1);
		return NO_STRING;
	}
	number = archive_string(&w->archive, text);
	w->detail_texts += w->archive.text_count - before;
	return number;
}

/* ---- parameters ---------------------------------------------------------------------------- */

/* Its number, defined when it is new. */
static uint32_t parameter_of(struct otf2 *w, const char *name, OTF2_ParameterType type)
{
	uint32_t string = archive_string(&w->archive, name);
	uint64_t key = (uint64_t)string << 8 | type;
	uint64_t number = map_get(&w->parameters, key + 1);

	if (number)
		return (uint32_t)number - 1;
	if (!map_set(&w->parameters, key + 1, w->parameter_count + 1u))
		archive_check(&w->archive, OTF2_ERROR_MEM_ALLOC_FAILED);
	archive_check(&w->archive, OTF2_GlobalDefWriter_WriteParameter(
					   w->archive.defs, w->parameter_count, string, type));
	return w->parameter_count++;
}

struct place { /* where parameters go */
	OTF2_EvtWriter *events;
	uint64_t time;
};

static void put_unsigned(struct otf2 *w, const struct place *p, uint32_t parameter, uint64_t v)
{
	archive_check(&w->archive,
		      OTF2_EvtWriter_ParameterUnsignedInt(p->events, NULL, p->time, parameter, v));
}

static void put_signed(struct otf2 *w, const struct place *p, uint32_t parameter, int64_t v)
{
	archive_check(&w->archive,
		      OTF2_EvtWriter_ParameterInt(p->events, NULL, p->time, parameter, v));
}

static void put_text(struct otf2 *w, const struct place *p, uint32_t parameter, const char *text)
{
	uint32_t string = details_text(w, text);

	if (string != NO_STRING)
		archive_check(&w->archive, OTF2_EvtWriter_ParameterString(p->events, NULL, p->time,
									  parameter, string));
}

/* ---- arguments ----------------------------------------------------------------------------- */

static OTF2_ParameterType type_of(const struct t_field *f)
{
	switch (f->kind) {
	case KYMO_KIND_UNSIGNED:
	case KYMO_KIND_POINTER:
	case KYMO_KIND_HANDLE:
	case KYMO_KIND_BOOL:
	case KYMO_KIND_SIZE:
		return OTF2_PARAMETER_TYPE_UINT64;
	case KYMO_KIND_SIGNED:
	case KYMO_KIND_TIME:
		return OTF2_PARAMETER_TYPE_INT64;
	case KYMO_KIND_REF:
		return f->reference > REFERENCE_OP ? OTF2_PARAMETER_TYPE_STRING
						   : OTF2_PARAMETER_TYPE_UINT64;
	default:
		return OTF2_PARAMETER_TYPE_STRING;
	}
}

/* Parameters of the op's fields, found once. */
static const uint32_t *parameters_of(struct otf2 *w, uint32_t op)
{
	const struct t_op *o = &w->t->ops[op];
	uint32_t *list = w->op_parameters[op];

	if (list)
		return list;
	list = malloc((o->field_count + 1u) * sizeof(*list));
	if (!list) {
		archive_check(&w->archive, OTF2_ERROR_MEM_ALLOC_FAILED);
		return NULL;
	}
	for (uint32_t i = 0; i < o->field_count; i++)
		list[i] = parameter_of(w, o->fields[i].name, type_of(&o->fields[i]));
	w->op_parameters[op] = list;
	return list;
}

static void put_argument(struct otf2 *w, const struct place *p, uint32_t parameter,
			 const struct t_field *field, const struct wire_value *value)
{
	char text[600];

	switch (type_of(field)) {
	case OTF2_PARAMETER_TYPE_UINT64:
		put_unsigned(w, p, parameter, value->u);
		break;
	case OTF2_PARAMETER_TYPE_INT64:
		put_signed(w, p, parameter, value->i);
		break;
	default:
		if (field->kind == KYMO_KIND_STRING)
			snprintf(text, sizeof(text), "%.*s%s", (int)value->count,
				 (const char *)value->data,
				 value->count < value->total ? "..." : "");
		else
			rec_value_text(w->t, field, value, text, sizeof(text));
		put_text(w, p, parameter, text);
	}
}

/* An argument that is not there, as of a null pointer to a result, has no parameter. */
void details_arguments(struct otf2 *w, const struct rec *r, const struct lane *l)
{
	uint32_t count = op_own_fields(&w->t->ops[r->op]), i = 0;
	struct place p = {.time = otf2_time(r->start)};
	const struct t_field *field;
	struct wire_value value;
	const uint32_t *list;
	struct rec_fields f;

	if (!r->wire || !count || !(list = parameters_of(w, r->op)))
		return;
	p.events = archive_events(&w->archive, l->location);
	rec_fields_init(&f, w->t, r);
	for (; i < count && rec_fields_next(&f, &field, &value); i++) {
		if (value.present)
			put_argument(w, &p, list[i], field, &value);
	}
	if (i < count && !r->wire->no_fields)
		unplaced_add(&w->unplaced, damaged, 1);
}

/* ---- payloads of markers ------------------------------------------------------------------- */

static void put_payload(struct otf2 *w, const struct place *p, const char *key,
			const struct payload_value *v)
{
	char text[600];
	size_t n = 0;

	switch (v->type) {
	case KYMO_PAYLOAD_INT64:
		put_signed(w, p, parameter_of(w, key, OTF2_PARAMETER_TYPE_INT64), v->i);
		return;
	case KYMO_PAYLOAD_UINT64:
		put_unsigned(w, p, parameter_of(w, key, OTF2_PARAMETER_TYPE_UINT64), v->u);
		return;
	case KYMO_PAYLOAD_DOUBLE:
		snprintf(text, sizeof(text), "%.17g", v->d);
		break;
	case KYMO_PAYLOAD_STRING:
		snprintf(text, sizeof(text), "%.*s", (int)v->stored, (const char *)v->data);
		break;
	default:
		for (uint32_t i = 0; i < v->stored && n + 3 < sizeof(text); i++)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%02x", v->data[i]);
		text[n] = 0;
	}
	put_text(w, p, parameter_of(w, key, OTF2_PARAMETER_TYPE_STRING), text);
}

void details_payload(struct otf2 *w, const struct rec_marker *r, const struct lane *l)
{
	struct place p = {.time = otf2_time(r->base.start)};
	struct payload_value v;
	struct payload walk;
	char key[300];

	if (!r->payload_bytes)
		return;
	p.events = archive_events(&w->archive, l->location);
	payload_init(&walk, r);
	while (payload_next(&walk, &v)) {
		snprintf(key, sizeof(key), "%.*s", (int)(v.key_length < 256 ? v.key_length : 256),
			 v.key);
		if (w->parameter_count < w->t->ops_count + KEYS_MAX)
			put_payload(w, &p, key, &v);
		else
			unplaced_add(&w->unplaced, keys, 1);
	}
	if (walk.left_out)
		unplaced_add(&w->unplaced, "values of payloads that were not recorded",
			     walk.left_out);
}

/* ---- places in the program ----------------------------------------------------------------- */

static struct symbols *symbols_of(struct otf2 *w)
{
	if (!w->symbols)
		w->symbols = symbols_new(w->t, w->log);
	if (!w->symbols)
		archive_check(&w->archive, OTF2_ERROR_MEM_ALLOC_FAILED);
	return w->symbols;
}

/* `s`: NULL, a place that is not known. */
static uint32_t symbol_context(struct archive *a, uint32_t parent, const struct symbol *s)
{
	uint64_t key = hash_mix(hash_u64(parent), s ? s->number : 0);
	uint32_t context = archive_find_context(a, key), region, line;
	char text[512] = "(unknown)";

	if (context != OTF2_UNDEFINED_CALLING_CONTEXT)
		return context;
	if (s)
		symbol_frame(s, text, sizeof(text));
	region = archive_region(a, text, NULL, OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_SAMPLING,
				ON_HOST);
	line = s && s->file ? archive_source_line(a, s->file, s->line)
			    : OTF2_UNDEFINED_SOURCE_CODE_LOCATION;
	return archive_context(a, key, region, line, parent);
}

static uint32_t symbol_contexts(struct archive *a, uint32_t parent, const struct symbol *s)
{
	if (s->caller)
		parent = symbol_contexts(a, parent, s->caller);
	return symbol_context(a, parent, s);
}

/* Site 0 stands for a place that is not known. */
uint32_t details_context(struct otf2 *w, struct archive *a, uint32_t parent, uint32_t site)
{
	struct symbols *symbols = symbols_of(w);

	if (!symbols)
		return OTF2_UNDEFINED_CALLING_CONTEXT;
	return site ? symbol_contexts(a, parent, symbols_site(symbols, site))
		    : symbol_context(a, parent, NULL);
}

/* Of a stack, or where there is none of a site; undefined: neither is known. */
uint32_t details_path(struct otf2 *w, struct archive *a, uint32_t stack, enum symbols_own own,
		      uint32_t site)
{
	struct symbols *symbols = stack ? symbols_of(w) : NULL;
	uint32_t context = OTF2_UNDEFINED_CALLING_CONTEXT, count;
	const uint32_t *sites;

	if (symbols) {
		sites = symbols_stack(symbols, stack, own, &count);
		for (uint32_t i = count; i-- > 0;)
			context = details_context(w, a, context, sites[i]);
	}
	if (context == OTF2_UNDEFINED_CALLING_CONTEXT && site)
		context = details_context(w, a, context, site);
	return context;
}

/* Before the Enter. */
void details_add_path(struct otf2 *w, const struct rec *r)
{
	uint32_t *known, context;

	if (!r->stack && !r->site)
		return;
	known = r->stack ? &w->stack_paths[r->stack] : &w->site_paths[r->site];
	if (!*known)
		*known = 1 + details_path(w, &w->archive, r->stack, SYMBOLS_CALLER, r->site);
	context = *known - 1;
	if (context != OTF2_UNDEFINED_CALLING_CONTEXT)
		archive_check(&w->archive, OTF2_AttributeList_AddCallingContextRef(
						   w->attributes, ATTRIBUTE_CALL_PATH, context));
}

bool details_begin(struct otf2 *w)
{
	w->op_parameters = calloc(w->t->ops_count, sizeof(*w->op_parameters));
	w->stack_paths = calloc(w->t->stacks_count, sizeof(*w->stack_paths));
	w->site_paths = calloc(w->t->sites_count, sizeof(*w->site_paths));
	w->op_count = w->t->ops_count;
	return w->op_parameters && w->stack_paths && w->site_paths;
}

void details_release(struct otf2 *w)
{
	for (uint32_t i = 0; w->op_parameters && i < w->op_count; i++)
		free(w->op_parameters[i]);
	free(w->op_parameters);
	free(w->stack_paths);
	free(w->site_paths);
	map_release(&w->parameters);
	if (w->symbols)
		symbols_free(w->symbols);
}
