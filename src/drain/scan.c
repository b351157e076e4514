/* SPDX-License-Identifier: Apache-2.0 */
/* See scan.h. */
#include "drain/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAYLOAD_MAX = 1 << 26 };

static int by_key(const void *a, const void *b)
{
	const struct scan_chunk *x = a, *y = b;

	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* A broken program may show one chunk as two. */
static void note_chunk(struct scan *s, const struct raw_block *b)
{
	struct scan_chunk key = {.thread = b->thread, .type = b->chunk_type, .seq = b->seq};
	struct scan_chunk *at, *end = s->chunks + s->count;

	at = s->count ? bsearch(&key, s->chunks, s->count, sizeof(key), by_key) : NULL;
	if (!at)
		return;
	while (at > s->chunks && by_key(at - 1, &key) == 0)
		at--;
	for (; at < end && by_key(at, &key) == 0; at++) {
		at->found = true;
		if (b->raw > at->header_size)
			at->copied += b->raw - at->header_size;
	}
}

static void note_state(int fd, uint64_t at, const struct raw_block *b, struct raw_end *told)
{
	size_t bytes = b->stored < sizeof(*told) ? b->stored : sizeof(*told);
	struct raw_end now = {0};

	if (pread(fd, &now, bytes, (off_t)at) == (ssize_t)bytes)
		*told = now;
}

/* False: here ends what is whole, or the recording: the end is written anew. */
static bool note_block(struct scan *s, int fd, const struct raw_block *b, uint64_t size)
{
	uint64_t payload = s->bytes + sizeof(*b);

	if (b->magic != RAW_BLOCK_MAGIC || b->stored > PAYLOAD_MAX || b->stored > size - payload ||
	    b->type == RAW_END)
		return false;
	if (b->flags & RAW_ZSTD)
		s->saved += (uint64_t)b->raw - b->stored;
	if (b->type == RAW_CHUNK)
		note_chunk(s, b);
	else if (b->type == RAW_STATE)
		note_state(fd, payload, b, &s->told);
	else if (b->type == RAW_OPEN_CALLS)
		s->open_told = true;
	return true;
}

bool scan_file(int fd, struct scan *s)
{
	struct raw_header h;
	struct raw_block b;
	struct stat st;

	if (fstat(fd, &st) != 0 || pread(fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h))
		return false;
	if (h.magic != RAW_MAGIC || h.header_size < sizeof(h) || h.header_size > st.st_size) {
		errno = EILSEQ;
		return false;
	}
	if (s->count)
		qsort(s->chunks, s->count, sizeof(*s->chunks), by_key);
	s->bytes = h.header_size;
	s->saved = 0;
	while ((uint64_t)st.st_size - s->bytes >= sizeof(b) &&
	       pread(fd, &b, sizeof(b), (off_t)s->bytes) == (ssize_t)sizeof(b) &&
	       note_block(s, fd, &b, (uint64_t)st.st_size))
		s->bytes += sizeof(b) + b.stored;
	return true;
}
