/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between ranks by who sends and who receives, as the sender (of `get`: the receiver) says: the plot and the
 * page show the same. Of many pairs neighbouring ranks are one, so that their number is bounded and no message is missing.
 */
#ifndef PAGE_MATRIX_H
#define PAGE_MATRIX_H

#include <stdio.h>

#include "analysis/timeline.h"
#include "page/section.h"

enum { MATRIX_PAIRS_MOST = 1 << 18 /* that a page has */, MATRIX_NAME = 32 };

struct matrix_pair {
	uint32_t from, to; /* places of ranks, in steps of `each` */
	uint64_t messages, bytes;
};

struct matrix {
	uint32_t *process; /* of the trace, at a place: ranks in order of worlds and ranks */
	uint32_t count;    /* places */
	uint32_t each;     /* neighbours that are one in `pairs`: a power of two */
	struct matrix_pair *pairs; /* by from, then to; each once */
	uint32_t pair_count, pair_room;
	uint64_t elsewhere; /* messages with ranks that were not recorded */
	uint32_t section;   /* of the page: matrix_encode() */
};

/* Some of the messages are of a rank. */
bool matrix_any(const struct timeline *tl);

/* No more than `most` pairs. False: no memory. To be released in any case. */
bool matrix_find(struct matrix *m, const struct timeline *tl, uint32_t most);
void matrix_release(struct matrix *m);

/* What the rank at a place is called: its number, of several worlds with that of its world before it. */
void matrix_name(const struct matrix *m, const struct trace *t, uint32_t place,
		 char out[MATRIX_NAME]);

/* The pairs as a section of a page: u32 from, u32 to, f64 messages, f64 bytes of each. */
kymo_status_t matrix_encode(struct matrix *m, struct sections *s);
/* What the head of a page says of them; of none, null. */
void matrix_put(FILE *out, const struct matrix *m, const struct trace *t);

#endif
