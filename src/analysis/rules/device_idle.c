/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device idles between its first and its last work, for reasons that no other rule tells: all causes, that
 * add up. Waiting for another device, for other ranks and for the host's own code are left to other rules.
 */
#include "analysis/rules/support.h"
#include "base/plain.h"

#define NEEDED_NS 5000 /* devices take that from one piece of work to the next */

static void add_causes(struct finding *f, const struct idle *idle)
{
	char time[UNITS_TEXT];

	plain_addf(&f->evidence, "kernels %s", units_time(idle->kernels, time));
	plain_addf(&f->evidence, ", transfers alone %s", units_time(idle->transfers, time));
	for (unsigned c = 0; c < IDLE_CAUSES; c++)
		if (idle->cause[c])
			plain_addf(&f->evidence, ", %s %s", idle_name((enum idle_cause)c),
				   units_time(idle->cause[c], time));
	text_add(&f->evidence, ": together the run\n");
}

static void find_of_device(struct diagnosis *d, uint32_t device)
{
	const struct idle *idle = &d->idle[device];
	uint64_t rest = 0, gain;
	struct places groups = {0};
	const struct place *most;
	struct finding *f = NULL;
	char time[UNITS_TEXT];

	for (uint32_t i = 0; i < d->gaps[device].count; i++) {
		const struct gap *g = &d->gaps[device].at[i];
		uint64_t ns = gap_length(g), other = g->outside + g->mpi;

		if (!gap_is_open(d, g) || 2 * other >= ns || (g->queued && ns <= NEEDED_NS))
			continue;
		rest += ns - other;
		place_add(places_of_work(&groups, d, &d->tl->work[g->next]), ns - other, g->start,
			  g->end);
	}
	gain = rest > idle->cause[IDLE_DEVICE] ? rest - idle->cause[IDLE_DEVICE] : 0;
	most = places_sort(&groups);
	if (most)
		f = finding_add(d, gain, "%s idle for %s between its work", device_label(d, device),
				units_time(gain, time));
	if (f) {
		text_add(&f->where, "before ");
		finding_set_place(d, f, most);
		add_causes(f, idle);
		finding_add_places(d, f, &groups, "idle before it");
		text_add(&f->advice, "look at what the host does in the longest of these gaps");
		if (2 * idle->cause[IDLE_THREADS] > gain)
			text_add(&f->advice, "; kymo summary --tables locks names the locks, "
					     "and who had them");
	}
	d->failed |= groups.failed;
	places_release(&groups);
}

const struct rule rule_device_idle = {
	.id = "device-idle",
	.what = "the device idles between its work for reasons that no other rule tells",
	.threshold = 0.15,
	.why = "programs that use a device well leave it idle for up to a seventh of the run",
	.cost = "gaps between its work that no other rule tells, without waits for other devices "
		"and ranks",
	.find_of_device = find_of_device,
};
