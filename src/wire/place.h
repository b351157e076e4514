/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values that lie in memory at places known before the call: arguments where no generated wrapper hands
 * them to the encoder one by one. An op's places are worked out once, when it is described; the
 * record of a call is a loop over them that asks no more of each than whether it is a number or an
 * address. Strings, and what has to be looked for, are encoded out of line.
 */
#ifndef WIRE_PLACE_H
#define WIRE_PLACE_H

#include <string.h>

#include "wire/wire.h"

/* How the value is found and stored. */
enum wire_way {
	WIRE_NUMBER = 0,
	WIRE_ADDRESS = 1,
	WIRE_INSIDE = 2, /* with either: `behind` bytes from where that leads; null: absent */
	WIRE_OTHER = 4   /* not as simple as that */
};

struct wire_place {
	uint16_t at; /* bytes from where the arguments lie */
	uint16_t behind;
	uint8_t size; /* 1, 2, 4 or 8; eight bytes can be read there whatever it is */
	uint8_t way;
};

/* The way of a value of some kind that lies at the place itself. */
static inline uint8_t wire_way_of(unsigned kind)
{
	return kind == KYMO_KIND_STRING                                ? WIRE_OTHER
	       : kind == KYMO_KIND_POINTER || kind == KYMO_KIND_HANDLE ? WIRE_ADDRESS
								       : WIRE_NUMBER;
}

/* Stores field `i`, whose way is WIRE_OTHER, at `p`, as wire_put_array() does. */
typedef struct wire_stop wire_other_fn(uint8_t *p, uint8_t *limit, uint64_t base, unsigned i,
				       const void *data);

/* Of what a word stands for that was looked for elsewhere. A string is its address; at most `text` bytes; 0: none. */
struct wire_stop wire_put_found(uint8_t *p, uint8_t *limit, uint64_t base,
				const struct wire_place *w, unsigned kind, uint64_t v,
				unsigned text);

static const uint64_t wire_masks[9] = {
	[1] = 0xff, [2] = 0xffff, [4] = 0xffffffff, [8] = UINT64_MAX};

/* A value of any way but WIRE_OTHER. */
static inline uint64_t wire_word(const void *args, const struct wire_place *w)
{
	uint64_t v;

	memcpy(&v, (const char *)args + w->at, sizeof(v));
	if (__builtin_expect(w->way & WIRE_INSIDE, 0)) {
		if (v == 0)
			return 0;
		memcpy(&v, (const char *)(uintptr_t)v + w->behind, sizeof(v));
	}
	return v & wire_masks[w->size];
}

/* As wire_unsigned() and wire_pointer() do it. */
static inline __attribute__((always_inline)) struct wire_stop
wire_put_word(uint8_t *p, uint64_t base, uint64_t v, bool address)
{
	static const uint8_t numbers[4] = {0, 1, 4, 8}, addresses[4] = {0, 6, 4, 8};
	unsigned c;

	memcpy(p, &v, sizeof(v));
	if (address) {
		c = v == 0 ? 0u : (v ^ base) >> 32 == 0 ? 2u : v >> 48 ? 3u : 1u;
		return (struct wire_stop){p + addresses[c], c};
	}
	c = (v != 0) + (v > 0xffu) + (v > 0xffffffffu);
	return (struct wire_stop){p + numbers[c], c};
}

/* Fields `from` to `to`, at most 32; returns their classes. */
static inline __attribute__((always_inline)) uint64_t
wire_places_part(struct wire_enc *e, unsigned from, unsigned to, const void *args,
		 const struct wire_place *places, size_t stride, wire_other_fn *other,
		 const void *data)
{
	const char *const first = (const char *)places,
			  *at = first + from * stride, *const end = first + to * stride;
	struct wire_stop stop = {.p = e->p};
	uint64_t classes = 0, v;

	for (; at < end; at += stride) {
		const struct wire_place *w = (const void *)at;

		if (__builtin_expect(w->way & ~WIRE_ADDRESS, 0)) {
			if (w->way & WIRE_OTHER)
				stop = other(stop.p, e->limit, e->base,
					     (unsigned)((size_t)(at - first) / stride), data);
			else
				stop = wire_put_word(stop.p, e->base, wire_word(args, w),
						     w->way & WIRE_ADDRESS);
		} else {
			memcpy(&v, (const char *)args + w->at, sizeof(v));
			v &= wire_masks[w->size];
			stop = wire_put_word(stop.p, e->base, v, w->way == WIRE_ADDRESS);
		}
		classes = classes >> 2 | stop.code << 62;
	}
	e->p = stop.p;
	return to > from ? classes >> (64 - 2 * (to - from)) : 0;
}

/*
 * All fields of a record that was begun. `stride` is a constant: places may be the first members of something
 * larger.
 */
static inline __attribute__((always_inline)) void
wire_put_places(struct wire_enc *e, unsigned count, const void *args,
		const struct wire_place *places, size_t stride, wire_other_fn *other,
		const void *data)
{
	const unsigned first = count < 32 ? count : 32;

	kymo_assert(wire_ascends(e, 0));
	e->classes = wire_places_part(e, 0, first, args, places, stride, other, data);
	if (__builtin_expect(count > 32, 0))
		e->classes_hi = wire_places_part(e, 32, count, args, places, stride, other, data);
}

#endif
