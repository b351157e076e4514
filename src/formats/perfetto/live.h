/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes of the allocations that are alive, so that a free takes back exactly what its own
 * allocation added: frees may come without a size, and allocations made before the recording began
 * were never added. Bounded; beyond the bound a free's own size is believed.
 */
#ifndef FORMATS_PERFETTO_LIVE_H
#define FORMATS_PERFETTO_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"

struct live {
	struct map sizes;
	bool overflowed; /* some allocations are not in the table */
};

/* Remembers a lifetime; `id` is not 0. */
void live_put(struct live *l, uint64_t id, uint64_t bytes);

/* Forgets it and returns its size; `otherwise` if it cannot be known. */
uint64_t live_take(struct live *l, uint64_t id, uint64_t otherwise);

void live_release(struct live *l);

#endif
