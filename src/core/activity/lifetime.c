/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations by address, from their calls' end to their end; see lifetime.h. */
#include "core/activity/lifetime.h"

#include <stdlib.h>

/*
 * Of an address: as many threads can be between a free in the runtime and the end of its call. What
 * is older has ended unseen (with its context, or while nothing was recorded), and is forgotten.
 */
#define KEPT 8

struct lifetime {
	struct cap_memory memory;
	struct lifetime *older;
};

/* Takes out what is beyond KEPT. */
static struct lifetime *cut(struct lifetime *newest)
{
	struct lifetime *last = newest, *beyond;

	for (unsigned n = 1; n < KEPT && last; n++)
		last = last->older;
	if (!last)
		return NULL;
	beyond = last->older;
	last->older = NULL;
	return beyond;
}

void cap_lifetime_begin(struct cap_lifetimes *s, uint64_t key, const struct cap_memory *m)
{
	struct lifetime *x = malloc(sizeof(*x)), *unused;

	if (!x)
		return;
	x->memory = *m;
	pthread_mutex_lock(&s->lock);
	x->older = map_get_pointer(&s->newest, key);
	unused = map_set_pointer(&s->newest, key, x) ? cut(x) : x;
	pthread_mutex_unlock(&s->lock);
	free(unused);
}

/* With the lock. */
static void unlink_lifetime(struct cap_lifetimes *s, uint64_t key, struct lifetime *younger,
			    const struct lifetime *x)
{
	if (younger)
		younger->older = x->older;
	else if (x->older)
		map_set_pointer(&s->newest, key, x->older); /* replaces: cannot fail */
	else
		map_remove_pointer(&s->newest, key);
}

bool cap_lifetime_end(struct cap_lifetimes *s, uint64_t key, uint64_t before,
		      struct cap_memory *out)
{
	struct lifetime *x, *younger = NULL;
	bool found;

	pthread_mutex_lock(&s->lock);
	x = map_get_pointer(&s->newest, key);
	for (; x && x->memory.born > before; x = x->older)
		younger = x;
	if (x)
		unlink_lifetime(s, key, younger, x);
	pthread_mutex_unlock(&s->lock);
	found = x != NULL;
	if (found)
		*out = x->memory;
	free(x);
	return found;
}

void cap_lifetimes_drop(struct cap_lifetimes *s)
{
	*s = (struct cap_lifetimes)CAP_LIFETIMES;
}
