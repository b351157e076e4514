/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of one source and with the same options are built again in a process: all builds but the first could be left out. */
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/rules/support.h"
#include "base/hash.h"

struct search {
	struct map first;     /* source to the call that built it first, + 1 */
	struct places places; /* of the later ones */
	struct intervals times;
	uint64_t gain, number;
};

static uint64_t text_hash(const struct trace *t, uint32_t blob)
{
	const struct t_blob *b = blob && blob < t->blobs_count ? &t->blobs[blob] : NULL;

	return b && b->data && b->stored ? hash_bytes(b->data, b->stored) ^ b->total : 0;
}

/* What is built: its source and options, in its process; 0: not known. */
static uint64_t source_of(const struct diagnosis *d, const struct tl_build *b)
{
	const struct trace *t = d->trace;
	const struct t_program *p =
		b->program && b->program < t->programs_count ? &t->programs[b->program] : NULL;
	uint64_t source = p ? text_hash(t, p->source) : 0;

	if (!source)
		return 0;
	return hash_mix(hash_mix(source, text_hash(t, b->options)), p->process) | 1;
}

static void look_at(struct diagnosis *d, struct search *s, const struct tl_build *b)
{
	uint64_t source = source_of(d, b), first, ns;
	const struct tl_call *c = timeline_find(d->tl, d->trace->threads[b->thread].process, b->id);

	if (!source)
		return;
	first = map_get(&s->first, source);
	if (!first) {
		/* For several devices one call builds several times. */
		d->failed |= !map_set(&s->first, source, b->id + 1);
		return;
	}
	if (first == b->id + 1)
		return;
	ns = call_exposed(d, b->start, b->end);
	s->gain += ns;
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

	for (uint32_t i = 0; i < d->tl->builds_count; i++)
		look_at(d, &s, &d->tl->builds[i]);
	most = places_sort(&s.places);
	s.gain = times_exposed(d, &s.times); /* several at once are one */
	if (most)
		f = finding_add(d, s.gain, "%" PRIu64 " builds of programs built before, %s",
				s.number, units_time(s.gain, time));
	if (f) {
		f->count = s.number;
		d->rebuilt = s.gain;
		finding_set_place(d, f, most);
		finding_add_places(d, f, &s.places, "of the same source");
		text_add(&f->advice, "build each program once, and keep it");
	}
	claim_gaps(d, &s.times, f);
	d->failed |= s.places.failed;
	places_release(&s.places);
	map_release(&s.first);
}

const struct rule rule_rebuild_in_loop = {
	.id = "rebuild-in-loop",
	.what = "programs of the same source are built more than once",
	.threshold = 0.02,
	.why = "below that it is noise",
	.cost = "builds of a source that its process had built before, while no device works",
	.find = find,
};
