/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target regions of OpenMP map the same data again and again: each copies there and back what the host had no time to
 * look at or to change in between.
 */
#include <inttypes.h>
#include <string.h>

#include "analysis/rules/support.h"
#include "base/plain.h"

enum { LEAST_NUMBER = 10 };

struct search {
	struct places places;
	struct claims claims;
	uint64_t gain, number, bytes, kernels;
};

/* A region, or the begin or end of one with data: what maps, other than `target update`. */
static bool maps(const struct diagnosis *d, const struct tl_call *c)
{
	const char *name = op_name(d, c->op);

	return c->flags & CALL_TARGET &&
	       (strcmp(name, "target") == 0 || strcmp(name, "target_enter_data") == 0 ||
		strcmp(name, "target_exit_data") == 0);
}

/*
 * Host code between this call that maps and its neighbour, before or after; UINT64_MAX: that is another call, which may
 * use the data, or there is none.
 */
static uint64_t beside(const struct diagnosis *d, const struct tl_call *c, bool before)
{
	const struct timeline *tl = d->tl;
	const struct tl_thread *th = &tl->threads[c->thread];
	uint32_t at = timeline_at(tl, c->thread, c->start);
	const struct tl_call *other;

	if (before ? !at : at + 1 >= th->count)
		return UINT64_MAX;
	other = &tl->calls[tl->outer[th->first + (before ? at - 1 : at + 1)]];
	if (!maps(d, other))
		return UINT64_MAX;
	return before ? (uint64_t)(c->start - other->end) : (uint64_t)(other->start - c->end);
}

static void take(struct diagnosis *d, struct search *s, uint32_t work, const struct tl_call *c)
{
	const struct tl_work *w = &d->tl->work[work];
	uint64_t ns = (uint64_t)(w->end - w->start);
	uint64_t kernels = intervals_within(&d->tl->devices[w->device].kernels, w->start, w->end);

	s->gain += ns - least(ns, kernels);
	s->number++;
	s->bytes += w->bytes;
	place_add(places_at(&s->places, w->device, c->site, c->op, 0), ns, w->start, w->end);
	claims_add(d, &s->claims, work);
}

static void look_at(struct diagnosis *d, struct search *s, uint32_t work)
{
	const struct tl_work *w = &d->tl->work[work];
	const struct tl_call *c = timeline_call(d->tl, w);

	if (!c)
		return;
	c = timeline_outermost(d->tl, c);
	if (!maps(d, c))
		return;
	if (w->kind == WORK_KERNEL)
		s->kernels += (uint64_t)(w->end - w->start);
	else if (w->kind == WORK_COPY && (w->to_device || w->from_device) && !d->claimed[work] &&
		 !host_could_use(w->bytes, beside(d, c, w->to_device)))
		take(d, s, work, c);
}

static void tell(struct diagnosis *d, struct search *s)
{
	const struct place *most = places_sort(&s->places);
	char bytes[UNITS_TEXT], time[UNITS_TEXT];
	struct finding *f = NULL;

	if (most && s->number >= LEAST_NUMBER)
		f = finding_add(d, s->gain,
				"target regions map the same data again and again: %s in %s copies",
				units_bytes((double)s->bytes, bytes), UNITS_COUNT(s->number));
	if (f) {
		f->count = s->number;
		finding_set_place(d, f, most);
		plain_addf(&f->evidence,
			   "the copies take %s, too soon one after the other for the host to have "
			   "used the data; ",
			   units_time(s->gain, time));
		plain_addf(&f->evidence, "kernels of target regions take %s\n",
			   units_time(s->kernels, time));
		finding_add_places(d, f, &s->places, "of copies");
		text_add(&f->advice,
			 "put `target data` (or `target enter data`) around the regions, so that "
			 "the data stays on the device, and `target update` where the host needs "
			 "it");
	}
	claims_end(d, &s->claims, CLAIM_GAP | CLAIM_TIME, f);
}

static void find(struct diagnosis *d)
{
	for (uint32_t device = 0; device < d->tl->devices_count; device++) {
		const struct tl_device *dev = &d->tl->devices[device];
		struct search s = {0};

		for (uint32_t i = 0; dev->number[WORK_COPY] && i < dev->count; i++)
			look_at(d, &s, d->tl->order[dev->first + i]);
		tell(d, &s);
		d->failed |= s.places.failed;
		places_release(&s.places);
	}
}

const struct rule rule_target_mapping = {
	.id = "target-mapping",
	.what = "target regions of OpenMP map the same data again and again",
	.threshold = 0.05,
	.why = "mapping once costs less than that in all but the shortest runs; less than 10 "
	       "copies "
	       "are no loop",
	.cost = "the copies between regions that follow each other so soon that the host cannot "
		"have used the data, without kernels meanwhile",
	.find = find,
};
