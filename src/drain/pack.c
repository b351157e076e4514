/* SPDX-License-Identifier: Apache-2.0 */
/* See pack.h. */
#include "drain/pack.h"

#include <stdbool.h>
#include <stdlib.h>
#ifdef KYMO_HAVE_ZSTD
#include <zstd.h>
#endif

#include "base/vec.h"

#ifdef KYMO_HAVE_ZSTD
enum {
	LEVEL = 1, /* 3 takes 1 % less room and a fifth more time, 6 a fifth less and five times the time */
	LEVEL_COLUMNS =
		3, /* takes 6 % less than 1 and hardly more time, 6 another 3 % and twice the time */
	LEVEL_SMALL = 6,
	SMALL = 16 << 10,
	SMALL_OTHERS = 64 << 10 /* definitions, most of what a small process leaves */
};

void packer_release(struct packer *p)
{
	wire_columns_release(&p->columns);
	free(p->arranged);
	ZSTD_freeCCtx(p->zstd);
	*p = (struct packer){0};
}

size_t packer_bound(size_t bytes)
{
	return ZSTD_compressBound(wire_columns_bound(bytes));
}

static size_t arrange(struct packer *p, const struct raw_block *b, const uint8_t *payload)
{
	if ((b->type != RAW_CHUNK && b->type != RAW_PARTIAL) ||
	    b->chunk_type != WIRE_CHUNK_RECORDS ||
	    !vec_reserve(&p->arranged, &p->arranged_room, 0, wire_columns_bound(b->raw)))
		return 0;
	return wire_columns_pack(&p->columns, payload, b->raw, p->arranged);
}

size_t packer_pack(struct packer *p, struct raw_block *b, const uint8_t *payload, uint8_t *out)
{
	size_t arranged = arrange(p, b, payload), n;
	bool small = b->raw <= (b->chunk_type == WIRE_CHUNK_RECORDS ? SMALL : SMALL_OTHERS);
	int level = small ? LEVEL_SMALL : arranged ? LEVEL_COLUMNS : LEVEL;

	if (!p->zstd)
		p->zstd = ZSTD_createCCtx();
	if (!p->zstd)
		return 0;
	n = ZSTD_compressCCtx(p->zstd, out, packer_bound(b->raw), arranged ? p->arranged : payload,
			      arranged ? arranged : b->raw, level);
	if (ZSTD_isError(n) || n >= b->raw)
		return 0;
	b->flags &=
		(uint16_t)~RAW_COLUMNS; /* which says nothing of a block that is not compressed */
	b->flags |= (uint16_t)(arranged ? RAW_ZSTD | RAW_COLUMNS : RAW_ZSTD);
	b->stored = (uint32_t)n;
	return n;
}
#else
void packer_release(struct packer *p)
{
}

size_t packer_bound(size_t bytes)
{
	return bytes;
}

size_t packer_pack(struct packer *p, struct raw_block *b, const uint8_t *payload, uint8_t *out)
{
	return 0;
}
#endif
