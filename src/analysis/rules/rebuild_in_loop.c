/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs of one source and with the same options are built again in a process: all builds but the first could be
 * left out. So could those with other options, if each program is used until the next is built and never again:
 * what differs could be an argument of its kernels. Programs that stay in use are of several kinds.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/rules/support.h"
#include "base/hash.h"
#include "base/units.h"
#include "base/vec.h"

#define LEAST      2     /* what happens once is no loop */
#define LATENCY_NS 50000 /* a launch takes that; what is longer before the first one still builds */

struct use { /* of a program by kernels */
	int64_t last;
	uint32_t gap, device; /* before the first: index + 1, 0: none */
	bool used;
};

struct rebuild { /* of a source, whatever its options */
	uint32_t build;
	uint64_t source;
};

struct search {
	struct use *uses; /* by program */
	struct rebuild *list;
	uint32_t count, room;
	struct map again; /* source to how often it is in the list */
	struct map first; /* source to the call that built it first, + 1 */
	struct map began; /* source, whatever the options, to its first build: index + 1 */
	struct map
		last; /* source, whatever the options, to the last use of what was built so far */
	struct places places; /* of the later ones */
	struct intervals times;
	uint64_t gain, number;
};

static uint64_t text_hash(const struct trace *t, uint32_t blob)
{
	const struct t_blob *b = blob && blob < t->blobs_count ? &t->blobs[blob] : NULL;

	return b && b->data && b->stored ? hash_bytes(b->data, b->stored) ^ b->total : 0;
}

/* What is built: its source, in its process; 0: not known. */
static uint64_t source_of(const struct diagnosis *d, const struct tl_build *b)
{
	const struct trace *t = d->trace;
	const struct t_program *p =
		b->program && b->program < t->programs_count ? &t->programs[b->program] : NULL;
	uint64_t source = p ? text_hash(t, p->source) : 0;

	if (!source)
		return 0;
	return hash_mix(source, p->process) | 1;
}

static void look_at_uses(struct diagnosis *d, struct search *s, uint32_t device)
{
	const struct tl_device *dev = &d->tl->devices[device];
	uint32_t next = 0;

	for (uint32_t i = 0; i < dev->count; i++) {
		uint32_t work = d->tl->order[dev->first + i];
		const struct tl_work *w = &d->tl->work[work];
		const struct gap *g = gap_before(&d->gaps[device], work, &next);
		uint32_t program;
		struct use *u;

		if (w->kind != WORK_KERNEL || w->kernel >= d->trace->kernels_count)
			continue;
		program = d->trace->kernels[w->kernel].program;
		if (!program || program >= d->trace->programs_count)
			continue;
		u = &s->uses[program];
		if (!u->used && g && g->submit != TIMELINE_NONE) {
			u->gap = next; /* gap_before() has counted it */
			u->device = device;
		}
		u->last = !u->used || w->start > u->last ? w->start : u->last;
		u->used = true;
	}
}

/* All that was built of this source before was in use, and never will be again. */
static bool is_next(struct diagnosis *d, struct search *s, uint64_t source,
		    const struct tl_build *b)
{
	uint64_t last = map_get(&s->last, source);
	bool next = last && (int64_t)last < b->start;

	if (s->uses[b->program].used && s->uses[b->program].last > (int64_t)last)
		d->failed |= !map_set(&s->last, source, (uint64_t)s->uses[b->program].last);
	return next;
}

/* What its first kernel takes to be launched is of the build. */
static void add_first_use(struct diagnosis *d, struct search *s, uint32_t program)
{
	const struct use *u = &s->uses[program];
	const struct gap *g = u->gap ? &d->gaps[u->device].at[u->gap - 1] : NULL;
	uint64_t ns = g ? gap_launching(d, g) : 0;

	if (ns > LATENCY_NS)
		d->failed |= !intervals_add(&s->times, g->end - (int64_t)(ns - LATENCY_NS), g->end);
}

/* The first build of a process loads the compiler; what it takes longer than those that follow is that. */
static void note_loading(struct diagnosis *d, struct search *s, uint64_t source,
			 const struct tl_build *b)
{
	uint64_t began = map_get(&s->began, source);
	const struct tl_build *f = began ? &d->tl->builds[began - 1] : NULL;
	int64_t longer = f ? (f->end - f->start) - (b->end - b->start) : 0;

	if (!f)
		d->failed |= !map_set(&s->began, source, (uint64_t)(b - d->tl->builds) + 1);
	else if (f->end <= b->start && longer > 0 && (uint64_t)longer > d->compiler)
		d->compiler = (uint64_t)longer;
}

static void look_at(struct diagnosis *d, struct search *s, uint32_t build)
{
	const struct tl_build *b = &d->tl->builds[build];
	uint64_t source = source_of(d, b), first, exact;
	bool next;

	if (!source)
		return;
	note_loading(d, s, source, b);
	next = is_next(d, s, source, b);
	exact = hash_mix(source, text_hash(d->trace, b->options)) | 1;
	first = map_get(&s->first, exact);
	if (!first) /* For several devices one call builds several times. */
		d->failed |= !map_set(&s->first, exact, b->id + 1);
	if (first ? first == b->id + 1 : !next)
		return;
	if (!vec_reserve(&s->list, &s->room, s->count, 1) ||
	    !map_set(&s->again, source, map_get(&s->again, source) + 1)) {
		d->failed = true;
		return;
	}
	s->list[s->count++] = (struct rebuild){build, source};
}

static void take(struct diagnosis *d, struct search *s, const struct tl_build *b)
{
	const struct tl_call *c = timeline_find(d->tl, d->trace->threads[b->thread].process, b->id);
	uint64_t ns = call_exposed(d, b->start, b->end);

	add_first_use(d, s, b->program);
	d->failed |= !intervals_add(&d->rebuilt, b->start, b->end);
	d->failed |= !intervals_add(&s->times, b->start, b->end);
	s->number++;
	place_add(places_at(&s->places, TIMELINE_NONE, c ? c->site : 0, c ? c->op : b->op, 0), ns,
		  b->start, b->end);
}

static void find(struct diagnosis *d)
{
	struct search s = {0};
	const struct place *most;
	struct finding *f = NULL;
	char time[UNITS_TEXT];

	s.uses = calloc((size_t)d->trace->programs_count + 1, sizeof(*s.uses));
	d->failed |= !s.uses;
	for (uint32_t i = 0; s.uses && i < d->tl->devices_count; i++)
		look_at_uses(d, &s, i);
	for (uint32_t i = 0; s.uses && i < d->tl->builds_count; i++)
		look_at(d, &s, i);
	for (uint32_t i = 0; i < s.count; i++)
		if (map_get(&s.again, s.list[i].source) >= LEAST)
			take(d, &s, &d->tl->builds[s.list[i].build]);
	intervals_unite(&d->rebuilt);
	most = places_sort(&s.places);
	s.gain = times_exposed(d, &s.times); /* several at once are one */
	if (most)
		f = finding_add(d, s.gain, "%s builds of programs built before, %s",
				UNITS_COUNT(s.number), units_time(s.gain, time));
	if (f) {
		f->count = s.number;
		finding_set_place(d, f, most);
		finding_add_places(d, f, &s.places, "of the same source");
		text_add(&f->advice, "build each program once, and keep it");
	}
	if (!f)
		intervals_release(&d->rebuilt);
	claim_gaps(d, &s.times, f);
	free(s.uses);
	free(s.list);
	map_release(&s.again);
	map_release(&s.last);
	d->failed |= s.places.failed;
	places_release(&s.places);
	map_release(&s.first);
	map_release(&s.began);
}

const struct rule rule_rebuild_in_loop = {
	.id = "rebuild-in-loop",
	.what = "programs of the same source are built again and again",
	.threshold = 0.02,
	.why = "below that it is noise; one build again, as for another context, is no loop",
	.cost = "builds of a source that its process had built before, and the first launch of "
		"what "
		"was built, while no device works",
	.find = find,
};
