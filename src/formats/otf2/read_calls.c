/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that regions stand for, their arguments, and what attributes say. See reader.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "formats/otf2/reader.h"
#include "stream/payload.h"

enum { VALUES_MAX = 3500 /* bytes of what one range was given */ };

static const char too_many[] = "arguments beyond 24 of a call or range, or of a further kind";

struct callee *otf2r_callee(struct reader *r, uint32_t region)
{
	struct region *x = &r->regions[region];
	const char *domain;
	uint64_t key, i;

	if (x->callee)
		return &r->callees[x->callee - 1];
	domain = otf2r_domain(r, x->paradigm, x->name);
	key = hash_mix(hash_string(domain), hash_string(x->name));
	map_each(&r->callees_at, key, i) {
		if (strcmp(r->callees[i - 1].name, x->name) == 0 &&
		    strcmp(r->callees[i - 1].domain, domain) == 0) {
			x->callee = (uint32_t)i;
			return &r->callees[i - 1];
		}
	}
	if (!vec_reserve(&r->callees, &r->callees_room, r->callees_count, 1) ||
	    !map_add(&r->callees_at, key, r->callees_count + UINT64_C(1))) {
		r->status = KYMO_ERROR_NO_MEMORY;
		return &r->no_callee;
	}
	r->callees[r->callees_count++] = (struct callee){.domain = domain, .name = x->name};
	x->callee = r->callees_count;
	return &r->callees[x->callee - 1];
}

static const char *title_of(const struct reader *r, const char *domain)
{
	static const struct {
		const char *domain, *title;
	} list[] = {{"mpi", "MPI"},
		    {"openmp", "OpenMP"},
		    {"opencl", "OpenCL"},
		    {"cuda", "CUDA driver"},
		    {"cuda_runtime", "CUDA runtime"},
		    {"hip", "HIP"},
		    {"openacc", "OpenACC"},
		    {"function", "Functions"},
		    {"measurement", "Measurement system"},
		    {"pthread", "Threads"},
		    {"kokkos", "Kokkos"},
		    {"shmem", "SHMEM"}};

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++)
		if (strcmp(list[i].domain, domain) == 0)
			return list[i].title;
	return domain;
}

/* Once all arguments that their calls have are known. */
bool otf2r_define_ops(struct reader *r)
{
	struct make_field fields[ARGUMENTS_MAX];

	for (uint32_t i = 0; i < r->callees_count; i++) {
		struct callee *c = &r->callees[i];

		for (uint32_t f = 0; f < c->field_count; f++)
			fields[f] = (struct make_field){c->fields[f].name, c->fields[f].kind};
		make_domain(r->t, c->domain, title_of(r, c->domain));
		c->op = keyed_op(&r->keyed, c->domain, c->name, fields, c->field_count);
		r->t->ops[c->op].flags |= c->flags;
	}
	for (uint32_t i = 1; i < r->t->open_calls_count; i++)
		r->t->open_calls[i].op = otf2r_callee(r, r->t->open_calls[i].op)->op;
	return !r->keyed.failed && !trace_failed(r->t);
}

/* ---- arguments ------------------------------------------------------------------------------- */

static uint32_t field_of(struct reader *r, struct callee *c, uint64_t key, const char *name,
			 uint8_t kind)
{
	for (uint32_t i = 0; i < c->field_count; i++)
		if (c->fields[i].key == key)
			return i;
	if (r->sink || c->field_count == ARGUMENTS_MAX)
		return UINT32_MAX;
	if (!c->fields)
		c->fields = calloc(ARGUMENTS_MAX, sizeof(*c->fields));
	if (!c->fields) {
		r->status = KYMO_ERROR_NO_MEMORY;
		return UINT32_MAX;
	}
	c->fields[c->field_count] = (struct callee_field){key, name, kind};
	return c->field_count++;
}

static void keep_argument(struct reader *r, struct place *p, const struct argument *a)
{
	if (p->argument_count - p->frames[p->depth - 1].first_argument >= ARGUMENTS_MAX)
		unplaced_add(&r->unplaced, too_many, 1);
	else if (!vec_reserve(&p->arguments, &p->argument_room, p->argument_count, 1))
		r->status = KYMO_ERROR_NO_MEMORY;
	else
		p->arguments[p->argument_count++] = *a;
}

/* Of the innermost region that is open, where that is a call or a range. */
void otf2r_argument(struct reader *r, struct place *p, uint64_t key, const char *name, uint8_t kind,
		    uint64_t value, const char *text)
{
	struct frame *f = p->depth ? &p->frames[p->depth - 1] : NULL;
	struct callee *c;
	uint32_t field;

	if (f && (f->kind == FRAME_RANGE || f->kind == FRAME_MARK)) {
		keep_argument(r, p, &(struct argument){0, value, text, name, kind});
		return;
	}
	if (f && f->kind == FRAME_SKIP) /* counted as a whole */
		return;
	if (!f || f->kind != FRAME_CALL) {
		unplaced_add(&r->unplaced, "values of what is no call", 1);
		return;
	}
	c = otf2r_callee(r, f->region);
	field = field_of(r, c, key, name && *name ? name : "value", kind);
	if (field == UINT32_MAX || c->fields[field].kind != kind)
		unplaced_add(&r->unplaced, too_many, 1);
	else
		keep_argument(r, p, &(struct argument){field, value, text, name, kind});
}

/* The last one of a field counts. */
static const struct argument *argument_of(const struct place *p, const struct frame *f,
					  uint32_t field)
{
	for (uint32_t i = p->argument_count; i-- > f->first_argument;)
		if (p->arguments[i].field == field)
			return &p->arguments[i];
	return NULL;
}

const struct wire_record *otf2r_arguments(struct reader *r, const struct place *p,
					  const struct frame *f)
{
	const struct callee *c = otf2r_callee(r, f->region);

	if (!r->sink || !c->field_count || p->argument_count <= f->first_argument)
		return NULL;
	make_fields_begin(&r->fields, &r->t->ops[c->op]);
	for (uint32_t i = 0; i < c->field_count; i++) {
		const struct argument *a = argument_of(p, f, i);

		if (!a)
			make_absent(&r->fields);
		else if (c->fields[i].kind == KYMO_KIND_STRING)
			make_text(&r->fields, a->text ? a->text : "",
				  a->text ? strlen(a->text) : 0);
		else
			make_number(&r->fields, a->value);
	}
	return make_fields_end(&r->fields);
}

/* What a range was given: numbers and texts. The first byte counts what there was no room for. */
void otf2r_payload(struct reader *r, const struct place *p, const struct frame *f,
		   struct rec_marker *m)
{
	static const uint8_t types[] = {[KYMO_KIND_UNSIGNED] = KYMO_PAYLOAD_UINT64,
					[KYMO_KIND_SIGNED] = KYMO_PAYLOAD_INT64};
	uint32_t left_out = 0;

	if (!r->sink || p->argument_count <= f->first_argument)
		return;
	r->payload.length = 0;
	text_add_bytes(&r->payload, "", 1);
	for (uint32_t i = f->first_argument; i < p->argument_count; i++) {
		const struct argument *a = &p->arguments[i];
		size_t key = strlen(a->name), n = a->text ? strlen(a->text) : sizeof(a->value);

		if (r->payload.length + (key < 255 ? key : 255) + n + 16 > VALUES_MAX)
			left_out++;
		else if (a->kind == KYMO_KIND_STRING)
			payload_put(&r->payload, a->name, key, KYMO_PAYLOAD_STRING,
				    a->text ? a->text : "", a->text ? n : 0, a->text ? n : 0);
		else
			payload_put(&r->payload, a->name, key, types[a->kind], &a->value, n, n);
	}
	if (r->payload.failed || !r->payload.s) {
		r->status = KYMO_ERROR_NO_MEMORY;
		return;
	}
	r->payload.s[0] = (char)left_out;
	m->payload = (const uint8_t *)r->payload.s;
	m->payload_bytes = (uint32_t)r->payload.length;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static uint64_t number_of(OTF2_Type type, OTF2_AttributeValue v)
{
	switch (type) {
	case OTF2_TYPE_UINT8:
		return v.uint8;
	case OTF2_TYPE_UINT16:
		return v.uint16;
	case OTF2_TYPE_UINT32:
		return v.uint32;
	case OTF2_TYPE_INT8:
		return (uint64_t)(int64_t)v.int8;
	case OTF2_TYPE_INT16:
		return (uint64_t)(int64_t)v.int16;
	case OTF2_TYPE_INT32:
		return (uint64_t)(int64_t)v.int32;
	case OTF2_TYPE_INT64:
		return (uint64_t)v.int64;
	case OTF2_TYPE_FLOAT:
	case OTF2_TYPE_DOUBLE:
		return 0;
	case OTF2_TYPE_UINT64:
	case OTF2_TYPE_LOCATION:
		return v.uint64;
	default: /* all others are numbers of definitions */
		return v.stringRef;
	}
}

static const char *name_at(const struct reader *r, OTF2_Type type, OTF2_AttributeValue v)
{
	uint32_t i;

	switch (type) {
	case OTF2_TYPE_STRING:
		return otf2r_text(r, v.stringRef);
	case OTF2_TYPE_REGION:
		i = otf2r_at(&r->regions_at, v.regionRef);
		return i ? r->regions[i - 1].name : "";
	case OTF2_TYPE_LOCATION:
		i = otf2r_at(&r->places_at, v.locationRef);
		return i ? r->places[i - 1].name : "";
	case OTF2_TYPE_LOCATION_GROUP:
		i = otf2r_at(&r->groups_at, v.locationGroupRef);
		return i ? r->groups[i - 1].name : "";
	case OTF2_TYPE_COMM:
		i = otf2r_at(&r->comms_at, v.commRef);
		return i ? r->comms[i - 1].name : "";
	default:
		return NULL;
	}
}

static void take_argument(struct reader *r, struct place *p, uint32_t attribute, OTF2_Type type,
			  OTF2_AttributeValue v)
{
	uint32_t i = otf2r_at(&r->attributes_at, attribute);
	const char *name = i ? r->attributes[i - 1].name : "", *text = name_at(r, type, v);
	char number[40];

	if (type == OTF2_TYPE_DOUBLE || type == OTF2_TYPE_FLOAT) {
		snprintf(number, sizeof(number), "%.17g",
			 type == OTF2_TYPE_DOUBLE ? v.float64 : (double)v.float32);
		text = r->sink ? keyed_string(&r->keyed,
					      keyed_text(&r->keyed, number, strlen(number)))
			       : "";
	}
	if (text)
		otf2r_argument(r, p, attribute, name, KYMO_KIND_STRING, 0, text);
	else
		otf2r_argument(r, p, attribute, name,
			       type >= OTF2_TYPE_INT8 && type <= OTF2_TYPE_INT64
				       ? KYMO_KIND_SIGNED
				       : KYMO_KIND_UNSIGNED,
			       number_of(type, v), NULL);
}

/* Those that have a meaning go to `said`, of a call the others to its arguments. Either may be NULL. */
void otf2r_attributes(struct reader *r, struct place *p, OTF2_AttributeList *list,
		      struct said *said)
{
	uint32_t n = list ? OTF2_AttributeList_GetNumberOfElements(list) : 0;

	for (uint32_t i = 0; i < n; i++) {
		OTF2_AttributeRef attribute;
		OTF2_Type type;
		OTF2_AttributeValue v;
		uint32_t at;
		uint8_t known;

		if (OTF2_AttributeList_GetAttributeByIndex(list, i, &attribute, &type, &v) !=
		    OTF2_SUCCESS)
			continue;
		at = otf2r_at(&r->attributes_at, attribute);
		known = at ? r->attributes[at - 1].known : 0;
		if (known && said) {
			said->has |= UINT64_C(1) << (known - 1);
			said->of[known - 1] = number_of(type, v);
		} else if (!known && p) {
			take_argument(r, p, attribute, type, v);
		}
	}
}
