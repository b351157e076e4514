/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of several queues, submitted at once and each too small to fill the device, run one after the other.
 * Two of which either fits beside the other could share the time of the longer. What communicates has a queue of its own
 * and sends what kernels of others have made: it runs after them for that.
 *
 * The same of devices: time and again the host waits for one before it gives the next one its work, and never do
 * two work at once. A device that the host sends nothing to and fetches nothing from may work on what the other
 * has just made, and has to wait.
 */
#include <inttypes.h>

#include "analysis/rules/support.h"

#define NEAR_NS      50000 /* it starts so soon after the other has ended: that is what it waited for */
#define LEAST_NUMBER 10

struct search {
	struct places places;
	uint64_t gain, number;
	uint64_t unknown, unknowns; /* ns, and pairs, that may have no room beside each other */
	uint32_t last;              /* kernel that nothing runs beside yet, or TIMELINE_NONE */
};

/* Both were there. */
static bool in_turn(const struct diagnosis *d, const struct tl_work *a, const struct tl_work *b)
{
	const struct tl_call *c = timeline_call(d->tl, b);

	return a->queue != b->queue && c && c->end <= a->start + (a->end - a->start) / 2 &&
	       b->start >= a->end && b->start - a->end < NEAR_NS;
}

static bool have_room(uint64_t units, const struct tl_work *a, const struct tl_work *b)
{
	return a->groups && b->groups && a->groups + b->groups <= units;
}

/* They never run at once, and nothing says whether they could. */
static void say_unknown(struct diagnosis *d, uint32_t device, const struct search *s)
{
	const struct tl_device *dev = &d->tl->devices[device];
	uint64_t sum = 0, united = intervals_length(&dev->kernels);
	char time[UNITS_TEXT];

	if (s->unknowns < LEAST_NUMBER || !diagnosis_is_enough(d, s->unknown))
		return;
	for (uint32_t i = 0; i < dev->count; i++) {
		const struct tl_work *w = &d->tl->work[d->tl->order[dev->first + i]];

		sum += w->kind == WORK_KERNEL ? (uint64_t)(w->end - w->start) : 0;
	}
	if (20 * (sum - united) < s->unknown)
		diagnosis_abstain(
			d,
			"queues of %s work by turns, %s times, %s: whether their kernels need each "
			"other's results, and would have room side by side, is not known",
			device_label(d, device), UNITS_COUNT(s->unknowns),
			units_time(s->unknown, time));
}

static void find_of_device(struct diagnosis *d, uint32_t device)
{
	const struct tl_device *dev = &d->tl->devices[device];
	uint64_t units = device_units(d, device);
	struct search s = {.last = TIMELINE_NONE};
	const struct place *most;
	struct finding *f = NULL;
	char time[UNITS_TEXT];

	for (uint32_t i = 0; i < dev->count; i++) {
		uint32_t work = d->tl->order[dev->first + i];
		const struct tl_work *w = &d->tl->work[work], *last;

		if (w->kind != WORK_KERNEL || w->communicates)
			continue;
		last = s.last == TIMELINE_NONE ? NULL : &d->tl->work[s.last];
		s.last = work;
		if (last && in_turn(d, last, w)) {
			uint64_t ns = least((uint64_t)(last->end - last->start),
					    (uint64_t)(w->end - w->start));

			if (!work_on_part(d, last) && !work_on_part(d, w) &&
			    have_room(units, last, w)) {
				s.gain += ns;
				s.number++;
				place_add(places_of_work(&s.places, d, w), ns, last->start, w->end);
			} else {
				s.unknown += ns;
				s.unknowns++;
			}
			s.last = TIMELINE_NONE; /* a pair */
		}
	}
	most = places_sort(&s.places);
	if (most && s.number >= LEAST_NUMBER)
		f = finding_add(d, s.gain, "queues of %s run one after the other: %s times, %s",
				device_label(d, device), UNITS_COUNT(s.number),
				units_time(s.gain, time));
	if (f) {
		f->count = s.number;
		finding_set_place(d, f, most);
		finding_add_places(d, f, &s.places, "after one of another queue");
		text_add(&f->advice, "look for an event, a default stream or a barrier that keeps "
				     "them apart; or more hardware queues "
				     "(CUDA_DEVICE_MAX_CONNECTIONS)");
	} else {
		say_unknown(d, device, &s);
	}
	d->failed |= s.places.failed;
	places_release(&s.places);
}

/* ---- devices ------------------------------------------------------------------------------------ */

struct turns {
	struct places places;
	struct intervals kernels; /* of all */
	uint64_t sum, most, number;
	uint32_t devices;
};

static bool has_own_data(const struct diagnosis *d, uint32_t device)
{
	const struct tl_device *dev = &d->tl->devices[device];

	for (uint32_t i = 0; i < dev->count; i++) {
		const struct tl_work *w = &d->tl->work[d->tl->order[dev->first + i]];

		if (w->kind != WORK_KERNEL && w->to_device)
			return true;
	}
	return false;
}

/* It had nothing to do while the host waited for another. */
static uint64_t count_turns(struct diagnosis *d, struct turns *t, uint32_t device)
{
	uint64_t number = 0;

	for (uint32_t i = 0; i < d->gaps[device].count; i++) {
		const struct gap *g = &d->gaps[device].at[i];
		const struct tl_work *w = &d->tl->work[g->next];

		if (w->kind != WORK_KERNEL || 2 * g->devices <= gap_length(g))
			continue;
		number++;
		place_add(places_of_work(&t->places, d, w), g->devices, g->start, w->end);
	}
	return number;
}

static void add_device(struct diagnosis *d, struct turns *t, uint32_t device)
{
	const struct intervals *kernels = &d->tl->devices[device].kernels;
	uint64_t number;

	if (!kernels->count || !has_own_data(d, device))
		return;
	number = count_turns(d, t, device);
	if (number < LEAST_NUMBER)
		return;
	t->number += number;
	t->devices++;
	t->sum += intervals_length(kernels);
	if (intervals_length(kernels) > t->most)
		t->most = intervals_length(kernels);
	for (uint32_t i = 0; i < kernels->count; i++)
		d->failed |= !intervals_add(&t->kernels, kernels->at[i].start, kernels->at[i].end);
}

static void find_turns(struct diagnosis *d)
{
	struct turns t = {0};
	const struct place *most;
	struct finding *f = NULL;
	char time[UNITS_TEXT];

	for (uint32_t i = 0; i < d->tl->devices_count; i++)
		add_device(d, &t, i);
	intervals_unite(&t.kernels);
	most = places_sort(&t.places);
	/* What goes on at once now and then is no matter of turns. */
	if (most && t.devices > 1 && 20 * (t.sum - intervals_length(&t.kernels)) < t.sum - t.most)
		f = finding_add(d, t.sum - t.most, "%u devices work in turn: %s times, %s",
				t.devices, UNITS_COUNT(t.number), units_time(t.sum - t.most, time));
	if (f) {
		f->count = t.number;
		finding_set_place(d, f, most);
		finding_add_places(d, f, &t.places, "idle while the host waits for another device");
		text_add(&f->advice, "give all devices their work before waiting for one");
	}
	d->failed |= t.places.failed;
	places_release(&t.places);
	intervals_release(&t.kernels);
}

const struct rule rule_serialised_queues = {
	.id = "serialised-queues",
	.what = "small kernels of several queues, or devices, work one after the other for no "
		"reason",
	.threshold = 0.03,
	.repeats = true,
	.why = "below that it is noise; fewer than 10 pairs may be a matter of data",
	.cost = "of each pair whose work groups fit beside each other, the shorter kernel; of "
		"devices "
		"in turn, the kernels of all but the busiest",
	.find = find_turns,
	.find_of_device = find_of_device,
};
