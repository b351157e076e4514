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

#include <kymo/tool.h>

#include "core/capture.h"
#include "wire/shm.h"

#define CORE_CONTEXTS 64u
#define CORE_SERVICES 16u /* of one context */
#define CORE_DOMAINS  64u
#define CORE_TOOLS    16u
#define CAP_USER_BYTES (CAP_FRAMES * 64u * sizeof(uint64_t)) /* of cap_thread.user */

/* ---- process (process.c) ---- */

struct core_live { /* zero in a forked child until core_fork_check() */
	_Atomic uint64_t magic;
	pthread_mutex_t configure;
	pthread_mutex_t define;
	pthread_mutex_t threads;
	pthread_mutex_t fork;
};
extern struct core_live *core_live;

/* Initialises core in this process once. False: Kymo cannot work here. */
bool core_init(void);
/* True if core is usable in this process; in a fresh child it is brought in order first. */
bool core_usable(void);
/* A number that a child does not share with its parent. */
extern uint32_t core_generation;

/* ---- domains (domain.c) ---- */

struct cap_domain {
	const struct cap_domain_info *info;
	uint32_t id;   /* from 1 */
	uint16_t base; /* first op number on the wire */
	bool builtin;  /* activity domain: does not by itself make buffers necessary */
};

extern struct cap_domain core_domains[CORE_DOMAINS];
extern _Atomic uint32_t core_domain_count;

/* Registers the activity domains; called once by core_init(). */
void core_activities_register(void);
kymo_status_t core_domain_add_builtin(const struct cap_domain_info *info);
/* Domain and op of a wire op, or NULL. */
const struct cap_domain *core_domain_of(uint16_t wire);
/* Recomputes masks and slots of all ops. Caller holds `configure`. */
void core_masks_update(void);
/* Tells backends what is wanted now. Caller holds no lock. */
void core_wanted_notify(void);
/* Asks every backend to harvest. Caller holds no lock. */
void core_domains_flush(uint64_t deadline);
void core_domains_fork_child(void);
/* (Re)publishes the definitions of a domain. */
void core_domain_define(const struct cap_domain *d);

/* ---- contexts (context.c) ---- */

struct core_service {
	enum { SERVICE_CALLBACK = 1, SERVICE_BUFFER = 2, SERVICE_STACK = 4 } kind;
	kymo_selection_t selection;
	char *domain; /* owned copy of selection.domain, or NULL */
	kymo_callback_fn callback;
	void *data;
};

struct core_context {
	bool used;
	bool active;
	uint32_t generation; /* in the handle: stale handles are recognised */
	uint32_t service_count;
	struct core_service services[CORE_SERVICES];
	struct core_buffer *buffer; /* or NULL */
};

extern struct core_context core_contexts[CORE_CONTEXTS];
/* What context `c` wants of `op`: SERVICE_* bits. Caller holds `configure`. */
unsigned core_context_wants(const struct core_context *c, const struct cap_domain *d, uint32_t op);

/* Some context wants call stacks of the op of this wire number. */
bool core_stack_wanted(uint16_t wire);

/* ---- buffers (buffer.c, buffer_info.c, pool.c) ---- */

#define CORE_BUFFER_BYTES (64u << 20) /* unless the tool says otherwise */

struct core_buffer {
	_Atomic bool used; /* looked at without a lock; set once the rest is filled in */
	_Atomic bool ready; /* the pool exists in this process */
	bool refused;      /* share() failed: nothing is recorded */
	bool defines;      /* has all definitions so far; under `define` */
	uint8_t index;     /* into cap_thread.rings */
	uint8_t context;
	uint32_t generation;
	kymo_buffer_desc_t desc;
	struct shm_header *pool; /* mapping; NULL until ready */
	size_t pool_bytes;
	struct wire_chunk *definitions; /* chunk being filled, under `define` */
	uint32_t definitions_chunk;
	uint64_t definitions_seq;
	struct core_delivery *delivery; /* private buffers, once ready */
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
void core_buffer_release(struct core_buffer *b);
/* Child: forgets the parent's pools. */
void core_buffers_fork_child(void);
kymo_status_t core_buffer_drain(struct core_buffer *b, uint64_t timeout_ns);
/* Asks for delivery of everything; the number to wait for in `flushed`. */
uint32_t core_buffer_flush(struct core_buffer *b);
/* Delivers what private buffers hold and ends their threads. */
void core_buffers_deliver(void);
/* Marks all shared pools finalised and wakes their drains. */
void core_buffers_finalize(void);

/* pool.c */
/* Shared, with a descriptor to pass on, when `memfd` is not NULL; private otherwise. */
struct shm_header *core_pool_create(uint64_t bytes, int *memfd, size_t *mapped);
void core_pool_destroy(struct shm_header *pool, size_t mapped);
/* A chunk in state FILLING; SHM_NONE: none after the policy's wait. */
uint32_t core_pool_get(struct shm_header *pool, enum shm_list list, uint64_t wait_ns);
/* Hands a chunk to the reading side. */
void core_pool_put(struct shm_header *pool, uint32_t chunk);
bool core_pool_reader_alive(const struct shm_header *pool);
void core_futex_wake(_Atomic uint32_t *word, int count);
void core_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns);

/* deliver.c, delivery_pool.c: the reading side of private buffers; see deliver.h */
/* Attaches the buffer to its pool; core_deliver_threads_start() follows. Caller holds `configure`. */
bool core_deliver_start(struct core_buffer *b);
/* Makes the threads that pools lack. Caller holds no lock. */
void core_deliver_threads_start(void);
/*
 * Delivers what is there and ends. False: a callback has not come back within `timeout_ns` (0: wait
 * for ever), or it is the one that asks.
 */
bool core_deliver_stop(struct core_buffer *b, uint64_t timeout_ns);
/* The calling thread delivers for this buffer or for others of its pool: it cannot wait for it. */
bool core_deliver_inside(const struct core_buffer *b);
/* There is something to do for this private pool. */
void core_deliver_wake(struct shm_header *pool);
/* A producer finds no room in it, and waits for some or drops. */
void core_deliver_starved(struct shm_header *pool, bool waits);
void core_deliver_fork_child(void);
void core_pools_fork_child(void);

/* announce.c */
/*
 * Makes a thread of Kymo's, named "kymo-" and `name` (up to 10 characters): signals masked, calls
 * untraced, tools told. It is detached unless `joinable` is given. Caller holds no lock.
 */
bool core_thread_start(const char *name, void (*fn)(void *), void *arg, pthread_t *joinable);

/* ---- threads (thread.c) ---- */

/* Runs `fn` for every live thread; under the `threads` lock. */
void core_threads_each(void (*fn)(struct cap_thread *t, void *data), void *data);
/* Hands over the chunk a ring fills. Only by the owning thread. */
void core_ring_close(struct core_buffer *b, struct wire_ring *r);
/* Some live thread is filling a chunk of the buffer in this slot, or of one that was there. */
bool core_ring_held(uint32_t slot);
/* Begins a chunk; false: none to be had. */
bool core_ring_open(struct cap_thread *t, struct core_buffer *b, struct wire_ring *r,
		    enum wire_chunk_type type);
void core_threads_init(void);
void core_threads_end_all(void); /* definitions THREAD_END of live threads, at finalisation */
void core_threads_share(struct shm_header *pool); /* open calls go there from now on */
void core_sites_fork_child(void);

/* ---- overhead (overhead.c) ---- */
/* Publishes the cost of a record (measured once) and what was measured so far. */
void core_overhead_define(void);
void core_overhead_fork_child(void);
/* The pool that the drain of this process reads, or NULL. */
struct shm_header *core_shared_pool(void);

/* ---- tallies (tally.c) ---- */
void core_tally_call(struct cap_thread *t, struct core_buffer *b, struct cap_frame *f);
void core_tally_release(struct cap_thread *t);

/* ---- definitions (define.c) ---- */

/* Writes all definitions so far to a buffer that has just been made. */
void core_define_replay(struct core_buffer *b);
void core_define_process(void);
void core_define_process_end(uint32_t how);
void core_define_modules(void);
void core_define_tick_sync(void);
void core_define_fork_child(void);
extern _Atomic uint64_t core_untraced, core_untimed;

/* ---- markers (marker.c) ---- */
/* The calling thread ends: so do its ranges. */
void core_marker_thread_end(struct cap_thread *t);
/* The process ends: so do all ranges; mistakes are noted. */
void core_marker_finalize(void);

/* ---- tools (tool.c) ---- */
void core_tools_discover(void);
void core_tools_fork_child(void);
void core_tools_finalize(void);
/* Calls the tools of `f->callbacks`; `user`: 64 words kept from ENTER to EXIT. */
void core_callbacks(struct cap_frame *f, void *args, enum cap_phase phase, uint64_t *user);

#endif
