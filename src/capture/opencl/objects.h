/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the backend knows of the program's OpenCL objects. Handles are reused by the runtime, so an
 * object here is one lifetime of a handle and has an id of its own. Lifetimes follow the program's
 * own references (create, retain, release), counted here: the runtime's internal references would
 * only say when it got round to freeing, and asking it is neither atomic nor free.
 *
 * Objects live in pools and are never given back to malloc, so a pointer found without a lock can
 * be looked at even if another thread ends the lifetime meanwhile (which the API forbids anyway).
 */
#ifndef CAPTURE_OPENCL_OBJECTS_H
#define CAPTURE_OPENCL_OBJECTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/opencl/cl.h"

/* What runs at every kernel lies together in memory: a program's kernels leave the caches cold. */
#define OCL_HOT __attribute__((hot))

enum ocl_kind {
	OCL_DEVICE,
	OCL_CONTEXT,
	OCL_QUEUE,
	OCL_MEM,
	OCL_PROGRAM,
	OCL_KERNEL,
	OCL_COMMAND_BUFFER,
	OCL_KINDS
};

struct ocl_object {
	const void *handle;
	_Atomic uint32_t refs;   /* the program's; 0: of no lifetime (root devices keep 1) */
	uint32_t id;             /* of its definition; allocation id for memory objects */
	struct ocl_object *pool; /* next free one */
};

struct ocl_clock;

struct ocl_device {
	struct ocl_object object;
	struct ocl_clock *clock; /* shared by sub-devices; lives for ever */
	bool sub;
	bool leave_queues; /* profiling must not be forced on its queues */
	bool processor;    /* kernels run on processors of the host */
};

struct ocl_context {
	struct ocl_object object;
	uint32_t agent; /* id of the only device, or 0 */
};

struct ocl_mem {
	struct ocl_object object;
	struct ocl_mem *parent;    /* kept alive by its children */
	_Atomic uint32_t children; /* plus one while the program holds it */
	uint64_t bytes;
	uint32_t agent;
	uint32_t context;
	uint32_t element; /* bytes of an image's pixel, else 0 */
	uint8_t memory;   /* enum memory_kind */
	uint8_t what;     /* enum allocation_what */
};

struct ocl_program {
	struct ocl_object object;
	const char *kind; /* as DEF_PROGRAM has it: "source", "binary" ...; a literal */
	const char *_Atomic
		options; /* it was built with, while lines of kernels are wanted; lives for ever; or NULL */
};

/* What a kernel's argument was last set to, while kernels are counted. */
struct ocl_argument {
	bool set;
	bool pointer;    /* of shared virtual memory */
	const void *mem; /* what may be the handle of a memory object, or NULL */

	/* While lines of kernels are wanted; what may be set again. */
	bool known, valued; /* a way to set it is known; there is a value, else a size alone */
	size_t size;
	unsigned char *value; /* or the pointer */
	size_t room;          /* kept when the argument is forgotten */
};

struct ocl_kernel {
	struct ocl_object object;
	bool shares;         /* it was told of shared virtual memory that no argument names */
	bool looked;         /* at its program: */
	const char *changes; /* why it may not run twice, a literal; NULL: it may */
	uint32_t program;    /* id of its program, 0: not known */
	const char *name;    /* lives for ever; NULL: not asked for yet */
	uint32_t argument_count;

	/* Kept when the object is used again. */
	uint32_t argument_room;
	struct ocl_argument *arguments;
};

/* Lock-free for readers: open addressing under a sequence count. */
struct ocl_slot {
	const void *_Atomic handle;
	struct ocl_object *_Atomic object;
};

struct ocl_slots {
	size_t mask;
	struct ocl_slots *older; /* readers may still be in there */
	struct ocl_slot slot[];
};

struct ocl_table {
	struct ocl_slots *_Atomic slots;
	_Atomic uint32_t sequence; /* odd while a writer is at work */
	size_t used;
	pthread_mutex_t lock;
	struct ocl_object *free;
	size_t size; /* of an object */
	size_t zero; /* bytes cleared when it is used again; the rest stays (queues) */
};

extern struct ocl_table ocl_tables[OCL_KINDS]; /* kinds.c */

static inline size_t ocl_hash(const void *handle)
{
	return (size_t)(((uintptr_t)handle * 0x9e3779b97f4a7c15ull) >> 20);
}

/* Looks wherever it may be, if need be under the table's lock. */
struct ocl_object *ocl_find_anywhere(enum ocl_kind kind, const void *handle);

/* The live object of a handle, or NULL. Any thread; mostly it lies where its hash says. */
static inline __attribute__((always_inline)) struct ocl_object *ocl_find(enum ocl_kind kind,
									 const void *handle)
{
	const struct ocl_table *t = &ocl_tables[kind];
	uint32_t sequence = atomic_load_explicit(&t->sequence, memory_order_acquire);
	const struct ocl_slots *s = atomic_load_explicit(&t->slots, memory_order_acquire);
	const struct ocl_slot *slot = s ? &s->slot[ocl_hash(handle) & s->mask] : NULL;
	struct ocl_object *object;

	if (s && atomic_load_explicit(&slot->handle, memory_order_acquire) == handle &&
	    !(sequence & 1)) {
		object = atomic_load_explicit(&slot->object, memory_order_acquire);
		if (atomic_load_explicit(&t->sequence, memory_order_relaxed) == sequence)
			return object;
	}
	return ocl_find_anywhere(kind, handle);
}

/* A zeroed object, not yet in the table; NULL: no memory. */
void *ocl_object_new(enum ocl_kind kind);

/*
 * Makes `object` the live one of its handle, with one reference. An object that was there (its
 * end was missed) is returned if `replace`; else it stays and is returned, and the new one goes
 * back to the pool.
 */
struct ocl_object *ocl_insert(enum ocl_kind kind, struct ocl_object *object, bool replace);

/* Gives an object that is in no table back to its pool. */
void ocl_object_free(enum ocl_kind kind, struct ocl_object *object);

/* One reference more; unknown handles are ignored. */
void ocl_retain(enum ocl_kind kind, const void *handle);

/*
 * One reference less. With the last one the object leaves the table and is returned; the caller
 * ends its lifetime. To be called before the runtime releases the handle and may reuse it.
 */
struct ocl_object *ocl_release(enum ocl_kind kind, const void *handle);

/* Whether the program has one reference alone to it. */
bool ocl_is_last(enum ocl_kind kind, const void *handle);

/* Runs `fn` for every live object of a kind, under the table's lock. */
void ocl_each(enum ocl_kind kind, void (*fn)(struct ocl_object *, void *), void *data);

/* A child after fork: everything is forgotten and learnt anew at first use. */
void ocl_objects_fork_child(void);

/* Why there is no source of a program of which the runtime has none; a literal. */
const char *ocl_source_unknown(const void *program);

#endif
