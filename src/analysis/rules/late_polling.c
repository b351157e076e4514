/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host asks whether the device is done, and sleeps between: it sees the end late by half a nap on average,
 * and the device idles until then. Seen where each gap begins while the thread is in no recorded call, waits
 * for nothing, and has asked at least once for each of them (such calls the mode leaves out, and counts).
 */
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/rules/support.h"
#include "base/plain.h"

#define LEAST_NUMBER 10     /* fewer are no loop */
#define APART_NS     100000 /* on average, at least: who asks more often sees the end at once */

struct asker {          /* a thread */
	uint64_t calls; /* that ask */
	uint64_t ends;  /* that it sees so */
	uint32_t op;
	bool late;
};

struct search {
	struct asker *threads;
	struct places places;
	struct claims claims;
	const struct asker *most;
	uint64_t gain, number;
};

/* Its thread was in no call when the device ended, and submitted the next work after that without waiting. */
static struct asker *asker_of(const struct diagnosis *d, const struct search *s,
			      const struct gap *g)
{
	struct asker *a;

	if (g->submit == TIMELINE_NONE || g->wait != TIMELINE_NONE || g->queued ||
	    d->tl->work[g->before].kind != WORK_KERNEL || 2 * g->outside <= gap_length(g) ||
	    !gap_is_open(d, g))
		return NULL;
	a = &s->threads[d->tl->calls[g->submit].thread];
	return a->calls ? a : NULL;
}

static void list_askers(const struct diagnosis *d, struct search *s)
{
	for (uint32_t i = 0; i < d->trace->left_out_count; i++) {
		const struct t_left_out *l = &d->trace->left_out[i];

		if (l->op >= d->trace->ops_count || l->thread >= d->trace->threads_count ||
		    !op_asks(d->trace->ops[l->op].name) || l->calls <= s->threads[l->thread].calls)
			continue;
		s->threads[l->thread].calls = l->calls;
		s->threads[l->thread].op = l->op;
	}
	for (uint32_t i = 0; i < d->tl->devices_count; i++) {
		for (uint32_t k = 0; k < d->gaps[i].count; k++) {
			struct asker *a = asker_of(d, s, &d->gaps[i].at[k]);

			if (a)
				a->ends++;
		}
	}
}

static uint64_t apart(const struct diagnosis *d, const struct search *s, const struct asker *a)
{
	return d->tl->threads[a - s->threads].in[HOST_OUTSIDE] / a->calls;
}

/* As many answers as there are ends at least, and not so many that an end is seen at once. */
static void choose(const struct diagnosis *d, struct search *s)
{
	for (uint32_t i = 0; i < d->trace->threads_count; i++) {
		struct asker *a = &s->threads[i];

		a->late =
			a->ends >= LEAST_NUMBER && a->calls >= a->ends && apart(d, s, a) > APART_NS;
		if (a->late && (!s->most || a->ends > s->most->ends))
			s->most = a;
	}
}

static void look_at_device(struct diagnosis *d, struct search *s, uint32_t device)
{
	for (uint32_t i = 0; i < d->gaps[device].count; i++) {
		const struct gap *g = &d->gaps[device].at[i];
		const struct asker *a = asker_of(d, s, g);

		if (!a || !a->late)
			continue;
		s->gain += g->outside;
		s->number++;
		place_add(places_of_work(&s->places, d, &d->tl->work[g->next]), g->outside,
			  g->start, g->end);
		claims_add(d, &s->claims, g->next);
	}
}

static void tell(struct diagnosis *d, struct search *s)
{
	const struct place *most = places_sort(&s->places);
	struct finding *f = NULL;
	char time[UNITS_TEXT];

	if (most)
		f = finding_add(d, s->gain,
				"the host sees the end of %s kernels late, by %s in all",
				UNITS_COUNT(s->number), units_time(s->gain, time));
	if (f) {
		f->count = s->number;
		text_add(&f->where, "before ");
		finding_set_place(d, f, most);
		plain_addf(&f->evidence,
			   "%s calls of %s, %s apart on average (the mode leaves them out and "
			   "counts them)\n",
			   UNITS_COUNT(s->most->calls), op_name(d, s->most->op),
			   units_time(apart(d, s, s->most), time));
		finding_add_places(d, f, &s->places, "in no call before it");
		text_add(&f->advice, "wait with a blocking call, or submit the next work before "
				     "asking for the end of the last");
	}
	claims_end(d, &s->claims, CLAIM_GAP, f);
}

static void find(struct diagnosis *d)
{
	struct search s = {0};

	if (!d->trace->left_out_count)
		return;
	s.threads = calloc((size_t)d->trace->threads_count + 1, sizeof(*s.threads));
	if (!s.threads) {
		d->failed = true;
		return;
	}
	list_askers(d, &s);
	choose(d, &s);
	for (uint32_t i = 0; s.most && i < d->tl->devices_count; i++)
		look_at_device(d, &s, i);
	tell(d, &s);
	d->failed |= s.places.failed;
	places_release(&s.places);
	free(s.threads);
}

const struct rule rule_late_polling = {
	.id = "late-polling",
	.what = "the host asks whether the device is done so seldom that it sees the end late",
	.threshold = 0.05,
	.repeats = true,
	.why = "below a twentieth of the run no nap is too long",
	.cost = "from the end of a kernel until the thread that asks submits the next, where it is "
		"in no recorded call",
	.find = find,
};
