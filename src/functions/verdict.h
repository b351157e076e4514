/* SPDX-License-Identifier: Apache-2.0 */
/* Why a function is traced or not; verdicts.list has them all. */
#ifndef FUNCTIONS_VERDICT_H
#define FUNCTIONS_VERDICT_H

#include <stdbool.h>

enum verdict {
#define VERDICT(identifier, word, explanation) VERDICT_##identifier,
#include "functions/verdicts.list"
#undef VERDICT
	VERDICTS
};

#define VERDICT_REFUSED_FIRST VERDICT_RESERVED

static inline bool verdict_refused(enum verdict v)
{
	return v >= VERDICT_REFUSED_FIRST;
}

/* "loop-at-entry" */
const char *verdict_word(enum verdict v);
/* "a loop begins at its first instruction: ..." */
const char *verdict_text(enum verdict v);

#endif
