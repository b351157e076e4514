/* SPDX-License-Identifier: Apache-2.0 */
/* Names of kernels and functions where there is room for a part of a line. */
#ifndef ANALYSIS_BRIEF_NAMES_H
#define ANALYSIS_BRIEF_NAMES_H

#include "base/text.h"

enum { BRIEF_NAMES_MOST = 64 };

/*
 * Makes of each name what tells it, in at most so many columns: shortened (name_shorten()); where that is too wide,
 * without the names of spaces and classes before each name ("gemvx::kernel" keeps its own, as any may have a "kernel");
 * then cut. Names that differ stay different as far as there is room: where two would become equal they are left as
 * they were, and those equal where they are cut have a gap before what they differ in. At most BRIEF_NAMES_MOST.
 */
void brief_names(struct text *names, unsigned count, unsigned columns);

/* Adds one. */
void brief_name(struct text *out, const char *name, unsigned columns);

#endif
