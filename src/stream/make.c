/* SPDX-License-Identifier: Apache-2.0 */
/* See make.h. */
#include "stream/make.h"

#include <stdio.h>
#include <string.h>

#include "base/bulk.h"
#include "record/fields.h"
#include "stream/reference.h"

_Static_assert((int)RECORD_DOMAIN_kernel_line < MAKE_DOMAINS, "domains of the record model");

void make_activities(struct trace *t, struct make_activities *a)
{
	*a = (struct make_activities){.t = t};
}

uint32_t make_domain(struct trace *t, const char *name, const char *title)
{
	uint32_t known = trace_find_domain(t, name);

	if (known)
		return known;
	*trace_add(t, domains) = (struct t_domain){trace_string(t, name, strlen(name)),
						   trace_string(t, title, strlen(title))};
	return t->domains_count - 1;
}

#define FOREIGN "foreign."

const char *make_own_domain(const char *name)
{
	size_t n = strlen(FOREIGN);

	return strncmp(name, FOREIGN, n) == 0 ? name + n : name;
}

bool make_is_foreign_domain(const struct trace *t, uint32_t domain, const char *name)
{
	const char *have = t->domains[domain].name;

	return strcmp(have, name) == 0 || strcmp(make_own_domain(have), name) == 0;
}

uint32_t make_foreign_domain(struct trace *t, const char *name)
{
	char other[96];

	for (unsigned d = 0; d <= RECORD_DOMAIN_kernel_line; d++) {
		const kymo_domain_desc_t *model = packed_describe(RECORD_PACKED, d);

		if (model && strcmp(model->name, name) == 0) {
			snprintf(other, sizeof(other), FOREIGN "%.80s", name);
			return make_domain(t, other, other);
		}
	}
	return make_domain(t, name, name);
}

static const struct t_enum_set *copy_set(struct trace *t, const kymo_enum_set_t *from)
{
	struct t_enum_set *set = from ? trace_alloc(t, sizeof(*set)) : NULL;

	if (!set)
		return NULL;
	set->name = from->name;
	set->values = trace_alloc(t, (from->count + 1) * sizeof(*set->values));
	if (!set->values)
		return NULL;
	memcpy(set->values, from->values, from->count * sizeof(*set->values));
	set->count = from->count;
	trace_sort_enum_set(set);
	return set;
}

/* Descriptions of the model stay for ever: their texts need no copy. */
static void add_model_op(struct trace *t, uint32_t domain, uint32_t number,
			 const kymo_op_desc_t *desc)
{
	struct t_op op = {.name = desc->name,
			  .domain = domain,
			  .number = number,
			  .flags = desc->flags,
			  .status_ok = desc->status_ok,
			  .field_count = desc->field_count};

	op.fields = trace_alloc(t, (op.field_count + 1) * sizeof(*op.fields));
	for (uint32_t i = 0; op.fields && i < op.field_count; i++) {
		const kymo_field_t *f = &desc->fields[i];

		op.fields[i] = (struct t_field){.name = f->name,
						.type = f->type,
						.set = copy_set(t, f->set),
						.kind = f->kind,
						.element = f->element,
						.size = f->size,
						.flags = f->flags};
		op.fields[i].reference = (uint8_t)reference_of(&op.fields[i], true);
	}
	if (!op.fields)
		op.field_count = 0;
	*trace_add(t, ops) = op;
}

uint32_t make_activity(struct make_activities *a, enum record_domain domain, uint32_t op)
{
	const kymo_domain_desc_t *d;

	if (!a->first[domain]) {
		d = packed_describe(RECORD_PACKED, domain);
		a->first[domain] = a->t->ops_count;
		for (uint32_t i = 0; d && i < d->op_count; i++)
			add_model_op(a->t, make_domain(a->t, d->name, d->title), i, &d->ops[i]);
	}
	return a->first[domain] + op;
}

void make_usual_activities(struct trace *t, struct make_activities *a)
{
	static const enum record_domain domains[] = {
		RECORD_DOMAIN_dispatch, RECORD_DOMAIN_copy,   RECORD_DOMAIN_allocation,
		RECORD_DOMAIN_sync,     RECORD_DOMAIN_marker, RECORD_DOMAIN_counter};

	make_activities(t, a);
	for (size_t i = 0; i < sizeof(domains) / sizeof(*domains); i++)
		make_activity(a, domains[i], 0);
}

uint32_t make_op(struct trace *t, uint32_t domain, const char *name,
		 const struct make_field *fields, uint32_t count)
{
	struct t_op op = {.name = trace_string(t, name, strlen(name)),
			  .domain = domain,
			  .number = trace_next_op(t, domain),
			  .flags = KYMO_OP_MINIMAL};

	count = count < KYMO_FIELDS_MAX ? count : KYMO_FIELDS_MAX;
	op.fields = trace_alloc(t, (count + 1) * sizeof(*op.fields));
	for (uint32_t i = 0; op.fields && i < count; i++) {
		op.fields[i] = (struct t_field){
			.name = trace_string(t, fields[i].name, strlen(fields[i].name)),
			.type = fields[i].kind == KYMO_KIND_STRING ? "char *" : "",
			.kind = fields[i].kind,
			.size = fields[i].kind == KYMO_KIND_STRING ? 1 : 8};
		op.field_count++;
	}
	*trace_add(t, ops) = op;
	return t->ops_count - 1;
}

uint32_t make_string(struct trace *t, const char *s, size_t length)
{
	*trace_add(t, strings) =
		(struct t_string){trace_string(t, s, length), (uint32_t)length, length};
	return trace_failed(t) ? 0 : t->strings_count - 1;
}

/* ---- arguments ------------------------------------------------------------------------------- */

void make_fields_begin(struct make_fields *m, const struct t_op *op)
{
	m->op = op;
	m->index = 0;
	m->enc = (struct wire_enc){.p = m->memory, .start = m->memory, .ext = m->memory};
	/* Every field still to come may need 8 bytes, and the head and its optional parts some. */
	m->enc.limit = m->memory + WIRE_RECORD_MAX - 96 - 8 * (size_t)op->field_count;
}

void make_number(struct make_fields *m, uint64_t value)
{
	unsigned i = m->index++;

	switch (m->op->fields[i].kind) {
	case KYMO_KIND_SIGNED:
		wire_signed(&m->enc, i, (int64_t)value, m->op->fields[i].size);
		break;
	case KYMO_KIND_POINTER:
	case KYMO_KIND_HANDLE:
		wire_pointer(&m->enc, i, (const void *)(uintptr_t)value);
		break;
	default:
		wire_unsigned(&m->enc, i, value);
	}
}

void make_text(struct make_fields *m, const char *s, size_t length)
{
	wire_array(&m->enc, m->index++, s, length, 1, SIZE_MAX);
}

void make_absent(struct make_fields *m)
{
	m->index++;
}

const struct wire_record *make_fields_end(struct make_fields *m)
{
	m->record = (struct wire_record){0};
	wire_peek(&m->enc, &m->record);
	return &m->record;
}

static uint64_t add_count(uint64_t sum, uint64_t more)
{
	return more < COUNT_MAX - sum ? sum + more : COUNT_MAX;
}

void make_lost(struct trace *t, uint32_t process, uint64_t records, uint64_t damaged)
{
	struct t_process *p = &t->processes[process ? process : 1];

	if (t->processes_count < 2)
		return;
	p->lost_records = add_count(p->lost_records, records);
	p->damaged_blocks = add_count(p->damaged_blocks, damaged);
}

void make_left_out(struct trace *t, const struct unplaced *u, const char *part, uint64_t damaged)
{
	char text[120];

	make_lost(t, 0, u->lost, damaged);
	for (unsigned i = 0; i < u->used && t->processes_count > 1; i++) {
		int n = snprintf(text, sizeof(text), "not taken: %.100s", u->kinds[i].what);

		*trace_add(t, notes) = (struct t_note){.process = 1,
						       .severity = 1,
						       .part = part,
						       .text = trace_string(t, text, (size_t)n),
						       .time = t->origin,
						       .count = u->kinds[i].count};
	}
}

kymo_status_t make_no_event(struct stream_log *log, const char *path)
{
	stream_error(log, "%s: there is no event in it that can be taken", path);
	return KYMO_ERROR_NOT_FOUND;
}

void make_tell_memory(kymo_status_t status, struct stream_log *log, const char *path)
{
	const char *directory;
	int error = status == KYMO_ERROR_NO_MEMORY ? bulk_error(&directory) : 0;

	if (error)
		stream_error(log,
			     "%s: no room for what is noted of it: temporary file in %s: %s; free "
			     "space or set TMPDIR",
			     path, directory, strerror(error));
	else if (status == KYMO_ERROR_NO_MEMORY)
		stream_error(log, "%s: there is not enough memory to read it", path);
}

bool make_complete(struct trace *t)
{
	for (uint32_t i = 1; i < t->processes_count; i++)
		if (t->processes[i].start && (!t->origin || t->processes[i].start < t->origin))
			t->origin = t->processes[i].start;
	trace_number_worlds(t);
	trace_number_queues(t);
	trace_number_agents(t);
	return !trace_failed(t);
}
