/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of fewer work groups than the device has compute units leave the others empty: spread over all, the
 * same work would take that part of the time. Where others run meanwhile, they may fill them. Kernels that communicate
 * have as many as the links between devices need.
 */
#include <inttypes.h>

#include "analysis/rules/support.h"
#include "base/plain.h"
#include "base/units.h"

#define LEAST_NS 20000 /* a shorter kernel gets no faster that way */

/* Groups, or what the runtime can make of its items at most; 0: not known. */
static uint64_t groups_of(const struct tl_work *w)
{
	return w->groups ? w->groups : w->items;
}

/* Alone on the device: neither the one before nor the one after overlap with it. */
static bool is_alone(const struct diagnosis *d, const struct tl_device *dev, uint32_t i,
		     int64_t until)
{
	const struct tl_work *w = &d->tl->work[d->tl->order[dev->first + i]];

	for (uint32_t k = i + 1; k < dev->count; k++) {
		const struct tl_work *next = &d->tl->work[d->tl->order[dev->first + k]];

		if (next->start >= w->end)
			break;
		if (next->kind == WORK_KERNEL)
			return false;
	}
	return until <= w->start;
}

static void tell(struct diagnosis *d, uint32_t device, struct places *places, uint64_t gain,
		 uint64_t number, uint64_t units)
{
	const struct place *most = places_sort(places);
	struct finding *f = NULL;
	char time[UNITS_TEXT];

	if (most)
		f = finding_add(d, gain, "%s kernel%s leave%s most of %s empty: %s",
				UNITS_COUNT(number), plural(number), number == 1 ? "s" : "",
				device_label(d, device), units_time(gain, time));
	if (!f)
		return;
	f->count = number;
	finding_set_place(d, f, most);
	plain_addf(&f->evidence,
		   "%s kernels there with %.1f work groups on average, on %s compute units\n",
		   UNITS_COUNT(most->count), (double)most->other / (double)most->count,
		   UNITS_COUNT(units));
	finding_add_places(d, f, places, "of empty units");
	text_add(&f->advice,
		 "use more and smaller work groups, or run several such kernels at once "
		 "in queues of their own");
}

static void find_of_device(struct diagnosis *d, uint32_t device)
{
	const struct tl_device *dev = &d->tl->devices[device];
	uint64_t units = device_units(d, device), gain = 0, number = 0;
	struct places places = {0};
	int64_t until = INT64_MIN;

	for (uint32_t i = 0; units > 1 && i < dev->count; i++) {
		uint32_t work = d->tl->order[dev->first + i];
		const struct tl_work *w = &d->tl->work[work];
		uint64_t length = (uint64_t)(w->end - w->start), groups = groups_of(w), ns;

		/* It may be all that its part of the device has room for. */
		if (w->kind != WORK_KERNEL || work_on_part(d, w))
			continue;
		if (groups && groups < units && length >= LEAST_NS && !w->communicates &&
		    !(d->claimed[work] & CLAIM_TIME) && is_alone(d, dev, i, until)) {
			struct place *p = places_of_work(&places, d, w);

			ns = (uint64_t)((double)length * (1 - (double)groups / (double)units));
			gain += ns;
			number++;
			place_add(p, ns, w->start, w->end);
			if (p)
				p->other += groups;
		}
		until = w->end > until ? w->end : until;
	}
	tell(d, device, &places, gain, number, units);
	if (!units && intervals_length(&d->tl->devices[device].kernels))
		diagnosis_abstain(d, "it is not known how many compute units %s has",
				  device_label(d, device));
	d->failed |= places.failed;
	places_release(&places);
}

const struct rule rule_small_grid = {
	.id = "small-grid",
	.what = "kernels have fewer work groups than the device has compute units",
	.threshold = 0.05,
	.repeats = true,
	.why = "some steps of a program are small; below a twentieth of the run they do not matter",
	.cost = "of each kernel of 20 us and more that runs alone, the share of units that have no "
		"work group",
	.find_of_device = find_of_device,
};
