/* SPDX-License-Identifier: Apache-2.0 */
/* Packets: what each sequence has said so far, tracks, and events as entries; see reader.h. */
#include <string.h>

#include "base/bulk.h"
#include "base/vec.h"
#include "formats/perfetto/reader.h"

enum {
	PACKET_CLOCKS = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_FLAGS = 13,
	PACKET_CLEARED = 41,
	PACKET_DROPPED = 42,
	PACKET_PROCESS = 43,
	PACKET_THREAD = 44,
	PACKET_STAGE = 53,
	PACKET_PROFILE = 54,
	PACKET_SAMPLE = 66,
	PACKET_CLOCK = 58,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK = 60,
	PACKET_TREE = 2
};

enum { FLAG_CLEARED = 1, FLAG_NEEDS = 2 };

enum { SAMPLE_DEFAULTS = 12, CPU_CLOCK = 1 };
#define SECOND UINT64_C(1000000000)

struct packet_in {
	uint64_t timestamp, clock, sequence, flags;
	bool has_timestamp, has_clock, cleared, dropped;
	struct part event, interned, defaults, snapshot, track, stage, tree, thread, sample,
		profile;
	const char *other; /* that is not taken */
};

/* ---- what is not taken ------------------------------------------------------------------------ */

static const char *left_out(uint32_t field)
{
	switch (field) {
	case 1:
		return "packets of ftrace";
	case 9:
		return "packets of process statistics";
	case 49:
		return "packets of profiles";
	case 4:
	case 5:
	case 7:
	case 34:
	case 37:
	case 38:
	case 39:
	case 40:
	case 52:
	case 70:
	case 71:
		return "packets of other data sources";
	case 57:
	case 62:
	case 63:
	case 67:
		return "packets of graphics";
	default: /* of the trace itself */
		return NULL;
	}
}

/* ---- sequences -------------------------------------------------------------------------------- */

static struct sequence *sequence(struct pfreader *r, uint64_t id)
{
	uint64_t i = map_get(&r->sequence_places, id);

	if (i)
		return &r->sequences[i - 1];
	if (!vec_reserve(&r->sequences, &r->sequence_room, r->sequence_count, 1) ||
	    !map_set(&r->sequence_places, id, r->sequence_count + 1u)) {
		r->failed = true;
		return NULL;
	}
	r->sequences[r->sequence_count] =
		(struct sequence){.id = id, .counters = PART_NONE, .real_counters = PART_NONE};
	return &r->sequences[r->sequence_count++];
}

static void clear(struct pfreader *r, struct sequence *s)
{
	s->generation = ++r->generations;
	s->valid = true;
	s->has_track = s->has_clock = false;
	s->counters = s->real_counters = PART_NONE;
}

static void read_event_defaults(struct pfreader *r, struct sequence *s, struct part m)
{
	struct proto_walk w = proto_walk(m);
	struct proto_field f;

	while (proto_next(&w, &f)) {
		if (proto_is(&f, 11, PROTO_NUMBER, &r->wrong)) {
			s->track = f.v;
			s->has_track = true;
		} else if (f.number == 31) {
			s->counters = m;
		} else if (f.number == 45) {
			s->real_counters = m;
		}
	}
	r->damaged += w.broken;
}

/* How often samples are taken: so many times a second, or after so many ns of the processor's clock. */
static int64_t weight_of(struct part timebase)
{
	struct proto_walk w = proto_walk(timebase);
	uint64_t period = 0, frequency = 0, counter = 0;
	bool events = false;
	struct proto_field f;

	while (proto_next(&w, &f)) {
		if (f.number == 1 && f.type == PROTO_NUMBER)
			period = f.v;
		else if (f.number == 2 && f.type == PROTO_NUMBER)
			frequency = f.v;
		else if (f.number == 4 && f.type == PROTO_NUMBER)
			counter = f.v;
		events |= f.number == 3 || f.number == 5;
	}
	if (events || counter > CPU_CLOCK)
		return 0;
	if (frequency)
		return (int64_t)(SECOND / frequency);
	return counter == CPU_CLOCK && period < INT64_MAX ? (int64_t)period : 0;
}

static int64_t read_sample_defaults(struct part m)
{
	struct proto_walk w = proto_walk(m);
	struct proto_field f;

	while (proto_next(&w, &f))
		if (f.number == 1 && f.type == PROTO_PART)
			return weight_of(f.s);
	return 0;
}

static void read_defaults(struct pfreader *r, struct sequence *s, struct part m)
{
	struct proto_walk w = proto_walk(m);
	struct proto_field f;

	s->has_track = s->has_clock = false;
	s->counters = s->real_counters = PART_NONE;
	s->weight = 0;
	while (proto_next(&w, &f)) {
		if (proto_is(&f, PACKET_CLOCK, PROTO_NUMBER, &r->wrong)) {
			s->clock = f.v;
			s->has_clock = true;
		} else if (proto_is(&f, PACKET_EVENT, PROTO_PART, &r->wrong)) {
			read_event_defaults(r, s, f.s);
		} else if (f.number == SAMPLE_DEFAULTS && f.type == PROTO_PART) {
			s->weight = read_sample_defaults(f.s);
		}
	}
	r->damaged += w.broken;
}

/* ---- interned data ---------------------------------------------------------------------------- */

uint32_t pfread_text(struct pfreader *r, struct part s)
{
	return keyed_text(&r->keyed, (const char *)s.s, s.n);
}

static uint64_t interned_key(uint32_t generation, uint32_t kind, uint64_t iid)
{
	return hash_mix(hash_u64((uint64_t)generation << 32 | kind), iid);
}

uint64_t pfread_interned(const struct pfreader *r, uint32_t generation, enum interned_kind kind,
			 uint64_t iid)
{
	return map_get(&r->interned, interned_key(generation, kind, iid));
}

/* It is looked into when it is asked for. */
static bool is_message(uint32_t kind)
{
	return kind == INTERNED_CONTEXT || kind == INTERNED_STAGE || kind == INTERNED_FRAME ||
	       kind == INTERNED_CALLSTACK || kind == INTERNED_MAPPING;
}

/* The number of an entry is always its first field, its text the second. */
static void intern(struct pfreader *r, uint32_t generation, uint32_t kind, struct part m)
{
	struct proto_walk w = proto_walk(m);
	struct part text = PART_NONE;
	struct proto_field f;
	uint64_t iid = 0, value;

	while (proto_next(&w, &f)) {
		if (proto_is(&f, 1, PROTO_NUMBER, &r->wrong))
			iid = f.v;
		else if (f.number == 2 && f.type == PROTO_PART)
			text = f.s;
	}
	r->damaged += w.broken;
	value = is_message(kind)
			? (uint64_t)(m.s - r->in.data) << 20 | (m.n < 0xfffff ? m.n + 1 : 0)
			: pfread_text(r, text);
	/* The first one stands: what it said may be in use. */
	if (!iid || !value || pfread_interned(r, generation, kind, iid))
		return;
	if (!bulk_map_set(&r->interned, interned_key(generation, kind, iid), value))
		r->failed = true;
}

static void read_interned(struct pfreader *r, struct sequence *s, struct part m)
{
	struct proto_walk w = proto_walk(m);
	struct proto_field f;

	if (!s->generation)
		s->generation = ++r->generations;
	while (proto_next(&w, &f)) {
		if (f.type != PROTO_PART)
			r->wrong++;
		else if (f.number <= INTERNED_ANNOTATION || f.number == INTERNED_TEXT ||
			 f.number == INTERNED_FUNCTION || f.number == INTERNED_SOURCE ||
			 f.number == INTERNED_BUILD_ID || f.number == INTERNED_PATH ||
			 is_message(f.number))
			intern(r, s->generation, f.number, f.s);
	}
	r->damaged += w.broken;
}

/* ---- tracks ----------------------------------------------------------------------------------- */

uint32_t pfread_track(struct pfreader *r, uint64_t uuid)
{
	uint64_t i = map_get(&r->track_places, uuid);

	if (i)
		return (uint32_t)i - 1;
	if (!vec_reserve(&r->tracks, &r->track_room, r->track_count, 1) ||
	    !map_set(&r->track_places, uuid, r->track_count + 1u)) {
		r->failed = true;
		return 0;
	}
	r->tracks[r->track_count] =
		(struct track_in){.uuid = uuid, .last = INT64_MIN, .multiplier = 1};
	return r->track_count++;
}

/* "rank 3", or the node. */
static void read_label(struct pfreader *r, struct track_in *t, struct part s)
{
	char digits[12] = "";
	uint64_t rank;

	if (s.n < sizeof(digits) + 5 && part_begins(s, "rank ")) {
		memcpy(digits, s.s + 5, s.n - 5);
		if (pfread_numbered(digits, "", &rank) && rank < UINT32_MAX)
			t->label_rank = (uint32_t)rank + 1;
	} else if (!part_begins(s, "of rank ")) {
		t->host = pfread_text(r, s);
	}
}

static void read_process(struct pfreader *r, struct track_in *t, struct part m)
{
	struct proto_walk w = proto_walk(m);
	struct proto_field f;

	t->is_process = true;
	while (proto_next(&w, &f)) {
		if (proto_is(&f, 1, PROTO_NUMBER, &r->wrong))
			t->pid = (uint32_t)f.v;
		else if (proto_is(&f, 2, PROTO_PART, &r->wrong) && !t->command)
			t->command = pfread_text(r, f.s);
		else if (proto_is(&f, 6, PROTO_PART, &r->wrong))
			t->process_name = pfread_text(r, f.s);
		else if (proto_is(&f, 7, PROTO_NUMBER, &r->wrong))
			t->start = (int64_t)f.v;
		else if (proto_is(&f, 8, PROTO_PART, &r->wrong))
			read_label(r, t, f.s);
	}
	r->damaged += w.broken;
}

static void read_thread(struct pfreader *r, struct track_in *t, struct part m)
{
	struct proto_walk w = proto_walk(m);
	struct proto_field f;

	t->is_thread = true;
	while (proto_next(&w, &f)) {
		if (proto_is(&f, 1, PROTO_NUMBER, &r->wrong))
			t->pid = (uint32_t)f.v;
		else if (proto_is(&f, 2, PROTO_NUMBER, &r->wrong))
			t->tid = (uint32_t)f.v;
		else if (proto_is(&f, 5, PROTO_PART, &r->wrong))
			t->thread_name = pfread_text(r, f.s);
	}
	r->damaged += w.broken;
}

static void read_counter(struct pfreader *r, struct track_in *t, struct part m)
{
	static const char *const units[] = {"", "ns", "", "bytes"};
	struct proto_walk w = proto_walk(m);
	struct proto_field f;

	t->is_counter = true;
	while (proto_next(&w, &f)) {
		if (proto_is(&f, 1, PROTO_NUMBER, &r->wrong))
			t->type = (uint32_t)f.v;
		else if (proto_is(&f, 3, PROTO_NUMBER, &r->wrong) && f.v < 4 && !t->unit)
			t->unit = keyed_text(&r->keyed, units[f.v], strlen(units[f.v]));
		else if (proto_is(&f, 4, PROTO_NUMBER, &r->wrong))
			t->multiplier = f.v ? f.v : 1;
		else if (proto_is(&f, 5, PROTO_NUMBER, &r->wrong))
			t->incremental = f.v != 0;
		else if (proto_is(&f, 6, PROTO_PART, &r->wrong))
			t->unit = pfread_text(r, f.s);
	}
	r->damaged += w.broken;
}

static uint64_t descriptor_uuid(struct part m)
{
	struct proto_walk w = proto_walk(m);
	struct proto_field f;
	uint64_t uuid = 0;

	while (proto_next(&w, &f))
		if (f.number == 1 && f.type == PROTO_NUMBER)
			uuid = f.v;
	return uuid;
}

enum { APART = 2, BY_KEY = 3 };

static void read_track_field(struct pfreader *r, struct track_in *t, const struct proto_field *f)
{
	bool text = f->type == PROTO_PART, number = f->type == PROTO_NUMBER;

	if (text && (f->number == 2 || f->number == 10 || f->number == 13)) {
		t->name = pfread_text(r, f->s);
	} else if (text && f->number == 3) {
		read_process(r, t, f->s);
	} else if (text && f->number == 4) {
		read_thread(r, t, f->s);
	} else if (text && f->number == 8) {
		read_counter(r, t, f->s);
	} else if (number && f->number == 5) {
		t->parent = f->v;
		t->has_parent = f->v != 0 && f->v != t->uuid;
	} else if (number && f->number == 15) {
		t->apart = f->v == APART;
		t->by_key = f->v == BY_KEY;
	} else if (number && f->number == 17) {
		t->merge = f->v;
	} else if ((f->number > 1 && f->number <= 5) || f->number == 8 || f->number == 15 ||
		   f->number == 17 || (f->number == 1 && !number)) {
		r->wrong++;
	}
}

static void read_track(struct pfreader *r, struct part m)
{
	uint32_t place = pfread_track(r, descriptor_uuid(m));
	struct proto_walk w = proto_walk(m);
	struct proto_field f;

	while (!r->failed && proto_next(&w, &f))
		read_track_field(r, &r->tracks[place], &f);
	r->damaged += w.broken;
}

/* Of a thread that has none of its own: events that say pid and tid themselves, or whose sequence does. */
static uint32_t thread_track(struct pfreader *r, uint32_t pid, uint32_t tid)
{
	uint64_t uuid = hash_mix(hash_u64(pid), (uint64_t)tid << 8 | 1);
	uint32_t place = pfread_track(r, uuid);

	if (!r->failed && !r->tracks[place].is_thread) {
		r->tracks[place].is_thread = true;
		r->tracks[place].pid = pid;
		r->tracks[place].tid = tid;
	}
	return place;
}

/* The sequence is that of a thread. */
static void read_sequence_thread(struct pfreader *r, struct sequence *s, struct part m)
{
	struct track_in t = {0};
	struct proto_walk w = proto_walk(m);
	struct proto_field f;
	uint32_t place;

	read_thread(r, &t, m);
	s->pid = t.pid;
	s->tid = t.tid;
	s->has_thread = true;
	while (proto_next(&w, &f))
		if (f.number == 6 && f.type == PROTO_NUMBER)
			s->legacy_us = (int64_t)f.v;
	place = thread_track(r, t.pid, t.tid);
	if (!r->failed && t.thread_name)
		r->tracks[place].thread_name = t.thread_name;
}

/* Names of processes that no track has. */
static void read_tree(struct pfreader *r, struct part m)
{
	struct proto_walk w = proto_walk(m), v;
	struct proto_field f, g;

	while (proto_next(&w, &f)) {
		uint64_t id = 0;
		uint32_t name = 0;

		if (f.number > 2 || f.type != PROTO_PART)
			continue;
		for (v = proto_walk(f.s); proto_next(&v, &g);) {
			if (g.number == 1 && g.type == PROTO_NUMBER)
				id = g.v;
			else if (g.number == (f.number == 1 ? 3u : 2u) && g.type == PROTO_PART &&
				 !name)
				name = pfread_text(r, g.s);
		}
		id = (id & UINT32_MAX) << 1 | (f.number == 2);
		if (name && !map_get(&r->tree, id) && !map_set(&r->tree, id, name))
			r->failed = true;
	}
	r->damaged += w.broken;
}

/* ---- events ----------------------------------------------------------------------------------- */

static struct event *add_event(struct pfreader *r, const struct event *e)
{
	struct track_in *t = &r->tracks[e->track];

	if (r->event_count >= INT32_MAX ||
	    !bulk_reserve(&r->events, &r->event_room, r->event_count, 1)) {
		r->failed = true;
		return NULL;
	}
	r->unsorted |= e->time < t->last;
	t->last = e->time;
	r->events[r->event_count] = *e;
	return &r->events[r->event_count++];
}

struct legacy {
	uint64_t phase, id;
	int64_t duration, pid, tid;
	bool has_id, has_pid, has_tid;
};

struct track_event {
	uint64_t type, track;
	int64_t delta_us, absolute_us;
	double value;
	bool has_track, has_value, has_delta, has_absolute, has_legacy, extra;
	struct legacy legacy;
};

static void read_legacy(struct pfreader *r, struct part m, struct legacy *l)
{
	struct proto_walk w = proto_walk(m);
	struct proto_field f;

	while (proto_next(&w, &f)) {
		if (f.type != PROTO_NUMBER)
			continue;
		if (f.number == 2) {
			l->phase = f.v;
		} else if (f.number == 3) {
			l->duration = f.v < INT64_MAX / 1000 ? (int64_t)f.v * 1000 : 0;
		} else if (f.number == 6 || f.number == 10 || f.number == 11) {
			l->id = f.v;
			l->has_id = true;
		} else if (f.number == 18) {
			l->pid = (int64_t)f.v;
			l->has_pid = true;
		} else if (f.number == 19) {
			l->tid = (int64_t)f.v;
			l->has_tid = true;
		}
	}
	r->damaged += w.broken;
}

static double real(uint64_t bits)
{
	double d;

	memcpy(&d, &bits, sizeof(d));
	return d;
}

static void read_event_field(struct pfreader *r, struct track_event *e, const struct proto_field *f)
{
	if (proto_is(f, 9, PROTO_NUMBER, &r->wrong)) {
		e->type = f->v;
	} else if (proto_is(f, 11, PROTO_NUMBER, &r->wrong)) {
		e->track = f->v;
		e->has_track = true;
	} else if (proto_is(f, 30, PROTO_NUMBER, &r->wrong)) {
		e->value = (double)(int64_t)f->v;
		e->has_value = true;
	} else if (proto_is(f, 44, PROTO_8_BYTES, &r->wrong)) {
		e->value = real(f->v);
		e->has_value = true;
	} else if (proto_is(f, 1, PROTO_NUMBER, &r->wrong)) {
		e->delta_us = (int64_t)f->v;
		e->has_delta = true;
	} else if (proto_is(f, 16, PROTO_NUMBER, &r->wrong)) {
		e->absolute_us = (int64_t)f->v;
		e->has_absolute = true;
	} else if (proto_is(f, 6, PROTO_PART, &r->wrong)) {
		e->has_legacy = true;
		read_legacy(r, f->s, &e->legacy);
	} else if (f->number == 12 || f->number == 46) {
		e->extra = true;
	}
}

/* Numbers of a repeated field, packed or not. */
struct numbers {
	struct proto_walk w, packed;
	uint32_t field;
	uint8_t size; /* of packed ones: 8, or 0 of varints */
};

static bool next_number(struct numbers *n, uint64_t *out)
{
	struct proto_field f;

	for (;;) {
		if (n->packed.p < n->packed.end && n->size) {
			if (n->packed.end - n->packed.p < 8) {
				n->packed.p = n->packed.end;
				continue;
			}
			memcpy(out, n->packed.p, 8);
			n->packed.p += 8;
			return true;
		}
		if (n->packed.p < n->packed.end && proto_number(&n->packed, out))
			return true;
		if (!proto_next(&n->w, &f))
			return false;
		if (f.number != n->field)
			continue;
		if (f.type == PROTO_PART) {
			n->packed = proto_walk(f.s);
			continue;
		}
		*out = f.v;
		return true;
	}
}

/* Of a counter that is told by what was added, on each sequence by itself. */
static double summed(struct pfreader *r, const struct sequence *s, const struct event *e)
{
	uint64_t key = hash_mix(hash_mix(hash_u64(s->id), s->generation), e->track), place;

	if (!r->tracks[e->track].incremental)
		return e->value;
	place = map_get(&r->sum_places, key);
	if (!place) {
		if (!bulk_reserve(&r->sums, &r->sum_room, r->sum_count, 1) ||
		    !bulk_map_set(&r->sum_places, key, r->sum_count + 1u)) {
			r->failed = true;
			return 0;
		}
		r->sums[r->sum_count] = 0;
		place = ++r->sum_count;
	}
	return r->sums[place - 1] += e->value;
}

static void take_extra(struct pfreader *r, const struct sequence *s, const struct event *from,
		       struct part m, struct part defaults, uint32_t tracks, uint32_t values,
		       uint8_t size)
{
	struct numbers t = {proto_walk(m), {0}, tracks, 0}, v = {proto_walk(m), {0}, values, size};
	struct event e = *from;
	uint64_t uuid, value;
	bool own = next_number(&t, &uuid);

	t.w = proto_walk(own ? m : defaults);
	t.packed = (struct proto_walk){0};
	while (!r->failed && next_number(&v, &value)) {
		if (!next_number(&t, &uuid)) {
			unplaced_add(&r->left_out, "values of counters that have no track", 1);
			continue;
		}
		e.type = EVENT_COUNTER;
		e.track = pfread_track(r, uuid);
		e.value = size ? real(value) : (double)(int64_t)value;
		if (!r->failed)
			e.value = summed(r, s, &e);
		if (!r->failed)
			add_event(r, &e);
	}
}

static enum event_type type_of(struct pfreader *r, const struct track_event *e)
{
	static const uint8_t types[] = {EVENT_NONE, EVENT_BEGIN, EVENT_END, EVENT_INSTANT,
					EVENT_COUNTER};

	if (!e->has_legacy || !e->legacy.phase)
		return e->type < sizeof(types) ? types[e->type] : EVENT_NONE;
	switch (e->legacy.phase) {
	case 'B':
	case 'b':
	case 'S':
		return EVENT_BEGIN;
	case 'E':
	case 'e':
	case 'F':
		return EVENT_END;
	case 'X':
		return EVENT_COMPLETE;
	case 'I':
	case 'i':
	case 'R':
	case 'n':
		return EVENT_INSTANT;
	default:
		unplaced_add(&r->left_out, "events of other legacy phases", 1);
		return EVENT_NONE;
	}
}

/* Begun and ended by their id, whichever thread does it: a track of their own, of the process. */
static uint32_t async_track(struct pfreader *r, uint32_t thread, uint64_t id)
{
	uint32_t pid = r->tracks[thread].pid;
	uint32_t place = pfread_track(r, hash_mix(hash_u64(pid + (UINT64_C(1) << 40)), id));

	if (r->failed)
		return 0;
	r->tracks[place].parent = r->tracks[thread].uuid;
	r->tracks[place].has_parent = true;
	r->tracks[place].apart = true;
	return place;
}

static uint32_t track_of(struct pfreader *r, const struct sequence *s, const struct track_event *e)
{
	const struct legacy *l = &e->legacy;
	bool legacy = l->has_pid || l->has_tid || (e->has_legacy && s->has_thread);
	uint32_t place;

	if (e->has_track)
		return pfread_track(r, e->track);
	if (!legacy && s->has_track)
		return pfread_track(r, s->track);
	if (!legacy && !s->has_thread)
		return pfread_track(r, 0);
	place = thread_track(r, l->has_pid ? (uint32_t)l->pid : s->pid,
			     l->has_tid ? (uint32_t)l->tid : s->tid);
	if (l->has_id && strchr("beSFn", (int)(l->phase & 127)) && l->phase)
		place = async_track(r, place, l->id);
	return place;
}

static bool time_of(struct pfreader *r, struct sequence *s, const struct packet_in *p,
		    const struct track_event *e, int64_t *out)
{
	uint64_t clock = p->has_clock ? p->clock : s->has_clock ? s->clock : 0;

	enum { MONOTONIC = 3 };

	if (p->has_timestamp)
		return pfread_time(r, s->id, clock, p->timestamp, out);
	if (!e->has_delta && !e->has_absolute) {
		r->bad_times++;
		return false;
	}
	s->legacy_us = e->has_absolute ? e->absolute_us
				       : (int64_t)((uint64_t)s->legacy_us + (uint64_t)e->delta_us);
	return pfread_time(r, s->id, MONOTONIC,
			   (uint64_t)(e->has_absolute ? e->absolute_us : s->legacy_us) * 1000, out);
}

static void take_event(struct pfreader *r, struct sequence *s, const struct packet_in *p)
{
	struct proto_walk w = proto_walk(p->event);
	struct track_event e = {0};
	struct event out = {.at = (uint64_t)(p->event.s - r->in.data),
			    .length = p->event.n < UINT32_MAX ? (uint32_t)p->event.n : 0,
			    .generation = s->generation};
	struct proto_field f;

	while (proto_next(&w, &f))
		read_event_field(r, &e, &f);
	r->damaged += w.broken;
	if (!time_of(r, s, p, &e, &out.time)) {
		r->lost++;
		return;
	}
	if (e.extra) {
		take_extra(r, s, &out, p->event, s->counters, 31, 12, 0);
		take_extra(r, s, &out, p->event, s->real_counters, 45, 46, 8);
	}
	out.type = (uint8_t)type_of(r, &e);
	if (r->failed || out.type == EVENT_NONE || (out.type == EVENT_COUNTER && !e.has_value))
		return;
	if (out.type == EVENT_COUNTER)
		out.value = e.value;
	else
		out.duration = e.legacy.duration;
	out.track = track_of(r, s, &e);
	if (!r->failed && out.type == EVENT_COUNTER)
		out.value = summed(r, s, &out);
	if (!r->failed)
		add_event(r, &out);
}

/* Work of a device, on a row for each of its queues. */
static void take_stage(struct pfreader *r, struct sequence *s, const struct packet_in *p)
{
	struct proto_walk w = proto_walk(p->stage);
	struct event out = {.at = (uint64_t)(p->stage.s - r->in.data),
			    .length = p->stage.n < UINT32_MAX ? (uint32_t)p->stage.n : 0,
			    .generation = s->generation,
			    .type = EVENT_STAGE};
	const struct track_event none = {0};
	uint64_t gpu = 0, queue = 0;
	struct proto_field f;
	bool is = false;

	while (proto_next(&w, &f)) {
		if (f.type != PROTO_NUMBER)
			continue;
		if (f.number == 2)
			out.duration = f.v < INT64_MAX / 4 ? (int64_t)f.v : 0;
		else if (f.number == 3 || f.number == 13)
			queue = f.v;
		else if (f.number == 11)
			gpu = f.v;
		is |= f.number == 1 || f.number == 13 || f.number == 14;
	}
	if (!is) /* specifications of the ones to come */
		return;
	if (!time_of(r, s, p, &none, &out.time)) {
		r->lost++;
		return;
	}
	out.track = pfread_track(r, hash_mix(hash_u64(gpu << 1 | 1), queue));
	if (r->failed)
		return;
	r->tracks[out.track].device = true;
	r->tracks[out.track].agent = (uint32_t)gpu; /* until it is resolved */
	r->tracks[out.track].queue = (uint32_t)queue;
	add_event(r, &out);
}

/* ---- samples ---------------------------------------------------------------------------------- */

static void take_sample(struct pfreader *r, struct sequence *s, const struct packet_in *p)
{
	struct proto_walk w = proto_walk(p->sample);
	struct event out = {.at = (uint64_t)(p->sample.s - r->in.data),
			    .length = p->sample.n < UINT32_MAX ? (uint32_t)p->sample.n : 0,
			    .generation = s->generation,
			    .type = EVENT_SAMPLE};
	const struct track_event none = {0};
	uint32_t pid = 0, tid = 0;
	struct proto_field f;
	bool is = false;

	while (proto_next(&w, &f)) {
		if (f.type != PROTO_NUMBER)
			continue;
		if (f.number == 2)
			pid = (uint32_t)f.v;
		else if (f.number == 3)
			tid = (uint32_t)f.v;
		else if (f.number == 4)
			out.duration = (int64_t)f.v;
		is |= f.number == 4 || f.number == 3;
	}
	r->damaged += w.broken;
	if (!is) /* of what was lost, or skipped */
		return;
	if (!time_of(r, s, p, &none, &out.time)) {
		r->lost++;
		return;
	}
	out.track = thread_track(r, pid, tid);
	if (s->weight && !bulk_map_set(&r->weights, s->generation, (uint64_t)s->weight))
		r->failed = true;
	if (!r->failed)
		add_event(r, &out);
}

/* Samples of the thread that the sequence names, each so long after the one before. */
static void take_profile(struct pfreader *r, struct sequence *s, const struct packet_in *p)
{
	struct numbers stacks = {proto_walk(p->profile), {0}, 1, 0};
	struct numbers deltas = {proto_walk(p->profile), {0}, 2, 0};
	struct event out = {.at = (uint64_t)(p->profile.s - r->in.data),
			    .generation = s->generation,
			    .type = EVENT_SAMPLE};
	const struct track_event none = {0};
	uint64_t iid, delta;

	if (!time_of(r, s, p, &none, &out.time)) {
		r->lost++;
		return;
	}
	out.track = thread_track(r, s->pid, s->tid);
	while (!r->failed && next_number(&stacks, &iid)) {
		delta = next_number(&deltas, &delta) ? delta : 0;
		out.duration = (int64_t)iid;
		out.time = (int64_t)((uint64_t)out.time + delta * 1000);
		if (assembly_is_time(out.time))
			add_event(r, &out);
		else
			r->bad_times++;
	}
}

/* ---- packets ---------------------------------------------------------------------------------- */

static void read_part(struct pfreader *r, struct packet_in *p, const struct proto_field *f)
{
	switch (f->number) {
	case PACKET_EVENT:
		p->event = f->s;
		break;
	case PACKET_INTERNED:
		p->interned = f->s;
		break;
	case PACKET_DEFAULTS:
		p->defaults = f->s;
		break;
	case PACKET_CLOCKS:
		p->snapshot = f->s;
		break;
	case PACKET_TRACK:
		p->track = f->s;
		break;
	case PACKET_STAGE:
		p->stage = f->s;
		break;
	case PACKET_TREE:
		p->tree = f->s;
		break;
	case PACKET_SAMPLE:
		p->sample = f->s;
		break;
	case PACKET_PROFILE:
		p->profile = f->s;
		break;
	case PACKET_THREAD:
		p->thread = f->s;
		break;
	case PACKET_PROCESS: /* said of threads and processes as well */
		break;
	case PACKET_TIMESTAMP:
	case PACKET_SEQUENCE:
	case PACKET_FLAGS:
		r->wrong++;
		break;
	default:
		p->other = left_out(f->number);
	}
}

static void read_number(struct packet_in *p, const struct proto_field *f)
{
	switch (f->number) {
	case PACKET_TIMESTAMP:
		p->timestamp = f->v;
		p->has_timestamp = true;
		break;
	case PACKET_SEQUENCE:
		p->sequence = f->v;
		break;
	case PACKET_FLAGS:
		p->flags = f->v;
		break;
	case PACKET_CLEARED:
		p->cleared = f->v != 0;
		break;
	case PACKET_DROPPED:
		p->dropped = f->v != 0;
		break;
	case PACKET_CLOCK:
		p->clock = f->v;
		p->has_clock = true;
		break;
	default:
		break;
	}
}

/* False: what it needs was not there. */
static bool begin_packet(struct pfreader *r, struct sequence *s, const struct packet_in *p)
{
	if (p->dropped && s->seen) {
		s->valid = false;
		r->dropped++;
	}
	s->seen = true;
	if (p->cleared || p->flags & FLAG_CLEARED)
		clear(r, s);
	if (p->flags & FLAG_NEEDS && !s->valid) {
		r->lost += p->event.n || p->stage.n || p->sample.n || p->profile.n;
		return false;
	}
	return true;
}

static void take_packet(struct pfreader *r, struct part m)
{
	struct proto_walk w = proto_walk(m);
	struct packet_in p = {0};
	struct proto_field f;
	struct sequence *s;

	while (proto_next(&w, &f)) {
		if (f.type == PROTO_PART)
			read_part(r, &p, &f);
		else
			read_number(&p, &f);
	}
	r->damaged += w.broken;
	if (p.other)
		unplaced_add(&r->left_out, p.other, 1);
	s = sequence(r, p.sequence);
	if (!s || !begin_packet(r, s, &p))
		return;
	if (p.interned.n)
		read_interned(r, s, p.interned);
	if (p.defaults.s)
		read_defaults(r, s, p.defaults);
	if (p.snapshot.n)
		pfread_snapshot(r, s->id, p.snapshot);
	if (p.thread.n)
		read_sequence_thread(r, s, p.thread);
	if (p.tree.n)
		read_tree(r, p.tree);
	if (p.track.n)
		read_track(r, p.track);
	if (p.event.n)
		take_event(r, s, &p);
	if (p.stage.n)
		take_stage(r, s, &p);
	if (p.sample.n)
		take_sample(r, s, &p);
	if (p.profile.n)
		take_profile(r, s, &p);
}

void pfread_packets(struct pfreader *r)
{
	struct proto_walk w = proto_walk((struct part){r->in.data, r->in.size});
	struct proto_field f;
	uint64_t n = 0;

	while (!r->failed && proto_next(&w, &f)) {
		if (proto_is(&f, 1, PROTO_PART, &r->wrong))
			take_packet(r, f.s);
		if (r->o->progress && ++n % 65536 == 0)
			r->o->progress(r->o->progress_data,
				       0.3 * (double)(w.p - r->in.data) / (double)r->in.size);
	}
	if (w.broken) {
		r->damaged++;
		r->in.wrong = r->in.wrong ? r->in.wrong : "its last packet is not whole";
	}
}
