/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices wait in collectives (NCCL, RCCL) for that of a rank that comes late (collectives.h). A wait beside which the
 * device has other kernels to run costs nothing.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/collectives.h"
#include "analysis/rules/support.h"
#include "base/plain.h"

#define REGULAR 0.4 /* of the mean: who waits less than that for the others is who they wait for */

enum { TOLD = 4 /* members that evidence names */ };

struct look {
	struct diagnosis *d;
	struct collectives all;
};

/* ---- findings ---------------------------------------------------------------------------------- */

struct verdict {
	const struct collective_member *cause;
	uint64_t mean;   /* that a device waits */
	uint64_t least;  /* that another than the cause does */
	uint64_t others; /* that the others compute, on average */
	bool regular, uneven;
};

static struct verdict judge(const struct collective_member *m, uint32_t size)
{
	struct verdict v = {.cause = m, .least = UINT64_MAX};
	uint64_t sum = 0, computing = 0;

	for (uint32_t i = 1; i < size; i++)
		v.cause = m[i].charged > v.cause->charged ? &m[i] : v.cause;
	for (uint32_t i = 0; i < size; i++) {
		sum += m[i].waits;
		if (&m[i] == v.cause)
			continue;
		computing += m[i].computing;
		v.least = least(v.least, m[i].waits);
	}
	v.mean = sum / size;
	v.others = computing / (size - 1);
	v.regular = (double)v.cause->waits < REGULAR * (double)v.mean;
	/* What it has to do more explains half of it. */
	v.uneven = v.cause->computing > v.others &&
		   2 * (v.cause->computing - v.others) > v.cause->charged / (size - 1);
	return v;
}

/* Work that is shared evenly ends with the mean; a late rank that comes in time, when the next late one does. */
static uint64_t gain_of(const struct verdict *v)
{
	uint64_t even = v->mean - v->cause->waits;
	uint64_t in_time = v->least > v->cause->waits ? v->least - v->cause->waits : 0;

	return v->uneven || even > in_time ? even : in_time;
}

/* "rank 1", or the device where the process has several or is none. */
static void add_name(struct text *out, const struct look *s, const struct collective_circle *c,
		     uint32_t device)
{
	const struct diagnosis *d = s->d;
	const struct collective_part *p = &s->all.parts[c->first];
	const struct t_process *process = NULL;
	uint32_t number = 0;

	for (uint32_t i = 0; i < c->size; i++)
		if (p[i].device == device)
			process = &d->trace->processes[d->tl->work[p[i].work].process];
	for (uint32_t i = 0; i < c->size; i++)
		number += &d->trace->processes[d->tl->work[p[i].work].process] == process;
	if (!process || process->rank == UINT32_MAX || number > 1)
		text_add(out, device_label(d, device));
	else if (d->trace->worlds > 1)
		text_addf(out, "rank %u.%u", process->world, process->rank);
	else
		text_addf(out, "rank %u", process->rank);
}

static void say_members(struct finding *f, const struct look *s, const struct collective_circle *c,
			const struct collective_member *m, const struct verdict *v)
{
	char waits[UNITS_TEXT], all[UNITS_TEXT];
	uint32_t told = 0;

	for (uint32_t i = 0; i < c->size; i++) {
		struct text name = {0};

		if (&m[i] == v->cause || told++ >= TOLD)
			continue;
		add_name(&name, s, c, m[i].device);
		plain_addf(&f->evidence, "%s waits %s beside no other kernel, %s in all\n",
			   name.s ? name.s : "", units_time(m[i].waits, waits),
			   units_time(m[i].spins, all));
		text_release(&name);
	}
	if (told > TOLD)
		plain_addf(&f->evidence, "and %u more\n", told - TOLD);
}

/* When the first hundredth of what is waited for the cause is over. */
static int64_t late_since(const struct look *s, const struct collective_circle *c, uint32_t cause)
{
	struct intervals times = {0};
	uint64_t sum, so_far = 0;
	int64_t since = c->start;

	for (uint32_t i = 0; i < c->waits; i++) {
		const struct collective_wait *w = &s->all.waits[c->first_wait + i];

		if (w->cause == cause)
			s->d->failed |= !intervals_add(&times, w->start, w->end);
	}
	intervals_unite(&times);
	sum = intervals_length(&times);
	for (uint32_t i = 0; i < times.count && 100 * so_far <= sum; i++) {
		since = times.at[i].start;
		so_far += (uint64_t)(times.at[i].end - times.at[i].start);
	}
	intervals_release(&times);
	return since;
}

static void say_when(struct finding *f, const struct look *s, const struct collective_circle *c,
		     const struct collective_member *cause, const char *name)
{
	int64_t since = late_since(s, c, cause->device), origin = s->d->trace->origin;
	char longest[UNITS_TEXT], at[UNITS_TEXT];

	plain_addf(&f->evidence, "the longest wait %s at %s\n",
		   units_time((uint64_t)(f->end - f->start), longest),
		   units_time((uint64_t)(f->start > origin ? f->start - origin : 0), at));
	if (since - c->start > (c->end - c->start) / 4)
		plain_addf(&f->evidence, "%s is late from %s on\n", name,
			   units_time((uint64_t)(since - origin), at));
}

static void say(struct finding *f, struct look *s, const struct collective_circle *c,
		const struct collective_member *m, const struct verdict *v, const char *cause)
{
	struct places places = {0};
	char own[UNITS_TEXT], others[UNITS_TEXT];

	for (uint32_t i = 0; i < c->waits; i++) {
		const struct collective_wait *w = &s->all.waits[c->first_wait + i];

		if (w->cause != v->cause->device)
			continue;
		place_add(places_of_work(&places, s->d, &s->d->tl->work[w->work]),
			  (uint64_t)(w->end - w->start), w->start, w->end);
		f->count++;
	}
	s->d->failed |= places.failed;
	if (places_sort(&places))
		finding_set_place(s->d, f, places.at);
	places_release(&places);
	if (!f->agent)
		f->agent = s->d->tl->devices[v->cause->device].agent;
	plain_addf(&f->evidence, "%s is the last at %u of %u collectives of %u devices\n", cause,
		   v->cause->last, c->meetings, c->size);
	plain_addf(&f->evidence, "it computes for %s, the other%s for %s%s\n",
		   units_time(v->cause->computing, own), c->size == 2 ? "" : "s",
		   units_time(v->others, others), c->size == 2 ? "" : " on average");
	say_members(f, s, c, m, v);
	say_when(f, s, c, v->cause, cause);
	text_add(&f->advice,
		 v->uneven ? "share the work evenly (batches by what is in them, not by their "
			     "number); what the others wait for is this rank"
			   : "see why this rank's device begins its collectives later: input, "
			     "host code, other findings about it");
}

/* The gap that ends with a piece of work; NULL: there is none. */
static const struct gap *gap_that_ends(const struct gaps *gaps, const struct tl_work *w)
{
	uint32_t low = 0, high = gaps->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (gaps->at[middle].end < w->start)
			low = middle + 1;
		else
			high = middle;
	}
	return low < gaps->count && gaps->at[low].end == w->start ? &gaps->at[low] : NULL;
}

/* Who begins a collective earlier by a gap waits in it for so much longer: that gap costs nothing. */
static void claim_before(struct look *s, const struct collective_circle *c, uint32_t cause)
{
	struct claims claims = {0};

	for (uint32_t i = 0; i < c->waits; i++) {
		const struct collective_wait *w = &s->all.waits[c->first_wait + i];
		const struct gap *g =
			gap_that_ends(&s->d->gaps[w->device], &s->d->tl->work[w->work]);

		if (w->cause == cause && g && g->next == w->work &&
		    w->end - w->start >= g->end - g->start)
			claims_add(s->d, &claims, w->work);
	}
	claims_end(s->d, &claims, CLAIM_GAP, true);
}

static void tell(struct look *s, const struct collective_circle *c,
		 const struct collective_member *m, const struct verdict *v)
{
	struct text cause = {0}, waits = {0};
	struct finding *f;
	char time[UNITS_TEXT];

	add_name(&cause, s, c, v->cause->device);
	add_name(&waits, s, c, m[v->cause == m ? 1 : 0].device);
	units_time(v->cause->charged / (c->size - 1), time);
	if (c->size == 2)
		f = finding_add(s->d, gain_of(v), "%s waits %s for %s in collectives on devices",
				waits.s ? waits.s : "", time, cause.s ? cause.s : "");
	else
		f = finding_add(s->d, gain_of(v),
				"%u devices wait %s on average for %s in collectives on devices",
				c->size - 1, time, cause.s ? cause.s : "");
	if (f) {
		say(f, s, c, m, v, cause.s ? cause.s : "");
		claim_before(s, c, v->cause->device);
	}
	text_release(&cause);
	text_release(&waits);
}

/* Each is late in turn. */
static void say_turns(struct look *s, const struct collective_circle *c, const struct verdict *v)
{
	struct text cause = {0};
	char time[UNITS_TEXT];

	if (diagnosis_share(s->d, v->mean) < s->d->rule->threshold)
		return;
	add_name(&cause, s, c, v->cause->device);
	diagnosis_abstain(s->d,
			  "%u devices wait %s on average for each other in collectives, by turns "
			  "(%s is the last at %u of %u): what differs from one to the next, in the "
			  "data or on the machines, is not known",
			  c->size, units_time(v->mean, time), cause.s ? cause.s : "",
			  v->cause->last, c->meetings);
	text_release(&cause);
}

static void look_at_circle(struct look *s, const struct collective_circle *c)
{
	struct collective_member *m = collectives_members(&s->all, c);
	struct verdict v;

	if (!m) {
		s->d->failed = true;
		return;
	}
	v = judge(m, c->size);
	if (v.mean && v.regular)
		tell(s, c, m, &v);
	else if (v.mean)
		say_turns(s, c, &v);
	free(m);
}

/* ---- what is not known --------------------------------------------------------------------------- */

/* The longest that a device's kernels communicate. */
static uint64_t most_communication(const struct diagnosis *d)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < d->tl->devices_count; i++) {
		uint64_t ns = intervals_length(&d->tl->devices[i].communication);

		most = ns > most ? ns : most;
	}
	return most;
}

static bool is_whole(const struct trace *t)
{
	for (uint32_t i = 1; i < t->processes_count; i++) {
		const struct t_process *p = &t->processes[i];

		if (p->lost_records || p->overwritten_records || p->damaged_blocks)
			return false;
	}
	return t->pauses_count < 2; /* the first of each list is none */
}

static const char *why_unknown(const struct diagnosis *d)
{
	if (d->tl->counted)
		return "calls were counted, not recorded";
	if (d->tl->window)
		return "of a part of the run it is not known which collectives belong together";
	return timeline_missing(d->tl) || !is_whole(d->trace) ? "records are missing" : NULL;
}

static void say_unknown(struct look *s)
{
	uint64_t ns = collectives_unmatched(&s->all) / s->d->tl->devices_count;
	uint32_t there, of;
	char time[UNITS_TEXT];

	if (diagnosis_share(s->d, ns) < s->d->rule->threshold)
		return;
	s->d->failed |= !collectives_missing(s->d->trace, &there, &of);
	if (there)
		diagnosis_abstain(s->d,
				  "%u of %u ranks of a communicator are in the trace: what devices "
				  "wait for the others in collectives is not known",
				  there, of);
	else
		diagnosis_abstain(s->d,
				  "kernels that communicate for %s on each device, on average, "
				  "belong to no collective that is known in all its ranks (sends, "
				  "graphs): what they wait for is not known",
				  units_time(ns, time));
}

static void find(struct diagnosis *d)
{
	struct look s = {.d = d};
	const char *why;

	if (diagnosis_share(d, most_communication(d)) < d->rule->threshold)
		return;
	why = why_unknown(d);
	if (why) {
		diagnosis_abstain(d,
				  "%s: what devices wait for each other in collectives is not "
				  "known",
				  why);
		return;
	}
	d->failed |= !collectives_find(&s.all, d->tl);
	for (uint32_t i = 0; i < s.all.circles_count && !d->failed; i++)
		look_at_circle(&s, &s.all.circles[i]);
	if (!d->failed)
		say_unknown(&s);
	collectives_release(&s.all);
}

const struct rule rule_late_device = {
	.id = "late-device",
	.what = "devices wait in collectives (NCCL) for that of a rank that comes late",
	.threshold = 0.05,
	.why = "collectives of equal ranks differ by some per cent of the run",
	.cost = "where the late rank has more to do: what devices wait beside no other kernel, on "
		"average, less what it waits itself; else what the one that waits least does",
	.find = find,
};
