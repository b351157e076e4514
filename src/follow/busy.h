/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long at least one of many intervals lasted, which come roughly in order and in batches. Those of the last ones
 * are kept apart; what lies before them is a number, and an interval that reaches back there counts from there on.
 */
#ifndef FOLLOW_BUSY_H
#define FOLLOW_BUSY_H

#include <stdbool.h>
#include <stdint.h>

enum { BUSY_KEPT = 1 << 16 };

struct busy_union_span {
	uint64_t start, end;
};

struct busy_union { /* all zero: empty */
	struct busy_union_span *kept, *fresh;
	uint32_t count, room, fresh_count, fresh_room;
	uint64_t before; /* what is kept begins here, or later */
	double folded;   /* of what lies before */
};

/* False: no memory. */
bool busy_union_add(struct busy_union *b, uint64_t start, uint64_t end);
/* All that was added, in the unit of the intervals. Sorts what is new into what is kept. */
double busy_union_total(struct busy_union *b);
void busy_union_release(struct busy_union *b);

#endif
