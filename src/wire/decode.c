/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoder of the wire form. It runs on copies of memory that another process wrote, so each length
 * is checked before it is used and damage is an answer, never a crash.
 */
#include "wire/wire.h"

static bool take_bytes(const uint8_t **p, const uint8_t *end, void *out, size_t n)
{
	if ((size_t)(end - *p) < n)
		return false;
	memcpy(out, *p, n);
	*p += n;
	return true;
}

bool wire_reader_init(struct wire_reader *r, const void *chunk, size_t bytes)
{
	struct wire_chunk h;
	size_t committed;

	if (bytes < sizeof(h))
		return false;
	memcpy(&h, chunk, sizeof(h));
	committed = atomic_load_explicit(&h.committed, memory_order_relaxed);
	if (h.magic != WIRE_CHUNK_MAGIC || h.version != WIRE_VERSION || h.header_size < sizeof(h) ||
	    committed < h.header_size || committed > bytes)
		return false;
	r->p = (const uint8_t *)chunk + h.header_size;
	r->end = (const uint8_t *)chunk + committed;
	r->last_tick = h.base_tick;
	r->next_id = h.next_id;
	r->pointer_base = h.pointer_base & ~0xffffffffull;
	r->scope = h.scope;
	r->external = h.external;
	return true;
}

static bool take_times(const struct wire_head *h, const uint8_t **p, const uint8_t *end,
		       uint64_t *gap, uint64_t *duration)
{
	*gap = h->gap;
	*duration = h->duration;
	if (!(h->flags & WIRE_LONG))
		return true;
	return take_bytes(p, end, gap, 8) && take_bytes(p, end, duration, 8);
}

static bool take_ids(struct wire_reader *r, const uint8_t **p, const uint8_t *end,
		     struct wire_record *out)
{
	int32_t delta, up;

	if (!take_bytes(p, end, &delta, 4) || !take_bytes(p, end, &up, 4))
		return false;
	if (delta == INT32_MIN) {
		if (!take_bytes(p, end, &out->id, 8) || !take_bytes(p, end, &out->parent, 8))
			return false;
	} else {
		out->id = r->next_id + (uint64_t)(int64_t)delta;
		out->parent = up ? out->id - (uint64_t)(int64_t)up : 0;
	}
	if (out->id >= r->next_id)
		r->next_id = out->id + 1;
	return true;
}

static bool take_state(struct wire_reader *r, const uint8_t **p, const uint8_t *end,
		       struct wire_record *out)
{
	uint32_t state;

	if (!take_bytes(p, end, &state, 4))
		return false;
	if ((state & WIRE_STATE_SCOPE) && !take_bytes(p, end, &r->scope, 8))
		return false;
	if ((state & WIRE_STATE_EXTERNAL) && !take_bytes(p, end, &r->external, 8))
		return false;
	if ((state & WIRE_STATE_STACK) && !take_bytes(p, end, &out->stack, 4))
		return false;
	out->unwound = (state & WIRE_STATE_UNWOUND) != 0;
	out->no_fields = (state & WIRE_STATE_NO_FIELDS) != 0;
	return true;
}

static bool take_classes(const struct wire_head *h, const uint8_t **p, const uint8_t *end,
			 struct wire_record *out)
{
	uint32_t mid = 0;
	uint64_t high = 0;

	if ((h->flags & WIRE_EXT4) && !take_bytes(p, end, &mid, 4))
		return false;
	if ((h->flags & WIRE_EXT8) && !take_bytes(p, end, &high, 8))
		return false;
	out->classes = h->classes | (uint64_t)mid << 16 | high << 48;
	out->classes_hi = high >> 16;
	return true;
}

/* Everything between the fixed head and the fields. */
static bool take_optional(struct wire_reader *r, const struct wire_head *h, const uint8_t **p,
			  const uint8_t *end, struct wire_record *out)
{
	uint64_t gap, duration;

	out->site = h->site;
	if ((h->flags & WIRE_SITE32) && !take_bytes(p, end, &out->site, 4))
		return false;
	if (!take_times(h, p, end, &gap, &duration))
		return false;
	out->end = r->last_tick + gap;
	out->start = out->end - duration;
	r->last_tick = out->end;
	if (h->flags & WIRE_ID) {
		if (!take_ids(r, p, end, out))
			return false;
	} else {
		out->id = r->next_id++;
		out->parent = 0;
	}
	out->stack = 0;
	out->unwound = out->no_fields = false;
	if ((h->flags & WIRE_STATE) && !take_state(r, p, end, out))
		return false;
	out->scope = r->scope;
	out->external = r->external;
	out->has_status = (h->flags & WIRE_STATUS) != 0;
	out->status = 0;
	if (out->has_status && !take_bytes(p, end, &out->status, 4))
		return false;
	return take_classes(h, p, end, out);
}

/* Most records have no optional item but the classes of more fields. */
static inline int take_ordinary(struct wire_reader *r, const struct wire_head *h, const uint8_t *p,
				const uint8_t *end, struct wire_record *out)
{
	out->classes = h->classes;
	out->classes_hi = 0;
	if (__builtin_expect(h->flags != 0, 0) && !take_classes(h, &p, end, out))
		return -1;
	out->fields = p;
	out->op = h->op;
	out->site = h->site;
	out->end = r->last_tick += h->gap;
	out->start = out->end - h->duration;
	out->id = r->next_id++;
	out->parent = 0;
	out->stack = 0;
	out->unwound = out->no_fields = out->has_status = false;
	out->scope = r->scope;
	out->external = r->external;
	out->status = 0;
	r->p = end;
	return 1;
}

int wire_next(struct wire_reader *r, struct wire_record *out)
{
	struct wire_head h;
	const uint8_t *p = r->p, *end;

	if (p == r->end)
		return 0;
	if ((size_t)(r->end - p) < sizeof(h))
		return -1;
	memcpy(&h, p, sizeof(h));
	if (h.words < sizeof(h) / 4 || (size_t)(r->end - p) < h.words * 4u)
		return -1;
	end = p + h.words * 4u;
	p += sizeof(h);
	out->pointer_base = r->pointer_base;
	out->fields_end = end;
	if (__builtin_expect(!(h.flags & ~(WIRE_EXT4 | WIRE_EXT8)), 1))
		return take_ordinary(r, &h, p, end, out);
	out->op = h.op;
	if (!take_optional(r, &h, &p, end, out))
		return -1;
	out->fields = p;
	r->p = end;
	return 1;
}

static unsigned class_of(const struct wire_record *rec, unsigned i)
{
	return i < 32 ? (unsigned)(rec->classes >> (2 * i)) & 3u
		      : (unsigned)(rec->classes_hi >> (2 * (i - 32))) & 3u;
}

static bool take_number(struct wire_cursor *c, const uint8_t lengths[4], unsigned cls, uint64_t *v)
{
	*v = 0;
	return take_bytes(&c->p, c->rec->fields_end, v, lengths[cls]);
}

static bool take_pointer(struct wire_cursor *c, unsigned cls, struct wire_value *out)
{
	static const uint8_t lengths[4] = {0, 6, 4, 8};

	if (!take_number(c, lengths, cls, &out->u))
		return false;
	if (cls == 2)
		out->u |= c->rec->pointer_base;
	return true;
}

static bool take_array(struct wire_cursor *c, unsigned cls, uint8_t size, struct wire_value *out)
{
	const uint8_t *end = c->rec->fields_end;
	uint8_t head = 0, width = size ? size : 1;
	uint16_t stored = 0;
	uint32_t total = 0;
	size_t bytes;

	out->present = cls != 0;
	if (cls == 1) {
		if (!take_bytes(&c->p, end, &head, 1))
			return false;
		stored = head & 63;
		width = head >> 6 ? (uint8_t)(1u << ((head >> 6) - 1)) : width;
	} else if (cls >= 2 && !take_bytes(&c->p, end, &stored, 2)) {
		return false;
	}
	if (cls == 3 && !take_bytes(&c->p, end, &total, 4))
		return false;
	bytes = (size_t)stored * width;
	if ((size_t)(end - c->p) < bytes)
		return false;
	out->data = c->p;
	out->width = width;
	out->count = stored;
	out->total = cls == 3 ? total : stored;
	c->p += bytes;
	return true;
}

static void widen_value(uint8_t kind, uint8_t size, struct wire_value *out)
{
	if (kind == KYMO_KIND_SIGNED || kind == KYMO_KIND_TIME || kind == KYMO_KIND_ENUM) {
		out->u = wire_sign_extend(out->u, size);
	} else if (kind == KYMO_KIND_FLOAT && size == 4) {
		float f;
		uint32_t bits = (uint32_t)out->u;

		memcpy(&f, &bits, 4);
		out->f = (double)f;
	} else if (kind == KYMO_KIND_FLOAT) {
		memcpy(&out->f, &out->u, 8);
	}
}

bool wire_field(struct wire_cursor *c, uint8_t kind, uint8_t element, uint8_t size,
		struct wire_value *out)
{
	static const uint8_t lengths[4] = {0, 1, 4, 8};
	unsigned cls = c->index < KYMO_FIELDS_MAX ? class_of(c->rec, c->index) : 0;

	(void)element;
	c->index++;
	memset(out, 0, sizeof(*out));
	out->kind = kind;
	out->present = !c->rec->no_fields;
	if (c->rec->no_fields)
		return true;
	switch (kind) {
	case KYMO_KIND_POINTER:
	case KYMO_KIND_HANDLE:
		return take_pointer(c, cls, out);
	case KYMO_KIND_STRING:
	case KYMO_KIND_BYTES:
		return take_array(c, cls, 1, out);
	case KYMO_KIND_ARRAY:
		return take_array(c, cls, size, out);
	default:
		if (!take_number(c, lengths, cls, &out->u))
			return false;
		widen_value(kind, size, out);
		return true;
	}
}

uint64_t wire_element(const struct wire_value *v, uint8_t element, uint8_t size, uint32_t i)
{
	uint64_t u = 0;

	if (i >= v->count || v->width == 0 || v->width > 8)
		return 0;
	memcpy(&u, v->data + (size_t)i * v->width, v->width);
	if (v->width == size && (element == KYMO_KIND_SIGNED || element == KYMO_KIND_ENUM))
		u = wire_sign_extend(u, size);
	return u;
}
