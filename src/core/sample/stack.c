/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks of samples: each distinct one is defined once. Ids begin where those of calls' stacks never
 * come.
 */
#include "core/process/process.h"
#include "base/hash.h"
#include "base/locks.h"
#include "base/map.h"
#include "core/sample/host.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ID 0x80000000u

/* By hash: the id, and whether somebody has defined it; under the lock of the threads. */
static struct map ids GUARDED_BY(core_live->threads);
static uint32_t next_id GUARDED_BY(core_live->threads) = FIRST_ID;
#define DEFINED (1ull << 32)

static void define(uint32_t id, const uint64_t *addresses, uint32_t count, enum stack_end end)
{
	uint64_t copy[KYMO_SAMPLE_DEPTH];
	struct wire_def d;

	/* Readers look for the call before a return address: the innermost one is made to fit. */
	memcpy(copy, addresses, count * sizeof(*copy));
	copy[0]++;
	wire_def_init(&d, DEF_STACK);
	wire_def_u64(&d, id);
	wire_def_bytes(&d, copy, count * sizeof(*copy));
	wire_def_u64(&d, end);
	cap_define(&d);
}

/* The id of a stack of this hash; *fresh: nobody has defined it yet. 0: no memory. */
static uint32_t id_of(uint64_t hash, bool *fresh)
{
	uint64_t value;

	pthread_mutex_lock(&core_live->threads);
	value = map_get(&ids, hash);
	if (!value && map_set(&ids, hash, next_id))
		value = next_id++;
	pthread_mutex_unlock(&core_live->threads);
	*fresh = value && !(value & DEFINED);
	return (uint32_t)value;
}

static void defined(uint64_t hash, uint32_t id)
{
	pthread_mutex_lock(&core_live->threads);
	map_set(&ids, hash, id | DEFINED);
	pthread_mutex_unlock(&core_live->threads);
}

uint32_t sample_stack(const uint64_t *addresses, uint32_t count, enum stack_end end)
{
	uint64_t hash = HASH_START;
	bool fresh = false;
	uint32_t id;

	if (!count)
		return 0;
	if (count > KYMO_SAMPLE_DEPTH) {
		count = KYMO_SAMPLE_DEPTH;
		end = STACK_DEPTH;
	}
	hash = hash_mix(hash, end);
	for (uint32_t i = 0; i < count; i++)
		hash = hash_mix(hash, addresses[i]);
	id = id_of(hash, &fresh);
	if (fresh) {
		define(id, addresses, count, end);
		defined(hash, id);
	}
	return id;
}
