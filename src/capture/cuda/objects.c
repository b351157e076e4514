/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices, device contexts, streams and kernels: what CUPTI numbers or names becomes definitions,
 * each made when it is first met, from whichever side it is met.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "capture/cuda/backend.h"

#define DEVICES 64u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct map queues;    /* context and stream number: id */
static struct map handles;   /* hash of context number and handle: id of the queue */
static struct map contexts;  /* number: id, device << 32 */
#define DEFINED (1ull << 63) /* of what queues and contexts hold: somebody has defined it */
static struct map pointers;  /* a kernel's name by address: struct name * */
struct name {
	uint32_t id;
	_Atomic bool defined;
	char text[];
};
static struct map names; /* by hash of the text: struct name * */
static struct {
	uint32_t id;
	bool described;
} agents[DEVICES];

/* ---- devices ---- */

static uint32_t agent_id(uint32_t device)
{
	if (device >= DEVICES)
		return 0;
	if (!agents[device].id)
		agents[device].id = cap_new_id(DEF_AGENT);
	return agents[device].id;
}

uint32_t cuda_agent(uint32_t device)
{
	uint32_t id;

	pthread_mutex_lock(&lock);
	id = agent_id(device);
	pthread_mutex_unlock(&lock);
	return id;
}

static void agent_define(uint32_t id, uint32_t device, const char *name, const char *properties,
			 const void *uuid)
{
	struct wire_def d;

	wire_def_init(&d, DEF_AGENT);
	wire_def_u64(&d, id);
	wire_def_string(&d, "gpu");
	wire_def_string(&d, name);
	wire_def_string(&d, "NVIDIA");
	wire_def_string(&d, "");
	wire_def_string(&d, "cuda");
	wire_def_u64(&d, device);
	wire_def_u64(&d, 0);
	wire_def_string(&d, properties);
	wire_def_u64(&d, cuda_clock_id());
	wire_def_bytes(&d, uuid, uuid ? 16 : 0);
	wire_def_string(&d, "NVIDIA CUDA");
	cap_define(&d);
}

/* True: it is for the caller to define the agent, whose id is in `id`. */
static bool agent_take(uint32_t device, uint32_t *id)
{
	bool first = false;

	pthread_mutex_lock(&lock);
	*id = agent_id(device);
	if (*id && !agents[device].described)
		first = agents[device].described = true;
	pthread_mutex_unlock(&lock);
	return first;
}

void cuda_agent_describe(const struct cupti_device *d)
{
	char text[640];
	uint32_t id;

	if (!agent_take(d->id, &id))
		return;
	snprintf(text, sizeof(text),
		 "{\"device\":%u,\"compute_capability\":\"%u.%u\",\"memory_bytes\":%llu,"
		 "\"memory_bandwidth_kb_s\":%llu,\"l2_bytes\":%u,\"constant_bytes\":%u,"
		 "\"multiprocessors\":%u,\"warp\":%u,\"clock_khz\":%u,\"copy_engines\":%u,"
		 "\"warps_per_multiprocessor\":%u,\"blocks_per_multiprocessor\":%u,"
		 "\"shared_bytes_per_multiprocessor\":%u,\"shared_bytes_per_block\":%u,"
		 "\"registers_per_multiprocessor\":%u,\"threads_per_block\":%u,\"ecc\":%u,"
		 "\"mig\":%u,\"gpu_instance\":%u,\"compute_instance\":%u}",
		 d->id, d->major, d->minor, (unsigned long long)d->memory_bytes,
		 (unsigned long long)d->memory_bandwidth, d->l2_bytes, d->constant_bytes,
		 d->multiprocessors, d->warp, d->clock_khz, d->copy_engines,
		 d->warps_per_multiprocessor, d->blocks_per_multiprocessor,
		 d->shared_per_multiprocessor, d->shared_per_block, d->registers_per_multiprocessor,
		 d->threads_per_block, d->ecc, d->mig, d->gpu_instance, d->compute_instance);
	agent_define(id, d->id, d->name, text, d->mig ? d->mig_uuid : d->uuid);
}

void cuda_objects_complete(void)
{
	for (uint32_t i = 0; i < DEVICES; i++) {
		char name[32];
		uint32_t id;

		if (!agents[i].id || !agent_take(i, &id))
			continue;
		snprintf(name, sizeof(name), "CUDA device %u", i);
		agent_define(id, i, name, "", NULL);
	}
}

/* ---- device contexts ---- */

static uint32_t device_in(uint64_t context)
{
	return (uint32_t)((context & ~DEFINED) >> 32);
}

static void say_defined(struct map *m, uint64_t key)
{
	pthread_mutex_lock(&lock);
	map_set(m, key, map_get(m, key) | DEFINED);
	pthread_mutex_unlock(&lock);
}

static uint64_t context_get(uint32_t context, uint32_t device, bool *made)
{
	uint64_t found = map_get(&contexts, context), fresh;

	*made = false;
	if (found)
		return found;
	fresh = cap_new_id(DEF_DEVICE_CONTEXT) | (uint64_t)device << 32;
	*made = map_set(&contexts, context, fresh);
	return *made ? fresh : 0;
}

uint32_t cuda_device_context(uint32_t context, uint32_t device, void *handle)
{
	uint64_t found, agent;
	struct wire_def d;
	bool made;

	pthread_mutex_lock(&lock);
	found = context_get(context, device, &made);
	agent = agent_id(device_in(found));
	pthread_mutex_unlock(&lock);
	if (found && !(found & DEFINED)) {
		wire_def_init(&d, DEF_DEVICE_CONTEXT);
		wire_def_u64(&d, (uint32_t)found);
		wire_def_string(&d, "cuda");
		wire_def_u64(&d, (uintptr_t)handle);
		wire_def_bytes(&d, &agent, sizeof(agent));
		wire_def_u64(&d, tick_now());
		(made ? cap_define : cap_define_also)(&d);
		say_defined(&contexts, context);
	}
	return (uint32_t)found;
}

uint32_t cuda_device_of(uint32_t context)
{
	uint64_t found;

	pthread_mutex_lock(&lock);
	found = map_get(&contexts, context);
	pthread_mutex_unlock(&lock);
	return device_in(found);
}

/* ---- streams ---- */

struct queue {
	uint32_t context, stream, device;
	void *handle;
	uint64_t properties;
};

static void queue_define(uint32_t id, const struct queue *q, bool made)
{
	uint32_t context = cuda_device_context(q->context, q->device, NULL);
	struct wire_def d;
	char name[32];

	snprintf(name, sizeof(name), "stream %u", q->stream);
	wire_def_init(&d, DEF_QUEUE);
	wire_def_u64(&d, id);
	wire_def_string(&d, "cuda");
	wire_def_u64(&d, (uintptr_t)q->handle);
	wire_def_u64(&d, cuda_agent(q->device));
	wire_def_u64(&d, context);
	wire_def_u64(&d, q->properties);
	wire_def_u64(&d, 0);
	wire_def_u64(&d, tick_now());
	wire_def_string(&d, name);
	(made ? cap_define : cap_define_also)(&d);
}

static uint32_t queue_get(const struct queue *q)
{
	uint64_t key = (uint64_t)q->context << 32 | q->stream, found;
	bool made = false;

	pthread_mutex_lock(&lock);
	found = map_get(&queues, key);
	if (!found) {
		found = cap_new_id(DEF_QUEUE);
		made = map_set(&queues, key, found);
		found = made ? found : 0;
	}
	pthread_mutex_unlock(&lock);
	if (found && !(found & DEFINED)) {
		queue_define((uint32_t)found, q, made);
		say_defined(&queues, key);
	}
	return (uint32_t)found;
}

uint32_t cuda_queue(uint32_t context, uint32_t stream, uint32_t device)
{
	const struct queue q = {context, stream, device, NULL, 0};

	return queue_get(&q);
}

static uint64_t handle_key(uint32_t context, void *handle)
{
	return hash_mix(hash_u64(context), (uintptr_t)handle);
}

static void handle_put(uint32_t context, void *handle, uint32_t id)
{
	pthread_mutex_lock(&lock);
	if (id)
		map_set(&handles, handle_key(context, handle), id);
	else
		map_remove(&handles, handle_key(context, handle));
	pthread_mutex_unlock(&lock);
}

/* Asks CUPTI for the number of a stream; 0: it does not say. */
static uint32_t queue_ask(void *device_context, struct queue *q)
{
	const bool per_thread = (uintptr_t)q->handle == 2;

	if (!device_context || !cuda_alive() ||
	    cupti.GetStreamIdEx(device_context, q->handle, per_thread, &q->stream) != CUPTI_OK ||
	    cupti.GetDeviceId(device_context, &q->device) != CUPTI_OK)
		return 0;
	return queue_get(q);
}

uint32_t cuda_queue_of(void *device_context, uint32_t context, void *handle)
{
	struct queue q = {.context = context, .handle = handle};
	uint32_t id;

	pthread_mutex_lock(&lock);
	id = (uint32_t)map_get(&handles, handle_key(context, handle));
	pthread_mutex_unlock(&lock);
	if (id)
		return id;
	id = queue_ask(device_context, &q);
	/* The stream per thread is another one on each thread. */
	if (id && (uintptr_t)handle != 2)
		handle_put(context, handle, id);
	return id;
}

void cuda_queue_made(void *device_context, uint32_t context, void *handle, uint32_t flags,
		     int32_t priority)
{
	struct queue q = {.context = context,
			  .handle = handle,
			  .properties = flags | (uint64_t)(uint32_t)priority << 32};
	uint32_t id = queue_ask(device_context, &q);

	if (id)
		handle_put(context, handle, id);
}

void cuda_queue_ended(uint32_t context, void *handle)
{
	handle_put(context, handle, 0);
}

/* ---- kernels ---- */

static struct name *name_add(const char *text, size_t length, uint64_t hash)
{
	struct name *n = malloc(sizeof(*n) + length + 1);

	if (!n || !map_add(&names, hash, (uintptr_t)n)) {
		free(n);
		return NULL;
	}
	n->id = cap_new_id(DEF_KERNEL);
	atomic_init(&n->defined, false);
	memcpy(n->text, text, length + 1);
	return n;
}

static struct name *name_find(const char *text, bool *made)
{
	size_t length = strlen(text);
	uint64_t hash = hash_bytes(text, length), value;

	*made = false;
	map_each(&names, hash, value) {
		struct name *n = (struct name *)(uintptr_t)value;

		if (strcmp(n->text, text) == 0)
			return n;
	}
	*made = true;
	return name_add(text, length, hash);
}

/* Names are found by address; an address that came to hold another name is noticed. */
static struct name *name_of(const char *text, bool *made)
{
	struct name *n = map_get_pointer(&pointers, (uintptr_t)text);

	*made = false;
	if (n && strcmp(n->text, text) == 0)
		return n;
	n = name_find(text, made);
	if (n)
		map_set_pointer(&pointers, (uintptr_t)text, n);
	return n;
}

uint32_t cuda_kernel(const char *name)
{
	struct wire_def d;
	struct name *n;
	bool made;

	if (!name)
		name = "(no name)";
	pthread_mutex_lock(&lock);
	n = name_of(name, &made);
	pthread_mutex_unlock(&lock);
	if (n && !atomic_load(&n->defined)) {
		wire_def_init(&d, DEF_KERNEL);
		wire_def_u64(&d, n->id);
		wire_def_string(&d, "cuda");
		wire_def_string(&d, n->text);
		wire_def_u64(&d, 0);
		wire_def_u64(&d, 0);
		wire_def_u64(&d, tick_now());
		(made ? cap_define : cap_define_also)(&d);
		atomic_store(&n->defined, true);
	}
	return n ? n->id : 0;
}

void cuda_objects_forget(void)
{
	pthread_mutex_lock(&lock);
	map_release(&queues);
	map_release(&handles);
	map_release(&contexts);
	pthread_mutex_unlock(&lock);
}

void cuda_objects_fork_child(void)
{
	pthread_mutex_init(&lock, NULL); /* whoever held it is not in this process */
}
