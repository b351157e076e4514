/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data goes from a device to the host and back: a copy to the host, then one of as many bytes from the same place of
 * the host's memory to the device, no kernel between, and not enough time for the host to have changed them
 * all. Where the host had the time, it may have, and nothing is told.
 */
#include <inttypes.h>

#include "analysis/rules/support.h"
#include "base/plain.h"

#define LEAST_NUMBER 3
#define LEAST_BYTES  4096 /* less is looked at rather than moved */

struct search {
	struct places places;
	struct claims claims;
	uint64_t gain, number, bytes;
};

static void take(struct diagnosis *d, struct search *s, uint32_t out, uint32_t back)
{
	const struct tl_work *a = &d->tl->work[out], *b = &d->tl->work[back];
	uint64_t span = (uint64_t)(b->end - a->start);
	uint64_t kernels = intervals_within(&d->tl->devices[a->device].kernels, a->start, b->end);

	s->gain += span - kernels;
	s->number++;
	s->bytes += a->bytes + b->bytes;
	place_add(places_of_work(&s->places, d, a), span - kernels, a->start, b->end);
	claims_add(d, &s->claims, out);
	claims_add(d, &s->claims, back);
}

static void tell(struct diagnosis *d, struct search *s)
{
	const struct place *most = places_sort(&s->places);
	struct finding *f = NULL;
	char bytes[UNITS_TEXT], time[UNITS_TEXT];

	if (most && s->number >= LEAST_NUMBER)
		f = finding_add(d, s->gain, "%s go to the host and back, %s times",
				units_bytes((double)s->bytes / 2 / (double)s->number, bytes),
				UNITS_COUNT(s->number));
	if (f) {
		f->count = s->number;
		finding_set_place(d, f, most);
		plain_addf(&f->evidence,
			   "%s in %s copies, %s; no kernel between, and too soon for the host to "
			   "have changed them\n",
			   units_bytes((double)s->bytes, bytes), UNITS_COUNT(2 * s->number),
			   units_time(s->gain, time));
		finding_add_places(d, f, &s->places, "there and back");
		text_add(&f->advice, "leave the data on the device; if the host only looks at it, "
				     "do not copy it back");
	}
	claims_end(d, &s->claims, CLAIM_GAP | CLAIM_TIME, f);
}

/* What comes from another place than where the first went is something else, however many bytes it has. */
static bool is_same_memory(const struct diagnosis *d, const struct tl_work *out,
			   const struct tl_work *back)
{
	const struct tl_call *a = timeline_call(d->tl, out), *b = timeline_call(d->tl, back);

	return a && b && a->ends && b->ends && d->tl->ends[a->ends - 1].destination &&
	       d->tl->ends[a->ends - 1].destination == d->tl->ends[b->ends - 1].source;
}

/* Host code since the last copy to the host; `out`: that copy, or TIMELINE_NONE. */
struct state {
	uint32_t out;
	uint64_t outside;
};

static void find_of_device(struct diagnosis *d, uint32_t device)
{
	const struct tl_device *dev = &d->tl->devices[device];
	struct state last = {.out = TIMELINE_NONE};
	struct search s = {0};
	uint32_t next = 0;

	if (!dev->number[WORK_COPY])
		return;
	for (uint32_t i = 0; i < dev->count; i++) {
		uint32_t work = d->tl->order[dev->first + i];
		const struct gap *g = gap_before(&d->gaps[device], work, &next);
		const struct tl_work *w = &d->tl->work[work];

		last.outside += g ? g->outside + g->mpi : 0;
		if (w->kind == WORK_KERNEL) {
			last.out = TIMELINE_NONE;
		} else if (w->kind == WORK_COPY && w->from_device && !d->claimed[work]) {
			last = (struct state){.out = work};
		} else if (w->kind == WORK_COPY && w->to_device && last.out != TIMELINE_NONE) {
			const struct tl_work *out = &d->tl->work[last.out];

			if (out->bytes == w->bytes && w->bytes >= LEAST_BYTES &&
			    w->submit >= out->submit && w->process == out->process &&
			    !d->claimed[work] && is_same_memory(d, out, w) &&
			    !host_could_use(w->bytes, last.outside))
				take(d, &s, last.out, work);
			last.out = TIMELINE_NONE;
		}
	}
	tell(d, &s);
	d->failed |= s.places.failed;
	places_release(&s.places);
}

const struct rule rule_round_trip = {
	.id = "round-trip",
	.what = "data goes from a device to the host and back, unchanged",
	.threshold = 0.03,
	.repeats = true,
	.why = "below that it is noise; less than 3 times is no pattern",
	.cost = "from the start of the copy to the host to the end of the one back, without "
		"kernels "
		"meanwhile",
	.find_of_device = find_of_device,
};
