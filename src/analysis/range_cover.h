/* SPDX-License-Identifier: Apache-2.0 */
/* What the program's own annotations say of a time in which Kymo recorded no call. */
#ifndef ANALYSIS_RANGE_COVER_H
#define ANALYSIS_RANGE_COVER_H

#include "analysis/timeline.h"
#include "base/text.h"

/*
 * Of a set of time in order: the annotations of one name, but for instance data (name_fold()), that cover most of it, and
 * at least half. Asked are the outermost ranges of each thread of the processes that use the device; the time is that of
 * their union. Adds the name; 0: none covers so much. `times` is left as it is.
 */
uint64_t range_cover(struct text *name, const struct timeline *tl, uint32_t device,
		     const struct intervals *times);

/* Adds ", 6.2 s of it in the range TSL:XlaCompile" if there is one. */
void range_cover_tell(struct text *out, const struct timeline *tl, uint32_t device,
		      const struct intervals *times);

#endif
