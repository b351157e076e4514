/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walking the fields of a record and rendering values as text. Rendering is on the path of every
 * line of `kymo show`: no printf here except for floating point.
 */
#include <stdio.h>

#include "base/plain.h"
#include "stream/reference.h"
#include "stream/stream.h"

enum { ARGS_SCALARS = 1 };

void rec_fields_init(struct rec_fields *f, const struct trace *t, const struct rec *r)
{
	f->op = r->wire ? &t->ops[r->op] : &t->ops[0];
	f->ids = t->processes[r->process].ids;
	f->scalars = t->processes[r->process].arg_level == ARGS_SCALARS;
	if (r->wire)
		wire_cursor_init(&f->cursor, r->wire);
	else
		f->cursor = (struct wire_cursor){0};
}

/* Of what was not recorded there is an empty field. */
static bool is_left_out(const struct t_field *field, const struct wire_value *v)
{
	switch (field->kind) {
	case KYMO_KIND_STRING:
	case KYMO_KIND_BYTES:
	case KYMO_KIND_ARRAY:
		return !v->present;
	default:
		return field->flags & (KYMO_FIELD_OUT | KYMO_FIELD_DEREF) && v->u == 0;
	}
}

bool rec_fields_next(struct rec_fields *f, const struct t_field **field, struct wire_value *value)
{
	unsigned i = f->cursor.index;

	if (!f->cursor.rec || f->cursor.rec->no_fields || i >= op_own_fields(f->op))
		return false;
	*field = &f->op->fields[i];
	if (!wire_field(&f->cursor, (*field)->kind, (*field)->element, (*field)->size, value))
		return false;
	if (f->scalars && is_left_out(*field, value)) {
		value->present = false;
		value->left_out = true;
	}
	if ((*field)->reference && f->ids && value->present)
		value->u = f->ids->index(f->ids, (*field)->reference, value->u);
	return true;
}

/* Name of a value in a sorted set, or NULL. */
static const char *set_name(const struct t_enum_set *set, int64_t value)
{
	uint32_t lo = 0, hi = set ? set->count : 0;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (set->values[mid].value < value)
			lo = mid + 1;
		else
			hi = mid;
	}
	return set && lo < set->count && set->values[lo].value == value ? set->values[lo].name
									: NULL;
}

const char *rec_status_name(const struct t_op *op, int32_t status)
{
	return set_name(op->status_set, status);
}

/* ---- output of bounded size that still counts ---------------------------------------------- */

struct out {
	char *p, *end; /* end: room for the terminator is kept */
	size_t length; /* as if there were room for all */
	const struct trace *t;
};

static inline void put(struct out *o, const char *s, size_t n)
{
	size_t room = (size_t)(o->end - o->p);

	o->length += n;
	if (n > room)
		n = room;
	memcpy(o->p, s, n);
	o->p += n;
}

static inline void put_char(struct out *o, char c)
{
	put(o, &c, 1);
}

static void put_text(struct out *o, const char *s)
{
	put(o, s, strlen(s));
}

static void put_unsigned(struct out *o, uint64_t v)
{
	char digits[20], *p = digits + sizeof(digits);

	do {
		*--p = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	put(o, p, (size_t)(digits + sizeof(digits) - p));
}

static void put_signed(struct out *o, int64_t v)
{
	if (v < 0)
		put_char(o, '-');
	put_unsigned(o, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

static void put_hex(struct out *o, uint64_t v)
{
	char digits[18], *p = digits + sizeof(digits);

	do {
		*--p = "0123456789abcdef"[v & 15];
		v >>= 4;
	} while (v);
	*--p = 'x';
	*--p = '0';
	put(o, p, (size_t)(digits + sizeof(digits) - p));
}

static void put_float(struct out *o, double v, uint8_t size)
{
	char text[40];
	int n = snprintf(text, sizeof(text), "%.*g", size == 4 ? 9 : 17, v);
	char shorter[40];
	int m = snprintf(shorter, sizeof(shorter), "%.*g", size == 4 ? 6 : 15, v);
	double back = 0;

	/* The short form where it is the same number. */
	if (sscanf(shorter, "%lf", &back) == 1 && (size == 4 ? (float)back == (float)v : back == v))
		put(o, shorter, (size_t)m);
	else
		put(o, text, (size_t)n);
}

static void put_escaped(struct out *o, const char *s, size_t n)
{
	char escaped[PLAIN_ESCAPE_MAX];
	size_t plain = 0, length;
	uint32_t code;

	for (size_t i = 0; i < n; i += length) {
		length = plain_next(s + i, n - i, &code);
		if (!plain_hidden(code) && code != '"' && code != '\\')
			continue;
		put(o, s + plain, i - plain);
		plain = i + length;
		if (plain_hidden(code)) {
			put(o, escaped, plain_escape(code, escaped));
		} else {
			put_char(o, '\\');
			put_char(o, (char)code);
		}
	}
	put(o, s + plain, n - plain);
}

/* ---- values -------------------------------------------------------------------------------- */

static void put_enum(struct out *o, const struct t_enum_set *set, int64_t v)
{
	const char *name = set_name(set, v);

	/* A value may have been meant as unsigned 32 bits. */
	if (!name && v < 0)
		name = set_name(set, (int64_t)(uint32_t)v);
	if (name)
		put_escaped(o, name, strlen(name));
	else if (v < 4096)
		put_signed(o, v);
	else
		put_hex(o, (uint64_t)v);
}

static void put_flags(struct out *o, const struct t_enum_set *set, uint64_t v)
{
	const char *whole = set_name(set, (int64_t)v);
	bool first = true;

	if (whole || v == 0) {
		put_escaped(o, whole ? whole : "0", whole ? strlen(whole) : 1);
		return;
	}
	for (uint32_t i = 0; set && i < set->count; i++) {
		uint64_t bit = (uint64_t)set->values[i].value;

		if (bit == 0 || (bit & (bit - 1)) || (v & bit) == 0)
			continue;
		if (!first)
			put_char(o, '|');
		put_escaped(o, set->values[i].name, strlen(set->values[i].name));
		first = false;
		v &= ~bit;
	}
	if (v) {
		if (!first)
			put_char(o, '|');
		put_hex(o, v);
	}
}

/* Of `total` bytes those that are there. */
static void put_quoted(struct out *o, const char *s, uint64_t length, uint64_t total)
{
	put_char(o, '"');
	put_escaped(o, s, length);
	put_char(o, '"');
	if (total > length)
		put_text(o, "...");
}

static void put_bytes(struct out *o, const struct wire_value *v)
{
	for (uint32_t i = 0; i < v->count; i++) {
		put_char(o, "0123456789abcdef"[v->data[i] >> 4]);
		put_char(o, "0123456789abcdef"[v->data[i] & 15]);
	}
	if (v->total > v->count)
		put_text(o, "...");
}

static void put_pointer(struct out *o, uint64_t v)
{
	if (v)
		put_hex(o, v);
	else
		put(o, "NULL", 4);
}

/* A text that is there, which may be empty. */
static bool put_referred_text(struct out *o, uint8_t what, uint64_t index)
{
	if (what == REFERENCE_STRING && index < o->t->strings_count) {
		const struct t_string *s = &o->t->strings[index];

		put_quoted(o, s->text, s->length, s->total);
		return true;
	}
	if (what == REFERENCE_BLOB && index < o->t->blobs_count) {
		const struct t_blob *b = &o->t->blobs[index];

		put_quoted(o, b->data, b->stored < REFERENCE_TEXT ? b->stored : REFERENCE_TEXT,
			   b->total);
		return true;
	}
	return false;
}

/* By name, quoted where it is a text; what has none by its index, which is the id in the store. */
static void put_reference(struct out *o, uint8_t what, uint64_t index)
{
	char room[REFERENCE_TEXT];
	const char *name;

	if (what && !index) {
		put_text(o, "none");
		return;
	}
	if (o->t && index && put_referred_text(o, what, index))
		return;
	name = what ? reference_name(o->t, what, index, room, sizeof(room)) : "";
	put_escaped(o, name, strlen(name));
	if (*name)
		return;
	put_char(o, '#');
	put_unsigned(o, index);
}

static double as_double(uint64_t u, uint8_t size)
{
	uint32_t bits = (uint32_t)u;
	double d;
	float f;

	memcpy(&d, &u, 8);
	memcpy(&f, &bits, 4);
	return size == 4 ? (double)f : d;
}

/* A number of any kind; `u` is widened as the kind says. */
static void put_number(struct out *o, const struct t_field *field, uint8_t kind, uint64_t u)
{
	switch (kind) {
	case KYMO_KIND_SIGNED:
	case KYMO_KIND_TIME:
		put_signed(o, (int64_t)u);
		break;
	case KYMO_KIND_FLOAT:
		put_float(o, as_double(u, field->size), field->size);
		break;
	case KYMO_KIND_POINTER:
	case KYMO_KIND_HANDLE:
		put_pointer(o, u);
		break;
	case KYMO_KIND_ENUM:
		put_enum(o, field->set, (int64_t)u);
		break;
	case KYMO_KIND_FLAGS:
		put_flags(o, field->set, u);
		break;
	case KYMO_KIND_BOOL:
		put_text(o, u ? "true" : "false");
		break;
	case KYMO_KIND_REF:
		put_reference(o, field->reference, u);
		break;
	default:
		put_unsigned(o, u);
		break;
	}
}

static void put_array(struct out *o, const struct t_field *field, const struct wire_value *v)
{
	put_char(o, '[');
	for (uint32_t i = 0; i < v->count; i++) {
		if (i)
			put(o, ", ", 2);
		put_number(o, field, field->element,
			   wire_element(v, field->element, field->size, i));
	}
	if (v->total > v->count) {
		put_text(o, v->count ? ", ... " : "... ");
		put_unsigned(o, v->total);
		put_text(o, " in all");
	}
	put_char(o, ']');
}

static void put_value(struct out *o, const struct t_field *field, const struct wire_value *v)
{
	switch (field->kind) {
	case KYMO_KIND_STRING:
		put_quoted(o, (const char *)v->data, v->count, v->total);
		break;
	case KYMO_KIND_BYTES:
		put_bytes(o, v);
		break;
	case KYMO_KIND_ARRAY:
		put_array(o, field, v);
		break;
	default:
		put_number(o, field, field->reference ? KYMO_KIND_REF : field->kind, v->u);
		break;
	}
}

size_t rec_value_text(const struct trace *t, const struct t_field *field,
		      const struct wire_value *v, char *out, size_t size)
{
	char none;
	struct out o = {size ? out : &none, size ? out + size - 1 : &none, 0, t};

	if (v->present)
		put_value(&o, field, v);
	else
		put_text(&o, v->left_out ? "..." : "NULL");
	if (size)
		*o.p = '\0';
	return o.length;
}
