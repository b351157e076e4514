/* SPDX-License-Identifier: Apache-2.0 */
/* Compression of one block of a raw file: arranged in columns where it holds records (wire/columns.h). */
#ifndef DRAIN_PACK_H
#define DRAIN_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "wire/columns.h"
#include "wire/raw.h"

/* Working memory of one thread; all zero when empty. */
struct packer {
	struct wire_columns columns;
	uint8_t *arranged;
	size_t arranged_room;
	void *zstd;
};
void packer_release(struct packer *p);

/* Room for what packing gives. */
size_t packer_bound(size_t bytes);

/*
 * Packs `b->raw` bytes into `out`, which has room for their bound, and says in `b` how: flags and bytes
 * stored. 0: nothing is gained, or this Kymo was built without zstd; `b` is as it was then.
 */
size_t packer_pack(struct packer *p, struct raw_block *b, const uint8_t *payload, uint8_t *out);

#endif
