/* SPDX-License-Identifier: Apache-2.0 */
/* See block.h. */
#include "page/block.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "page/rows.h"

enum coding { CODING_PLAIN, CODING_DELTA, CODING_OF_OP, CODINGS };

enum { SAMPLE = 8192 }; /* numbers that are looked at to choose */

bool block_init(struct block *b, uint32_t columns, uint32_t ops)
{
	bool ok = true;

	*b = (struct block){.ops = ops};
	for (unsigned i = 1; i < BLOCK_COLUMNS; i++) {
		if (!(columns >> i & 1))
			continue;
		b->values[i] = calloc(PAGE_BLOCK_MOST, sizeof(*b->values[i]));
		ok &= b->values[i] != NULL;
	}
	b->last = calloc(ops ? ops : 1, sizeof(*b->last));
	for (unsigned i = 0; i < 2; i++)
		b->coded[i] = calloc(PAGE_BLOCK_MOST, sizeof(*b->coded[i]));
	return ok && b->last && b->coded[0] && b->coded[1];
}

void block_release(struct block *b)
{
	for (unsigned i = 1; i < BLOCK_COLUMNS; i++)
		free(b->values[i]);
	free(b->last);
	free(b->coded[0]);
	free(b->coded[1]);
	*b = (struct block){0};
}

static uint64_t zigzag(uint64_t to, uint64_t from)
{
	uint64_t d = to - from;

	return d << 1 ^ (uint64_t)((int64_t)d >> 63);
}

static void encode(const struct block *b, const uint64_t *values, enum coding coding, uint64_t *out)
{
	uint64_t before = 0;

	if (coding == CODING_OF_OP)
		memset(b->last, 0, b->ops * sizeof(*b->last));
	for (uint32_t i = 0; i < b->count; i++) {
		uint64_t v = values[i];

		if (coding == CODING_PLAIN) {
			out[i] = v;
		} else if (coding == CODING_DELTA) {
			out[i] = zigzag(v, before);
			before = v;
		} else {
			uint64_t *last = &b->last[b->values[BLOCK_OP][i]];

			out[i] = zigzag(v, *last);
			*last = v;
		}
	}
}

static unsigned width_of(const uint64_t *values, uint32_t count)
{
	uint64_t all = 0;
	unsigned width = 0;

	for (uint32_t i = 0; i < count; i++)
		all |= values[i];
	for (; all; all >>= 8)
		width++;
	return width;
}

/* Bits that the planes of some of the numbers need, each byte by its frequency in its plane. */
static double cost_of(const uint64_t *values, uint32_t count)
{
	uint32_t from = count > SAMPLE ? (count - SAMPLE) / 2 : 0;
	uint32_t n = count > SAMPLE ? SAMPLE : count;
	unsigned width = width_of(values + from, n);
	double bits = 0;

	for (unsigned plane = 0; plane < width; plane++) {
		uint32_t seen[256] = {0};

		for (uint32_t i = 0; i < n; i++)
			seen[values[from + i] >> (8 * plane) & 0xff]++;
		for (unsigned k = 0; k < 256; k++)
			if (seen[k])
				bits += seen[k] * log2((double)n / seen[k]);
	}
	return bits;
}

static bool suits(const struct block *b, unsigned column, enum coding coding)
{
	if (coding == CODING_PLAIN)
		return true;
	if (coding == CODING_DELTA)
		return column != BLOCK_FLAGS && column != BLOCK_VALUE;
	return b->values[BLOCK_OP] &&
	       (column == BLOCK_GAP || column == BLOCK_DURATION || column == BLOCK_BYTES);
}

static void write_column(const struct block *b, unsigned column, uint8_t head[3],
			 struct text *planes)
{
	const uint64_t *values = b->values[column];
	uint64_t *best = b->coded[0], *next = b->coded[1];
	double least = 0;
	unsigned width;

	for (unsigned c = 0; c < CODINGS; c++) {
		double cost;

		if (!suits(b, column, (enum coding)c))
			continue;
		encode(b, values, (enum coding)c, next);
		cost = cost_of(next, b->count);
		if (c == CODING_PLAIN || cost < least) {
			uint64_t *t = best;

			best = next;
			next = t;
			least = cost;
			head[2] = (uint8_t)c;
		}
	}
	width = width_of(best, b->count);
	head[0] = (uint8_t)column;
	head[1] = (uint8_t)width;
	for (unsigned plane = 0; plane < width; plane++) {
		uint8_t *bytes = (uint8_t *)next;

		for (uint32_t i = 0; i < b->count; i++)
			bytes[i] = (uint8_t)(best[i] >> (8 * plane));
		text_add_bytes(planes, (const char *)bytes, b->count);
	}
}

void block_write(const struct block *b, struct text *out)
{
	struct text planes = {0};
	uint8_t heads[BLOCK_COLUMNS][3];
	uint8_t columns = 0, count[4];

	for (unsigned i = 1; i < BLOCK_COLUMNS; i++)
		if (b->values[i])
			write_column(b, i, heads[columns++], &planes);
	for (unsigned i = 0; i < 4; i++)
		count[i] = (uint8_t)(b->count >> (8 * i));
	text_add_bytes(out, (const char *)count, 4);
	text_add_bytes(out, (const char *)&columns, 1);
	text_add_bytes(out, (const char *)heads, 3u * columns);
	if (planes.length)
		text_add_bytes(out, planes.s, planes.length);
	out->failed |= planes.failed;
	text_release(&planes);
}
