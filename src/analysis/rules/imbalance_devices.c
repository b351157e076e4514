/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices of one kind share the work unevenly: while the one with most of it works, the others wait. Evenly
 * shared, all would take the mean. Kernels that only communicate are no work: who has less waits in them for the others,
 * which late-device tells where it can.
 */
#include <string.h>

#include "analysis/rules/support.h"
#include "base/plain.h"

extern const struct rule rule_late_device;

#define LEAST_SHARE                                                                                \
	20 /* of the busiest one's, a device has at least one in so many of its work: it takes part */

static uint64_t work_of(const struct diagnosis *d, uint32_t device)
{
	return d->idle[device].kernels - d->idle[device].communication;
}

/* The devices that wait for each other have been told. */
static bool is_told(const struct diagnosis *d)
{
	for (uint32_t i = 0; i < d->count; i++)
		if (d->findings[i].rule == &rule_late_device)
			return true;
	return false;
}

static bool same_kind(const struct diagnosis *d, uint32_t a, uint32_t b)
{
	const struct t_agent *x = &d->trace->agents[d->tl->devices[a].agent];
	const struct t_agent *y = &d->trace->agents[d->tl->devices[b].agent];

	return x->name && y->name && strcmp(x->name, y->name) == 0;
}

static void add_each(struct diagnosis *d, struct finding *f, uint32_t most)
{
	char time[UNITS_TEXT];

	for (uint32_t i = 0; i < d->tl->devices_count; i++)
		if (same_kind(d, most, i))
			plain_addf(&f->evidence, "%s: kernels for %s\n", device_label(d, i),
				   units_time(work_of(d, i), time));
}

static void find(struct diagnosis *d)
{
	uint32_t most = 0, number = 0;
	uint64_t sum = 0, mean;
	struct finding *f;
	char time[UNITS_TEXT], average[UNITS_TEXT];

	for (uint32_t i = 1; i < d->tl->devices_count; i++)
		if (work_of(d, i) > work_of(d, most))
			most = i;
	for (uint32_t i = 0; i < d->tl->devices_count; i++) {
		if (!same_kind(d, most, i) || LEAST_SHARE * work_of(d, i) < work_of(d, most))
			continue;
		sum += work_of(d, i);
		number++;
	}
	if (number < 2 || is_told(d))
		return;
	mean = sum / number;
	f = finding_add(d, work_of(d, most) - mean, "%s works %s, its like %s on average",
			device_label(d, most), units_time(work_of(d, most), time),
			units_time(mean, average));
	if (!f)
		return;
	f->agent = d->tl->devices[most].agent;
	plain_addf(&f->where, "%s", device_label(d, most));
	add_each(d, f, most);
	text_add(&f->show, "kymo summary --by device,op ");
	text_add_shell(&f->show, d->path ? d->path : "TRACE");
	text_add(&f->advice, "share the work by what each device gets done, or in smaller pieces");
}

const struct rule rule_imbalance_devices = {
	.id = "imbalance-devices",
	.what = "devices of one kind share the work unevenly",
	.threshold = 0.05,
	.repeats = true,
	.why = "work is hardly ever shared to less than a twentieth of the run",
	.cost = "kernel time of the busiest device less the mean of those that take part",
	.find = find,
};
