/* SPDX-License-Identifier: Apache-2.0 */
/* See columns.h. */
#include "wire/columns.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "wire/wire.h"

enum {
	HEAD_WORDS = 4,
	OPENING = 12, /* bytes */
	SLOTS = 1024, /* more than shapes, a power of 2 */
	SLOT_SHIFT = 22,
	NONE = 0xffff,
	ALIKE_MIN = 4 /* records of a shape, on average: else it costs more than it gains */
};

static uint32_t load(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static void store(uint8_t *p, uint32_t v)
{
	memcpy(p, &v, sizeof(v));
}

static uint32_t fold(uint32_t difference)
{
	return difference << 1 ^ (0u - (difference >> 31));
}

static uint32_t unfold(uint32_t folded)
{
	return folded >> 1 ^ (0u - (folded & 1));
}

void wire_columns_release(struct wire_columns *w)
{
	free(w->numbers);
	free(w->kinds);
	w->numbers = NULL;
	w->kinds = NULL;
	w->room = w->kind_room = 0;
}

static bool is_fixed(uint32_t word)
{
	return word == 0 || word == 3;
}

/* Numbers of the first records of shapes, in the order of these. */
static void number_shapes(struct wire_columns *w)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < w->shape_count; i++) {
		w->shapes[i].at = w->next[i] = at;
		at += w->shapes[i].count;
	}
}

/* ---- arranging ------------------------------------------------------------------------------- */

static uint32_t slot_of(uint32_t first, uint32_t fourth)
{
	return (first * 2654435761u ^ fourth * 2246822519u) >> SLOT_SHIFT;
}

/* NONE: there are too many. */
static uint32_t shape_of(struct wire_columns *w, uint16_t *slots, const uint8_t *record)
{
	uint32_t first = load(record), fourth = load(record + 12), slot = slot_of(first, fourth);
	struct column_shape *s;

	for (; slots[slot] != NONE; slot = (slot + 1) % SLOTS) {
		s = &w->shapes[slots[slot]];
		if (s->first == first && s->fourth == fourth)
			return slots[slot];
	}
	if (w->shape_count == COLUMN_SHAPES)
		return NONE;
	slots[slot] = (uint16_t)w->shape_count;
	w->shapes[w->shape_count] = (struct column_shape){
		.first = first,
		.fourth = fourth,
		.words = record[offsetof(struct wire_head, words)],
	};
	return w->shape_count++;
}

/* Returns how many records there are, 0 that they cannot be arranged. */
static uint32_t find_shapes(struct wire_columns *w, const uint8_t *p, const uint8_t *end)
{
	uint16_t slots[SLOTS];
	uint32_t n = 0;

	memset(slots, 0xff, sizeof(slots));
	w->shape_count = 0;
	while (p < end) {
		uint32_t left = (uint32_t)(end - p) / 4, kind;

		if (left < HEAD_WORDS || p[offsetof(struct wire_head, words)] > left ||
		    p[offsetof(struct wire_head, words)] < HEAD_WORDS)
			return 0;
		kind = shape_of(w, slots, p);
		if (kind == NONE)
			return 0;
		w->shapes[kind].count++;
		w->kinds[n++] = (uint8_t)kind;
		p += 4 * w->shapes[kind].words;
	}
	return n;
}

static void sort_records(struct wire_columns *w, uint32_t offset, uint32_t n)
{
	number_shapes(w);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t kind = w->kinds[i];

		w->numbers[w->next[kind]++] = offset;
		offset += 4 * w->shapes[kind].words;
	}
}

static uint32_t bits_of(uint32_t v)
{
	return 32u - (uint32_t)__builtin_clz(v | 1);
}

static uint32_t bytes_of(uint32_t v)
{
	return v ? (bits_of(v) + 7) / 8 : 0;
}

static uint8_t *put_planes(uint8_t *out, const uint32_t *numbers, uint32_t n, uint32_t width)
{
	for (uint32_t plane = 0; plane < width; plane++) {
		for (uint32_t i = 0; i < n; i++)
			out[i] = (uint8_t)(numbers[i] >> 8 * plane);
		out += n;
	}
	return out;
}

/* One word of all records of a shape. */
struct column {
	uint32_t *plain, *differences;
	uint32_t n;
	uint32_t any, any_difference; /* all of them, ored; the first is no difference */
};

static void take_column(struct column *c, const uint8_t *words, const uint32_t *at)
{
	uint32_t last = load(words + at[0]), difference;

	c->plain[0] = c->any = last;
	c->any_difference = 0;
	for (uint32_t i = 1; i < c->n; i++) {
		c->plain[i] = load(words + at[i]);
		c->any |= c->plain[i];
		c->differences[i] = difference = fold(c->plain[i] - last);
		c->any_difference |= difference;
		last = c->plain[i];
	}
}

static bool plain_is_less(const struct column *c)
{
	uint64_t bits = 0, difference_bits = 0;

	if (c->any == 0 || c->any_difference == 0)
		return c->any == 0;
	for (uint32_t i = 1; i < c->n; i++) {
		bits += bits_of(c->plain[i]);
		difference_bits += bits_of(c->differences[i]);
	}
	return bits <= difference_bits;
}

static uint8_t *put_column(uint8_t *out, uint8_t *mode, const struct column *c)
{
	if (plain_is_less(c)) {
		*mode = (uint8_t)bytes_of(c->any);
		return put_planes(out, c->plain, c->n, bytes_of(c->any));
	}
	*mode = (uint8_t)(bytes_of(c->any_difference) | COLUMN_DELTA);
	store(out, c->plain[0]);
	return put_planes(out + 4, c->differences + 1, c->n - 1, bytes_of(c->any_difference));
}

static uint8_t *put_shape(struct wire_columns *w, uint8_t *out, uint8_t **mode,
			  const uint8_t *chunk, const struct column_shape *s, uint32_t records)
{
	struct column c = {.plain = w->numbers + records,
			   .differences = w->numbers + 2 * records,
			   .n = s->count};

	for (uint32_t word = 1; word < s->words; word++) {
		if (is_fixed(word))
			continue;
		take_column(&c, chunk + 4 * word, w->numbers + s->at);
		out = put_column(out, (*mode)++, &c);
	}
	return out;
}

static uint8_t *put_opening(const struct wire_columns *w, uint8_t *out, const uint8_t *chunk,
			    uint32_t head, uint32_t records)
{
	store(out, head);
	store(out + 4, w->shape_count);
	store(out + 8, records);
	memcpy(out + OPENING, chunk, head);
	out += OPENING + head;
	for (uint32_t i = 0; i < w->shape_count; i++, out += 8) {
		store(out, w->shapes[i].first);
		store(out + 4, w->shapes[i].fourth);
	}
	memcpy(out, w->kinds, records);
	return out + records;
}

size_t wire_columns_pack(struct wire_columns *w, const uint8_t *chunk, size_t bytes, uint8_t *out)
{
	uint8_t *p, *mode;
	struct wire_chunk h;
	uint32_t n;

	if (bytes < sizeof(h) || bytes > UINT32_MAX / 2)
		return 0;
	memcpy(&h, chunk, sizeof(h));
	if (h.header_size < sizeof(h) || h.header_size >= bytes || bytes % 4 ||
	    !vec_reserve(&w->kinds, &w->kind_room, 0, bytes / 16) ||
	    !vec_reserve(&w->numbers, &w->room, 0, 3 * (bytes / 16)))
		return 0;
	n = find_shapes(w, chunk + h.header_size, chunk + bytes);
	if (n < ALIKE_MIN * w->shape_count || n == 0)
		return 0;
	sort_records(w, h.header_size, n);
	p = mode = put_opening(w, out, chunk, h.header_size, n);
	for (uint32_t i = 0; i < w->shape_count; i++)
		p += w->shapes[i].words - 2;
	for (uint32_t i = 0; i < w->shape_count; i++)
		p = put_shape(w, p, &mode, chunk, &w->shapes[i], n);
	return (size_t)(p - out);
}

/* ---- and back -------------------------------------------------------------------------------- */

struct input {
	const uint8_t *p, *end;
};

static const uint8_t *take(struct input *in, size_t bytes)
{
	const uint8_t *p = in->p;

	if ((size_t)(in->end - p) < bytes)
		return NULL;
	in->p += bytes;
	return p;
}

static bool take_shapes(struct wire_columns *w, struct input *in, uint32_t shapes)
{
	const uint8_t *p = shapes <= COLUMN_SHAPES ? take(in, shapes * 8) : NULL;

	if (!p)
		return false;
	w->shape_count = shapes;
	for (uint32_t i = 0; i < shapes; i++, p += 8) {
		struct column_shape *s = &w->shapes[i];

		*s = (struct column_shape){.first = load(p), .fourth = load(p + 4)};
		s->words = p[offsetof(struct wire_head, words)];
		if (s->words < HEAD_WORDS)
			return false;
	}
	return true;
}

static bool count_records(struct wire_columns *w, const uint8_t *kinds, uint32_t n, size_t bytes)
{
	size_t sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (kinds[i] >= w->shape_count)
			return false;
		w->shapes[kinds[i]].count++;
	}
	for (uint32_t i = 0; i < w->shape_count; i++) {
		if (w->shapes[i].count == 0)
			return false;
		sum += (size_t)w->shapes[i].count * w->shapes[i].words * 4;
	}
	return sum == bytes;
}

/* Their first and fourth words, and where they are. */
static void place_records(struct wire_columns *w, const uint8_t *kinds, uint32_t n, uint8_t *chunk,
			  uint32_t offset)
{
	number_shapes(w);
	for (uint32_t i = 0; i < n; i++) {
		const struct column_shape *s = &w->shapes[kinds[i]];

		w->numbers[w->next[kinds[i]]++] = offset;
		store(chunk + offset, s->first);
		store(chunk + offset + 12, s->fourth);
		offset += 4 * s->words;
	}
}

static inline __attribute__((always_inline)) uint32_t value_at(const uint8_t *planes, uint32_t n,
							       uint32_t width, uint32_t i)
{
	uint32_t v = 0;

	for (uint32_t plane = 0; plane < width; plane++)
		v |= (uint32_t)planes[(size_t)plane * n + i] << 8 * plane;
	return v;
}

/* Inlined with a constant width. */
static inline __attribute__((always_inline)) void
fill(uint8_t *to, const uint32_t *at, const uint8_t *planes, uint32_t n, uint32_t width)
{
	for (uint32_t i = 0; i < n; i++)
		store(to + at[i], value_at(planes, n, width, i));
}

static inline __attribute__((always_inline)) void add_up(uint8_t *to, const uint32_t *at,
							 const uint8_t *planes, uint32_t n,
							 uint32_t width, uint32_t last)
{
	for (uint32_t i = 0; i < n; i++) {
		last += unfold(value_at(planes, n, width, i));
		store(to + at[i], last);
	}
}

static bool take_plain(struct input *in, uint8_t *to, const uint32_t *at, uint32_t n,
		       uint32_t width)
{
	const uint8_t *planes = take(in, (size_t)width * n);

	if (!planes)
		return false;
	switch (width) {
	case 0:
		fill(to, at, planes, n, 0);
		break;
	case 1:
		fill(to, at, planes, n, 1);
		break;
	case 2:
		fill(to, at, planes, n, 2);
		break;
	case 3:
		fill(to, at, planes, n, 3);
		break;
	default:
		fill(to, at, planes, n, 4);
	}
	return true;
}

static bool take_differences(struct input *in, uint8_t *to, const uint32_t *at, uint32_t n,
			     uint32_t width)
{
	const uint8_t *first = take(in, 4), *planes = take(in, (size_t)width * (n - 1));
	uint32_t last;

	if (!first || !planes)
		return false;
	last = load(first);
	store(to + at[0], last);
	at++;
	n--;
	switch (width) {
	case 0:
		add_up(to, at, planes, n, 0, last);
		break;
	case 1:
		add_up(to, at, planes, n, 1, last);
		break;
	case 2:
		add_up(to, at, planes, n, 2, last);
		break;
	case 3:
		add_up(to, at, planes, n, 3, last);
		break;
	default:
		add_up(to, at, planes, n, 4, last);
	}
	return true;
}

static bool take_shape(const struct wire_columns *w, struct input *in, const uint8_t **mode,
		       uint8_t *chunk, const struct column_shape *s)
{
	const uint32_t *at = w->numbers + s->at;

	for (uint32_t word = 1; word < s->words; word++) {
		uint8_t *to = chunk + 4 * word;
		uint32_t how, width;

		if (is_fixed(word))
			continue;
		how = *(*mode)++;
		width = how & ~(uint32_t)COLUMN_DELTA;
		if (width > 4 ||
		    !(how & COLUMN_DELTA ? take_differences(in, to, at, s->count, width)
					 : take_plain(in, to, at, s->count, width)))
			return false;
	}
	return true;
}

static const uint8_t *take_modes(const struct wire_columns *w, struct input *in)
{
	size_t n = 0;

	for (uint32_t i = 0; i < w->shape_count; i++)
		n += w->shapes[i].words - 2;
	return take(in, n);
}

bool wire_columns_unpack(struct wire_columns *w, const uint8_t *bytes_in, size_t bytes,
			 uint8_t *chunk, size_t size)
{
	struct input in = {bytes_in, bytes_in + bytes};
	const uint8_t *opening = take(&in, OPENING), *header, *kinds, *mode;
	uint32_t head, records;

	if (!opening)
		return false;
	head = load(opening);
	records = load(opening + 8);
	if (head > size || size > UINT32_MAX || records > (size - head) / 16)
		return false;
	header = take(&in, head);
	if (!header || !take_shapes(w, &in, load(opening + 4)))
		return false;
	kinds = take(&in, records);
	if (!kinds || !count_records(w, kinds, records, size - head) ||
	    !vec_reserve(&w->numbers, &w->room, 0, records))
		return false;
	mode = take_modes(w, &in);
	if (!mode)
		return false;
	memcpy(chunk, header, head);
	place_records(w, kinds, records, chunk, head);
	for (uint32_t i = 0; i < w->shape_count; i++)
		if (!take_shape(w, &in, &mode, chunk, &w->shapes[i]))
			return false;
	return in.p == in.end;
}
