/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Life of core in a process: initialisation, fork, finalisation; Kymo's own threads.
 *
 * Invariants. `core_live` lies in a wipe-on-fork page: in a child it reads zero, its locks are free, and nothing
 * of core may be used before core_usable() has brought the process in order. Locks, outermost first:
 * core_live->fork (who brings a child in order; others wait), core_live->configure (contexts, services, domains),
 * core_live->tallies (tallies, ends of threads), core_live->define (definitions, notes), core_live->threads (thread
 * slots, sites, stacks), core_live->lines. Traced calls take none of them in the ordinary case, and nobody calls a
 * tool or a backend's function with one held, but for `fork`, unless its comment says so.
 */
#ifndef CORE_PROCESS_H
#define CORE_PROCESS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <kymo/tool.h>

#include "base/locks.h"
#include "core/capture.h"
#include "core/process/barrier.h"
#include "wire/live.h"

struct shm_header;

struct core_buffer;
struct core_pool;

/* ---- process (process.c) ---- */

struct core_live { /* zero in a forked child until core_usable() */
	_Atomic uint64_t magic;
	pthread_mutex_t fork; /* outermost; the others in this order */
	pthread_mutex_t configure;
	pthread_mutex_t tallies; /* of threads: held while they are walked, or end */
	pthread_mutex_t define;
	pthread_mutex_t threads;
	pthread_mutex_t lines;
	_Atomic int ending;        /* the process, if a thread waits for its end; see ending.c */
	struct cap_lines lines_of; /* of the shared buffer (live.c): a child finds none */
	uint32_t line_count;       /* lines given out */
	_Atomic uint32_t
		reviving; /* thread that brings a child in order, for which it is usable already */
	uint64_t lines_none; /* work under way that has no line, under `lines` */
};
extern struct core_live *core_live;

/* Initialises core in this process once. False: Kymo cannot work here. */
bool core_init(void);
/* True if core is usable in this process; in a fresh child it is brought in order first. */
bool core_usable(void);

/*
 * Between these no handler of the program's runs, which might leave by siglongjmp() and leave a lock taken. They cost two
 * system calls.
 */
void core_signals_block(uint64_t *before);
void core_signals_restore(const uint64_t *before);
extern _Atomic bool core_finalized;
/* What the process has used, to where the drain sees it (usage.c). */
void core_usage_show(void);
/* What it has used up to now is no part of the recording that is to come; what that was is told to the drain. */
void core_usage_begin(void);
void core_usage_before(struct shm_header *h);
/* KYMO_OK while something may be changed; initialises core. */
kymo_status_t core_changeable(void);
/* A number that a child does not share with its parent. */
extern uint32_t core_generation;

/* ---- the end by _exit() (ending.c) ---- */
/*
 * A backend is there (NULL: those known still are): makes the thread that collects at the end, if it
 * needs one. Caller holds no lock.
 */
void core_ending_start(const struct cap_domain_info *info);
void core_ending_fork_child(void);

/* ---- what the reading side asks for (steer.c) ---- */
/* Threads for shared buffers with `steer` that need one and have none yet. Caller holds no
 * lock. */
void core_steer_start(void);
/*
 * The same before fork() returns in the child. Where tools are to hear of threads it waits until the
 * child uses Kymo: before that they are not called.
 */
void core_steer_start_in_child(void);
/* The threads end (true: it waits for them), and are made again. Caller holds no lock. */
void core_steer_rest(bool rests);
/* Does what was asked of buffers that are not ready yet. Caller holds no lock. */
void core_steer_catch_up(void);
/* Memory has been made for the buffer: what its process was told before holds there. */
void core_steer_made(const struct core_buffer *b, struct core_pool *pool);
/* What the buffer has shared early is gone; others look elsewhere. Caller holds `configure`. */
void core_steer_drops(struct core_buffer *b) REQUIRES(core_live->configure);
/* Child: the threads are the parent's. Calls what may be called in fork(). */
void core_steer_fork_child(void);
/* That of a buffer that goes away is to end. Caller holds `configure`. */
void core_steer_end(struct core_buffer *b) REQUIRES(core_live->configure);

#endif
