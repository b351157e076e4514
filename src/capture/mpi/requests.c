/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests: from the call that starts a transfer to the one that sees it complete. Implementations
 * hand out one handle for many transfers that were complete at once, so a handle may stand for
 * several here, a million say; they are taken out in the order they came. Whatever is asked costs
 * the same for any number of transfers and handles under way.
 *
 * In most processes one thread alone starts and completes transfers: it takes no lock (below). Its latest
 * few, most of which are completed soon, are found by looking at each (requests.h). Those that stay longer go
 * into a table; it was told of their handle when they came, so that what it needs is near by then.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/locks.h"
#include "capture/mpi/requests.h"
#include "core/process/barrier.h"

#define SHARDS      16u
#define SHARD_SHIFT 60u /* of a hash */
#define BITS        6u  /* of the number of slots, at first */
#define PIECE       64u /* entries that are obtained at once */
#define SPINS       100u

struct entry {
	_Alignas(64) struct mpi_transfer t;
	struct entry *next; /* of the handle, or spare */
	struct entry *last; /* of the first of a handle: the last one */
};
_Static_assert(sizeof(struct entry) == 128, "two cache lines");

static struct entry *entry_of(struct mpi_transfer *t)
{
	return (struct entry *)t;
}

struct slot {
	uint64_t handle;
	struct entry *first; /* NULL: nothing is here */
};

struct shard {
	_Alignas(64) _Atomic bool locked;
	uint32_t bits, handles;    /* of the table */
	struct slot *slots;        /* NULL: none was ever needed */
	struct entry *spare;       /* given back */
	struct entry *fresh, *end; /* never used */
};

static struct shard shards[SHARDS];

/* ---- locks -------------------------------------------------------------------------------------
 *
 * The first thread that has a request owns all of them: it says that it is at work, looks again
 * whether it is still the owner, and both are plain memory accesses. The first other thread that
 * comes takes the ownership away for good: it says so, makes all threads pass a memory barrier (the
 * dear part) and waits until the owner is not at work. From then on each shard has a lock, and none is
 * near. What the owner has in its hands, because it is complete, stays where it is.
 */

struct cap_thread *_Atomic mpi_owner;
_Atomic bool mpi_owner_works;
struct mpi_near mpi_near;
_Atomic uint64_t mpi_last_request;
static _Atomic bool shared;    /* nobody is the owner ever again */
static _Atomic bool spreading; /* what it had, to the shards */
static pthread_mutex_t revoking = PTHREAD_MUTEX_INITIALIZER;

static uint64_t hash(uint64_t handle)
{
	return handle * 0x9e3779b97f4a7c15ull;
}

/*
 * Until it is false. Who is interrupted there keeps others waiting, perhaps for the processor that they
 * wait on, whatever their priorities: so they let go of it by the clock. No point of cancellation.
 */
static void wait_until_not(const _Atomic bool *taken)
{
	const struct timespec pause = {0, 50000};
	int saved = errno;

	for (unsigned i = 0; atomic_load_explicit(taken, memory_order_acquire); i++)
		if (i >= SPINS)
			syscall(SYS_nanosleep, &pause, NULL);
	errno = saved;
}

static void lock(struct shard *s)
{
	while (atomic_exchange_explicit(&s->locked, true, memory_order_acquire))
		wait_until_not(&s->locked);
}

/* All that the owner has is in the first shard; nobody else is at work. Adds up what is lost. */
static void spread(uint32_t lost[COMM_OPS]);

static void take_away(void)
{
	uint32_t lost[COMM_OPS] = {0};
	int saved = errno;

	pthread_mutex_lock(&revoking);
	if (!atomic_load(&shared)) {
		atomic_store(&mpi_owner, NULL);
		core_barrier();
		wait_until_not(&mpi_owner_works);
		atomic_store(&spreading, true);
		spread(lost);
		atomic_store(&spreading, false);
		atomic_store(&shared, true);
	}
	pthread_mutex_unlock(&revoking);
	for (unsigned op = 0; op < COMM_OPS; op++)
		if (lost[op])
			cap_lost(&comm_ops[op], lost[op]);
	errno = saved;
}

static __attribute__((noinline)) struct shard *enter_slow(uint64_t hashed)
{
	struct cap_thread *t = cap_thread_current, *none = NULL;
	struct shard *s = &shards[hashed >> SHARD_SHIFT];
	bool own = false;

	if (!atomic_load_explicit(&shared, memory_order_acquire)) {
		pthread_mutex_lock(&revoking);
		own = t && !atomic_load(&shared) &&
		      atomic_compare_exchange_strong(&mpi_owner, &none, t);
		if (own)
			atomic_store(&mpi_owner_works, true);
		pthread_mutex_unlock(&revoking);
		if (own)
			return &shards[0];
		take_away();
	}
	lock(s);
	return s;
}

/* The shard of that hash, for the caller alone until leave(); of the owner it is the first. */
static inline struct shard *enter(uint64_t hashed)
{
	return cap_likely(mpi_owner_enter()) ? &shards[0] : enter_slow(hashed);
}

/* The caller is the owner: asked between enter() and leave(). */
static bool owns(const struct shard *s)
{
	return !atomic_load_explicit(&s->locked, memory_order_relaxed);
}

static inline void leave(struct shard *s)
{
	if (cap_unlikely(!owns(s)))
		atomic_store_explicit(&s->locked, false, memory_order_release);
	else
		mpi_owner_leave();
}

/* What another thread was changing while the process forked is lost to the child. */
void mpi_requests_fork_child(void)
{
	bool torn = atomic_load(&mpi_owner_works) || atomic_load(&spreading);

	for (unsigned i = 0; i < SHARDS; i++)
		if (torn || atomic_load(&shards[i].locked))
			shards[i] = (struct shard){0};
	if (torn)
		mpi_near = (struct mpi_near){0};
	atomic_store(&mpi_owner_works, false);
	atomic_store(&spreading, false);
	atomic_store(&mpi_owner, NULL);
	revoking = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

/* ---- entries ---- */

/* One after the other in memory, in the order of their first use. */
static struct entry *entry_new(struct shard *s)
{
	struct entry *e = s->spare;

	if (cap_likely(e != NULL)) {
		s->spare = e->next;
		return e;
	}
	if (s->fresh == s->end) {
		int saved = errno;

		s->fresh = aligned_alloc(64, PIECE * sizeof(*e));
		s->end = s->fresh ? s->fresh + PIECE : NULL;
		errno = saved;
	}
	return s->fresh == s->end ? NULL : s->fresh++;
}

static void entry_put(struct shard *s, struct entry *e)
{
	e->next = s->spare;
	s->spare = e;
}

/* ---- the table ---------------------------------------------------------------------------------
 * Handles lie where their hash says, or in the next free slot behind.
 */

static uint32_t place_of(uint64_t handle, uint32_t bits)
{
	return (uint32_t)(hash(handle) << (64 - SHARD_SHIFT) >> (64 - bits));
}

/* Where the handle is, or would be. */
static struct slot *find_slot(const struct shard *s, uint64_t handle)
{
	uint32_t mask = (1u << s->bits) - 1, i = place_of(handle, s->bits);

	while (s->slots[i].first && s->slots[i].handle != handle)
		i = (i + 1) & mask;
	return &s->slots[i];
}

static struct slot *find_handle(const struct shard *s, uint64_t handle)
{
	struct slot *at = s->handles ? find_slot(s, handle) : NULL;

	return at && at->first ? at : NULL;
}

/* Twice as many slots; what is in them is looked at in the order of its places, old and new. */
static bool grow(struct shard *s)
{
	struct shard more = *s;
	uint32_t n = s->slots ? 1u << s->bits : 0;
	int saved = errno;

	more.bits = n ? s->bits + 1 : BITS;
	more.slots = calloc((size_t)1 << more.bits, sizeof(*more.slots));
	errno = saved;
	if (!more.slots)
		return s->slots && s->handles + 1 < n;
	for (uint32_t i = 0; i < n; i++)
		if (s->slots[i].first)
			*find_slot(&more, s->slots[i].handle) = s->slots[i];
	free(s->slots);
	s->slots = more.slots;
	s->bits = more.bits;
	return true;
}

/* Behind the handle's others. False: there is no memory. */
static bool insert(struct shard *s, uint64_t handle, struct entry *e)
{
	struct slot *at;

	if (!s->slots || cap_unlikely(s->handles >= (1u << s->bits) / 2))
		if (!grow(s))
			return false;
	at = find_slot(s, handle);
	e->next = NULL;
	if (at->first) {
		at->first->last->next = e;
		at->first->last = e;
	} else {
		*at = (struct slot){handle, e};
		e->last = e;
		s->handles++;
	}
	return true;
}

/* Those behind a slot that becomes free may have been meant for it. */
static void free_slot(struct shard *s, struct slot *at)
{
	uint32_t mask = (1u << s->bits) - 1, hole = (uint32_t)(at - s->slots), i = hole;

	for (;;) {
		i = (i + 1) & mask;
		if (!s->slots[i].first)
			break;
		if (((i - place_of(s->slots[i].handle, s->bits)) & mask) < ((i - hole) & mask))
			continue;
		s->slots[hole] = s->slots[i];
		hole = i;
	}
	s->slots[hole].first = NULL;
	s->handles--;
}

/* Takes `e` out; `before` is the one before it, if any. */
static void unlink_entry(struct shard *s, struct slot *at, struct entry *before, struct entry *e)
{
	if (before) {
		before->next = e->next;
		if (!e->next)
			at->first->last = before;
	} else if (e->next) {
		e->next->last = e->last;
		at->first = e->next;
	} else {
		free_slot(s, at);
	}
}

/*
 * The first active one, and the one before it. What is not active is persistent, and no handle of
 * such a one stands for more than it was made for.
 */
static struct entry *first_active(struct entry *e, struct entry **before)
{
	for (*before = NULL; e && !(e->t.item.own & MPI_ACTIVE); e = e->next)
		*before = e;
	return e;
}

/* ---- the latest --------------------------------------------------------------------------------
 * All are active; what the table has of their handles is older.
 */

/* Those that are complete make room. */
static void near_settle(void)
{
	while (mpi_near.oldest != mpi_near.next && !mpi_near.handle[mpi_near.oldest % MPI_NEAR])
		mpi_near.oldest++;
}

/* The oldest goes into the table. */
bool mpi_near_age(uint64_t handle)
{
	struct shard *s = &shards[0];
	uint32_t i = mpi_near.oldest % MPI_NEAR;
	struct entry *e = entry_new(s);

	if (!e)
		return false;
	e->t = mpi_near.t[i];
	if (!insert(s, mpi_near.handle[i], e)) {
		entry_put(s, e);
		return false;
	}
	mpi_near.far = s->handles;
	mpi_near.handle[i] = 0;
	near_settle();
	__builtin_prefetch(&s->slots[place_of(handle, s->bits)], 1);
	return true;
}

static struct mpi_transfer *take_near(uint64_t handle, uint64_t started)
{
	for (uint32_t n = mpi_near.oldest; n != mpi_near.next; n++)
		if (mpi_near.handle[n % MPI_NEAR] == handle) {
			if (started && mpi_near.t[n % MPI_NEAR].item.correlation != started)
				return NULL;
			return mpi_near_take(n);
		}
	return NULL;
}

/* What there is no memory for is lost. */
static void move(uint64_t handle, struct entry *e, uint32_t lost[COMM_OPS])
{
	struct shard *s = &shards[hash(handle) >> SHARD_SHIFT];

	if (insert(s, handle, e))
		return;
	lost[e->t.item.op]++;
	comm_item_drop(&e->t.item);
	entry_put(s, e);
}

static void spread(uint32_t lost[COMM_OPS])
{
	struct shard all = shards[0];

	shards[0].handles = shards[0].bits = 0;
	shards[0].slots = NULL;
	for (uint32_t i = 0; all.slots && i < 1u << all.bits; i++)
		for (struct entry *e = all.slots[i].first, *next; e; e = next) {
			next = e->next;
			move(all.slots[i].handle, e, lost);
		}
	for (uint32_t n = mpi_near.oldest; n != mpi_near.next; n++) {
		uint64_t handle = mpi_near.handle[n % MPI_NEAR];
		struct shard *s = &shards[hash(handle) >> SHARD_SHIFT];
		struct entry *e = handle ? entry_new(s) : NULL;

		if (e) {
			e->t = mpi_near.t[n % MPI_NEAR];
			move(handle, e, lost);
		} else if (handle) {
			lost[mpi_near.t[n % MPI_NEAR].item.op]++;
			comm_item_drop(&mpi_near.t[n % MPI_NEAR].item);
		}
	}
	free(all.slots);
}

/* ---- from outside ------------------------------------------------------------------------------
 */

/* True: there is room near, for the owner. */
static bool near_room(const struct shard *s, const struct mpi_transfer *t, uint64_t handle)
{
	/* What is under way for long need not pass by. */
	return owns(s) && (t->item.own & MPI_ACTIVE) && mpi_near_room(handle);
}

bool mpi_requests_add(uint64_t handle, const struct mpi_transfer *t)
{
	struct shard *s = enter(hash(handle));
	struct entry *e = NULL;
	bool taken = near_room(s, t, handle);

	if (taken) {
		*mpi_near_next() = *t;
		mpi_near_put(handle);
	} else if (!owns(s) || !(t->item.own & MPI_ACTIVE)) {
		e = entry_new(s);
	}
	if (e) {
		e->t = *t;
		e->t.id = mpi_request_id(owns(s));
		taken = insert(s, handle, e);
		if (!taken)
			entry_put(s, e);
		if (owns(s))
			mpi_near.far = s->handles;
	}
	leave(s);
	return taken;
}

void mpi_requests_release(uint64_t handle, struct mpi_transfer *t)
{
	struct shard *s;

	if (t >= mpi_near.t && t < mpi_near.t + MPI_NEAR)
		return;
	s = enter(hash(handle));
	entry_put(s, entry_of(t));
	leave(s);
}

/* The oldest active one of the handle, if the call `started` has started it (0: any). */
static struct mpi_transfer *take(struct shard *s, uint64_t handle, uint64_t started,
				 struct mpi_transfer *persistent)
{
	struct slot *at = find_handle(s, handle);
	struct entry *before, *e = at ? first_active(at->first, &before) : NULL;

	if (!e)
		return owns(s) ? take_near(handle, started) : NULL;
	if (started && e->t.item.correlation != started)
		return NULL;
	if (!(e->t.item.own & MPI_PERSISTENT)) {
		unlink_entry(s, at, before, e);
		return &e->t;
	}
	*persistent = e->t;
	e->t.item.own &= (uint8_t)~MPI_ACTIVE;
	return persistent;
}

/* Between enter() and leave(): the table may have others now. */
static void leave_changed(struct shard *s)
{
	if (owns(s))
		mpi_near.far = s->handles;
	leave(s);
}

struct mpi_transfer *mpi_requests_complete(uint64_t handle, uint64_t started,
					   struct mpi_transfer *persistent)
{
	struct mpi_transfer *t;
	struct shard *s;

	if (handle == mpi_module->request_null)
		return NULL;
	s = enter(hash(handle));
	t = take(s, handle, started, persistent);
	leave_changed(s);
	return t;
}

void mpi_requests_expect(uint64_t far, uint64_t near)
{
	struct cap_thread *t = cap_thread_current;
	struct shard *s;

	if (!t || atomic_load_explicit(&mpi_owner, memory_order_relaxed) != t)
		return;
	s = enter(hash(far));
	if (s->handles) {
		__builtin_prefetch(&s->slots[place_of(far, s->bits)], 1);
		__builtin_prefetch(s->slots[place_of(near, s->bits)].first, 1);
	}
	leave(s);
}

void mpi_requests_start(uint64_t handle, uint64_t correlation, uint64_t start)
{
	struct shard *s = enter(hash(handle));
	struct slot *at = find_handle(s, handle);
	struct entry *e = at ? at->first : NULL;

	if (e && (e->t.item.own & MPI_PERSISTENT)) {
		e->t.item.own |= MPI_ACTIVE;
		e->t.item.correlation = correlation;
		e->t.item.start = start;
		e->t.id = mpi_request_id(owns(s));
	}
	leave(s);
}

struct mpi_transfer *mpi_requests_drop(uint64_t handle)
{
	struct mpi_transfer *t = NULL;
	struct slot *at;
	struct shard *s;

	if (handle == mpi_module->request_null)
		return NULL;
	s = enter(hash(handle));
	at = find_handle(s, handle);
	if (at) {
		t = &at->first->t;
		unlink_entry(s, at, NULL, at->first);
	} else if (owns(s)) {
		t = take_near(handle, 0);
	}
	leave_changed(s);
	return t;
}

/*
 * Takes the next active transfer of the shard out, whatever its handle. *i is the slot where that was
 * the last time: what lay behind may be there now.
 */
static struct mpi_transfer *next_active(struct shard *s, uint32_t *i)
{
	struct entry *e, *before;

	for (; s->handles && *i < 1u << s->bits; ++*i) {
		e = first_active(s->slots[*i].first, &before);
		if (e) {
			unlink_entry(s, &s->slots[*i], before, e);
			return &e->t;
		}
	}
	if (!owns(s) || mpi_near.oldest == mpi_near.next)
		return NULL;
	return mpi_near_take(mpi_near.oldest);
}

static struct mpi_transfer *leave_one(uint64_t shard, uint32_t *i)
{
	struct shard *s = enter(shard << SHARD_SHIFT);
	struct mpi_transfer *t = next_active(s, i);

	leave_changed(s);
	return t;
}

void mpi_requests_leave(void)
{
	struct mpi_transfer *t;

	for (uint64_t n = 0; n < SHARDS; n++)
		for (uint32_t i = 0; (t = leave_one(n, &i)) != NULL;) {
			t->item.state = COMM_LEFT;
			comm_item_write(&t->item, t->id, 0, tick_now());
			mpi_requests_release(n << SHARD_SHIFT, t);
		}
}
