/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages under way, from the call that begins each to the one that completes it, and what each rank did beside
 * them: kernels on its devices, its own code. All are unions of time. Those that devices send themselves are under way
 * while the kernels run that send them: their calls only launch these.
 */
#include <stdlib.h>

#include "analysis/digest.h"
#include "analysis/labels.h"

/* Of one process. */
struct overlap {
	struct intervals messages, calls, kernels;
	bool devices; /* send themselves */
};

/* Short calls that were kept as one: as much time as they took, from their beginning. */
static int64_t end_of(const struct tl_call *c)
{
	return c->flags & CALL_BURST ? c->start + (int64_t)c->waited : c->end;
}

/* Kernels that communicate are messages, the others are what may go on beside them. */
static bool collect_kernels(struct overlap *of, const struct timeline *tl)
{
	bool ok = true;

	for (uint32_t i = 0; ok && i < tl->work_count; i++) {
		const struct tl_work *w = &tl->work[i];
		struct overlap *o = &of[w->process];

		o->devices |= w->communicates;
		if (w->kind == WORK_KERNEL)
			ok = intervals_add(w->communicates ? &o->messages : &o->kernels, w->start,
					   w->end);
	}
	return ok;
}

/* It was launched, and its kernels are known. */
static bool is_of_devices(const struct overlap *of, const struct trace *t,
			  const struct tl_message *m)
{
	return of[m->process].devices && t->communicators[m->communicator].own_rank;
}

static bool collect(struct overlap *of, const struct timeline *tl)
{
	const struct trace *t = tl->trace;
	bool ok = collect_kernels(of, tl);

	for (uint32_t i = 0; ok && i < tl->messages_count; i++) {
		const struct tl_message *m = &tl->messages[i];

		if (!is_of_devices(of, t, m))
			ok = intervals_add(&of[m->process].messages, m->start, m->end);
	}
	for (uint32_t i = 0; ok && i < tl->calls_count; i++) {
		const struct tl_call *c = &tl->calls[i];

		if (timeline_state(c) == HOST_MPI)
			ok = intervals_add(&of[t->threads[c->thread].process].calls, c->start,
					   end_of(c));
	}
	return ok;
}

/* What lies outside of the run, or of the part of it that is looked at, is not told. */
static void settle(struct overlap *o, const struct timeline *tl)
{
	struct intervals *all[] = {&o->messages, &o->calls, &o->kernels};

	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++) {
		intervals_unite(all[i]);
		intervals_clip(all[i], tl->start, tl->end);
	}
}

static void add_row(struct table *t, const struct summary *s, uint32_t process, unsigned by,
		    const struct overlap *o, bool mpi)
{
	uint64_t whole = intervals_length(&o->messages);
	uint64_t kernels = intervals_common(&o->messages, &o->kernels);
	struct tally row = {.key = {process}};
	struct cell *c = table_row(t);
	struct text who = {0};

	if (!c)
		return;
	label_add(&who, s, TALLY_CALL, &row, by);
	cell_text(t, c++, who.s ? who.s : "");
	text_release(&who);
	cell_number(c++, whole);
	cell_number(c++, kernels);
	if (whole)
		cell_real(c, 100.0 * (double)kernels / (double)whole);
	c++;
	if (mpi)
		cell_number(c, whole - intervals_common(&o->messages, &o->calls));
	cell_number(++c, intervals_length(&o->kernels));
}

/* Messages of NCCL alone are in nobody's calls of MPI, nor outside of them. */
static bool calls_mpi(const struct summary *s, const struct overlap *of)
{
	for (uint32_t i = 1; i < s->trace->processes_count; i++)
		if (of[i].calls.count)
			return true;
	return false;
}

static bool add_table(struct report *r, const struct summary *s, const struct overlap *of,
		      bool kernels)
{
	const bool mpi = calls_mpi(s, of);
	unsigned by = summary_ranks(s->trace) ? BY_RANK : BY_PROCESS;
	bool hidden = (r->by || !kernels) && !r->chosen;
	struct table *t = report_table(r, "overlap", hidden ? "" : "Messages under way");

	if (!t)
		return false;
	t->hidden = hidden;
	table_column(t, by == BY_RANK ? "rank" : "process", by == BY_RANK ? "rank" : "process",
		     CELL_TEXT);
	table_column(t, "under_way_ns", "under way", CELL_TIME);
	table_column(t, "beside_kernels_ns", "beside kernels", CELL_TIME);
	table_column(t, "beside_kernels_percent", "% of it", CELL_PERCENT);
	table_column_if(t, mpi, "outside_ns", "outside of MPI", CELL_TIME);
	table_column(t, "kernels_ns", "kernels", CELL_TIME);
	for (uint32_t i = 1; i < s->trace->processes_count; i++)
		if (of[i].messages.count)
			add_row(t, s, i, by, &of[i], mpi);
	table_note(t, "from the call that begins a message to the one that completes it, of "
		      "devices while "
		      "their kernels communicate; side by side counted once");
	report_drop_empty(r);
	return true;
}

static bool communicate(const struct timeline *tl)
{
	for (uint32_t i = 0; i < tl->devices_count; i++)
		if (tl->devices[i].communication.count)
			return true;
	return false;
}

bool summary_overlap(struct report *r, const struct summary *s)
{
	uint32_t count = s->trace->processes_count;
	bool kernels = false, ok;
	struct overlap *of;

	if (!s->timeline->messages_count && !communicate(s->timeline))
		return true;
	of = calloc(count, sizeof(*of));
	ok = of && collect(of, s->timeline);
	for (uint32_t i = 1; ok && i < count; i++) {
		settle(&of[i], s->timeline);
		kernels |= of[i].messages.count && of[i].kernels.count;
	}
	ok = ok && add_table(r, s, of, kernels);
	for (uint32_t i = 0; of && i < count; i++) {
		intervals_release(&of[i].messages);
		intervals_release(&of[i].calls);
		intervals_release(&of[i].kernels);
	}
	free(of);
	return ok;
}
