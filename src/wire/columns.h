/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chunk of records arranged for compression: records that look alike, and of these the same word of
 * each, stand together, as differences where these are smaller. What a compressor then finds is a third
 * to a half less. Nothing is known here of operations and their fields, and nothing is lost: the chunk
 * comes back as it was, byte for byte.
 *
 *   head u32 | shapes u32 | records u32           sizes: of the chunk's header, in bytes
 *   the chunk's header as it is
 *   per shape   first word, fourth word           op, length, flags; site, classes: of all of its records
 *   per record  u8 shape                          in their order
 *   per shape, per other word    u8 mode          bytes of each number (0 to 4), COLUMN_DELTA
 *   per shape, per other word    the column
 *
 * A column with COLUMN_DELTA begins with its first number, u32; the others are differences to the one before,
 * whose sign is the lowest bit. Then come the lowest bytes of all numbers, the second ones, and so on.
 */
#ifndef WIRE_COLUMNS_H
#define WIRE_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	COLUMN_DELTA = 8, /* of a mode; the lower bits are the width */
	COLUMN_SHAPES = 255
};

struct column_shape {
	uint32_t first, fourth; /* words */
	uint32_t words;
	uint32_t count; /* records */
	uint32_t at;    /* number of its first record when they are sorted */
};

/* Working memory of one thread; all zero when empty. */
struct wire_columns {
	uint32_t *numbers; /* offsets of records sorted by shape; two columns */
	uint8_t *kinds;    /* numbers of shapes, of all records in their order */
	uint32_t room, kind_room;
	uint32_t shape_count;
	struct column_shape shapes[COLUMN_SHAPES];
	uint32_t next[COLUMN_SHAPES];
};
void wire_columns_release(struct wire_columns *w);

/* What a chunk of so many bytes takes at most when it is arranged. */
static inline size_t wire_columns_bound(size_t bytes)
{
	return 2 * bytes + 64;
}

/*
 * Arranges a chunk into `out`, which has room for its bound. Returns the bytes; 0: it is left as it is,
 * since nothing would be gained, or something in it is not understood.
 */
size_t wire_columns_pack(struct wire_columns *w, const uint8_t *chunk, size_t bytes, uint8_t *out);

/* The chunk of `size` bytes back from `bytes` at `in`, which may be anything. False: it is damaged. */
bool wire_columns_unpack(struct wire_columns *w, const uint8_t *in, size_t bytes, uint8_t *chunk,
			 size_t size);

#endif
