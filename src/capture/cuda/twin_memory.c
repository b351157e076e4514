/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that kernels may write to, put aside and put back: all that was allocated in the context, as a kernel's parameters need not name
 * what it reaches; and what they name that was allocated unseen. It is put aside in the device's memory.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "capture/cuda/twin.h"

struct range {
	void *context;
	uint64_t address, bytes;
};

struct ranges {
	struct range *at;
	uint32_t count, room;
};

struct cuda_kept {
	struct ranges ranges;
	uint64_t copy, bytes;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ranges known;

void cuda_twin_memory_fork_child(void)
{
	pthread_mutex_init(&lock, NULL);
	known = (struct ranges){NULL, 0, 0};
}

static bool add(struct ranges *r, struct range range)
{
	if (!vec_reserve(&r->at, &r->room, r->count, 1))
		return false;
	r->at[r->count++] = range;
	return true;
}

void cuda_twin_allocated(void *context, uint64_t address, uint64_t bytes)
{
	if (!address || !bytes)
		return;
	pthread_mutex_lock(&lock);
	add(&known, (struct range){context, address, bytes});
	pthread_mutex_unlock(&lock);
}

void cuda_twin_freed(uint64_t address)
{
	pthread_mutex_lock(&lock);
	for (uint32_t i = known.count; i-- > 0;)
		if (known.at[i].address == address) {
			known.at[i] = known.at[--known.count];
			break;
		}
	pthread_mutex_unlock(&lock);
}

kymo_handler_buffer_t *cuda_twin_buffers(void *context, uint32_t *count)
{
	kymo_handler_buffer_t *all;

	pthread_mutex_lock(&lock);
	all = calloc(known.count + 1u, sizeof(*all));
	for (uint32_t i = 0; all && i < known.count; i++)
		if (known.at[i].context == context)
			all[(*count)++] = (kymo_handler_buffer_t){.base = known.at[i].address,
								  .bytes = known.at[i].bytes,
								  .argument = UINT32_MAX,
								  .name = ""};
	pthread_mutex_unlock(&lock);
	return all;
}

/* ---- what a launch may write to ---- */

static bool covered(const struct ranges *r, uint64_t address)
{
	for (uint32_t i = 0; i < r->count; i++)
		if (address - r->at[i].address < r->at[i].bytes)
			return true;
	return false;
}

/* If it is an address that the driver knows. */
static bool add_pointer(struct ranges *r, uint64_t value)
{
	uint64_t base = 0;
	size_t bytes = 0;

	if (value < 4096 || covered(r, value) ||
	    cuda_driver.MemGetAddressRange(&base, &bytes, value) != 0 || !bytes)
		return true;
	return add(r, (struct range){NULL, base, bytes});
}

static bool add_words(struct ranges *r, const char *at, size_t bytes)
{
	uint64_t value;

	for (size_t i = 0; i + sizeof(value) <= bytes; i += sizeof(value)) {
		memcpy(&value, at + i, sizeof(value));
		if (!add_pointer(r, value))
			return false;
	}
	return true;
}

/* CU_LAUNCH_PARAM_BUFFER_POINTER and _SIZE. */
static bool add_extra(struct ranges *r, void **extra)
{
	const char *buffer = NULL;
	size_t bytes = 0;

	for (; extra[0] && (uintptr_t)extra[0] <= 2; extra += 2) {
		if ((uintptr_t)extra[0] == 1)
			buffer = extra[1];
		else if (extra[1])
			memcpy(&bytes, extra[1], sizeof(bytes));
	}
	return !buffer || add_words(r, buffer, bytes);
}

static bool add_params(struct ranges *r, const struct cuda_twin_launch *l)
{
	size_t offset, bytes;

	if (l->extra)
		return add_extra(r, l->extra);
	for (size_t i = 0; l->params && cuda_driver.FuncGetParamInfo &&
			   cuda_driver.FuncGetParamInfo(l->function, i, &offset, &bytes) == 0;
	     i++)
		if (l->params[i] && !add_words(r, l->params[i], bytes))
			return false;
	return true;
}

static bool collect(struct ranges *r, const struct cuda_twin_launch *l)
{
	bool good = true;

	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; good && i < known.count; i++)
		if (known.at[i].context == l->context)
			good = add(r, known.at[i]);
	pthread_mutex_unlock(&lock);
	return good && add_params(r, l);
}

/* ---- aside and back ---- */

static uint64_t aligned(uint64_t bytes)
{
	return (bytes + 255) & ~255ull;
}

static const char *put_aside(struct cuda_kept *k)
{
	uint64_t at;
	size_t room = 0, total = 0;

	for (uint32_t i = 0; i < k->ranges.count; i++)
		k->bytes += aligned(k->ranges.at[i].bytes);
	if (!k->bytes)
		return NULL;
	if (cuda_driver.MemGetInfo(&room, &total) != 0 || k->bytes > room / 10 * 9 ||
	    cuda_driver.MemAlloc(&k->copy, k->bytes) != 0) {
		k->copy = 0;
		return "the device has no room to put aside what it may write";
	}
	at = k->copy;
	for (uint32_t i = 0; i < k->ranges.count; i++) {
		const struct range *r = &k->ranges.at[i];

		if (cuda_driver.Memcpy(at, r->address, r->bytes) != 0)
			return "what it may write could not be put aside";
		at += aligned(r->bytes);
	}
	return NULL;
}

struct cuda_kept *cuda_keep(const struct cuda_twin_launch *l, const char **why)
{
	struct cuda_kept *k = calloc(1, sizeof(*k));

	*why = k && collect(&k->ranges, l) ? put_aside(k) : "there was no memory for it";
	if (!*why)
		return k;
	cuda_kept_free(k);
	return NULL;
}

bool cuda_kept_restore(const struct cuda_kept *k)
{
	uint64_t at = k->copy;

	for (uint32_t i = 0; i < k->ranges.count; i++) {
		const struct range *r = &k->ranges.at[i];

		if (cuda_driver.Memcpy(r->address, at, r->bytes) != 0)
			return false;
		at += aligned(r->bytes);
	}
	return cuda_driver.CtxSynchronize() == 0;
}

void cuda_kept_free(struct cuda_kept *k)
{
	if (!k)
		return;
	if (k->copy)
		cuda_driver.MemFree(k->copy);
	free(k->ranges.at);
	free(k);
}
