/* SPDX-License-Identifier: Apache-2.0 */
/* Paths of scopes; see around.h. */
#include "formats/perfetto/around.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

enum { RECENT_MAX = 1 << 20, PATH_SIZE = 1024 };

static uint64_t key_of(uint32_t process, uint64_t id)
{
	return (uint64_t)process << 48 ^ id;
}

/* Where the ring is full, the oldest one gives way that has ended, of a few. */
static struct recent_key *place(struct recent *t, int64_t now)
{
	enum { LOOK = 256 };

	if (t->count < RECENT_MAX) {
		if (!vec_reserve(&t->ring, &t->room, t->count, 1))
			return NULL;
		return &t->ring[t->count++];
	}
	for (uint32_t i = 0; i < LOOK; i++) {
		struct recent_key *k = &t->ring[t->next];

		t->next = (t->next + 1) % RECENT_MAX;
		if (k->end <= now || i + 1 == LOOK) {
			map_remove(&t->values, k->key);
			return k;
		}
	}
	return NULL;
}

/* Without memory it is not known later: that is no reason to end. */
static void put(struct recent *t, uint64_t key, uint64_t value, int64_t start, int64_t end)
{
	struct recent_key *k;

	if (!value || map_get(&t->values, key))
		return;
	k = place(t, start);
	if (k && map_set(&t->values, key, value))
		*k = (struct recent_key){key, end};
}

uint32_t around_path(const struct around *s, uint32_t process, int64_t scope)
{
	return scope ? (uint32_t)map_get(&s->ranges.values, key_of(process, (uint64_t)scope)) : 0;
}

uint32_t around_work(const struct around *s, const struct rec *r, uint64_t call)
{
	uint32_t path = around_path(s, r->process, r->scope);

	if (path || !call)
		return path;
	return (uint32_t)map_get(&s->calls.values, key_of(r->process, call));
}

void around_range(struct around *s, const struct rec_marker *r)
{
	uint32_t above = around_path(s, r->base.process, r->base.scope);
	int length = (int)(r->name || r->text_length > PATH_SIZE ? PATH_SIZE : r->text_length);
	char text[PATH_SIZE];
	bool fresh;

	snprintf(text, sizeof(text), "%s%s%.*s", above ? around_text(s, above) : "",
		 above ? "/" : "", length, r->text ? r->text : "");
	put(&s->ranges, key_of(r->base.process, (uint64_t)r->scope),
	    intern_get(&s->paths, text, &fresh), r->base.start, r->base.end);
}

void around_call(struct around *s, const struct rec *r)
{
	put(&s->calls, key_of(r->process, r->id), around_path(s, r->process, r->scope), r->start,
	    r->end);
}

static void release(struct recent *t)
{
	map_release(&t->values);
	free(t->ring);
}

void around_release(struct around *s)
{
	intern_release(&s->paths);
	release(&s->ranges);
	release(&s->calls);
}
