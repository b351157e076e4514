/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What rows can be made by that tallies do not know: scopes, call sites, stacks, grids of kernels,
 * libraries. While a trace is read each record gets the number of what is known of it (details_of()), which
 * is a key of the tallies; 0 is nothing.
 */
#ifndef ANALYSIS_DETAILS_H
#define ANALYSIS_DETAILS_H

#include "analysis/summary.h"
#include "base/text.h"
#include "formats/raw/chunk.h"

struct details;

/* BY_... that need it. */
#define DETAILS_BY (BY_SCOPE | BY_SITE | BY_STACK | BY_GRID | BY_LIBRARY)

/* Makes the passes that are needed for these. NULL: no memory. */
struct details *details_new(struct raw_trace *rt, unsigned by, const struct format_options *o);
void details_free(struct details *d);

/* Sites, stacks and grids are asked for: calls have to be read in full. */
bool details_in_full(unsigned by);

/* `call`: the one that submitted the record (device_call()), which is device work, else 0. As tallies_sink.scope_of. */
uint32_t details_of(void *details, const struct rec *r, uint64_t call);

/* Adds what of `number` belongs to one of DETAILS_BY. */
void details_add(struct text *out, const struct details *d, uint32_t number, unsigned by);

#endif
