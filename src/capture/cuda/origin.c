/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which call submitted a piece of device work. CUPTI numbers calls with 32 bits, going round; the
 * newest calls that submit work are kept in a table that is written and read without locks. Device
 * work whose call has been overwritten meanwhile is recorded without it, and counted.
 */
#include <sys/mman.h>

#include "capture/cuda/backend.h"

#define ORIGINS (1u << 18) /* submissions under way; 12 MiB of address space, touched as needed */

struct slot {
	_Atomic uint64_t key; /* correlation + 1; 0: being written, or never was */
	_Atomic uint64_t call;
	_Atomic uint64_t start;
	_Atomic int64_t scope;
	_Atomic uint64_t buffers;
	_Atomic uint64_t epoch; /* and in the top bit `renew` */
};

#define RENEW (1ull << 63)

static struct slot *slots;
static _Atomic uint64_t missed;

bool cuda_origins_init(void)
{
	void *p = mmap(NULL, ORIGINS * sizeof(*slots), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return false;
	slots = p;
	return true;
}

void cuda_origin_put(uint32_t correlation, const struct cuda_origin *o)
{
	struct slot *s = &slots[correlation % ORIGINS];

	atomic_store_explicit(&s->key, 0, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&s->call, o->origin.call, memory_order_relaxed);
	atomic_store_explicit(&s->start, o->start, memory_order_relaxed);
	atomic_store_explicit(&s->scope, o->origin.scope, memory_order_relaxed);
	atomic_store_explicit(&s->buffers, o->origin.buffers, memory_order_relaxed);
	atomic_store_explicit(&s->epoch, o->origin.epoch | (o->renew ? RENEW : 0),
			      memory_order_relaxed);
	atomic_store_explicit(&s->key, (uint64_t)correlation + 1, memory_order_release);
}

bool cuda_origin_get(uint32_t correlation, struct cuda_origin *o)
{
	struct slot *s = &slots[correlation % ORIGINS];
	uint64_t key = (uint64_t)correlation + 1, epoch;

	*o = (struct cuda_origin){.renew = true};
	if (atomic_load_explicit(&s->key, memory_order_acquire) == key) {
		o->origin.call = atomic_load_explicit(&s->call, memory_order_relaxed);
		o->start = atomic_load_explicit(&s->start, memory_order_relaxed);
		o->origin.scope = atomic_load_explicit(&s->scope, memory_order_relaxed);
		o->origin.buffers = atomic_load_explicit(&s->buffers, memory_order_relaxed);
		epoch = atomic_load_explicit(&s->epoch, memory_order_relaxed);
		o->origin.epoch = (uint32_t)epoch;
		o->renew = epoch & RENEW;
		atomic_thread_fence(memory_order_acquire);
		if (atomic_load_explicit(&s->key, memory_order_relaxed) == key)
			return true;
		*o = (struct cuda_origin){.renew = true};
	}
	atomic_fetch_add_explicit(&missed, 1, memory_order_relaxed);
	return false;
}

uint64_t cuda_origins_missed(void)
{
	return atomic_load(&missed);
}
