/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What handles stand for, and the definitions made of it. One table for all types. It is never
 * locked while core or a tool is called.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/locks.h"
#include "base/vec.h"
#include "capture/rocm/work.h"
#include "topology/topology.h"

#define BUCKETS 4096u

struct node {
	struct node *next;
	struct rocm_object object;
};

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct node *buckets[BUCKETS];
static pthread_mutex_t agents_lock = PTHREAD_MUTEX_INITIALIZER;

static struct node **bucket_of(uint32_t type, uint64_t handle, uint32_t extra)
{
	uint64_t h =
		(handle ^ (uint64_t)type << 56 ^ (uint64_t)extra << 40) * 0x9e3779b97f4a7c15ull;

	return &buckets[h >> 52 & (BUCKETS - 1)];
}

/* Where the object is, or is to be. Caller holds the lock. */
static struct node **place_of(uint32_t type, uint64_t handle, uint32_t extra)
{
	struct node **at = bucket_of(type, handle, extra);

	while (*at && ((*at)->object.handle != handle || (*at)->object.type != type ||
		       (*at)->object.extra != extra))
		at = &(*at)->next;
	return at;
}

bool rocm_find(enum rocm_type type, uint64_t handle, uint32_t extra, struct rocm_object *out)
{
	const struct node *n;

	pthread_rwlock_rdlock(&lock);
	n = *place_of(type, handle, extra);
	if (n)
		*out = n->object;
	pthread_rwlock_unlock(&lock);
	return n != NULL;
}

bool rocm_keep(struct rocm_object *o, bool replace, struct rocm_object *old)
{
	struct node *fresh = calloc(1, sizeof(*fresh)), **at;
	struct rocm_object none = {0};
	bool kept = true;

	pthread_rwlock_wrlock(&lock);
	at = place_of(o->type, o->handle, o->extra);
	*old = *at ? (*at)->object : none;
	if (*at && !replace) {
		*o = (*at)->object;
		kept = false;
	} else if (*at) {
		(*at)->object = *o;
	} else if (fresh) {
		fresh->object = *o;
		*at = fresh;
		fresh = NULL;
	}
	pthread_rwlock_unlock(&lock);
	free(fresh);
	return kept;
}

bool rocm_forget(enum rocm_type type, uint64_t handle, uint32_t extra, struct rocm_object *out)
{
	struct node **at, *gone;

	pthread_rwlock_wrlock(&lock);
	at = place_of(type, handle, extra);
	gone = *at;
	if (gone) {
		*out = gone->object;
		*at = gone->next;
	}
	pthread_rwlock_unlock(&lock);
	free(gone);
	return gone != NULL;
}

/* Copies all objects of the type. Caller frees. */
static struct rocm_object *all_of(enum rocm_type type, size_t *count)
{
	struct rocm_object *list = NULL;
	size_t n = 0, room = 0;

	pthread_rwlock_rdlock(&lock);
	for (unsigned b = 0; b < BUCKETS; b++) {
		for (const struct node *at = buckets[b]; at; at = at->next) {
			if (at->object.type != type)
				continue;
			if (vec_reserve(&list, &room, n, 1))
				list[n++] = at->object;
		}
	}
	pthread_rwlock_unlock(&lock);
	*count = n;
	return list;
}

void rocm_each(enum rocm_type type, void (*run)(const struct rocm_object *o, void *data),
	       void *data)
{
	size_t count;
	struct rocm_object *list = all_of(type, &count);

	for (size_t i = 0; i < count; i++)
		run(&list[i], data);
	free(list);
}

/* ---- fork: what was defined holds in the child ---- */

static void before_fork(void) ACQUIRES(agents_lock)
{
	pthread_mutex_lock(&agents_lock);
	pthread_rwlock_wrlock(&lock);
}

static void after_fork(void) RELEASES(agents_lock)
{
	pthread_rwlock_unlock(&lock);
	pthread_mutex_unlock(&agents_lock);
}

/* It is not the thread that locked for writing: such a lock cannot be unlocked there. */
static void after_fork_in_child(void) RELEASES(agents_lock)
{
	lock = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
	pthread_mutex_unlock(&agents_lock);
}

void rocm_objects_prepare(void)
{
	pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

/* ---- agents ---- */

static const char *type_name(uint8_t type)
{
	if (type == KYMO_AGENT_CPU)
		return "cpu";
	return type == KYMO_AGENT_GPU ? "gpu" : "accelerator";
}

void rocm_agent_report(const struct rocm_agent *a)
{
	struct core_agent_report r = CORE_AGENT_REPORT_INIT;

	r.type = a->type ? (kymo_agent_type_t)a->type : KYMO_AGENT_OTHER;
	r.domain = a->domain;
	r.name = a->name;
	r.vendor = a->vendor;
	r.handle = a->handle;
	r.ordinal = a->ordinal;
	r.record = atomic_load(&a->id);
	if (a->pci) {
		r.pci_domain = a->pci_domain;
		r.pci_bus = a->pci_bus;
		r.pci_device = a->pci_device;
		r.pci_function = a->pci_function;
	}
	r.memory_bytes = a->memory;
	r.compute_units = a->compute_units;
	core_agent_report(&r, NULL);
}

static void agent_define(const struct rocm_agent *a, uint32_t id, bool first)
{
	struct wire_def d;

	wire_def_init(&d, DEF_AGENT);
	wire_def_u64(&d, id);
	wire_def_string(&d, type_name(a->type));
	wire_def_string(&d, a->name);
	wire_def_string(&d, a->vendor);
	wire_def_string(&d, "");
	wire_def_string(&d, a->domain);
	wire_def_u64(&d, a->handle);
	wire_def_u64(&d, 0);
	wire_def_string(&d, "");
	wire_def_u64(&d, 0);
	wire_def_bytes(&d, "", 0);
	wire_def_string(&d, "ROCm");
	(first ? cap_define : cap_define_also)(&d);
}

uint32_t rocm_agent_id(struct rocm_agent *a)
{
	bool first = false;
	uint32_t id;

	if (atomic_load(&a->defined))
		return atomic_load(&a->id);
	pthread_mutex_lock(&agents_lock);
	id = atomic_load(&a->id);
	if (!id) {
		id = cap_new_id(DEF_AGENT);
		atomic_store(&a->id, id);
		first = true;
	}
	pthread_mutex_unlock(&agents_lock);
	agent_define(a, id, first);
	atomic_store(&a->defined, true);
	if (first)
		rocm_agent_report(a);
	return id;
}

/* ---- other definitions ---- */

uint32_t rocm_define_queue(const char *domain, uint64_t handle, uint32_t agent, const char *name)
{
	const uint32_t id = cap_new_id(DEF_QUEUE);
	struct wire_def d;

	wire_def_init(&d, DEF_QUEUE);
	wire_def_u64(&d, id);
	wire_def_string(&d, domain);
	wire_def_u64(&d, handle);
	wire_def_u64(&d, agent);
	wire_def_u64(&d, 0);
	wire_def_u64(&d, 0);
	wire_def_u64(&d, 0);
	wire_def_u64(&d, tick_now());
	wire_def_string(&d, name);
	cap_define(&d);
	return id;
}

uint32_t rocm_define_kernel(const char *domain, uint64_t handle, const char *name, uint32_t program)
{
	const uint32_t id = cap_new_id(DEF_KERNEL);
	struct wire_def d;

	wire_def_init(&d, DEF_KERNEL);
	wire_def_u64(&d, id);
	wire_def_string(&d, domain);
	wire_def_string(&d, name);
	wire_def_u64(&d, program);
	wire_def_u64(&d, handle);
	wire_def_u64(&d, tick_now());
	cap_define(&d);
	return id;
}

uint32_t rocm_define_program(const char *domain, uint64_t handle, const char *kind)
{
	const uint32_t id = cap_new_id(DEF_PROGRAM);
	struct wire_def d;

	wire_def_init(&d, DEF_PROGRAM);
	wire_def_u64(&d, id);
	wire_def_string(&d, domain);
	wire_def_u64(&d, handle);
	wire_def_u64(&d, 0);
	wire_def_string(&d, kind);
	wire_def_u64(&d, 0);
	wire_def_u64(&d, tick_now());
	cap_define(&d);
	return id;
}

static void end_if_part(const struct rocm_object *o, void *data)
{
	struct rocm_object gone;

	if (o->owner != *(const uint32_t *)data ||
	    !rocm_forget(o->type, o->handle, o->extra, &gone))
		return;
	if (gone.id)
		cap_define_end(DEF_KERNEL, gone.id);
}

void rocm_program_end(uint32_t program, enum rocm_type kernels)
{
	rocm_each(kernels, end_if_part, &program);
	cap_define_end(DEF_PROGRAM, program);
}
