/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pyramid of a row: for bins of a length, the share that is busy, the op that is busy longest, how many slices begin
 * there. All levels are filled from the slices themselves, none from another, so that each is exact.
 */
#ifndef PAGE_LEVEL_H
#define PAGE_LEVEL_H

#include <stdbool.h>
#include <stdint.h>

enum {
	LEVELS_MOST = 12,
	LEVEL_FEWEST = 4096,  /* bins of the finest level */
	LEVEL_COARSE = 512,   /* bins of the coarsest, at most */
	LEVEL_MOST = 1 << 20, /* bins of the finest, at most */
	LEVEL_BIN_BYTES = 9   /* share, op, count */
};

/* Busy ns of the ops of one bin, while it is filled. */
struct level_use {
	uint32_t op;
	uint64_t ns;
};

struct level {
	unsigned shift; /* a bin is 2^shift ns */
	uint32_t bins;
	uint8_t *share;
	uint32_t *op, *count;
	/* The bin that is being filled: slices come in order. */
	uint32_t now;
	struct level_use *use;
	uint32_t used, use_room;
	uint64_t *busy; /* by op: place in `use` + 1, of the bin `now` */
};

struct levels {
	struct level at[LEVELS_MOST]; /* the finest first */
	unsigned count;
	uint32_t ops;
	bool failed;
};

/* For a row of so many slices in a trace of `length` ns, of ops below `ops`. False: no memory. */
bool levels_init(struct levels *l, uint64_t length, uint64_t records, uint32_t ops);
void levels_add(struct levels *l, int64_t start, int64_t end, uint32_t op);
/* All slices were added. False: memory ran out. */
bool levels_finish(struct levels *l);
void levels_release(struct levels *l);

#endif
