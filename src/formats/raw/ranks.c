/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who are the ranks of a job. MPI says it itself; where it is not used a communicator of NCCL says it
 * that all of a group of processes have, and else what the launcher left in the environment. That is
 * handed on to all that a rank starts: of the processes that say they are the same rank one is it,
 * the others belong to it.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/raw/internal.h"
#include "formats/raw/nccl_ranks.h"
#include "wire/raw.h"

#define EXECUTED 3u /* raw_end.how */

struct seat { /* a process whose environment says that it is a rank */
	struct raw_process *p;
	struct t_process *tp;
	bool sure;     /* MPI or NCCL says so, too */
	bool launcher; /* it has started ranks of another kind */
	bool around;   /* a shell, or what was there before exec(): the rank comes after it */
};

struct seats {
	struct seat *list;
	size_t count;
};

static const char *by_of(const struct seat *s)
{
	return (const char *)s->p->job.by;
}

static int compare_groups(const struct seat *a, const struct seat *b)
{
	int order = strcmp(a->tp->job, b->tp->job);

	if (order == 0)
		order = strncmp(by_of(a), by_of(b), sizeof(a->p->job.by));
	if (order == 0)
		order = (a->p->file.header.rank > b->p->file.header.rank) -
			(a->p->file.header.rank < b->p->file.header.rank);
	return order;
}

static int compare_processes(const struct seat *a, uint32_t pid, const char *host)
{
	int order = (a->tp->pid > pid) - (a->tp->pid < pid);

	return order ? order : strcmp(a->tp->hostname, host);
}

/* Those that say they are the same rank follow on one another, by process. */
static int by_group(const void *x, const void *y)
{
	const struct seat *a = x, *b = y;
	int order = compare_groups(a, b);

	if (order == 0)
		order = compare_processes(a, b->tp->pid, b->tp->hostname);
	if (order == 0)
		order = (a->tp->start > b->tp->start) - (a->tp->start < b->tp->start);
	return order;
}

static int by_process(const void *x, const void *y)
{
	const struct seat *const *a = x, *const *b = y;

	return compare_processes(*a, (*b)->tp->pid, (*b)->tp->hostname);
}

/* ---- what each says -------------------------------------------------------------------------- */

/*
 * MPI that was started without its launcher is alone in each process, whatever the program is: rank 0
 * of 1 in all of them. The program's ranks are then those of what did start them.
 */
static bool is_alone(const struct raw_process *p, const struct t_process *tp)
{
	return tp->ranks == 1 && p->file.header.rank != UINT32_MAX && p->job.size > 1;
}

static void take_environment(struct raw_process *p, struct t_process *tp)
{
	const char *by = (const char *)p->job.by;

	tp->rank = p->file.header.rank;
	tp->ranks = p->job.size;
	/* "": of a file from before this was written. */
	tp->rank_by = trace_string(p->rt->trace, by, strnlen(by, sizeof(p->job.by)));
	tp->rank_stage = 0;
}

static bool collect(struct seats *s, struct raw_trace *rt)
{
	s->list = calloc(rt->count + 1, sizeof(*s->list));
	if (!s->list)
		return false;
	for (uint32_t i = 0; i < rt->count; i++) {
		struct raw_process *p = &rt->processes[i];
		struct t_process *tp = &rt->trace->processes[p->process];
		bool mpi = strcmp(tp->rank_by, "MPI") == 0 && !is_alone(p, tp);

		if (p->file.header.rank == UINT32_MAX || tp->telemetry)
			continue;
		if (!mpi)
			take_environment(p, tp);
		s->list[s->count++] = (struct seat){p, tp, mpi, false, false};
	}
	return true;
}

/* ---- launchers that are ranks themselves ----------------------------------------------------- */

/* A file may say anything. */
static uint32_t at_most(uint32_t n)
{
	enum { MOST = sizeof(((struct raw_job *)0)->above) / sizeof(uint32_t) };

	return n < MOST ? n : MOST;
}

/* Those of the process that are sorted in `list`. */
static void mark_launcher(struct seat **list, size_t count, uint32_t pid, const struct seat *rank)
{
	size_t from = 0, to = count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (compare_processes(list[middle], pid, rank->tp->hostname) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	for (; from < count && compare_processes(list[from], pid, rank->tp->hostname) == 0; from++)
		list[from]->launcher |= compare_groups(list[from], rank) != 0;
}

/* Marks who has started a rank of another launcher's: a task of srun that runs torchrun. */
static bool mark_launchers(struct seats *s)
{
	struct seat **sorted = calloc(s->count + 1, sizeof(*sorted));

	if (!sorted)
		return false;
	for (size_t i = 0; i < s->count; i++)
		sorted[i] = &s->list[i];
	qsort(sorted, s->count, sizeof(struct seat *), by_process);
	for (size_t i = 0; i < s->count; i++) {
		const struct raw_job *j = &s->list[i].p->job;

		for (uint32_t k = j->inside; k < at_most(j->count); k++)
			mark_launcher(sorted, s->count, j->above[k], &s->list[i]);
	}
	free(sorted);
	return true;
}

/* ---- those that are the same rank ------------------------------------------------------------ */

/* The first of that process, or NULL. */
static struct seat *find_process(struct seat *group, size_t count, uint32_t pid, const char *host)
{
	size_t from = 0, to = count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (compare_processes(&group[middle], pid, host) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from < count && compare_processes(&group[from], pid, host) == 0 ? &group[from]
									       : NULL;
}

/* Programs that are there to start another. */
static bool is_wrapper(const struct seat *s)
{
	static const char *const names[] = {
		"sh",      "bash",    "dash",   "zsh",    "ksh",   "csh",    "tcsh",
		"fish",    "busybox", "env",    "nice",   "time",  "ionice", "numactl",
		"taskset", "timeout", "stdbuf", "setsid", "nohup", "xargs",  "kymo"};
	const char *slash = strrchr(s->tp->exe, '/'), *name = slash ? slash + 1 : s->tp->exe;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static void mark_around(struct seat *group, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct seat *s = &group[i], *parent;

		s->around |= s->tp->how_ended == EXECUTED && i + 1 < count &&
			     compare_processes(&group[i + 1], s->tp->pid, s->tp->hostname) == 0;
		for (uint32_t k = 0; k < at_most(s->p->job.inside); k++) {
			parent = find_process(group, count, s->p->job.above[k], s->tp->hostname);
			if (parent && is_wrapper(parent))
				parent->around = true;
		}
	}
}

/* Something of the same rank has started it that is the rank already. */
static bool has_rank_above(struct seat *group, size_t count, const struct seat *s)
{
	for (uint32_t k = 0; k < at_most(s->p->job.inside); k++) {
		const struct seat *above =
			find_process(group, count, s->p->job.above[k], s->tp->hostname);

		for (; above && above < group + count &&
		       compare_processes(above, s->p->job.above[k], s->tp->hostname) == 0;
		     above++)
			if (!above->around && above->tp->pid != s->tp->pid)
				return true;
	}
	return false;
}

static void belong(struct seat *s, uint32_t rank)
{
	s->tp->of_rank = rank;
	s->tp->rank = UINT32_MAX;
	s->tp->ranks = 0;
	s->tp->rank_by = "";
}

static void settle_group(struct seat *group, size_t count)
{
	const struct seat *sure = NULL;
	bool launcher = false;

	for (size_t i = 0; i < count; i++) {
		launcher |= group[i].launcher;
		sure = group[i].sure ? &group[i] : sure;
	}
	if (!sure)
		mark_around(group, count);
	for (size_t i = 0; i < count; i++) {
		struct seat *s = &group[i];

		if (s->sure)
			continue;
		if (sure)
			belong(s, sure->tp->rank);
		else if (launcher)
			belong(s, UINT32_MAX);
		else if (s->around || has_rank_above(group, count, s))
			belong(s, s->p->file.header.rank);
	}
}

void raw_settle_ranks(struct raw_trace *rt)
{
	struct seats s = {0};
	bool *sure = calloc(rt->count + 1, sizeof(*sure));

	if (sure && collect(&s, rt) && nccl_ranks(rt, sure)) {
		for (size_t i = 0; i < s.count; i++)
			s.list[i].sure |= sure[s.list[i].p - rt->processes];
		if (s.count)
			qsort(s.list, s.count, sizeof(*s.list), by_group);
		if (mark_launchers(&s))
			for (size_t from = 0, to; from < s.count; from = to) {
				for (to = from + 1; to < s.count &&
						    compare_groups(&s.list[from], &s.list[to]) == 0;
				     to++)
					;
				settle_group(&s.list[from], to - from);
			}
	}
	free(sure);
	free(s.list);
}
