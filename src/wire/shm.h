/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layout of a shared buffer: one memfd of a traced process, mapped by the process and by the drain.
 *
 *   page 0      struct shm_header
 *   chunk_ctl   struct shm_chunk_ctl [chunk_max]
 *   threads     struct shm_thread [SHM_THREADS]: open calls, so that a crash shows what was running
 *   chunks      chunk_max chunks of chunk_size bytes; the first chunk_count are backed by memory
 *
 * Life of a chunk: FREE (on a free list) -> FILLING (one thread owns it) -> FULL (handed to the
 * drain) -> FREE. In a flight recorder also FULL -> TAKEN -> FILLING. The two free lists are Treiber stacks of chunk numbers: the program pops, the
 * drain pushes. One list is kept back for definitions so that records cannot starve them.
 *
 * Both sides treat everything here as untrusted, since the other one can write it at any time. Where
 * things are and how large they are is kept in private memory: the program's since it made them
 * (struct core_pool), the drain's since it checked them (struct producer). Chunk numbers are range
 * checked, a chunk is copied before the drain looks at it, and the program never computes where to
 * write from what stands here. The memfd is passed with SCM_RIGHTS; see struct shm_hello.
 */
#ifndef WIRE_SHM_H
#define WIRE_SHM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/wire.h"

#define SHM_MAGIC     0x314d48534f4d594bull /* "KYMOSHM1" */
#define SHM_VERSION   8u
#define SHM_THREADS   8192u
#define SHM_NONE      0xffffffffu
#define SHM_CHUNK_MAX 32768u /* chunks of a buffer at most */

enum shm_list { SHM_LIST_RECORDS = 0, SHM_LIST_DEFINITIONS = 1 };
enum shm_chunk_state {
	SHM_FREE = 0,
	SHM_FILLING = 1,
	SHM_FULL = 2,
	SHM_TAKEN = 3,  /* being emptied by a thread of the program that needs the room */
	SHM_READING = 4 /* bit beside FILLING or FULL: being read, not to be taken away */
};
/* `asked` and `answered`: a number that changes each time, and what is asked for (kymo_steer_t). */
#define SHM_ASKED_NEXT    0x100u
#define SHM_ASKED_WHAT(v) ((v)&0xffu)
/*
 * Beside the drain's socket a link whose name ends so, and whose text is the last PAUSE or RESUME (a
 * kymo_steer_t in decimal): for processes that begin before the drain has heard of them.
 */
#define SHM_STANDS "-stands"
/* The job's table has the tallies of the process: if they are all there is, its file need not stay.
 * KEPT: there is more. */
enum shm_given { SHM_NOT_GIVEN = 0, SHM_GIVEN = 1, SHM_KEPT = 2 };
/*
 * What becomes of memory that was handed over is agreed on here, by the one who is first. That of
 * an early hello is begun by the process when it records; a drain that ends before says so. That of
 * another hello is begun by the drain; a process that waits no longer says so.
 */
enum shm_begun { SHM_NOT_BEGUN = 0, SHM_BEGUN = 1, SHM_TOO_LATE = 2 };
/* LEFT: the process goes on, and writes nothing here any more. */
enum shm_process_state { SHM_RUNNING = 0, SHM_FINALIZED = 1, SHM_EXEC = 2, SHM_LEFT = 3 };

struct shm_chunk_ctl {
	_Atomic uint32_t state; /* enum shm_chunk_state */
	/*
	 * FREE: free list link, chunk number or SHM_NONE. Else: bytes that a private buffer has
	 * delivered while the chunk was being filled.
	 */
	_Atomic uint32_t next;
	uint32_t list;          /* enum shm_list it returns to */
	_Atomic uint32_t stamp; /* in order of being handed over (wraps); 0: never overwritten */
};

struct shm_thread {
	_Atomic uint32_t depth; /* open calls, may exceed WIRE_OPEN_MAX */
	uint32_t tid;           /* 0: slot unused */
	uint32_t index;         /* thread index */
	uint32_t reserved;
	struct wire_open open[WIRE_OPEN_MAX];
};

struct shm_header {
	uint64_t magic;
	uint32_t version;
	uint32_t header_size; /* bytes of this structure */
	uint64_t bytes;       /* of the whole mapping */
	uint64_t ctl_offset;
	uint64_t threads_offset;
	uint64_t chunks_offset;
	uint32_t chunk_size;
	uint32_t chunk_max;
	uint32_t pid;
	uint32_t wake_threshold; /* the program rings when so many more chunks are FULL */
	_Atomic uint32_t chunk_count;
	_Atomic uint32_t state;        /* enum shm_process_state, set by the program */
	_Atomic uint64_t lost_records; /* by all threads so far */
	_Atomic uint64_t lost_definitions;
	_Atomic uint64_t overhead_ticks; /* measured so far, see DEF_OVERHEAD */
	_Atomic uint64_t waiting_ticks;  /* of the program, for room */
	_Atomic uint64_t beside_ticks;   /* spent by threads that are not the program's */
	_Atomic uint64_t loading_ticks;  /* of the program: Kymo was loaded */

	/* Separate cache lines: written by different sides. */
	_Alignas(64) _Atomic uint64_t free_list[2]; /* tag << 32 | chunk number */
	_Alignas(64) _Atomic uint32_t full;         /* chunks handed over so far (wraps) */
	_Atomic uint32_t flush; /* raised by the program to ask for a full pass */
	_Atomic uint32_t bell;  /* futex word: the drain sleeps until it changes, see bell.h */
	_Alignas(64) _Atomic uint32_t freed;      /* chunks given back so far (wraps); futex word */
	_Atomic uint32_t waiters;                 /* program threads waiting on `freed` */
	_Alignas(64) _Atomic uint64_t drain_beat; /* CLOCK_MONOTONIC seconds, kept by the drain */
	_Atomic uint32_t drain_pid;
	_Atomic uint32_t flushed;      /* last `flush` value that was served; futex word */
	_Atomic uint32_t drain_failed; /* errno once the drain can no longer write */
	/*
	 * Thread id of the drain, on its robust list: the kernel puts FUTEX_OWNER_DIED there when it dies,
	 * whatever kills it. 0: the drain cannot, its beat tells.
	 */
	_Atomic uint32_t drain_life;
	_Atomic uint32_t
		drain_kept;     /* a drain that dies is followed by another, which takes a moment */
	_Atomic uint32_t asked; /* of the program, see SHM_ASKED_NEXT; futex word */

	_Alignas(64) _Atomic uint32_t stamps; /* given to chunks so far (wraps) */
	uint32_t overwrite; /* a flight recorder: the oldest FULL chunk gives way when none is free;
			       the drain takes chunks of records only at the end and on `flush` */
	_Atomic uint64_t overwritten_records;
	uint32_t kept_back;         /* the first chunks are for definitions alone */
	_Atomic uint32_t wake_at;   /* private buffers: value of `full` at which delivery begins */
	_Atomic uint32_t answered;  /* `asked` as far as the program has done it */
	_Atomic uint32_t given;     /* enum shm_given; to be looked at when the process is gone */
	_Atomic uint32_t begun;     /* enum shm_begun */
	_Atomic uint32_t listening; /* 1: a thread of the program waits for `asked`, begun or not */
	_Atomic uint64_t no_memory_records; /* of lost_records: not for want of room, of memory */
	_Atomic uint64_t dropped_records;   /* of lost_records: never came, see cap_lost() */
	/* What the process used, told when it ends; resident_bytes 0: not yet. */
	_Atomic uint64_t user_ns, system_ns, resident_bytes;
	/* Of that and of what the kernel tells: before the recording began, in a process that ran already. */
	_Atomic uint64_t user_before_ns, system_before_ns;
};

/* First message on the drain's SOCK_SEQPACKET socket, with the memfd attached. */
struct shm_hello {
	uint64_t magic; /* SHM_MAGIC */
	uint32_t version;
	uint32_t pid;   /* in the program's own pid namespace; the drain trusts SO_PEERCRED */
	uint64_t bytes; /* of the memfd; without one: errno of why there is none */
	uint64_t
		image; /* another after exec(), the same for all buffers of an image; 0: not told */
	uint64_t early; /* 1: it may never record; turned away, it asks again when it does */
};

/* The drain's answer once it has mapped the memory; the program then closes socket and memfd. */
struct shm_welcome {
	uint64_t magic;
	uint32_t version;
	int32_t status; /* 0, or a kymo_status_t */
};

/* Somebody who keeps changing a list must not hold the other side for ever. */
#define SHM_POP_TRIES 65536u

/*
 * Pushes chunk `i` on its free list. Takes the control blocks as an argument: each side passes what
 * it keeps in its own memory, nobody computes an address from the shared page.
 */
static inline void shm_push(struct shm_header *h, struct shm_chunk_ctl *ctl, uint32_t i,
			    enum shm_list list)
{
	uint64_t old = atomic_load_explicit(&h->free_list[list], memory_order_relaxed), new;

	do {
		atomic_store_explicit(&ctl[i].next, (uint32_t)old, memory_order_relaxed);
		new = ((old >> 32) + 1) << 32 | i;
	} while (!atomic_compare_exchange_weak_explicit(
		&h->free_list[list], &old, new, memory_order_release, memory_order_relaxed));
}

/*
 * Pops a chunk number below `count`, SHM_NONE when the list is empty or holds none. The other side
 * can write into the list: that the chunk is free has to be known from elsewhere.
 */
static inline uint32_t shm_pop(struct shm_header *h, struct shm_chunk_ctl *ctl, uint32_t count,
			       enum shm_list list)
{
	uint64_t old = atomic_load_explicit(&h->free_list[list], memory_order_acquire), new;
	uint32_t tries = 0;

	do {
		uint32_t i = (uint32_t)old;

		if (i >= count || tries++ == SHM_POP_TRIES)
			return SHM_NONE;
		new = ((old >> 32) + 1) << 32 |
		      atomic_load_explicit(&ctl[i].next, memory_order_relaxed);
	} while (!atomic_compare_exchange_weak_explicit(
		&h->free_list[list], &old, new, memory_order_acquire, memory_order_acquire));
	return (uint32_t)old;
}

#endif
