/* SPDX-License-Identifier: Apache-2.0 */
/* Strings with numbers; see intern.h. */
#include "formats/perfetto/intern.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"

#define INTERN_MAX       65536u
#define INTERN_MAX_BYTES (8u << 20)

static uint32_t add_text(struct intern *t, uint64_t hash, const char *text, size_t length)
{
	char *copy;

	if (t->count == INTERN_MAX || t->bytes + length > INTERN_MAX_BYTES ||
	    !vec_reserve(&t->texts, &t->room, t->count, 1))
		return 0;
	copy = malloc(length + 1);
	if (!copy || !map_add(&t->numbers, hash, t->count + 1)) {
		free(copy);
		return 0;
	}
	memcpy(copy, text, length + 1);
	t->texts[t->count] = copy;
	t->bytes += length;
	return ++t->count;
}

uint32_t intern_get(struct intern *t, const char *text, bool *fresh)
{
	size_t length = strlen(text);
	uint64_t hash = hash_bytes(text, length), n;

	*fresh = false;
	map_each(&t->numbers, hash, n)
		if (strcmp(t->texts[n - 1], text) == 0)
			return (uint32_t)n;
	n = add_text(t, hash, text, length);
	*fresh = n != 0;
	return (uint32_t)n;
}

const char *intern_text(const struct intern *t, uint32_t number)
{
	return t->texts[number - 1];
}

void intern_release(struct intern *t)
{
	uint32_t i;

	for (i = 0; i < t->count; i++)
		free((void *)(uintptr_t)t->texts[i]);
	map_release(&t->numbers);
	free((void *)t->texts);
	memset(t, 0, sizeof(*t));
}
