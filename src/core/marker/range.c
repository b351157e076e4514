/* SPDX-License-Identifier: Apache-2.0 */
/* Marks and ranges of a thread: the path of an annotation; see marker.h. */
#include "core/marker/range.h"
#include "core/marker/hide.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/locks.h"

_Thread_local struct marker_thread *marker_current __attribute__((tls_model("initial-exec")));
_Thread_local uint32_t marker_missed __attribute__((tls_model("initial-exec")));
_Atomic int64_t marker_next_scope = 1;
static struct marker_thread *threads GUARDED_BY(core_live->threads); /* under `threads` */

/* ---- threads ---- */

enum { SLAB = 16 };

static struct marker_thread *spare GUARDED_BY(core_live->threads);

/* Of malloc() only where there is nothing else: a handler may have interrupted the thread in it. NULL: no memory. */
static struct marker_thread *new_thread(void) REQUIRES(core_live->threads)
{
	struct marker_thread *m = spare;

	if (!m) {
		m = mmap(NULL, SLAB * sizeof(*m), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (m == MAP_FAILED) /* the program has given mmap() up */
			return calloc(1, sizeof(*m));
		for (unsigned i = 0; i + 1 < SLAB; i++)
			m[i].next = &m[i + 1];
	}
	spare = m->next;
	return m;
}

/* As new, for the next one. What ranges had is freed. */
static void keep_thread(struct marker_thread *m) REQUIRES(core_live->threads)
{
	memset(m, 0, offsetof(struct marker_thread, stack));
	m->next = spare;
	spare = m;
}

/* Caller has blocked signals: a handler's first mark would wait for what its own thread does here. */
static void add(struct cap_thread *t)
{
	struct marker_thread *m;

	pthread_mutex_lock(&core_live->threads);
	m = new_thread();
	if (m) {
		m->owner = t;
		m->generation = atomic_load(&marker_generation);
		m->next = threads;
		m->link = &threads;
		if (threads)
			threads->link = &m->next;
		threads = m;
	}
	pthread_mutex_unlock(&core_live->threads);
	marker_current = m;
}

struct marker_thread *marker_thread_add(struct cap_thread *t)
{
	int saved = errno;
	uint64_t before;

	core_signals_block(&before);
	if (!marker_current) /* a handler may have been quicker */
		add(t);
	core_signals_restore(&before);
	errno = saved;
	return marker_current;
}

void marker_thread_forget(struct cap_thread *t, struct marker_thread *m)
{
	uint32_t depth = atomic_exchange(&m->depth, 0);

	m->generation = atomic_load(&marker_generation);
	for (uint32_t i = 0; i < depth; i++)
		if (m->stack[i].callbacks)
			core_subscribers_release(m->stack[i].callbacks);
	m->deeper = m->inherited = 0;
	t->scope = 0;
}

int64_t marker_new_scope(void)
{
	struct marker_thread *m;

	return marker_listening(0) && marker_thread_get(&m) ? marker_scope_next(m) : 0;
}

/* ---- marks and ranges ---- */

static __attribute__((noinline)) void write_full(struct cap_thread *t, const struct range *r,
						 uint64_t end, enum marker_how how)
{
	struct cap_frame f;
	struct wire_enc e;

	if (!marker_record_begin(t, &f, &e, &marker_ops[MARKER_OP_RANGE], marker_told_id(r),
				 r->start, end, r->parent, MARKER_FIELDS))
		return;
	marker_put_fields(&e, r, how);
	marker_record_commit(t, &f, &e);
}

static inline __attribute__((always_inline)) void
write_range(struct cap_thread *t, const struct range *r, uint64_t end, enum marker_how how)
{
	if (cap_unlikely(!marker_write_plain(t, &marker_ops[MARKER_OP_RANGE], r, end, how)) &&
	    !marker_count(t, &marker_ops[MARKER_OP_RANGE], r, end, how))
		write_full(t, r, end, how);
}

void marker_mark(const kymo_marker_t *k)
{
	struct range r = {0};
	struct marker_thread *m;
	struct cap_thread *t;
	struct cap_frame f;
	struct wire_enc e;

	if (!marker_listening(1) || marker_hides(k) || !(t = marker_thread_get(&m)) ||
	    !marker_set(m, &r, k))
		return;
	r.start = tick_now();
	r.parent = t->scope;
	callbacks_begin(t, &r, &marker_ops[MARKER_OP_MARK]);
	if (!marker_write_plain(t, &marker_ops[MARKER_OP_MARK], &r, r.start, MARKER_ENDED) &&
	    !marker_count(t, &marker_ops[MARKER_OP_MARK], &r, r.start, MARKER_ENDED) &&
	    marker_record_begin(t, &f, &e, &marker_ops[MARKER_OP_MARK], marker_told_id(&r), r.start,
				r.start, t->scope, MARKER_FIELDS)) {
		marker_put_fields(&e, &r, MARKER_ENDED);
		marker_record_commit(t, &f, &e);
	}
	if (r.callbacks)
		core_subscribers_release(r.callbacks);
	marker_extra_free(r.extra);
}

/* The next place on the stack, NULL when there is none. */
static inline struct range *next_place(struct marker_thread *m)
{
	uint32_t depth = atomic_load_explicit(&m->depth, memory_order_relaxed);
	struct range *r = &m->stack[depth];

	if (cap_unlikely(depth == KYMO_RANGE_DEPTH)) {
		m->deeper++;
		marker_fault(FAULT_DEEP);
		return NULL;
	}
	r->has_extra = 0;
	return r;
}

static inline __attribute__((always_inline)) int enter(struct cap_thread *t,
						       struct marker_thread *m, struct range *r)
{
	uint32_t depth = atomic_load_explicit(&m->depth, memory_order_relaxed);

	r->parent = t->scope;
	t->scope = r->scope = marker_scope_next(m);
	r->start = tick_now();
	atomic_store_explicit(&m->depth, depth + 1, memory_order_release);
	callbacks_begin(t, r, &marker_ops[MARKER_OP_RANGE]);
	return (int)depth;
}

/* What is said of a range that is not followed (marker_add()) is not said of the one around it. */
#define NOWHERE UINT32_MAX
static _Thread_local uint32_t hidden_at __attribute__((tls_model("initial-exec"))) = NOWHERE;

static int push_hidden(void)
{
	struct marker_thread *m;

	if (marker_thread_get(&m))
		hidden_at = atomic_load_explicit(&m->depth, memory_order_relaxed);
	return KYMO_MARKER_OFF;
}

int marker_push(const char *name)
{
	struct marker_thread *m;
	struct cap_thread *t;
	struct range *r;

	if (!marker_listening(1))
		return marker_push_off();
	if (marker_hides(NULL))
		return push_hidden();
	t = marker_thread_get(&m);
	if (!t)
		return KYMO_MARKER_OFF;
	r = next_place(m);
	if (cap_unlikely(!r))
		return KYMO_MARKER_UNBALANCED;
	r->domain = r->category = r->color = 0;
	marker_set_name(m, r, name);
	return enter(t, m, r);
}

int marker_push_string(kymo_string_t *name)
{
	struct marker_thread *m;
	struct cap_thread *t;
	struct range *r;

	if (!marker_listening(1))
		return marker_push_off();
	if (marker_hides(NULL))
		return push_hidden();
	t = marker_thread_get(&m);
	if (!t)
		return KYMO_MARKER_OFF;
	r = next_place(m);
	if (cap_unlikely(!r))
		return KYMO_MARKER_UNBALANCED;
	r->domain = r->category = r->color = 0;
	r->name = marker_string_id(name);
	if (cap_unlikely(!r->name)) {
		if (name && name->text)
			marker_keep_text(r, name->text);
		else
			marker_fault(FAULT_NULL);
	}
	return enter(t, m, r);
}

int marker_push_full(const kymo_marker_t *k)
{
	struct marker_thread *m;
	struct cap_thread *t;
	struct range *r;

	if (!marker_listening(1))
		return marker_push_off();
	if (marker_hides(k))
		return push_hidden();
	t = marker_thread_get(&m);
	if (!t)
		return KYMO_MARKER_OFF;
	r = next_place(m);
	if (!r)
		return KYMO_MARKER_UNBALANCED;
	r->name = r->domain = r->category = r->color = 0;
	if (cap_likely(k && k->size >= sizeof(*k) && k->name && !k->string && !k->category &&
		       !k->payload)) {
		marker_set_name(m, r, k->name);
		r->domain = marker_string_id(k->domain);
		r->color = k->color;
	} else {
		marker_set(m, r, k); /* pushed even if it says nothing: its pop will come */
	}
	return enter(t, m, r);
}

/* A pop that closes nothing, because of what is said of it. */
static int pop_nothing(struct marker_thread *m)
{
	if (marker_missed) {
		marker_missed--;
		return KYMO_MARKER_OFF;
	}
	if (m->inherited) {
		m->inherited--;
		return KYMO_MARKER_OFF;
	}
	marker_fault(FAULT_UNBALANCED);
	return KYMO_MARKER_UNBALANCED;
}

/* Takes the range at `at` out from among those inside it, to the place above the top. */
static struct range *take_out(struct marker_thread *m, uint32_t at, uint32_t depth)
{
	struct range taken = m->stack[at];

	for (uint32_t i = at; i + 1 < depth; i++)
		m->stack[i] = m->stack[i + 1];
	m->stack[depth - 1] = taken; /* its extra is used again */
	return &m->stack[depth - 1];
}

static inline __attribute__((always_inline)) int close_at(struct cap_thread *t,
							  struct marker_thread *m, uint32_t at)
{
	uint32_t depth = atomic_load_explicit(&m->depth, memory_order_relaxed);
	uint64_t end = tick_now();
	struct range *r = cap_likely(at + 1 == depth) ? &m->stack[at] : take_out(m, at, depth);

	atomic_store_explicit(&m->depth, depth - 1, memory_order_release);
	t->scope = depth > 1 ? m->stack[depth - 2].scope : 0;
	write_range(t, r, end, MARKER_ENDED);
	if (cap_unlikely(r->callbacks != NULL))
		callbacks_end(r, &marker_ops[MARKER_OP_RANGE]);
	if (cap_unlikely(cap_wants(CAP_ACTIVITY_SCOPE)))
		marker_write_scope(r, end);
	return (int)at;
}

int marker_pop(uint32_t domain)
{
	struct marker_thread *m;
	struct cap_thread *t;
	uint32_t at;

	if (!marker_listening(0)) {
		marker_missed -= marker_missed != 0;
		return KYMO_MARKER_OFF;
	}
	if (marker_hides_id(domain)) {
		hidden_at = NOWHERE;
		return KYMO_MARKER_OFF;
	}
	t = marker_thread_get(&m);
	if (!t)
		return KYMO_MARKER_OFF;
	if (cap_unlikely(m->deeper)) {
		m->deeper--;
		return KYMO_MARKER_UNBALANCED;
	}
	at = atomic_load_explicit(&m->depth, memory_order_relaxed);
	while (at && cap_unlikely(m->stack[at - 1].domain != domain))
		at--;
	if (cap_unlikely(!at))
		return pop_nothing(m);
	return close_at(t, m, at - 1);
}

void marker_add(const kymo_payload_t *payload, uint32_t count)
{
	struct marker_thread *m;
	struct cap_thread *t;
	struct range_extra *x;
	uint32_t depth;
	int saved = errno;

	if (!marker_listening(0) || !(t = marker_thread_get(&m)))
		return;
	depth = atomic_load_explicit(&m->depth, memory_order_relaxed);
	if (depth == hidden_at)
		return;
	if (!payload || !count || !depth || m->deeper) {
		if (!m->deeper)
			marker_fault(payload && count ? FAULT_UNBALANCED : FAULT_NULL);
		return;
	}
	x = marker_extra(&m->stack[depth - 1]);
	if (x)
		x->payload = (uint16_t)marker_payload_put(x->data, x->payload, payload, count);
	errno = saved;
}

kymo_status_t kymo_scope_push(int64_t *scope)
{
	struct marker_thread *m;
	struct cap_thread *t;
	struct range *r;

	if (!scope)
		return KYMO_ERROR_INVALID_ARGUMENT;
	marker_begin(0);
	if (!core_init() || !(t = marker_thread_any(&m)))
		return KYMO_ERROR_STATE;
	r = next_place(m);
	if (!r)
		return KYMO_ERROR_LIMIT;
	r->name = r->domain = r->category = r->color = 0;
	enter(t, m, r);
	*scope = r->scope;
	return KYMO_OK;
}

kymo_status_t kymo_scope_pop(void)
{
	struct marker_thread *m;
	struct cap_thread *t = core_init() ? marker_thread_any(&m) : NULL;
	uint32_t depth = t ? atomic_load_explicit(&m->depth, memory_order_relaxed) : 0;

	if (!depth)
		return KYMO_ERROR_STATE;
	if (m->deeper)
		m->deeper--;
	else
		close_at(t, m, depth - 1);
	return KYMO_OK;
}

/* ---- ends ---- */

static void leave_open(struct cap_thread *t, struct marker_thread *m)
{
	uint32_t depth = atomic_load(&m->depth);
	uint64_t end = tick_now();

	while (depth) {
		struct range *r = &m->stack[--depth];

		write_range(t, r, end, MARKER_LEFT_OPEN);
		if (r->callbacks)
			callbacks_end(r, &marker_ops[MARKER_OP_RANGE]);
		if (cap_wants(CAP_ACTIVITY_SCOPE))
			marker_write_scope(r, end);
		atomic_store(&m->depth, depth);
		m->inherited++;
	}
	t->scope = 0;
}

void core_marker_thread_end(struct cap_thread *t)
{
	struct marker_thread *m = marker_current;

	if (!m)
		return;
	leave_open(t, m);
	for (uint32_t i = 0; i < KYMO_RANGE_DEPTH; i++) {
		if (!m->stack[i].extra)
			continue;
		marker_extra_free(m->stack[i].extra);
		m->stack[i].extra = NULL;
	}
	pthread_mutex_lock(&core_live->threads);
	*m->link = m->next;
	if (m->next)
		m->next->link = m->link;
	keep_thread(m);
	pthread_mutex_unlock(&core_live->threads);
	marker_current = NULL;
}

/*
 * Ranges of other threads, which may still push and pop: what is read of one is copied first, and
 * only what cannot move is looked at. Such a range is told by the thread that ends the process.
 */
static uint32_t copy_open(struct range *out, uint32_t room)
{
	uint32_t n = 0;

	pthread_mutex_lock(&core_live->threads);
	for (struct marker_thread *m = threads; m; m = m->next) {
		uint32_t depth = m == marker_current ? 0 : atomic_load(&m->depth);

		for (uint32_t i = 0; i < depth && n < room; i++) {
			out[n] = m->stack[i];
			out[n].has_extra = 0;
			out[n++].thread = m->owner->index;
		}
	}
	pthread_mutex_unlock(&core_live->threads);
	return n + process_ranges_take(out + n, room - n);
}

void core_marker_finalize(void)
{
	enum { ROOM = 1024 };
	struct cap_thread *t = cap_thread_current;
	struct range *open;
	uint64_t end;
	uint32_t n;

	if (atomic_load(&marker_state) == MARKER_UNKNOWN)
		return;
	if (!t || t->magic != CAP_THREAD_MAGIC)
		t = cap_thread_attach();
	open = calloc(ROOM, sizeof(*open));
	n = t && open ? copy_open(open, ROOM) : 0;
	end = tick_now();
	for (uint32_t i = 0; i < n; i++)
		process_range_write(t, &open[i], end, MARKER_LEFT_OPEN);
	free(open);
	if (t && marker_current)
		leave_open(t, marker_current);
	marker_faults_note();
}

void marker_ranges_fork_child(void) UNCHECKED_LOCKS
{
	threads = NULL;
	process_ranges_fork_child();
	marker_faults_fork_child();
	if (!marker_current)
		return;
	/* Only the thread that forked lives on; its state joins the list anew. */
	marker_current->inherited += atomic_load(&marker_current->depth) + marker_current->deeper;
	marker_current->deeper = 0;
	atomic_store(&marker_current->depth, 0);
	marker_current->next_scope = marker_current->scope_limit = 0;
	marker_current->next = NULL;
	marker_current->link = &threads;
	threads = marker_current;
}
