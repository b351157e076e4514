/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open addressing, never deleted from. See intern.h.
 */
#include "formats/perfetto/intern.h"

#include <stdlib.h>
#include <string.h>

#define INTERN_MAX       65536u
#define INTERN_MAX_BYTES (8u << 20)

static uint64_t hash_text(const char *s, size_t *length)
{
	uint64_t h = 0xcbf29ce484222325ull;
	const char *p;

	for (p = s; *p; p++)
		h = (h ^ (uint8_t)*p) * 0x100000001b3ull;
	*length = (size_t)(p - s);
	return h ^ h >> 29;
}

static bool grow(struct intern *t)
{
	uint32_t slots = t->slot_count ? t->slot_count * 2 : 256, room = slots / 2, i, at;
	uint32_t *table = calloc(slots, sizeof(*table));
	uint64_t *hashes = realloc(t->hashes, room * sizeof(*hashes));
	const char **texts;

	if (hashes)
		t->hashes = hashes;
	texts = realloc((void *)t->texts, room * sizeof(*texts));
	if (texts)
		t->texts = texts;
	if (!table || !hashes || !texts) {
		free(table);
		return false;
	}
	for (i = 0; i < t->count; i++) {
		for (at = (uint32_t)t->hashes[i] & (slots - 1); table[at]; at = (at + 1) & (slots - 1))
			;
		table[at] = i + 1;
	}
	free(t->slots);
	t->slots = table;
	t->slot_count = slots;
	t->room = room;
	return true;
}

static uint32_t add(struct intern *t, uint32_t at, uint64_t hash, const char *text, size_t length)
{
	char *copy;

	if (t->count == INTERN_MAX || t->bytes + length > INTERN_MAX_BYTES)
		return 0;
	copy = strdup(text);
	if (!copy)
		return 0;
	t->hashes[t->count] = hash;
	t->texts[t->count] = copy;
	t->bytes += length;
	t->slots[at] = ++t->count;
	return t->count;
}

uint32_t intern_get(struct intern *t, const char *text, bool *fresh)
{
	size_t length;
	uint64_t hash = hash_text(text, &length);
	uint32_t at, n;

	*fresh = false;
	if (t->count == t->room && t->count < INTERN_MAX && !grow(t))
		return 0;
	at = (uint32_t)hash & (t->slot_count - 1);
	while ((n = t->slots[at]) != 0) {
		if (t->hashes[n - 1] == hash && !strcmp(t->texts[n - 1], text))
			return n;
		at = (at + 1) & (t->slot_count - 1);
	}
	n = add(t, at, hash, text, length);
	*fresh = n != 0;
	return n;
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
	free(t->slots);
	free(t->hashes);
	free((void *)t->texts);
	memset(t, 0, sizeof(*t));
}
