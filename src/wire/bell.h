/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bell of a shared buffer. The program rings when there is enough for the drain to do, or somebody waits
 * for it; handing over one chunk more does not wake it, nor keep it from sleeping.
 */
#ifndef WIRE_BELL_H
#define WIRE_BELL_H

#include "base/futex.h"
#include "wire/shm.h"

/* What it is rung for has been written before. */
static inline void shm_ring(struct shm_header *h)
{
	atomic_fetch_add(&h->bell, 1);
	futex_wake(&h->bell, 1);
}

#endif
