/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code is built or loaded when it is first needed, in the midst of the work: the device waits for it. Before a
 * program's work begins that is start-up; what is told here comes when a device has long been at work.
 */
#include <inttypes.h>

#include "analysis/rules/support.h"

#define WARM 20 /* pieces of work after which a device is at work */

/* When the first device had done WARM pieces of work; INT64_MAX: none has. */
static int64_t warm_at(const struct diagnosis *d)
{
	int64_t warm = INT64_MAX;

	for (uint32_t i = 0; i < d->tl->devices_count; i++) {
		const struct tl_device *dev = &d->tl->devices[i];
		int64_t at = dev->count > WARM ? d->tl->work[d->tl->order[dev->first + WARM]].start
					       : INT64_MAX;

		warm = at < warm ? at : warm;
	}
	return warm;
}

static void find(struct diagnosis *d)
{
	int64_t warm = warm_at(d), until = 0;
	struct places places = {0};
	uint64_t gain = 0, number = 0;
	const struct place *most;
	struct finding *f = NULL;
	struct intervals times = {0};
	char time[UNITS_TEXT];

	for (uint32_t i = 0; i < d->tl->builds_count; i++) {
		const struct tl_build *b = &d->tl->builds[i];
		const struct tl_call *c =
			timeline_find(d->tl, d->trace->threads[b->thread].process, b->id);
		int64_t start = b->start > until ? b->start : until;
		uint64_t ns;

		if (b->start < warm || b->end <= start)
			continue;
		until = b->end;
		ns = call_exposed(d, start, b->end);
		gain += ns;
		d->failed |= !intervals_add(&times, start, b->end);
		number++;
		place_add(places_at(&places, TIMELINE_NONE, c ? c->site : 0, c ? c->op : b->op, 0),
			  ns, start, b->end);
	}
	most = places_sort(&places);
	if (most && d->rebuilt < gain)
		f = finding_add(d, gain - d->rebuilt,
				"%" PRIu64 " builds and loads of code amid the work, %s", number,
				units_time(gain - d->rebuilt, time));
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
	.cost = "builds and loads after a device's 20th piece of work, while none works, without "
		"those that rebuild-in-loop tells",
	.find = find,
};
