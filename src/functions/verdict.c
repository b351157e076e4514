/* SPDX-License-Identifier: Apache-2.0 */
/* Words of verdict.h. */
#include "functions/verdict.h"

static const struct {
	const char *word, *text;
} texts[] = {
#define VERDICT(identifier, word, explanation) {word, explanation},
#include "functions/verdicts.list"
#undef VERDICT
};

const char *verdict_word(enum verdict v)
{
	return texts[v].word;
}

const char *verdict_text(enum verdict v)
{
	return texts[v].text;
}
