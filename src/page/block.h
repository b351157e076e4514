/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of records as columns of byte planes: the layout is in docs/page.md. */
#ifndef PAGE_BLOCK_H
#define PAGE_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

enum block_column {
	BLOCK_GAP = 1,
	BLOCK_DURATION,
	BLOCK_OP,
	BLOCK_SUBMIT_ROW,
	BLOCK_SUBMIT_INDEX,
	BLOCK_ID,
	BLOCK_BYTES,
	BLOCK_VALUE,
	BLOCK_FLAGS,
	BLOCK_FROM_ROW,
	BLOCK_FROM_INDEX,
	BLOCK_TO_ROW,
	BLOCK_TO_INDEX,
	BLOCK_COLUMNS
};

/* Columns of a block that is being made. */
struct block {
	uint32_t count;                  /* of rows that each column has */
	uint64_t *values[BLOCK_COLUMNS]; /* by column; NULL: it has none such */
	uint32_t ops;                    /* every op is below */
	uint64_t *last;                  /* scratch: by op, the value before */
	uint64_t *coded[2];              /* scratch: of one column */
};

/* With room for PAGE_BLOCK_MOST rows of the columns of the mask (1 << column | ...). False: no memory. */
bool block_init(struct block *b, uint32_t columns, uint32_t ops);
void block_release(struct block *b);

/* Appends the block; each column in the coding that its numbers seem to be smallest in. */
void block_write(const struct block *b, struct text *out);

#endif
