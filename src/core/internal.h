/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of core share among themselves.
 *
 * Locks, outermost first: core_live->configure (contexts, services, domains), core_live->define
 * (definitions, notes), core_live->threads (thread slots, sites, stacks). They live in a
 * wipe-on-fork page, so a child starts with free locks; core_fork_check() then brings the rest in
 * order. Traced calls take none of them in the ordinary case.
 */
#ifndef CORE_INTERNAL_H
#define CORE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include <kymo/tool.h>

#include "core/capture.h"
#include "wire/live.h"
#include "wire/shm.h"

#define CORE_CONTEXTS 65536u /* at one time */
#define CORE_DOMAINS  1024u

/* ---- process (process.c) ---- */

struct core_live { /* zero in a forked child until core_fork_check() */
	_Atomic uint64_t magic;
	pthread_mutex_t configure;
	pthread_mutex_t define;
	pthread_mutex_t threads;
	pthread_mutex_t fork;
	pthread_mutex_t tallies; /* of threads: held while they are walked, or end; innermost but
				    for `define` */
	pthread_mutex_t lines; /* innermost */
	_Atomic int ending; /* the process, if a thread waits for its end; see ending.c */
	struct cap_lines lines_of; /* of the shared buffer (live.c): a child finds none */
	uint32_t line_count;       /* lines given out */
	_Atomic uint32_t reviving; /* thread that brings a child in order, for which it is usable already */
	uint64_t lines_none;       /* work under way that has no line, under `lines` */
};
extern struct core_live *core_live;

/* Initialises core in this process once. False: Kymo cannot work here. */
bool core_init(void);
/* True if core is usable in this process; in a fresh child it is brought in order first. */
bool core_usable(void);
extern _Atomic bool core_finalized;
/* KYMO_OK while something may be changed; initialises core. */
kymo_status_t core_changeable(void);
/*
 * What other threads did before is seen, and what they do from now on sees what was stored before:
 * makes the plain stores of cap_busy() enough.
 */
void core_barrier(void);
/* A number that a child does not share with its parent. */
extern uint32_t core_generation;

/* ---- the end by _exit() (ending.c) ---- */
/*
 * A backend is there (NULL: those known still are): makes the thread that harvests at the end, if it
 * needs one. Caller holds no lock.
 */
void core_ending_start(const struct cap_domain_info *info);
void core_ending_fork_child(void);

/* ---- domains (domain.c) ---- */

struct cap_domain {
	const struct cap_domain_info *info;
	uint32_t id;   /* from 1 */
	uint16_t base; /* first op number on the wire */
	bool builtin;  /* activity domain: does not by itself make buffers necessary */
	uint32_t activity; /* CAP_ACTIVITY_* bit of an activity domain */
};

extern struct cap_domain core_domains[CORE_DOMAINS];
extern _Atomic uint32_t core_domain_count;

/* Some runtime is there. Any thread, no lock. */
bool core_runtime_present(void);
/* Registers the activity domains; called once by core_init(). */
void core_activities_register(void);
kymo_status_t core_domain_add_builtin(const struct cap_domain_info *info, uint32_t activity);
/* Registers a domain that is not there before somebody wants it; *ready: it is. */
kymo_status_t core_domain_ready(const struct cap_domain_info *info, _Atomic bool *ready);
/* Domain and op of a wire op, or NULL. */
const struct cap_domain *core_domain_of(uint16_t wire);
/*
 * Asks all services about ops of domains that came since. Caller holds no lock, and none is held
 * while a `select` runs: domains may come meanwhile.
 */
void core_services_cover(void);
/* Room for the ops of all domains; false: no memory. Caller holds `configure`. */
struct core_service;
bool core_service_room(struct core_service *s);
/* A `select` of the context runs on another thread. */
struct core_context;
bool core_select_runs(const struct core_context *c);
void core_select_fork_child(void);
/* Recomputes masks and slots of all ops. Caller holds `configure`. */
void core_masks_update(void);
/* `select` of a tool runs on this thread: contexts may not be changed. */
bool core_selecting(void);
/* What one context wants of an op. Caller holds `configure`. */
const struct core_plan *core_plan_of(struct core_context *c, const struct cap_op *op,
				     uint64_t *buffers);
/* Tells backends what is wanted now. Caller holds no lock. */
void core_wanted_notify(void);
/* Asks every backend to harvest. Caller holds no lock. */
void core_domains_flush(uint64_t deadline);
void core_domains_fork_child(void);
/* (Re)publishes the definitions of a domain. */
void core_domain_define(const struct cap_domain *d);

/* ---- contexts (context.c) ---- */

enum core_service_kind {
	SERVICE_CALLBACK = 1,
	SERVICE_BUFFER = 2,
	SERVICE_STACK = 4,
	SERVICE_REQUEST = 8,
	SERVICE_COUNT = 16,
	SERVICE_EXCLUSION = 32
};

struct core_service {
	enum core_service_kind kind;
	kymo_selection_t selection;
	char *domain; /* owned copy of selection.domain, or NULL */
	kymo_callback_fn callback;
	kymo_external_request_fn request;
	void *data;
	uint64_t *ops; /* bit by wire op: selected */
	uint32_t words;
	uint32_t domains; /* how many domains `ops` covers */
	bool waits; /* for what is there to be told: of objects alone it takes records until then */
};

/* Never moves and is never freed; used again under another generation. */
struct core_context {
	_Atomic uint32_t generation; /* in the handle; 0: free, or being destroyed */
	uint32_t index;
	bool active;
	uint32_t service_count, service_room;
	struct core_service *services; /* under `configure` */
	struct core_buffer *buffer;    /* or NULL */
	_Atomic int32_t buffer_index;  /* -1: none */
	const void *owner;             /* the tool that made it, or NULL */
	_Atomic bool over;             /* its tool has heard of the end: it is not called any more */
	uint32_t told;                 /* kinds of objects it knows of; see objects.c */
	uint32_t starts;               /* counts them */
	struct core_context *next_free;
};

/* Calls `fn` for every context; under `configure`. */
void core_contexts_each(void (*fn)(struct core_context *c, void *data), void *data);
/* The context of a handle, or NULL. Any thread, no lock. */
struct core_context *core_context_of(kymo_context_t h);
kymo_context_t core_context_handle(const struct core_context *c);
/* Bit of its buffer in masks; 0: it has none. */
static inline uint64_t core_context_buffer_bit(kymo_context_t h)
{
	const struct core_context *c = core_context_of(h);
	int32_t buffer = c ? atomic_load(&c->buffer_index) : -1;

	return buffer >= 0 ? 1ull << buffer : 0;
}
/* Services of started contexts (all contexts if `stopped`) want the op: SERVICE_* bits. Caller holds
 * `configure`. */
bool core_wanted_by_any(const struct cap_domain *d, uint32_t op);
/* The calling thread delivers for a context of `owner`. Caller holds no lock. */
bool core_contexts_inside(const void *owner);
/* Destroys what `owner` made. Caller holds no lock. */
void core_contexts_destroy_of(const void *owner);
/* Stops them; callbacks that are running are waited for, a while. */
void core_contexts_stop_of(const void *owner);
/* Some context wants call stacks of the op of this wire number. */
bool core_stack_wanted(uint16_t wire);
/* The service selects the op of this wire number. Caller holds `configure`. */
static inline bool core_service_selects(const struct core_service *s, uint16_t wire)
{
	return wire / 64u < s->words && s->ops[wire / 64] >> wire % 64 & 1;
}

/* ---- structures of tools ---- */

/*
 * They begin with their size and grow at their end; a tool may have been built with less of one, down
 * to `first` bytes. All consist of words: what is not a whole one is left out.
 */
static inline bool core_size_fits(const void *structure, size_t first)
{
	return *(const size_t *)structure >= first;
}

static inline size_t core_size_common(const void *structure, size_t size)
{
	const size_t theirs = *(const size_t *)structure / sizeof(size_t) * sizeof(size_t);

	return theirs < size ? theirs : size;
}

/*
 * A tool that was built with more of a structure than this version has must not have asked for
 * anything there: what is not known is not ignored. A size that no version will have is none.
 */
#define CORE_SIZE_MAX 4096u
__attribute__((no_sanitize("address"))) static inline bool core_size_known(const void *structure,
									   size_t size)
{
	const size_t theirs = *(const size_t *)structure;
	const volatile unsigned char *p = structure;

	for (size_t i = size; i < theirs && theirs <= CORE_SIZE_MAX; i++)
		if (p[i])
			return false;
	return theirs <= CORE_SIZE_MAX;
}

/* What the tool's structure lacks is 0. */
static inline void core_take(void *to, size_t size, const void *from)
{
	memset(to, 0, size);
	memcpy(to, from, core_size_common(from, size));
}

/* Fills in what the tool knows of; its size becomes how much that is. */
static inline void core_give(void *out, const void *from, size_t size)
{
	const size_t n = core_size_common(out, size);

	memcpy(out, from, n);
	*(size_t *)out = n;
}

/* ---- plans (plan.c): whom to call back of an op ---- */

struct core_plan_entry {
	struct core_context *context;
	uint32_t generation;
	int16_t buffer; /* the context's, -1: none */
	kymo_callback_fn callback;        /* one of these */
	kymo_external_request_fn request; /* before the callbacks of its context */
	bool records; /* stands for a buffer service that has a filter */
	bool (*filter)(const kymo_work_t *work, void *data); /* or NULL */
	void *data;
	void *filter_data;
};

/* Immutable, shared by all ops that want the same; lives until nobody can use it any more. */
struct core_plan {
	_Atomic uint32_t refs; /* of those that keep it longer than a call */
	uint32_t count;
	bool requests, filters;
	bool callbacks;
	bool used;       /* under `configure`, like the rest: found so by the present sweep */
	uint32_t update; /* the last one in which some op wanted it */
	struct core_plan *next;
	uint64_t hash;
	struct core_plan_entry entries[];
};

/* The plan of these entries; NULL: none, or no memory. Caller holds `configure`. */
const struct core_plan *core_plan_get(const struct core_plan_entry *entries, uint32_t count);
/* All ops get their plans anew: what is not asked for again is unused. Caller holds `configure`. */
void core_plans_update(void);
/* Frees plans that no op names any more, if nobody uses them. Caller holds `configure`. */
void core_plans_sweep(void);
static inline void core_plan_keep(const struct core_plan *p)
{
	atomic_fetch_add_explicit(&((struct core_plan *)(uintptr_t)p)->refs, 1,
				  memory_order_relaxed);
}
static inline void core_plan_let_go(const struct core_plan *p)
{
	atomic_fetch_sub_explicit(&((struct core_plan *)(uintptr_t)p)->refs, 1,
				  memory_order_release);
}
/*
 * True if no thread uses `plan` (may be NULL) or a buffer of `buffers` any more, both of which no op
 * names since before the call. Caller holds `configure`.
 */
bool core_quiet(const struct core_plan *plan, uint64_t buffers);
/*
 * Waits until no other thread is in a callback of the context, at most `timeout_ns` (0: for ever).
 * Caller holds no lock.
 */
void core_callbacks_wait(const struct core_context *c, uint64_t timeout_ns);

/* Words that tools keep from ENTER to EXIT. */
struct core_words {
	uint64_t *words;
	uint32_t room;
};

/* What a callback record's `internal` points to. */
struct core_told {
	uint32_t stack; /* of calls: id, 0: none was taken */
	const struct cap_domain *domain;
	uint32_t op;
	const void *args;               /* of calls */
	bool exit, ok;
	const struct wire_record *wire; /* of activities */
};

/*
 * Calls the tools of the frame's plan. `words`: plan->count words kept from ENTER to EXIT; NULL: those
 * of the thread's frame. `wire`: of activities, else NULL. False: this is a child, forked by a tool.
 */
#define CAP_COMPLETE ((enum cap_phase)3)
/* What the callback that runs on this thread is told, or NULL. */
const struct core_told *core_told_now(void);
bool core_callbacks(struct cap_frame *f, void *args, enum cap_phase phase, uint64_t *words,
		    const struct wire_record *wire, const struct core_origin *origin);
void core_words_release(struct cap_thread *t);

/* ---- external ids (external.c) ---- */
uint64_t core_external_top(struct cap_thread *t, const struct core_context *c);
void core_externals_release(struct cap_thread *t);
/* The context has this buffer now: its records carry what was pushed before. */
void core_externals_mirror(const struct core_context *c, uint32_t buffer);

/* ---- origins and retirement (origin.c) ---- */
struct core_origin {
	_Atomic uint32_t holders;     /* see cap_origin_share() */
	const struct core_plan *plan; /* kept; or NULL */
	struct core_retire *retire;   /* kept; or NULL */
	uint64_t *buffer_external;    /* [CAP_BUFFERS] if any is not 0, else NULL */
	struct core_origin_entry {
		uint64_t external;
		bool skip; /* the filter said no */
	} entries[];                  /* of the plan */
};
/* Bit n: buffer n takes records. Rises and falls with buffers, not with contexts. */
extern _Atomic uint64_t core_buffers_open;
/* Counts buffers made; a buffer's own count is `born`. */
extern _Atomic uint32_t core_epoch;
/* The id of the call `f` will not be carried by anything new. */
#define CORE_RETIRE_WANTED ((struct core_retire *)2)
/* Nobody waits for it, but what the call costs is being measured; see overhead.c. */
#define CORE_RETIRE_SAMPLED ((struct core_retire *)1)
/* A runtime is there. Caller holds no lock. */
void core_objects_runtime(const struct cap_domain *domain);
/* What was defined, if it is something that tools are told of. */
void core_objects_defined(const struct wire_def *d);
/* A thread began, or ends. */
void core_objects_thread(const struct wire_def *d, bool start);
void core_objects_fork_child(void);
/* An origin for telling those of `plan` (NULL: nobody) alone. */
struct core_origin *core_origin_of(const struct core_plan *plan);
/*
 * Tells what is there already to contexts that have just begun to want it: to `only`, or (NULL) to
 * all whose services do not wait. Caller holds no lock.
 */
void core_objects_replay(const struct core_context *only);
/* Some service of the context is told of objects. Caller holds `configure`. */
bool core_objects_selected(const struct core_context *c);

/* ---- buffers (buffer.c, buffer_info.c, pool.c) ---- */

#define CORE_CHUNK_BYTES  (32u << 10)
#define CORE_BUFFER_BYTES (64u << 20) /* unless the tool says otherwise */
#define CORE_BUFFER_MOST  ((uint64_t)SHM_CHUNK_MAX * CORE_CHUNK_BYTES)

/* Of a handle that is none: it was never given, or is not any more. */
static inline kymo_status_t core_not_found(uint64_t handle)
{
	return handle ? KYMO_ERROR_NOT_FOUND : KYMO_ERROR_INVALID_ARGUMENT;
}

/*
 * A pool of chunks as this process knows it. The drain can write into the shared page, and what can
 * write there can be anybody's program that has gone wrong: so where things lie, and who has which
 * chunk, is kept here, in memory of the process alone. What the header says is for the drain.
 */
struct core_pool {
	struct shm_header *shm;
	struct shm_chunk_ctl *ctl;
	struct shm_thread *threads;
	uint8_t *chunks;
	size_t mapped, own; /* bytes of the mapping, of this structure */
	size_t total;       /* bytes of the memory that is shared */
	uint32_t chunk_size, chunk_max;
	uint32_t size; /* chunks that were asked for; more, up to chunk_max, only for many threads */
	uint32_t kept_back; /* the first chunks are for definitions alone */
	uint32_t wake_threshold;
	bool overwrite;
	_Atomic bool no_memory; /* what it lacks chunks for */
	struct core_delivery *reader; /* private buffers, once they are delivered */
	_Atomic uint32_t chunk_count;
	_Atomic int32_t held; /* chunks that threads are filling, or left with little in them */
	_Atomic uint8_t use[]; /* by chunk: enum core_chunk_use */
};

enum core_chunk_use {
	CORE_CHUNK_UNUSED,
	CORE_CHUNK_MINE, /* a thread of this process fills it */
	CORE_CHUNK_LIGHT /* its thread has left it with little in it, as threads do that end soon */
};

static inline struct wire_chunk *core_chunk(const struct core_pool *p, uint32_t i)
{
	return (struct wire_chunk *)(p->chunks + (size_t)i * p->chunk_size);
}

struct core_buffer {
	_Atomic bool used; /* looked at without a lock; set once the rest is filled in */
	_Atomic bool ready; /* the pool exists in this process */
	bool refused;      /* share() failed: nothing is recorded */
	bool defines;      /* has all definitions so far; under `define` */
	uint8_t index;     /* into cap_thread.rings, and its bit in masks */
	_Atomic bool retired; /* its context is gone; freed when nobody uses it */
	bool steered;      /* a thread does what the reading side asks for */
	_Atomic bool released; /* and is to end */
	struct core_context *context;
	uint32_t born;     /* core_epoch at its making */
	uint32_t generation;
	kymo_buffer_desc_t desc;
	struct core_pool *pool; /* NULL until ready */
	struct wire_chunk *definitions; /* chunk being filled, under `define` */
	uint32_t definitions_chunk, definitions_used, definitions_waits;
	uint64_t definitions_seq;
	struct core_delivery *delivery; /* private buffers, once ready */
	_Atomic uint32_t users;         /* who looks at it without `configure` */
};

/* Delivered in this process, not shared with another. */
static inline bool core_buffer_private(const struct core_buffer *b)
{
	return b->desc.deliver || b->desc.deliver_batch;
}

extern struct core_buffer core_buffers[CAP_BUFFERS];

/* The buffer of a handle, or NULL. */
struct core_buffer *core_buffer_of(kymo_buffer_t handle);
/* Whether the parts of a description fit together. */
kymo_status_t core_buffer_check(const kymo_buffer_desc_t *desc);
/* Whether its pool exists. Caller holds `configure`. */
kymo_status_t core_buffer_check_pool(const kymo_buffer_desc_t *desc);

/* Makes the pool of a buffer in this process if need be. Caller holds `configure`. */
bool core_buffer_ensure(struct core_buffer *b);
/* Hands a buffer over that is to be shared when it is made. Caller holds `configure`. */
void core_buffer_share_early(struct core_buffer *b);
/* The same of all, before fork() returns in the child; calls what may be called there. */
void core_buffers_share_in_child(void);
void core_buffer_release(struct core_buffer *b);
/* Frees buffers that are released and that nobody uses any more. Caller holds `configure`. */
void core_buffers_sweep(void);
/* Child: forgets the parent's pools. */
void core_buffers_fork_child(void);
kymo_status_t core_buffer_drain(struct core_buffer *b, uint64_t timeout_ns);
/* Hands over what the calling thread is filling. */
void core_buffer_hand_over(struct core_buffer *b);
/* Asks for delivery of everything; the number to wait for in `flushed`. */
uint32_t core_buffer_flush(struct core_buffer *b);
/* What is shared for a buffer that has recorded nothing yet, or NULL. */
struct core_pool *core_buffer_early(const struct core_buffer *b);
/* Marks all shared pools finalised and wakes their drains. */
void core_buffers_finalize(void);

/* pool.c */
/* Shared, with a descriptor to pass on, when `memfd` is not NULL; private otherwise. */
struct core_pool *core_pool_create(uint64_t bytes, int *memfd);
void core_pool_destroy(struct core_pool *pool);
/* A shared pool without memory and with few addresses, which core_pool_begin() gives it. */
struct core_pool *core_pool_prepare(uint64_t bytes, int *memfd);
/* What there is no memory for is lost and counted. */
void core_pool_begin(struct core_pool *pool);
/* Memory for what shows the calls of a thread; NULL: there is none. */
struct shm_thread *core_pool_thread(const struct core_pool *pool, uint32_t index);
/* A chunk in state FILLING; SHM_NONE: none after the policy's wait. */
uint32_t core_pool_get(struct core_pool *pool, enum shm_list list, uint64_t wait_ns);
/* Hands a chunk to the reading side. */
void core_pool_put(struct core_pool *pool, uint32_t chunk);
/* Counts records as lost; `memory`: for want of memory, not of room in the buffer. */
void core_pool_lose(struct core_pool *pool, uint64_t records, bool memory);
bool core_pool_reader_alive(const struct core_pool *pool);
bool core_pool_reader_there(const struct core_pool *pool);
/*
 * Records of a chunk behind its first `from` bytes; 0: all. The chunk may be where another process
 * can write: nothing outside of it is looked at.
 */
uint64_t core_chunk_records(const struct wire_chunk *c, uint32_t from);
void core_futex_wake(_Atomic uint32_t *word, int count);
void core_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns);

/* Recording into the buffer begins or stops: `tick` 0, with the process. */
void core_define_recording(const struct core_buffer *b, bool on, uint64_t tick);

/* steer.c: threads for shared buffers with `steer` that need one and have none yet. Caller holds no
 * lock. */
void core_steer_start(void);
/*
 * The same before fork() returns in the child. Where tools are to hear of threads it waits until the
 * child uses Kymo: before that they are not called.
 */
void core_steer_start_in_child(void);
/* Does what was asked of buffers that are not ready yet. Caller holds no lock. */
void core_steer_catch_up(void);
/* Memory has been made for the buffer: what its process was told before holds there. */
void core_steer_made(const struct core_buffer *b, struct core_pool *pool);
/* What the buffer has shared early is gone; others look elsewhere. Caller holds `configure`. */
void core_steer_drops(struct core_buffer *b);
/* Child: the threads are the parent's. Calls what may be called in fork(). */
void core_steer_fork_child(void);
/* That of a buffer that goes away is to end. Caller holds `configure`. */
void core_steer_end(struct core_buffer *b);

/* deliver.c, deliver_end.c, delivery_pool.c: the reading side of private buffers; see deliver.h */
/* Attaches the buffer to its pool; core_deliver_threads_start() follows. Caller holds `configure`.
 */
bool core_deliver_start(struct core_buffer *b);
/* Makes the threads that pools lack. Caller holds no lock. */
void core_deliver_threads_start(void);
/*
 * Delivers what is there and ends, however long it takes. False: a callback of it is the one that
 * asks. Caller holds no lock.
 */
bool core_deliver_stop(struct core_buffer *b);
/*
 * The process ends: all private buffers deliver what they hold and end, as long as their callbacks
 * come back. What is not delivered then is counted as lost.
 */
void core_deliver_end(void);
/* A delivery callback of the tool was given up at the end, and may still be running. */
bool core_deliver_runs(const void *tool);
/* Everything is delivered that ever will be; of private buffers. */
bool core_deliver_over(const struct core_buffer *b);
/* Records of a thread that are lost and will be told by no chunk. */
void core_deliver_lost(struct core_buffer *b, uint32_t thread, uint64_t lost);
void core_deliver_lost_in(struct core_pool *pool, uint32_t thread, uint64_t lost);
/* The calling thread delivers for this buffer or for others of its pool: it cannot wait for it. */
bool core_deliver_inside(const struct core_buffer *b);
/* There is something to do for this private pool. */
void core_deliver_wake(struct core_pool *pool);
/* A producer finds no room in it, and waits for some or drops. */
void core_deliver_starved(struct core_pool *pool, bool waits);
void core_deliver_fork_child(void);
void core_pools_fork_child(void);

/* announce.c */
/*
 * Makes a thread of Kymo's, named "kymo-" and `name` (up to 10 characters): signals masked, calls
 * untraced, tools told. It is detached unless `joinable` is given. Caller holds no lock.
 */
bool core_thread_start(const char *name, void (*fn)(void *), void *arg, pthread_t *joinable);
/* Tools want to hear of them. */
bool core_thread_notices(void);
/* The same for a thread that sleeps until it is needed, mostly never: traces do not know it until
 * `fn` calls cap_guard_enter(). */
bool core_sleeper_start(const char *name, void (*fn)(void *), void *arg);

/* ---- threads (thread.c) ---- */

/* In a forked child for which the kernel has not done it: their memory reads zero. */
void core_threads_wipe(void);
/* A record is lost because there was no memory for the state of the calling thread. */
void core_lost_without_thread(void);
/* Runs `fn` for every live thread; under the `threads` lock. */
void core_threads_each(void (*fn)(struct cap_thread *t, void *data), void *data);
/* Hands over the chunk a ring fills. Only by the owning thread. */
void core_ring_close(struct core_buffer *b, struct wire_ring *r);
/* All threads: nothing of the buffer in this slot is left. Only when it is quiet. */
void core_rings_forget(uint32_t slot);
/* Of several buffers those stay in the frame that take the record; the ring of the first. */
struct wire_ring *core_ring_many(struct cap_thread *t, struct cap_frame *f, bool call);
/* Begins a chunk; false: none to be had. */
bool core_ring_open(struct cap_thread *t, struct core_buffer *b, struct wire_ring *r,
		    enum wire_chunk_type type);
void core_threads_init(void);
/* Of the thread that forked this process, or NULL. */
extern struct cap_thread *core_forked;
/* Both stack pointers are of the calling thread's own stack. */
bool core_same_stack(const void *a, const void *b);
/* A tick as nanoseconds of CLOCK_MONOTONIC_RAW, as well as is known by now. */
uint64_t core_tick_ns(uint64_t tick);
uint64_t core_tick_span(uint64_t ticks); /* their length in ns */
void core_threads_end_all(void); /* definitions THREAD_END of live threads, at finalisation */
void core_threads_share(struct core_pool *pool); /* open calls go there from now on */
void core_sites_fork_child(void);

/* ---- stacks of tools (stack.c) ---- */
/* From now on stacks are kept for tools to ask for. */
void core_stacks_keep(void);
/* A stack has got its id. */
void core_stack_defined(uint32_t id, void *const *addresses, uint32_t count);
void core_stacks_fork_child(void);

/* ---- clocks of agents (device_clock.c) ---- */
/* What was defined, if it is a clock, a reading of one, or an agent. */
void core_clock_defined(const struct wire_def *d);

/* Why something was refused, for kymo_error_text(); returns `status`. */
kymo_status_t core_refuse(kymo_status_t status, const char *why);
/* ERROR_INCOMPATIBLE: the size is not set, or something is asked for that is not known. */
kymo_status_t core_refuse_size(void);

/* ---- values (value.c) ---- */
/* The call that an activity belongs to: its field "correlation"; 0: none. */
uint64_t core_activity_correlation(const kymo_op_desc_t *op, const struct wire_record *record);

/* ---- overhead (overhead.c) ---- */
/* Publishes the cost of a record (measured once) and what was measured so far. */
void core_overhead_define(void);
/* Once in a process, when Kymo begins. */
void core_overhead_loading(void);
void core_overhead_fork_child(void);
/* The call in `f`, whose cost is a sample, is recorded. */
void core_overhead_sampled(struct cap_frame *f);
/* The call that is to be in `f` is a sample. */
void core_overhead_sample(struct cap_thread *t, struct cap_frame *f);
/* Ids up to the next sample. */
uint32_t core_overhead_step(struct cap_thread *t);
/* The beginning or the end of something that may wait. */
void core_spent_begin(struct cap_timed *c);
void core_spent_end(const struct cap_timed *c);
/* The program waited for room. */
void core_waited(uint64_t ticks);

/* ---- lines (live.c) ---- */
/* A line of that kind for good, or NULL: there is none to be had. */
struct wire_line *core_line_new(enum wire_line_kind kind);
void core_lines_share(struct core_buffer *b);
void core_lines_init(void);
void core_lines_fork_child(void);
void core_left_out_release(struct cap_thread *t); /* the thread ends */
/* The pool that the drain of this process reads, or NULL. */
struct core_pool *core_shared_pool(void);
uint32_t core_shared_arguments(void);

/* ---- tallies (tally.c) ---- */
struct wire_tally;
struct wire_work;
void core_tally_call(struct cap_thread *t, struct core_buffer *b, struct cap_frame *f);
/* Adds a duration to total, extremes and histogram. */
void core_tally_time(struct wire_tally *y, uint64_t duration);
/* A new entry of the thread, as `from`; `work` where its flags say so. NULL: no room. */
struct wire_tally *core_tally_add(struct cap_thread *t, struct core_buffer *b,
				  const struct wire_tally *from, const struct wire_work *work);
/* The same, of nothing yet; with `work` of an activity. */
struct wire_tally *core_tally_fresh(struct cap_thread *t, struct core_buffer *b, uint32_t op,
				    const struct wire_work *work);
/* Calls `fn` for the thread's entries, which it may be adding to. Caller holds `tallies`. */
typedef void core_tally_fn(const struct wire_tally *y, const struct wire_work *w, void *data);
void core_tally_each(const struct cap_thread *t, core_tally_fn *fn, void *data);
/* Hands its chunks over; the thread ends. */
void core_tally_close(struct cap_thread *t, struct core_buffer *b);
void core_tally_release(struct cap_thread *t);

/* ---- activities that are counted (tally_work.c) ---- */
void core_work_release(struct cap_thread *t);
void core_work_fork_child(void);

/* ---- the tallies of a process for those of its job (tally_job.c) ---- */
/* The thread ends: what it counted is kept for the job's. Before core_tally_close(). */
void core_tally_fold(struct cap_thread *t);
void core_tally_fork_child(void);
/* Something is in the trace now that no tally of a job has. */
void core_tally_not_all(void);
/* The job has its table: nothing is counted any more. */
extern _Atomic bool core_tally_over;

/* ---- definitions (define.c) ---- */

/* Writes all definitions so far to a buffer that has just been made. */
void core_define_replay(struct core_buffer *b);
void core_define_process(void);
void core_define_process_end(uint32_t how);
void core_define_modules(void);
void core_define_tick_sync(void);
void core_define_fork_child(void);
extern _Atomic uint64_t core_untraced, core_untimed;
/* Copies of definitions, to be freed by the caller, who holds `define`. NULL: none, or no memory. */
uint8_t *core_definitions_copy(bool (*wanted)(const struct wire_def *d), size_t *bytes);
uint8_t *core_definition_find(uint16_t kind, uint64_t id, struct wire_def *out);

/* ---- markers (marker.c) ---- */
/* The calling thread ends: so do its ranges. */
void core_marker_thread_end(struct cap_thread *t);
/* The process ends: so do all ranges; mistakes are noted. */
void core_marker_finalize(void);

/* ---- tools (tool.c) ---- */
void core_tools_discover(void);
void core_tools_fork_child(void);
/* Tools that want to hear of the end get nothing new from here on, and then do. */
void core_tools_stop(void);
void core_tools_finalize(void);
/* The tool whose function runs on this thread, or NULL. */
const void *core_tool_current(void);
/* The calling thread is in its `initialize`. */
bool core_tool_initializing(void);
/* A function of this one runs from now on; what core_tool_current() said before is put back after. */
const void *core_tool_enter(const void *tool);
/*
 * Around a call of a tool's function for `context` by the calling thread, which must be busy or keep
 * the plan. False: the context is gone, do not call. A context that is destroyed meanwhile waits for
 * the end. Traced calls inside run untraced.
 */
struct core_calling {
	struct cap_thread *thread;
	const void *tool, *sp;
	uint32_t level, generation;
};
/* A function of a tool runs on this thread for some context. */
bool core_inside_callback(void);
bool core_calling_begin(struct core_calling *k, struct cap_thread *t);
bool core_calling_one(struct core_calling *k, const struct core_context *c, uint32_t generation);
/* False: this is a child, forked by the tool; the thread's state is gone. */
bool core_calling_goes_on(const struct core_calling *k);
void core_calling_end(struct core_calling *k);

/* ---- exceptions of tools (contain.c) ---- */
/*
 * Calls `fn`, a function of a tool with up to three arguments. What it throws is caught, noted once
 * and counted; the value is then 0. pthread_exit() and cancellation pass through.
 */
uint64_t core_contained(const void *fn, uint64_t a, uint64_t b, uint64_t c)
	__attribute__((visibility("hidden")));
/* Functions of tools that were left by an exception on this thread. */
uint32_t core_caught(void);
#define CORE_FUNCTION(f) ((const void *)(uintptr_t)(f))
#define CORE_ARGUMENT(p) ((uint64_t)(uintptr_t)(p))

#endif
