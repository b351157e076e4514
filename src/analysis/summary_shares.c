/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each runtime takes of a rank, or of a process where there are no ranks: the time of its calls, without
 * traced calls inside of them, beside the time that was recorded.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/labels.h"
#include "analysis/summary_columns.h"
#include "analysis/summary_parts.h"
#include "base/vec.h"
#include "stream/recorded.h"

enum { IN_ORDER = 32 }; /* rows; more are in order of their time, and people see the first */

/* Of one rank (or process) in one runtime, beside its time. */
struct runtime_share {
	char *who; /* owned */
	const char *domain, *title;
	uint64_t ns, calls, wall;
};

struct runtime_shares {
	struct runtime_share *list;
	uint32_t count, room;
	bool failed;
};

static int compare_who(const struct runtime_share *x, const struct runtime_share *y)
{
	return strverscmp(x->who, y->who);
}

static int by_domain(const void *a, const void *b)
{
	const struct runtime_share *x = a, *y = b;
	int order = compare_who(x, y);

	return order ? order : strcmp(x->domain, y->domain);
}

static int by_time(const void *a, const void *b)
{
	const struct runtime_share *x = a, *y = b;
	int order = compare_who(x, y);

	if (!order)
		order = (x->ns < y->ns) - (x->ns > y->ns);
	return order ? order : strcmp(x->domain, y->domain);
}

static int by_most(const void *a, const void *b)
{
	const struct runtime_share *x = a, *y = b;

	return x->ns != y->ns ? (x->ns < y->ns ? 1 : -1) : by_time(a, b);
}

static void add_share(struct runtime_shares *all, const struct summary *s, const struct tally *row,
		      unsigned by, struct runtime_share like)
{
	struct text who = {0};

	label_add(&who, s, TALLY_CALL, row, by);
	if (who.failed || !who.s || !vec_reserve(&all->list, &all->room, all->count, 1)) {
		text_release(&who);
		all->failed = true;
		return;
	}
	like.who = who.s;
	all->list[all->count++] = like;
}

/* How long it was there and recorded; of ranks that were counted together all of them. */
static uint64_t time_of(const struct trace *t, uint32_t process)
{
	const struct t_process *p = &t->processes[process];
	int64_t ns = recorded_of(t, process).ns;

	if (p->merged_ranks)
		return p->thread_time_ns > 0 ? (uint64_t)p->thread_time_ns : 0;
	return ns > 0 ? (uint64_t)ns : 0;
}

static void collect(struct runtime_shares *all, const struct summary *s, unsigned by)
{
	const struct trace *t = s->trace;
	const struct tally_set *set = &s->tallies->set[TALLY_CALL];

	for (uint32_t i = 1; i < t->processes_count; i++) {
		struct tally row = {.key = {i}};

		if (!t->processes[i].telemetry && !t->processes[i].file_state)
			add_share(all, s, &row, by,
				  (struct runtime_share){.domain = "", .wall = time_of(t, i)});
	}
	for (uint32_t i = 0; i < set->count; i++) {
		const struct tally *row = set->rows[i];

		if (row_is_state(NULL, t, row))
			continue;
		const struct t_op *op =
			&t->ops[row->key[KEY_OP] < t->ops_count ? row->key[KEY_OP] : 0];
		const struct t_domain *d = &t->domains[op->domain];

		add_share(all, s, row, by,
			  (struct runtime_share){.domain = d->name,
						 .title = *d->title ? d->title : d->name,
						 .ns = row->self,
						 .calls = row->count});
	}
}

/* Adds up what is of one rank and runtime. */
static void merge(struct runtime_shares *all)
{
	uint32_t n = 0;

	if (all->count)
		qsort(all->list, all->count, sizeof(*all->list), by_domain);
	for (uint32_t i = 0; i < all->count; i++) {
		struct runtime_share *x = &all->list[i], *to = n ? &all->list[n - 1] : NULL;

		if (to && by_domain(to, x) == 0) {
			to->ns += x->ns;
			to->calls += x->calls;
			to->wall += x->wall;
			free(x->who);
		} else {
			all->list[n++] = *x;
		}
	}
	all->count = n;
}

static void add_row(struct table *t, const struct runtime_share *x)
{
	struct cell *c = table_row(t);

	if (!c)
		return;
	cell_text(t, c++, x->who);
	if (x->wall)
		cell_number(c, x->wall);
	cell_text(t, ++c, x->title);
	cell_number(++c, x->ns);
	if (x->wall)
		cell_real(c + 1, 100.0 * (double)x->ns / (double)x->wall);
	cell_number(c + 2, x->calls);
}

/* The time of the rank, which sorts first and has no name, goes to all of its rows. */
static void take_walls(struct runtime_shares *all)
{
	uint64_t wall = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < all->count; i++) {
		struct runtime_share *x = &all->list[i];

		if (i == 0 || compare_who(&all->list[i - 1], x) != 0)
			wall = *x->domain ? 0 : x->wall;
		x->wall = wall;
	}
	for (uint32_t i = 0; i < all->count; i++) {
		if (*all->list[i].domain)
			all->list[n++] = all->list[i];
		else
			free(all->list[i].who);
	}
	all->count = n;
}

static void add_rows(struct table *t, struct runtime_shares *all)
{
	take_walls(all);
	t->ranked = all->count > IN_ORDER;
	if (all->count)
		qsort(all->list, all->count, sizeof(*all->list), t->ranked ? by_most : by_time);
	for (uint32_t i = 0; i < all->count; i++)
		add_row(t, &all->list[i]);
}

static uint32_t people_of(const struct trace *t)
{
	uint32_t n = 0;

	for (uint32_t i = 1; i < t->processes_count; i++)
		n += !t->processes[i].telemetry;
	return n;
}

bool summary_shares(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	struct runtime_shares all = {0};
	struct table *t;
	unsigned who = by & (BY_RANK | BY_PROCESS);

	if (by == BY_OP)
		who = summary_ranks(s->trace) ? BY_RANK : BY_PROCESS;
	/* Of one process the tables of calls say it all. */
	if (count != 1 || people_of(s->trace) < 2 || (who != BY_RANK && who != BY_PROCESS) ||
	    by & ~(who | BY_OP))
		return true;
	collect(&all, s, who);
	merge(&all);
	t = report_table(r, "shares",
			 who == BY_RANK ? "Runtimes in ranks" : "Runtimes in processes");
	if (t) {
		table_column(t, who == BY_RANK ? "rank" : "process",
			     who == BY_RANK ? "rank" : "process", CELL_TEXT);
		table_column(t, "recorded_ns", "recorded", CELL_TIME);
		table_column(t, "runtime", "runtime", CELL_TEXT);
		table_column(t, "time_ns", "time in calls", CELL_TIME);
		table_column(t, "percent_of_recorded", "% of recorded", CELL_PERCENT);
		table_column(t, "calls", "calls", CELL_COUNT);
		add_rows(t, &all);
		table_note(
			t,
			"time of all threads, without traced calls inside: of several threads it "
			"may be more than was recorded");
		report_drop_empty(r);
	}
	for (uint32_t i = 0; i < all.count; i++)
		free(all.list[i].who);
	free(all.list);
	return t && !all.failed;
}
