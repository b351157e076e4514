/* SPDX-License-Identifier: Apache-2.0 */
/* What the files share that map a buffer (producer_memory.c), empty it (producer.c), take it over (restore.c). */
#ifndef DRAIN_PRODUCER_INSIDE_H
#define DRAIN_PRODUCER_INSIDE_H

#include "drain/producer.h"

static inline struct shm_chunk_ctl *ctl_of(const struct producer *p)
{
	return (struct shm_chunk_ctl *)((uint8_t *)p->shm + p->ctl_offset);
}

static inline struct wire_chunk *chunk_of(const struct producer *p, uint32_t i)
{
	return (struct wire_chunk *)((uint8_t *)p->shm + p->chunks_offset +
				     (size_t)i * p->chunk_size);
}

static inline uint32_t chunk_count(const struct producer *p)
{
	uint32_t n = atomic_load_explicit(&p->shm->chunk_count, memory_order_acquire);

	return n < p->chunk_max ? n : p->chunk_max;
}

enum { SYNC_NS = 1000000000 }; /* between two calibration points */

/* Maps `memfd`; `bytes` and `shm` are known then. */
bool producer_map(struct producer *p);
void producer_guard(const struct producer *p);
/* This drain is the one that empties it, from now on. */
void producer_be_there(struct producer *p);
void producer_beat(struct producer *p);
/* Writes a calibration point. */
void producer_sync(struct producer *p);
void producer_give_back(struct producer *p, uint32_t chunk);
void producer_release(struct producer *p);

#endif
