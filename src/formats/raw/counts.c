/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts of what is not there: losses, records not timed, time that recording took. Nothing in a
 * file bears them out, and whoever wrote it may have written anything. Losing a record takes a
 * nanosecond at least, however many processors lose; who says more is not believed, and that is
 * told as damage.
 */
#include <inttypes.h>

#include "formats/raw/internal.h"

#define SLACK_NS 1000000000u /* for ends that are not known exactly */
#define CPUS     1024u

uint64_t raw_most_in(int64_t ns)
{
	uint64_t most = (ns > 0 ? (uint64_t)ns : 0) + SLACK_NS;

	return most < COUNT_MAX ? most : COUNT_MAX;
}

/* No end that is known is no bound. */
uint64_t raw_most_of(const struct raw_process *p)
{
	const struct t_process *tp = &p->rt->trace->processes[p->process];
	int64_t end = tp->end > tp->seen ? tp->end : tp->seen;
	uint64_t most;

	if (!end)
		return COUNT_MAX;
	most = raw_most_in((int64_t)((uint64_t)end - (uint64_t)tp->start));
	return most < COUNT_MAX / CPUS ? most * CPUS : COUNT_MAX;
}

uint64_t raw_count(struct raw_process *p, uint64_t n, uint64_t most)
{
	if (n <= most)
		return n;
	if (!p->count_said) {
		p->file.damaged++;
		stream_warn(p->rt->log,
			    "%s: it claims that %" PRIu64
			    " were lost or left out, which cannot be: "
			    "such numbers in it are not believed",
			    p->file.path, n);
	}
	p->count_said = true;
	return 0;
}

static void check_ns(struct raw_process *p, double *ns, uint64_t most)
{
	uint64_t whole = *ns >= 0 && *ns < (double)UINT64_MAX ? (uint64_t)*ns : UINT64_MAX;

	if (raw_count(p, whole, most) != whole)
		*ns = 0;
}

/* What calls cost, from samples: time of its threads, and how far it may be off. */
void raw_check_cost(struct raw_process *p)
{
	struct t_process *tp = &p->rt->trace->processes[p->process];
	const uint64_t most = raw_most_of(p);
	bool sound = tp->calls_cost_variance >= 0 &&
		     tp->calls_cost_variance <= (double)most * (double)most;

	check_ns(p, &tp->calls_cost_ns, most);
	if (tp->calls_cost_ns > 0 && sound)
		return;
	if (!sound) /* told as damage */
		raw_count(p, UINT64_MAX, most);
	tp->calls_cost_ns = tp->calls_cost_variance = 0;
}

void raw_check_counts(struct raw_process *p)
{
	struct t_process *tp = &p->rt->trace->processes[p->process];
	const uint64_t most = raw_most_of(p);
	uint64_t *counts[] = {&tp->lost_records,        &tp->lost_definitions,
			      &tp->overwritten_records, &tp->unwritten_records,
			      &tp->untraced_calls,      &tp->untimed,
			      &tp->no_memory_records,   &tp->dropped_records};
	double *times[] = {&tp->overhead_ns, &tp->waiting_ns, &tp->beside_ns, &tp->drain_ns,
			   &tp->loading_ns};

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		*counts[i] = raw_count(p, *counts[i], most);
	p->file.damaged += raw_count(p, tp->damaged_blocks, most);
	tp->damaged_blocks = 0; /* raw_trace_totals() has the sum */
	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
		check_ns(p, times[i], most);
	for (uint32_t i = p->first_thread; i < p->first_thread + p->thread_count; i++) {
		struct t_thread *th = &p->rt->trace->threads[i];

		th->lost = raw_count(p, th->lost, most);
		th->records = raw_count(p, th->records, most);
	}
}
