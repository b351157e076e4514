/* SPDX-License-Identifier: Apache-2.0 */
/* Values into fields. See writer.h. */
#include "formats/ctf/writer.h"

/* ---- tables ---------------------------------------------------------------------------------- */

static void put_text(bt_field *f, const char *s, size_t length)
{
	size_t n = s ? strnlen(s, length) : 0;

	/* A field that is cleared alone keeps the text of an earlier event. */
	bt_field_string_set_value(f, "");
	if (n)
		bt_field_string_append_with_length(f, s, n);
}

static void put_bytes(bt_field *f, const uint8_t *bytes, uint64_t count)
{
	if (bt_field_array_dynamic_set_length(f, count) != 0)
		return;
	for (uint64_t i = 0; i < count; i++)
		bt_field_integer_unsigned_set_value(
			bt_field_array_borrow_element_field_by_index(f, i), bytes[i]);
}

static void put_numbers(bt_field *f, const uint32_t *numbers, uint64_t count)
{
	if (bt_field_array_dynamic_set_length(f, count) != 0)
		return;
	for (uint64_t i = 0; i < count; i++)
		bt_field_integer_unsigned_set_value(
			bt_field_array_borrow_element_field_by_index(f, i), numbers[i]);
}

static uint64_t unsigned_at(const char *p, uint8_t type)
{
	uint64_t v = 0;

	memcpy(&v, p, type == CTF_U64 ? 8 : type == CTF_U32 ? 4 : 1);
	return v;
}

static int64_t signed_at(const char *p, uint8_t type)
{
	int64_t wide;
	int32_t narrow;

	memcpy(&narrow, p, sizeof(narrow));
	if (type == CTF_I32)
		return narrow;
	memcpy(&wide, p, sizeof(wide));
	return wide;
}

static void put_member(bt_field *f, const struct ctf_member *m, const void *s)
{
	const char *p = (const char *)s + m->offset;
	const void *to = NULL;
	double real;

	if (m->type >= CTF_TEXT && m->type != CTF_UUID)
		memcpy(&to, p, sizeof(to));
	switch (m->type) {
	case CTF_I32:
	case CTF_I64:
		bt_field_integer_signed_set_value(f, signed_at(p, m->type));
		break;
	case CTF_F64:
		memcpy(&real, p, sizeof(real));
		bt_field_real_double_precision_set_value(f, real);
		break;
	case CTF_TEXT:
	case CTF_TEXT0:
		put_text(f, to, SIZE_MAX >> 1);
		break;
	case CTF_COUNTED:
		put_text(f, to, to ? ctf_length(s, m) : 0);
		break;
	case CTF_BYTES:
		put_bytes(f, to, to ? ctf_length(s, m) : 0);
		break;
	case CTF_UUID:
		put_bytes(f, (const uint8_t *)p, 16);
		break;
	case CTF_U32S:
		put_numbers(f, to, to ? ctf_length(s, m) : 0);
		break;
	case CTF_RUNS:
		put_numbers(f, to, to ? ctf_length(s, m) * 3 : 0);
		break;
	default:
		bt_field_integer_unsigned_set_value(f, unsigned_at(p, m->type));
	}
}

void ctf_put_members(bt_field *payload, uint64_t *at, const struct ctf_table *table, const void *s)
{
	for (uint32_t i = 0; i < table->count; i++)
		put_member(bt_field_structure_borrow_member_field_by_index(payload, (*at)++),
			   &table->members[i], s);
}

/* ---- arguments ------------------------------------------------------------------------------- */

static void put_real(bt_field *f, uint64_t bits, uint8_t size)
{
	uint32_t low = (uint32_t)bits;
	double wide;
	float narrow;

	memcpy(&wide, &bits, sizeof(wide));
	memcpy(&narrow, &low, sizeof(narrow));
	bt_field_real_double_precision_set_value(f, size == 4 ? (double)narrow : wide);
}

static void put_number(bt_field *f, uint8_t kind, uint64_t v, uint8_t size)
{
	switch (kind) {
	case KYMO_KIND_SIGNED:
	case KYMO_KIND_TIME:
	case KYMO_KIND_ENUM:
		bt_field_integer_signed_set_value(f, (int64_t)v);
		break;
	case KYMO_KIND_FLOAT:
		put_real(f, v, size);
		break;
	default:
		bt_field_integer_unsigned_set_value(f, v);
	}
}

static void put_array(bt_field *f, const struct t_field *field, const struct wire_value *v)
{
	uint32_t count = v->present ? v->count : 0;

	if (bt_field_array_dynamic_set_length(f, count) != 0)
		return;
	for (uint32_t i = 0; i < count; i++)
		put_number(bt_field_array_borrow_element_field_by_index(f, i), field->element,
			   wire_element(v, field->element, field->size, i), field->size);
}

static void put_argument(bt_field *f, const struct t_field *field, const struct wire_value *v)
{
	switch (field->reference ? KYMO_KIND_REF : field->kind) {
	case KYMO_KIND_STRING:
		put_text(f, v->present ? (const char *)v->data : NULL, v->count);
		break;
	case KYMO_KIND_BYTES:
		put_bytes(f, v->data, v->present ? v->count : 0);
		break;
	case KYMO_KIND_ARRAY:
		put_array(f, field, v);
		break;
	case KYMO_KIND_FLOAT:
		bt_field_real_double_precision_set_value(f, v->present ? v->f : 0);
		break;
	default:
		put_number(f, field->reference ? KYMO_KIND_REF : field->kind, v->present ? v->u : 0,
			   field->size);
	}
}

/* Of a text with a 0 in it what lies before that is there. */
static uint32_t stored(const struct t_field *field, const struct wire_value *v)
{
	return field->kind == KYMO_KIND_STRING && v->count
		       ? (uint32_t)strnlen((const char *)v->data, v->count)
		       : v->count;
}

void ctf_put_arguments(struct ctf_writer *w, bt_field *arguments, const struct rec *r)
{
	uint32_t cut[2 * KYMO_FIELDS_MAX], cuts = 0, n = op_own_fields(&w->t->ops[r->op]);
	const struct t_op *op = &w->t->ops[r->op];
	uint64_t absent = 0;
	const struct t_field *f;
	struct rec_fields fields;
	struct wire_value v;
	bool more = true;

	rec_fields_init(&fields, w->t, r);
	for (uint32_t i = 0; i < n; i++) {
		more = more && r->wire && rec_fields_next(&fields, &f, &v);
		if (!more)
			v = (struct wire_value){0};
		if (!v.present)
			absent |= UINT64_C(1) << (i & 63);
		put_argument(bt_field_structure_borrow_member_field_by_index(arguments, i),
			     &op->fields[i], &v);
		if (v.present && v.total > stored(&op->fields[i], &v) && i < KYMO_FIELDS_MAX) {
			cut[cuts++] = i;
			cut[cuts++] = v.total;
		}
	}
	if (r->wire && r->wire->no_fields)
		absent = UINT64_MAX;
	bt_field_integer_unsigned_set_value(
		bt_field_structure_borrow_member_field_by_index(arguments, n), absent);
	put_numbers(bt_field_structure_borrow_member_field_by_index(arguments, n + 1), cut, cuts);
}
