/* SPDX-License-Identifier: Apache-2.0 */
/* See names.h. */
#include "formats/xspace/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/plain.h"
#include "base/vec.h"

/* Readers of the format refuse a file with a text that is none. */
static void make_text(struct text *out, const char *s, size_t n)
{
	size_t length;
	uint32_t code;

	out->length = 0;
	text_add_bytes(out, "", 0);
	for (size_t i = 0; i < n; i += length) {
		length = plain_next(s + i, n - i, &code);
		if (code & PLAIN_BAD || !code)
			text_add(out, "\xef\xbf\xbd");
		else
			text_add_bytes(out, s + i, length);
	}
}

static uint32_t add(struct names *n, uint64_t hash, const char *s, size_t length)
{
	char *copy = malloc(length + 1);

	if (!copy || !vec_reserve(&n->texts, &n->room, n->count, 1) ||
	    !map_add(&n->numbers, hash, (uint64_t)n->count + 1)) {
		free(copy);
		return 0;
	}
	memcpy(copy, s, length);
	copy[length] = 0;
	n->texts[n->count] = copy;
	n->bytes += length + 1;
	return ++n->count;
}

uint32_t names_get(struct names *n, struct text *scratch, const char *s, size_t length)
{
	uint64_t hash, i;

	if (!plain_ascii(s, length)) {
		make_text(scratch, s, length);
		if (scratch->failed)
			return 0;
		s = scratch->s ? scratch->s : "";
		length = scratch->length;
	}
	hash = hash_bytes(s, length);
	map_each(&n->numbers, hash, i)
		if (strncmp(n->texts[i - 1], s, length) == 0 && !n->texts[i - 1][length])
			return (uint32_t)i;
	return add(n, hash, s, length);
}

void names_release(struct names *n)
{
	for (uint32_t i = 0; i < n->count; i++)
		free(n->texts[i]);
	free(n->texts);
	map_release(&n->numbers);
	*n = (struct names){0};
}
