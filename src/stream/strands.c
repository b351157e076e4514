/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of records side by side in one file; see strands.h. */
#include "stream/strands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/temporary.h"
#include "base/vec.h"

/* Of one size, so that each can say where the next one will be when it is written. */
#define BLOCK_BYTES (16u << 10)
#define BLOCK_HEAD  sizeof(uint64_t)
#define BYTES_SLACK 16u

kymo_status_t strands_init(struct strands *p, const char *directory)
{
	*p = (struct strands){.fd = temporary_file(directory)};
	return p->fd >= 0 ? KYMO_OK : KYMO_ERROR_SYSTEM;
}

void strands_release(struct strands *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}

kymo_status_t strand_begin(struct strands *p, struct strand *x, size_t size)
{
	kymo_assert(size <= STRAND_RECORD_MAX && size % sizeof(uint64_t) == 0);
	*x = (struct strand){.strands = p, .words = (uint32_t)(size / sizeof(uint64_t))};
	x->block = malloc(BLOCK_BYTES);
	x->last = calloc(1, size);
	x->first = x->number = p->blocks++;
	x->at = BLOCK_HEAD;
	return x->block && x->last ? KYMO_OK : KYMO_ERROR_NO_MEMORY;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static bool write_block(struct strand *x)
{
	off_t at = (off_t)(x->number * BLOCK_BYTES);

	for (size_t done = 0; done < BLOCK_BYTES && !x->error;) {
		ssize_t n = pwrite(x->strands->fd, x->block + done, BLOCK_BYTES - done,
				   at + (off_t)done);

		if (n < 0 && errno != EINTR)
			x->error = errno;
		if (n > 0)
			done += (size_t)n;
	}
	return !x->error;
}

static bool read_block(struct strand *x, uint64_t number)
{
	off_t at = (off_t)(number * BLOCK_BYTES);

	for (size_t done = 0; done < BLOCK_BYTES && !x->error;) {
		ssize_t n = pread(x->strands->fd, x->block + done, BLOCK_BYTES - done,
				  at + (off_t)done);

		if (n == 0 || (n < 0 && errno != EINTR))
			x->error = n ? errno : EIO;
		if (n > 0)
			done += (size_t)n;
	}
	x->number = number;
	x->at = BLOCK_HEAD;
	return !x->error;
}

/* The next block is taken now, to be written when it is full. */
static bool end_block(struct strand *x)
{
	uint64_t next = x->strands->blocks++;

	memcpy(x->block, &next, sizeof(next));
	if (!write_block(x))
		return false;
	x->number = next;
	x->at = BLOCK_HEAD;
	return true;
}

static bool next_block(struct strand *x)
{
	uint64_t next;

	memcpy(&next, x->block, sizeof(next));
	return read_block(x, next);
}

static bool give(struct strand *x, const void *data, size_t n)
{
	const uint8_t *from = data;

	while (n) {
		size_t room = BLOCK_BYTES - x->at, part = n < room ? n : room;

		memcpy(x->block + x->at, from, part);
		x->at += part;
		from += part;
		n -= part;
		if (x->at == BLOCK_BYTES && !end_block(x))
			return false;
	}
	return true;
}

static bool take(struct strand *x, void *data, size_t n)
{
	uint8_t *to = data;

	while (n) {
		size_t have = BLOCK_BYTES - x->at, part = n < have ? n : have;

		memcpy(to, x->block + x->at, part);
		x->at += part;
		to += part;
		n -= part;
		if (x->at == BLOCK_BYTES && !next_block(x))
			return false;
	}
	return true;
}

/* ---- records --------------------------------------------------------------------------------- */

/* A bit for each word that has changed, how many bytes belong to it, the words. */
struct packed_record {
	uint64_t changed;
	uint64_t bytes;
	uint64_t words[STRAND_RECORD_MAX / sizeof(uint64_t)];
};

kymo_status_t strand_add(struct strand *x, const void *record, size_t size, const void *bytes,
			 size_t n)
{
	struct packed_record p;
	const uint8_t *from = record;
	size_t count = 0;

	kymo_assert(size <= x->words * sizeof(uint64_t));
	p.changed = 0;
	p.bytes = n;
	for (uint32_t i = 0; i < size / sizeof(uint64_t); i++) {
		uint64_t word;

		memcpy(&word, from + i * sizeof(word), sizeof(word));
		p.words[count] = word;
		if (word == x->last[i])
			continue;
		x->last[i] = word;
		p.changed |= UINT64_C(1) << i;
		count++;
	}
	x->count++;
	if (!give(x, &p, offsetof(struct packed_record, words) + count * sizeof(uint64_t)) ||
	    !give(x, bytes, n))
		return KYMO_ERROR_SYSTEM;
	return KYMO_OK;
}

kymo_status_t strand_rewind(struct strand *x)
{
	memset(x->last, 0, x->words * sizeof(uint64_t));
	x->left = x->count;
	x->at = BLOCK_HEAD;
	if (x->number != x->first && (x->ended || write_block(x)))
		read_block(x, x->first);
	x->ended = true;
	return strand_status(x);
}

bool strand_next(struct strand *x, void *record, const void **bytes, size_t *n)
{
	struct packed_record p;

	if (x->error || !x->left || !take(x, &p, offsetof(struct packed_record, words)))
		return false;
	x->left--;
	if (!vec_reserve(&x->bytes, &x->room, 0, p.bytes + BYTES_SLACK)) {
		x->error = ENOMEM;
		return false;
	}
	if (!take(x, p.words, (size_t)__builtin_popcountll(p.changed) * sizeof(uint64_t)))
		return false;
	for (size_t from = 0; p.changed; p.changed &= p.changed - 1)
		x->last[__builtin_ctzll(p.changed)] = p.words[from++];
	memcpy(record, x->last, x->words * sizeof(uint64_t));
	*bytes = x->bytes;
	*n = p.bytes;
	return take(x, x->bytes, p.bytes);
}

void strand_release(struct strand *x)
{
	free(x->block);
	free(x->last);
	free(x->bytes);
	*x = (struct strand){.strands = x->strands};
}
