/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device has nothing to do because the host is busy elsewhere, between its first and its last work. It
 * could have worked meanwhile at best: no more is won than the device's other work lets overlap.
 *
 * A host that keeps to a clock (so many pictures a second) idles by intent.
 */
#include <inttypes.h>

#include "analysis/rules/support.h"
#include "base/plain.h"

static bool is_late(const struct diagnosis *d, const struct gap *g)
{
	return 2 * g->outside > gap_length(g) && gap_is_open(d, g);
}

/* The host's code in the gaps that are told. */
static struct intervals times_of(struct diagnosis *d, uint32_t device, const struct claims *claims)
{
	const struct intervals *host = &d->idle[device].host;
	const struct gaps *gaps = &d->gaps[device];
	struct intervals times = {0};

	for (uint32_t i = 0, k = 0; i < gaps->count && k < claims->count; i++) {
		const struct gap *g = &gaps->at[i];

		if (g->next != claims->at[k])
			continue;
		k++;
		for (uint32_t n = intervals_find(host, g->start);
		     n < host->count && host->at[n].start < g->end; n++)
			d->failed |= !intervals_add(
				&times, host->at[n].start > g->start ? host->at[n].start : g->start,
				host->at[n].end < g->end ? host->at[n].end : g->end);
	}
	intervals_unite(&times);
	return times;
}

/*
 * The thread had a processor for less than half of the time that it was late, and did not wait for one: it slept, or
 * waited for files, locks, other processes. Of main threads alone both is known.
 */
static bool is_off_processors(const struct diagnosis *d, uint32_t thread, uint64_t late)
{
	const struct t_thread *th = &d->trace->threads[thread];
	uint64_t delay = d->trace->processes[th->process].delay_ns;

	return th->main && th->processor_ns && 2 * (th->processor_ns + delay) < late;
}

static void say(struct diagnosis *d, struct finding *f, uint32_t device,
		const struct places *groups, const struct place *most, const struct claims *claims)
{
	struct intervals times = times_of(d, device, claims);
	uint64_t number = 0;

	for (uint32_t i = 0; i < groups->count; i++)
		number += groups->at[i].count;
	f->count = number;
	text_add(&f->where, "before ");
	finding_set_place(d, f, most);
	finding_add_places(d, f, groups, "of host code before it");
	finding_add_range(d, f, device, &times);
	intervals_release(&times);
}

static void advise(const struct diagnosis *d, struct finding *f, uint32_t thread, bool off)
{
	char time[UNITS_TEXT];

	if (off) {
		plain_addf(&f->evidence, "its thread had a processor for %s of the whole run\n",
			   units_time(d->trace->threads[thread].processor_ns, time));
		text_add(&f->advice,
			 "find what it waits for (pauses, files, locks, other processes), and "
			 "submit the next work before it waits");
	} else {
		text_add(&f->advice, "submit the next work before the host computes, so that both "
				     "go on at once, or move that computation to another thread");
	}
}

static void find_of_device(struct diagnosis *d, uint32_t device)
{
	const struct idle *idle = &d->idle[device];
	uint64_t busy = idle->kernels + idle->transfers, late = 0, gain;
	uint32_t thread = 0;
	bool several = false, off;
	struct places groups = {0};
	struct claims claims = {0};
	const struct place *most;
	struct finding *f = NULL;
	char time[UNITS_TEXT];

	if (gaps_keep_to_a_clock(d, device, is_late))
		return;
	for (uint32_t i = 0; i < d->gaps[device].count; i++) {
		const struct gap *g = &d->gaps[device].at[i];
		struct place *place;

		if (!is_late(d, g))
			continue;
		late += g->outside;
		several |= late > g->outside && d->tl->calls[g->submit].thread != thread;
		thread = d->tl->calls[g->submit].thread;
		place = places_of_work(&groups, d, &d->tl->work[g->next]);
		place_add(place, g->outside, g->start, g->end);
		claims_add(d, &claims, g->next);
	}
	gain = least(late, busy);
	most = places_sort(&groups);
	off = !several && is_off_processors(d, thread, late);
	if (most)
		f = finding_add(d, gain, "%s idle for %s while the host %s between launches",
				device_label(d, device), units_time(late, time),
				off ? "sleeps or waits" : "computes");
	if (f) {
		say(d, f, device, &groups, most, &claims);
		advise(d, f, thread, off);
	}
	claims_end(d, &claims, CLAIM_GAP, f);
	d->failed |= groups.failed;
	places_release(&groups);
}

const struct rule rule_host_late = {
	.id = "host-late",
	.what = "the device idles while the host computes between launches",
	.threshold = 0.05,
	.repeats = true,
	.why = "below a twentieth of the run no restructuring of a program pays",
	.cost = "idle time while the submitting thread is in no recorded call, at most the "
		"device's busy time; nothing where the host keeps to a clock",
	.find_of_device = find_of_device,
};
