/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks of samples: each distinct one is defined once. Ids begin where those of calls' stacks never
 * come.
 */
#include "core/process/process.h"
#include "core/sample/host.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ID 0x80000000u

struct entry {
	uint64_t hash; /* 0: unused */
	uint32_t id;
	bool defined;
};

static struct entry *table;
static uint32_t size, used, next_id = FIRST_ID; /* under the lock of the threads */

static struct entry *slot_of(uint64_t hash)
{
	uint32_t i = (uint32_t)hash & (size - 1);

	while (table[i].hash && table[i].hash != hash)
		i = (i + 1) & (size - 1);
	return &table[i];
}

static bool grow(void)
{
	struct entry *old = table, *bigger = calloc(size ? size * 2u : 1024, sizeof(*bigger));
	uint32_t n = size;

	if (!bigger)
		return false;
	table = bigger;
	size = n ? n * 2 : 1024;
	for (uint32_t i = 0; i < n; i++)
		if (old[i].hash)
			*slot_of(old[i].hash) = old[i];
	free(old);
	return true;
}

static void define(uint32_t id, const uint64_t *addresses, uint32_t count)
{
	uint64_t copy[KYMO_SAMPLE_DEPTH];
	struct wire_def d;

	/* Readers look for the call before a return address: the innermost one is made to fit. */
	memcpy(copy, addresses, count * sizeof(*copy));
	copy[0]++;
	wire_def_init(&d, DEF_STACK);
	wire_def_u64(&d, id);
	wire_def_bytes(&d, copy, count * sizeof(*copy));
	cap_define(&d);
}

/* The id of a stack of this hash; *fresh: nobody has defined it yet. 0: no memory. */
static uint32_t id_of(uint64_t hash, bool *fresh)
{
	struct entry *e;
	uint32_t id = 0;

	pthread_mutex_lock(&core_live->threads);
	if (used * 2 < size || grow()) {
		e = slot_of(hash);
		*fresh = !e->defined;
		if (!e->hash) {
			*e = (struct entry){hash, next_id++, false};
			used++;
		}
		id = e->id;
	}
	pthread_mutex_unlock(&core_live->threads);
	return id;
}

static void defined(uint64_t hash)
{
	pthread_mutex_lock(&core_live->threads);
	slot_of(hash)->defined = true;
	pthread_mutex_unlock(&core_live->threads);
}

uint32_t sample_stack(const uint64_t *addresses, uint32_t count)
{
	uint64_t hash = 14695981039346656037ull;
	bool fresh = false;
	uint32_t id;

	if (!count)
		return 0;
	if (count > KYMO_SAMPLE_DEPTH)
		count = KYMO_SAMPLE_DEPTH;
	for (uint32_t i = 0; i < count; i++) {
		hash = (hash ^ addresses[i]) * 1099511628211ull;
		hash ^= hash >> 29;
	}
	id = id_of(hash | 1, &fresh);
	if (fresh) {
		define(id, addresses, count);
		defined(hash | 1);
	}
	return id;
}
