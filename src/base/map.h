/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hash map from 64-bit keys to values that are not 0: pointers, or places in an array plus one. All
 * zero is an empty map.
 *
 * A number (id, handle, address) is its own key, and has one value:
 *
 *	uint64_t i = map_get(&m, id);            // 0: none
 *	if (!i && !map_set(&m, id, ++count))
 *		return false;                    // no memory; nothing has changed
 *
 * Anything else (a string, a structure) is found by its hash (hash.h) and compared by the caller,
 * who has the things themselves; several may have the same hash:
 *
 *	map_each(&m, hash_string(name), i)
 *		if (strcmp(list[i - 1].name, name) == 0)
 *			return &list[i - 1];
 *	...
 *	if (!map_add(&m, hash_string(name), ++count))
 *
 * Open addressing in one allocation, at most half full. Nothing here locks: one thread at a time,
 * or readers only.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct map_entry {
	uint64_t key;
	uint64_t value; /* 0: the entry is free */
};

struct map {
	struct map_entry *entries; /* NULL: none yet */
	uint32_t mask;             /* number of entries, a power of two, less one */
	uint32_t shift;            /* 64 less the bits of an entry's place */
	uint32_t count;            /* entries in use */
};

/* ---- one value under a key ---- */

static inline uint32_t map_place(const struct map *m, uint64_t key)
{
	return (uint32_t)((key * 0x9e3779b97f4a7c15ull) >> m->shift);
}

/* The value under `key`; 0: none. */
static inline uint64_t map_get(const struct map *m, uint64_t key)
{
	if (!m->entries)
		return 0;
	for (uint32_t i = map_place(m, key);; i = (i + 1) & m->mask) {
		const struct map_entry *e = &m->entries[i];

		if (e->value == 0 || e->key == key)
			return e->value;
	}
}

/* Adds `value` (not 0) under `key`, or replaces what is there. False: no memory. */
bool map_set(struct map *m, uint64_t key, uint64_t value);

/* Takes the value under `key` out and returns it; 0: there was none. */
uint64_t map_remove(struct map *m, uint64_t key);

/* The same where values are pointers. */
static inline void *map_get_pointer(const struct map *m, uint64_t key)
{
	return (void *)(uintptr_t)map_get(m, key);
}

static inline bool map_set_pointer(struct map *m, uint64_t key, const void *value)
{
	return map_set(m, key, (uintptr_t)value);
}

static inline void *map_remove_pointer(struct map *m, uint64_t key)
{
	return (void *)(uintptr_t)map_remove(m, key);
}

/* ---- several values under a key ---- */

/* Where a search stands. */
struct map_search {
	uint64_t key;
	uint32_t place;
};

static inline struct map_search map_search(const struct map *m, uint64_t key)
{
	return (struct map_search){key, m->entries ? map_place(m, key) : 0};
}

/* The next value under the key; 0: no more. The map must not change meanwhile. */
static inline uint64_t map_next(const struct map *m, struct map_search *s)
{
	while (m->entries) {
		const struct map_entry *e = &m->entries[s->place];

		if (e->value == 0)
			break;
		s->place = (s->place + 1) & m->mask;
		if (e->key == s->key)
			return e->value;
	}
	return 0;
}

/* A loop over the values (a variable of the caller's) under `key_`, which ends with 0. */
#define map_each(map_, key_, value_)                                                               \
	for (struct map_search search_ = map_search((map_), (key_));                               \
	     ((value_) = map_next((map_), &search_)) != 0;)

/* Makes room for one more: the next map_add() or map_set() does not fail. False: no memory. */
bool map_reserve(struct map *m);

/* Adds `value` (not 0) under `key` beside what is there. False: no memory. */
bool map_add(struct map *m, uint64_t key, uint64_t value);

/* ---- the whole ---- */

/* The next entry in use from *place (0 at first) on, in no order; NULL: no more. */
static inline const struct map_entry *map_entry(const struct map *m, size_t *place)
{
	while (m->entries && *place <= m->mask) {
		const struct map_entry *e = &m->entries[(*place)++];

		if (e->value)
			return e;
	}
	return NULL;
}

/* An empty one in a table of `size` entries (a power of two, 8 at least) that are all zero: freed by who has made it. */
void map_init(struct map *m, struct map_entry *entries, uint32_t size);

/* Empties it; memory stays. */
void map_clear(struct map *m);

static inline void map_release(struct map *m)
{
	free(m->entries);
	*m = (struct map){0};
}

#endif
