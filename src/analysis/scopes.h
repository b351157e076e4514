/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of scopes of a trace, for summaries by scope: executions of ranges that have the same
 * names from the root down are one path, "solve/assemble". A scope's record comes after what happened
 * in it, hence a pass before the one that adds up. Memory is proportional to the executions.
 */
#ifndef ANALYSIS_SCOPES_H
#define ANALYSIS_SCOPES_H

#include "formats/raw/chunk.h"

struct scopes;

/*
 * Reads the whole trace. `depth`: names of a path at most, what is below counts for the range there; 0: all.
 * NULL: no memory.
 */
struct scopes *scopes_new(struct raw_trace *rt, uint32_t depth);
void scopes_free(struct scopes *s);

/* Number of the path of a scope, 0: none. */
uint32_t scopes_path(struct scopes *s, uint32_t process, int64_t scope);

/* Of device work: that of the call which submitted it. */
uint32_t scopes_path_of_call(struct scopes *s, uint32_t process, uint64_t call);

/* "solve/assemble"; never NULL. */
const char *scopes_text(const struct scopes *s, uint32_t path);

#endif
