/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The latest transfers of the thread that starts and completes all of them, inlined: they are written where they stay
 * until they are complete, and their records are made from there. See requests.c.
 */
#ifndef CAPTURE_MPI_REQUESTS_H
#define CAPTURE_MPI_REQUESTS_H

#include "capture/mpi/backend.h"

#define MPI_NEAR 8u /* a power of two */

struct mpi_near {
	_Alignas(64) uint64_t handle[MPI_NEAR]; /* 0: that one is complete */
	uint32_t oldest,
		next; /* they count on; at most MPI_NEAR apart, and `oldest` is not complete */
	uint32_t far; /* handles in the table, which come first */
	_Alignas(64) struct mpi_transfer t[MPI_NEAR];
};

extern struct mpi_near mpi_near;
extern struct cap_thread *_Atomic mpi_owner;
extern _Atomic bool mpi_owner_works;
extern _Atomic uint64_t mpi_last_request;

/* False: the caller is not the owner. */
static inline bool mpi_owner_enter(void)
{
	struct cap_thread *t = cap_thread_current;

	if (cap_unlikely(!t || atomic_load_explicit(&mpi_owner, memory_order_relaxed) != t))
		return false;
	atomic_store_explicit(&mpi_owner_works, true, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	if (cap_likely(atomic_load_explicit(&mpi_owner, memory_order_acquire) == t))
		return true;
	atomic_store_explicit(&mpi_owner_works, false, memory_order_release);
	return false;
}

static inline void mpi_owner_leave(void)
{
	atomic_store_explicit(&mpi_owner_works, false, memory_order_release);
}

static inline uint64_t mpi_request_id(bool owner)
{
	uint64_t id;

	if (cap_unlikely(!owner))
		return atomic_fetch_add_explicit(&mpi_last_request, 1, memory_order_relaxed) + 1;
	id = atomic_load_explicit(&mpi_last_request, memory_order_relaxed) + 1;
	atomic_store_explicit(&mpi_last_request, id, memory_order_relaxed);
	return id;
}

/* ---- between mpi_owner_enter() and mpi_owner_leave() ---- */

/* Makes room; `handle` is that of the one that will come. False: there is no memory. */
bool mpi_near_age(uint64_t handle);

static inline bool mpi_near_room(uint64_t handle)
{
	return cap_likely(mpi_near.next - mpi_near.oldest < MPI_NEAR) || mpi_near_age(handle);
}

/* The place that there is room for. */
static inline struct mpi_transfer *mpi_near_next(void)
{
	return &mpi_near.t[mpi_near.next % MPI_NEAR];
}

/* What is there belongs to the handle, and gets an id. */
static inline void mpi_near_put(uint64_t handle)
{
	uint32_t i = mpi_near.next++ % MPI_NEAR;

	mpi_near.t[i].id = mpi_request_id(true);
	mpi_near.handle[i] = handle;
}

/* It is complete, and stays where it is until the owner starts another one. */
static inline struct mpi_transfer *mpi_near_take(uint32_t n)
{
	mpi_near.handle[n % MPI_NEAR] = 0;
	while (mpi_near.oldest != mpi_near.next && !mpi_near.handle[mpi_near.oldest % MPI_NEAR])
		mpi_near.oldest++;
	return &mpi_near.t[n % MPI_NEAR];
}

/* ---- */

/* The oldest of the handle, if it is near and the caller the owner; NULL: mpi_requests_complete(). */
static inline struct mpi_transfer *mpi_near_complete(uint64_t handle)
{
	struct mpi_transfer *t = NULL;

	if (!mpi_owner_enter())
		return NULL;
	for (uint32_t n = mpi_near.oldest; !mpi_near.far && n != mpi_near.next; n++)
		if (mpi_near.handle[n % MPI_NEAR] == handle) {
			t = mpi_near_take(n);
			break;
		}
	mpi_owner_leave();
	return t;
}

#endif
