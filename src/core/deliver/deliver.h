/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Delivery of private buffers to callbacks of tools, as the other rooms see it; its parts share pass.h.
 *
 * Invariants. Records of a thread are delivered in the order of recording; a buffer is delivered by one thread at
 * a time; no lock of core is held during a callback. What is not delivered at the end is counted as lost.
 */
#ifndef CORE_DELIVER_H
#define CORE_DELIVER_H

#include <stdbool.h>
#include <stdint.h>

#include <kymo/tool.h>

#include "base/locks.h"
#include "core/capture.h"
#include "core/process/process.h"

struct core_buffer;
struct core_pool;

/* Attaches the buffer to its pool; core_deliver_threads_start() follows. Caller holds `configure`.
 */
bool core_deliver_start(struct core_buffer *b) REQUIRES(core_live->configure);
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

#endif
