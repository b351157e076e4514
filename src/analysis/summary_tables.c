/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the summary: which there are, in which order, and what a choice of rows leaves out. */
#include "analysis/digest.h"
#include "analysis/labels.h"
#include "analysis/summary_parts.h"

struct part {
	summary_part *make;
	enum tally_kind kind; /* TALLY_KINDS: looks for itself whether it has something to say */
	const char *what;     /* NULL: told with another of its kind */
	unsigned needs;       /* to be chosen by, but in the whole summary: BY_DIRECTION, BY_SIZE */
	bool apart;           /* not in the whole summary */
};

static const struct part parts[] = {
	{summary_calls, TALLY_CALL, "calls", 0, false},
	{summary_files, TALLY_KINDS, "", 0, false},
	{summary_locks, TALLY_KINDS, "", 0, false},
	{summary_waits, TALLY_KINDS, "", 0, false},
	{summary_off_cpu, TALLY_KINDS, "", 0, false},
	{summary_heap, TALLY_KINDS, "", 0, false},
	{summary_builds, TALLY_KINDS, "", 0, false},
	{summary_markers, TALLY_MARKER, "ranges", 0, false},
	{summary_messages, TALLY_COMM, "messages", 0, false},
	{summary_message_sizes, TALLY_COMM_SIZE, "sizes of messages", BY_SIZE, false},
	{summary_kernels, TALLY_DISPATCH, "kernels", 0, false},
	{summary_occa, TALLY_KINDS, "", 0, false},
	{summary_copies, TALLY_COPY, "copies", 0, false},
	{summary_fills, TALLY_COPY, NULL, 0, false},
	{summary_maps, TALLY_COPY, NULL, 0, false},
	{summary_traffic, TALLY_COPY, "bytes copied", BY_DIRECTION, false},
	{summary_copy_sizes, TALLY_COPY_SIZE, "sizes of copies", BY_SIZE, true},
	{summary_waiting, TALLY_SYNC, "waiting", 0, false},
	{summary_processes, TALLY_KINDS, "", 0, false},
	{summary_threads_used, TALLY_KINDS, "", 0, false},
	{summary_shares, TALLY_KINDS, "", 0, false},
	{summary_imbalance, TALLY_KINDS, "", 0, false},
	{summary_queues, TALLY_KINDS, "", 0, false},
	{summary_pools, TALLY_POOL, "memory in use", 0, false},
	{summary_allocations, TALLY_ALLOCATION, "allocations", 0, false},
	{summary_leaks, TALLY_LEAK, NULL, 0, false},
	{summary_objects, TALLY_KINDS, "", 0, false},
	{summary_functions, TALLY_SAMPLE, "samples", 0, false},
	{summary_stack_ends, TALLY_SAMPLE, NULL, 0, false},
	{summary_kernel_lines, TALLY_SAMPLE, NULL, 0, false},
	{summary_kernel_code, TALLY_SAMPLE, NULL, 0, false},
	{summary_device_samples, TALLY_DEVICE_SAMPLE, "samples of kernels", 0, false},
	{summary_counters, TALLY_COUNTER, "counters", 0, false},
	{summary_telemetry, TALLY_KINDS, "", 0, false},
	{summary_errors, TALLY_ERROR, "errors", 0, false},
	{summary_open_calls, TALLY_KINDS, "", 0, false},
	{summary_unfinished, TALLY_KINDS, "", 0, false},
};

enum { PARTS = sizeof(parts) / sizeof(*parts) };

/* A table by direction stands for the one by operation. */
static bool is_chosen(const struct part *p, unsigned by)
{
	if (p->kind == TALLY_KINDS)
		return true;
	if (by == BY_OP)
		return !p->apart;
	return !(by & ~dimensions_of(p->kind)) && (by & p->needs) == p->needs &&
	       (p->make != summary_copies || !(by & BY_DIRECTION));
}

bool summary_by_useless(unsigned by)
{
	for (unsigned i = 0; i < PARTS; i++)
		if (parts[i].kind != TALLY_KINDS && is_chosen(&parts[i], by))
			return false;
	return true;
}

static bool has_rows(const struct summary *s, unsigned count, enum tally_kind kind)
{
	for (unsigned i = 0; i < count; i++)
		if (s[i].tallies->set[kind].count)
			return true;
	return false;
}

/* Says of what there is no table by the chosen rows, and why. */
static void tell_left_out(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	/* Nobody expects these of anything else. */
	by &= ~(unsigned)(BY_PEER | BY_COMMUNICATOR | BY_DIRECTION | BY_SIZE | BY_KERNEL | BY_GRID);
	for (unsigned d = 0; d < dimension_count; d++) {
		struct text what = {0};

		for (unsigned i = 0; (by & dimensions[d].by) && i < PARTS; i++) {
			const struct part *p = &parts[i];

			if (p->kind == TALLY_KINDS || !p->what || p->needs ||
			    !has_rows(s, count, p->kind) ||
			    (dimensions_of(p->kind) & dimensions[d].by))
				continue;
			text_addf(&what, "%s%s", what.length ? ", " : "", p->what);
		}
		if (what.length)
			report_foot(r, "Left out, as no %s is known of them: %s.",
				    dimensions[d].name, what.s);
		text_release(&what);
	}
}

kymo_status_t summary_report(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	bool ok = true;

	summary_head(r, s, count);
	if (count == 1)
		ok = summary_digest(r, s);
	for (unsigned i = 0; ok && i < PARTS; i++)
		if (is_chosen(&parts[i], by))
			ok = parts[i].make(r, s, count,
					   by == BY_OP && parts[i].needs ? parts[i].needs : by);
	tell_left_out(r, s, count, by);
	summary_quality(r, s, count);
	for (unsigned i = 0; i < r->table_count; i++)
		ok = ok && !r->tables[i]->failed;
	return ok && !r->failed ? KYMO_OK : KYMO_ERROR_NO_MEMORY;
}
