/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of domains that tools and runtimes publish. They are written as activities are, now and
 * by the calling thread; when and where they took place is in fields that core adds to each op, so
 * that records may come late and in any order.
 */
#include "core/context/context.h"
#include "core/process/process.h"
#include "core/publish/publish.h"
#include "core/tool/tool.h"

#include <stdlib.h>
#include <string.h>

#define ELEMENTS_MAX 4096u /* of a string or array are kept, if the record has room */

struct published {
	struct cap_domain_info info;
	kymo_domain_desc_t desc;
	struct cap_op ops[];
};

static struct published *_Atomic published[CORE_DOMAINS];
static _Atomic uint32_t published_count;
static _Thread_local uint64_t publishing; /* id of the record while tools are told of it */

/* ---- descriptions ---- */

static bool kind_valid(const kymo_field_t *f)
{
	unsigned size = f->size;
	bool whole = size == 1 || size == 2 || size == 4 || size == 8;

	if (!f->name || f->kind < KYMO_KIND_UNSIGNED || f->kind > KYMO_KIND_REF)
		return false;
	if (f->kind == KYMO_KIND_FLOAT ||
	    (f->kind == KYMO_KIND_ARRAY && f->element == KYMO_KIND_FLOAT))
		return size == 4 || size == 8;
	return whole;
}

static bool description_valid(const kymo_domain_desc_t *d)
{
	if (!d->name || !d->ops || d->op_count == 0)
		return false;
	for (uint32_t i = 0; i < d->op_count; i++) {
		const kymo_op_desc_t *op = &d->ops[i];

		if (!op->name || op->field_count > KYMO_PUBLISHED_FIELDS_MAX ||
		    (op->field_count && !op->fields))
			return false;
		for (uint32_t k = 0; k < op->field_count; k++)
			if (!kind_valid(&op->fields[k]))
				return false;
	}
	return true;
}

/* The op with the fields that core adds. */
static bool op_extend(const kymo_op_desc_t *from, kymo_op_desc_t *to)
{
	const kymo_field_t *timed = packed_describe_fields(RECORD_PACKED, record_timed_first);
	kymo_field_t *fields = calloc(from->field_count + TIMED_FIELDS, sizeof(*fields));

	if (!fields || !timed) {
		free(fields);
		return false;
	}
	if (from->field_count)
		memcpy(fields, from->fields, from->field_count * sizeof(*fields));
	memcpy(fields + from->field_count, timed, TIMED_FIELDS * sizeof(*timed));
	*to = *from;
	to->fields = fields;
	to->field_count = (uint16_t)(from->field_count + TIMED_FIELDS);
	to->flags |= KYMO_OP_ACTIVITY | KYMO_OP_TIMED;
	return true;
}

static void published_free(struct published *p)
{
	for (uint32_t i = 0; p->desc.ops && i < p->desc.op_count; i++)
		free((void *)(uintptr_t)p->desc.ops[i].fields);
	free((void *)(uintptr_t)p->desc.ops);
	free(p);
}

static struct published *published_new(const kymo_domain_desc_t *desc)
{
	struct published *p = calloc(1, sizeof(*p) + desc->op_count * sizeof(p->ops[0]));
	kymo_op_desc_t *ops = calloc(desc->op_count, sizeof(*ops));
	bool complete = p && ops;

	for (uint32_t i = 0; complete && i < desc->op_count; i++)
		complete = op_extend(&desc->ops[i], &ops[i]);
	if (!p || !ops) {
		free(ops);
		free(p);
		return NULL;
	}
	p->desc = (kymo_domain_desc_t){sizeof(p->desc), desc->name,     desc->title,
				       desc->version,   desc->op_count, ops};
	p->info.desc = &p->desc;
	p->info.ops = p->ops;
	if (complete)
		return p;
	published_free(p);
	return NULL;
}

kymo_status_t kymo_domain_publish(const kymo_domain_desc_t *domain, kymo_published_domain_t *out)
{
	kymo_status_t status = core_changeable();
	struct cap_domain *registered;
	struct published *p;
	uint32_t n;

	if (!domain || !out)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (domain->size < sizeof(*domain))
		return KYMO_ERROR_INCOMPATIBLE;
	if (!description_valid(domain))
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (status != KYMO_OK)
		return status;
	p = published_new(domain);
	if (!p)
		return KYMO_ERROR_NO_MEMORY;
	status = cap_domain_register(&p->info, &registered);
	if (status != KYMO_OK) {
		published_free(p);
		return status;
	}
	n = atomic_fetch_add(&published_count, 1); /* there are fewer than domains */
	atomic_store(&published[n], p);
	out->handle = n + 1;
	return KYMO_OK;
}

/* ---- values ---- */

static void put_value(struct wire_enc *e, unsigned i, const kymo_field_t *f, const kymo_value_t *v)
{
	switch (f->kind) {
	case KYMO_KIND_FLOAT:
		if (f->size == 4)
			wire_float(e, i, (float)v->f);
		else
			wire_double(e, i, v->f);
		break;
	case KYMO_KIND_POINTER:
	case KYMO_KIND_HANDLE:
		wire_pointer(e, i, (const void *)(uintptr_t)v->u);
		break;
	case KYMO_KIND_STRING:
	case KYMO_KIND_BYTES:
		wire_array(e, i, v->data, v->count, 1, ELEMENTS_MAX);
		break;
	case KYMO_KIND_ARRAY:
		wire_array(e, i, v->data, v->count, f->size, ELEMENTS_MAX);
		break;
	default:
		wire_signed(e, i, (int64_t)v->u, f->size);
	}
}

static void put_values(struct wire_enc *e, const kymo_op_desc_t *op, unsigned own,
		       const kymo_publication_t *r)
{
	size_t stride = r->value_count ? r->values[0].size : 0;
	const char *at = (const char *)r->values;

	for (unsigned i = 0; i < own && i < r->value_count; i++, at += stride) {
		const kymo_value_t *v = (const kymo_value_t *)(const void *)at;

		if (v->present)
			put_value(e, i, &op->fields[i], v);
	}
}

/* ---- publishing ---- */

static kymo_status_t check(const struct published *p, uint32_t op, const kymo_publication_t *r,
			   uint32_t *track)
{
	if (r->size < sizeof(*r) || !core_size_known(r, sizeof(*r)))
		return core_refuse_size();
	if (!p || op >= p->desc.op_count || !publish_clock_known(r->clock) ||
	    !publish_track(r->track, track))
		return KYMO_ERROR_NOT_FOUND;
	if (r->end < r->start || (r->value_count && !r->values) ||
	    r->value_count + TIMED_FIELDS > p->desc.ops[op].field_count)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (r->value_count && r->values[0].size < sizeof(kymo_value_t))
		return KYMO_ERROR_INCOMPATIBLE;
	return publishing ? KYMO_ERROR_STATE : KYMO_OK;
}

void core_timed_put(struct wire_enc *e, unsigned at, const kymo_publication_t *r, uint32_t track)
{
	uint64_t start = publish_clock_ns(r->clock, r->start);
	uint64_t end = publish_clock_ns(r->clock, r->end);

	wire_unsigned(e, at + TIMED_PARENT, r->parent);
	wire_unsigned(e, at + TIMED_TRACK, track);
	wire_unsigned(e, at + TIMED_CLOCK, publish_clock_id(r->clock));
	wire_unsigned(e, at + TIMED_START, start);
	wire_unsigned(e, at + TIMED_DURATION, end - start);
	wire_signed(e, at + TIMED_STATUS, r->status, 4);
}

bool core_publishing_begin(uint64_t id)
{
	if (publishing)
		return false;
	publishing = id;
	return true;
}

void core_publishing_end(void)
{
	publishing = 0;
}

static struct published *domain_of(kymo_published_domain_t domain)
{
	if (!domain.handle || domain.handle > atomic_load(&published_count))
		return NULL;
	return atomic_load(&published[domain.handle - 1]);
}

static void publish(const kymo_op_desc_t *desc, struct cap_op *op, const kymo_publication_t *record,
		    uint32_t track, uint64_t *id)
{
	unsigned own = desc->field_count - TIMED_FIELDS;
	struct cap_submission submission;
	uint64_t now = tick_now();
	struct cap_frame f;
	struct wire_enc e;

	if (!cap_submission_take(&submission, NULL, op, NULL))
		return;
	if (track)
		submission.scope = 0; /* the calling thread's */
	if (cap_activity_begin(&f, &e, op, &submission, now, now, desc->field_count)) {
		if (id)
			*id = f.id;
		put_values(&e, desc, own, record);
		core_timed_put(&e, own, record, track);
		core_publishing_begin(f.id);
		cap_activity_commit(&f, &e);
		core_publishing_end();
	}
	cap_submission_end(&submission);
}

kymo_status_t kymo_publish(kymo_published_domain_t domain, uint32_t op,
			   const kymo_publication_t *record, uint64_t *id)
{
	kymo_status_t status = core_changeable();
	struct published *p = domain_of(domain);
	uint32_t track;

	if (!record)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (status == KYMO_OK)
		status = check(p, op, record, &track);
	if (status != KYMO_OK)
		return status;
	if (id)
		*id = 0;
	publish(&p->desc.ops[op], &p->ops[op], record, track, id);
	return KYMO_OK;
}

const struct cap_op *core_published_op(kymo_published_domain_t domain, uint32_t op)
{
	return &domain_of(domain)->ops[op];
}

void core_publish_on(kymo_published_domain_t domain, uint32_t number, uint64_t buffers,
		     const kymo_publication_t *record, uint32_t thread)
{
	struct published *p = domain_of(domain);
	struct cap_op op = {.wire = p->ops[number].wire,
			    .number = p->ops[number].number,
			    .domain = p->ops[number].domain};

	atomic_store(&op.buffers, buffers);
	publish(&p->desc.ops[number], &op, record, thread, NULL);
}

/* ---- reading them again, for tools ---- */

bool core_timed_read(const kymo_op_desc_t *op, const struct wire_record *record,
		     struct core_timed *out)
{
	struct wire_value v[TIMED_FIELDS], skip;
	unsigned own = op->field_count - TIMED_FIELDS;
	struct wire_cursor c;

	if (record->no_fields)
		return false;
	wire_cursor_init(&c, record);
	for (unsigned i = 0; i < op->field_count; i++) {
		const kymo_field_t *f = &op->fields[i];

		if (!wire_field(&c, f->kind, f->element, f->size, i < own ? &skip : &v[i - own]))
			return false;
	}
	out->id = record->id ? record->id : publishing;
	out->parent = v[TIMED_PARENT].u;
	out->track = (uint32_t)v[TIMED_TRACK].u;
	out->status = (int32_t)v[TIMED_STATUS].i;
	out->start = publish_clock_host((uint32_t)v[TIMED_CLOCK].u, v[TIMED_START].u);
	out->end = publish_clock_host((uint32_t)v[TIMED_CLOCK].u,
				      v[TIMED_START].u + v[TIMED_DURATION].u);
	return true;
}
