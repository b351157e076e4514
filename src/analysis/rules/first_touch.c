/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code is built or loaded when it is first needed, in the midst of the work: the device waits for it. Before a
 * program's work begins that is start-up; what is told here comes when a device has long been at work.
 *
 * Runtimes build and load without a record of it as well, where a kernel is used first: the first of its
 * launches takes longer, by milliseconds, than any later one. Those count from the device's second piece of work on.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/rules/support.h"
#include "base/units.h"

#define WARM     20      /* pieces of work after which a device is at work, if start-up is over */
#define LEAST_NS 1000000 /* what is built or loaded at a first use takes that */

/* When the first device had begun, and done WARM pieces of work; INT64_MAX: none has. */
static int64_t warm_at(const struct diagnosis *d)
{
	int64_t warm = INT64_MAX;

	for (uint32_t i = 0; i < d->tl->devices_count; i++) {
		const struct tl_device *dev = &d->tl->devices[i];
		int64_t at = dev->count > WARM ? d->tl->work[d->tl->order[dev->first + WARM]].start
					       : INT64_MAX;

		at = at < d->idle[i].begun ? d->idle[i].begun : at;
		warm = at < warm ? at : warm;
	}
	return warm;
}

/* ---- first uses --------------------------------------------------------------------------------- */

struct uses {                  /* of a kernel */
	uint32_t gap, device;  /* before the first: index + 1, 0: none */
	uint64_t first, later; /* launching it, at least; UINT64_MAX: never with the device idle */
	bool used;
};

static void look_at_uses(const struct diagnosis *d, uint32_t device, struct uses *uses)
{
	const struct tl_device *dev = &d->tl->devices[device];
	uint32_t next = 0;

	for (uint32_t i = 0; i < dev->count; i++) {
		uint32_t work = d->tl->order[dev->first + i];
		const struct tl_work *w = &d->tl->work[work];
		const struct gap *g = gap_before(&d->gaps[device], work, &next);
		struct uses *u = &uses[w->kernel];

		if (w->kind != WORK_KERNEL || w->kernel >= d->trace->kernels_count || w->graph)
			continue;
		if (!u->used && g && g->submit != TIMELINE_NONE && gap_is_open(d, g)) {
			u->gap = next; /* gap_before() has counted it */
			u->device = device;
			u->first = gap_launching(d, g);
		} else if (u->used && g && g->submit != TIMELINE_NONE) {
			u->later = least(u->later, gap_launching(d, g));
		} else if (u->used) {
			u->later = 0;
		}
		u->used = true;
	}
}

/* What first uses take longer, as `times`. */
static uint64_t first_uses(struct diagnosis *d, struct places *places, struct intervals *times)
{
	struct uses *uses = calloc((size_t)d->trace->kernels_count + 1, sizeof(*uses));
	uint64_t number = 0;

	d->failed |= !uses;
	for (uint32_t i = 0; uses && i < d->trace->kernels_count; i++)
		uses[i].later = UINT64_MAX;
	for (uint32_t i = 0; uses && i < d->tl->devices_count; i++)
		look_at_uses(d, i, uses);
	for (uint32_t i = 0; uses && i < d->trace->kernels_count; i++) {
		const struct uses *u = &uses[i];
		const struct gap *g = u->gap ? &d->gaps[u->device].at[u->gap - 1] : NULL;

		if (!g || u->later == UINT64_MAX || u->first < u->later + LEAST_NS || g->devices)
			continue;
		number++;
		d->failed |= !intervals_add(times, g->end - (int64_t)(u->first - u->later), g->end);
		place_add(places_of_work(places, d, &d->tl->work[g->next]), u->first - u->later,
			  g->start, g->end);
	}
	free(uses);
	return number;
}

static void find(struct diagnosis *d)
{
	int64_t warm = warm_at(d), until = 0;
	struct places places = {0};
	struct intervals times = {0};
	uint64_t gain, number = first_uses(d, &places, &times);
	const struct place *most;
	struct finding *f = NULL;
	char time[UNITS_TEXT];

	for (uint32_t i = 0; i < d->tl->builds_count; i++) {
		const struct tl_build *b = &d->tl->builds[i];
		const struct tl_call *c =
			timeline_find(d->tl, d->trace->threads[b->thread].process, b->id);
		int64_t start = b->start > until ? b->start : until;
		uint64_t ns;

		if (b->start < warm || b->end <= start ||
		    intervals_within(&d->rebuilt, b->start, b->end))
			continue;
		until = b->end;
		ns = call_exposed(d, start, b->end);
		d->failed |= !intervals_add(&times, start, b->end);
		number++;
		place_add(places_at(&places, TIMELINE_NONE, c ? c->site : 0, c ? c->op : b->op, 0),
			  ns, start, b->end);
	}
	gain = times_exposed(d, &times); /* a build for a first use is one */
	most = places_sort(&places);
	if (most)
		f = finding_add(d, gain, "%s build%s or load%s of code amid the work, %s",
				UNITS_COUNT(number), plural(number), plural(number),
				units_time(gain, time));
	if (f) {
		f->count = number;
		finding_set_place(d, f, most);
		finding_add_places(d, f, &places, "while no device worked");
		text_add(&f->advice, "build and load before the loop (warm up once for each shape; "
				     "CUDA_MODULE_LOADING=EAGER), or keep built code in a cache");
	}
	claim_gaps(d, &times, f);
	d->failed |= places.failed;
	places_release(&places);
}

const struct rule rule_first_touch = {
	.id = "first-touch",
	.what = "code is built or loaded amid the work, where it is first needed",
	.threshold = 0.03,
	.why = "below that it is noise; what comes before the 20th piece of work is start-up",
	.cost = "builds and loads after a device's 20th piece of work, and what first launches of "
		"kernels take longer than later ones, while none works, without what "
		"rebuild-in-loop tells",
	.find = find,
};
