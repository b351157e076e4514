/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests: from the call that starts a transfer to the one that sees it complete. Implementations
 * hand out one handle for many transfers that were complete at once, so a handle may stand for
 * several here; they are taken out in the order they came.
 */
#include <pthread.h>
#include <stdlib.h>

#include "capture/mpi/backend.h"

#define SHARDS  64u
#define BUCKETS 64u /* of a shard */

struct entry {
	uint64_t handle, id;
	struct mpi_transfer t;
	struct entry *next;
};

struct shard {
	_Alignas(64) pthread_mutex_t lock;
	struct entry *heads[BUCKETS];
	struct entry *spare;
};

static struct shard shards[SHARDS];
static _Atomic uint64_t last_id;

__attribute__((constructor)) static void init_locks(void)
{
	for (unsigned i = 0; i < SHARDS; i++)
		shards[i].lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

void mpi_requests_fork_child(void)
{
	init_locks();
}

static struct shard *shard_of(uint64_t handle, unsigned *bucket)
{
	uint64_t h = handle * 0x9e3779b97f4a7c15ull;

	*bucket = (unsigned)(h >> 52) % BUCKETS;
	return &shards[h >> 58];
}

bool mpi_requests_add(uint64_t handle, const struct mpi_transfer *t)
{
	struct entry *e, **at;
	struct shard *s;
	unsigned bucket;

	if (handle == mpi_module->request_null)
		return false;
	s = shard_of(handle, &bucket);
	pthread_mutex_lock(&s->lock);
	e = s->spare;
	if (e)
		s->spare = e->next;
	else
		e = malloc(sizeof(*e));
	if (e) {
		*e = (struct entry){handle, atomic_fetch_add(&last_id, 1) + 1, *t, NULL};
		for (at = &s->heads[bucket]; *at;)
			at = &(*at)->next;
		*at = e;
	}
	pthread_mutex_unlock(&s->lock);
	return e != NULL;
}

static void unlink_entry(struct shard *s, struct entry **at)
{
	struct entry *e = *at;

	*at = e->next;
	e->next = s->spare;
	s->spare = e;
}

/* The first of the handle; caller holds the lock. `active` alone, or any. */
static struct entry **find(struct shard *s, unsigned bucket, uint64_t handle, bool active)
{
	struct entry **at = &s->heads[bucket];

	while (*at && !((*at)->handle == handle && (!active || (*at)->t.active)))
		at = &(*at)->next;
	return at;
}

bool mpi_requests_complete(uint64_t handle, uint64_t started, struct mpi_transfer *out,
			   uint64_t *id)
{
	struct entry **at;
	struct shard *s;
	unsigned bucket;
	bool found;

	if (handle == mpi_module->request_null)
		return false;
	s = shard_of(handle, &bucket);
	pthread_mutex_lock(&s->lock);
	at = find(s, bucket, handle, true);
	found = *at != NULL && (!started || (*at)->t.correlation == started);
	if (found) {
		*out = (*at)->t;
		*id = (*at)->id;
		if (out->persistent)
			(*at)->t.active = false;
		else
			unlink_entry(s, at);
	}
	pthread_mutex_unlock(&s->lock);
	return found;
}

void mpi_requests_start(uint64_t handle, uint64_t correlation, uint64_t start)
{
	unsigned bucket;
	struct shard *s = shard_of(handle, &bucket);
	struct entry *e;

	pthread_mutex_lock(&s->lock);
	e = *find(s, bucket, handle, false);
	if (e && e->t.persistent) {
		e->t.active = true;
		e->t.correlation = correlation;
		e->t.start = start;
		e->id = atomic_fetch_add(&last_id, 1) + 1;
	}
	pthread_mutex_unlock(&s->lock);
}

bool mpi_requests_drop(uint64_t handle, struct mpi_transfer *out, uint64_t *id)
{
	struct entry **at;
	struct shard *s;
	unsigned bucket;
	bool found;

	if (handle == mpi_module->request_null)
		return false;
	s = shard_of(handle, &bucket);
	pthread_mutex_lock(&s->lock);
	at = find(s, bucket, handle, false);
	found = *at != NULL;
	if (found) {
		*out = (*at)->t;
		*id = (*at)->id;
		unlink_entry(s, at);
	}
	pthread_mutex_unlock(&s->lock);
	return found;
}

/* Takes any active transfer out; false: there is none. */
static bool take_any(struct shard *s, struct entry *out)
{
	bool found = false;

	pthread_mutex_lock(&s->lock);
	for (unsigned b = 0; b < BUCKETS && !found; b++)
		for (struct entry **at = &s->heads[b]; *at && !found;) {
			if (!(*at)->t.active) {
				at = &(*at)->next;
				continue;
			}
			*out = **at;
			unlink_entry(s, at);
			found = true;
		}
	pthread_mutex_unlock(&s->lock);
	return found;
}

void mpi_requests_leave(void)
{
	struct entry e;

	for (unsigned i = 0; i < SHARDS; i++)
		while (take_any(&shards[i], &e)) {
			e.t.state = COMM_LEFT;
			mpi_transfer_write(&e.t, e.id, 0, tick_now());
		}
}
