/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reflection: values of fields, from buffered records and from what callbacks are told, as numbers
 * and as text. What a callback gets is encoded as its record would be, and read from there: both tell
 * the same.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/context/context.h"
#include "core/tool/tool.h"

/* ---- fields of a record ---- */

#define VALUE_FIRST offsetof(kymo_value_t, address)

static void fill_value(kymo_value_t *out, const kymo_field_t *field, const struct wire_value *v)
{
	const kymo_value_t full = {.size = sizeof(full),
				   .field = field,
				   .present = v->present,
				   .u = v->u,
				   .f = v->f,
				   .data = v->data,
				   .count = v->count,
				   .total = v->total,
				   .width = v->width,
				   .kind = field->kind,
				   .address =
					   v->data ? (const void *)v->data : (const void *)&out->u};

	core_give(out, &full, sizeof(full));
}

static kymo_status_t value_of(const struct wire_record *record, const kymo_op_desc_t *op,
			      uint32_t index, kymo_value_t *out)
{
	struct wire_cursor c;
	struct wire_value v;

	if (index >= op->field_count)
		return KYMO_ERROR_NOT_FOUND;
	if (record->no_fields) {
		v = (struct wire_value){.present = false};
		fill_value(out, &op->fields[index], &v);
		return KYMO_OK;
	}
	wire_cursor_init(&c, record);
	for (uint32_t i = 0; i <= index; i++) {
		const kymo_field_t *f = &op->fields[i];

		if (!wire_field(&c, f->kind, f->element, f->size, &v))
			return KYMO_ERROR_CORRUPT;
	}
	fill_value(out, &op->fields[index], &v);
	return KYMO_OK;
}

kymo_status_t kymo_field_find(const kymo_op_desc_t *op, const char *name, uint32_t *index)
{
	if (!op || !name || !index)
		return KYMO_ERROR_INVALID_ARGUMENT;
	for (uint32_t i = 0; i < op->field_count; i++) {
		if (strcmp(op->fields[i].name, name) == 0) {
			*index = i;
			return KYMO_OK;
		}
	}
	return KYMO_ERROR_NOT_FOUND;
}

kymo_status_t kymo_record_value(const kymo_record_t *record, uint32_t index, kymo_value_t *out)
{
	if (!record || !out || !record->internal)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (!core_size_fits(out, VALUE_FIRST))
		return KYMO_ERROR_INCOMPATIBLE;
	return value_of(record->internal, &record->domain->ops[record->op], index, out);
}

uint64_t core_activity_correlation(const kymo_op_desc_t *op, const struct wire_record *record)
{
	kymo_value_t v = {.size = sizeof(v)};

	if (op->field_count == 0 || strcmp(op->fields[0].name, "correlation") != 0 ||
	    value_of(record, op, 0, &v) != KYMO_OK)
		return 0;
	return v.u;
}

/* ---- what a callback is told ---- */

struct encoded {
	struct wire_record record;
	struct wire_ring ring;
	uint64_t absent; /* numbers that are not there, by bit: records have 0 there */
	uint8_t bytes[WIRE_RECORD_MAX + WIRE_SLACK];
};
static _Thread_local struct encoded *encoded;
static pthread_key_t encoded_key;
static pthread_once_t encoded_once = PTHREAD_ONCE_INIT;

/* The thread may make traced calls after this, in destructors of others. */
static void encoded_free(void *x)
{
	encoded = NULL;
	free(x);
}

static void encoded_key_make(void)
{
	pthread_key_create(&encoded_key, encoded_free);
}

static struct encoded *encoded_get(void)
{
	if (!encoded) {
		pthread_once(&encoded_once, encoded_key_make);
		encoded = calloc(1, sizeof(*encoded));
		pthread_setspecific(encoded_key, encoded);
	}
	return encoded;
}

static const struct wire_record *encode_arguments(const struct core_callback_info *told)
{
	const kymo_op_desc_t *op = &told->domain->desc->ops[told->op];
	struct encoded *x = encoded_get();
	struct wire_event v = {.id = 1};
	struct wire_enc e;

	if (!x)
		return NULL;
	memset(&x->ring, 0, sizeof(x->ring));
	x->ring.cur = x->bytes;
	wire_begin(&e, &x->ring, &v, op->field_count);
	e.absent = 0;
	told->domain->info->encode(told->domain->info, told->op, told->args, told->exit && told->ok,
				   &e);
	memset(&x->record, 0, sizeof(x->record));
	wire_peek(&e, &x->record);
	x->absent = e.absent;
	return &x->record;
}

kymo_status_t kymo_callback_value(const kymo_callback_record_t *record, uint32_t index,
				  kymo_value_t *out)
{
	const struct core_callback_info *told = record ? record->internal : NULL;
	const struct wire_record *wire;
	const kymo_op_desc_t *op;
	kymo_status_t status;

	if (!told || !out)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (!core_size_fits(out, VALUE_FIRST))
		return KYMO_ERROR_INCOMPATIBLE;
	op = &record->domain->ops[record->op];
	if (index >= op->field_count)
		return KYMO_ERROR_NOT_FOUND;
	if (!told->wire && (!told->args || !told->domain->info->encode))
		return KYMO_ERROR_UNSUPPORTED;
	wire = told->wire ? told->wire : encode_arguments(told);
	if (!wire)
		return KYMO_ERROR_NO_MEMORY;
	status = value_of(wire, op, index, out);
	if (status == KYMO_OK && !told->wire &&
	    ((encoded->absent >> index & 1) ||
	     (!told->exit && (op->fields[index].flags & (KYMO_FIELD_OUT | KYMO_FIELD_RESULT)))))
		out->present = false; /* or not known yet */
	return status;
}

/* ---- elements ---- */

static uint8_t element_kind(const kymo_field_t *f)
{
	return f->kind == KYMO_KIND_ARRAY ? f->element : KYMO_KIND_UNSIGNED;
}

kymo_status_t kymo_value_element(const kymo_value_t *value, uint32_t index, kymo_value_t *out)
{
	const kymo_field_t *f = value ? value->field : NULL;
	kymo_value_t x = {.size = sizeof(x), .field = f, .present = true};
	struct wire_value v = {0};

	if (!f || !out)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (!core_size_fits(out, VALUE_FIRST))
		return KYMO_ERROR_INCOMPATIBLE;
	if (!value->present || !value->data || index >= value->count)
		return KYMO_ERROR_NOT_FOUND;
	v.data = value->data;
	v.count = value->count;
	v.width = (uint8_t)value->width;
	x.kind = element_kind(f);
	x.address = &out->u;
	x.u = wire_element(&v, x.kind, f->kind == KYMO_KIND_ARRAY ? f->size : 1, index);
	if (x.kind == KYMO_KIND_FLOAT && f->size == 8)
		memcpy(&x.f, &x.u, 8);
	if (x.kind == KYMO_KIND_FLOAT && f->size == 4) {
		uint32_t bits = (uint32_t)x.u;
		float single;

		memcpy(&single, &bits, 4);
		x.f = (double)single;
	}
	core_give(out, &x, sizeof(x));
	return KYMO_OK;
}

/* ---- text ---- */

struct text {
	char *out;
	size_t size, length; /* what the whole text needs, however much of it fits */
};

static void put_text(struct text *t, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++, t->length++)
		if (t->length + 1 < t->size)
			t->out[t->length] = s[i];
}

static void put_string(struct text *t, const char *s)
{
	put_text(t, s, strlen(s));
}

static __attribute__((format(printf, 2, 3))) void put_format(struct text *t, const char *format,
							     ...)
{
	char s[64];
	va_list ap;

	va_start(ap, format);
	vsnprintf(s, sizeof(s), format, ap);
	va_end(ap);
	put_string(t, s);
}

static const char *name_of(const kymo_enum_set_t *set, int64_t value)
{
	for (uint32_t i = 0; set && i < set->count; i++)
		if (set->values[i].value == value)
			return set->values[i].name;
	return NULL;
}

static void put_flags(struct text *t, const kymo_enum_set_t *set, uint64_t value)
{
	uint64_t left = value;

	for (uint32_t i = 0; set && i < set->count; i++) {
		uint64_t bits = (uint64_t)set->values[i].value;

		if (!bits || (left & bits) != bits)
			continue;
		if (left != value)
			put_string(t, "|");
		put_string(t, set->values[i].name);
		left &= ~bits;
	}
	if (left == value && name_of(set, (int64_t)value))
		put_string(t, name_of(set, (int64_t)value));
	else if (left || !value)
		put_format(t, "%s0x%" PRIx64, left == value ? "" : "|", left);
}

static void put_enum(struct text *t, const kymo_value_t *v)
{
	const char *name = name_of(v->field->set, (int64_t)v->u);

	if (!name && v->field->size < 8) /* values may be written signed or unsigned */
		name = name_of(v->field->set, (int64_t)(int32_t)v->u);
	if (name)
		put_string(t, name);
	else
		put_format(t, "%" PRId64, (int64_t)v->u);
}

static void put_quoted(struct text *t, const kymo_value_t *v)
{
	const uint8_t *s = v->data;

	put_string(t, "\"");
	for (uint32_t i = 0; i < v->count; i++) {
		if (s[i] == '"' || s[i] == '\\')
			put_format(t, "\\%c", s[i]);
		else if (s[i] == '\n')
			put_string(t, "\\n");
		else if (s[i] < 0x20)
			put_format(t, "\\x%02x", s[i]);
		else
			put_text(t, (const char *)&s[i], 1);
	}
	put_string(t, v->count < v->total ? "\"..." : "\"");
}

static void put_value(struct text *t, const kymo_value_t *v);

static void put_list(struct text *t, const kymo_value_t *v)
{
	put_string(t, "[");
	for (uint32_t i = 0; i < v->count; i++) {
		kymo_value_t element = {.size = sizeof(element)};

		if (i)
			put_string(t, ", ");
		if (kymo_value_element(v, i, &element) == KYMO_OK)
			put_value(t, &element);
	}
	put_string(t, v->count < v->total ? ", ...]" : "]");
}

static void put_bytes(struct text *t, const kymo_value_t *v)
{
	const uint8_t *s = v->data;

	for (uint32_t i = 0; i < v->count; i++)
		put_format(t, "%02x", s[i]);
	if (v->count < v->total)
		put_string(t, "...");
}

static void put_value(struct text *t, const kymo_value_t *v)
{
	if (!v->present) {
		put_string(t, "NULL");
		return;
	}
	switch (v->kind) {
	case KYMO_KIND_STRING:
		put_quoted(t, v);
		break;
	case KYMO_KIND_BYTES:
		put_bytes(t, v);
		break;
	case KYMO_KIND_ARRAY:
		put_list(t, v);
		break;
	case KYMO_KIND_POINTER:
	case KYMO_KIND_HANDLE:
		put_format(t, v->u ? "0x%" PRIx64 : "NULL", v->u);
		break;
	case KYMO_KIND_FLOAT:
		put_format(t, "%.*g", v->field->size == 4 ? 9 : 17, v->f);
		break;
	case KYMO_KIND_BOOL:
		put_string(t, v->u ? "true" : "false");
		break;
	case KYMO_KIND_ENUM:
		put_enum(t, v);
		break;
	case KYMO_KIND_FLAGS:
		put_flags(t, v->field->set, v->u);
		break;
	case KYMO_KIND_SIGNED:
		put_format(t, "%" PRId64, (int64_t)v->u);
		break;
	default:
		put_format(t, "%" PRIu64, v->u);
	}
}

kymo_status_t kymo_value_text(const kymo_value_t *value, char *out, size_t size, size_t *length)
{
	struct text t = {out, size, 0};

	if (!value || !value->field || (!out && size))
		return KYMO_ERROR_INVALID_ARGUMENT;
	put_value(&t, value);
	if (size)
		out[t.length < size ? t.length : size - 1] = '\0';
	if (length)
		*length = t.length;
	return KYMO_OK;
}

/* ---- names and numbers ---- */

kymo_status_t kymo_op_find(const kymo_domain_desc_t *domain, const char *name, uint32_t *op)
{
	if (!domain || !name || !op)
		return KYMO_ERROR_INVALID_ARGUMENT;
	for (uint32_t i = 0; i < domain->op_count; i++) {
		if (strcmp(domain->ops[i].name, name) == 0) {
			*op = i;
			return KYMO_OK;
		}
	}
	return KYMO_ERROR_NOT_FOUND;
}

kymo_status_t kymo_enum_name(const kymo_enum_set_t *set, int64_t value, const char **name)
{
	if (!set || !name)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (!name_of(set, value))
		return KYMO_ERROR_NOT_FOUND;
	*name = name_of(set, value);
	return KYMO_OK;
}

#define MEMBER(type, member, kind)                                                                 \
	{                                                                                          \
#member, kind, (uint32_t)offsetof(type, member),                                   \
			(uint32_t)sizeof(((type *)0)->member)                                      \
	}
#define U(type, member) MEMBER(type, member, KYMO_KIND_UNSIGNED)
#define P(type, member) MEMBER(type, member, KYMO_KIND_POINTER)

static const kymo_member_t record_members[] = {
	U(kymo_record_t, size),
	P(kymo_record_t, domain),
	U(kymo_record_t, op),
	U(kymo_record_t, thread),
	U(kymo_record_t, correlation),
	U(kymo_record_t, parent),
	U(kymo_record_t, external),
	MEMBER(kymo_record_t, scope, KYMO_KIND_SIGNED),
	MEMBER(kymo_record_t, start, KYMO_KIND_TIME),
	MEMBER(kymo_record_t, end, KYMO_KIND_TIME),
	P(kymo_record_t, call_site),
	MEMBER(kymo_record_t, status, KYMO_KIND_SIGNED),
	P(kymo_record_t, internal),
};
static const kymo_member_t callback_members[] = {
	U(kymo_callback_record_t, size),
	P(kymo_callback_record_t, domain),
	U(kymo_callback_record_t, op),
	MEMBER(kymo_callback_record_t, phase, KYMO_KIND_ENUM),
	U(kymo_callback_record_t, thread),
	U(kymo_callback_record_t, tid),
	U(kymo_callback_record_t, correlation),
	U(kymo_callback_record_t, parent),
	U(kymo_callback_record_t, external),
	MEMBER(kymo_callback_record_t, scope, KYMO_KIND_SIGNED),
	P(kymo_callback_record_t, call_site),
	MEMBER(kymo_callback_record_t, status, KYMO_KIND_SIGNED),
	P(kymo_callback_record_t, args),
	P(kymo_callback_record_t, user),
	MEMBER(kymo_callback_record_t, start, KYMO_KIND_TIME),
	MEMBER(kymo_callback_record_t, end, KYMO_KIND_TIME),
	P(kymo_callback_record_t, internal),
};
static const kymo_member_t work_members[] = {
	U(kymo_work_t, size),
	P(kymo_work_t, domain),
	U(kymo_work_t, op),
	U(kymo_work_t, agent),
	U(kymo_work_t, queue),
	U(kymo_work_t, kernel),
	MEMBER(kymo_work_t, memory, KYMO_KIND_ARRAY),
	MEMBER(kymo_work_t, bytes, KYMO_KIND_SIZE),
	U(kymo_work_t, correlation),
	P(kymo_work_t, framework_device),
};
static const kymo_member_t value_members[] = {
	U(kymo_value_t, size),
	P(kymo_value_t, field),
	MEMBER(kymo_value_t, present, KYMO_KIND_BOOL),
	U(kymo_value_t, u),
	MEMBER(kymo_value_t, f, KYMO_KIND_FLOAT),
	P(kymo_value_t, data),
	U(kymo_value_t, count),
	U(kymo_value_t, total),
	U(kymo_value_t, width),
	U(kymo_value_t, kind),
	P(kymo_value_t, address),
};

#define STRUCTURE(type, members)                                                                   \
	{                                                                                          \
		sizeof(kymo_structure_t), #type, sizeof(type),                                     \
			sizeof(members) / sizeof((members)[0]), members                            \
	}
static const kymo_structure_t structures[] = {
	STRUCTURE(kymo_record_t, record_members),
	STRUCTURE(kymo_callback_record_t, callback_members),
	STRUCTURE(kymo_work_t, work_members),
	STRUCTURE(kymo_value_t, value_members),
};

kymo_status_t kymo_structure_find(const char *name, const kymo_structure_t **out)
{
	if (!name || !out)
		return KYMO_ERROR_INVALID_ARGUMENT;
	for (size_t i = 0; i < sizeof(structures) / sizeof(structures[0]); i++) {
		if (strcmp(structures[i].name, name) == 0) {
			*out = &structures[i];
			return KYMO_OK;
		}
	}
	return KYMO_ERROR_NOT_FOUND;
}
