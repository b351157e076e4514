/* SPDX-License-Identifier: Apache-2.0 */
/* What the recording itself did to what the other rules look at: where it is so much, they may be wrong. */
#include <inttypes.h>
#include <math.h>

#include "analysis/diagnose.h"
#include "base/plain.h"
#include "base/units.h"
#include "stream/recorded.h"

enum { LEAST_WORK = 100 }; /* of fewer no share is told */

static void add_command(const struct diagnosis *d, struct finding *f)
{
	text_add(&f->show, "kymo summary ");
	text_add_shell(&f->show, d->path);
}

/* Against each reason that records were lost for something else helps. */
static void add_loss_advice(const struct diagnosis *d, struct finding *f)
{
	uint64_t unwritten = 0, no_memory = 0, dropped = 0;

	for (uint32_t i = 1; i < d->trace->processes_count; i++) {
		const struct t_process *p = &d->trace->processes[i];

		unwritten += p->unwritten_records;
		no_memory += p->no_memory_records;
		dropped += p->dropped_records;
	}
	if (unwritten)
		text_addf(&f->advice,
			  "put the trace elsewhere (-o): the file system refused %s of the records",
			  UNITS_COUNT(unwritten));
	if (no_memory)
		text_addf(&f->advice,
			  "%sgive the program more memory: for %s records there was none",
			  f->advice.length ? "; " : "", UNITS_COUNT(no_memory));
	if (!d->trace->imported && d->tl->lost > unwritten + no_memory + dropped)
		text_addf(&f->advice,
			  "%srecord with a larger --buffer-size, with --on-full block, or less "
			  "(--mode minimal, -b)",
			  f->advice.length ? "; " : "");
}

static void find_loss(struct diagnosis *d)
{
	struct finding *f;
	uint64_t records;

	if (!timeline_lossy(d->tl, &records)) {
		if (d->tl->lost)
			diagnosis_abstain(d, "%s record%s lost: what was in them is not known",
					  UNITS_COUNT(d->tl->lost),
					  d->tl->lost == 1 ? " was" : "s were");
		return;
	}
	f = finding_add_fact(
		d, "%s of %s records were lost: what is told, and what is not, may be wrong",
		UNITS_COUNT(d->tl->lost), UNITS_COUNT(records));
	if (!f)
		return;
	f->count = d->tl->lost;
	add_command(d, f);
	add_loss_advice(d, f);
}

static void find_clocks(struct diagnosis *d)
{
	struct finding *f;

	if (d->tl->work_count < LEAST_WORK || 20 * d->tl->early < d->tl->work_count)
		return;
	f = finding_add_fact(d,
			     "%s of %s pieces of device work start before they were submitted: "
			     "clocks disagree, and why a device was idle may be told wrongly",
			     UNITS_COUNT(d->tl->early), UNITS_COUNT(d->tl->work_count));
	if (!f)
		return;
	f->count = d->tl->early;
	add_command(d, f);
	text_add(&f->advice, "compare rules that look at kernels alone; record again with another "
			     "driver or without virtualisation");
}

/* Threads of the program, which is what recording slows down. */
static uint32_t threads_of(const struct trace *t, uint32_t process)
{
	uint32_t n = 0;

	for (uint32_t i = 1; i < t->threads_count; i++)
		n += t->threads[i].process == process && !t->threads[i].own;
	return n;
}

/* ns, of them all; of ranks that were counted together as they said. */
static double thread_time(const struct diagnosis *d, uint32_t process)
{
	const struct t_process *p = &d->trace->processes[process];

	return p->merged_ranks ? p->thread_time_ns
			       : (double)timeline_length(d->tl) * threads_of(d->trace, process);
}

/* The process of which it takes most. Loading Kymo is left out: it is over before anything is recorded. */
static void find_overhead(struct diagnosis *d)
{
	uint32_t most = 0;
	double share = 0;
	char time[UNITS_TEXT];
	struct finding *f;

	for (uint32_t i = 1; i < d->trace->processes_count; i++) {
		const struct t_process *p = &d->trace->processes[i];
		const double whole = thread_time(d, i);
		double is = whole > 0 ? fmin((p->calls_cost_ns + p->overhead_ns) / whole, 1) : 0;

		if (is > share) {
			share = is;
			most = i;
		}
	}
	if (share < 0.1)
		return;
	f = finding_add_fact(d,
			     "recording took %.0f %% of the time of the threads of process %" PRIu32
			     ": short calls seem longer than they are, and hosts later",
			     100 * share, d->trace->processes[most].pid);
	d->recording = share;
	if (!f)
		return;
	f->first = share >= 0.5;
	plain_addf(&f->evidence, "%s in all, without loading Kymo\n",
		   units_time((uint64_t)(d->trace->processes[most].calls_cost_ns +
					 d->trace->processes[most].overhead_ns),
			      time));
	add_command(d, f);
	text_add(&f->advice, "record less: --mode minimal or summary, -b, a part of the run; "
			     "count and instrument chosen launches alone");
}

/* No finding: the program can do nothing about it, but what is told of waiting may come of it. */
static void look_at_machine(struct diagnosis *d)
{
	double share;
	uint32_t most = diagnosis_delayed(d->tl, &share);
	char time[UNITS_TEXT];

	if (most)
		diagnosis_abstain(
			d,
			"the main thread of process %" PRIu32
			" waited for a processor for %s, %.0f %% of its time: what is "
			"told of waiting "
			"may be the doing of other threads and programs on this machine",
			d->trace->processes[most].pid,
			units_time(recorded_delay_ns(d->trace, &d->trace->processes[most]), time),
			100 * share);
}

static void find(struct diagnosis *d)
{
	find_loss(d);
	look_at_machine(d);
	if (d->tl->partial || d->tl->window) /* costs are those of whole runs */
		return;
	find_clocks(d);
	find_overhead(d);
}

const struct rule rule_recording = {
	.id = "recording",
	.what = "loss, clocks or the cost of recording are so large that other findings may be "
		"wrong",
	.threshold = 0,
	.why = "a twentieth of the records or of the device work, or a tenth of the time of a "
	       "process: the other rules' thresholds are of that size",
	.cost = "no time of the program",
	.find = find,
};
