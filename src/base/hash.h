/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hashes for tables in memory (map.h), and to tell things apart within one job: for the same input
 * the same on all machines of one byte order. They resist no attacker, and no file depends on them:
 * checksums are the formats' own.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HASH_START 0x9e3779b97f4a7c15ull

/* Takes the number `value` into `hash`: both halves of the product, so that all bits reach all
 * others. */
static inline uint64_t hash_mix(uint64_t hash, uint64_t value)
{
	__extension__ unsigned __int128 product =
		(unsigned __int128)(hash ^ value) * 0xd6e8feb86659fd93ull;

	return (uint64_t)product ^ (uint64_t)(product >> 64) ^ HASH_START;
}

static inline uint64_t hash_u64(uint64_t value)
{
	return hash_mix(HASH_START, value);
}

/* Takes `size` bytes into `hash`, and their number: "ab" "c" is not "a" "bc". */
static inline uint64_t hash_add(uint64_t hash, const void *data, size_t size)
{
	const char *p = data;
	uint64_t word = 0;

	hash = hash_mix(hash, size);
	for (; size >= sizeof(word); p += sizeof(word), size -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		hash = hash_mix(hash, word);
	}
	if (!size)
		return hash;
	word = 0;
	memcpy(&word, p, size);
	return hash_mix(hash, word);
}

static inline uint64_t hash_bytes(const void *data, size_t size)
{
	return hash_add(HASH_START, data, size);
}

static inline uint64_t hash_string(const char *s)
{
	return hash_bytes(s, strlen(s));
}

#endif
