/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests: from the call that starts a transfer to the one that sees it complete. Implementations
 * hand out one handle for many transfers that were complete at once, so a handle may stand for
 * several here, a million say; they are taken out in the order they came. Whatever is asked costs
 * the same for any number of transfers and handles under way.
 */
#include <pthread.h>
#include <stdlib.h>

#include "capture/mpi/backend.h"

#define SHARDS  64u
#define BUCKETS 16u /* of a shard, at first */

/* The first of a handle's transfers is in the table; the others follow it. */
struct entry {
	uint64_t handle, id;
	struct mpi_transfer t;
	struct entry *next; /* of the handle, or spare */
	struct entry *last; /* of the first: the handle's last one */
	struct entry *side; /* of the first: the first of another handle */
};

struct shard {
	_Alignas(64) pthread_mutex_t lock;
	struct entry **heads; /* NULL: none was ever needed */
	uint32_t buckets;     /* a power of two */
	uint32_t handles;
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

/* ---- the table; the caller holds the shard's lock ----------------------------------------------
 */

static uint64_t hash(uint64_t handle)
{
	return handle * 0x9e3779b97f4a7c15ull;
}

static struct shard *shard_of(uint64_t handle)
{
	return &shards[hash(handle) >> 58];
}

static struct entry **bucket_of(struct entry **heads, uint32_t buckets, uint64_t handle)
{
	return &heads[(uint32_t)(hash(handle) >> 26) & (buckets - 1)];
}

/* Where the first of the handle is, or would be; NULL: there is no table. */
static struct entry **find_entry(struct shard *s, uint64_t handle)
{
	struct entry **at = s->heads ? bucket_of(s->heads, s->buckets, handle) : NULL;

	while (at && *at && (*at)->handle != handle)
		at = &(*at)->side;
	return at;
}

/* As many buckets as there are handles; where there is no memory for that, chains become longer. */
static bool make_room(struct shard *s)
{
	uint32_t buckets = s->buckets ? 2 * s->buckets : BUCKETS;
	struct entry **heads;

	if (s->handles < s->buckets)
		return true;
	heads = calloc(buckets, sizeof(*heads));
	if (!heads)
		return s->heads != NULL;
	for (uint32_t i = 0; i < s->buckets; i++)
		while (s->heads[i]) {
			struct entry *e = s->heads[i], **at = bucket_of(heads, buckets, e->handle);

			s->heads[i] = e->side;
			e->side = *at;
			*at = e;
		}
	free(s->heads);
	s->heads = heads;
	s->buckets = buckets;
	return true;
}

static bool append(struct shard *s, struct entry *e)
{
	struct entry **at;

	if (!make_room(s))
		return false;
	at = find_entry(s, e->handle);
	e->next = e->side = NULL;
	e->last = e;
	if (*at) {
		(*at)->last->next = e;
		(*at)->last = e;
	} else {
		*at = e;
		s->handles++;
	}
	return true;
}

static void put_aside(struct shard *s, struct entry *e)
{
	e->next = s->spare;
	s->spare = e;
}

/* Takes `e` out of the handle's whose first is at `at`; `before` is the one before it, if any. */
static void unlink_entry(struct shard *s, struct entry **at, struct entry *before, struct entry *e)
{
	if (before) {
		before->next = e->next;
		if (!e->next)
			(*at)->last = before;
	} else if (e->next) {
		e->next->last = e->last;
		e->next->side = e->side;
		*at = e->next;
	} else {
		*at = e->side;
		s->handles--;
	}
}

/*
 * The first active one, and the one before it. What is not active is persistent, and no handle of
 * such a one stands for more than it was made for.
 */
static struct entry *first_active(struct entry *e, struct entry **before)
{
	for (*before = NULL; e && !e->t.active; e = e->next)
		*before = e;
	return e;
}

/* ---- from outside ------------------------------------------------------------------------------
 */

bool mpi_requests_add(uint64_t handle, const struct mpi_transfer *t)
{
	struct shard *s = shard_of(handle);
	bool taken = false;
	struct entry *e;

	if (handle == mpi_module->request_null)
		return false;
	pthread_mutex_lock(&s->lock);
	e = s->spare;
	if (e)
		s->spare = e->next;
	else
		e = malloc(sizeof(*e));
	if (e) {
		*e = (struct entry){
			.handle = handle, .id = atomic_fetch_add(&last_id, 1) + 1, .t = *t};
		taken = append(s, e);
		if (!taken)
			put_aside(s, e);
	}
	pthread_mutex_unlock(&s->lock);
	return taken;
}

static void copy_entry(const struct entry *e, struct mpi_transfer *out, uint64_t *id)
{
	*out = e->t;
	*id = e->id;
}

bool mpi_requests_complete(uint64_t handle, uint64_t started, struct mpi_transfer *out,
			   uint64_t *id)
{
	struct shard *s = shard_of(handle);
	struct entry **at, *e, *before;

	if (handle == mpi_module->request_null)
		return false;
	pthread_mutex_lock(&s->lock);
	at = find_entry(s, handle);
	e = at ? first_active(*at, &before) : NULL;
	if (e && started && e->t.correlation != started)
		e = NULL;
	if (e) {
		copy_entry(e, out, id);
		if (e->t.persistent) {
			e->t.active = false;
		} else {
			unlink_entry(s, at, before, e);
			put_aside(s, e);
		}
	}
	pthread_mutex_unlock(&s->lock);
	return e != NULL;
}

void mpi_requests_start(uint64_t handle, uint64_t correlation, uint64_t start)
{
	struct shard *s = shard_of(handle);
	struct entry **at, *e;

	pthread_mutex_lock(&s->lock);
	at = find_entry(s, handle);
	e = at ? *at : NULL;
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
	struct shard *s = shard_of(handle);
	struct entry **at, *e;

	if (handle == mpi_module->request_null)
		return false;
	pthread_mutex_lock(&s->lock);
	at = find_entry(s, handle);
	e = at ? *at : NULL;
	if (e) {
		copy_entry(e, out, id);
		unlink_entry(s, at, NULL, e);
		put_aside(s, e);
	}
	pthread_mutex_unlock(&s->lock);
	return e != NULL;
}

/* Takes all active transfers of a bucket out; they are put before `taken`. */
static struct entry *take_active(struct shard *s, struct entry **at, struct entry *taken)
{
	while (*at) {
		struct entry *first = *at, *before, *e = first_active(first, &before);

		if (!e) {
			at = &first->side;
			continue;
		}
		unlink_entry(s, at, before, e);
		e->next = taken;
		taken = e;
	}
	return taken;
}

void mpi_requests_leave(void)
{
	struct entry *taken = NULL, *e;

	for (unsigned i = 0; i < SHARDS; i++) {
		struct shard *s = &shards[i];

		pthread_mutex_lock(&s->lock);
		for (uint32_t b = 0; b < s->buckets; b++)
			taken = take_active(s, &s->heads[b], taken);
		pthread_mutex_unlock(&s->lock);
	}
	while ((e = taken)) {
		taken = e->next;
		e->t.state = COMM_LEFT;
		mpi_transfer_write(&e->t, e->id, 0, tick_now());
		free(e);
	}
}
