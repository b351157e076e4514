/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions of kernels that samples met; see device.h. */
#include "core/sample/device.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/locks.h"
#include "base/map.h"
#include "core/marker/marker.h"

#define BLOCK  1024u
#define BLOCKS 1024u

/* Codes never move. A block is handed out before `count` says that it is there. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static kymo_device_code_t *blocks[BLOCKS];
static _Atomic uint32_t count;

static void define(uint32_t id, const kymo_device_code_t *c)
{
	struct wire_def d;

	wire_def_init(&d, DEF_CODE);
	wire_def_u64(&d, id);
	wire_def_string(&d, c->function);
	wire_def_string(&d, c->file);
	wire_def_u64(&d, c->line);
	wire_def_u64(&d, c->module);
	wire_def_u64(&d, c->offset);
	cap_define(&d);
}

/* Many instructions lie in one function and file: their texts are kept once. */
static const char *keep(const char *text) REQUIRES(lock)
{
	static struct map texts; /* by hash: char * */
	size_t n = strlen(text);
	uint64_t hash = hash_bytes(text, n), value;
	char *copy;

	map_each(&texts, hash, value)
		if (strcmp((const char *)(uintptr_t)value, text) == 0)
			return (const char *)(uintptr_t)value;
	copy = malloc(n + 1);
	if (!copy || !map_add(&texts, hash, (uintptr_t)copy)) {
		free(copy);
		return NULL;
	}
	return memcpy(copy, text, n + 1);
}

/* Caller holds the lock. */
static uint32_t add(const kymo_device_code_t *c) REQUIRES(lock)
{
	uint32_t n = atomic_load(&count);
	kymo_device_code_t *to;

	kymo_assert_held(&lock);
	if (n == BLOCK * BLOCKS)
		return 0;
	if (!blocks[n / BLOCK])
		blocks[n / BLOCK] = calloc(BLOCK, sizeof(*to));
	if (!blocks[n / BLOCK])
		return 0;
	to = &blocks[n / BLOCK][n % BLOCK];
	*to = *c;
	to->size = sizeof(*to);
	to->function = keep(c->function);
	to->file = keep(c->file);
	if (!to->function || !to->file)
		return 0;
	atomic_store(&count, n + 1);
	return n + 1;
}

uint32_t cap_device_code(const kymo_device_code_t *c)
{
	uint32_t id;

	pthread_mutex_lock(&lock);
	id = add(c);
	pthread_mutex_unlock(&lock);
	if (id)
		define(id, c);
	return id;
}

kymo_status_t kymo_device_code(uint64_t code, kymo_device_code_t *out)
{
	if (!out || out->size < sizeof(*out))
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (!code || code > atomic_load(&count))
		return KYMO_ERROR_NOT_FOUND;
	*out = blocks[(code - 1) / BLOCK][(code - 1) % BLOCK];
	return KYMO_OK;
}

uint32_t cap_device_reason(const char *name)
{
	const struct marker_name *x = marker_name(name);

	return x ? x->id : 0;
}
