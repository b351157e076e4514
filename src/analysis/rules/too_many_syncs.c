/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host waits until the device has nothing left, and only then submits the next work: the device idles
 * while the host returns and launches. Without the wait the host would have done that while the device still
 * worked; so of each such gap at most the time is won that the host waited.
 *
 * A launch for a device with nothing to do takes longer where it has to be woken: that falls away as well, down to
 * the shortest launch by the same call. Without the wait that one alone would keep the device waiting.
 *
 * Gaps in which the host mostly computes are host-late's, those that other calls take device-idle's; blocking copies have rules of
 * their own. A wait in which another device works is for that one.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/rules/support.h"

#define LEAST_SYNCS 10 /* fewer are no loop */

/* The call that submitted what comes next, if it did nothing else; or NULL. */
static const struct tl_call *launch_of(const struct diagnosis *d, const struct gap *g)
{
	const struct tl_call *c = g->submit == TIMELINE_NONE ? NULL : &d->tl->calls[g->submit];

	return c && timeline_state(c) == HOST_LAUNCH && !(c->flags & CALL_BURST) ? c : NULL;
}

/* By op, ns of its shortest call that submitted to the device; 0: not known. NULL: no memory. */
static uint64_t *shortest_launches(const struct diagnosis *d, uint32_t device)
{
	uint64_t *shortest = calloc((size_t)d->trace->ops_count + 1, sizeof(*shortest));

	for (uint32_t i = 0; shortest && i < d->gaps[device].count; i++) {
		const struct tl_call *c = launch_of(d, &d->gaps[device].at[i]);
		uint64_t ns = c ? (uint64_t)(c->end - c->start) : 0;

		if (ns && (!shortest[c->op] || ns < shortest[c->op]))
			shortest[c->op] = ns;
	}
	return shortest;
}

/* What the launch took longer than it has to. */
static uint64_t waking(const struct diagnosis *d, const struct gap *g, const uint64_t *shortest)
{
	const struct tl_call *c = launch_of(d, g);
	uint64_t ns = c ? (uint64_t)(c->end - c->start) : 0;

	return c && ns > shortest[c->op] ? ns - shortest[c->op] : 0;
}

static uint64_t won(const struct diagnosis *d, const struct gap *g, const uint64_t *shortest)
{
	const struct tl_call *wait;
	const struct tl_work *before = &d->tl->work[g->before];

	if (g->wait == TIMELINE_NONE || !gap_is_open(d, g) || 2 * g->outside > gap_length(g) ||
	    2 * (g->mpi + g->other + g->devices) > gap_length(g) || before->blocking)
		return 0;
	wait = &d->tl->calls[g->wait];
	if (wait->start > g->start)
		return 0;
	return least((uint64_t)(wait->end - wait->start) + waking(d, g, shortest), gap_length(g)) -
	       g->devices;
}

static void find_of_device(struct diagnosis *d, uint32_t device)
{
	struct places groups = {0};
	struct claims claims = {0};
	uint64_t gain = 0, number = 0;
	const struct place *most;
	struct finding *f = NULL;
	uint64_t *shortest = shortest_launches(d, device);
	char time[UNITS_TEXT];

	d->failed |= !shortest;
	for (uint32_t i = 0; shortest && i < d->gaps[device].count; i++) {
		const struct gap *g = &d->gaps[device].at[i];
		uint64_t ns = won(d, g, shortest);
		const struct tl_call *wait = ns ? &d->tl->calls[g->wait] : NULL;

		if (!ns)
			continue;
		gain += ns;
		number++;
		place_add(places_at(&groups, device, wait->site, wait->op, 0), ns, wait->start,
			  g->end);
		claims_add(d, &claims, g->next);
	}
	most = places_sort(&groups);
	if (most && number >= LEAST_SYNCS)
		f = finding_add(d, gain, "%s runs dry at %s waits, %s in all",
				device_label(d, device), UNITS_COUNT(number),
				units_time(gain, time));
	if (f) {
		f->count = number;
		finding_set_place(d, f, most);
		finding_add_places(d, f, &groups, "idle behind waits");
		text_add(&f->advice,
			 "wait once, where the result is needed; let queues, events and "
			 "barriers keep the order");
	}
	claims_end(d, &claims, CLAIM_GAP, f);
	d->failed |= groups.failed;
	places_release(&groups);
	free(shortest);
}

const struct rule rule_too_many_syncs = {
	.id = "too-many-syncs",
	.what = "the host waits so often that the device runs dry between",
	.threshold = 0.05,
	.repeats = true,
	.why = "programs have to wait now and then; below a twentieth of the run that is no fault",
	.cost = "of each gap behind a wait that drained the device, at most the time waited, by "
		"which the host would have submitted earlier, and what its launch took longer "
		"than the shortest",
	.find_of_device = find_of_device,
};
