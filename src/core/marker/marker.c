/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges, marks and pauses; see marker.h. */
#include "core/context/context.h"
#include "core/marker/marker.h"
#include "core/process/process.h"
#include "core/ring/ring.h"
#include "core/tool/tool.h"
#include "core/work/activity.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define CACHE 64u /* names of a thread, by address */

/* What few ranges have: kept with its place on the stack, used again by the next one. */
struct extra {
	uint16_t text;    /* bytes of the name, which has no number */
	uint16_t payload; /* bytes */
	uint64_t id;      /* for callbacks, as their words */
	uint64_t *words;
	uint32_t word_count;
	char name[KYMO_STRING_MAX];
	uint8_t data[MARKER_PAYLOAD_MAX];
};

/* An open range. One cache line. */
struct range {
	uint64_t start;
	int64_t scope;
	int64_t parent;
	uint32_t name, domain, category, color;
	const struct core_plan *callbacks; /* who saw it begin; kept */
	struct extra *extra; /* or NULL; valid for this range while `has_extra` */
	uint32_t has_extra;
	uint32_t thread;     /* of process ranges: who started it */
};

/* A thread's ranges. Others look at them only when the process ends. */
struct marker_thread {
	struct marker_thread *next, **link; /* of all threads, under `threads` */
	struct cap_thread *owner;
	_Atomic uint32_t depth;
	uint32_t generation; /* of who listened when the ranges were pushed */
	uint32_t deeper;    /* pushed beyond the limit */
	uint32_t inherited; /* pushed before a fork, or ended by the end of the process */
	int64_t next_scope, scope_limit;
	struct {
		const char *address;
		const struct marker_name *name;
	} cache[CACHE];
	struct range stack[KYMO_RANGE_DEPTH];
};

static _Thread_local struct marker_thread *current __attribute__((tls_model("initial-exec")));
static struct marker_thread *threads; /* under `threads` */
static _Atomic int64_t next_scope_block = 1;

#define SCOPE_BLOCK 65536

/* ---- threads ---- */

static struct marker_thread *thread_add(struct cap_thread *t)
{
	int saved = errno;
	struct marker_thread *m = calloc(1, sizeof(*m));

	errno = saved;
	if (!m)
		return NULL;
	m->owner = t;
	m->generation = atomic_load(&marker_generation);
	pthread_mutex_lock(&core_live->threads);
	m->next = threads;
	m->link = &threads;
	if (threads)
		threads->link = &m->next;
	threads = m;
	pthread_mutex_unlock(&core_live->threads);
	return current = m;
}

/* Pushes and pops went unheard meanwhile: nothing is known to be open. */
static void forget(struct cap_thread *t, struct marker_thread *m)
{
	uint32_t depth = atomic_exchange(&m->depth, 0);

	m->generation = atomic_load(&marker_generation);
	for (uint32_t i = 0; i < depth; i++)
		if (m->stack[i].callbacks)
			core_plan_let_go(m->stack[i].callbacks);
	m->deeper = m->inherited = 0;
	t->scope = 0;
}

static inline struct cap_thread *thread_any(struct marker_thread **m)
{
	struct cap_thread *t = cap_thread_current;

	if (cap_unlikely(!t || t->magic != CAP_THREAD_MAGIC)) {
		t = cap_thread_attach();
		if (!t)
			return core_lost_without_thread(), NULL;
	}
	*m = current;
	if (cap_unlikely(!*m)) {
		*m = thread_add(t);
		if (!*m)
			return core_lost_without_thread(), NULL;
	}
	if (cap_unlikely((*m)->generation !=
			 atomic_load_explicit(&marker_generation, memory_order_relaxed)))
		forget(t, *m);
	return t;
}

/* State of the thread; NULL inside Kymo or a tool: their annotations are not the program's. */
static inline struct cap_thread *thread_get(struct marker_thread **m)
{
	struct cap_thread *t = thread_any(m);

	return t && cap_likely(!t->guard) ? t : NULL;
}

static inline bool heard(void)
{
	uint32_t state = atomic_load_explicit(&marker_state, memory_order_relaxed);

	return cap_likely(state == MARKER_LISTENING) ||
	       (state == MARKER_UNKNOWN && marker_begin());
}

static inline int64_t new_scope(struct marker_thread *m)
{
	if (cap_unlikely(m->next_scope == m->scope_limit)) {
		m->next_scope = atomic_fetch_add(&next_scope_block, SCOPE_BLOCK);
		m->scope_limit = m->next_scope + SCOPE_BLOCK;
	}
	return m->next_scope++;
}

int64_t marker_new_scope(void)
{
	struct marker_thread *m;

	return heard() && thread_get(&m) ? new_scope(m) : 0;
}

/* ---- names ---- */

static inline unsigned cache_slot(const char *address)
{
	return (unsigned)(((uintptr_t)address * 0x9e3779b97f4a7c15ull) >> 58) % CACHE;
}

/* Texts at one address mostly stay the same, but need not. */
static inline const struct marker_name *name_of(struct marker_thread *m, const char *text)
{
	unsigned i = cache_slot(text);
	const struct marker_name *x;

	if (cap_likely(m->cache[i].address == text && strcmp(m->cache[i].name->text, text) == 0))
		return m->cache[i].name;
	x = marker_name(text);
	if (x) {
		m->cache[i].address = text;
		m->cache[i].name = x;
	}
	return x;
}

static struct extra *extra_of(struct range *r)
{
	if (!r->extra)
		r->extra = calloc(1, sizeof(*r->extra));
	if (r->extra && !r->has_extra) {
		r->has_extra = 1;
		r->extra->text = r->extra->payload = 0;
	}
	return r->extra;
}

static void keep_text(struct range *r, const char *text)
{
	struct extra *x = extra_of(r);

	if (!x)
		return;
	x->text = (uint16_t)strnlen(text, sizeof(x->name));
	memcpy(x->name, text, x->text);
}

static inline void set_name(struct marker_thread *m, struct range *r, const char *text)
{
	const struct marker_name *x;

	r->name = 0;
	if (cap_unlikely(!text)) {
		marker_fault(FAULT_NULL);
		return;
	}
	x = name_of(m, text);
	if (cap_likely(x != NULL))
		r->name = x->id;
	else
		keep_text(r, text);
}

/* The rest of a marker given in full. False: not one of this version or later. */
static bool set_marker(struct marker_thread *m, struct range *r, const kymo_marker_t *k)
{
	struct extra *x;
	int saved = errno;

	if (!k || k->size < sizeof(*k)) {
		marker_fault(FAULT_NULL);
		return false;
	}
	if (k->string)
		r->name = marker_string_id(k->string);
	else
		set_name(m, r, k->name);
	if (k->string && !r->name && k->string->text)
		keep_text(r, k->string->text);
	r->domain = marker_string_id(k->domain);
	r->category = marker_string_id(k->category);
	r->color = k->color;
	x = k->payload && k->payload_count ? extra_of(r) : NULL;
	if (x)
		x->payload = (uint16_t)marker_payload_put(x->data, 0, k->payload,
							  k->payload_count);
	errno = saved;
	return true;
}

/* ---- callbacks ---- */

static inline uint64_t take_id(struct cap_thread *t)
{
	if (cap_unlikely(t->next_id == t->id_limit))
		cap_ids_refill(t);
	return t->next_id++;
}

/* By which callbacks were told of it; 0: none was, so that it gets one with its record. */
static inline uint64_t id_told(const struct range *r)
{
	return cap_unlikely(r->callbacks && r->has_extra) ? r->extra->id : 0;
}

static uint64_t *words_of(struct extra *x, uint32_t count)
{
	uint64_t *more;

	if (x->word_count < count) {
		more = realloc(x->words, count * sizeof(*more));
		if (!more)
			return NULL;
		x->words = more;
		x->word_count = count;
	}
	return x->words;
}

static void extra_free(struct extra *x)
{
	if (x)
		free(x->words);
	free(x);
}

static void tell(struct range *r, struct cap_op *op, enum cap_phase phase)
{
	struct cap_frame f = {.scope = r->parent, .callbacks = r->callbacks, .op = op,
			      .parent = cap_current_id()};
	struct cap_thread *t = cap_thread_current;
	struct extra *x = extra_of(r);
	char name[KYMO_STRING_MAX + 1];
	kymo_marker_args_t args = {
		.size = sizeof(args), .name = marker_string_text(r->name),
		.domain = marker_string_text(r->domain),
		.category = marker_string_text(r->category), .color = r->color, .scope = r->scope,
	};

	if (!x)
		return;
	if (phase == CAP_ENTER)
		x->id = take_id(t);
	f.id = x->id;
	if (x->text) {
		memcpy(name, x->name, x->text);
		name[x->text] = '\0';
		args.name = name;
	}
	if (words_of(x, r->callbacks->count))
		core_callbacks(&f, &args, phase, x->words, NULL, NULL);
}

static inline void tell_begin(struct cap_thread *t, struct range *r, struct cap_op *op)
{
	r->callbacks = NULL;
	if (cap_likely(!atomic_load_explicit(&op->callbacks, memory_order_relaxed)))
		return;
	cap_busy(t);
	r->callbacks = atomic_load_explicit(&op->callbacks, memory_order_acquire);
	if (r->callbacks)
		core_plan_keep(r->callbacks);
	cap_idle(t);
	if (!r->callbacks)
		return;
	tell(r, op, CAP_ENTER);
}

static void told(struct range *r, struct cap_op *op)
{
	tell(r, op, CAP_EXIT);
	core_plan_let_go(r->callbacks);
	r->callbacks = NULL;
}

/* Tools that want scopes whatever annotation interface they come from. */
static __attribute__((noinline, cold)) void tell_scope(const struct range *r, uint64_t end)
{
	const char *text = r->has_extra && r->extra->text ? r->extra->name
							   : marker_string_text(r->name);
	struct cap_frame f;
	struct wire_enc e;

	if (!cap_activity_begin(&f, &e, &core_scope_ops[0], NULL, r->start, end, SCOPE_FIELDS))
		return;
	wire_unsigned(&e, SCOPE_ID, (uint64_t)r->scope);
	wire_unsigned(&e, SCOPE_PARENT, (uint64_t)r->parent);
	wire_array(&e, SCOPE_NAME, text,
		   r->has_extra && r->extra->text ? r->extra->text : strlen(text), 1,
		   KYMO_STRING_MAX);
	text = marker_string_text(r->domain);
	wire_string(&e, SCOPE_DOMAIN, text, KYMO_STRING_MAX);
	cap_activity_commit(&f, &e);
}

/* ---- records ---- */

/*
 * `scope`: that of the record itself; `id`: 0 is a new one. As cap_activity_begin(), but all in one
 * piece: most of what an annotation costs is this.
 */
static inline __attribute__((always_inline)) bool begin(struct cap_thread *t, struct cap_frame *f,
							struct wire_enc *e, struct cap_op *op,
							uint64_t id, uint64_t start, uint64_t end,
							int64_t scope, unsigned fields)
{
	uint64_t buffers = atomic_load_explicit(&op->buffers, memory_order_relaxed);
	struct wire_ring *ring;
	struct wire_event v;

	if (cap_unlikely(!buffers))
		return false;
	cap_busy(t);
	buffers = atomic_load_explicit(&op->buffers, memory_order_acquire);
	atomic_store_explicit(&f->buffers, buffers, memory_order_relaxed);
	if (cap_likely(buffers && !(buffers & (buffers - 1))))
		ring = cap_ring(t, buffers);
	else
		ring = buffers ? core_ring_many(t, f, false) : NULL;
	if (cap_unlikely(!ring)) {
		cap_idle(t);
		return false;
	}
	memset(&v, 0, sizeof(v));
	f->id = v.id = cap_unlikely(id != 0) ? id : take_id(t);
	f->start = v.start = start;
	f->end = v.end = end;
	f->scope = v.scope = scope;
	v.external = atomic_load_explicit(&t->external[ring - t->rings], memory_order_relaxed);
	v.op = op->wire;
	f->op = op;
	atomic_store_explicit(&f->callbacks, NULL, memory_order_relaxed);
	f->origin = NULL;
	f->owns_origin = true; /* external ids are the thread's own */
	f->parent = 0;
	f->status = 0;
	f->has_status = false;
	f->site = f->stack = 0;
	wire_begin(e, ring, &v, fields);
	return true;
}

static inline __attribute__((always_inline)) void commit(struct cap_thread *t, struct cap_frame *f,
							 struct wire_enc *e)
{
	cap_activity_put(f, e);
	cap_idle(t);
}

static inline __attribute__((always_inline)) void put_fields(struct wire_enc *e,
							     const struct range *r,
							     enum marker_how how)
{
	const struct extra *x = r->extra;

	wire_unsigned(e, MARKER_SCOPE, (uint64_t)r->scope);
	wire_unsigned(e, MARKER_NAME, r->name);
	if (cap_unlikely(r->has_extra && x->text))
		wire_array(e, MARKER_TEXT, x->name, x->text, 1, KYMO_STRING_MAX);
	wire_unsigned(e, MARKER_DOMAIN, r->domain);
	wire_unsigned(e, MARKER_CATEGORY, r->category);
	wire_unsigned(e, MARKER_COLOR, r->color);
	if (cap_unlikely(r->has_extra && x->payload))
		wire_array(e, MARKER_PAYLOAD, x->data, x->payload, 1, MARKER_PAYLOAD_MAX);
	wire_unsigned(e, MARKER_HOW, how);
}

static inline void write_range(struct cap_thread *t, const struct range *r, uint64_t end,
			       enum marker_how how)
{
	struct cap_frame f;
	struct wire_enc e;

	if (!begin(t, &f, &e, &marker_ops[MARKER_OP_RANGE], id_told(r), r->start, end, r->parent,
		   MARKER_FIELDS))
		return;
	put_fields(&e, r, how);
	commit(t, &f, &e);
}

static void write_process_range(struct cap_thread *t, const struct range *r, uint64_t end,
				enum marker_how how)
{
	struct cap_frame f;
	struct wire_enc e;

	if (!begin(t, &f, &e, &marker_ops[MARKER_OP_PROCESS_RANGE], id_told(r), r->start, end,
		   r->parent, MARKER_PROCESS_FIELDS))
		return;
	put_fields(&e, r, how);
	wire_unsigned(&e, MARKER_PROCESS_THREAD, r->thread);
	commit(t, &f, &e);
}

void marker_mark(const kymo_marker_t *k)
{
	struct range r = {0};
	struct marker_thread *m;
	struct cap_thread *t;
	struct cap_frame f;
	struct wire_enc e;

	if (!heard() || !(t = thread_get(&m)) || !set_marker(m, &r, k))
		return;
	r.start = tick_now();
	r.parent = t->scope;
	tell_begin(t, &r, &marker_ops[MARKER_OP_MARK]);
	if (begin(t, &f, &e, &marker_ops[MARKER_OP_MARK], id_told(&r), r.start, r.start, t->scope,
		  MARKER_FIELDS)) {
		put_fields(&e, &r, MARKER_ENDED);
		commit(t, &f, &e);
	}
	if (r.callbacks)
		core_plan_let_go(r.callbacks);
	extra_free(r.extra);
}

/* ---- ranges of a thread ---- */

/* The next place on the stack, NULL when there is none. */
static inline struct range *place(struct marker_thread *m)
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

static inline int enter(struct cap_thread *t, struct marker_thread *m, struct range *r)
{
	uint32_t depth = atomic_load_explicit(&m->depth, memory_order_relaxed);

	r->parent = t->scope;
	t->scope = r->scope = new_scope(m);
	r->start = tick_now();
	atomic_store_explicit(&m->depth, depth + 1, memory_order_release);
	tell_begin(t, r, &marker_ops[MARKER_OP_RANGE]);
	return (int)depth;
}

int marker_push(const char *name)
{
	struct marker_thread *m;
	struct cap_thread *t;
	struct range *r;

	if (!heard() || !(t = thread_get(&m)))
		return KYMO_MARKER_OFF;
	r = place(m);
	if (cap_unlikely(!r))
		return KYMO_MARKER_UNBALANCED;
	r->domain = r->category = r->color = 0;
	set_name(m, r, name);
	return enter(t, m, r);
}

int marker_push_string(kymo_string_t *name)
{
	struct marker_thread *m;
	struct cap_thread *t;
	struct range *r;

	if (!heard() || !(t = thread_get(&m)))
		return KYMO_MARKER_OFF;
	r = place(m);
	if (cap_unlikely(!r))
		return KYMO_MARKER_UNBALANCED;
	r->domain = r->category = r->color = 0;
	r->name = marker_string_id(name);
	if (cap_unlikely(!r->name)) {
		if (name && name->text)
			keep_text(r, name->text);
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

	if (!heard() || !(t = thread_get(&m)))
		return KYMO_MARKER_OFF;
	r = place(m);
	if (!r)
		return KYMO_MARKER_UNBALANCED;
	r->name = r->domain = r->category = r->color = 0;
	set_marker(m, r, k); /* pushed even if it says nothing: its pop will come */
	return enter(t, m, r);
}

/* A pop that closes nothing, because of what is said of it. */
static int pop_nothing(struct marker_thread *m)
{
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

static int close_at(struct cap_thread *t, struct marker_thread *m, uint32_t at)
{
	uint32_t depth = atomic_load_explicit(&m->depth, memory_order_relaxed);
	uint64_t end = tick_now();
	struct range *r = cap_likely(at + 1 == depth) ? &m->stack[at] : take_out(m, at, depth);

	atomic_store_explicit(&m->depth, depth - 1, memory_order_release);
	t->scope = depth > 1 ? m->stack[depth - 2].scope : 0;
	write_range(t, r, end, MARKER_ENDED);
	if (cap_unlikely(r->callbacks != NULL))
		told(r, &marker_ops[MARKER_OP_RANGE]);
	if (cap_unlikely(cap_wants(CAP_ACTIVITY_SCOPE)))
		tell_scope(r, end);
	return (int)at;
}

int marker_pop(uint32_t domain)
{
	struct marker_thread *m;
	struct cap_thread *t;
	uint32_t at;

	if (!heard() || !(t = thread_get(&m)))
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
	struct extra *x;
	uint32_t depth;
	int saved = errno;

	if (!heard() || !(t = thread_get(&m)))
		return;
	depth = atomic_load_explicit(&m->depth, memory_order_relaxed);
	if (!payload || !count || !depth || m->deeper) {
		if (!m->deeper)
			marker_fault(payload && count ? FAULT_UNBALANCED : FAULT_NULL);
		return;
	}
	x = extra_of(&m->stack[depth - 1]);
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
	marker_begin();
	if (!core_init() || !(t = thread_any(&m)))
		return KYMO_ERROR_STATE;
	r = place(m);
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
	struct cap_thread *t = core_init() ? thread_any(&m) : NULL;
	uint32_t depth = t ? atomic_load_explicit(&m->depth, memory_order_relaxed) : 0;

	if (!depth)
		return KYMO_ERROR_STATE;
	if (m->deeper)
		m->deeper--;
	else
		close_at(t, m, depth - 1);
	return KYMO_OK;
}

/* ---- process ranges ---- */

#define PROCESS_RANGES 65536u

struct place {
	struct range range;
	uint32_t generation; /* in the id: ids of closed ranges are recognised */
	uint32_t next_free;  /* index + 1 */
	bool open;
};

/* Under `threads`. Pieces never move: what an id names stays where it is. */
static struct place *pieces[PROCESS_RANGES / 256];
static uint32_t places_used, places_free;

static struct place *place_at(uint32_t i)
{
	return i < places_used ? &pieces[i / 256][i % 256] : NULL;
}

static struct place *place_take(uint32_t *index)
{
	struct place *p;

	if (places_free) {
		*index = places_free - 1;
		p = place_at(*index);
		places_free = p->next_free;
		return p;
	}
	if (places_used == PROCESS_RANGES)
		return NULL;
	if (!pieces[places_used / 256])
		pieces[places_used / 256] = calloc(256, sizeof(struct place));
	if (!pieces[places_used / 256])
		return NULL;
	*index = places_used++;
	return place_at(*index);
}

static uint64_t process_range_open(const struct range *r)
{
	struct place *p;
	uint32_t i = 0;
	uint64_t id = 0;

	pthread_mutex_lock(&core_live->threads);
	p = place_take(&i);
	if (p) {
		p->range = *r;
		p->open = true;
		p->generation++;
		id = (uint64_t)p->generation << 32 | (i + 1u);
	}
	pthread_mutex_unlock(&core_live->threads);
	return id;
}

uint64_t marker_start(const kymo_marker_t *k)
{
	struct range r = {0};
	struct marker_thread *m;
	struct cap_thread *t;
	int saved = errno;
	uint64_t id;

	if (!heard() || !(t = thread_get(&m)) || !set_marker(m, &r, k))
		return 0;
	r.parent = t->scope;
	r.scope = new_scope(m);
	r.thread = t->index;
	r.start = tick_now();
	tell_begin(t, &r, &marker_ops[MARKER_OP_PROCESS_RANGE]);
	id = process_range_open(&r);
	if (!id) {
		marker_fault(FAULT_MANY);
		if (r.callbacks)
			core_plan_let_go(r.callbacks);
		extra_free(r.extra);
	}
	errno = saved;
	return id;
}

static bool process_range_close(uint64_t id, struct range *out)
{
	uint32_t i = (uint32_t)id - 1;
	struct place *p;
	bool found;

	pthread_mutex_lock(&core_live->threads);
	p = place_at(i);
	found = p && p->open && p->generation == id >> 32;
	if (found) {
		*out = p->range;
		p->open = false;
		p->next_free = places_free;
		places_free = i + 1;
	}
	pthread_mutex_unlock(&core_live->threads);
	return found;
}

int marker_stop(uint64_t id)
{
	struct marker_thread *m;
	struct cap_thread *t;
	struct range r;
	uint64_t end;

	if (!heard() || !(t = thread_get(&m)))
		return KYMO_MARKER_OFF;
	if (!id)
		return KYMO_MARKER_OFF; /* started when nobody listened */
	if (!process_range_close(id, &r)) {
		marker_fault(FAULT_UNKNOWN);
		return KYMO_MARKER_UNBALANCED;
	}
	end = tick_now();
	write_process_range(t, &r, end, MARKER_ENDED);
	if (r.callbacks)
		told(&r, &marker_ops[MARKER_OP_PROCESS_RANGE]);
	if (cap_wants(CAP_ACTIVITY_SCOPE))
		tell_scope(&r, end);
	extra_free(r.extra);
	return 0;
}

/* ---- names of objects, pause and resume ---- */

void marker_name_object(kymo_object_t what, const char *runtime, uint64_t handle, const char *name)
{
	struct cap_thread *t;
	struct marker_thread *m;
	struct wire_def d;

	if (!name || what < KYMO_OBJECT_PROCESS || what > KYMO_OBJECT_QUEUE) {
		marker_fault(FAULT_NULL);
		return;
	}
	marker_begin(); /* kept for whoever comes, even if nobody listens now */
	if (!core_init() || !(t = thread_get(&m)))
		return;
	wire_def_init(&d, DEF_NAME);
	wire_def_u64(&d, (uint64_t)what);
	wire_def_bytes(&d, runtime ? runtime : "", runtime ? strnlen(runtime, 64) : 0);
	wire_def_u64(&d, what == KYMO_OBJECT_THREAD && !handle ? t->tid : handle);
	wire_def_bytes(&d, name, strnlen(name, KYMO_STRING_MAX));
	wire_def_u64(&d, tick_now());
	cap_define(&d);
}

static void write_control(struct cap_thread *t, struct cap_op *op, uint64_t id, bool all)
{
	uint64_t now = tick_now();
	struct cap_frame f;
	struct wire_enc e;

	if (!begin(t, &f, &e, op, id, now, now, t->scope, CONTROL_FIELDS))
		return;
	wire_unsigned(&e, CONTROL_ALL, all);
	commit(t, &f, &e);
}

/* Told first where recording goes on, last where it stops: the event itself is recorded. */
void marker_control(kymo_control_t what)
{
	bool all = what == KYMO_PAUSE_ALL || what == KYMO_RESUME_ALL;
	bool pause = what == KYMO_PAUSE_ALL || what == KYMO_PAUSE_THREAD;
	struct cap_op *op = &marker_ops[pause ? MARKER_OP_PAUSE : MARKER_OP_RESUME];
	kymo_marker_args_t args = {.size = sizeof(args), .name = "", .domain = "", .category = "",
				   .all = all};
	struct cap_frame f = {.op = op};
	struct marker_thread *m;
	struct cap_thread *t;

	if (what < KYMO_PAUSE_THREAD || what > KYMO_RESUME_ALL) {
		marker_fault(FAULT_NULL);
		return;
	}
	if (!heard() || !(t = thread_get(&m)))
		return;
	f.id = take_id(t);
	if (pause)
		write_control(t, op, f.id, all);
	f.scope = t->scope;
	f.parent = cap_current_id();
	cap_busy(t);
	atomic_store(&f.callbacks, atomic_load(&op->callbacks));
	if (atomic_load(&f.callbacks))
		core_callbacks(&f, &args, CAP_ENTER, NULL, NULL, NULL);
	cap_idle(t);
	if (!pause)
		write_control(t, op, f.id, all);
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
			told(r, &marker_ops[MARKER_OP_RANGE]);
		if (cap_wants(CAP_ACTIVITY_SCOPE))
			tell_scope(r, end);
		atomic_store(&m->depth, depth);
		m->inherited++;
	}
	t->scope = 0;
}

void core_marker_thread_end(struct cap_thread *t)
{
	struct marker_thread *m = current;

	if (!m)
		return;
	leave_open(t, m);
	pthread_mutex_lock(&core_live->threads);
	*m->link = m->next;
	if (m->next)
		m->next->link = m->link;
	pthread_mutex_unlock(&core_live->threads);
	for (uint32_t i = 0; i < KYMO_RANGE_DEPTH; i++)
		extra_free(m->stack[i].extra);
	free(m);
	current = NULL;
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
		uint32_t depth = m == current ? 0 : atomic_load(&m->depth);

		for (uint32_t i = 0; i < depth && n < room; i++) {
			out[n] = m->stack[i];
			out[n].has_extra = 0;
			out[n++].thread = m->owner->index;
		}
	}
	for (uint32_t i = 0; i < places_used && n < room; i++) {
		struct place *p = place_at(i);

		if (!p->open)
			continue;
		p->open = false;
		out[n++] = p->range;
	}
	pthread_mutex_unlock(&core_live->threads);
	return n;
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
		write_process_range(t, &open[i], end, MARKER_LEFT_OPEN);
	free(open);
	if (t && current)
		leave_open(t, current);
	marker_faults_note();
}

void marker_ranges_fork_child(void)
{
	threads = NULL;
	for (uint32_t i = 0; i < places_used; i++)
		place_at(i)->open = false;
	places_used = places_free = 0;
	marker_faults_fork_child();
	if (!current)
		return;
	/* Only the thread that forked lives on; its state joins the list anew. */
	current->inherited += atomic_load(&current->depth) + current->deeper;
	current->deeper = 0;
	atomic_store(&current->depth, 0);
	current->next_scope = current->scope_limit = 0;
	current->next = NULL;
	current->link = &threads;
	threads = current;
}
