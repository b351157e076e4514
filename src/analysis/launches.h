/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls that work came from: where they were made, and inside which other calls. Work is recorded
 * apart from its call and may come before it, hence passes before the one that adds up. Memory is
 * proportional to the work, not to the calls.
 */
#ifndef ANALYSIS_LAUNCHES_H
#define ANALYSIS_LAUNCHES_H

#include "formats/raw/chunk.h"

struct launches;

struct launch {
	uint64_t parent; /* id of the traced call that it was made in, 0: none */
	uint32_t site, stack;
	uint32_t op; /* 0: its call was not recorded */
};

/* Reads the whole trace twice. `foreign`: by module, no part of the program; who called it is asked for. */
struct launches *launches_new(struct raw_trace *rt, const bool *foreign);
void launches_free(struct launches *l);

/* The call that a record of an activity came from, by its id in its process; 0: none is known. */
uint64_t launches_call_of(const struct launches *l, const struct rec *r);

/* NULL: the call was not recorded. */
const struct launch *launches_find(const struct launches *l, uint32_t process, uint64_t call);

#endif
