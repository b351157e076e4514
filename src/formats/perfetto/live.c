/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations that are alive; see live.h. */
#include "formats/perfetto/live.h"

#define LIVE_MAX (1u << 20) /* 32 MiB of table */

/* In the map are sizes plus one. */
void live_put(struct live *l, uint64_t id, uint64_t bytes)
{
	uint64_t value = bytes == UINT64_MAX ? bytes : bytes + 1;

	if ((l->sizes.count >= LIVE_MAX && !map_get(&l->sizes, id)) ||
	    !map_set(&l->sizes, id, value))
		l->overflowed = true;
}

uint64_t live_take(struct live *l, uint64_t id, uint64_t otherwise)
{
	uint64_t value = map_remove(&l->sizes, id);

	if (!value)
		return l->overflowed ? otherwise : 0;
	return value - 1;
}

void live_release(struct live *l)
{
	map_release(&l->sizes);
	*l = (struct live){0};
}
