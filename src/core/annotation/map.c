/* SPDX-License-Identifier: Apache-2.0 */
/* Open annotations; see map.h. */
#include "core/annotation/map.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define KYMO_MARKER_LINKED
#include <kymo/marker.h>

#include "base/hash.h"
#include "core/activity/activity.h"
#include "core/capture.h"

#define SHARDS  64u
#define BUCKETS 64u /* of a shard */

struct entry {
	struct annotation_key key;
	uint64_t value;
	struct entry *next;
};

static struct shard {
	pthread_mutex_t lock;
	struct entry *buckets[BUCKETS];
} shards[SHARDS] = {[0 ... SHARDS - 1] = {.lock = PTHREAD_MUTEX_INITIALIZER}};

static _Atomic uint32_t count;

/* Locks that other threads held at a fork; what was open stays open, as the program sees it. */
static void fork_child(void)
{
	for (unsigned i = 0; i < SHARDS; i++)
		pthread_mutex_init(&shards[i].lock, NULL);
}

__attribute__((constructor)) static void prepare(void)
{
	pthread_atfork(NULL, NULL, fork_child);
}

static uint32_t hash(const struct annotation_key *k)
{
	return (uint32_t)hash_bytes(k->word, sizeof(k->word));
}

bool annotation_open(const struct annotation_key *key, uint64_t value)
{
	uint32_t h = hash(key);
	struct shard *s = &shards[h % SHARDS];
	struct entry **bucket = &s->buckets[h / SHARDS % BUCKETS], *e;
	int saved = errno;

	if (atomic_fetch_add(&count, 1) >= ANNOTATION_OPEN_MAX) {
		atomic_fetch_sub(&count, 1);
		return false;
	}
	e = malloc(sizeof(*e));
	errno = saved;
	if (!e) {
		atomic_fetch_sub(&count, 1);
		return false;
	}
	e->key = *key;
	e->value = value;
	pthread_mutex_lock(&s->lock);
	e->next = *bucket;
	*bucket = e;
	pthread_mutex_unlock(&s->lock);
	return true;
}

bool annotation_close(const struct annotation_key *key, uint64_t *value)
{
	uint32_t h = hash(key);
	struct shard *s = &shards[h % SHARDS];
	struct entry **at = &s->buckets[h / SHARDS % BUCKETS], *e;

	pthread_mutex_lock(&s->lock);
	while (*at && memcmp(&(*at)->key, key, sizeof(*key)) != 0)
		at = &(*at)->next;
	e = *at;
	if (e)
		*at = e->next;
	pthread_mutex_unlock(&s->lock);
	if (!e)
		return false;
	*value = e->value;
	free(e);
	atomic_fetch_sub(&count, 1);
	return true;
}

/* ---- waits ---- */

#define WAITS 16u
static _Thread_local struct {
	const void *object;
	uint64_t range;
} waits[WAITS];

void annotation_wait_start(const void *object, const kymo_marker_t *m)
{
	for (unsigned i = 0; i < WAITS; i++) {
		if (waits[i].object)
			continue;
		waits[i].range = kymo_range_start_full(m);
		waits[i].object = waits[i].range ? object : NULL;
		return;
	}
}

void annotation_wait_stop(const void *object)
{
	for (unsigned i = WAITS; object && i > 0; i--) {
		if (waits[i - 1].object != object)
			continue;
		waits[i - 1].object = NULL;
		kymo_range_stop(waits[i - 1].range);
		return;
	}
}

/* ---- memory ---- */

enum { KEY_MEMORY = 1, KEY_BYTES = 2 };

static void record(enum cap_phase phase, const void *address, uint64_t bytes, uint64_t id)
{
	const struct cap_allocation a = {.address = (uintptr_t)address,
					 .bytes = bytes,
					 .id = id,
					 .kind = MEMORY_HOST_PAGEABLE};

	cap_allocation_record(NULL, cap_current_id(),
			      phase == CAP_ENTER ? ALLOCATION_OP_ALLOCATE : ALLOCATION_OP_FREE, &a);
}

void annotation_allocated(const void *address, uint64_t bytes)
{
	struct annotation_key key = {{KEY_MEMORY, (uintptr_t)address}}, sized = key;
	uint64_t id;

	if (!address || !cap_wants(CAP_ACTIVITY_ALLOCATION))
		return;
	id = cap_new_allocation();
	sized.word[0] = KEY_BYTES;
	if (annotation_open(&key, id))
		annotation_open(&sized, bytes);
	record(CAP_ENTER, address, bytes, id);
}

void annotation_freed(const void *address)
{
	struct annotation_key key = {{KEY_MEMORY, (uintptr_t)address}}, sized = key;
	uint64_t id = 0, bytes = 0;

	if (!address || !cap_wants(CAP_ACTIVITY_ALLOCATION))
		return;
	sized.word[0] = KEY_BYTES;
	if (annotation_close(&key, &id))
		annotation_close(&sized, &bytes);
	record(CAP_EXIT, address, bytes, id);
}
