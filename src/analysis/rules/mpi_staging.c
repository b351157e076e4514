/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MPI is given memory of a device and copies it through the host's: part of what a message takes is a copy that the call
 * makes. Copies from device to device that MPI makes are how it is done well.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/rules/support.h"
#include "base/plain.h"

enum { LEAST_NUMBER = 10 };

struct search {
	struct places places;
	struct claims claims;
	struct intervals times; /* of the copies, on any device */
	uint8_t *staged;        /* by call: it copies */
	uint64_t copies, bytes, ns;
	uint64_t hidden;                   /* ns beside kernels */
	uint64_t messages, sent, calls_ns; /* of calls that copy */
};

static void look_at(struct diagnosis *d, struct search *s, uint32_t work)
{
	const struct tl_work *w = &d->tl->work[work];
	const struct tl_call *c;
	uint64_t ns = (uint64_t)(w->end - w->start);

	if (w->kind != WORK_COPY || w->to_device == w->from_device || d->claimed[work])
		return;
	c = timeline_call(d->tl, w);
	if (c)
		c = timeline_outermost(d->tl, c);
	if (!c || !(c->flags & CALL_MPI))
		return;
	if (!s->staged[c - d->tl->calls])
		s->calls_ns += (uint64_t)(c->end - c->start);
	s->staged[c - d->tl->calls] = 1;
	s->copies++;
	s->bytes += w->bytes;
	s->ns += ns;
	s->hidden += intervals_within(&d->tl->devices[w->device].kernels, w->start, w->end);
	if (!intervals_add(&s->times, w->start, w->end))
		d->failed = true;
	place_add(places_at(&s->places, w->device, c->site, c->op, 0), ns, w->start, w->end);
	claims_add(d, &s->claims, work);
}

/* Messages that these calls began. */
static void add_messages(const struct diagnosis *d, struct search *s)
{
	for (uint32_t i = 0; i < d->tl->messages_count; i++) {
		const struct tl_message *m = &d->tl->messages[i];
		const struct tl_call *c = timeline_find(d->tl, m->process, m->id);

		if (!c || !s->staged[c - d->tl->calls])
			continue;
		s->messages++;
		s->sent += m->bytes;
	}
}

/* Devices that copy at once lose the time once. */
static uint64_t gain_of(const struct diagnosis *d, struct search *s)
{
	uint64_t all;

	intervals_unite(&s->times);
	all = intervals_within(&s->times, d->tl->start, d->tl->end);
	return all - least(all, s->hidden);
}

static void tell(struct diagnosis *d, struct search *s)
{
	const struct place *most = places_sort(&s->places);
	char bytes[UNITS_TEXT], time[UNITS_TEXT], calls[UNITS_TEXT];
	struct finding *f = NULL;

	if (most && s->copies >= LEAST_NUMBER)
		f = finding_add(d, gain_of(d, s),
				"MPI copies memory of a device through the host's: %s of the %s in "
				"its calls",
				units_time(s->ns, time), units_time(s->calls_ns, calls));
	if (f) {
		f->count = s->copies;
		finding_set_place(d, f, most);
		add_messages(d, s);
		plain_addf(&f->evidence, "%s copies of %s", UNITS_COUNT(s->copies),
			   units_bytes((double)s->bytes, bytes));
		if (s->messages)
			plain_addf(&f->evidence, " for %s messages of %s", UNITS_COUNT(s->messages),
				   units_bytes((double)s->sent, bytes));
		text_add(&f->evidence, "\n");
		finding_add_places(d, f, &s->places, "of copies");
		text_add(
			&f->advice,
			"let MPI send from the device (UCX with GPUDirect or IPC: see that the "
			"transports are there); if it cannot, copy into pinned memory beside other "
			"work and send that");
	}
	claims_end(d, &s->claims, CLAIM_GAP | CLAIM_TIME, f);
}

static void find(struct diagnosis *d)
{
	struct search s = {0};

	if (!d->tl->messages_count)
		return;
	s.staged = calloc((size_t)d->tl->calls_count + 1, 1);
	for (uint32_t i = 0; s.staged && i < d->tl->devices_count; i++)
		for (uint32_t k = 0; k < d->tl->devices[i].count; k++)
			look_at(d, &s, d->tl->order[d->tl->devices[i].first + k]);
	if (s.staged && !d->failed)
		tell(d, &s);
	d->failed |= !s.staged || s.places.failed;
	claims_end(d, &s.claims, 0, false);
	free(s.staged);
	intervals_release(&s.times);
	places_release(&s.places);
}

const struct rule rule_mpi_staging = {
	.id = "mpi-staging",
	.what = "MPI copies memory of devices through the host's",
	.threshold = 0.05,
	.why = "less than 10 copies are no pattern, and small messages go through the host anyway",
	.cost = "the copies between host and device that calls of MPI make, without kernels "
		"meanwhile",
	.find = find,
};
