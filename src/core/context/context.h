/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who wants what: domains and their ops, contexts and their services, subscribers of each op.
 *
 * Invariants. Everything is changed under core_live->configure and read by traced calls without a lock: masks
 * and lists of subscribers are published whole, never changed in place. A context never moves and is never
 * freed; a handle is its index and a generation. A list of subscribers is immutable and lives until
 * core_grace_period_over() says that nobody uses it any more.
 */
#ifndef CORE_CONTEXT_H
#define CORE_CONTEXT_H

#include <stdatomic.h>
#include <stdbool.h>

#include <kymo/tool.h>

#include "base/locks.h"
#include "core/capture.h"
#include "core/process/process.h"

struct core_buffer;
struct core_context;
struct core_subscribers;

#define CORE_CONTEXTS 65536u /* at one time */
#define CORE_DOMAINS  1024u

/* ---- domains (domain.c) ---- */

struct cap_domain {
	const struct cap_domain_info *info;
	const kymo_domain_desc_t *desc;
	uint32_t id;       /* from 1 */
	uint16_t base;     /* first op number on the wire */
	bool builtin;      /* activity domain: does not by itself make buffers necessary */
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
bool core_service_room(struct core_service *s) REQUIRES(core_live->configure);
/* A `select` of the context runs on another thread. */
bool core_select_runs(const struct core_context *c);
void core_select_fork_child(void);
/* Recomputes masks and slots of all ops. Caller holds `configure`. */
void core_masks_update(void) REQUIRES(core_live->configure);
/* `select` of a tool runs on this thread: contexts may not be changed. */
bool core_selecting(void);
/* What one context wants of an op. Caller holds `configure`. */
const struct core_subscribers *core_subscribers_of(struct core_context *c, const struct cap_op *op,
						   uint64_t *buffers)
	REQUIRES(core_live->configure);
/* Tells backends what is wanted now. Caller holds no lock. */
void core_wanted_notify(void) EXCLUDES(core_live->configure);
/* Asks every backend to collect. Caller holds no lock. */
void core_domains_flush(uint64_t deadline) EXCLUDES(core_live->configure);
/* The process ends: asks those that collect late. Not from a signal handler. Caller holds no lock. */
void core_domains_end(void) EXCLUDES(core_live->configure);
void core_domains_fork_child(void);
/* Some of them records in children that make no traced call. */
bool core_domains_follow(void);
void core_domains_rest(bool rests) EXCLUDES(core_live->configure);
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
	bool paused; /* its buffer takes nothing new; that of one which is started is wanted all the same */
	uint32_t service_count, service_room;
	struct core_service *services; /* under `configure` */
	struct core_buffer *buffer;    /* or NULL */
	_Atomic int32_t buffer_index;  /* -1: none */
	const void *owner;             /* the tool that made it, or NULL */
	_Atomic bool over; /* its tool has heard of the end: it is not called any more */
	uint32_t told;     /* kinds of objects it knows of; see define/objects.c */
	uint32_t starts;   /* counts them */
	struct core_context *next_free;
};

/* Calls `fn` for every context; under `configure`. */
void core_contexts_each(void (*fn)(struct core_context *c, void *data), void *data)
	REQUIRES(core_live->configure);
/* The context of a handle, or NULL. Any thread, no lock. */
struct core_context *core_context_of(kymo_context_t h);
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
void core_contexts_destroy_of(const void *owner) EXCLUDES(core_live->configure);
/* Stops them; callbacks that are running are waited for, a while. */
void core_contexts_stop_of(const void *owner);
/* Some context wants call stacks of the op of this wire number. */
bool core_stack_wanted(uint16_t wire);
/* The service selects the op of this wire number. Caller holds `configure`. */
static inline bool core_service_selects(const struct core_service *s, uint16_t wire)
{
	return wire / 64u < s->words && s->ops[wire / 64] >> wire % 64 & 1;
}

/* ---- what calls began with (domain.c) ---- */

/* By buffer: from when to when it recorded, last (ticks); UINT64_MAX: until now. Changed under `configure`. */
struct core_span {
	_Atomic uint64_t since, until;
};
extern struct core_span core_spans[CAP_BUFFERS];
void core_span_reset(uint32_t buffer) REQUIRES(core_live->configure);

/* Buffers that a call's record was to go into when it began. */
static inline uint64_t core_frame_entered(const struct cap_frame *f)
{
	return f->plan & CAP_PLAN_STRAIGHT ? atomic_load_explicit(&f->buffers, memory_order_relaxed)
					   : f->entered;
}

/* Those that want the op, or would if their contexts were not paused or stopped. Any thread, no lock. */
uint64_t core_op_wanted(const struct cap_op *op);
/*
 * Those of `buffers` that recorded when the call began: its own record says so, or, where they do not want that, the
 * time does. Any thread, no lock.
 */
uint64_t core_call_buffers(const struct cap_frame *f, uint64_t buffers);
/* Some other thread is in a call that may yet submit work to one of `buffers`. */
bool core_calls_submit(uint64_t buffers);

/* ---- lists of subscribers (subscribers.c): whom to call back of an op ---- */

struct core_subscriber {
	struct core_context *context;
	uint32_t generation;
	int16_t buffer;                   /* the context's, -1: none */
	kymo_callback_fn callback;        /* one of these */
	kymo_external_request_fn request; /* before the callbacks of its context */
	bool records;                     /* stands for a buffer service that has a filter */
	uint8_t phases;                   /* of calls */
	bool (*filter)(const kymo_work_t *work, void *data); /* or NULL */
	void *data;
	void *filter_data;
};

/* Immutable, shared by all ops that want the same; lives until nobody can use it any more. */
struct core_subscribers {
	_Atomic uint32_t refs; /* of those that keep it longer than a call */
	uint32_t count;
	bool requests, filters;
	bool callbacks;
	bool enters;     /* somebody is to be told when a call enters */
	bool used;       /* under `configure`, like the rest: found so by the present sweep */
	uint32_t update; /* the last one in which some op wanted it */
	struct core_subscribers *next;
	uint64_t hash;
	struct core_subscriber entries[];
};

/* The list of these entries; NULL: none, or no memory. Caller holds `configure`. */
const struct core_subscribers *core_subscribers_get(const struct core_subscriber *entries,
						    uint32_t count) REQUIRES(core_live->configure);
/* All ops get their lists anew: what is not asked for again is unused. Caller holds `configure`. */
void core_subscribers_update(void) REQUIRES(core_live->configure);
/* Frees lists that no op names any more, if nobody uses them. Caller holds `configure`. */
void core_subscribers_sweep(void) REQUIRES(core_live->configure);
static inline void core_subscribers_hold(const struct core_subscribers *p)
{
	atomic_fetch_add_explicit(&((struct core_subscribers *)(uintptr_t)p)->refs, 1,
				  memory_order_relaxed);
}
static inline void core_subscribers_release(const struct core_subscribers *p)
{
	atomic_fetch_sub_explicit(&((struct core_subscribers *)(uintptr_t)p)->refs, 1,
				  memory_order_release);
}
/*
 * True if no thread uses `subscribers` (may be NULL) or a buffer of `buffers` any more, both of which no op
 * names since before the call. Caller holds `configure`.
 */
bool core_grace_period_over(const struct core_subscribers *subscribers, uint64_t buffers)
	REQUIRES(core_live->configure);
/*
 * Waits until no other thread is in a callback of the context, at most `timeout_ns` (0: for ever).
 * Caller holds no lock.
 */
void core_callbacks_wait(const struct core_context *c, uint64_t timeout_ns);

/* ---- external ids (external.c) ---- */
uint64_t core_external_top(struct cap_thread *t, const struct core_context *c);
void core_externals_release(struct cap_thread *t);
/* The context has this buffer now: its records carry what was pushed before. */
void core_externals_mirror(const struct core_context *c, uint32_t buffer);

#endif
