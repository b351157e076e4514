/* SPDX-License-Identifier: Apache-2.0 */
/* Hash map; see map.h. */
#include "base/map.h"

#include <string.h>

#include "base/assert.h"

#define FIRST 8u

/* The first free entry for `key`. */
static struct map_entry *free_entry(const struct map *m, uint64_t key)
{
	uint32_t i = map_place(m, key);

	while (m->entries[i].value)
		i = (i + 1) & m->mask;
	return &m->entries[i];
}

void map_init(struct map *m, struct map_entry *entries, uint32_t size)
{
	*m = (struct map){
		.entries = entries, .mask = size - 1, .shift = (uint32_t)__builtin_clz(size) + 33};
}

bool map_reserve(struct map *m)
{
	uint32_t size = m->entries ? m->mask + 1 : 0;
	struct map bigger;
	struct map_entry *old;

	if ((uint64_t)m->count * 2 + 2 <= size)
		return true;
	if (size > UINT32_MAX / 4)
		return false;
	size = size ? size * 2 : FIRST;
	map_init(&bigger, calloc(size, sizeof(*bigger.entries)), size);
	if (!bigger.entries)
		return false;
	bigger.count = m->count;
	for (uint32_t i = 0; m->entries && i <= m->mask; i++)
		if (m->entries[i].value)
			*free_entry(&bigger, m->entries[i].key) = m->entries[i];
	old = m->entries;
	*m = bigger;
	free(old); /* last: a fork may come at any time */
	return true;
}

bool map_add(struct map *m, uint64_t key, uint64_t value)
{
	kymo_assert(value);
	if (!map_reserve(m))
		return false;
	*free_entry(m, key) = (struct map_entry){key, value};
	m->count++;
	kymo_assert((uint64_t)m->count * 2 <= (uint64_t)m->mask + 1); /* at most half full */
	return true;
}

bool map_set(struct map *m, uint64_t key, uint64_t value)
{
	kymo_assert(value);
	if (m->entries) {
		for (uint32_t i = map_place(m, key); m->entries[i].value; i = (i + 1) & m->mask) {
			if (m->entries[i].key == key) {
				m->entries[i].value = value;
				return true;
			}
		}
	}
	return map_add(m, key, value);
}

/* Frees an entry; those behind it that it kept from their place move up. */
static void take_out(struct map *m, uint32_t hole)
{
	uint32_t i = hole;

	for (;;) {
		i = (i + 1) & m->mask;
		if (!m->entries[i].value)
			break;
		if (((i - map_place(m, m->entries[i].key)) & m->mask) >= ((i - hole) & m->mask)) {
			m->entries[hole] = m->entries[i];
			hole = i;
		}
	}
	kymo_assert(m->count);
	m->entries[hole].value = 0;
	m->count--;
}

uint64_t map_remove(struct map *m, uint64_t key)
{
	uint64_t value = 0;

	if (!m->entries)
		return 0;
	for (uint32_t i = map_place(m, key); (value = m->entries[i].value); i = (i + 1) & m->mask) {
		if (m->entries[i].key == key) {
			take_out(m, i);
			break;
		}
	}
	return value;
}

void map_clear(struct map *m)
{
	if (m->entries)
		memset(m->entries, 0, ((size_t)m->mask + 1) * sizeof(*m->entries));
	m->count = 0;
}
