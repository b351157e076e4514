/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a capture backend sees of core: operations, enter and exit, encoding, definitions. Generated
 * wrappers use the inline part; everything on the path of a traced call that is not inline here is
 * out of the ordinary (first use of a thread, full chunk, callbacks, several buffers).
 *
 * A wrapper:
 *
 *   struct cap_frame *f = cap_enter(&ops[OP], __builtin_return_address(0), NULL);
 *   if (!f)
 *           return next(...);                     // nobody wants it, or we are inside Kymo
 *   if (unlikely(f->callbacks))
 *           cap_callbacks(f, &args, CAP_ENTER);
 *   ret = next(...);
 *   cap_leave(f);                                  // stamps the end
 *   cap_status(f, ret, 0);
 *   if (unlikely(f->callbacks))
 *           cap_callbacks(f, &args, CAP_EXIT);
 *   if (likely(f->buffers)) {
 *           struct wire_enc e;
 *           if (cap_record(f, &e, FIELDS)) {
 *                   wire_pointer(&e, 0, kernel); ...
 *                   cap_commit(f, &e);
 *           }
 *   }
 *   cap_done(f);                                   // pops the frame
 *
 * Rules: errno is kept by the slow paths; no path here blocks except the stated block policy.
 * `f` is valid until cap_done().
 */
#ifndef CORE_CAPTURE_H
#define CORE_CAPTURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <kymo/schema.h>
#include <kymo/status.h>

#include "base/clock.h"
#include "base/packed.h"
#include "core/frame.h"
#include "wire/defs.h"
#include "wire/live.h"
#include "wire/shm.h"
#include "wire/wire.h"

/*
 * Where the stack of the caller ends: the same for all that it calls, whatever they need of the stack themselves, and
 * it takes no register, which a frame pointer does.
 */
#if defined(__has_builtin)
#if __has_builtin(__builtin_dwarf_cfa)
#define cap_sp() ((const void *)__builtin_dwarf_cfa())
#endif
#endif
#ifndef cap_sp
#define cap_sp() ((const void *)__builtin_frame_address(0))
#endif

#define cap_likely(x)   __builtin_expect(!!(x), 1)
#define cap_unlikely(x) __builtin_expect(!!(x), 0)

/* ---- operations --------------------------------------------------------------------------- */

struct core_subscribers; /* whom to call back; see core/context/subscribers.c */

/*
 * Makes a domain known before its runtime is met; `description` may be NULL when there is none after
 * all. For kymo_domains_known().
 */
typedef const kymo_domain_desc_t *cap_known_fn(void);
#define CAP_KNOWN_DOMAIN(name, description)                                                        \
	static const kymo_domain_desc_t *known_##name(void)                                        \
	{                                                                                          \
		return description;                                                                \
	}                                                                                          \
	static cap_known_fn *const known_entry_##name                                              \
		__attribute__((section("kymo_known"), used)) = known_##name

/* COUNTER_LATER(backend, function): tells names of the counters that come when its runtime starts. */
typedef bool counter_later_fn(const char *name);
#define COUNTER_LATER(backend, function)                                                           \
	static counter_later_fn *const later_entry_##backend                                       \
		__attribute__((section("kymo_later"), used)) = function

/*
 * What becomes of a call, in one word that the entry looks at. Nearly always it is a record in one buffer or a
 * count, and nothing else: then the word says all of it, and the call takes the straight path.
 */
enum cap_plan {
	CAP_PLAN_NOTHING = 0,  /* unless the backend itself needs the wrapper */
	CAP_PLAN_LEFT_OUT = 1, /* the same, but it is counted that the call is left out */
	CAP_PLAN_BUFFER = 63,  /* number of the one buffer */
	CAP_PLAN_LEVEL = 3,    /* of arguments in it, as in cap_args_of */
	CAP_PLAN_LEVEL_SHIFT = 8,
	CAP_PLAN_TALLY = 1 << 10, /* it is counted there */
	CAP_PLAN_LOOK =
		1 << 16, /* callbacks, several buffers, stacks ...: cap_enter_slow() looks */
	CAP_PLAN_STRAIGHT = 1 << 17, /* and ticks are the processor's counter */
	CAP_PLAN_UNWOUND = 1 << 18   /* of a frame: an exception or longjmp has left it */
};

/* Run-time state of one op. The arrays belong to the backend (static, zeroed), core writes them. */
struct cap_op {
	_Atomic uint32_t plan; /* written last; while the rest changes it is CAP_PLAN_LOOK */
	uint16_t wire;         /* op number on the wire */
	uint16_t number;       /* within the domain */
	const struct core_subscribers *_Atomic callbacks; /* NULL: nobody */
	_Atomic uint64_t buffers; /* bit n: a started context records this op into buffer n */
	_Atomic uint64_t
		excluded;      /* bit n: nor do messages that such calls start go into buffer n */
	_Atomic uint32_t keep; /* the backend itself needs the wrapper (object tracking) */
	uint16_t domain;       /* index of the domain */
	_Atomic uint8_t left_out; /* calls are counted where they are not recorded */
	uint8_t in_place; /* when its records were is what they are written with; no field says
			     another time */
	_Atomic uint64_t
		paused; /* bit n: a started context that is paused would record it into buffer n */
	/*
	 * Of activities and of calls, bit n: a context that is paused or was stopped would record it into buffer n. Work of
	 * calls that began before goes there, if the filters of stopped ones (NULL: none) want it.
	 */
	_Atomic uint64_t resting;
	const struct core_subscribers *_Atomic resting_filters;
};

/*
 * A slot through which a thunk jumps. Core stores `wrapper` while the op is wanted by a context
 * or kept, `next` otherwise. For tables that cannot be patched after they were handed out.
 */
struct cap_slot {
	void *_Atomic target;
	void *wrapper;
	void *next; /* NULL: the platform lacks the function; the slot is not used */
	uint16_t op;
};

struct cap_domain;

struct cap_answers;

struct cap_domain_info {
	/* One of the two: the description, or domain number `domain` of `packed`. */
	const kymo_domain_desc_t *desc;
	const struct packed *packed;
	uint32_t domain;
	struct cap_op *ops; /* as many as the description says */
	struct cap_slot *slots;
	uint32_t slot_count;
	/*
	 * Called without locks held after contexts changed what they want. `activities` says which
	 * activity domains (CAP_ACTIVITY_*) any context wants; the backend then decides which ops it
	 * must keep (cap_require_wrapper). May be NULL.
	 */
	void (*wanted)(uint32_t activities);
	/*
	 * Called when everything captured so far is to be delivered (drain, finalisation): collect
	 * device work that is complete; wait for the rest at most until the tick `deadline`.
	 */
	void (*flush)(uint64_t deadline);
	/* Device work is captured some time after it is complete: flush() at _exit() too, once. */
	bool late;
	/* A child after fork: forget device work and locks of the parent. */
	void (*fork_child)(void);
	/* It records in children that do nothing: they are brought in order when fork() returns. May be NULL. */
	bool (*follows)(void);
	/* Its threads end (true), and are made again: process/rest.h. May be NULL. */
	void (*rest)(bool rests);
	/*
	 * Encodes the argument structure that callbacks get, fields in order, as the record of the
	 * call would have them (`ok`: the call succeeded): how tools look at arguments by name. May
	 * be NULL.
	 */
	void (*encode)(const struct cap_domain_info *info, uint32_t op, const void *args, bool ok,
		       struct wire_enc *e);
	/* Answers for tools (core/tool/answer.h); may be NULL. */
	const struct cap_answers *answers;
};

enum {
	CAP_ACTIVITY_DISPATCH = 1,
	CAP_ACTIVITY_COPY = 2,
	CAP_ACTIVITY_ALLOCATION = 4,
	CAP_ACTIVITY_SYNC = 8,
	CAP_ACTIVITY_CODE_OBJECT = 16,
	CAP_ACTIVITY_SCOPE = 32,
	CAP_ACTIVITY_RETIREMENT = 64,
	CAP_ACTIVITY_OBJECTS = 128 /* kernel_symbol, stream, thread, runtime_init */
};

/*
 * Registers a domain; the first call initialises core in this process (finds tools, starts the
 * recorder). Thread-safe. `info` is borrowed for ever.
 */
kymo_status_t cap_domain_register(const struct cap_domain_info *info, struct cap_domain **out);
/*
 * A runtime is there of which nothing is traced: traces are made nevertheless, so that what was
 * noted of it is told.
 */
void cap_runtime_seen(void);

/*
 * First in every door, for a library's constructor may come through it before ours have run (load.c):
 * they have run now, and the recorder is there. cap_domain_register() does it as well.
 */
void cap_load(void);
/* False: a sandbox refuses futex(), and the C library ends the process at its first pthread_once(). Nothing begins. */
bool cap_futex_works(void);

/* Slots were added or their `next` changed (an extension was looked up): store their targets. */
void cap_slots_update(struct cap_domain *d);

/*
 * Calls that some thread is in and that have a frame, of all domains. A call of which the plan was changed before is told,
 * or has no frame, or one that is not straight. No lock may be taken inside.
 */
typedef void (*cap_open_call_fn)(const struct cap_op *op, void *data);
void cap_open_calls(cap_open_call_fn fn, void *data);

/* The backend needs (on) or no longer needs the wrapper of `op` whatever contexts want. */
void cap_require_wrapper(struct cap_domain *d, uint32_t op, bool on);

/* What any context wants of the activity domains, CAP_ACTIVITY_* bits. */
extern _Atomic uint32_t cap_activities;

static inline bool cap_wants(uint32_t activities)
{
	return (atomic_load_explicit(&cap_activities, memory_order_relaxed) & activities) != 0;
}

/* The same of contexts that are paused or were stopped, for the work of calls that began before. */
extern _Atomic uint32_t cap_activities_resting;

/* Asked inside a call: what it does is wanted by those who record now, or by those who did when it began. */
static inline bool cap_call_wants(uint32_t activities)
{
	return cap_likely(cap_wants(activities)) ||
	       (atomic_load_explicit(&cap_activities_resting, memory_order_relaxed) & activities);
}

/* A function ran that Kymo hands out untraced (unknown or later extension): counted and noted once. */
void cap_count_untraced(const char *part, const char *function);
/* The same for `calls` of them, counted elsewhere. `part` is kept, `function` copied. */
void cap_count_untraced_slow(const char *part, const char *function, uint64_t calls);

/* ---- threads and frames (frame.h) ---------------------------------------------------------- */

/* Slow: makes the thread's state (first traced call of a thread, or first after a fork). */
struct cap_thread *cap_thread_attach(void);

/* Slow parts of cap_enter. */
uint32_t cap_site_slow(struct cap_thread *t, uintptr_t address);
void cap_ids_refill(struct cap_thread *t);
void cap_ids_sample(struct cap_thread *t, struct cap_frame *f); /* the same where a call begins */
void cap_left_out_slow(const struct cap_op *op);
/* Both stack pointers are of the calling thread's own stack. */
bool cap_same_stack(const void *a, const void *b);
/* What `busy` is to be before it counts one more section, which begins inside another, unless a jump has left that. */
uint64_t cap_read_inside(struct cap_thread *t, const void *sp);
void cap_unwind(struct cap_thread *t, const void *sp); /* closes frames longjmp left behind */

/* Non-zero when somebody wants it: then no call takes the straight path. */
enum { CAP_SLOW_STACKS = 1, CAP_SLOW_RETIREMENT = 2 };
extern _Atomic uint32_t cap_slow_features;
void cap_retire(struct cap_frame *f);
bool cap_guard_left(struct cap_thread *t, const void *sp); /* a tool was left by longjmp */

static inline unsigned cap_site_slot(uintptr_t address)
{
	return (unsigned)((address * 0x9e3779b97f4a7c15ull) >> 56) % CAP_SITES;
}

static inline uint32_t cap_site(struct cap_thread *t, const void *caller)
{
	uintptr_t a = (uintptr_t)caller;
	unsigned h = cap_site_slot(a);

	if (cap_likely(t->sites[h].address == a))
		return t->sites[h].id;
	return cap_site_slow(t, a);
}

/* Open calls the drain can see after a crash: the entry first, then the depth that shows it. */
static inline void cap_shared_push(struct cap_thread *t, uint32_t depth, uint64_t id,
				   uint64_t start, uint32_t op, uint32_t site)
{
	struct shm_thread *s = atomic_load_explicit(&t->shared, memory_order_relaxed);
	struct wire_open *o;

	if (cap_unlikely(!s))
		return;
	if (cap_likely(depth < WIRE_OPEN_MAX)) {
		o = &s->open[depth];
		o->id = id;
		o->start = start;
		o->op = op;
		o->site = site;
	}
	atomic_store_explicit(&s->depth, depth + 1, memory_order_release);
}

static inline void cap_shared_pop(struct cap_thread *t, uint32_t depth)
{
	struct shm_thread *s = atomic_load_explicit(&t->shared, memory_order_relaxed);

	if (cap_likely(s != NULL))
		atomic_store_explicit(&s->depth, depth, memory_order_release);
}

/* One more record; a plain increment, made readable for other threads. */
static inline void cap_count_record(struct cap_thread *t)
{
	uint64_t n = atomic_load_explicit(&t->records, memory_order_relaxed);

	atomic_store_explicit(&t->records, n + 1, memory_order_relaxed);
}

/*
 * Around what uses subscribers and buffers. The other side (core_grace_period_over()) makes all threads pass a memory
 * barrier, so that plain stores are enough here: what is loaded inside is seen to be in use.
 */
static inline __attribute__((always_inline)) void cap_read_lock(struct cap_thread *t)
{
	uint64_t busy = atomic_load_explicit(&t->busy, memory_order_relaxed);

	if (cap_unlikely(busy & CAP_SECTIONS))
		busy = cap_read_inside(t, cap_sp());
	else
		busy = (uint64_t)(uintptr_t)cap_sp();
	atomic_store_explicit(&t->busy, busy + 1, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
}

static inline void cap_read_unlock(struct cap_thread *t)
{
	uint64_t busy = atomic_load_explicit(&t->busy, memory_order_relaxed);

	atomic_store_explicit(&t->busy, busy - 1, memory_order_release);
}

static inline bool cap_reads(const struct cap_thread *t)
{
	return (atomic_load_explicit(&t->busy, memory_order_acquire) & CAP_SECTIONS) != 0;
}

/* A call that is not recorded because the mode leaves it out. After a fork the array reads NULL. */
static inline void cap_left_out(const struct cap_op *op)
{
	struct cap_thread *t = cap_thread_current;
	struct wire_line *l = cap_likely(t && t->left_out) ? t->left_out[op->wire] : NULL;

	if (cap_likely(l && !t->guard))
		l->count.calls++;
	else
		cap_left_out_slow(op);
}

/* Whatever the plan is; see cap_enter_at(). */
struct cap_frame *cap_enter_slow(struct cap_op *op, const void *caller, const void *sp);

/* The frame around the place for a new one is a call that goes on, and there is room. */
static inline bool cap_nests(const struct cap_thread *t, uint32_t depth, const void *sp)
{
	return depth < CAP_FRAMES && (const char *)t->frames[depth - 1].sp > (const char *)sp;
}

/*
 * Enters a call. `caller` is its return address, `sp` is cap_sp() of a function that does not return before
 * cap_leave(). NULL: it cannot take the straight path, and nothing was done.
 *
 * The plan is looked at once more when the frame is there for others to see: who changes plans makes all threads pass a
 * memory barrier and looks at their frames then (core_grace_period_over()). So one of the two sees the other.
 */
static inline __attribute__((always_inline)) struct cap_frame *
cap_enter_straight(struct cap_op *op, const void *caller, const void *sp)
{
	uint32_t plan = atomic_load_explicit(&op->plan, memory_order_relaxed), depth, site;
	struct cap_thread *t = cap_thread_current;
	uint64_t id, start;
	struct cap_frame *f;

	if (cap_unlikely(!(plan & CAP_PLAN_STRAIGHT) || !t || t->gate != CAP_GATE_OPEN))
		return NULL;
	depth = atomic_load_explicit(&t->depth, memory_order_relaxed);
	if (cap_unlikely(depth != 0) && !cap_nests(t, depth, sp))
		return NULL;
	f = &t->frames[depth];
	__asm__("" : "+r"(f)); /* one register, not a sum made anew for each store */
	site = cap_site(t, caller);
	if (cap_unlikely(t->next_id >= t->id_limit))
		cap_ids_sample(t, f);
	id = cap_take_id(t);
	if (cap_unlikely(id >= t->id_limit))
		return NULL; /* a signal's handler has taken the last one meanwhile */
again:
	f->id = id;
	atomic_signal_fence(memory_order_seq_cst);
	f->parent = t->current;
	f->sp = sp;
	atomic_store_explicit(&f->op, op, memory_order_relaxed);
	f->caller = caller;
	f->site = site;
	f->stack = 0;
	f->status = 0;
	f->has_status = f->told = false;
	f->end = 0;
	f->scope = t->scope;
	f->plan = plan;
	atomic_store_explicit(&f->callbacks, NULL, memory_order_relaxed);
	atomic_store_explicit(&f->buffers, 1ull << (plan & CAP_PLAN_BUFFER), memory_order_relaxed);
	atomic_store_explicit(&t->depth, depth + 1, memory_order_release);
	atomic_signal_fence(memory_order_seq_cst);
	if (cap_unlikely(f->id != id))
		goto again; /* until now calls of a signal's handler had the same place */
	if (cap_unlikely(atomic_load_explicit(&op->plan, memory_order_acquire) != plan)) {
		f->retire = NULL; /* it was to be timed */
		atomic_store_explicit(&t->depth, depth, memory_order_release);
		return NULL;
	}
	t->current = id;
	start = tick_counter();
	f->start = start;
	cap_shared_push(t, depth, id, start, op->wire, site);
	return f;
}

/* Nobody wants the call; where that is counted, it was. */
static inline bool cap_passes(struct cap_op *op)
{
	uint32_t plan = atomic_load_explicit(&op->plan, memory_order_relaxed);

	if (plan > CAP_PLAN_LEFT_OUT || atomic_load_explicit(&op->keep, memory_order_relaxed))
		return false;
	if (plan == CAP_PLAN_LEFT_OUT)
		cap_left_out(op);
	return true;
}

/* The same for any call. NULL: not traced, call on. */
static inline __attribute__((always_inline)) struct cap_frame *
cap_enter_at(struct cap_op *op, const void *caller, const void *sp)
{
	struct cap_frame *f = cap_enter_straight(op, caller, sp);

	if (cap_likely(f != NULL))
		return f;
	return cap_passes(op) ? NULL : cap_enter_slow(op, caller, sp);
}

static inline __attribute__((always_inline)) struct cap_frame *cap_enter(struct cap_op *op,
									 const void *caller)
{
	return cap_enter_at(op, caller, cap_sp());
}

/*
 * It is a frame of this thread, which is still there: after a fork inside the call, of whatever kind, it reads zero in the
 * child, and where fibers move it may be another thread's.
 */
static inline bool cap_frame_lives(const struct cap_thread *t, const struct cap_frame *f)
{
	return (uintptr_t)f - (uintptr_t)t->frames < sizeof(t->frames) && f->id;
}

/* So that there is a thread when the call is recorded. */
void cap_leave_elsewhere(void);

/*
 * Stamps the end of the call; what the thread calls from here on is not inside it. The frame, and
 * the contexts it captured, stay in use until cap_done(). The thread is returned; NULL: the frame is not its.
 */
static inline __attribute__((always_inline)) struct cap_thread *
cap_leave_straight(struct cap_frame *f)
{
	struct cap_thread *t = cap_thread_current;

	f->end = tick_counter();
	if (cap_unlikely(!cap_frame_lives(t, f))) {
		cap_leave_elsewhere();
		return NULL;
	}
	t->current = f->parent;
	cap_shared_pop(t, (uint32_t)(f - t->frames));
	return t;
}

static inline __attribute__((always_inline)) void cap_leave(struct cap_frame *f)
{
	struct cap_thread *t = cap_thread_current;

	f->end = tick_now();
	if (cap_unlikely(!cap_frame_lives(t, f))) {
		cap_leave_elsewhere();
		return;
	}
	t->current = f->parent;
	cap_shared_pop(t, (uint32_t)(f - t->frames));
}

/* An exception leaves the call, which ends now: before cap_leave(). Calls inside of it are left as well. */
void cap_unwound(struct cap_frame *f);
/* Calls inside of `f`, which is of the calling thread and returns, were left: by longjmp, of which nobody is told. */
void cap_left_inside(struct cap_thread *t, const struct cap_frame *f);

/* Nothing more will be done about the call: pops the frame. */
static inline __attribute__((always_inline)) void cap_done(struct cap_frame *f)
{
	struct cap_thread *t = cap_thread_current;

	if (cap_unlikely(f->retire != NULL))
		cap_retire(f);
	if (cap_likely(cap_frame_lives(t, f)))
		atomic_store_explicit(&t->depth, (uint32_t)(f - t->frames), memory_order_release);
}

/* The same where cap_leave_straight() returned the thread. */
static inline __attribute__((always_inline)) void cap_done_straight(struct cap_thread *t,
								    struct cap_frame *f)
{
	if (cap_unlikely(f->retire != NULL))
		cap_retire(f);
	atomic_store_explicit(&t->depth, (uint32_t)(f - t->frames), memory_order_release);
}

static inline void cap_status(struct cap_frame *f, int32_t status, int32_t ok)
{
	f->status = status;
	f->has_status = status != ok;
}

enum cap_phase { CAP_ENTER = 1, CAP_EXIT = 2, CAP_NONE = 0 };

/* Calls the tools. `args` is the op's argument struct (generated, size first), or NULL. */
void cap_callbacks(struct cap_frame *f, void *args, enum cap_phase phase);

/* ---- records ------------------------------------------------------------------------------ */

/* Gets a ring with room for a record of this thread in the first of `buffers`; NULL: dropped. */
struct wire_ring *cap_ring_slow(struct cap_thread *t, uint64_t buffers);
/* Argument level of each buffer: 0 none, 1 scalars, 2 full. */
extern uint8_t cap_args_of[CAP_BUFFERS];
/* External id of the frame's record in a buffer, where tools are asked for it. */
uint64_t cap_external_asked(struct cap_thread *t, const struct cap_frame *f, unsigned buffer);

/* A ring without a chunk has neither. */
static inline bool cap_room(const struct wire_ring *r)
{
	return (uintptr_t)r->cur - 1 < (uintptr_t)r->limit;
}

static inline struct wire_ring *cap_ring(struct cap_thread *t, uint64_t buffers)
{
	struct wire_ring *r = &t->rings[__builtin_ctzll(buffers)];

	return cap_likely(cap_room(r)) ? r : cap_ring_slow(t, buffers);
}

/* Where there is no room, or where it is not the straight path; `e` may be anywhere. */
bool cap_record_slow(struct cap_frame *f, struct wire_enc *e, unsigned fields);

/*
 * Begins the record of a call that took the straight path. False: dropped (and counted). `fields` is the op's field count,
 * a constant. The caller then encodes all fields in order and calls cap_commit().
 * When cap_args(f) is 1, pass NULL for strings and arrays.
 */
static inline __attribute__((always_inline)) bool
cap_record_straight(struct cap_thread *t, struct cap_frame *f, struct wire_enc *e, unsigned fields)
{
	unsigned buffer = f->plan & CAP_PLAN_BUFFER;
	struct wire_ring *r = &t->rings[buffer];
	struct wire_event v;

	if (cap_unlikely(!cap_room(r))) {
		struct wire_enc begun; /* e itself stays in registers */

		if (!cap_record_slow(f, &begun, fields))
			return false;
		*e = begun;
		wire_shape(e, fields);
		return true;
	}
	v.id = f->id;
	v.parent = f->parent;
	v.start = f->start;
	v.end = f->end;
	v.external = atomic_load_explicit(&t->external[buffer], memory_order_relaxed);
	v.scope = f->scope;
	v.status = f->status;
	v.has_status = f->has_status;
	v.unwound = false;
	v.no_fields = false;
	v.op = atomic_load_explicit(&f->op, memory_order_relaxed)->wire;
	v.site = f->site;
	v.stack = 0;
	wire_begin(e, r, &v, fields);
	return true;
}

/* The same for any call. */
static inline __attribute__((always_inline)) bool cap_record(struct cap_frame *f,
							     struct wire_enc *e, unsigned fields)
{
	struct wire_enc begun; /* e itself stays in registers */

	if (cap_likely(f->plan & CAP_PLAN_STRAIGHT))
		return cap_record_straight(cap_thread_current, f, e, fields);
	if (!cap_record_slow(f, &begun, fields))
		return false;
	*e = begun;
	wire_shape(e, fields);
	return true;
}

/* Level of arguments the frame's buffers want at most: 0 none, 1 scalars, 2 full. */
unsigned cap_args_many(uint64_t buffers);

/* The same for a call that took the straight path. */
static inline unsigned cap_args_straight(const struct cap_frame *f)
{
	return f->plan >> CAP_PLAN_LEVEL_SHIFT & CAP_PLAN_LEVEL;
}

static inline unsigned cap_args(const struct cap_frame *f)
{
	if (cap_unlikely(!(f->plan & CAP_PLAN_STRAIGHT)))
		return cap_args_many(atomic_load_explicit(&f->buffers, memory_order_relaxed));
	return cap_args_straight(f);
}

/* Records the call without its arguments, or only adds it to a tally (level 0). */
void cap_record_bare(struct cap_frame *f);

/* Of an activity: whether its record goes into other buffers as well. */
static inline uint32_t cap_plan_of(const struct cap_frame *f)
{
	uint64_t buffers = atomic_load_explicit(&f->buffers, memory_order_relaxed);

	return buffers & (buffers - 1) ? CAP_PLAN_LOOK : CAP_PLAN_STRAIGHT;
}

/* Copies the record just completed into the frame's other buffers. */
void cap_commit_slow(struct cap_frame *f, struct wire_enc *e, struct wire_ring *r);

static inline __attribute__((always_inline)) void cap_commit_straight(struct cap_thread *t,
								      struct wire_enc *e)
{
	wire_end(e, e->ring);
	cap_count_record(t);
}

static inline __attribute__((always_inline)) void cap_commit(struct cap_frame *f,
							     struct wire_enc *e)
{
	cap_commit_straight(cap_thread_current, e);
	if (cap_unlikely(!(f->plan & CAP_PLAN_STRAIGHT))) {
		struct wire_enc copy = *e; /* e itself stays in registers */

		cap_commit_slow(f, &copy, e->ring);
	}
}

/* ---- activities --------------------------------------------------------------------------- */

/* What a piece of device work is about: tools may filter by it. Ids of definitions; 0: none. */
struct cap_subject {
	uint32_t agent, queue, kernel;
	uint64_t memory[2]; /* ids of allocations: of a copy source and destination */
	uint64_t bytes;
};

/*
 * What holds when work is submitted and still counts when its record is written, by whatever thread:
 * the call, the scope, the contexts that were started and their external ids. Copied by value;
 * cap_submission_end() once.
 */
struct cap_submission {
	uint64_t call; /* correlation id, 0: the call is not recorded */
	int64_t scope;
	uint64_t buffers;
	uint32_t epoch; /* buffers made later have nothing to do with it */
	struct core_submission
		*more; /* callbacks, external ids, retirement; NULL in the ordinary case */
};

/*
 * Takes the submission of work of kind `op` that the call `f` submits; `subject` may be NULL. It belongs to the buffers
 * that the call was in when it began, whatever was started or stopped since; without a call (NULL) to those of the contexts
 * that are started. False: nobody wants it; nothing is to be recorded and there is nothing to end.
 */
bool cap_submission_take(struct cap_submission *o, const struct cap_frame *f,
			 const struct cap_op *op, const struct cap_subject *subject);
bool cap_submission_over_slow(const struct cap_submission *o);
void cap_submission_end_slow(struct cap_submission *o);
void cap_submission_share_slow(const struct cap_submission *o);

/* The same submission for one more record of the same work: each of the two is ended once. */
static inline struct cap_submission cap_submission_share(const struct cap_submission *o)
{
	if (cap_unlikely(o->more != NULL))
		cap_submission_share_slow(o);
	return *o;
}

/* The work is over: its record is written, or never will be. */
static inline void cap_submission_end(struct cap_submission *o)
{
	if (cap_unlikely(o->more != NULL))
		cap_submission_end_slow(o);
}

/* The chunk says from when on its records are: one of `op`, begun at tick `start`, is to follow. */
static inline void cap_note_early(struct wire_ring *r, const struct cap_op *op, uint64_t start)
{
	if (op->in_place)
		wire_chunk_early(r->chunk, start);
	else
		wire_chunk_any_time(r->chunk);
}

bool cap_activity_start(struct cap_frame *f, struct wire_enc *e, struct cap_op *op,
			const struct cap_submission *submission, uint64_t start, uint64_t end,
			unsigned fields);
/* Bit of the buffer whose activities are counted, not recorded; see cap_tally_work(). */
extern _Atomic uint64_t cap_counted;
/* Adds to the tallies of that buffer what is encoded; other buffers get the record. */
void cap_activity_count(struct cap_frame *f, struct wire_enc e);
/*
 * A record of an activity domain by the calling thread. `start` and `end` are ticks (equal for a
 * point in time; end must be the present: tick_now()). Between begin and commit the caller encodes
 * the fields of the op in order. `submission` NULL: the present, by no call; what is started now counts.
 * False: nobody wants it, or dropped.
 *
 *   struct cap_frame f;
 *   struct wire_enc e;
 *   if (cap_activity_begin(&f, &e, &core_dispatch_ops[0], &o, start, end, DISPATCH_FIELDS)) {
 *           wire_unsigned(&e, DISPATCH_CORRELATION, id); ...
 *           cap_activity_commit(&f, &e);
 *   }
 */
static inline bool cap_activity_begin(struct cap_frame *f, struct wire_enc *e, struct cap_op *op,
				      const struct cap_submission *submission, uint64_t start,
				      uint64_t end, unsigned fields)
{
	struct wire_enc begun; /* e itself stays in registers */

	if (!cap_activity_start(f, &begun, op, submission, start, end, fields))
		return false;
	*e = begun;
	return true;
}

/* Recorded, or counted. */
static inline __attribute__((always_inline)) void cap_activity_put(struct cap_frame *f,
								   struct wire_enc *e)
{
	uint64_t buffers = atomic_load_explicit(&f->buffers, memory_order_relaxed);

	if (cap_unlikely(buffers & atomic_load_explicit(&cap_counted, memory_order_relaxed)))
		cap_activity_count(f, *e);
	else
		cap_commit(f, e);
}

/* What is not ordinary, with the tools. */
void cap_activity_commit_any(struct cap_frame *f, struct wire_enc *e);

static inline __attribute__((always_inline)) void cap_activity_commit(struct cap_frame *f,
								      struct wire_enc *e)
{
	struct cap_thread *t = cap_thread_current;
	struct wire_enc copy;

	if (cap_likely(f->ordinary)) {
		wire_end(e, e->ring);
		cap_count_record(t);
		cap_read_unlock(t);
	} else {
		copy = *e;
		cap_activity_commit_any(f, &copy);
	}
}

/* ---- work that is under way (live.c) ------------------------------------------------------ */

/*
 * A place in the memory that outlives the process where work says that it is under way, so that
 * what never finishes is told whatever happens. 0: there is none to be had; work that has none is
 * counted there while it is under way, which its place then says. Kept by the piece of work, or by
 * what is used again for another. After a fork the places of the parent are nobody's.
 */
uint32_t cap_flight_new(void);
void cap_flight_free(uint32_t *place);

/* The same where there is no line, off the hot path. */
void cap_flight_count(uint32_t *place);
void cap_flight_uncount(uint32_t *place);

#define CAP_LINE_CHUNKS 2048u /* 64 MiB: more than a million of lines */
#define CAP_LINE_BITS   9u    /* of a place: number of the line in its chunk */

struct cap_lines {
	struct wire_line *_Atomic chunks[CAP_LINE_CHUNKS];
	_Atomic uint64_t buffer; /* bit of the buffer they lie in, as in cap_submission */
};
extern struct cap_lines *cap_lines; /* in memory that reads zero after a fork */

static inline struct wire_line *cap_flight_line(uint32_t place)
{
	struct wire_line *l;

	if (cap_unlikely((int32_t)place <= 0)) /* counted: the highest bit */
		return NULL;
	l = atomic_load_explicit(&cap_lines->chunks[place >> CAP_LINE_BITS], memory_order_relaxed);
	return cap_likely(l != NULL) ? &l[place & ((1u << CAP_LINE_BITS) - 1)] : NULL;
}

/* It was submitted, and is wanted by the contexts of `o`. */
static inline void cap_flight_begin_by(uint32_t *place, const struct cap_op *op,
				       const struct cap_submission *o, uint64_t submit,
				       const struct cap_subject *s, uint32_t thread)
{
	struct wire_line *l;

	if (cap_unlikely(
		    !(o->buffers & atomic_load_explicit(&cap_lines->buffer, memory_order_relaxed))))
		return;
	l = cap_flight_line(*place);
	if (cap_unlikely(!l)) {
		cap_flight_count(place);
		l = cap_flight_line(*place);
		if (!l)
			return;
	}
	l->op = op->wire;
	l->flight.call = o->call;
	l->flight.submit = submit;
	l->flight.bytes = s->bytes;
	l->flight.agent = s->agent;
	l->flight.queue = s->queue;
	l->flight.kernel = s->kernel;
	l->flight.thread = thread; /* index of the one that submitted it */
	atomic_store_explicit(&l->state, wire_flight_check(l->op, &l->flight),
			      memory_order_release);
}

static inline void cap_flight_begin(uint32_t *place, const struct cap_op *op,
				    const struct cap_submission *o, uint64_t submit,
				    const struct cap_subject *s)
{
	cap_flight_begin_by(place, op, o, submit, s,
			    cap_thread_current ? cap_thread_current->index : 0);
}

/* Its record is written, or never will be. */
static inline void cap_flight_end(uint32_t *place)
{
	struct wire_line *l = cap_flight_line(*place);

	if (cap_likely(l != NULL))
		atomic_store_explicit(&l->state, 0, memory_order_release);
	else if (*place)
		cap_flight_uncount(place);
}

/* Memory that is obtained or given back. Values as in the fields of domain "allocation". */
struct cap_allocation {
	uint64_t address, bytes, id, parent; /* id: cap_new_allocation() */
	uint32_t agent, context;
	uint8_t kind, what;
};

/*
 * Records it: `op` is ALLOCATION_OP_*, `f` the call that does it, or NULL. `call` names another call
 * as the one that users know; 0: that of `f`.
 */
void cap_allocation_record(const struct cap_frame *f, uint64_t call, unsigned op,
			   const struct cap_allocation *a);

/* The same for a wait, or for what is put into a queue: `op` is SYNC_OP_*. `f` has returned. */
void cap_sync_record(const struct cap_frame *f, uint64_t call, unsigned op, uint32_t queue,
		     uint32_t count, const void *event);

/* ---- others ------------------------------------------------------------------------------- */

/*
 * Guard around the backend's own work (collecting, asking the runtime): calls of the same thread
 * into traced runtimes pass through untraced, tools are not called.
 */
void cap_guard_enter(void);
void cap_guard_leave(void);

/* Id of the innermost traced call of this thread, 0 if there is none. */
uint64_t cap_current_id(void);

/* ---- definitions -------------------------------------------------------------------------- */

/*
 * Publishes a definition to every shared buffer, now and later created ones. Never dropped; may
 * take a lock and block for a bounded time; not for hot paths. Thread-safe.
 */
void cap_define(const struct wire_def *d);

/*
 * The same once more, where another thread is about to: all may be killed before it has, and no
 * record may refer to what is not there. So who finds an id that is not yet said to be defined does
 * this.
 */
void cap_define_also(const struct wire_def *d);

/*
 * What the user of a framework calls a kernel that the framework generated, and whose name in its runtime is
 * `symbol`. Asked whenever a runtime's kernel is defined, by any thread; false: it is none of the framework's.
 * The texts stay.
 */
struct cap_kernel_origin {
	const char *framework, *name;
	const char *source, *device; /* the file, and the device as the framework calls it, or "" */
};
typedef bool cap_kernel_origin_fn(const char *symbol, size_t length, struct cap_kernel_origin *out);
void cap_kernel_origins(cap_kernel_origin_fn *ask);
/*
 * What the framework calls the device that the calling thread submits work to, for filters; NULL: it is not in the
 * framework. The text stays.
 */
typedef const char *cap_framework_device_fn(void);
void cap_framework_devices(cap_framework_device_fn *ask);

/* What was defined as `kind` (DEF_QUEUE, DEF_KERNEL, DEF_PROGRAM) with this id is there no more. */
void cap_define_end(enum wire_def_kind kind, uint64_t id);

/*
 * A clock of devices that are the processor itself: nanoseconds of CLOCK_MONOTONIC_RAW. Returns its id; it is read
 * then, and again by cap_host_clock_sync(), for `flush`.
 */
uint32_t cap_host_clock_define(const char *name);
void cap_host_clock_sync(uint32_t clock);

/* A new id, from 1, of the given kind (one sequence for each kind). */
uint32_t cap_new_id(enum wire_def_kind kind);

/* The id of a new lifetime of memory (ALLOCATION_ID), from 1: one sequence for all backends. */
uint64_t cap_new_allocation(void);

/*
 * Big values: stored as DEF_BLOB pieces up to KYMO_BLOB_CAP bytes (1 MiB; what is cut is counted).
 * Returns the blob's id. Equal content defined again gives the same id.
 */
uint32_t cap_define_blob(const char *what, const void *data, size_t length);

/* The flush that runs is the last: nothing of the process is left when it is over. */
extern _Atomic bool cap_ending;

/* Something the user should know; shown by every report. Severity 1 info, 2 warning, 3 error. */
void cap_note(int severity, const char *part, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The same of something that was `count` times; counts of one text are added up. */
void cap_note_count(int severity, const char *part, const char *text, uint64_t count);

enum cap_cost_of {
	CAP_COST_PROGRAM, /* time of the program's threads: work that is no part of a recorded call, or is
			     long and rare (it is taken out of the samples around it) */
	CAP_COST_WAITING, /* the same, waiting for room */
	CAP_COST_BESIDE,  /* processor time of Kymo's own threads */
	CAP_COST_LOADING, /* reckoned, once: Kymo's libraries were loaded */
	CAP_COSTS
};
/* What recording took, in ticks; shown with every summary. Any thread. */
void cap_cost(enum cap_cost_of what, uint64_t ticks);
/* Such work from begin to end; what is timed inside is counted once. */
struct cap_timed {
	uint64_t start, timed;
};
void cap_timed_begin(struct cap_timed *c);
/* From the tick `start` on. */
void cap_timed_begin_at(struct cap_timed *c, uint64_t start);
/* More than `most` ticks are not believed: the thread was interrupted. */
void cap_timed_end(const struct cap_timed *c, uint64_t most);
/* In the middle of such work: so many of its ticks were the program's own, and cost it nothing. */
void cap_timed_own(uint64_t ticks);

/*
 * `count` records of `op` will never come, because whoever has them lost them: every buffer that
 * records the op counts them as lost, where the calling thread records next and in its totals.
 */
void cap_lost(const struct cap_op *op, uint64_t count);

/*
 * The same of records of which nobody knows when their work was submitted: buffers of contexts that are paused count
 * them too, whatever thread it is.
 */
void cap_lost_sometime(const struct cap_op *op, uint64_t count);

/* Device records that got no device time; shown as a total. */
void cap_count_untimed(void);

#endif
