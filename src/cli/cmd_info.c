/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo info`: what is in a trace and how far it can be trusted. */
#include "base/units.h"
#include "base/plain.h"
#include "cli/input.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "stream/names.h"
#include "stream/recorded.h"
#include "stream/trace.h"
#include "wire/defs.h"
#include "wire/raw.h"

#define ROWS_SHOWN 40u /* threads, queues, notes: more are counted */

struct info {
	struct stream_sink sink; /* first */
	const struct trace *t;
	uint64_t *by_domain, *by_process, *by_thread;
	uint64_t records, failed, device, untimed, early, losses, unknown_losses;
};

static struct info *info_of(struct stream_sink *s)
{
	return (struct info *)(void *)s;
}

/* ---- counting ------------------------------------------------------------------------------ */

static void count_record(struct info *c, const struct rec *r)
{
	c->records++;
	c->by_domain[c->t->ops[r->op].domain]++;
	c->by_process[r->process]++;
	c->by_thread[r->thread]++;
}

static kymo_status_t on_call(struct stream_sink *s, const struct rec *r)
{
	count_record(info_of(s), r);
	info_of(s)->failed += !r->ok;
	return KYMO_OK;
}

static void count_device(struct info *c, const struct rec_device *d)
{
	c->device++;
	c->untimed += d->start == 0;
	c->early += d->causal_violation;
}

static kymo_status_t on_dispatch(struct stream_sink *s, const struct rec_dispatch *r)
{
	count_record(info_of(s), &r->base);
	count_device(info_of(s), &r->device);
	return KYMO_OK;
}

static kymo_status_t on_copy(struct stream_sink *s, const struct rec_copy *r)
{
	count_record(info_of(s), &r->base);
	count_device(info_of(s), &r->device);
	return KYMO_OK;
}

static kymo_status_t on_allocation(struct stream_sink *s, const struct rec_allocation *r)
{
	count_record(info_of(s), &r->base);
	return KYMO_OK;
}

static kymo_status_t on_sync(struct stream_sink *s, const struct rec_sync *r)
{
	count_record(info_of(s), &r->base);
	return KYMO_OK;
}

static kymo_status_t on_other(struct stream_sink *s, const struct rec *r)
{
	count_record(info_of(s), r);
	return KYMO_OK;
}

static kymo_status_t on_loss(struct stream_sink *s, const struct rec_loss *r)
{
	const struct t_process *p = &info_of(s)->t->processes[r->process];

	info_of(s)->losses += r->count;
	if (!p->overwritten_records) /* else the gaps are where records gave way */
		info_of(s)->unknown_losses += r->count == 0;
	return KYMO_OK;
}

static kymo_status_t on_begin(struct stream_sink *s, const struct trace *t)
{
	struct info *c = info_of(s);

	c->t = t;
	c->by_domain = calloc(t->domains_count, sizeof(*c->by_domain));
	c->by_process = calloc(t->processes_count, sizeof(*c->by_process));
	c->by_thread = calloc(t->threads_count, sizeof(*c->by_thread));
	return c->by_domain && c->by_process && c->by_thread ? KYMO_OK : KYMO_ERROR_NO_MEMORY;
}

/* ---- printing ------------------------------------------------------------------------------ */

static void print_heading(const char *text)
{
	plain_printf(stdout, "\n%s\n", text);
}

static void print_omitted(uint32_t total)
{
	if (total > ROWS_SHOWN)
		plain_printf(stdout, "  ... and %u more\n", total - ROWS_SHOWN);
}

static double seconds_between(int64_t from, int64_t to)
{
	return ((double)to - (double)from) / 1e9;
}

static void print_head(const struct info *c, const struct trace *t)
{
	const struct t_process *first = &t->processes[t->processes_count > 1];
	time_t when = (time_t)(first->start_realtime > 0 ? first->start_realtime / 1000000000
							 : t->started);
	const char *host = first->hostname[0] ? first->hostname : t->hostname;
	const char *version = first->version[0] ? first->version : t->version;
	char date[64] = "unknown";
	struct tm tm;

	if (when > 0 && localtime_r(&when, &tm))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S %z", &tm);
	plain_printf(stdout, "%-12s %s\n", "Trace", t->path);
	if (t->imported)
		plain_printf(stdout, "%-12s %s (%s)\n", "Imported of", t->imported,
			     t->imported_format);
	plain_printf(stdout, "%-12s %s\n", "Command", t->command[0] ? t->command : "unknown");
	plain_printf(stdout, "%-12s %s\n", "Recorded", date);
	plain_printf(stdout, "%-12s %s\n", "Host", host[0] ? host : "unknown");
	plain_printf(stdout, "%-12s %s\n", "Kymo", version[0] ? version : "unknown");
	plain_printf(stdout, "%-12s %.6f s\n", "Duration", (double)trace_duration(t) / 1e9);
	if (trace_clocks(t) > 1)
		plain_printf(
			stdout,
			"%-12s of %u nodes, never compared: times of one are no times of another\n",
			"Clocks", trace_clocks(t));
	plain_printf(stdout, "%-12s %" PRIu64 "\n", "Records", c->records);
	for (uint32_t i = 1; i < t->domains_count; i++) {
		if (c->by_domain[i])
			plain_printf(stdout, "  %-10s %" PRIu64 "\n", t->domains[i].name,
				     c->by_domain[i]);
	}
}

static void print_together(const struct t_process *p)
{
	plain_printf(stdout, "  %u of %u ranks, counted together  %s\n", p->merged_ranks, p->ranks,
		     p->argv[0] ? p->argv : p->exe);
	plain_printf(stdout, "      clocks compared within %.0f ns\n", p->job_error_ns);
	if (p->lost_records || p->lost_definitions)
		plain_printf(stdout, "      lost: %" PRIu64 " records, %" PRIu64 " definitions\n",
			     p->lost_records, p->lost_definitions);
}

static void print_recorded(const struct trace *t, uint32_t i)
{
	const char *filters = t->processes[i].filters;
	struct recorded r = recorded_of(t, i);

	if (r.pauses)
		plain_printf(stdout, "      recorded %.6f s of %.6f s, paused %u time%s\n",
			     (double)r.ns / 1e9, (double)r.lived / 1e9, r.pauses,
			     r.pauses == 1 ? "" : "s");
	if (filters && *filters)
		plain_printf(stdout, "      recorded with %s\n", filters);
}

/* Who it is in its job, and who says so. */
static void print_rank(const struct t_process *p)
{
	if (p->of_rank != UINT32_MAX)
		plain_printf(stdout, "      of rank %u: started by it, or around it\n", p->of_rank);
	if (p->rank == UINT32_MAX || !*p->rank_by)
		return;
	if (strcmp(p->rank_by, "MPI") == 0)
		plain_printf(stdout, "      %s, rank %u of %u\n", p->mpi, p->rank, p->ranks);
	else if (p->ranks)
		plain_printf(stdout, "      rank %u of %u, by %s\n", p->rank, p->ranks, p->rank_by);
	else
		plain_printf(stdout, "      rank %u, by %s\n", p->rank, p->rank_by);
}

static void print_process(const struct info *c, const struct trace *t, uint32_t i)
{
	const struct t_process *p = &t->processes[i];
	char how[64], rank[32] = "";

	if (p->merged_ranks) {
		print_together(p);
		return;
	}
	if (p->rank != UINT32_MAX && t->worlds > 1)
		snprintf(rank, sizeof(rank), " rank %u.%u", p->world, p->rank);
	else if (p->rank != UINT32_MAX)
		snprintf(rank, sizeof(rank), " rank %u", p->rank);
	plain_printf(stdout, "  %u%s  %s%s%s%s\n", p->pid, rank, p->name ? p->name : "",
		     p->name ? " (" : "", p->argv[0] ? p->argv : p->exe, p->name ? ")" : "");
	plain_printf(stdout, "      %" PRIu64 " record%s, %s", c->by_process[i],
		     plural(c->by_process[i]), name_process_end(p, how, sizeof(how)));
	if (t->imported) /* nobody says how exact its times are */
		plain_printf(stdout, "\n");
	else
		plain_printf(stdout, ", clock within %.0f ns\n", round(p->clock_error_ns));
	print_recorded(t, i);
	print_rank(p);
	if (p->aligned)
		plain_printf(stdout,
			     "      job clock: node's + %" PRId64
			     " ns, within %.0f ns; measured %" PRId64
			     " ns, within %.0f ns; compared %u times\n",
			     p->job_offset, p->job_error_ns, p->job_measured,
			     p->job_measured_error_ns, p->job_points);
	if (p->lost_records || p->lost_definitions || p->damaged_blocks)
		plain_printf(stdout,
			     "      lost: %" PRIu64 " records, %" PRIu64 " definitions; %" PRIu64
			     " damaged places in its file\n",
			     p->lost_records, p->lost_definitions, p->damaged_blocks);
	if (p->untraced_calls || p->untimed)
		plain_printf(stdout,
			     "      %" PRIu64
			     " calls of functions that are not traced yet, %" PRIu64
			     " device records without device time\n",
			     p->untraced_calls, p->untimed);
}

static void print_threads(const struct info *c, const struct trace *t)
{
	print_heading("Threads");
	for (uint32_t i = 1; i < t->threads_count && i <= ROWS_SHOWN; i++) {
		const struct t_thread *th = &t->threads[i];

		if (t->processes[th->process].merged_ranks)
			continue;
		plain_printf(stdout, "  %u of %u  %-16s %" PRIu64 " record%s", th->tid,
			     t->processes[th->process].pid, th->name, c->by_thread[i],
			     plural(c->by_thread[i]));
		if (th->lost)
			plain_printf(stdout, ", %" PRIu64 " lost", th->lost);
		plain_printf(stdout, "%s\n", th->own ? " (no thread of the program)" : "");
	}
	print_omitted(t->threads_count - 1);
}

static void print_clock(const struct trace *t, const struct t_agent *a)
{
	const struct t_clock *k = &t->clocks[a->clock];

	if (a->clock == 0)
		return;
	if (k->error_ns < 0)
		plain_printf(stdout, "; its clock was never aligned");
	else
		plain_printf(stdout, "; clock within %.0f ns (%u sync points)", round(k->error_ns),
			     k->syncs);
}

/* Of ranks that were counted together those are told that no process with a file of its own has. */
static void print_device(const struct trace *t, const struct t_agent *a)
{
	bool together = t->processes[a->process].merged_ranks;

	if (together && a->type[0])
		return;
	plain_printf(stdout, "  %s  ", a->label);
	if (together)
		plain_printf(stdout, "of ranks that were counted together");
	else
		plain_printf(stdout, "%s, %s, %s", a->type,
			     a->platform[0] ? a->platform : a->domain, a->driver);
	print_clock(t, a);
	putchar('\n');
}

static void print_devices(const struct trace *t)
{
	if (t->agents_count > 1)
		print_heading("Devices");
	for (uint32_t i = 1; i < t->agents_count && i <= ROWS_SHOWN; i++) {
		const struct t_agent *a = &t->agents[i];

		print_device(t, a);
	}
	print_omitted(t->agents_count - 1);
	if (t->queues_count > 1)
		print_heading("Queues");
	for (uint32_t i = 1; i < t->queues_count && i <= ROWS_SHOWN; i++) {
		const struct t_queue *q = &t->queues[i];
		const char *context = t->contexts[q->context].name;

		plain_printf(stdout, "  %s / %s%s%s%s%s\n", t->agents[q->agent].label, q->label,
			     context ? " in " : "", context ? context : "",
			     q->flags & QUEUE_OUT_OF_ORDER ? ", out of order" : "",
			     q->flags & QUEUE_PROFILING_FORCED ? ", profiling switched on by Kymo"
							       : "");
	}
	print_omitted(t->queues_count - 1);
}

static void print_open_calls(const struct trace *t)
{
	bool recording = false;

	for (uint32_t i = 1; i < t->processes_count; i++)
		recording |= t->processes[i].recording;
	if (t->open_calls_count > 1)
		print_heading(recording ? "Open" : "Open when the process ended");
	for (uint32_t i = 1; i < t->open_calls_count && i <= ROWS_SHOWN; i++) {
		const struct t_open_call *o = &t->open_calls[i];

		const struct t_process *p = &t->processes[t->threads[o->thread].process];

		plain_printf(stdout, "  thread %u  %*s%s since %.9f s", t->threads[o->thread].tid,
			     (int)(o->depth < 20 ? o->depth * 2 : 40), "", t->ops[o->op].name,
			     seconds_between(t->origin, o->start));
		if (p->recording && p->seen > o->start)
			plain_printf(stdout, ", for %.3f s", seconds_between(o->start, p->seen));
		plain_printf(stdout, "\n");
	}
	print_omitted(t->open_calls_count - 1);
}

static void print_unfinished(const struct trace *t)
{
	uint64_t unlisted = 0;

	for (uint32_t i = 1; i < t->processes_count; i++)
		unlisted += t->processes[i].unlisted;
	if (t->unfinished_count > 1 || unlisted)
		print_heading("Submitted, never seen to finish");
	for (uint32_t i = 1; i < t->unfinished_count && i <= ROWS_SHOWN; i++) {
		const struct t_unfinished *u = &t->unfinished[i];

		plain_printf(stdout, "  thread %u  %s%s%s on %s / %s since %.9f s\n",
			     t->threads[u->thread].tid, t->ops[u->op].name, u->kernel ? " " : "",
			     t->kernels[u->kernel].name, t->agents[u->agent].label,
			     u->queue ? t->queues[u->queue].label : "no queue",
			     seconds_between(t->origin, u->submit));
	}
	print_omitted(t->unfinished_count - 1);
	if (unlisted)
		printf("  %" PRIu64 " more, of which only the number is known\n", unlisted);
}

static void print_notes(const struct trace *t)
{
	static const char *const severities[] = {"", "info", "warning", "error"};

	if (t->notes_count > 1)
		print_heading("Notes");
	for (uint32_t i = 1; i < t->notes_count && i <= ROWS_SHOWN; i++) {
		const struct t_note *n = &t->notes[i];

		plain_printf(stdout, "  %-7s %s: %s",
			     n->severity < 4 ? severities[n->severity] : "?", n->part, n->text);
		if (n->count > 1)
			plain_printf(stdout, " (%" PRIu64 " times)", n->count);
		putchar('\n');
	}
	print_omitted(t->notes_count - 1);
}

static void print_quality(const struct info *c, const struct trace *t)
{
	uint64_t lost = 0, damaged = 0;
	uint64_t unwritten = 0, no_memory = 0, dropped = 0, rows = 0, overwritten = 0;
	uint32_t endless = 0, refused = 0, missing = 0;

	for (uint32_t i = 1; i < t->processes_count; i++) {
		lost += t->processes[i].lost_records;
		damaged += t->processes[i].damaged_blocks;
		refused += t->processes[i].how_ended == RAW_END_REFUSED;
		missing += t->processes[i].file_state != FILE_READ;
		endless += t->processes[i].how_ended == UINT32_MAX && !t->processes[i].file_state;
		unwritten += t->processes[i].unwritten_records;
		no_memory += t->processes[i].no_memory_records;
		dropped += t->processes[i].dropped_records;
		rows += t->processes[i].left_out_rows;
		overwritten += t->processes[i].overwritten_records;
	}
	print_heading("Quality");
	if (t->imported)
		plain_printf(stdout,
			     "  imported (%s): what was lost while it was recorded is not told\n",
			     t->imported_format);
	plain_printf(stdout, "  %-28s %" PRIu64 "\n", "lost records", lost);
	if (unwritten)
		plain_printf(stdout, "  %-28s %" PRIu64 "\n", "  refused by the file system",
			     unwritten);
	if (no_memory)
		plain_printf(stdout, "  %-28s %" PRIu64 "\n", "  without memory for them",
			     no_memory);
	if (dropped)
		plain_printf(stdout, "  %-28s %" PRIu64 "\n", "  dropped by a runtime", dropped);
	if (overwritten)
		plain_printf(stdout,
			     "  %-28s %" PRIu64 " (older ones, overwritten by later ones)\n",
			     "overwritten records", overwritten);
	if (rows)
		plain_printf(stdout, "  %-28s %" PRIu64 "\n", "rows the job's table left out",
			     rows);
	if (missing)
		plain_printf(stdout, "  %-28s %u (what they held is lost)\n",
			     "files missing or unreadable", missing);
	if (endless)
		plain_printf(stdout, "  %-28s %u (what they lost later is not known)\n",
			     "recordings without end", endless);
	if (refused)
		plain_printf(stdout, "  %-28s %u\n", "processes not recorded", refused);
	if (c->unknown_losses)
		plain_printf(stdout, "  %-28s %" PRIu64 " (what they held is not known)\n",
			     "gaps of missing chunks", c->unknown_losses);
	plain_printf(stdout, "  %-28s %" PRIu64 "\n", "damaged places", damaged);
	plain_printf(stdout, "  %-28s %" PRIu64 "\n", "failed calls", c->failed);
	plain_printf(stdout, "  %-28s %" PRIu64 " of %" PRIu64 "\n", "device records without time",
		     c->untimed, c->device);
	plain_printf(stdout, "  %-28s %" PRIu64 "\n", "starting before their call", c->early);
}

static kymo_status_t on_end(struct stream_sink *s, const struct trace *t)
{
	const struct info *c = info_of(s);

	print_head(c, t);
	print_heading("Processes");
	for (uint32_t i = 1; i < t->processes_count && i <= ROWS_SHOWN; i++)
		print_process(c, t, i);
	print_omitted(t->processes_count - 1);
	print_threads(c, t);
	print_devices(t);
	print_quality(c, t);
	print_open_calls(t);
	print_unfinished(t);
	print_notes(t);
	return KYMO_OK;
}

static kymo_status_t print_info(const char *path)
{
	const struct format *reader = cli_reader(path);
	struct format_options o = {.log = &cli_log,
				   .progress = cli_progress,
				   .progress_data = (void *)(uintptr_t) "Reading"};
	struct info c = {.sink = {.begin = on_begin,
				  .call = on_call,
				  .dispatch = on_dispatch,
				  .copy = on_copy,
				  .allocation = on_allocation,
				  .sync = on_sync,
				  .other = on_other,
				  .loss = on_loss,
				  .end = on_end}};
	kymo_status_t status;

	if (!reader)
		return KYMO_ERROR_NOT_FOUND;
	status = reader->read(path, NULL, false, &c.sink, &o);
	cli_progress_clear();
	cli_log_finish();
	free(c.by_domain);
	free(c.by_process);
	free(c.by_thread);
	return status;
}

static int run(int argc, char **argv)
{
	kymo_status_t worst = KYMO_OK;

	if (argc == 0)
		return cli_usage("info", "which trace? Give its directory");
	for (int i = 0; i < argc; i++) {
		kymo_status_t status;

		if (i)
			putchar('\n');
		status = print_info(argv[i]);
		worst = status == KYMO_OK ? worst : status;
	}
	return cli_exit(worst);
}

extern const struct command cmd_info;
const struct command cmd_info = {
	.name = "info",
	.operands = "TRACE...",
	.summary = "Show what is in a trace and how far it can be trusted",
	.traces = true,
	.passes_on = true,
	.run = run,
};
