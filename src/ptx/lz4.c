/* SPDX-License-Identifier: Apache-2.0 */
/* LZ4 blocks: literal bytes, and copies of what was before. */
#include "ptx/image.h"

#include <string.h>

struct lz4 {
	const uint8_t *at, *end;
	uint8_t *to, *start, *room;
	bool bad;
};

/* 15 of a token goes on in bytes, as long as they are 255. */
static size_t length_of(struct lz4 *z, size_t length)
{
	uint8_t more = 255;

	if (length != 15)
		return length;
	while (more == 255) {
		if (z->at == z->end) {
			z->bad = true;
			return 0;
		}
		more = *z->at++;
		length += more;
	}
	return length;
}

static void literals(struct lz4 *z, size_t length)
{
	if (z->bad || length > (size_t)(z->end - z->at) || length > (size_t)(z->room - z->to)) {
		z->bad = true;
		return;
	}
	memcpy(z->to, z->at, length);
	z->to += length;
	z->at += length;
}

/* May overlap with what it makes. */
static void repeat(struct lz4 *z, size_t back, size_t length)
{
	if (z->bad || !back || back > (size_t)(z->to - z->start) ||
	    length > (size_t)(z->room - z->to)) {
		z->bad = true;
		return;
	}
	for (; length; length--, z->to++)
		*z->to = *(z->to - back);
}

bool ptx_unpack_lz4(const uint8_t *from, size_t bytes, uint8_t *to, size_t room, size_t *length)
{
	struct lz4 z = {from, from + bytes, to, to, to + room, false};

	while (!z.bad && z.at < z.end) {
		const uint8_t token = *z.at++;
		size_t back;

		literals(&z, length_of(&z, token >> 4));
		if (z.at == z.end)
			break; /* the last has no copy */
		if (z.end - z.at < 2)
			return false;
		back = z.at[0] | (size_t)z.at[1] << 8;
		z.at += 2;
		repeat(&z, back, length_of(&z, token & 15) + 4);
	}
	*length = (size_t)(z.to - to);
	return !z.bad;
}
