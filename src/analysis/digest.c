/* SPDX-License-Identifier: Apache-2.0 */
/* The digest of a trace; see digest.h. */
#include "analysis/digest.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/bound.h"
#include "analysis/brief_names.h"
#include "analysis/names.h"
#include "analysis/summary_columns.h"
#include "analysis/table_names.h"
#include "base/plain.h"
#include "base/units.h"
#include "stream/names.h"

enum {
	KERNELS = 5,
	KERNEL_WIDTH = DIGEST_WIDTH - 41, /* of its name, behind its numbers */
	CALLS = 3,
	STATES = 2, /* of threads, where they are recorded */
	FINDINGS = 3,
	LAST_LINES = 2, /* of loss, clocks and overhead, which may be wrapped */
	CAUSES = 4,
	OTHERS =
		5, /* percent of the run: causes that are not named, if they are as much, are told together */
	DEVICES_WHOLE = 2,
	DEVICES = 4,
	LABEL = 22
};

struct digest {
	struct report *r;
	const struct summary *s;
	const struct timeline *tl;
	struct diagnosis *d;
	uint64_t run;            /* ns */
	bool lines;              /* they are asked for, not tables alone */
	uint32_t kernels, calls; /* lines that there is room for */
};

/* A line above the tables, unless only tables are asked for. */
#define TELL(g, ...) ((g)->lines ? report_head((g)->r, __VA_ARGS__) : (void)0)

/* ---- lines ------------------------------------------------------------------------------------- */

/* One line of the head, cut where the page ends. */
static void add_line(struct digest *g, const struct text *line)
{
	struct text cut = {0};

	if (!line->s)
		return;
	if (plain_width(line->s) <= DIGEST_WIDTH) {
		TELL(g, "%s", line->s);
		return;
	}
	plain_add_cut(&cut, line->s, DIGEST_WIDTH - 3);
	text_add(&cut, "...");
	TELL(g, "%s", cut.s ? cut.s : "");
	text_release(&cut);
}

/* Length of the first line of `text`: up to a blank that parts no number from its unit. */
static size_t line_of(const char *text, size_t room)
{
	size_t n = strlen(text);

	if (n <= room)
		return n;
	for (n = room; n; n--)
		if (text[n] == ' ' && !(text[n - 1] >= '0' && text[n - 1] <= '9'))
			return n;
	return room;
}

/* In as many lines as it needs, from the second on with so many blanks in front. */
static void add_wrapped(struct digest *g, const char *text, unsigned indent)
{
	unsigned blanks = 0;

	while (text && *text) {
		size_t n = line_of(text, DIGEST_WIDTH - blanks);

		TELL(g, "%*s%.*s", (int)blanks, "", (int)n, text);
		text += n;
		text += *text == ' ';
		blanks = indent;
	}
}

static double percent(const struct digest *g, uint64_t ns)
{
	return g->run ? 100 * (double)ns / (double)g->run : 0;
}

/* "busy 54.2 ms (0.5 %)" */
static void add_share(struct digest *g, struct text *line, const char *what, uint64_t ns)
{
	char time[UNITS_TEXT];

	text_addf(line, "%s%s %.1f %% (%s)",
		  line->length && line->s[line->length - 1] != ' ' ? ", " : "", what,
		  percent(g, ns), units_time(ns, time));
}

/* ---- devices ----------------------------------------------------------------------------------- */

static uint64_t idle_of(const struct idle *idle)
{
	uint64_t sum = 0;

	for (unsigned c = 0; c < IDLE_CAUSES; c++)
		sum += idle->cause[c];
	return sum;
}

static uint64_t overlap_of(const struct tl_device *d)
{
	return intervals_common(&d->kernels, &d->transfers);
}

/* That kernels communicate while others run. */
static uint64_t beside_of(const struct tl_device *d, const struct idle *idle)
{
	return intervals_length(&d->communication) - idle->communication;
}

/*
 * The largest causes, the greatest first; of several devices as many as one line has room for. Where the others are
 * much together, they are told as one.
 */
static void add_causes(struct digest *g, struct text *line, const struct idle *idle)
{
	static const char others[] = ", others 999.9 ms";
	uint64_t left = idle_of(idle);
	bool told[IDLE_CAUSES] = {false};
	struct text cause = {0};
	char time[UNITS_TEXT];
	unsigned n;

	for (n = 0; n < CAUSES; n++) {
		unsigned most = IDLE_CAUSES;

		for (unsigned c = 0; c < IDLE_CAUSES; c++)
			if (!told[c] && idle->cause[c] &&
			    (most == IDLE_CAUSES || idle->cause[c] > idle->cause[most]))
				most = c;
		if (most == IDLE_CAUSES || percent(g, idle->cause[most]) < 0.1)
			break;
		cause.length = 0;
		text_addf(&cause, "%s%s %s", n ? ", " : ": ", idle_name((enum idle_cause)most),
			  units_time(idle->cause[most], time));
		if (g->tl->devices_count > 1 &&
		    line->length + cause.length + sizeof(others) - 1 > DIGEST_WIDTH)
			break;
		told[most] = true;
		left -= idle->cause[most];
		text_add(line, cause.s ? cause.s : "");
	}
	if (n && percent(g, left) >= OTHERS)
		text_addf(line, ", others %s", units_time(left, time));
	text_release(&cause);
}

static const char *device_name(const struct digest *g, const struct tl_device *d)
{
	const struct t_agent *a = &g->s->trace->agents[d->agent];

	return g->r->fold ? name_device(a) : a->label;
}

/* Of the kernels, those that communicate, where there are any. */
static void add_communication(struct digest *g, uint32_t i)
{
	const struct tl_device *d = &g->tl->devices[i];
	uint64_t ns = intervals_length(&d->communication);
	struct text line = {0};
	char time[UNITS_TEXT];

	if (!ns)
		return;
	text_add(&line, "    ");
	add_share(g, &line, "kernels that communicate", ns);
	text_addf(&line, ", %s beside other kernels",
		  units_time(beside_of(d, &g->d->idle[i]), time));
	add_line(g, &line);
	text_release(&line);
}

/* A device in three lines, or in one where there are many; what its kernels communicate besides. */
static void device_lines(struct digest *g, uint32_t i)
{
	const struct tl_device *d = &g->tl->devices[i];
	const struct idle *idle = &g->d->idle[i];
	uint64_t transfers = intervals_length(&d->transfers);
	struct text line = {0};
	char time[UNITS_TEXT];

	text_addf(&line, "Device %u: ", i);
	if (g->r->fold)
		plain_add_cut(&line, device_name(g, d), DIGEST_WIDTH - 20);
	else
		plain_add(&line, device_name(g, d), strlen(device_name(g, d)));
	add_wrapped(g, line.s, 2);
	line.length = 0;
	text_add(&line, "  ");
	add_share(g, &line, "kernels", idle->kernels);
	if (transfers) {
		add_share(g, &line, "transfers", transfers);
		text_addf(&line, ", %s at once", units_time(overlap_of(d), time));
	}
	add_line(g, &line);
	add_communication(g, i);
	line.length = 0;
	text_add(&line, "  ");
	add_share(g, &line, "idle", idle_of(idle));
	add_causes(g, &line, idle);
	add_wrapped(g, line.s, 4);
	text_release(&line);
}

static void device_line(struct digest *g, uint32_t i)
{
	const struct tl_device *d = &g->tl->devices[i];
	const struct idle *idle = &g->d->idle[i];
	const char *label = device_name(g, d);
	struct text line = {0};

	text_addf(&line, "Device %u: ", i);
	if (plain_width(label) > LABEL)
		plain_add_cut(&line, label, LABEL);
	else
		plain_add(&line, label, strlen(label));
	text_addf(&line, ": kernels %.1f %%, transfers %.1f %%, idle %.1f %%",
		  percent(g, idle->kernels), percent(g, intervals_length(&d->transfers)),
		  percent(g, idle_of(idle)));
	add_line(g, &line);
	text_release(&line);
}

/* Of many devices what their kernels communicate, least and most. */
static void communication_line(struct digest *g)
{
	uint64_t least = UINT64_MAX, most = 0, beside = 0;

	for (uint32_t i = 0; i < g->tl->devices_count; i++) {
		const struct tl_device *d = &g->tl->devices[i];
		uint64_t ns = intervals_length(&d->communication);

		least = ns < least ? ns : least;
		most = ns > most ? ns : most;
		ns = beside_of(d, &g->d->idle[i]);
		beside = ns > beside ? ns : beside;
	}
	if (most)
		TELL(g, "Kernels that communicate: %.1f to %.1f %%, up to %.1f %% beside others",
		     percent(g, least), percent(g, most), percent(g, beside));
}

static void tell_devices(struct digest *g)
{
	uint32_t n = g->tl->devices_count;
	uint64_t least = UINT64_MAX, most = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t idle = idle_of(&g->d->idle[i]);

		least = idle < least ? idle : least;
		most = idle > most ? idle : most;
		if (n <= DEVICES_WHOLE)
			device_lines(g, i);
		else if (i < DEVICES)
			device_line(g, i);
	}
	if (n > DEVICES)
		TELL(g, "... %u more devices; idle of all: %.1f to %.1f %%", n - DEVICES,
		     percent(g, least), percent(g, most));
	if (n > DEVICES_WHOLE)
		communication_line(g);
}

static void devices_table(struct digest *g)
{
	struct table *t = report_table(g->r, "devices", "");

	if (!t)
		return;
	t->hidden = true;
	table_column(t, "device", "", CELL_TEXT);
	table_column(t, "run_ns", "", CELL_TIME);
	table_column(t, "kernels_ns", "", CELL_TIME);
	table_column(t, "transfers_ns", "", CELL_TIME);
	table_column(t, "overlap_ns", "", CELL_TIME);
	table_column(t, "transfers_alone_ns", "", CELL_TIME);
	table_column(t, "communication_ns", "", CELL_TIME);
	table_column(t, "communication_overlap_ns", "", CELL_TIME);
	table_column(t, "idle_ns", "", CELL_TIME);
	for (unsigned c = 0; c < IDLE_CAUSES; c++)
		table_column(t, idle_column((enum idle_cause)c), "", CELL_TIME);
	for (uint32_t i = 0; i < g->tl->devices_count; i++) {
		const struct tl_device *d = &g->tl->devices[i];
		const struct idle *idle = &g->d->idle[i];
		struct cell *c = table_row(t);

		if (!c)
			break;
		cell_text(t, c++, g->s->trace->agents[d->agent].label);
		cell_number(c++, g->run);
		cell_number(c++, idle->kernels);
		cell_number(c++, intervals_length(&d->transfers));
		cell_number(c++, overlap_of(d));
		cell_number(c++, idle->transfers);
		cell_number(c++, intervals_length(&d->communication));
		cell_number(c++, beside_of(d, idle));
		cell_number(c++, idle_of(idle));
		for (unsigned k = 0; k < IDLE_CAUSES; k++)
			cell_number(c++, idle->cause[k]);
	}
	report_drop_empty(g->r);
}

/* ---- hosts ------------------------------------------------------------------------------------- */

/*
 * The thread of a process that was most in calls; 0: none was in any. Threads of a pool wait all the time:
 * that counts only between threads that did nothing else.
 */
static uint32_t busiest_thread(const struct timeline *tl, uint32_t process)
{
	const struct trace *t = tl->trace;
	uint64_t most = 0, waited = 0;
	uint32_t best = 0;

	for (uint32_t i = 1; i < t->threads_count; i++) {
		uint64_t in = 0, waits = 0;

		if (t->threads[i].process != process || t->threads[i].own)
			continue;
		for (unsigned s = HOST_OUTSIDE + 1; s < HOST_STATES; s++)
			*(host_waits((enum host_state)s) ? &waits : &in) += tl->threads[i].in[s];
		if (in > most || (in == most && waits > waited)) {
			most = in;
			waited = waits;
			best = i;
		}
	}
	return best;
}

static const char *const state_words[] = {[HOST_OUTSIDE] = "own code",
					  [HOST_LAUNCH] = "launching",
					  [HOST_WAIT] = "waiting for devices",
					  [HOST_MPI] = "in MPI",
					  [HOST_ALLOCATE] = "allocating",
					  [HOST_BUILD] = "building",
					  [HOST_THREADS] = "waiting for threads",
					  [HOST_SLEEP] = "sleeping",
					  [HOST_POLL] = "polling",
					  [HOST_IO] = "files and sockets",
					  [HOST_BLOCKED] = "other waits",
					  [HOST_PREEMPTED] = "preempted",
					  [HOST_OTHER] = "other calls"};

struct host_sum {
	uint64_t in[HOST_STATES], life;
	double least, most; /* shares of MPI of a process */
	uint32_t processes;
};

static void add_host(struct host_sum *sum, const struct tl_thread *th)
{
	uint64_t life = 0;
	double mpi;

	for (unsigned s = 0; s < HOST_STATES; s++) {
		sum->in[s] += th->in[s];
		life += th->in[s];
	}
	sum->life += life;
	mpi = life ? (double)th->in[HOST_MPI] / (double)life : 0;
	sum->least = sum->processes && sum->least < mpi ? sum->least : mpi;
	sum->most = mpi > sum->most ? mpi : sum->most;
	sum->processes++;
}

/* The largest states of the hosts, as shares of the time that these threads were there. */
static void add_states(struct text *line, const struct host_sum *sum)
{
	bool told[HOST_STATES] = {false};
	const char *comma = "";

	for (unsigned n = 0; n < 4; n++) {
		unsigned most = HOST_STATES;

		for (unsigned s = 0; s < HOST_STATES; s++)
			if (!told[s] && sum->in[s] &&
			    (most == HOST_STATES || sum->in[s] > sum->in[most]))
				most = s;
		if (most == HOST_STATES || 1000 * sum->in[most] < sum->life)
			break;
		told[most] = true;
		text_addf(line, "%s%s %.1f %%", comma, state_words[most],
			  100 * (double)sum->in[most] / (double)sum->life);
		if (most == HOST_MPI && sum->processes > 1)
			text_addf(line, " (%.0f to %.0f)", 100 * sum->least, 100 * sum->most);
		comma = ", ";
	}
}

static void hosts_table(struct digest *g)
{
	struct table *t = report_table(g->r, "hosts", "");
	static const char *const columns[] = {[HOST_OUTSIDE] = "own_code_ns",
					      [HOST_LAUNCH] = "launching_ns",
					      [HOST_WAIT] = "waiting_ns",
					      [HOST_MPI] = "mpi_ns",
					      [HOST_ALLOCATE] = "allocating_ns",
					      [HOST_BUILD] = "building_ns",
					      [HOST_THREADS] = "threads_ns",
					      [HOST_OTHER] = "other_calls_ns",
					      [HOST_SLEEP] = "sleeping_ns",
					      [HOST_POLL] = "polling_ns",
					      [HOST_IO] = "io_ns",
					      [HOST_BLOCKED] = "blocked_ns",
					      [HOST_PREEMPTED] = "preempted_ns"};

	if (!t)
		return;
	t->hidden = true;
	table_column(t, "process", "", CELL_NUMBER);
	table_column(t, "rank", "", CELL_NUMBER);
	table_column(t, "thread", "", CELL_NUMBER);
	for (unsigned s = 0; s < HOST_STATES; s++)
		table_column(t, columns[s], "", CELL_TIME);
	for (uint32_t p = 1; p < g->s->trace->processes_count; p++) {
		const struct t_process *process = &g->s->trace->processes[p];
		uint32_t thread = busiest_thread(g->tl, p);
		struct cell *c = thread ? table_row(t) : NULL;

		if (!c)
			continue;
		cell_real(c++, process->pid);
		if (process->rank != UINT32_MAX)
			cell_real(c, process->rank);
		c++;
		cell_real(c++, g->s->trace->threads[thread].tid);
		for (unsigned s = 0; s < HOST_STATES; s++)
			cell_number(c++, g->tl->threads[thread].in[s]);
	}
	report_drop_empty(g->r);
}

static void tell_hosts(struct digest *g)
{
	const struct trace *t = g->s->trace;
	struct host_sum sum = {0};
	struct text line = {0};
	uint32_t last = 0;
	char name[64];

	for (uint32_t p = 1; p < t->processes_count; p++) {
		uint32_t thread = busiest_thread(g->tl, p);

		if (!thread)
			continue;
		add_host(&sum, &g->tl->threads[thread]);
		last = thread;
	}
	if (!sum.processes || g->tl->counted)
		return;
	if (sum.processes == 1 && t->threads[last].main)
		text_add(&line, "Main thread: ");
	else if (sum.processes == 1)
		text_addf(&line, "Thread %s: ", name_thread(&t->threads[last], name, sizeof(name)));
	else
		text_addf(&line, "Hosts (%u, busiest threads): ", sum.processes);
	add_states(&line, &sum);
	add_wrapped(g, line.s, 4);
	text_release(&line);
}

/* How much of it all may be the machine's doing. */
static void tell_delay(struct digest *g)
{
	const struct trace *t = g->s->trace;
	const char *part = g->tl->window ? " in the whole run" : "";
	struct text line = {0};
	double most = 0;
	uint32_t process = diagnosis_delayed(g->tl, &most), processes;

	summary_threads(t, &processes);
	if (!process)
		return;
	if (processes == 1)
		text_addf(&line, "The main thread waited for a processor %.0f %% of its time%s.",
			  100 * most, part);
	else
		text_addf(&line,
			  "Main threads waited for a processor up to %.0f %% of their time%s (%s "
			  "%" PRIu32 ").",
			  100 * most, part,
			  t->processes[process].rank == UINT32_MAX ? "process" : "rank",
			  t->processes[process].rank == UINT32_MAX ? t->processes[process].pid
								   : t->processes[process].rank);
	add_wrapped(g, line.s, 4);
	text_release(&line);
}

/* ---- kernels and calls --------------------------------------------------------------------------- */

/* What is above them and what comes below leaves so many lines: at least one of each. */
static void make_room(struct digest *g)
{
	uint32_t below = LAST_LINES + (g->tl->early != 0) + (g->d->count > FINDINGS) +
			 (g->d->count < FINDINGS ? g->d->count : FINDINGS);
	uint32_t used = g->r->head.count + below;
	uint32_t left = used < DIGEST_LINES ? DIGEST_LINES - used : 0;

	g->calls = left > KERNELS ? left - KERNELS : left / 2;
	g->calls = g->calls > CALLS ? CALLS : g->calls ? g->calls : 1;
	g->kernels = left > g->calls ? left - g->calls : 1;
	g->kernels = g->kernels > KERNELS ? KERNELS : g->kernels;
}

static void add_kernel(struct digest *g, const struct group *k, bool first, uint64_t total,
		       const char *name)
{
	struct text line = {0};
	char time[UNITS_TEXT], number[32];

	text_addf(&line, "%-8s %5.1f %%  %9s %9s x  ", first ? "Kernels" : "",
		  100 * (double)k->sum.total / (double)total, units_time(k->sum.total, time),
		  units_count(k->sum.count, number));
	plain_add(&line, name, strlen(name));
	add_line(g, &line);
	text_release(&line);
}

static bool tell_kernels(struct digest *g)
{
	struct text names[KERNELS] = {0};
	struct groups rows;
	uint64_t total = 0;
	unsigned count = 0;
	bool ok = gather(&rows, g->s, 1, TALLY_DISPATCH, BY_OP, NULL, NULL);

	if (ok) {
		groups_sort(&rows, ORDER_TIME);
		total = totals_of(&rows).total;
	}
	for (; ok && total && count < rows.count && count < g->kernels; count++)
		text_add(&names[count], rows.list[count]->key);
	if (g->r->fold)
		brief_names(names, count, KERNEL_WIDTH);
	for (unsigned i = 0; i < count; i++) {
		add_kernel(g, rows.list[i], !i, total, names[i].s ? names[i].s : "");
		text_release(&names[i]);
	}
	groups_release(&rows);
	return ok;
}

static int most_self(const void *a, const void *b)
{
	const struct group *x = *(struct group *const *)a, *y = *(struct group *const *)b;

	if (x->sum.self != y->sum.self)
		return x->sum.self > y->sum.self ? -1 : 1;
	return strcmp(x->key, y->key);
}

static bool tell_rows(struct digest *g, const char *title, uint32_t most, row_wanted *of)
{
	struct groups rows;
	char time[UNITS_TEXT], number[32];
	bool ok = gather(&rows, g->s, 1, TALLY_CALL, BY_OP, of, g->tl);

	if (ok && rows.count)
		qsort(rows.list, rows.count, sizeof(*rows.list), most_self);
	for (uint32_t i = 0; ok && i < rows.count && i < most && rows.list[i]->sum.self; i++) {
		const struct group *c = rows.list[i];
		struct text line = {0};

		text_addf(&line, "%-16s  %9s %9s x  ", i ? "" : title,
			  units_time(c->sum.self, time), units_count(c->sum.count, number));
		plain_add(&line, c->key, strlen(c->key));
		add_line(g, &line);
		text_release(&line);
	}
	groups_release(&rows);
	return ok;
}

/* The others of a pool have nothing to do most of the time, which says nothing. */
static bool row_is_state_of_main(const void *unused, const struct trace *t, const struct tally *row)
{
	uint32_t thread = row->key[KEY_THREAD];

	return row_is_state(NULL, t, row) && thread < t->threads_count && t->threads[thread].main;
}

/* Nobody waits for a pool that has nothing to do. */
static bool row_is_call_of_use(const void *data, const struct trace *t, const struct tally *row)
{
	const struct timeline *tl = data;
	const uint32_t thread = row->key[KEY_THREAD];

	return row_is_call(NULL, t, row) &&
	       !(thread < t->threads_count && tl->threads[thread].pool &&
		 strcmp(t->domains[t->ops[row->key[KEY_OP]].domain].name, "lock") == 0);
}

static bool tell_calls(struct digest *g)
{
	return tell_rows(g, "Calls", g->calls, row_is_call_of_use) &&
	       tell_rows(g, "Main off CPU", STATES, row_is_state_of_main);
}

/* ---- findings ---------------------------------------------------------------------------------- */

/* The device whose name stands at `at`, the longest that fits; its length, 0: none. */
static size_t device_named(const struct digest *g, const char *at, uint32_t *device)
{
	size_t best = 0;

	for (uint32_t i = 0; i < g->tl->devices_count; i++) {
		const char *label = g->s->trace->agents[g->tl->devices[i].agent].label;
		size_t n = strlen(label);

		if (n > best && strncmp(at, label, n) == 0 && !isalnum((unsigned char)at[n])) {
			best = n;
			*device = i;
		}
	}
	return best;
}

/* Names of devices stand in the lines above, and would take the room of what there is to say. */
static void add_title(const struct digest *g, struct text *line, const char *title)
{
	struct text said = {0};
	uint32_t device = 0;

	for (const char *p = title; *p;) {
		bool begins = p == title || !isalnum((unsigned char)p[-1]);
		size_t n = begins ? device_named(g, p, &device) : 0;

		if (n)
			text_addf(&said, "%s %u", p == title ? "Device" : "device", device);
		else
			text_add_bytes(&said, p, 1);
		p += n ? n : 1;
	}
	if (said.s)
		plain_add(line, said.s, said.length);
	text_release(&said);
}

static void tell_findings(struct digest *g)
{
	for (uint32_t i = 0; i < g->d->count && i < FINDINGS; i++) {
		const struct finding *f = &g->d->findings[i];
		struct text line = {0};

		if (f->gain)
			text_addf(&line, "%-8s %5.1f %%  ", i ? "" : "To win",
				  100 * diagnosis_share(g->d, f->gain));
		else
			text_addf(&line, "%-8s %7s  ", i ? "" : "To mend", "");
		if (f->title.s)
			add_title(g, &line, f->title.s);
		add_line(g, &line);
		text_release(&line);
	}
	if (g->d->count > FINDINGS)
		TELL(g, "%-8s ... %u more (kymo diagnose)", "", g->d->count - FINDINGS);
}

static void findings_table(struct digest *g)
{
	struct table *t = report_table(g->r, "findings", "");

	if (!t)
		return;
	t->hidden = true;
	table_column(t, "rule", "", CELL_TEXT);
	table_column(t, "gain_ns", "", CELL_TIME);
	table_column(t, "percent", "", CELL_PERCENT);
	table_column(t, "title", "", CELL_TEXT);
	for (uint32_t i = 0; i < g->d->count; i++) {
		const struct finding *f = &g->d->findings[i];
		struct cell *c = table_row(t);

		if (!c)
			break;
		cell_text(t, c++, f->rule->id);
		cell_number(c++, f->gain);
		cell_real(c++, 100 * diagnosis_share(g->d, f->gain));
		cell_text(t, c++, f->title.s ? f->title.s : "");
	}
	report_drop_empty(g->r);
}

/* ---- all --------------------------------------------------------------------------------------- */

static void tell_bound(struct digest *g)
{
	struct bound b = bound_find(g->tl, g->d->idle);
	struct text sentence = {0};
	struct table *t = report_table(g->r, "digest", "");
	struct cell *c;

	bound_tell(&sentence, &b, g->tl, g->d->idle);
	add_wrapped(g, sentence.s, 0);
	if (t) {
		t->hidden = true;
		table_column(t, "bound", "", CELL_TEXT);
		table_column(t, "bound_ns", "", CELL_TIME);
		table_column(t, "bound_percent", "", CELL_PERCENT);
		table_column(t, "sentence", "", CELL_TEXT);
		c = table_row(t);
		if (c) {
			cell_text(t, c++, bound_name(b.by));
			cell_number(c++, b.ns);
			cell_real(c++, 100 * b.share);
			cell_text(t, c++, sentence.s ? sentence.s : "");
		}
	}
	text_release(&sentence);
}

/* What takes time is not done for other tables. */
static bool is_asked_for(const struct report *r)
{
	static const char *const names[] = {"digest",  "devices", "device_use", "gaps",
					    "overlap", "hosts",   "findings",   "regions"};
	bool asked = false;

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		asked |= table_names_has(r->chosen, names[i]);
	return asked;
}

/* What there is of the run says nothing of the whole. */
static bool tell_incomplete(struct digest *g)
{
	const struct timeline *tl = g->tl;
	struct text line = {0};
	uint64_t records;

	if (timeline_overwritten(tl)) {
		text_addf(&line,
			  "What bounds the run, and why devices idle, cannot be told of the whole: "
			  "its "
			  "first part gave way to newer records. Of the rest: kymo summary --after "
			  "%.6f ",
			  timeline_complete_from(tl));
		text_add_shell(&line, g->s->path);
	} else if (timeline_lossy(tl, &records)) {
		text_addf(&line,
			  "What bounds the run, and why devices idle, cannot be told: %s of %s "
			  "records were lost.",
			  UNITS_COUNT(tl->lost), UNITS_COUNT(records));
	}
	if (!line.s)
		return false;
	TELL(g, "%s", "");
	add_wrapped(g, line.s, 0);
	text_release(&line);
	summary_quality_line(&line, g->s);
	add_wrapped(g, line.s, 2);
	text_release(&line);
	return true;
}

bool summary_digest(struct report *r, const struct summary *s)
{
	struct digest g = {
		.r = r, .s = s, .tl = s->timeline, .lines = table_names_has(r->chosen, "digest")};
	struct diagnosis own = {0};
	struct text line = {0};
	char number[32];
	bool ok;

	if (!is_asked_for(r) || !s->timeline || summary_nothing_recorded(s))
		return true;
	r->digest = g.lines;
	if (s->timeline->failed) {
		TELL(&g, "There was not enough memory to tell what bounds the run.");
		return true;
	}
	if (s->timeline->chosen) {
		report_head(r, "What bounds the run, and why devices idle, cannot be told: only a "
			       "part was recorded.");
		return true;
	}
	if (timeline_pauses(s->timeline)) {
		TELL(&g, "What bounds the run, and why devices idle, cannot be told: recording was "
			 "paused.");
		return true;
	}
	if (s->timeline->partial) {
		TELL(&g, "What bounds the run, and why devices idle, is told of whole runs, and of "
			 "parts by time (--after, --before).");
		return true;
	}
	if (tell_incomplete(&g))
		return true;
	g.d = s->diagnosis ? s->diagnosis : &own;
	if (!s->diagnosis && !diagnose(&own, s->path, s->timeline, s->tallies, NULL))
		return false;
	g.run = timeline_length(s->timeline);
	TELL(&g, "%s", "");
	tell_bound(&g);
	if (!s->timeline->apart)
		tell_devices(&g);
	tell_hosts(&g);
	tell_delay(&g);
	if (!s->timeline->apart)
		devices_table(&g);
	hosts_table(&g);
	make_room(&g);
	ok = tell_kernels(&g) && tell_calls(&g);
	if (!s->timeline->apart)
		ok = ok && summary_device_use(r, g.d) && summary_gaps(r, g.d) &&
		     summary_overlap(r, s);
	tell_findings(&g);
	findings_table(&g);
	ok = ok && summary_regions(r, g.d);
	if (s->timeline->early)
		TELL(&g,
		     s->timeline->early == 1
			     ? "%s piece of device work begins before the call that it belongs to."
			     : "%s pieces of device work begin before the call that they belong "
			       "to.",
		     units_count(s->timeline->early, number));
	summary_quality_line(&line, s);
	add_wrapped(&g, line.s, 2);
	text_release(&line);
	if (!s->diagnosis)
		diagnosis_release(&own);
	return ok;
}
