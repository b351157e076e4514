/* SPDX-License-Identifier: Apache-2.0 */
/* Where memory was allocated that was never freed. */
#ifndef ANALYSIS_LEAKS_H
#define ANALYSIS_LEAKS_H

#include "formats/raw/chunk.h"
#include "tally/tally.h"

/*
 * Makes the rows of TALLY_LEAK. Only where something was not freed records are looked at again: those of
 * threads that allocated it, from then on. False: no memory.
 */
bool leaks_find(struct tallies *a, struct raw_trace *rt);

#endif
