/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that differ only in instance data: programs number their steps, and runtimes put handles and
 * identifiers into the names of their annotations.
 */
#ifndef ANALYSIS_NAMES_H
#define ANALYSIS_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "stream/stream.h"

enum { NAMES_FEW = 3 /* of so many names each is worth its row */ };

/*
 * Adds `name` with a star for its instance data: counters at its end ("step 12", "batch 3/100"),
 * hexadecimal handles, the fields in "TSL:XlaCompile:#module=x,program_id=7#". False: it has none, and is
 * added as it is.
 */
bool name_fold(struct text *out, const char *name);

/* A device, for people: without what a user called it where that is fields between two # (as XLA has them). */
const char *name_device(const struct t_agent *agent);

#endif
