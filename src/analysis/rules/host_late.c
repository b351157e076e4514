/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device has nothing to do because the host is busy elsewhere, between its first and its last work. It
 * could have worked meanwhile at best: no more is won than the device's other work lets overlap. Where the
 * device works next to nothing, overlap is no matter: then it is the host's time that counts.
 */
#include <inttypes.h>

#include "analysis/rules/support.h"

#define HOST_ALONE 10 /* times the device's work: the host bounds the run */

static void say(struct diagnosis *d, struct finding *f, const struct places *groups,
		const struct place *most, bool alone)
{
	uint64_t number = 0;

	for (uint32_t i = 0; i < groups->count; i++)
		number += groups->at[i].count;
	f->count = number;
	text_add(&f->where, "before ");
	finding_set_place(d, f, most);
	finding_add_places(d, f, groups, "of host code before it");
	text_add(&f->advice, alone ? "make the host's part faster (more threads, prefetching): the "
				     "device is hardly used"
				   : "submit the next work before the host computes, so that both "
				     "go on at once, or move that computation to another thread");
}

static void find_of_device(struct diagnosis *d, uint32_t device)
{
	const struct idle *idle = &d->idle[device];
	uint64_t busy = idle->kernels + idle->transfers, late = 0, gain;
	struct places groups = {0};
	struct claims claims = {0};
	const struct place *most;
	struct finding *f = NULL;
	char time[UNITS_TEXT], works[UNITS_TEXT];
	bool alone;

	for (uint32_t i = 0; i < d->gaps[device].count; i++) {
		const struct gap *g = &d->gaps[device].at[i];
		struct place *place;

		if (2 * g->outside <= gap_length(g) || !gap_is_open(d, g))
			continue;
		late += g->outside;
		place = places_of_work(&groups, d, &d->tl->work[g->next]);
		place_add(place, g->outside, g->start, g->end);
		claims_add(d, &claims, g->next);
	}
	alone = late > HOST_ALONE * busy;
	gain = alone ? late : least(late, busy);
	most = places_sort(&groups);
	if (most && alone)
		f = finding_add(d, gain, "%s idle for %s of host code, and works only %s",
				device_label(d, device), units_time(late, time),
				units_time(busy, works));
	else if (most)
		f = finding_add(d, gain, "%s idle for %s while the host computes between launches",
				device_label(d, device), units_time(late, time));
	if (f)
		say(d, f, &groups, most, alone);
	claims_end(d, &claims, CLAIM_GAP, f);
	d->failed |= groups.failed;
	places_release(&groups);
}

static void find(struct diagnosis *d)
{
	for (uint32_t i = 0; i < d->tl->devices_count; i++)
		find_of_device(d, i);
}

const struct rule rule_host_late = {
	.id = "host-late",
	.what = "the device idles while the host computes between launches",
	.threshold = 0.05,
	.why = "below a twentieth of the run no restructuring of a program pays",
	.cost = "idle time while the submitting thread is in no recorded call, at most the "
		"device's "
		"busy time; all of it where that is 10 times more than the device works",
	.find = find,
};
