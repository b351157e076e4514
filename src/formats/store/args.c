/* SPDX-License-Identifier: Apache-2.0 */
/* Packing of arguments; see args.h. */
#include <string.h>

#include "formats/store/args.h"
#include "formats/store/store.h"

static inline unsigned class_of(const struct wire_record *w, unsigned i)
{
	return i < 32 ? (unsigned)(w->classes >> (2 * i)) & 3u
		      : (unsigned)(w->classes_hi >> (2 * (i - 32))) & 3u;
}

/* Bytes of an array field at `p`; see the table of classes in wire/wire.h. */
static size_t array_bytes(const uint8_t *p, size_t room, unsigned cls, unsigned size)
{
	static const uint8_t head[4] = {0, 1, 2, 6};
	uint16_t count = 0;

	if (room < head[cls])
		return SIZE_MAX;
	if (cls == 1)
		return 1 + (p[0] & 63u) * (p[0] >> 6 ? 1u << ((p[0] >> 6) - 1) : size);
	memcpy(&count, p, 2);
	return head[cls] + (size_t)count * size;
}

static const uint8_t number[4] = {0, 1, 4, 8};

/* What must be known of all fields of a record. */
struct whole {
	size_t length;  /* 0: they do not fit the record */
	bool based;     /* the base of pointers is needed */
	bool referring; /* there are references */
};

static size_t fields_length(const struct t_op *op, const struct wire_record *w, struct whole *all)
{
	static const uint8_t pointer[4] = {0, 6, 4, 8};
	size_t room = (size_t)(w->fields_end - w->fields), at = 0;

	for (unsigned i = 0; i < op->field_count && i < KYMO_FIELDS_MAX; i++) {
		const struct t_field *f = &op->fields[i];
		unsigned cls = class_of(w, i);

		if (cls == 0)
			continue;
		switch (f->kind) {
		case KYMO_KIND_POINTER:
		case KYMO_KIND_HANDLE:
			all->based |= cls == 2;
			at += pointer[cls];
			break;
		case KYMO_KIND_STRING:
		case KYMO_KIND_BYTES:
		case KYMO_KIND_ARRAY: {
			unsigned size = f->kind == KYMO_KIND_ARRAY && f->size ? f->size : 1;
			size_t n = array_bytes(w->fields + at, room - at, cls, size);

			if (n > room - at)
				return 0;
			at += n;
			break;
		}
		default:
			all->referring |= f->reference != REFERENCE_NONE;
			at += number[cls];
		}
		if (at > room)
			return 0;
	}
	return at;
}

static size_t classes_bytes(const struct t_op *op)
{
	unsigned fields = op->field_count < KYMO_FIELDS_MAX ? op->field_count : KYMO_FIELDS_MAX;

	return (fields + 3) / 4;
}

static uint8_t *put_base(uint8_t *p, uint64_t base)
{
	uint32_t upper = (uint32_t)(base >> 32);
	uint16_t small = upper < 0xffff ? (uint16_t)upper : 0xffff;

	memcpy(p, &small, 2);
	if (small == 0xffff)
		memcpy(p + 2, &upper, 4);
	return p + (small == 0xffff ? 6 : 2);
}

/* The id that the store has for it; 0: none. */
static uint64_t id_of(const struct trace *t, const struct rec *r, const struct t_field *f,
		      uint64_t v)
{
	const struct t_ids *ids = t->processes[r->process].ids;
	int64_t call;

	if (f->reference != REFERENCE_CALL)
		return ids ? ids->index(ids, f->reference, v) : v;
	call = store_call_id(r->process, v);
	return call == INT64_MIN ? 0 : (uint64_t)call;
}

/* Writes a number, and which class it is of to its place among the classes. */
static uint8_t *put_id(uint8_t *p, uint8_t *classes, unsigned i, uint64_t id)
{
	unsigned cls = id == 0 ? 0 : id <= UINT8_MAX ? 1 : id <= UINT32_MAX ? 2 : 3;

	classes[i / 4] = (uint8_t)((classes[i / 4] & ~(3u << i % 4 * 2)) | cls << i % 4 * 2);
	memcpy(p, &id, number[cls]);
	return p + number[cls];
}

/* Fields with references made ids: those between them are copied as they are. */
static uint8_t *put_resolved(const struct trace *t, const struct rec *r, uint8_t *classes,
			     uint8_t *p)
{
	const struct t_op *op = &t->ops[r->op];
	struct wire_cursor cursor;
	const uint8_t *from;
	struct wire_value v;

	wire_cursor_init(&cursor, r->wire);
	from = cursor.p;
	for (unsigned i = 0; i < op->field_count && i < KYMO_FIELDS_MAX; i++) {
		const struct t_field *f = &op->fields[i];
		const uint8_t *start = cursor.p;

		if (!wire_field(&cursor, f->kind, f->element, f->size, &v))
			break;
		if (!f->reference)
			continue;
		memcpy(p, from, (size_t)(start - from));
		p = put_id(p + (start - from), classes, i, id_of(t, r, f, v.u));
		from = cursor.p;
	}
	memcpy(p, from, (size_t)(cursor.p - from));
	return p + (cursor.p - from);
}

uint32_t args_pack(const struct trace *t, const struct rec *r, uint8_t *out)
{
	const struct t_op *op = &t->ops[r->op];
	const struct wire_record *w = r->wire;
	struct whole all = {0};
	size_t head = classes_bytes(op);
	uint8_t classes[16], *p = out;

	if (!w || w->no_fields || head == 0)
		return 0;
	all.length = fields_length(op, w, &all);
	if (all.length == 0 && (w->classes | w->classes_hi))
		return 0; /* damaged */
	memcpy(classes, &w->classes, 8);
	memcpy(classes + 8, &w->classes_hi, 8);
	p += head;
	if (all.based)
		p = put_base(p, w->pointer_base);
	if (all.referring) {
		p = put_resolved(t, r, classes, p);
	} else {
		memcpy(p, w->fields, all.length);
		p += all.length;
	}
	memcpy(out, classes, head);
	return (uint32_t)(p - out);
}

/* True if a pointer field is stored relative to the base. */
static bool needs_base(const struct t_op *op, const struct wire_record *w)
{
	for (unsigned i = 0; i < op->field_count && i < KYMO_FIELDS_MAX; i++) {
		uint8_t kind = op->fields[i].kind;

		if ((kind == KYMO_KIND_POINTER || kind == KYMO_KIND_HANDLE) && class_of(w, i) == 2)
			return true;
	}
	return false;
}

bool args_unpack(const struct t_op *op, const void *data, size_t length, struct wire_record *w)
{
	const uint8_t *p = data, *end;
	uint8_t classes[16] = {0};
	size_t head = classes_bytes(op);

	memset(w, 0, sizeof(*w));
	w->no_fields = !data || length == 0;
	if (w->no_fields)
		return true;
	end = p + length;
	if (length < head)
		return false;
	memcpy(classes, p, head);
	memcpy(&w->classes, classes, 8);
	memcpy(&w->classes_hi, classes + 8, 8);
	p += head;
	if (needs_base(op, w)) {
		uint16_t small;
		uint32_t upper;

		if (end - p < 2)
			return false;
		memcpy(&small, p, 2);
		upper = small;
		p += 2;
		if (small == 0xffff && end - p < 4)
			return false;
		if (small == 0xffff) {
			memcpy(&upper, p, 4);
			p += 4;
		}
		w->pointer_base = (uint64_t)upper << 32;
	}
	w->fields = p;
	w->fields_end = end;
	return true;
}
