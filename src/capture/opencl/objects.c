/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handle tables: a hash table a kind, written under a lock, read without one. Arrays only grow when
 * more handles are alive at once than ever before, so those left to late readers are bounded.
 */
#include "capture/opencl/objects.h"

#include <stdlib.h>
#include <string.h>

#include "core/capture.h"

#define FIRST_SLOTS 256u
#define POOL_STEP   32u
#define READ_TRIES  8

/* What a reader sees, right or torn. */
OCL_HOT static struct ocl_object *probe(const struct ocl_slots *s, const void *handle)
{
	for (size_t i = ocl_hash(handle) & s->mask, n = 0; n <= s->mask;
	     i = (i + 1) & s->mask, n++) {
		const void *key = atomic_load_explicit(&s->slot[i].handle, memory_order_acquire);

		if (key == handle)
			return atomic_load_explicit(&s->slot[i].object, memory_order_acquire);
		if (!key)
			return NULL;
	}
	return NULL;
}

OCL_HOT struct ocl_object *ocl_find_anywhere(enum ocl_kind kind, const void *handle)
{
	struct ocl_table *t = &ocl_tables[kind];
	struct ocl_object *object;

	for (int i = 0; i < READ_TRIES; i++) {
		uint32_t sequence = atomic_load_explicit(&t->sequence, memory_order_acquire);
		const struct ocl_slots *s = atomic_load_explicit(&t->slots, memory_order_acquire);

		if (!s || !handle)
			return NULL;
		object = probe(s, handle);
		if (!(sequence & 1) &&
		    atomic_load_explicit(&t->sequence, memory_order_relaxed) == sequence)
			return object;
	}
	pthread_mutex_lock(&t->lock);
	object = probe(atomic_load(&t->slots), handle);
	pthread_mutex_unlock(&t->lock);
	return object;
}

/* ---- writers; the table's lock is held ---- */

static void write_begin(struct ocl_table *t)
{
	atomic_fetch_add_explicit(&t->sequence, 1, memory_order_acq_rel);
}

static void write_end(struct ocl_table *t)
{
	atomic_fetch_add_explicit(&t->sequence, 1, memory_order_release);
}

static void slot_set(struct ocl_slot *slot, const void *handle, struct ocl_object *object)
{
	atomic_store_explicit(&slot->object, object, memory_order_release);
	atomic_store_explicit(&slot->handle, handle, memory_order_release);
}

/* The slot that holds the handle, or the empty one where it belongs. */
static struct ocl_slot *slot_of(struct ocl_slots *s, const void *handle)
{
	size_t i = ocl_hash(handle) & s->mask;

	while (s->slot[i].handle && s->slot[i].handle != handle)
		i = (i + 1) & s->mask;
	return &s->slot[i];
}

static bool make_room(struct ocl_table *t)
{
	struct ocl_slots *old = atomic_load(&t->slots), *s;
	size_t n = old ? (old->mask + 1) * 2 : FIRST_SLOTS;

	if (old && t->used * 2 < old->mask)
		return true;
	s = calloc(1, sizeof(*s) + n * sizeof(s->slot[0]));
	if (!s)
		return old && t->used < old->mask;
	s->mask = n - 1;
	s->older = old;
	for (size_t i = 0; old && i <= old->mask; i++)
		if (old->slot[i].handle)
			slot_set(slot_of(s, old->slot[i].handle), old->slot[i].handle,
				 old->slot[i].object);
	write_begin(t);
	atomic_store_explicit(&t->slots, s, memory_order_release);
	write_end(t);
	return true;
}

/* Deletion without tombstones: what follows moves up if it may. */
static void slot_clear(struct ocl_table *t, struct ocl_slot *slot)
{
	struct ocl_slots *s = atomic_load(&t->slots);
	size_t hole = (size_t)(slot - s->slot), i = hole;

	write_begin(t);
	for (;;) {
		size_t home;

		i = (i + 1) & s->mask;
		if (!s->slot[i].handle)
			break;
		home = ocl_hash(s->slot[i].handle) & s->mask;
		if (((i - home) & s->mask) < ((i - hole) & s->mask))
			continue;
		slot_set(&s->slot[hole], s->slot[i].handle, s->slot[i].object);
		hole = i;
	}
	slot_set(&s->slot[hole], NULL, NULL);
	t->used--;
	write_end(t);
}

static void pool_put(struct ocl_table *t, struct ocl_object *object)
{
	object->pool = t->free;
	t->free = object;
}

static bool pool_fill(struct ocl_table *t)
{
	char *more = calloc(POOL_STEP, t->size);

	for (size_t i = 0; more && i < POOL_STEP; i++)
		pool_put(t, (struct ocl_object *)(void *)(more + i * t->size));
	return more != NULL;
}

void *ocl_object_new(enum ocl_kind kind)
{
	struct ocl_table *t = &ocl_tables[kind];
	struct ocl_object *object = NULL;

	pthread_mutex_lock(&t->lock);
	if (t->free || pool_fill(t)) {
		object = t->free;
		t->free = object->pool;
	}
	pthread_mutex_unlock(&t->lock);
	if (object)
		memset(object, 0, t->zero);
	return object;
}

void ocl_object_free(enum ocl_kind kind, struct ocl_object *object)
{
	static const uint8_t defined_as[OCL_KINDS] = {
		[OCL_QUEUE] = DEF_QUEUE, [OCL_PROGRAM] = DEF_PROGRAM, [OCL_KERNEL] = DEF_KERNEL};
	struct ocl_table *t = &ocl_tables[kind];

	if (!object)
		return;
	if (defined_as[kind] && object->id)
		cap_define_end((enum wire_def_kind)defined_as[kind], object->id);
	pthread_mutex_lock(&t->lock);
	pool_put(t, object);
	pthread_mutex_unlock(&t->lock);
}

struct ocl_object *ocl_insert(enum ocl_kind kind, struct ocl_object *object, bool replace)
{
	struct ocl_table *t = &ocl_tables[kind];
	struct ocl_object *old = NULL;
	struct ocl_slot *slot;

	pthread_mutex_lock(&t->lock);
	if (make_room(t)) {
		slot = slot_of(atomic_load(&t->slots), object->handle);
		old = slot->handle ? slot->object : NULL;
		if (old && !replace) {
			pool_put(t, object);
		} else {
			atomic_store(&object->refs, 1);
			t->used += old ? 0 : 1;
			write_begin(t);
			slot_set(slot, object->handle, object);
			write_end(t);
		}
	}
	pthread_mutex_unlock(&t->lock);
	return old;
}

void ocl_retain(enum ocl_kind kind, const void *handle)
{
	struct ocl_object *object = ocl_find(kind, handle);

	if (object)
		atomic_fetch_add_explicit(&object->refs, 1, memory_order_relaxed);
}

bool ocl_is_last(enum ocl_kind kind, const void *handle)
{
	const struct ocl_object *object = ocl_find(kind, handle);

	return object && atomic_load_explicit(&object->refs, memory_order_relaxed) == 1;
}

struct ocl_object *ocl_release(enum ocl_kind kind, const void *handle)
{
	struct ocl_table *t = &ocl_tables[kind];
	struct ocl_object *object = ocl_find(kind, handle);

	if (!object || atomic_fetch_sub_explicit(&object->refs, 1, memory_order_acq_rel) != 1)
		return NULL;
	pthread_mutex_lock(&t->lock);
	if (probe(atomic_load(&t->slots), handle) == object)
		slot_clear(t, slot_of(atomic_load(&t->slots), handle));
	else
		object = NULL;
	pthread_mutex_unlock(&t->lock);
	return object;
}

void ocl_each(enum ocl_kind kind, void (*fn)(struct ocl_object *, void *), void *data)
{
	struct ocl_table *t = &ocl_tables[kind];
	struct ocl_slots *s;

	pthread_mutex_lock(&t->lock);
	s = atomic_load(&t->slots);
	for (size_t i = 0; s && i <= s->mask; i++)
		if (s->slot[i].handle)
			fn(s->slot[i].object, data);
	pthread_mutex_unlock(&t->lock);
}

void ocl_objects_fork_child(void)
{
	for (int kind = 0; kind < OCL_KINDS; kind++) {
		struct ocl_table *t = &ocl_tables[kind];
		struct ocl_slots *s = atomic_load(&t->slots);

		pthread_mutex_init(&t->lock, NULL);
		atomic_store(&t->sequence, 0);
		t->free = NULL; /* may be half linked */
		t->used = 0;
		for (size_t i = 0; s && i <= s->mask; i++)
			slot_set(&s->slot[i], NULL, NULL);
	}
}

const char *ocl_source_unknown(const void *program)
{
	static const struct {
		const char *kind, *why;
	} whys[] = {{"binary", "the program's source is not known: it was made from a binary"},
		    {"il", "the program's source is not known: it was made from IL"},
		    {"linked", "the program's source is not known: it was linked from others"},
		    {"builtin", "the program's source is not known: its kernels are built in"}};
	const struct ocl_program *p = (const struct ocl_program *)ocl_find(OCL_PROGRAM, program);

	for (size_t i = 0; p && i < sizeof(whys) / sizeof(whys[0]); i++)
		if (strcmp(p->kind, whys[i].kind) == 0)
			return whys[i].why;
	return "the program's source is not known: the runtime does not tell it";
}
