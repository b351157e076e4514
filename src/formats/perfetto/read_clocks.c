/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks. Snapshots say what several of them showed at once; the last one that has a clock tells how far it is
 * from the trace's. Those numbered 64 to 127 are of their sequence, and may count from the packet before.
 */
#include "base/vec.h"
#include "formats/perfetto/reader.h"

enum { CLOCK_REALTIME_ID = 1, CLOCK_BOOTTIME_ID = 6, SEQUENCE_FIRST = 64, SEQUENCE_LAST = 127 };
enum { CLOCKS_MAX = 32 }; /* of a snapshot */

static uint64_t clock_key(uint64_t sequence, uint64_t clock)
{
	bool own = clock >= SEQUENCE_FIRST && clock <= SEQUENCE_LAST;

	return hash_mix(hash_u64(own ? sequence + 1 : 0), clock);
}

static struct clock_in *find(struct pfreader *r, uint64_t key)
{
	uint64_t i = map_get(&r->clock_places, key);

	return i ? &r->clocks[i - 1] : NULL;
}

static struct clock_in *get(struct pfreader *r, uint64_t key)
{
	struct clock_in *c = find(r, key);

	if (c)
		return c;
	if (!vec_reserve(&r->clocks, &r->clock_room, r->clock_count, 1) ||
	    !map_set(&r->clock_places, key, r->clock_count + 1u)) {
		r->failed = true;
		return NULL;
	}
	c = &r->clocks[r->clock_count++];
	*c = (struct clock_in){.key = key, .multiplier = 1};
	return c;
}

struct shown {
	uint64_t id;
	int64_t time;
	int64_t multiplier;
	bool incremental;
};

/* Wrong numbers may not overflow. */
static int64_t times(uint64_t a, int64_t b)
{
	return (int64_t)(a * (uint64_t)b);
}

static int64_t plus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t minus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

static void read_clock(struct pfreader *r, struct part message, struct shown *out)
{
	struct proto_walk w = proto_walk(message);
	struct proto_field f;
	uint64_t time = 0;

	*out = (struct shown){.multiplier = 1};
	while (proto_next(&w, &f)) {
		if (proto_is(&f, 1, PROTO_NUMBER, &r->wrong))
			out->id = f.v;
		else if (proto_is(&f, 2, PROTO_NUMBER, &r->wrong))
			time = f.v;
		else if (proto_is(&f, 3, PROTO_NUMBER, &r->wrong))
			out->incremental = f.v != 0;
		else if (proto_is(&f, 4, PROTO_NUMBER, &r->wrong) && f.v && f.v < 1u << 30)
			out->multiplier = (int64_t)f.v;
	}
	out->time = times(time, out->multiplier);
	r->damaged += w.broken;
}

/* What the trace's clock showed then; false: nothing in the snapshot tells it. */
static bool trace_shows(struct pfreader *r, uint64_t sequence, const struct shown *list, unsigned n,
			int64_t *out)
{
	for (unsigned i = 0; i < n; i++)
		if (list[i].id == r->primary) {
			*out = list[i].time;
			return true;
		}
	for (unsigned i = 0; i < n; i++) {
		const struct clock_in *c = find(r, clock_key(sequence, list[i].id));

		if (c && c->known) {
			*out = plus(list[i].time, c->offset);
			return true;
		}
	}
	return false;
}

static void take(struct pfreader *r, uint64_t sequence, const struct shown *s, int64_t trace)
{
	struct clock_in *c = get(r, clock_key(sequence, s->id));

	if (!c)
		return;
	c->offset = minus(trace, s->time);
	c->last = s->time;
	c->multiplier = s->multiplier;
	c->incremental = s->incremental;
	c->known = true;
	if (s->id == CLOCK_REALTIME_ID && !r->realtime)
		r->realtime = minus(s->time, trace);
}

void pfread_snapshot(struct pfreader *r, uint64_t sequence, struct part snapshot)
{
	struct proto_walk w = proto_walk(snapshot);
	struct shown list[CLOCKS_MAX];
	struct proto_field f;
	uint64_t primary = 0;
	unsigned n = 0;
	int64_t trace;

	while (proto_next(&w, &f)) {
		if (proto_is(&f, 1, PROTO_PART, &r->wrong) && n < CLOCKS_MAX)
			read_clock(r, f.s, &list[n++]);
		else if (proto_is(&f, 2, PROTO_NUMBER, &r->wrong))
			primary = f.v;
	}
	r->damaged += w.broken;
	if (!r->primary)
		r->primary = primary ? primary : CLOCK_BOOTTIME_ID;
	if (!n)
		return;
	if (!trace_shows(r, sequence, list, n, &trace))
		trace = list[0].time; /* it is the only clock that is known */
	for (unsigned i = 0; i < n; i++)
		take(r, sequence, &list[i], trace);
}

bool pfread_time(struct pfreader *r, uint64_t sequence, uint64_t clock, uint64_t timestamp,
		 int64_t *out)
{
	struct clock_in *c;

	*out = (int64_t)timestamp;
	if (clock && clock != (r->primary ? r->primary : CLOCK_BOOTTIME_ID)) {
		c = find(r, clock_key(sequence, clock));
		if (!c) {
			r->no_clock++;
			if (clock >= SEQUENCE_FIRST)
				return false; /* nothing is known of it; others are taken as they are */
		} else {
			*out = times(timestamp, c->multiplier);
			if (c->incremental)
				*out = c->last = plus(c->last, *out);
			*out = plus(*out, c->offset);
		}
	}
	if (assembly_is_time(*out))
		return true;
	r->bad_times++;
	return false;
}
