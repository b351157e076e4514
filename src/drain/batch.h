/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks on their way into a raw file. Headers and payloads are gathered in memory of the batch; the end of a
 * payload may also be lent: it stays where it is, and is written from there. Lent memory may be somebody
 * else's who changes it meanwhile or takes it away: then the block's checksum is wrong, and nothing else is.
 */
#ifndef DRAIN_BATCH_H
#define DRAIN_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/raw.h"

struct batch_lent {
	size_t after; /* so many bytes of `data` come before it */
	const uint8_t *from;
	uint32_t bytes;
};

struct batch {         /* all zero: empty */
	size_t bytes;  /* in the file */
	uint8_t *data; /* but for what is lent, in the order of the file */
	size_t used, room;
	struct batch_lent *lent;
	uint32_t lent_count, lent_room;
	uint8_t *copy; /* room for any payload of which a part is lent */
	size_t copy_room;
};

/* Room for the payload of the next block; NULL: no memory. */
uint8_t *batch_reserve(struct batch *b, size_t bytes);
/* The block with that payload, `block->raw` bytes of it; sizes and checksum are filled in. */
void batch_commit(struct batch *b, struct raw_block *block);

/*
 * The block whose payload is `head`, which is copied, and then what is missing to `block->raw` bytes from
 * `rest`, which is lent until the batch is cleared. False: no memory, nothing has changed.
 */
bool batch_lend(struct batch *b, struct raw_block *block, const void *head, size_t head_bytes,
		const void *rest);

/* From block to block, in order; all zero: before the first. */
struct batch_walk {
	size_t end; /* of the block, in the file */
	size_t data;
	uint32_t lent;
	const uint8_t *payload; /* as far as it is not lent */
	const struct batch_lent *rest;
};

bool batch_next(const struct batch *b, struct batch_walk *w, struct raw_block *block);
/* The payload of the block where the walk is, until the next call; lent parts are copied first. */
const uint8_t *batch_payload(const struct batch *b, const struct batch_walk *w);

/* Writes the first `bytes` of it. Returns how many were taken; less than all: errno tells. */
size_t batch_write(const struct batch *b, int fd, size_t bytes);

void batch_clear(struct batch *b);
void batch_release(struct batch *b);

#endif
