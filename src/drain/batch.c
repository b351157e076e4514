/* SPDX-License-Identifier: Apache-2.0 */
/* See batch.h. */
#include "drain/batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/vec.h"

enum { PIECES = 256 }; /* of memory that are written at once */

/* ---- filling --------------------------------------------------------------------------------- */

uint8_t *batch_reserve(struct batch *b, size_t bytes)
{
	if (!vec_reserve(&b->data, &b->room, b->used, sizeof(struct raw_block) + bytes))
		return NULL;
	return b->data + b->used + sizeof(struct raw_block);
}

/* With `own` bytes of payload behind it. */
static void put_header(struct batch *b, struct raw_block *block, size_t own)
{
	block->magic = RAW_BLOCK_MAGIC;
	block->flags &= (uint16_t) ~(RAW_ZSTD | RAW_COLUMNS);
	block->stored = block->raw;
	memcpy(b->data + b->used, block, sizeof(*block));
	b->used += sizeof(*block) + own;
	b->bytes += sizeof(*block) + block->raw;
}

void batch_commit(struct batch *b, struct raw_block *block)
{
	block->checksum = XXH3_64bits(b->data + b->used + sizeof(*block), block->raw);
	put_header(b, block, block->raw);
}

static uint64_t sum_of_two(const void *head, size_t head_bytes, const void *rest, size_t rest_bytes)
{
	XXH3_state_t state;

	XXH3_64bits_reset(&state);
	XXH3_64bits_update(&state, head, head_bytes);
	XXH3_64bits_update(&state, rest, rest_bytes);
	return XXH3_64bits_digest(&state);
}

bool batch_lend(struct batch *b, struct raw_block *block, const void *head, size_t head_bytes,
		const void *rest)
{
	size_t more = block->raw - head_bytes;
	uint8_t *to = batch_reserve(b, head_bytes);

	if (!to || !vec_reserve(&b->lent, &b->lent_room, b->lent_count, 1) ||
	    !vec_reserve(&b->copy, &b->copy_room, 0, block->raw))
		return false;
	memcpy(to, head, head_bytes);
	block->checksum = sum_of_two(head, head_bytes, rest, more);
	put_header(b, block, head_bytes);
	b->lent[b->lent_count++] = (struct batch_lent){b->used, rest, (uint32_t)more};
	return true;
}

void batch_clear(struct batch *b)
{
	b->bytes = b->used = b->lent_count = 0;
}

void batch_release(struct batch *b)
{
	free(b->data);
	free(b->lent);
	free(b->copy);
	*b = (struct batch){0};
}

/* ---- reading --------------------------------------------------------------------------------- */

bool batch_next(const struct batch *b, struct batch_walk *w, struct raw_block *block)
{
	const struct batch_lent *l = &b->lent[w->lent];
	size_t own;

	if (w->data == b->used)
		return false;
	memcpy(block, b->data + w->data, sizeof(*block));
	w->data += sizeof(*block);
	w->end += sizeof(*block) + block->stored;
	own = block->stored;
	w->rest = NULL;
	if (w->lent < b->lent_count && l->after <= w->data + own) {
		w->rest = l;
		w->lent++;
		own = l->after - w->data;
	}
	w->payload = b->data + w->data;
	w->data += own;
	return true;
}

const uint8_t *batch_payload(const struct batch *b, const struct batch_walk *w)
{
	size_t own;

	if (!w->rest)
		return w->payload;
	own = w->rest->after - (size_t)(w->payload - b->data);
	memcpy(b->copy, w->payload, own);
	memcpy(b->copy + own, w->rest->from, w->rest->bytes);
	return b->copy;
}

/* ---- writing --------------------------------------------------------------------------------- */

struct gathering {
	struct iovec pieces[PIECES];
	int count;
	size_t at;       /* in the file, behind the last one looked at */
	size_t from, to; /* what is wanted */
};

static void gather_piece(struct gathering *g, const uint8_t *p, size_t bytes)
{
	size_t begin = g->from > g->at ? g->from - g->at : 0;
	size_t end = g->to < g->at + bytes ? g->to - g->at : bytes;

	if (g->to > g->at && begin < end)
		g->pieces[g->count++] = (struct iovec){(void *)(uintptr_t)(p + begin), end - begin};
	g->at += bytes;
}

static void gather(const struct batch *b, struct gathering *g)
{
	size_t data = 0;

	for (uint32_t i = 0; i <= b->lent_count && g->count <= PIECES - 2; i++) {
		const struct batch_lent *l = i < b->lent_count ? &b->lent[i] : NULL;
		size_t end = l ? l->after : b->used;

		gather_piece(g, b->data + data, end - data);
		if (l)
			gather_piece(g, l->from, l->bytes);
		data = end;
	}
}

/* Memory that was lent is no longer there: reading it makes it zeros, see producer_guard_memory(). */
static ssize_t write_copy(const struct batch *b, int fd, const struct iovec *piece)
{
	size_t bytes = piece->iov_len < b->copy_room ? piece->iov_len : b->copy_room;

	memcpy(b->copy, piece->iov_base, bytes);
	return write(fd, b->copy, bytes);
}

size_t batch_write(const struct batch *b, int fd, size_t bytes)
{
	size_t done = 0;

	while (done < bytes) {
		struct gathering g = {.from = done, .to = bytes};
		ssize_t n;

		gather(b, &g);
		n = writev(fd, g.pieces, g.count);
		if (n < 0 && errno == EFAULT && b->copy_room)
			n = write_copy(b, fd, &g.pieces[0]);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return done;
}
