/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wire form of records: what the traced program writes into its chunks and what every reader
 * decodes. This header is the one definition of both. docs/format.md describes it for others.
 *
 * A chunk is a header followed by records of one thread in order of their *end*. A record is
 *
 *   op u16 | words u8 | flags u8 | gap u32 | duration u32 | site u16 | classes u16      16 bytes
 *   [site u32]                       flag SITE32
 *   [gap u64, duration u64]          flag LONG: replace the header's values
 *   [id i32, parent i32]             flag ID: id - expected, id - parent (0: none); see wire_ids
 *   [bits u32, then per bit a value] flag STATE
 *   [status i32]                     flag STATUS: else the status is the op's "ok"
 *   [classes u32] [classes u64]      flags EXT4, EXT8: classes of fields 8..23 and 24..
 *   field values                     then padding to 4 bytes
 *
 * `gap` is the end tick minus the end tick of the record before (or the chunk's base tick);
 * the start is end - duration. A field's two class bits say how its value is stored:
 *
 *   numbers           0: zero   1: u8     2: u32                      3: u64
 *   pointers, handles 0: null   1: u48    2: u32 below pointer_base   3: u64
 *   strings, arrays   0: absent 1: u8 (count, below 64, and width << 6), elements
 *                     2: u16 count, elements
 *                     3: u16 stored count, u32 true count, elements (truncated)
 *
 * Width 0: elements have their own size; 1, 2, 3: all fit in 1, 2, 4 bytes and are stored so.
 *
 * All integers are little endian (the only byte order Kymo runs on; checked at build time).
 */
#ifndef WIRE_WIRE_H
#define WIRE_WIRE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <kymo/schema.h>

#include "base/assert.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the wire form is little endian");

#define WIRE_VERSION     1u
#define WIRE_CHUNK_MAGIC 0x314b594bu /* "KYK1" */
#define WIRE_OPEN_MAX    8u
#define WIRE_RECORD_MAX  1020u /* 255 words of 4 bytes */
#define WIRE_SLACK       16u   /* encoders may store past a record by this much */

enum wire_chunk_type {
	WIRE_CHUNK_RECORDS = 1,
	WIRE_CHUNK_DEFINITIONS = 2,
	WIRE_CHUNK_TALLY = 3, /* see tally.h */
	WIRE_CHUNK_LIVE = 4   /* see live.h */
};

/* A call that was open when the chunk was begun (or when the program died). */
struct wire_open {
	uint64_t id;
	uint64_t start; /* tick */
	uint32_t op;
	uint32_t site;
};

struct wire_chunk {
	uint32_t magic;
	uint16_t version;
	uint16_t header_size; /* bytes before the first record */
	uint32_t type;        /* enum wire_chunk_type */
	uint32_t thread;      /* index of the thread in its process, from 1; 0 for definitions */
	uint32_t tid;         /* of the operating system */
	_Atomic uint32_t committed; /* bytes valid from the start of this header */
	uint64_t seq; /* of this thread, from 0, without gaps unless records were lost */
	uint64_t base_tick;
	uint64_t next_id;
	int64_t scope;
	uint64_t external;
	uint64_t pointer_base;  /* pointers of class 2 are pointer_base | u32 */
	uint64_t lost;          /* records of this thread dropped between the last chunk and this */
	uint32_t open_depth;    /* calls open, may exceed what `open` holds */
	_Atomic uint32_t early; /* how long before base_tick records of it began; see wire_early */
	struct wire_open open[WIRE_OPEN_MAX]; /* outermost first */
};

/*
 * What `early` of a chunk says, so that readers who want records of some time need not look into
 * others: its records began less than 2^n ticks before base_tick.
 */
enum wire_early {
	WIRE_EARLY_BITS = 127, /* n */
	WIRE_EARLY_SAID = 128, /* by a writer that knows of it */
	WIRE_EARLY_ANY = 256   /* records are in it that fields place elsewhere: on a device, say */
};

enum wire_flag {
	WIRE_STATUS = 1,
	WIRE_ID = 2,
	WIRE_STATE = 4,
	WIRE_LONG = 8,
	WIRE_EXT4 = 16,
	WIRE_EXT8 = 32,
	WIRE_SITE32 = 64
};

enum wire_state {
	WIRE_STATE_SCOPE = 1,    /* i64: innermost scope from this record on */
	WIRE_STATE_EXTERNAL = 2, /* u64: external id from this record on */
	WIRE_STATE_STACK = 4,    /* u32: call stack of this record (definition STACK) */
	WIRE_STATE_UNWOUND = 8,  /* no value: left by an exception or longjmp, end is approximate */
	WIRE_STATE_NO_FIELDS = 16 /* no value: arguments were not recorded */
};

/* The first 16 bytes of a record. */
struct wire_head {
	uint16_t op;
	uint8_t words;
	uint8_t flags;
	uint32_t gap;
	uint32_t duration;
	uint16_t site;
	uint16_t classes;
};
_Static_assert(sizeof(struct wire_head) == 16, "wire head");

/*
 * Records of a chunk of `size` bytes behind its first `from` bytes; 0: all. The chunk may be where another process can write: nothing
 * outside of it is looked at.
 */
static inline uint64_t wire_chunk_records(const struct wire_chunk *c, uint32_t from, uint32_t size)
{
	uint32_t at = from ? from : (uint32_t)sizeof(*c);
	uint32_t end = atomic_load_explicit(&c->committed, memory_order_relaxed);
	uint64_t n = 0;

	end = end < size ? end : size;
	while (at <= end && end - at >= sizeof(struct wire_head)) {
		const struct wire_head *w = (const void *)((const uint8_t *)c + at);
		uint32_t words = *(const volatile uint8_t *)&w->words;

		if (words == 0)
			break;
		at += 4u * words;
		n++;
	}
	return n;
}

/* A record that began at tick `start` is about to be written into the chunk. */
static inline void wire_chunk_early(struct wire_chunk *c, uint64_t start)
{
	uint32_t early = atomic_load_explicit(&c->early, memory_order_relaxed), n;

	if (start >= c->base_tick)
		return;
	n = 64u - (uint32_t)__builtin_clzll(c->base_tick - start);
	if ((early & WIRE_EARLY_BITS) < n)
		atomic_store_explicit(&c->early, (early & ~(uint32_t)WIRE_EARLY_BITS) | n,
				      memory_order_relaxed);
}

/* One whose fields say when it was. */
static inline void wire_chunk_any_time(struct wire_chunk *c)
{
	uint32_t early = atomic_load_explicit(&c->early, memory_order_relaxed);

	if (__builtin_expect(!(early & WIRE_EARLY_ANY), 0))
		atomic_store_explicit(&c->early, early | WIRE_EARLY_ANY, memory_order_relaxed);
}

/* ---- encoder ---------------------------------------------------------------------------- */

/* A thread's writing end of its current chunk. Private to the thread; all zero means "none". */
struct wire_ring {
	uint8_t *cur;
	uint8_t *limit; /* a record may begin while cur <= limit */
	struct wire_chunk *chunk;
	uint64_t last_tick;
	uint64_t next_id;
	uint64_t pointer_base;
	int64_t scope;
	uint64_t external;
	uint64_t seq;
	/* Dropped since the last chunk was obtained; who delivers in the process may take it. */
	_Atomic uint64_t lost;
};

/* What the caller knows of a record besides its fields. */
struct wire_event {
	uint64_t id;
	uint64_t parent;
	uint64_t start;
	uint64_t end;
	uint64_t external;
	int64_t scope;
	int32_t status;
	bool has_status; /* status differs from the op's "ok" */
	bool unwound;
	bool no_fields;
	uint16_t op;
	uint32_t site;
	uint32_t stack;
};

/*
 * A record being written. It lives in registers as long as its address is not handed to a function
 * that is not inlined: what such a function needs is passed and returned by value.
 */
struct wire_enc {
	uint8_t *p;
	uint8_t *start;
	uint8_t *limit; /* end of the space for strings and arrays */
	uint8_t *ext;   /* where the classes of fields 8 and up go */
	struct wire_ring *ring;
	uint64_t base;
	uint64_t classes; /* of fields 0..31 */
	uint64_t classes_hi;
	uint32_t wide;   /* classes that do not fit into the head: 1 for EXT4, 2 for EXT8 too */
	uint64_t absent; /* bit i: field i has no value; for tools only, records have 0 there */
};

/* What a part of the encoder that is not inlined returns: where it stopped and a class or flags. */
struct wire_stop {
	uint8_t *p;
	uint64_t code;
};

/* Optional items after the head, and the ring's state after the record; returns the flags. */
struct wire_stop wire_put_optional(uint8_t *p, struct wire_ring *r, const struct wire_event *v);

/* Of the classes that do not fit into the head. */
static inline size_t wire_wide_bytes(const struct wire_enc *e)
{
	return e->wide > 1 ? 12 : e->wide * 4;
}

/* How many fields a record has decides where their classes go: a constant, where it is inlined. */
static inline void wire_shape(struct wire_enc *e, unsigned fields)
{
	e->wide = fields > 24 ? 2 : fields > 8;
}

/*
 * Begins a record of an op with `fields` fields (a constant). The ring must have room. The ordinary
 * record needs no optional item, which one branch finds out; its head is written at once, but for
 * what only wire_end() knows.
 */
static inline void wire_begin(struct wire_enc *e, struct wire_ring *r, const struct wire_event *v,
			      unsigned fields)
{
	uint64_t gap = v->end - r->last_tick, duration = v->end - v->start;
	uint64_t optional = (gap | duration) >> 32 | (v->id ^ r->next_id) | v->parent |
			    (uint64_t)(v->scope ^ r->scope) | (v->external ^ r->external) |
			    v->stack | v->has_status | v->unwound | v->no_fields |
			    (v->site >= 0xffff);
	uint32_t flags = 0, site = v->site;
	uint8_t *start = r->cur, *p = start + sizeof(struct wire_head);
	uint64_t low, high;

	if (__builtin_expect(optional != 0, 0)) {
		struct wire_event copy = *v; /* v itself stays in registers */
		struct wire_stop stop = wire_put_optional(p, r, &copy);

		p = stop.p;
		flags = (uint32_t)stop.code;
		site = site < 0xffff ? site : 0xffff;
	} else {
		r->next_id++;
	}
	r->last_tick = v->end;
	e->ext = p;
	wire_shape(e, v->no_fields ? 0 : fields);
	if (e->wide) {
		flags |= WIRE_EXT4 | (e->wide > 1 ? WIRE_EXT8 : 0u);
		p += wire_wide_bytes(e);
	}
	low = v->op | (uint64_t)flags << 24 | gap << 32;
	high = (uint32_t)duration | (uint64_t)site << 32;
	memcpy(start, &low, 8);
	memcpy(start + 8, &high, 8);
	e->p = p;
	e->start = start;
	e->ring = r;
	e->base = r->pointer_base;
	e->classes = e->classes_hi = 0;
	/* Every field still to come may need 8 bytes for itself. */
	e->limit = start + WIRE_RECORD_MAX - 8 * fields;
}

/* No field from number `i` on has been written. */
static inline bool wire_ascends(const struct wire_enc *e, unsigned i)
{
	if (i < 32)
		return e->classes >> (2 * i) == 0 && e->classes_hi == 0;
	return e->classes_hi >> (2 * (i - 32)) == 0;
}

static inline void wire_class(struct wire_enc *e, unsigned i, uint64_t c)
{
	kymo_assert(wire_ascends(e, i)); /* else the reader takes one field's bytes for another's */
	if (i < 32)
		e->classes |= c << (2 * i);
	else
		e->classes_hi |= c << (2 * (i - 32));
}

/* Unsigned number, enum, flags, size, bool, ref; `i` is the field's index, ascending. */
static inline void wire_unsigned(struct wire_enc *e, unsigned i, uint64_t v)
{
	unsigned c = (v != 0) + (v > 0xffu) + (v > 0xffffffffu);

	memcpy(e->p, &v, 8);
	e->p += (0x8410u >> (c * 4)) & 0xfu;
	wire_class(e, i, c);
}

/* Signed number of `size` bytes: stored as its low bytes, the reader extends the sign. */
static inline void wire_signed(struct wire_enc *e, unsigned i, int64_t v, unsigned size)
{
	wire_unsigned(e, i, size == 8 ? (uint64_t)v : (uint64_t)v & ((1ull << (8 * size)) - 1));
}

static inline void wire_float(struct wire_enc *e, unsigned i, float v)
{
	uint32_t bits;

	memcpy(&bits, &v, 4);
	wire_unsigned(e, i, bits);
}

static inline void wire_double(struct wire_enc *e, unsigned i, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, 8);
	wire_unsigned(e, i, bits);
}

/* Pointer or handle. */
static inline void wire_pointer(struct wire_enc *e, unsigned i, const void *pointer)
{
	uint64_t v = (uint64_t)(uintptr_t)pointer;
	unsigned c = v == 0 ? 0u : (v ^ e->base) >> 32 == 0 ? 2u : v >> 48 ? 3u : 1u;

	memcpy(e->p, &v, 8);
	e->p += (0x8460u >> (c * 4)) & 0xfu;
	wire_class(e, i, c);
}

/*
 * Stores `count` elements of `size` bytes at `p`, at most `cap` of them and no further than `limit`;
 * the class is returned with the end.
 */
struct wire_stop wire_put_array(uint8_t *p, uint8_t *limit, const void *data, size_t count,
				unsigned size, size_t cap);

/*
 * String, bytes or array of `count` elements of `size` bytes; NULL is absent. At most `cap`
 * elements are stored; a reader sees how many there were.
 */
static inline void wire_array(struct wire_enc *e, unsigned i, const void *data, size_t count,
			      unsigned size, size_t cap)
{
	struct wire_stop stop;

	if (!data)
		return;
	stop = wire_put_array(e->p, e->limit, data, count, size, cap);
	e->p = stop.p;
	wire_class(e, i, stop.code);
}

/* Terminated string; NULL is absent. */
static inline void wire_string(struct wire_enc *e, unsigned i, const char *s, size_t cap)
{
	if (s)
		wire_array(e, i, s, strnlen(s, 1u << 20), 1, cap);
}

/* Completes the record and makes it visible to the reading side. */
static inline void wire_end(struct wire_enc *e, struct wire_ring *r)
{
	size_t words = ((size_t)(e->p - e->start) + 3) / 4;
	uint16_t classes = (uint16_t)e->classes;

	e->start[offsetof(struct wire_head, words)] = (uint8_t)words;
	memcpy(e->start + offsetof(struct wire_head, classes), &classes, 2);
	if (e->wide) {
		uint32_t ext = (uint32_t)(e->classes >> 16);

		memcpy(e->ext, &ext, 4);
	}
	if (e->wide > 1) {
		uint64_t ext = e->classes >> 48 | e->classes_hi << 16;

		memcpy(e->ext + 4, &ext, 8);
	}
	r->cur = e->start + 4 * words;
	atomic_store_explicit(&r->chunk->committed, (uint32_t)(r->cur - (uint8_t *)r->chunk),
			      memory_order_release);
}

/* ---- decoder ---------------------------------------------------------------------------- */

/* Chunks come from memory that a broken program may have scribbled on: nothing is trusted. */
struct wire_reader {
	const uint8_t *p;
	const uint8_t *end;
	uint64_t last_tick;
	uint64_t next_id;
	uint64_t pointer_base;
	int64_t scope;
	uint64_t external;
};

struct wire_record {
	uint64_t id;
	uint64_t parent;
	uint64_t start; /* ticks */
	uint64_t end;
	uint64_t external;
	int64_t scope;
	int32_t status;
	uint32_t site;
	uint32_t stack;
	uint16_t op;
	bool has_status;
	bool unwound;
	bool no_fields;
	uint64_t classes;
	uint64_t classes_hi;
	uint64_t pointer_base;
	const uint8_t *fields;
	const uint8_t *fields_end;
};

/*
 * Prepares to read the chunk at `chunk` of `bytes` bytes (header included); the memory must not
 * change while it is read. Returns false if the header is not one of ours.
 */
bool wire_reader_init(struct wire_reader *r, const void *chunk, size_t bytes);

/* Next record: 1 and *out filled, 0 at the end, -1 where the data are damaged. */
int wire_next(struct wire_reader *r, struct wire_record *out);

/* The fields encoded so far, to be read again at once; nothing else of `out` is set. */
static inline void wire_peek(const struct wire_enc *e, struct wire_record *out)
{
	out->classes = e->classes;
	out->classes_hi = e->classes_hi;
	out->pointer_base = e->base;
	out->fields = e->ext + wire_wide_bytes(e);
	out->fields_end = e->p;
}

/* A decoded field value. */
struct wire_value {
	bool present;
	bool left_out; /* not present, and nobody knows whether it was there: set by readers that know */
	uint8_t kind; /* kymo_kind_t, as in the field */
	union {
		uint64_t u; /* also pointers, handles, enums, flags, floats as bits */
		int64_t i;
	};
	double f;            /* KYMO_KIND_FLOAT */
	const uint8_t *data; /* strings, bytes, arrays: borrowed from the chunk */
	uint32_t count;      /* elements stored */
	uint32_t total;      /* elements there were */
	uint8_t width;       /* bytes of each as stored; narrower than their size: unsigned */
};

/* Walks the fields of a record in order of the op's schema. */
struct wire_cursor {
	const struct wire_record *rec;
	const uint8_t *p;
	unsigned index;
};

static inline void wire_cursor_init(struct wire_cursor *c, const struct wire_record *rec)
{
	c->rec = rec;
	c->p = rec->fields;
	c->index = 0;
}

/* Value of the next field, whose schema is `kind`, `element`, `size`. False: damaged. */
bool wire_field(struct wire_cursor *c, uint8_t kind, uint8_t element, uint8_t size,
		struct wire_value *out);

/* Of a number of `size` bytes, 0 and what none has: of 8. */
static inline uint64_t wire_sign_extend(uint64_t v, uint8_t size)
{
	unsigned shift = size - 1u < 8u ? 64u - 8u * size : 0;

	return (uint64_t)((int64_t)(v << shift) >> shift);
}

/*
 * The next field if it is a whole number, as most are: without the rest of a value. False: wire_field() has to look at
 * it, and nothing was taken.
 */
static inline bool wire_number(struct wire_cursor *c, uint8_t kind, uint8_t size, uint64_t *out)
{
	const unsigned with_sign =
		1u << KYMO_KIND_SIGNED | 1u << KYMO_KIND_TIME | 1u << KYMO_KIND_ENUM;
	const unsigned numbers = with_sign | 1u << KYMO_KIND_UNSIGNED | 1u << KYMO_KIND_FLAGS |
				 1u << KYMO_KIND_BOOL | 1u << KYMO_KIND_SIZE | 1u << KYMO_KIND_REF;
	size_t left = (size_t)(c->rec->fields_end - c->p);
	uint32_t word;

	if (kind > KYMO_KIND_REF || !(numbers >> kind & 1) || c->index >= 32 || c->rec->no_fields)
		return false;
	switch (c->rec->classes >> 2 * c->index & 3) {
	case 0:
		*out = 0;
		break;
	case 1:
		if (left < 1)
			return false;
		*out = *c->p++;
		break;
	case 2:
		if (left < sizeof(word))
			return false;
		memcpy(&word, c->p, sizeof(word));
		*out = word;
		c->p += sizeof(word);
		break;
	default:
		if (left < sizeof(*out))
			return false;
		memcpy(out, c->p, sizeof(*out));
		c->p += sizeof(*out);
	}
	if (with_sign >> kind & 1)
		*out = wire_sign_extend(*out, size);
	c->index++;
	return true;
}

/* Element `i` of an array value, widened by the element's kind and size. */
uint64_t wire_element(const struct wire_value *v, uint8_t element, uint8_t size, uint32_t i);

#endif
