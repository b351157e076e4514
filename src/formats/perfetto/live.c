/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open addressing; a removal moves later entries of the cluster up. See live.h.
 */
#include "formats/perfetto/live.h"

#include <stdlib.h>
#include <string.h>

#define LIVE_MAX (1u << 20) /* entries; 32 MiB of table */

static uint32_t home(const struct live *l, uint64_t id)
{
	return (uint32_t)((id * 0x9e3779b97f4a7c15ull) >> 32) & (l->slot_count - 1);
}

/* Slot of `id`, or the free one where it would go. */
static uint32_t find(const struct live *l, uint64_t id)
{
	uint32_t at = home(l, id);

	while (l->slots[at].id && l->slots[at].id != id)
		at = (at + 1) & (l->slot_count - 1);
	return at;
}

static bool grow(struct live *l)
{
	struct live bigger = {.slot_count = l->slot_count ? l->slot_count * 2 : 1024};
	uint32_t i;

	if (l->count >= LIVE_MAX)
		return false;
	bigger.slots = calloc(bigger.slot_count, sizeof(*bigger.slots));
	if (!bigger.slots)
		return false;
	for (i = 0; i < l->slot_count; i++) {
		if (l->slots[i].id)
			bigger.slots[find(&bigger, l->slots[i].id)] = l->slots[i];
	}
	free(l->slots);
	l->slots = bigger.slots;
	l->slot_count = bigger.slot_count;
	return true;
}

void live_put(struct live *l, uint64_t id, uint64_t bytes)
{
	uint32_t at;

	if (l->count * 2 >= l->slot_count && !grow(l)) {
		l->overflowed = true;
		return;
	}
	at = find(l, id);
	l->count += l->slots[at].id == 0;
	l->slots[at] = (struct live_entry){id, bytes};
}

static void erase(struct live *l, uint32_t hole)
{
	uint32_t mask = l->slot_count - 1, at = (hole + 1) & mask;

	for (; l->slots[at].id; at = (at + 1) & mask) {
		/* An entry may fill the hole if its home does not lie behind it. */
		if (((at - home(l, l->slots[at].id)) & mask) >= ((at - hole) & mask)) {
			l->slots[hole] = l->slots[at];
			hole = at;
		}
	}
	l->slots[hole].id = 0;
	l->count--;
}

uint64_t live_take(struct live *l, uint64_t id, uint64_t otherwise)
{
	uint32_t at = l->slot_count ? find(l, id) : 0;
	uint64_t bytes;

	if (!l->slot_count || !l->slots[at].id)
		return l->overflowed ? otherwise : 0;
	bytes = l->slots[at].bytes;
	erase(l, at);
	return bytes;
}

void live_release(struct live *l)
{
	free(l->slots);
	memset(l, 0, sizeof(*l));
}
