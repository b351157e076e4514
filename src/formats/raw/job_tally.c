/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table to which the ranks of a job have added their tallies. It becomes a process of the trace
 * that stands for all of them, with operations, devices and kernels found by their names; so whoever
 * reads tallies needs to know nothing of it.
 */
#include "wire/job_tally.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "formats/raw/internal.h"
#include "record/tallies.h"
#include "wire/tally.h"

#define LARGEST (1u << 28)

void raw_add_job_table(struct raw_process *p, const struct wire_def *d)
{
	uint64_t offset = wire_def_get(d, DEF_JOB_TALLY_OFFSET);
	uint64_t total = wire_def_get(d, DEF_JOB_TALLY_TOTAL);
	size_t n;
	const char *data = wire_def_text(d, DEF_JOB_TALLY_DATA, &n);

	if (!p->job_table && total <= LARGEST) {
		p->job_table = malloc(total + 1);
		p->job_bytes = total;
	}
	if (!p->job_table || total != p->job_bytes || offset != p->job_read || n > total - offset)
		return; /* a piece is missing: so is the table */
	memcpy(p->job_table + offset, data, n);
	p->job_read += n;
}

void raw_add_given(struct raw_process *p, const struct wire_def *d)
{
	size_t bytes, length;
	const char *totals, *data = wire_def_text(d, DEF_JOB_GIVEN_THREADS, &bytes);

	p->merged_into_job = true;
	p->merged_notes = p->rt->trace->notes_count;
	totals = wire_def_text(d, DEF_JOB_GIVEN_TOTALS, &length);
	if (length) /* numbers are appended */
		memcpy(p->given_totals, totals,
		       length < sizeof(p->given_totals) ? length : sizeof(p->given_totals));
	for (size_t i = 0; i + 4 <= bytes; i += 4) {
		uint32_t thread;

		memcpy(&thread, data + i, 4);
		map_set(&p->merged_threads, thread, 1);
	}
}

/* ---- what rows are about ------------------------------------------------------------------- */

struct settling {
	struct raw_trace *rt;
	struct trace *t;
	uint32_t process, thread; /* those that stand for the ranks */
	uint32_t first_agent, first_kernel;
	bool loads; /* rows that tell no device from another */
};

static const char *copy_of(struct settling *s, const char *text)
{
	return trace_string(s->t, text, strlen(text));
}

/* The table has the name alone; what it is says a process that knows a device of that name. */
static void describe_agent(struct settling *s, struct t_agent *a)
{
	for (uint32_t i = 1; i < s->first_agent; i++) {
		const struct t_agent *known = &s->t->agents[i];

		if (strcmp(known->name, a->name) != 0)
			continue;
		a->type = known->type;
		a->vendor = known->vendor;
		a->driver = known->driver;
		a->domain = known->domain;
		a->platform = known->platform;
		a->properties = known->properties;
		return;
	}
}

static uint32_t agent_of(struct settling *s, const char *name)
{
	struct t_agent *a;

	if (!*name)
		return 0;
	for (uint32_t i = s->first_agent; i < s->t->agents_count; i++)
		if (s->loads || strcmp(s->t->agents[i].name, name) == 0)
			return i;
	a = trace_add(s->t, agents);
	*a = s->t->agents[0];
	a->process = s->process;
	a->name = copy_of(s, name);
	describe_agent(s, a);
	return s->t->agents_count - 1;
}

static uint32_t kernel_of(struct settling *s, const char *domain, const char *name)
{
	struct t_kernel *k;

	if (!*name)
		return 0;
	for (uint32_t i = s->first_kernel; i < s->t->kernels_count; i++)
		if (strcmp(s->t->kernels[i].name, name) == 0 &&
		    strcmp(s->t->kernels[i].domain, domain) == 0)
			return i;
	k = trace_add(s->t, kernels);
	*k = s->t->kernels[0];
	k->process = s->process;
	k->domain = copy_of(s, domain);
	k->name = copy_of(s, name);
	return s->t->kernels_count - 1;
}

static uint32_t string_of(struct settling *s, const char *text)
{
	return *text ? raw_string(s->rt, text, strlen(text), strlen(text)) : 0;
}

static uint32_t op_of(struct settling *s, const struct job_tally_row *r)
{
	const char *domain = r->name[JOB_TALLY_DOMAIN], *title = r->name[JOB_TALLY_TITLE];
	struct t_op op = {
		.name = copy_of(s, r->name[JOB_TALLY_OP]), .number = r->number, .flags = r->flags};

	op.domain = raw_domain(s->t, domain, strlen(domain), title, strlen(title));
	return raw_op_named(s->rt, &op);
}

/* As take_key() of tallies.c, by names. */
static void key_of(struct settling *s, const struct job_tally_row *r, uint32_t kind,
		   uint32_t key[TALLY_KEYS])
{
	key[KEY_PROCESS] = s->process;
	switch (kind) {
	case WIRE_TALLY_DISPATCH:
		key[KEY_DISPATCH_AGENT] = agent_of(s, r->name[JOB_TALLY_A]);
		key[KEY_DISPATCH_KERNEL] =
			kernel_of(s, r->name[JOB_TALLY_DOMAIN], r->name[JOB_TALLY_OP]);
		return;
	case WIRE_TALLY_COPY:
		key[KEY_COPY_OP] = op_of(s, r);
		key[KEY_COPY_SOURCE_AGENT] = agent_of(s, r->name[JOB_TALLY_A]);
		key[KEY_COPY_DESTINATION_AGENT] = agent_of(s, r->name[JOB_TALLY_B]);
		key[KEY_COPY_KINDS] = r->detail & 0xffff;
		return;
	case WIRE_TALLY_ALLOCATION:
		key[KEY_ALLOCATION_AGENT] = agent_of(s, r->name[JOB_TALLY_A]);
		key[KEY_ALLOCATION_KIND] = r->detail >> 8 & 0xff;
		key[KEY_ALLOCATION_WHAT] = r->detail & 0xff;
		return;
	case WIRE_TALLY_POOL:
		key[KEY_POOL_AGENT] = agent_of(s, r->name[JOB_TALLY_A]);
		key[KEY_POOL_KIND] = r->detail & 0xff;
		return;
	default:
		break;
	}
	key[KEY_THREAD] = s->thread;
	key[KEY_OP] = op_of(s, r);
	if (kind == WIRE_TALLY_COMM)
		key[KEY_COMM_DATATYPE] = string_of(s, r->name[JOB_TALLY_A]);
	for (unsigned i = 0; kind == WIRE_TALLY_MARKER && i < 3; i++)
		key[KEY_MARKER_NAME + i] = string_of(s, r->name[JOB_TALLY_A + i]);
}

/* ---- rows ---------------------------------------------------------------------------------- */

static void add_tally(struct settling *s, const struct job_tally_row *r)
{
	struct t_tally y = {.kind = r->kind, .thread = s->thread, .wide = true, .ns_per_tick = 1};

	key_of(s, r, r->kind, y.key);
	y.count = r->n[JOB_TALLY_COUNT];
	y.errors = r->n[JOB_TALLY_ERRORS];
	y.total = r->n[JOB_TALLY_TOTAL];
	y.self = r->n[JOB_TALLY_SELF];
	y.min = r->min;
	y.max = r->max;
	y.first = r->first;
	y.histogram = trace_alloc(s->t, r->buckets * sizeof(uint64_t) + 1);
	y.work = trace_alloc(s->t, sizeof(*y.work));
	if (!y.histogram || !y.work)
		return;
	y.buckets = r->buckets;
	if (r->buckets)
		memcpy(y.histogram, r->histogram, r->buckets * sizeof(uint64_t));
	*y.work = (struct t_work){.bytes = r->n[JOB_TALLY_BYTES],
				  .received = r->n[JOB_TALLY_RECEIVED],
				  .wait = r->n[JOB_TALLY_WAIT],
				  .untimed = r->n[JOB_TALLY_UNTIMED],
				  .untimed_bytes = r->n[JOB_TALLY_UNTIMED_BYTES],
				  .frees = r->n[JOB_TALLY_FREES],
				  .freed = r->n[JOB_TALLY_FREED],
				  .in_use = r->n[JOB_TALLY_IN_USE],
				  .peak = r->n[JOB_TALLY_PEAK]};
	*trace_add(s->t, tallies) = y;
}

static void add_load(struct settling *s, const struct job_tally_row *r)
{
	struct t_load *l = trace_add(s->t, loads);
	uint32_t kind = r->kind & (JOB_TALLY_LOAD - 1u);

	*l = (struct t_load){.process = s->process,
			     .kind = kind,
			     .domain = copy_of(s, r->name[JOB_TALLY_DOMAIN]),
			     .whole = !*r->name[JOB_TALLY_OP],
			     .sum = r->n[JOB_TALLY_TOTAL],
			     .min = r->min,
			     .max = r->max,
			     .min_rank = r->min_rank,
			     .max_rank = r->max_rank,
			     .ranks = (uint32_t)r->n[JOB_TALLY_COUNT]};
	if (r->absent != JOB_TALLY_NONE) {
		l->min = 0;
		l->min_rank = r->absent;
	}
	if (!l->whole)
		key_of(s, r, kind, l->key);
}

static void add_note(struct settling *s, const struct job_tally_row *r)
{
	*trace_add(s->t, notes) = (struct t_note){.process = s->process,
						  .severity = r->detail,
						  .part = copy_of(s, r->name[JOB_TALLY_DOMAIN]),
						  .text = copy_of(s, r->name[JOB_TALLY_A]),
						  .time = s->t->processes[s->process].end,
						  .count = r->n[JOB_TALLY_COUNT]};
}

static void add_row(struct settling *s, const struct job_tally_row *r)
{
	bool load = r->kind & JOB_TALLY_LOAD;

	if (load != s->loads)
		return;
	if (r->kind == JOB_TALLY_NOTE)
		add_note(s, r);
	else if (load && (r->kind & (JOB_TALLY_LOAD - 1)) < WIRE_TALLY_POOL)
		add_load(s, r);
	else if (r->kind < WIRE_TALLY_KINDS)
		add_tally(s, r);
}

/* Loads last: of devices they say only that it is one, and any that the other rows name will do. */
static void add_rows(struct settling *s, const struct job_tally *table)
{
	for (unsigned pass = 0; pass < 2; pass++) {
		s->loads = pass;
		for (uint32_t i = 0; i < table->count; i++)
			add_row(s, table->rows[i]);
	}
}

/* ---- the process --------------------------------------------------------------------------- */

/* Numbers of a process that are those of its ranks added up, and what is taken out of each rank's own. */
static const struct summed {
	enum job_tally_total total;
	size_t offset;
} counts[] =
	{
		{JOB_TALLY_LOST, offsetof(struct t_process, lost_records)},
		{JOB_TALLY_LOST_DEFINITIONS, offsetof(struct t_process, lost_definitions)},
		{JOB_TALLY_UNTRACED, offsetof(struct t_process, untraced_calls)},
		{JOB_TALLY_UNTIMED_RECORDS, offsetof(struct t_process, untimed)},
		{JOB_TALLY_NO_MEMORY, offsetof(struct t_process, no_memory_records)},
		{JOB_TALLY_DROPPED, offsetof(struct t_process, dropped_records)},
		{JOB_TALLY_COST_SAMPLES, offsetof(struct t_process, cost_samples)},
},
  costs[] = {
	  {JOB_TALLY_OVERHEAD, offsetof(struct t_process, overhead_ns)},
	  {JOB_TALLY_LOADING, offsetof(struct t_process, loading_ns)},
	  {JOB_TALLY_WAITING, offsetof(struct t_process, waiting_ns)},
	  {JOB_TALLY_BESIDE, offsetof(struct t_process, beside_ns)},
	  {JOB_TALLY_CALLS_COST, offsetof(struct t_process, calls_cost_ns)},
	  {JOB_TALLY_CALLS_VARIANCE, offsetof(struct t_process, calls_cost_variance)},
	  {JOB_TALLY_THREAD_TIME, offsetof(struct t_process, thread_time_ns)},
};

static uint64_t *number_at(struct t_process *p, const struct summed *s)
{
	return (uint64_t *)((char *)p + s->offset);
}

static double *cost_at(struct t_process *p, const struct summed *s)
{
	return (double *)((char *)p + s->offset);
}

static void take_out_totals(struct t_process *p, const uint64_t *given)
{
	for (unsigned i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		uint64_t *n = number_at(p, &counts[i]);

		*n -= given[counts[i].total] < *n ? given[counts[i].total] : *n;
	}
	for (unsigned i = 0; i < sizeof(costs) / sizeof(*costs); i++) {
		double *ns = cost_at(p, &costs[i]), left = *ns - (double)given[costs[i].total];

		*ns = left > 0 || ns == &p->thread_time_ns ? left : 0;
	}
}

static void add_process(struct settling *s, struct raw_process *rank, const uint64_t *total)
{
	struct trace *t = s->t;
	struct t_process *tp;
	struct t_thread *th;

	s->process = t->processes_count;
	tp = trace_add(t, processes);
	*tp = t->processes[0];
	tp->file = t->processes[rank->process].file;
	tp->job = t->processes[rank->process].job;
	tp->version = t->processes[rank->process].version;
	tp->exe = t->processes[rank->process].exe;
	tp->argv = t->processes[rank->process].argv;
	tp->mpi = t->processes[rank->process].mpi;
	tp->realtime_offset = t->processes[rank->process].realtime_offset;
	tp->rank = UINT32_MAX;
	tp->merged_ranks = (uint32_t)total[JOB_TALLY_RANKS];
	tp->ranks = (uint32_t)total[JOB_TALLY_WORLD];
	tp->start = (int64_t)total[JOB_TALLY_START];
	tp->end = (int64_t)total[JOB_TALLY_END];
	tp->thread_level = -1;
	tp->exit_status = -1;
	for (unsigned i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		*number_at(tp, &counts[i]) = raw_count(rank, total[counts[i].total], COUNT_MAX);
	for (unsigned i = 0; i < sizeof(costs) / sizeof(*costs); i++)
		*cost_at(tp, &costs[i]) = (double)total[costs[i].total];
	tp->left_out_rows = raw_count(rank, total[JOB_TALLY_LEFT_OUT], COUNT_MAX);
	tp->record_cost_ns = t->processes[rank->process].record_cost_ns;
	if (tp->thread_time_ns == 0 && tp->end > tp->start) /* of a version that did not count it */
		tp->thread_time_ns = (double)(tp->end - tp->start) * tp->merged_ranks;
	tp->aligned = true;
	tp->job_error_ns = (double)total[JOB_TALLY_CLOCK_ERROR];
	s->thread = t->threads_count;
	th = trace_add(t, threads);
	*th = t->threads[0];
	th->process = s->process;
	th->start = tp->start;
	th->end = tp->end;
}

static bool settle_process(struct raw_process *p)
{
	struct settling s = {.rt = p->rt,
			     .t = p->rt->trace,
			     .first_agent = p->rt->trace->agents_count,
			     .first_kernel = p->rt->trace->kernels_count};
	struct job_tally table;
	bool ok =
		p->job_read == p->job_bytes && job_tally_decode(&table, p->job_table, p->job_bytes);

	if (!ok) {
		stream_warn(p->rt->log,
			    "%s: the table of the job's tallies is damaged or cut: "
			    "what the ranks' own files have is shown",
			    p->file.path);
		p->file.damaged++;
	} else {
		add_process(&s, p, table.total);
		add_rows(&s, &table);
		if (table.failed || table.total[JOB_TALLY_LEFT_OUT])
			stream_warn(p->rt->log,
				    "%s: the job has called more than its table holds: "
				    "%llu rows were left out",
				    p->file.path,
				    (unsigned long long)table.total[JOB_TALLY_LEFT_OUT]);
	}
	if (p->job_read == p->job_bytes)
		job_tally_release(&table);
	return ok;
}

/* Processes of the job have given theirs to the table; one that was forked has another rank's job. */
static void take_out(struct raw_trace *rt, const struct raw_process *of)
{
	const struct trace *t = rt->trace;

	for (uint32_t i = 0; i < rt->count; i++) {
		struct raw_process *p = &rt->processes[i];

		if (!p->merged_into_job ||
		    strcmp(t->processes[p->process].job, t->processes[of->process].job) != 0)
			continue;
		raw_drop_merged_tallies(p);
		take_out_totals(&t->processes[p->process], p->given_totals);
		for (uint32_t k = p->first_note; k < p->merged_notes; k++)
			t->notes[k].count = 0;
	}
}

/* Notes of count 0 are in a table. */
static void drop_notes(struct trace *t)
{
	uint32_t kept = 1;

	for (uint32_t i = 1; i < t->notes_count; i++)
		if (t->notes[i].count)
			t->notes[kept++] = t->notes[i];
	t->notes_count = kept;
}

void raw_settle_jobs(struct raw_trace *rt)
{
	bool settled = false;

	for (uint32_t i = 0; i < rt->count; i++)
		if (rt->processes[i].job_table && settle_process(&rt->processes[i])) {
			take_out(rt, &rt->processes[i]);
			settled = true;
		}
	if (settled)
		drop_notes(rt->trace);
}
