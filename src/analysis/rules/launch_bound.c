/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device waits for the next launch again and again although the host does nothing but launch: its work
 * is shorter than a launch takes. Gaps of at most MOST_NS count in which the host did not wait. Where the next
 * kernel was not there yet, of each the time is left that recording a launch adds to it.
 *
 * Where the next kernel was there already, it is the runtime or the device that takes so long to start it. That
 * counts if the kernel is no longer than the gap, and all of it: in one kernel that does the work of both there is
 * no gap, however short, and what the host records goes on beside the device.
 *
 * A thread that does nothing but launch is in a launch when it loses its processor, so that one of many takes
 * longer: fewer launches would meet that as much more seldom. So longer gaps count as well that the thread spends in
 * launches, if they are less than a tenth as many; but not before the first launch of a kernel, whose code is loaded
 * then: that happens once.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/rules/support.h"
#include "base/plain.h"

#define MOST_NS      100000 /* a longer gap is no launch, or one that was held up */
#define RECORDING_NS 1000   /* recording adds that to a launch (docs/overhead.md) */
#define LEAST_NUMBER 100

/* By kernel: the piece of work in which the device first ran it. NULL: no memory. */
static uint32_t *first_launches(const struct diagnosis *d, uint32_t device)
{
	const struct tl_device *dev = &d->tl->devices[device];
	uint32_t *first = calloc((size_t)d->trace->kernels_count + 1, sizeof(*first));

	for (uint32_t i = dev->count; first && i--;) {
		uint32_t work = d->tl->order[dev->first + i];

		if (d->tl->work[work].kernel < d->trace->kernels_count)
			first[d->tl->work[work].kernel] = work;
	}
	return first;
}

static bool is_first(const struct diagnosis *d, const uint32_t *first, const struct gap *g)
{
	uint32_t kernel = d->tl->work[g->next].kernel;

	return kernel < d->trace->kernels_count && first[kernel] == g->next;
}

static uint64_t won(const struct diagnosis *d, const struct gap *g, const uint32_t *first)
{
	const struct tl_work *w = &d->tl->work[g->next];
	const struct tl_call *launch = timeline_call(d->tl, w);
	uint64_t length = gap_length(g);

	if (!launch || w->graph || w->kind != WORK_KERNEL || !gap_is_open(d, g) ||
	    g->wait != TIMELINE_NONE || g->mpi || 2 * g->other > length)
		return 0;
	/* A longer one that was there before the device was free waits for something else, or does not matter. */
	if (launch->end <= g->start)
		return length > MOST_NS || (uint64_t)(w->end - w->start) > length ? 0 : length;
	if (length > MOST_NS && (2 * g->outside > length || is_first(d, first, g)))
		return 0;
	return length > RECORDING_NS ? length - RECORDING_NS : 0;
}

/* The length of gaps that count: any, if those that are no short ones are few among the others. */
static uint64_t longest(const struct diagnosis *d, uint32_t device, const uint32_t *first)
{
	uint64_t launches = 0, held_up = 0;

	for (uint32_t i = 0; i < d->gaps[device].count; i++) {
		const struct gap *g = &d->gaps[device].at[i];

		if (!won(d, g, first))
			continue;
		launches += gap_length(g) <= MOST_NS;
		held_up += gap_length(g) > MOST_NS;
	}
	return 10 * held_up < launches ? UINT64_MAX : MOST_NS;
}

static void find_in(struct diagnosis *d, uint32_t device, const uint32_t *first)
{
	struct places groups = {0};
	struct claims claims = {0};
	uint64_t gain = 0, number = 0, busy = 0, idle = 0, limit = longest(d, device, first);
	const struct place *most;
	struct finding *f = NULL;
	char time[UNITS_TEXT], each[UNITS_TEXT];

	for (uint32_t i = 0; i < d->gaps[device].count; i++) {
		const struct gap *g = &d->gaps[device].at[i];
		const struct tl_work *w = &d->tl->work[g->next];
		uint64_t ns = gap_length(g) <= limit ? won(d, g, first) : 0;

		if (!ns)
			continue;
		gain += ns;
		number++;
		busy += (uint64_t)(w->end - w->start);
		idle += gap_length(g);
		place_add(places_of_work(&groups, d, w), ns, g->start, w->end);
		claims_add(d, &claims, g->next);
	}
	most = places_sort(&groups);
	if (most && number >= LEAST_NUMBER)
		f = finding_add(d, gain, "%s waits for launches %s, %s kernels of %s",
				device_label(d, device), units_time(gain, time),
				UNITS_COUNT(number), units_time(busy / number, each));
	if (f) {
		f->count = number;
		finding_set_place(d, f, most);
		plain_addf(&f->evidence, "%s from the end of one kernel to the start of the next",
			   units_time(idle / number, each));
		plain_addf(&f->evidence, " on average, %s in a kernel\n",
			   units_time(busy / number, each));
		finding_add_places(d, f, &groups, "idle before it");
		text_add(&f->advice,
			 "do more in a kernel (fuse, larger pieces), or submit many at once "
			 "(graphs, command buffers)");
	}
	claims_end(d, &claims, CLAIM_GAP, f);
	d->failed |= groups.failed;
	places_release(&groups);
}

static void find_of_device(struct diagnosis *d, uint32_t device)
{
	uint32_t *first = first_launches(d, device);

	if (first)
		find_in(d, device, first);
	d->failed |= !first;
	free(first);
}

const struct rule rule_launch_bound = {
	.id = "launch-bound",
	.what = "kernels are shorter than their launches take: the device waits for the host's "
		"next",
	.threshold = 0.05,
	.repeats = true,
	.why = "fusing kernels is work; below a twentieth of the run it does not pay",
	.cost = "gaps up to 100 us (or few longer ones among them) in which the host only "
		"launches, less 1 us each that recording "
		"a launch takes; or before kernels that were there and are no longer than their "
		"gap",
	.find_of_device = find_of_device,
};
