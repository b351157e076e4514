/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Map from an id of one process (or an address) to a global index. Ids of a sound trace are small
 * and dense, those of a damaged one are anything: hence a hash, which costs the same for both.
 */
#ifndef FORMATS_RAW_IDMAP_H
#define FORMATS_RAW_IDMAP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

struct idmap_entry {
	uint64_t id;
	uint32_t index; /* 0: unused entry */
};

struct idmap {
	struct idmap_entry *entries;
	uint32_t mask; /* entries - 1 */
	uint32_t shift;
	uint32_t used;
};

static inline uint32_t idmap_slot(const struct idmap *m, uint64_t id)
{
	return (uint32_t)((id * 0x9e3779b97f4a7c15ull) >> m->shift);
}

/* The index of `id`, 0 when it is not there. */
static inline uint32_t idmap_get(const struct idmap *m, uint64_t id)
{
	if (!m->entries)
		return 0;
	for (uint32_t i = idmap_slot(m, id);; i = (i + 1) & m->mask) {
		if (m->entries[i].index == 0 || m->entries[i].id == id)
			return m->entries[i].index;
	}
}

static inline void idmap_place(struct idmap *m, uint64_t id, uint32_t index)
{
	uint32_t i = idmap_slot(m, id);

	while (m->entries[i].index != 0 && m->entries[i].id != id)
		i = (i + 1) & m->mask;
	m->used += m->entries[i].index == 0;
	m->entries[i] = (struct idmap_entry){id, index};
}

/* Adds or replaces; `index` is not 0. False: no memory. */
static inline bool idmap_set(struct idmap *m, uint64_t id, uint32_t index)
{
	if (!m->entries || m->used * 2 >= m->mask) {
		uint32_t size = m->entries ? (m->mask + 1) * 2 : 8;
		struct idmap bigger = {calloc(size, sizeof(*bigger.entries)), size - 1,
				       (uint32_t)__builtin_clz(size) + 33, 0};

		if (!bigger.entries)
			return false;
		for (uint32_t i = 0; m->entries && i <= m->mask; i++) {
			if (m->entries[i].index)
				idmap_place(&bigger, m->entries[i].id, m->entries[i].index);
		}
		free(m->entries);
		*m = bigger;
	}
	idmap_place(m, id, index);
	return true;
}

static inline void idmap_release(struct idmap *m)
{
	free(m->entries);
	*m = (struct idmap){0};
}

#endif
