/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of slices that do not overlap, in order of time, of any length in bounded memory: what is full goes into an
 * unlinked temporary file, block after block, and is read back row by row. So do curves and messages, whose items are
 * of other kinds.
 */
#ifndef PAGE_ROWS_H
#define PAGE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kymo/status.h>

#include "stream/stream.h"

/* Of one block: the number of its ops fits 16 bits. */
enum { PAGE_BLOCK_MOST = 65535 };

enum page_flag {
	PAGE_FAILED = 1,
	PAGE_CUT = 2, /* by the end of the trace: it never returned, was never seen to end */
	PAGE_OVERLAPS =
		4,        /* what it lies beside in its row's place, and has another row for that */
	PAGE_LINKED = 128 /* `id` is that of the call that submitted it; else its own, 0: none */
};

struct page_slice {
	int64_t start, end; /* ns since the trace began */
	uint64_t id, bytes;
	uint32_t op;
	uint32_t flags;
};

struct page_point {
	int64_t time;
	double value;
};

struct page_message {
	int64_t start;            /* of what sends it */
	uint64_t from, to, bytes; /* calls */
	uint32_t from_process, to_process;
};

struct page_block {
	uint64_t offset; /* in the file */
	int64_t start, end;
	uint64_t busy;
	uint32_t count;
};

/* Where temporary files lie, and who is told when they fail; both are borrowed. */
struct page_temporary {
	const char *folder;
	struct stream_log *log;
};

/* Tells that a file there failed, and why: errno. */
kymo_status_t page_temporary_failed(const struct page_temporary *where);

/* Items of one size, in blocks. */
struct page_chain {
	uint32_t size;
	uint32_t pending, room; /* items that are in no block yet */
	uint8_t *items;
	struct page_block *blocks;
	uint32_t block_count, block_room;
	uint64_t count;
	int64_t start, end; /* of those pending */
	uint64_t busy;
};

struct page_store {
	int fd;
	struct page_temporary where;
	uint64_t end;     /* bytes in the file */
	uint64_t pending; /* bytes in memory, of all chains */
	uint64_t most;    /* when they are so many, those that have most go into the file */
	struct page_chain **chains;
	uint32_t count, room;
};

/* What fails here and below because of the file has been told. */
kymo_status_t page_store_init(struct page_store *s, struct page_temporary where, uint64_t most);
void page_store_release(struct page_store *s);

/* A chain of the store, of items of `size` bytes. NULL: no memory. It lives as long as the store. */
struct page_chain *page_chain_new(struct page_store *s, uint32_t size);

/* start and end: what the directory of blocks says of the item. */
kymo_status_t page_chain_add(struct page_store *s, struct page_chain *c, const void *item,
			     int64_t start, int64_t end);

/* All are in blocks. */
kymo_status_t page_store_flush(struct page_store *s);

/* Chains stay, and what is in them goes. */
kymo_status_t page_store_empty(struct page_store *s);

/* Items of block `i` into `out`, which has room for PAGE_BLOCK_MOST. */
kymo_status_t page_chain_read(const struct page_store *s, const struct page_chain *c, uint32_t i,
			      void *out);

#endif
