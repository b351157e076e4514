/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that the program has of the driver, sorted by address, and its records. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/locks.h"
#include "base/vec.h"
#include "capture/ze/ze.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ze_memory *memories;
static size_t count, room;
/* What the call in progress frees: by the time it returned, the address may be somebody else's. */
static _Thread_local struct ze_memory freed __attribute__((tls_model("initial-exec")));

/* Index of the first above `address`. With the lock. */
static size_t above(uint64_t address)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (memories[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct ze_memory ze_memory_of(const void *address)
{
	struct ze_memory m = {.kind = MEMORY_HOST_PAGEABLE};
	size_t i;

	pthread_mutex_lock(&lock);
	i = above((uintptr_t)address);
	if (i && (uintptr_t)address - memories[i - 1].address < memories[i - 1].bytes)
		m = memories[i - 1];
	pthread_mutex_unlock(&lock);
	return m;
}

static void put(struct ze_memory *m)
{
	size_t i;

	pthread_mutex_lock(&lock);
	if (!m->id)
		m->id = cap_new_allocation();
	i = above(m->address);
	if (i && memories[i - 1].address == m->address) { /* its end was not seen */
		memories[i - 1] = *m;
	} else if (vec_reserve(&memories, &room, count, 1)) {
		memmove(&memories[i + 1], &memories[i], (count - i) * sizeof(*memories));
		memories[i] = *m;
		count++;
	}
	pthread_mutex_unlock(&lock);
}

static struct ze_memory take(const void *address)
{
	struct ze_memory m = {0};
	size_t i;

	pthread_mutex_lock(&lock);
	i = above((uintptr_t)address);
	if (i && memories[i - 1].address == (uintptr_t)address) {
		m = memories[i - 1];
		memmove(&memories[i - 1], &memories[i], (count - i) * sizeof(*memories));
		count--;
	}
	pthread_mutex_unlock(&lock);
	return m;
}

static void record(const struct cap_frame *f, unsigned op, const struct ze_memory *m)
{
	const struct cap_allocation a = {m->address, m->bytes, m->id,   0,
					 m->agent,   0,        m->kind, ALLOCATION_USM};

	cap_allocation_record(f, 0, op, &a);
}

static void allocated(const struct table_call *call, uint64_t address, uint64_t bytes, void *device,
		      uint8_t kind)
{
	const struct ze_agent *a = ze_succeeded(call) && device ? ze_agent_of(device) : NULL;
	struct ze_memory m = {.address = address, .bytes = bytes, .kind = kind};

	if (!ze_succeeded(call) || !address)
		return;
	m.agent = a ? a->id : 0;
	put(&m);
	record(call->frame, ALLOCATION_OP_ALLOCATE, &m);
}

void ze_after_zeMemAllocDevice(const struct table_call *call)
{
	allocated(call, ze_arg(call, zeMemAllocDevice_pptr), ze_arg(call, zeMemAllocDevice_size),
		  ze_pointer(call, zeMemAllocDevice_hDevice), MEMORY_DEVICE);
}

void ze_after_zeMemAllocHost(const struct table_call *call)
{
	allocated(call, ze_arg(call, zeMemAllocHost_pptr), ze_arg(call, zeMemAllocHost_size), NULL,
		  MEMORY_HOST_PINNED);
}

void ze_after_zeMemAllocShared(const struct table_call *call)
{
	allocated(call, ze_arg(call, zeMemAllocShared_pptr), ze_arg(call, zeMemAllocShared_size),
		  ze_pointer(call, zeMemAllocShared_hDevice), MEMORY_SHARED);
}

static void freed_now(const struct table_call *call)
{
	struct ze_memory m = freed;

	freed = (struct ze_memory){0};
	if (!m.id || !call->frame->op)
		return;
	if (ze_succeeded(call))
		record(call->frame, ALLOCATION_OP_FREE, &m);
	else
		put(&m);
}

void ze_before_zeMemFree(void *hContext, void *ptr)
{
	freed = take(ptr);
}

void ze_before_zeMemFreeExt(void *hContext, void *pMemFreeDesc, void *ptr)
{
	freed = take(ptr);
}

void ze_after_zeMemFree(const struct table_call *call)
{
	freed_now(call);
}

void ze_after_zeMemFreeExt(const struct table_call *call)
{
	freed_now(call);
}

void ze_memory_lock(void) ACQUIRES(lock)
{
	pthread_mutex_lock(&lock);
}

void ze_memory_unlock(void) RELEASES(lock)
{
	pthread_mutex_unlock(&lock);
}
