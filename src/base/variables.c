/* SPDX-License-Identifier: Apache-2.0 */
/* See variables.h. */
#include "base/variables.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const char *_Atomic brought;

void variables_bring(const char *words)
{
	atomic_store(&brought, words);
}

const char *variable(const char *name)
{
	const char *word = atomic_load(&brought);
	size_t n = strlen(name);

	if (!word)
		return getenv(name);
	for (; *word; word += strlen(word) + 1)
		if (strncmp(word, name, n) == 0 && word[n] == '=')
			return word + n + 1;
	return NULL;
}
