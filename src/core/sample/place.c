/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of stacks that are no code of an object, but have a name: functions of generated code and of interpreters. Each is
 * defined once, as a call site at an address that no processor can have.
 */
#include <pthread.h>

#include "base/hash.h"
#include "base/locks.h"
#include "base/map.h"
#include "core/process/process.h"
#include "core/sample/host.h"
#include "core/sample/sample.h"

#define FIRST_ID      0x80000000u           /* sites of calls never come so far */
#define FIRST_ADDRESS 0x4000000000000000ull /* not canonical on any processor */
#define PLACES        4000000u

/* By hash: the number, and whether somebody has defined it; under the lock of the threads. */
static struct map places GUARDED_BY(core_live->threads);
static uint32_t count GUARDED_BY(core_live->threads);
#define DEFINED (1ull << 32)

static void define(uint32_t number, const char *function, const char *file, uint32_t line)
{
	struct wire_def d;

	wire_def_init(&d, DEF_SITE);
	wire_def_u64(&d, FIRST_ID + number);
	wire_def_u64(&d, FIRST_ADDRESS + 2 * number);
	wire_def_string(&d, function);
	wire_def_string(&d, file);
	wire_def_u64(&d, line);
	cap_define(&d);
}

/* Its number; 0: no memory, or too many. */
static uint32_t number_of(uint64_t hash, bool *fresh)
{
	uint64_t value;

	pthread_mutex_lock(&core_live->threads);
	value = map_get(&places, hash);
	if (!value && count < PLACES && map_set(&places, hash, count + 1))
		value = ++count;
	pthread_mutex_unlock(&core_live->threads);
	*fresh = value && !(value & DEFINED);
	return (uint32_t)value;
}

uint64_t cap_sample_place(const char *function, const char *file, uint32_t line)
{
	uint64_t hash = hash_mix(hash_mix(hash_string(function), hash_string(file)), line);
	bool fresh;
	uint32_t number = number_of(hash, &fresh);

	if (!number)
		return 0;
	if (fresh) {
		define(number, function, file, line);
		pthread_mutex_lock(&core_live->threads);
		map_set(&places, hash, number | DEFINED);
		pthread_mutex_unlock(&core_live->threads);
	}
	return FIRST_ADDRESS + 2 * number;
}
