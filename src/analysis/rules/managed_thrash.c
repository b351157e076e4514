/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages of managed memory move between host and device again and again. Page faults hold back the kernel, or
 * the host, that needs them: the time while they are served, one soon after the other.
 */
#include <inttypes.h>

#include "analysis/rules/support.h"
#include "base/plain.h"

#define SOON_NS       500000 /* the next fault comes that soon while one waits for pages */
#define LEAST_BATCHES 3      /* of work that pages hold back: one is the first touch */

struct search {
	uint64_t gain, batches, bytes, number, kernels;
	struct place place;
	int64_t start, end; /* of the batch */
	uint32_t of_batch;
};

static void end_batch(struct diagnosis *d, struct search *s, uint32_t device)
{
	uint64_t ns = (uint64_t)(s->end - s->start);

	if (s->of_batch > 1) {
		s->gain += ns;
		s->batches++;
		s->kernels += intervals_within(&d->tl->devices[device].kernels, s->start, s->end);
		place_add(&s->place, ns, s->start, s->end);
	}
	s->of_batch = 0;
}

static void find_of_device(struct diagnosis *d, uint32_t device)
{
	const struct tl_device *dev = &d->tl->devices[device];
	struct search s = {.place = {.device = device, .op = TIMELINE_NONE}};
	struct claims claims = {0};
	struct finding *f = NULL;
	char bytes[UNITS_TEXT], time[UNITS_TEXT];

	if (dev->number[WORK_MIGRATION] < 2)
		return;
	for (uint32_t i = 0; i < dev->count; i++) {
		uint32_t work = d->tl->order[dev->first + i];
		const struct tl_work *w = &d->tl->work[work];

		if (w->kind != WORK_MIGRATION) {
			if (s.of_batch && w->start < s.end + SOON_NS)
				claims_add(d, &claims, work);
			continue;
		}
		if (s.of_batch && w->start > s.end + SOON_NS)
			end_batch(d, &s, device);
		if (!s.of_batch++)
			s.start = s.end = w->start;
		s.end = w->end > s.end ? w->end : s.end;
		s.bytes += w->bytes;
		s.number++;
		s.place.op = w->op;
		claims_add(d, &claims, work);
	}
	end_batch(d, &s, device);
	if (s.batches >= LEAST_BATCHES)
		f = finding_add(d, s.gain, "pages of managed memory move %s times, %s in all: %s",
				UNITS_COUNT(s.number), units_bytes((double)s.bytes, bytes),
				units_time(s.gain, time));
	if (f) {
		f->count = s.number;
		finding_set_place(d, f, &s.place);
		plain_addf(&f->evidence, "%s of it kernels ran, and waited for pages",
			   units_time(s.kernels, time));
		plain_addf(&f->evidence, "; the host %s\n", units_time(s.gain - s.kernels, time));
		text_add(&f->advice,
			 "move data ahead (cudaMemPrefetchAsync), leave them where they "
			 "are used most (cudaMemAdvise), or copy explicitly");
	}
	claims_end(d, &claims, CLAIM_GAP | CLAIM_TIME, f);
}

const struct rule rule_managed_thrash = {
	.id = "managed-thrash",
	.what = "pages of managed memory move between host and device again and again",
	.threshold = 0.03,
	.why = "below that it is noise; pages that move once are first touch",
	.cost = "time while pages move, from the first to the last of those that follow each other "
		"within 0.5 ms",
	.find_of_device = find_of_device,
};
