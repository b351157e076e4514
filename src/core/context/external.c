/* SPDX-License-Identifier: Apache-2.0 */
/*
 * External ids: for each thread and context a stack of a tool's own values. A thread works on its
 * own stacks with plain stores; another thread that wants to first makes it see that.
 */
#include "core/context/context.h"
#include "base/locks.h"
#include "base/vec.h"
#include "core/process/process.h"
#include "core/ring/ring.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#define PIECE 64u

struct stack {
	uint32_t generation; /* of the context the values are for */
	uint32_t depth, room;
	uint64_t *values;
};

struct core_externals {
	_Atomic uint32_t own;     /* the thread itself is at work */
	_Atomic uint32_t foreign; /* another thread wants to, or is */
	struct stack *_Atomic pieces[CORE_CONTEXTS / PIECE];
};

static struct core_externals *externals_get(struct cap_thread *t)
{
	struct core_externals *x = atomic_load_explicit(&t->externals, memory_order_acquire);
	struct core_externals *fresh;

	if (cap_likely(x != NULL))
		return x;
	fresh = calloc(1, sizeof(*fresh));
	if (fresh && !atomic_compare_exchange_strong(&t->externals, &x, fresh)) {
		free(fresh);
		return x;
	}
	return fresh;
}

void core_externals_release(struct cap_thread *t)
{
	struct core_externals *x = atomic_exchange(&t->externals, NULL);

	for (uint32_t i = 0; x && i < CORE_CONTEXTS / PIECE; i++) {
		struct stack *piece = atomic_load(&x->pieces[i]);

		for (uint32_t j = 0; piece && j < PIECE; j++)
			free(piece[j].values);
		free(piece);
	}
	free(x);
}

/* ---- whose turn it is ---- */

static void own_wait(struct core_externals *x)
{
	do {
		atomic_store_explicit(&x->own, 0, memory_order_release);
		while (atomic_load_explicit(&x->foreign, memory_order_acquire))
			sched_yield();
		atomic_store(&x->own, 1);
	} while (atomic_load(&x->foreign));
}

static inline void own_begin(struct core_externals *x)
{
	atomic_store_explicit(&x->own, 1, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	if (cap_unlikely(atomic_load_explicit(&x->foreign, memory_order_acquire)))
		own_wait(x);
}

static inline void own_end(struct core_externals *x)
{
	atomic_store_explicit(&x->own, 0, memory_order_release);
}

/* One at a time: the caller holds `threads`. */
static void foreign_begin(struct core_externals *x) REQUIRES(core_live->threads)
{
	kymo_assert_held(&core_live->threads);
	kymo_assert(!atomic_load(&x->foreign));
	atomic_store(&x->foreign, 1);
	core_barrier();
	while (atomic_load_explicit(&x->own, memory_order_acquire))
		sched_yield();
}

static void foreign_end(struct core_externals *x)
{
	atomic_store_explicit(&x->foreign, 0, memory_order_release);
}

/* ---- stacks ---- */

static struct stack *stack_find(struct core_externals *x, const struct core_context *c)
{
	struct stack *piece =
		atomic_load_explicit(&x->pieces[c->index / PIECE], memory_order_relaxed);

	return piece ? &piece[c->index % PIECE] : NULL;
}

static struct stack *stack_make(struct core_externals *x, const struct core_context *c)
{
	struct stack *s = stack_find(x, c), *piece;

	if (cap_likely(s != NULL))
		return s;
	piece = calloc(PIECE, sizeof(*piece));
	atomic_store_explicit(&x->pieces[c->index / PIECE], piece, memory_order_relaxed);
	return piece ? &piece[c->index % PIECE] : NULL;
}

static __attribute__((noinline, cold)) bool stack_grow(struct stack *s)
{
	return vec_reserve(&s->values, &s->room, s->depth, 1);
}

/* What the context's buffer carries from now on. */
static inline void show(struct cap_thread *t, const struct core_context *c, uint64_t top)
{
	int32_t buffer = atomic_load_explicit(&c->buffer_index, memory_order_relaxed);

	if (buffer >= 0)
		atomic_store_explicit(&t->external[buffer], top, memory_order_relaxed);
}

static inline kymo_status_t push(struct cap_thread *t, struct core_externals *x,
				 const struct core_context *c, uint32_t generation, uint64_t value)
{
	struct stack *s = stack_make(x, c);

	if (cap_unlikely(!s))
		return KYMO_ERROR_NO_MEMORY;
	if (cap_unlikely(atomic_load_explicit(&c->generation, memory_order_acquire) != generation))
		return KYMO_ERROR_NOT_FOUND; /* destroyed since */
	if (cap_unlikely(s->generation != generation)) {
		s->generation = generation;
		s->depth = 0;
	}
	if (cap_unlikely(s->depth == s->room) && !stack_grow(s))
		return KYMO_ERROR_NO_MEMORY;
	s->values[s->depth++] = value;
	show(t, c, value);
	return KYMO_OK;
}

static inline kymo_status_t pop(struct cap_thread *t, struct core_externals *x,
				const struct core_context *c, uint32_t generation, uint64_t *value)
{
	struct stack *s = stack_find(x, c);

	if (cap_unlikely(atomic_load_explicit(&c->generation, memory_order_acquire) != generation))
		return KYMO_ERROR_NOT_FOUND;
	if (!s || s->generation != generation || s->depth == 0)
		return KYMO_ERROR_STATE;
	s->depth--;
	if (value)
		*value = s->values[s->depth];
	show(t, c, s->depth ? s->values[s->depth - 1] : 0);
	return KYMO_OK;
}

uint64_t core_external_top(struct cap_thread *t, const struct core_context *c)
{
	struct core_externals *x = atomic_load_explicit(&t->externals, memory_order_acquire);
	uint64_t top = 0;
	struct stack *s;

	if (cap_likely(!x))
		return 0;
	own_begin(x);
	s = stack_find(x, c);
	if (s && s->depth && s->generation == atomic_load(&c->generation))
		top = s->values[s->depth - 1];
	own_end(x);
	return top;
}

struct mirror {
	const struct core_context *context;
	uint32_t buffer;
};

static void mirror_one(struct cap_thread *t, void *data) REQUIRES(core_live->threads)
{
	struct core_externals *x = atomic_load(&t->externals);
	const struct mirror *m = data;
	uint64_t top = 0;
	struct stack *s;

	if (x) {
		foreign_begin(x);
		s = stack_find(x, m->context);
		if (s && s->depth && s->generation == atomic_load(&m->context->generation))
			top = s->values[s->depth - 1];
	}
	atomic_store_explicit(&t->external[m->buffer], top, memory_order_relaxed);
	if (x)
		foreign_end(x);
}

void core_externals_mirror(const struct core_context *c, uint32_t buffer)
{
	struct mirror m = {c, buffer};

	core_threads_each(mirror_one, &m);
}

/* ---- the calling thread ---- */

/* Everything but the stack itself: what to say if it cannot be had. */
static inline kymo_status_t prepare(kymo_context_t context, struct core_context **c,
				    struct cap_thread **t, struct core_externals **x)
{
	int saved;

	*c = core_context_of(context);
	if (cap_unlikely(atomic_load_explicit(&core_finalized, memory_order_relaxed)))
		return KYMO_ERROR_FINALIZED;
	if (cap_unlikely(!*c))
		return context.handle ? KYMO_ERROR_NOT_FOUND : KYMO_ERROR_INVALID_ARGUMENT;
	*t = cap_thread_current;
	if (cap_likely(*t && (*t)->magic == CAP_THREAD_MAGIC)) {
		*x = atomic_load_explicit(&(*t)->externals, memory_order_acquire);
		if (cap_likely(*x != NULL))
			return KYMO_OK;
	}
	saved = errno;
	*t = cap_thread_attach();
	*x = *t ? externals_get(*t) : NULL;
	errno = saved;
	return *x ? KYMO_OK : KYMO_ERROR_NO_MEMORY;
}

kymo_status_t kymo_external_push(kymo_context_t context, uint64_t value)
{
	struct core_externals *x;
	struct core_context *c;
	struct cap_thread *t;
	kymo_status_t status = prepare(context, &c, &t, &x);

	if (cap_unlikely(status != KYMO_OK))
		return status;
	own_begin(x);
	status = push(t, x, c, (uint32_t)(context.handle >> 32), value);
	own_end(x);
	return status;
}

kymo_status_t kymo_external_pop(kymo_context_t context, uint64_t *value)
{
	struct core_externals *x;
	struct core_context *c;
	struct cap_thread *t;
	kymo_status_t status = prepare(context, &c, &t, &x);

	if (cap_unlikely(status != KYMO_OK))
		return status;
	own_begin(x);
	status = pop(t, x, c, (uint32_t)(context.handle >> 32), value);
	own_end(x);
	return status;
}

uint32_t kymo_thread_index(void)
{
	struct cap_thread *t = core_init() ? cap_thread_attach() : NULL;

	return t ? t->index : 0;
}

/* ---- another thread ---- */

struct request {
	struct core_context *context;
	uint32_t generation, thread;
	bool push;
	uint64_t *value;
	kymo_status_t status;
};

static void work_on(struct cap_thread *t, void *data) REQUIRES(core_live->threads)
{
	struct request *r = data;
	struct core_externals *x;

	if (t->index != r->thread)
		return;
	x = externals_get(t);
	r->status = KYMO_ERROR_NO_MEMORY;
	if (!x)
		return;
	foreign_begin(x);
	r->status = r->push ? push(t, x, r->context, r->generation, *r->value)
			    : pop(t, x, r->context, r->generation, r->value);
	foreign_end(x);
}

static kymo_status_t other(kymo_context_t context, uint32_t thread, bool push, uint64_t *value)
{
	struct request r = {
		core_context_of(context), (uint32_t)(context.handle >> 32), thread, push, value,
		KYMO_ERROR_NOT_FOUND};
	kymo_status_t status = core_changeable();

	if (status != KYMO_OK)
		return status;
	if (!r.context || !thread)
		return context.handle && thread ? KYMO_ERROR_NOT_FOUND
						: KYMO_ERROR_INVALID_ARGUMENT;
	core_threads_each(work_on, &r);
	return r.status;
}

kymo_status_t kymo_external_push_thread(kymo_context_t context, uint32_t thread, uint64_t value)
{
	return other(context, thread, true, &value);
}

kymo_status_t kymo_external_pop_thread(kymo_context_t context, uint32_t thread, uint64_t *value)
{
	return other(context, thread, false, value);
}
