/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lies in what: of the intervals of a thread, in a file that does not say it, the innermost one that
 * began no later and ends no earlier.
 */
#ifndef STREAM_NEST_H
#define STREAM_NEST_H

#include <stdbool.h>
#include <stdint.h>

struct nest_span {
	int64_t start, end;
	uint32_t thread;
	uint32_t number : 31, holds : 1; /* number: the caller's; holds: others may lie in it */
	uint32_t up;                     /* found: place of what it lies in + 1, or 0 */
};

/*
 * Sorts the spans (bulk_array(); another one afterwards) by thread and start, what others lie in before them, of equals those of lower numbers,
 * and finds `up` of each. False: no memory.
 */
bool nest_find(struct nest_span **list, uint32_t count);

#endif
