/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many small copies of one direction one after the other, with nothing else of the device between: each costs
 * its start and its call, and one copy of all bytes would cost that once.
 */
#include <inttypes.h>

#include "analysis/rules/support.h"
#include "base/plain.h"

#define SMALL_BYTES  16384u /* takes less than its start, of some 2 us, at 10 bytes in a ns */
#define BYTES_IN_NS  10u
#define LEAST_NUMBER 100 /* in all; and in a row: */
#define LEAST_RUN    3

struct run { /* of small copies, the first is not claimed */
	uint32_t first, last, count;
	uint64_t bytes, between; /* between: of kernels, or host code */
};

static bool is_small(const struct diagnosis *d, uint32_t work)
{
	const struct tl_work *w = &d->tl->work[work];

	return w->kind == WORK_COPY && w->bytes <= SMALL_BYTES && !w->graph &&
	       (w->to_device || w->from_device) && !d->claimed[work];
}

static bool goes_on(const struct diagnosis *d, const struct run *r, uint32_t work)
{
	const struct tl_work *a = &d->tl->work[r->last], *b = &d->tl->work[work];

	return r->count && a->to_device == b->to_device && a->queue == b->queue &&
	       a->source_kind == b->source_kind && a->destination_kind == b->destination_kind;
}

/* What one copy instead of them wins. */
static uint64_t won(const struct diagnosis *d, const struct run *r)
{
	const struct tl_work *a = &d->tl->work[r->first], *b = &d->tl->work[r->last];
	uint64_t span, once;

	if (r->count < LEAST_RUN || b->end <= a->end)
		return 0;
	span = (uint64_t)(b->end - a->end);
	once = r->bytes / BYTES_IN_NS + r->between;
	return span > once ? span - once : 0;
}

struct search {
	struct places places;
	struct claims claims, pending;
	uint64_t gain, number;
};

static void end_run(struct diagnosis *d, struct search *s, struct run *r)
{
	uint64_t ns = won(d, r);

	if (ns) {
		const struct tl_work *w = &d->tl->work[r->first];
		struct place *p = places_of_work(&s->places, d, w);

		place_add(p, ns, w->start, d->tl->work[r->last].end);
		if (p) {
			p->bytes += r->bytes;
			p->other += r->count;
		}
		s->gain += ns;
		s->number += r->count;
		for (uint32_t i = 0; i < s->pending.count; i++)
			claims_add(d, &s->claims, s->pending.at[i]);
	}
	s->pending.count = 0;
	*r = (struct run){0};
}

static void tell(struct diagnosis *d, struct search *s, uint32_t device)
{
	const struct place *most = places_sort(&s->places);
	struct finding *f = NULL;
	char time[UNITS_TEXT], bytes[UNITS_TEXT];

	if (most && s->number >= LEAST_NUMBER)
		f = finding_add(d, s->gain, "%s small copies one by one, of %s on average",
				UNITS_COUNT(s->number),
				units_bytes((double)most->bytes / (double)most->other, bytes));
	if (f) {
		f->count = s->number;
		finding_set_place(d, f, most);
		plain_addf(&f->evidence, "%s copies in %s rows: %s for %s in all\n",
			   UNITS_COUNT(most->other), UNITS_COUNT(most->count),
			   units_time(most->ns, time), units_bytes((double)most->bytes, bytes));
		plain_addf(&f->evidence, "one copy of that size takes some %s\n",
			   units_time(most->bytes / BYTES_IN_NS + 10000, time));
		plain_addf(&f->advice, "put them together in one buffer and copy it once%s",
			   device_is_host(d, device) ? "" : " (from pinned memory)");
	}
	claims_end(d, &s->claims, CLAIM_GAP | CLAIM_TIME, f);
}

static void find_of_device(struct diagnosis *d, uint32_t device)
{
	const struct tl_device *dev = &d->tl->devices[device];
	struct search s = {0};
	struct run run = {0};
	uint32_t next = 0;

	if (!dev->number[WORK_COPY])
		return;
	for (uint32_t i = 0; i < dev->count; i++) {
		uint32_t work = d->tl->order[dev->first + i];
		const struct gap *g = gap_before(&d->gaps[device], work, &next);

		if (run.count && (!is_small(d, work) || !goes_on(d, &run, work)))
			end_run(d, &s, &run);
		if (!is_small(d, work))
			continue;
		if (!run.count)
			run.first = work;
		else
			claims_add(d, &s.pending, work);
		/* What the host computes between them stays. */
		if (run.count && g)
			run.between += g->outside > gap_length(g) / 2 ? g->outside : 0;
		run.last = work;
		run.count++;
		run.bytes += d->tl->work[work].bytes;
	}
	end_run(d, &s, &run);
	tell(d, &s, device);
	claims_end(d, &s.pending, 0, false);
	d->failed |= s.places.failed;
	places_release(&s.places);
}

const struct rule rule_tiny_transfers = {
	.id = "tiny-transfers",
	.what = "many small copies one after the other that could be one",
	.threshold = 0.03,
	.repeats = true,
	.why = "below that it is noise; less than 100 copies are no pattern",
	.cost = "from the first of a row of at least 3 copies of at most 16 KiB to the last, "
		"without "
		"host code between and what the bytes take at 10 GB/s",
	.find_of_device = find_of_device,
};
