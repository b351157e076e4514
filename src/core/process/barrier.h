/* SPDX-License-Identifier: Apache-2.0 */
/* The dear side of what is made cheap on the other: plain memory accesses where all others need locks. */
#ifndef CORE_BARRIER_H
#define CORE_BARRIER_H

/*
 * What other threads did before is seen, and what they do from now on sees what was stored before:
 * makes the plain stores of cap_read_lock() enough, and of who owns something alone.
 */
void core_barrier(void);

#endif
