/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the kind, the kind of elements and the size of FIELDS fields, then any bytes as a chunk of records of such
 * fields, and as a chunk arranged in columns. All that is read lies inside of the chunk; a record written again is read as it
 * was; a chunk arranged and brought back is the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/columns.h"
#include "wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	FIELDS = KYMO_FIELDS_MAX,
	KINDS = 16, /* two more than there are */
	SMALL = 75, /* words of a record that has room for all its fields as they are written again */
	ELEMENTS = 4 * SMALL /* of an array, at most */
};

struct shape {
	uint8_t kind, element, size;
};

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void take_shapes(const uint8_t *data, struct shape shapes[FIELDS])
{
	for (unsigned i = 0; i < FIELDS; i++)
		shapes[i] = (struct shape){.kind = data[3 * i] % KINDS,
					   .element = data[3 * i + 1] % KINDS,
					   .size = (uint8_t)(1u << data[3 * i + 2] % 4)};
}

/* ---- reading ------------------------------------------------------------------------------- */

/* The short way to a number is the long one's. */
static void check_number(struct wire_cursor at, const struct shape *s, bool good,
			 const struct wire_value *v)
{
	uint64_t n;

	if (wire_number(&at, s->kind, s->size, &n))
		check(good && v->present && n == v->u);
}

static void check_value(const struct wire_record *r, const struct shape *s,
			const struct wire_value *v)
{
	if (!v->data)
		return;
	check(v->data >= r->fields && v->data + (size_t)v->count * v->width <= r->fields_end);
	for (uint32_t i = 0; i <= v->count; i++) /* the last one is none */
		(void)wire_element(v, s->element, s->size, i);
}

/* How many fields can be read. */
static unsigned walk(const struct wire_record *r, const struct shape *shapes,
		     struct wire_value values[FIELDS])
{
	struct wire_cursor c;
	unsigned n = 0;

	wire_cursor_init(&c, r);
	for (; n < FIELDS; n++) {
		struct wire_cursor before = c;
		bool good = wire_field(&c, shapes[n].kind, shapes[n].element, shapes[n].size,
				       &values[n]);

		check_number(before, &shapes[n], good, &values[n]);
		if (!good)
			break;
		check_value(r, &shapes[n], &values[n]);
	}
	return n;
}

/* ---- writing again ------------------------------------------------------------------------- */

static void put_array(struct wire_enc *e, unsigned i, const struct shape *s,
		      const struct wire_value *v)
{
	static uint64_t elements[ELEMENTS];
	unsigned size = s->kind == KYMO_KIND_ARRAY ? s->size : 1;

	for (uint32_t k = 0; k < v->count; k++) {
		uint64_t u = wire_element(v, 0, s->size, k);

		memcpy((uint8_t *)elements + (size_t)k * size, &u, size);
	}
	wire_array(e, i, elements, v->total, size, v->count);
}

static void put_field(struct wire_enc *e, unsigned i, const struct shape *s,
		      const struct wire_value *v)
{
	switch (s->kind) {
	case KYMO_KIND_POINTER:
	case KYMO_KIND_HANDLE:
		wire_pointer(e, i, (const void *)(uintptr_t)v->u);
		break;
	case KYMO_KIND_STRING:
	case KYMO_KIND_BYTES:
	case KYMO_KIND_ARRAY:
		if (v->present)
			put_array(e, i, s, v);
		break;
	case KYMO_KIND_SIGNED:
	case KYMO_KIND_TIME:
	case KYMO_KIND_ENUM:
		wire_signed(e, i, v->i, s->size);
		break;
	default:
		wire_unsigned(e, i, v->u);
		break;
	}
}

static void check_field(const struct shape *s, const struct wire_value *a,
			const struct wire_value *b)
{
	check(a->present == b->present && a->count == b->count && a->total == b->total);
	check(a->data || a->u == b->u);
	for (uint32_t i = 0; i < a->count; i++)
		check(wire_element(a, 0, s->size, i) == wire_element(b, 0, s->size, i));
}

static bool can_be_written(const struct wire_record *r, const struct shape *shapes,
			   const struct wire_value *values)
{
	/* A parent is another call. */
	if (r->id == r->parent && r->parent)
		return false;
	for (unsigned i = 0; i < FIELDS; i++) {
		unsigned size = shapes[i].kind == KYMO_KIND_ARRAY ? shapes[i].size : 1;

		if (!values[i].data)
			continue;
		/* Of the kind's own size, or of eight bytes and narrower: writers know no others. */
		if (values[i].width != size && size != 8)
			return false;
		/* "So many of that many" with no fewer than there were. */
		if (values[i].total < values[i].count)
			return false;
	}
	return true;
}

static void write_again(const struct wire_record *r, const struct wire_reader *before,
			const struct shape *shapes, const struct wire_value *values)
{
	static union {
		struct wire_chunk chunk;
		uint8_t bytes[sizeof(struct wire_chunk) + WIRE_RECORD_MAX + WIRE_SLACK];
	} memory;
	const struct wire_event v = {.id = r->id,
				     .parent = r->parent,
				     .start = r->start,
				     .end = r->end,
				     .external = r->external,
				     .scope = r->scope,
				     .status = r->status,
				     .has_status = r->has_status,
				     .unwound = r->unwound,
				     .no_fields = r->no_fields,
				     .op = r->op,
				     .site = r->site,
				     .stack = r->stack};
	struct wire_ring ring = {.cur = memory.bytes + sizeof(memory.chunk),
				 .chunk = &memory.chunk,
				 .last_tick = before->last_tick,
				 .next_id = before->next_id,
				 .pointer_base = before->pointer_base,
				 .scope = before->scope,
				 .external = before->external};
	struct wire_value again[FIELDS];
	struct wire_reader reader;
	struct wire_record out;
	struct wire_enc e;

	memory.chunk = (struct wire_chunk){.magic = WIRE_CHUNK_MAGIC,
					   .version = WIRE_VERSION,
					   .header_size = sizeof(memory.chunk),
					   .base_tick = before->last_tick,
					   .next_id = before->next_id,
					   .pointer_base = before->pointer_base,
					   .scope = before->scope,
					   .external = before->external};
	wire_begin(&e, &ring, &v, FIELDS);
	for (unsigned i = 0; i < FIELDS && !r->no_fields; i++)
		put_field(&e, i, &shapes[i], &values[i]);
	wire_end(&e, &ring);
	check(wire_reader_init(&reader, memory.bytes, sizeof(memory.bytes)));
	check(wire_next(&reader, &out) == 1);
	check(out.id == r->id && out.parent == r->parent && out.start == r->start &&
	      out.end == r->end && out.external == r->external && out.scope == r->scope);
	check(out.status == r->status && out.has_status == r->has_status &&
	      out.unwound == r->unwound && out.no_fields == r->no_fields && out.op == r->op &&
	      out.site == r->site && out.stack == r->stack);
	check(walk(&out, shapes, again) == FIELDS);
	for (unsigned i = 0; i < FIELDS; i++)
		check_field(&shapes[i], &values[i], &again[i]);
	check(wire_next(&reader, &out) == 0);
}

static void read_chunk(const uint8_t *chunk, size_t size, const struct shape *shapes)
{
	struct wire_value values[FIELDS];
	struct wire_reader reader, before;
	struct wire_record r;
	uint64_t n = 0;

	if (!wire_reader_init(&reader, chunk, size))
		return;
	for (before = reader; wire_next(&reader, &r) > 0; before = reader, n++) {
		check(r.fields <= r.fields_end && r.fields >= chunk &&
		      r.fields_end <= chunk + size);
		if (walk(&r, shapes, values) == FIELDS && r.fields_end - before.p <= 4 * SMALL &&
		    can_be_written(&r, shapes, values))
			write_again(&r, &before, shapes, values);
	}
	/* As the drain counts them, where the program has the chunk. */
	if (((const struct wire_chunk *)chunk)->header_size == sizeof(struct wire_chunk))
		check(wire_chunk_records((const void *)chunk, 0, (uint32_t)size) >= n);
}

/* ---- columns ------------------------------------------------------------------------------- */

static void arrange(const uint8_t *chunk, size_t size)
{
	static struct wire_columns w;
	uint8_t *out = malloc(wire_columns_bound(size)), *back = malloc(size + 1);
	size_t n = out && back ? wire_columns_pack(&w, chunk, size, out) : 0;

	if (n) {
		check(n <= wire_columns_bound(size));
		check(wire_columns_unpack(&w, out, n, back, size) &&
		      memcmp(back, chunk, size) == 0);
	}
	free(out);
	free(back);
}

/* Arranged bytes do not say how large the chunk was: the block of the file does, here the last two bytes. */
static void bring_back(const uint8_t *bytes, size_t size)
{
	static struct wire_columns w;
	uint16_t whole;
	uint8_t *chunk;

	if (size < sizeof(whole))
		return;
	memcpy(&whole, bytes + size - sizeof(whole), sizeof(whole));
	chunk = malloc((size_t)whole + 1);
	if (chunk)
		(void)wire_columns_unpack(&w, bytes, size - sizeof(whole), chunk, whole);
	free(chunk);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct shape shapes[FIELDS];
	uint8_t *chunk;

	if (size < 3 * FIELDS)
		return 0;
	take_shapes(data, shapes);
	data += 3 * FIELDS;
	size -= 3 * FIELDS;
	chunk = malloc(size ? size : 1); /* aligned, and with an end of its own */
	if (!chunk)
		return 0;
	memcpy(chunk, data, size);
	read_chunk(chunk, size, shapes);
	arrange(chunk, size);
	bring_back(chunk, size);
	free(chunk);
	return 0;
}
