/* SPDX-License-Identifier: Apache-2.0 */
/* See rows.h. */
#include "page/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/temporary.h"
#include "base/vec.h"

kymo_status_t page_temporary_failed(const struct page_temporary *where)
{
	stream_error(where->log, "temporary file in %s: %s; free space or set TMPDIR",
		     where->folder, strerror(errno));
	return KYMO_ERROR_SYSTEM;
}

kymo_status_t page_store_init(struct page_store *s, struct page_temporary where, uint64_t most)
{
	*s = (struct page_store){.most = most, .where = where};
	s->fd = temporary_file(where.folder);
	return s->fd < 0 ? page_temporary_failed(&where) : KYMO_OK;
}

void page_store_release(struct page_store *s)
{
	for (uint32_t i = 0; i < s->count; i++) {
		free(s->chains[i]->items);
		free(s->chains[i]->blocks);
		free(s->chains[i]);
	}
	free(s->chains);
	if (s->fd > 0)
		close(s->fd);
	*s = (struct page_store){.fd = -1};
}

struct page_chain *page_chain_new(struct page_store *s, uint32_t size)
{
	struct page_chain *c;

	if (!vec_reserve(&s->chains, &s->room, s->count, 1))
		return NULL;
	c = calloc(1, sizeof(*c));
	if (c) {
		c->size = size;
		s->chains[s->count++] = c;
	}
	return c;
}

static kymo_status_t flush(struct page_store *s, struct page_chain *c)
{
	size_t bytes = (size_t)c->pending * c->size;

	if (!c->pending)
		return KYMO_OK;
	if (!vec_reserve(&c->blocks, &c->block_room, c->block_count, 1))
		return KYMO_ERROR_NO_MEMORY;
	if (file_write_all(s->fd, c->items, bytes) != bytes)
		return page_temporary_failed(&s->where);
	c->blocks[c->block_count++] = (struct page_block){.offset = s->end,
							  .start = c->start,
							  .end = c->end,
							  .busy = c->busy,
							  .count = c->pending};
	s->end += bytes;
	s->pending -= bytes;
	c->pending = 0;
	return KYMO_OK;
}

/* Half of what is in memory at least goes: chains that have no less than their share of it. */
static kymo_status_t relieve(struct page_store *s)
{
	uint32_t used = 0;
	uint64_t share;
	kymo_status_t status = KYMO_OK;

	for (uint32_t i = 0; i < s->count; i++)
		used += s->chains[i]->pending != 0;
	share = used ? s->pending / (2 * (uint64_t)used) : 0;
	for (uint32_t i = 0; i < s->count && status == KYMO_OK; i++) {
		struct page_chain *c = s->chains[i];

		if ((uint64_t)c->pending * c->size < share)
			continue;
		status = flush(s, c);
		free(c->items);
		c->items = NULL;
		c->room = 0;
	}
	return status;
}

kymo_status_t page_chain_add(struct page_store *s, struct page_chain *c, const void *item,
			     int64_t start, int64_t end)
{
	kymo_status_t status = KYMO_OK;

	if (c->pending == c->room) {
		uint32_t room = c->room ? 2 * c->room : 16;
		uint8_t *items = realloc(c->items, (size_t)room * c->size);

		if (!items)
			return KYMO_ERROR_NO_MEMORY;
		c->items = items;
		c->room = room;
	}
	memcpy(c->items + (size_t)c->pending * c->size, item, c->size);
	if (!c->pending) {
		c->start = start;
		c->end = end;
		c->busy = 0;
	}
	c->start = start < c->start ? start : c->start;
	c->end = end > c->end ? end : c->end;
	c->busy += (uint64_t)(end - start);
	c->pending++;
	c->count++;
	s->pending += c->size;
	if (c->pending == PAGE_BLOCK_MOST)
		status = flush(s, c);
	return status == KYMO_OK && s->pending > s->most ? relieve(s) : status;
}

kymo_status_t page_store_flush(struct page_store *s)
{
	kymo_status_t status = KYMO_OK;

	for (uint32_t i = 0; i < s->count && status == KYMO_OK; i++) {
		struct page_chain *c = s->chains[i];

		status = flush(s, c);
		free(c->items);
		c->items = NULL;
		c->room = 0;
	}
	return status;
}

kymo_status_t page_store_empty(struct page_store *s)
{
	for (uint32_t i = 0; i < s->count; i++) {
		s->chains[i]->pending = s->chains[i]->block_count = 0;
		s->chains[i]->count = 0;
	}
	s->end = s->pending = 0;
	return lseek(s->fd, 0, SEEK_SET) == 0 && ftruncate(s->fd, 0) == 0
		       ? KYMO_OK
		       : page_temporary_failed(&s->where);
}

kymo_status_t page_chain_read(const struct page_store *s, const struct page_chain *c, uint32_t i,
			      void *out)
{
	uint64_t at = c->blocks[i].offset;
	size_t left = (size_t)c->blocks[i].count * c->size;
	uint8_t *to = out;

	while (left) {
		ssize_t n = pread(s->fd, to, left, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			errno = EIO;
		if (n <= 0)
			return page_temporary_failed(&s->where);
		to += n;
		at += (uint64_t)n;
		left -= (size_t)n;
	}
	return KYMO_OK;
}
