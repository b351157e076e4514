/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where records go: buffers, the pools of chunks below them, the rings of threads, and what recording costs.
 *
 * Invariants. A ring is written by its own thread alone. A chunk belongs to one thread while its state is FILLING,
 * and to the reading side from the moment it is FULL until it is given back. Of a pool that another process maps
 * nothing that lies in shared memory is believed: geometry and ownership are kept in struct core_pool. A record
 * that finds no room is counted before the thread goes on. Buffers are made and released under
 * core_live->configure; `used`, `ready`, `retired` and `released` are read without it.
 */
#ifndef CORE_RING_H
#define CORE_RING_H

#include <stdatomic.h>
#include <stdbool.h>

#include <kymo/tool.h>

#include "base/locks.h"
#include "core/activity/ordinary.h"
#include "core/capture.h"
#include "core/process/process.h"
#include "wire/live.h"
#include "wire/shm.h"

struct core_context;
struct core_delivery;

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
	uint32_t chunk_size;
	_Atomic uint32_t chunk_max; /* fewer when addresses are given back */
	uint32_t
		size; /* chunks that were asked for; more, up to chunk_max, only for many threads */
	uint32_t kept_back; /* the first chunks are for definitions alone */
	uint32_t wake_threshold;
	bool overwrite;
	_Atomic bool no_memory;       /* what it lacks chunks for */
	struct core_delivery *reader; /* private buffers, once they are delivered */
	_Atomic uint32_t chunk_count;
	_Atomic int32_t held;  /* chunks that threads are filling, or left with little in them */
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
	_Atomic bool used;     /* looked at without a lock; set once the rest is filled in */
	_Atomic bool ready;    /* the pool exists in this process */
	bool refused;          /* share() failed: nothing is recorded */
	bool defines;          /* has all definitions so far; under `define` */
	uint8_t index;         /* into cap_thread.rings, and its bit in masks */
	_Atomic bool retired;  /* its context is gone; freed when nobody uses it */
	bool steered;          /* a thread does what the reading side asks for */
	_Atomic bool released; /* and is to end */
	struct core_context *context;
	uint32_t born; /* core_epoch at its making */
	uint32_t generation;
	kymo_buffer_desc_t desc;
	struct core_pool *pool;         /* NULL until ready */
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
kymo_status_t core_buffer_check_pool(const kymo_buffer_desc_t *desc) REQUIRES(core_live->configure);

/* Makes the pool of a buffer in this process if need be. Caller holds `configure`. */
bool core_buffer_ensure(struct core_buffer *b) REQUIRES(core_live->configure);
/* Hands a buffer over that is to be shared when it is made. Caller holds `configure`. */
void core_buffer_share_early(struct core_buffer *b) REQUIRES(core_live->configure);
/* The same of all, before fork() returns in the child; calls what may be called there. */
void core_buffers_share_in_child(void);
void core_buffer_release(struct core_buffer *b);
/* Frees buffers that are released and that nobody uses any more. Caller holds `configure`. */
void core_buffers_sweep(void) REQUIRES(core_live->configure);
/* Who reads a shared buffer is told that nothing comes any more. */
void core_buffer_leave(struct core_buffer *b) REQUIRES(core_live->configure);
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
/*
 * A shared one goes that this process has recorded into. What threads show of their open calls, and
 * lines, are written to without a lock at any time: so its header, and chunks in use (which are of
 * lines), become memory that nobody reads, and stay, as does `pool`.
 */
void core_pool_abandon(struct core_pool *pool);
/* A shared pool without memory and with few addresses, which core_pool_begin() gives it. */
struct core_pool *core_pool_prepare(uint64_t bytes, int *memfd);
/* What there is no memory for is lost and counted. */
void core_pool_begin(struct core_pool *pool);
/* Gives back the addresses for chunks beyond those that were asked for, as far as there are none yet. */
void core_pool_trim(struct core_pool *pool);
/* Bytes of addresses that core_pool_begin() will take where they are rationed. */
uint64_t core_pool_missing(const struct core_pool *pool);
/* Memory for what shows the calls of a thread; NULL: there is none. */
struct shm_thread *core_pool_thread(const struct core_pool *pool, uint32_t index);
/* A chunk in state FILLING; SHM_NONE: none after the policy's wait. */
uint32_t core_pool_get(struct core_pool *pool, enum shm_list list, uint64_t wait_ns);
/* Hands a chunk to the reading side. */
void core_pool_put(struct core_pool *pool, uint32_t chunk);
/* Counts records as lost; `memory`: for want of memory, not of room in the buffer. */
void core_pool_lose(struct core_pool *pool, uint64_t records, bool memory);
/* Nobody will take what is in it: the drain has ended, or has failed. */
bool core_pool_reader_ended(const struct core_pool *pool);
bool core_pool_reader_alive(const struct core_pool *pool);
bool core_pool_reader_there(const struct core_pool *pool);

/* ---- threads (thread.c) ---- */

/* In a forked child for which the kernel has not done it: their memory reads zero. */
void core_threads_wipe(void);
/* A record is lost because there was no memory for the state of the calling thread. */
void core_lost_without_thread(void);
/* State of the thread for a call; if there is no memory, and some buffer wants it, it is counted as lost. */
struct cap_thread *core_thread_for_call(uint64_t buffers);
/* The program's call stack from the return address `caller` on, as a number; 0: none. */
uint32_t core_stack_here(struct cap_thread *t, const void *caller);
/* Where the calling thread's own stack ends; NULL: `sp` lies in another (of signals, a coroutine). Looked up once a thread. */
const void *core_stack_end(const void *sp);
bool core_stack_known(void);
/* Runs `fn` for every live thread; under the `threads` lock. */
void core_threads_each(void (*fn)(struct cap_thread *t, void *data), void *data);
/*
 * All live threads, in memory that the caller frees; false: there is none. Those that end or begin
 * meanwhile may be missing, or be somebody else's by then: their memory stays.
 */
bool core_threads_list(struct cap_thread ***list, size_t *count);
/* Hands over the chunk a ring fills. Only by the owning thread. */
void core_ring_close(struct core_buffer *b, struct wire_ring *r);
/* Its chunk stays, but shows no room until cap_ring_slow() finds that the thread is not paused. Likewise. */
void core_ring_hide(struct wire_ring *r);
/* Buffers that threads begin paused for. */
extern _Atomic uint64_t core_paused_first;
void core_rings_pause(uint32_t slot);
/* All threads: nothing of the buffer in this slot is left. Only when it is quiet. */
void core_rings_forget(uint32_t slot);
/* Begins a chunk; false: none to be had. */
bool core_ring_open(struct cap_thread *t, struct core_buffer *b, struct wire_ring *r,
		    enum wire_chunk_type type);
void core_threads_init(void);
/* Of the thread that forked this process, or NULL. */
extern struct cap_thread *core_forked;
uint64_t core_tick_span(uint64_t ticks); /* their length in ns, roughly: tick_rate() */
void core_threads_end_all(void); /* definitions THREAD_END of live threads, at finalisation */
/* Open calls go there from now on; NULL: nowhere. */
void core_threads_share(struct core_pool *pool);
void core_sites_fork_child(void);

/* ---- calls (call.c) ---- */

/* Of several buffers those stay in the frame that take the record; the ring of the first. */
struct wire_ring *core_ring_many(struct cap_thread *t, struct cap_frame *f, bool call);
/* A jump has left the innermost call. */
void core_frame_left(struct cap_thread *t);
/* The thread ends inside calls (pthread_exit). */
void core_unwind_all(struct cap_thread *t);

/* ---- overhead (overhead.c) ---- */
/* Publishes the cost of a record (measured once) and what was measured so far. */
void core_overhead_define(void);
/* Once in a process, when Kymo begins. */
void core_overhead_loading(void);
void core_overhead_anew(void);
/* The call in `f`, whose cost is a sample, is recorded. */
void core_overhead_sampled(struct cap_frame *f);
/* The call that is to be in `f` is a sample. */
void core_overhead_sample(struct cap_thread *t, struct cap_frame *f);
/* Ids up to the next sample. */
uint32_t core_overhead_step(struct cap_thread *t);
/* The beginning or the end of something that may wait. */
void core_spent_begin(struct cap_timed *c);
void core_spent_end(const struct cap_timed *c);
/* What cap_cost() has added up. */
uint64_t core_cost(enum cap_cost_of what);
uint64_t core_ns_ticks(uint64_t ns);

/* ---- lines (live.c) ---- */
/* A pointer for each wire op, NULL at first; takes memory where it is used. NULL: there is none. */
void *core_op_table_new(void);
void core_op_table_free(void *table); /* or NULL */
/* A line of that kind for good, or NULL: there is none to be had. */
struct wire_line *core_line_new(enum wire_line_kind kind);
void core_lines_share(struct core_buffer *b);
/* Lines in the pool are none any more; new ones go to `other`, or (NULL) nowhere. */
void core_lines_unshare(struct core_pool *pool, struct core_buffer *other);
/* The line lies in the pool. */
bool core_line_in(const struct core_pool *pool, const struct wire_line *line);
void core_lines_init(void);
void core_lines_fork_child(void);
void core_left_out_release(struct cap_thread *t); /* the thread ends */
/* What the samples of calls say of all of them, so far. */
void core_lines_costs(struct wire_cost_sum *out);
/* The pool that the drain of this process reads, or NULL. */
struct core_pool *core_shared_pool(void);
uint32_t core_shared_arguments(void);

#endif
