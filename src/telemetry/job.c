/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's processes, and those of all launchers of the job on this node: processor time,
 * memory, page faults, switches. Everything comes from /proc, from outside. What a process did
 * before its end its parent is told of when it waits for it, so that sums hold that as well; of one that nobody
 * waited for, and of switches, the last reading is all there is. Children of main threads are found at each
 * reading, other processes as often as looking for them costs no more than 2 % of a processor.
 */
#include "telemetry/job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "telemetry/source.h"
#include "telemetry/values.h"

enum { SHOWN = 256, COST_SHARE = 50, QUICK = 256 };
#define TASKS_NS (100 * MILLISECOND)

struct sums {
	struct job_counts counts;
	uint64_t voluntary, involuntary, wait;
};

struct job_state {
	const char *root;
	struct job_process *list;
	unsigned count, shown;
	uint64_t next_find, next_tasks;
	uint64_t opened_ticks; /* processes that began before are counted from now on only */
	struct sums sums;
	struct job_counts left; /* by processes that ended and that nobody waited for */
	uint64_t tick_ns;
	uint64_t early; /* of the processor time since the last reading, what was before that */
	uint32_t cpu, share, minor, major, voluntary, involuntary, wait, rss, processes, threads;
	uint32_t process_rss, process_cpu;
	uint64_t last_at, last_cpu;
	bool unseen_said, tasks_said;
};

/* ---- opening ------------------------------------------------------------------------------- */

static uint32_t total_metric(struct probe *p, const char *name, const char *unit, double scale,
			     const char *what)
{
	return meter_metric(p, &(struct metric_info){.name = name,
						     .unit = unit,
						     .description = what,
						     .kind = METRIC_TOTAL,
						     .scale = scale});
}

static uint32_t level_metric(struct probe *p, const char *name, const char *unit, const char *what)
{
	return meter_metric(p,
			    &(struct metric_info){.name = name, .unit = unit, .description = what});
}

static void add_metrics(struct probe *p, struct job_state *j)
{
	j->cpu = total_metric(p, "job.cpu_time", "s", 1e-9,
			      "Processor time of the program's processes");
	j->share = level_metric(p, "job.cpu", "%",
				"Processor time of the program's processes, 100 is one "
				"processor");
	j->minor = total_metric(p, "job.faults.minor", "", 1, "Page faults without input");
	j->major = total_metric(p, "job.faults.major", "", 1, "Page faults that had to read");
	j->voluntary =
		total_metric(p, "job.switches.voluntary", "", 1, "Switches of threads that waited");
	j->involuntary = total_metric(p, "job.switches.involuntary", "", 1,
				      "Switches of threads that had "
				      "to give way");
	j->wait = total_metric(p, "job.wait_time", "s", 1e-9,
			       "Time in which threads were ready and had no "
			       "processor");
	j->rss = level_metric(p, "job.rss", "bytes", "Resident memory of the program's processes");
	j->processes = level_metric(p, "job.processes", "", "The program's processes");
	j->threads = level_metric(p, "job.threads", "", "Their threads");
	j->process_rss = meter_metric(
		p, &(struct metric_info){.name = "process.rss",
					 .unit = "bytes",
					 .description = "Resident memory of one process",
					 .dimensions = "pid:4194304"});
	j->process_cpu = meter_metric(
		p, &(struct metric_info){.name = "process.cpu",
					 .unit = "%",
					 .description = "Processor time of one process",
					 .dimensions = "pid:4194304"});
}

/* What the program did before it was read first counts as well. */
static void begin_totals(struct probe *p, const struct job_state *j)
{
	const uint32_t totals[] = {j->cpu,       j->minor,       j->major,
				   j->voluntary, j->involuntary, j->wait};

	meter_before(p);
	for (size_t i = 0; i < sizeof(totals) / sizeof(totals[0]); i++)
		meter_total(p, totals[i], 0, NULL);
}

static void *job_open(struct probe *p)
{
	struct job_state *j = calloc(1, sizeof(*j));
	struct timespec boot;
	struct job_stat self;
	int pid, error;

	if (!j || meter_programs(p, &pid, 1) == 0) {
		free(j);
		return NULL;
	}
	j->root = meter_root(p);
	error = job_stat_read(j->root, pid, &self);
	j->list = error ? NULL : calloc(JOB_PROCESSES, sizeof(*j->list));
	if (!j->list) {
		meter_missing(p, "/proc/%d/stat: %s", pid, value_error(error));
		free(j);
		return NULL;
	}
	clock_gettime(CLOCK_BOOTTIME, &boot);
	j->opened_ticks = (uint64_t)boot.tv_sec * (uint64_t)sysconf(_SC_CLK_TCK);
	j->tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	add_metrics(p, j);
	begin_totals(p, j);
	return j;
}

/* ---- reading ------------------------------------------------------------------------------- */

static void find_processes(struct probe *p, struct job_state *j, uint64_t now)
{
	int programs[JOB_PROGRAMS];
	unsigned n = meter_programs(p, programs, JOB_PROGRAMS);
	unsigned refused = job_find(j->root, programs, n < JOB_PROGRAMS ? n : JOB_PROGRAMS, j->list,
				    &j->count);

	if (refused && !j->unseen_said) {
		meter_denied(p, "more than %d processes at once: %u are not looked at",
			     JOB_PROCESSES, refused);
		j->unseen_said = true;
	}
	j->next_find = now + COST_SHARE * (clock_ns(CLOCK_MONOTONIC_RAW) - now);
}

/* Began with the program, or 2 s before at most: all that it did belongs to the recording. */
static bool is_young(const struct job_state *j, const struct job_process *r)
{
	return r->start + 2 * (uint64_t)sysconf(_SC_CLK_TCK) >= j->opened_ticks;
}

static void put_process(struct probe *p, struct job_state *j, struct job_process *r,
			const struct job_stat *s, uint64_t grown, uint64_t at)
{
	if (!r->begun && j->shown < SHOWN) {
		r->shown = true;
		j->shown++;
	}
	if (!r->shown || s->ended || j->count < 2)
		return; /* one process is the whole job */
	meter_level_of(p, j->process_rss, (uint64_t)r->pid, (double)s->rss);
	if (r->begun && at > r->last_at)
		meter_level_of(p, j->process_cpu, (uint64_t)r->pid,
			       100 * (double)grown / (double)(at - r->last_at));
}

static uint64_t increase(uint64_t now, uint64_t then)
{
	return now > then ? now - then : 0;
}

static void add_counts(struct job_counts *to, const struct job_counts *more)
{
	to->cpu += more->cpu;
	to->minor += more->minor;
	to->major += more->major;
}

static void less_counts(struct job_counts *from, const struct job_counts *less)
{
	from->cpu = increase(from->cpu, less->cpu);
	from->minor = increase(from->minor, less->minor);
	from->major = increase(from->major, less->major);
}

static void at_least(struct job_counts *to, const struct job_counts *least)
{
	to->cpu = least->cpu > to->cpu ? least->cpu : to->cpu;
	to->minor = least->minor > to->minor ? least->minor : to->minor;
	to->major = least->major > to->major ? least->major : to->major;
}

static struct job_counts whole_of(const struct job_stat *s)
{
	struct job_counts all = s->own;

	add_counts(&all, &s->waited);
	return all;
}

/* What one that is found late did before the last reading is no load of this interval. */
static void note_early(struct job_state *j, const struct job_stat *s, uint64_t at)
{
	struct timespec boot;
	uint64_t age, interval = increase(at, j->last_at);

	clock_gettime(CLOCK_BOOTTIME, &boot);
	age = increase((uint64_t)boot.tv_sec * 1000000000u + (uint64_t)boot.tv_nsec,
		       s->start * j->tick_ns);
	if (j->last_at && age > interval)
		j->early +=
			(uint64_t)((double)whole_of(s).cpu * (1 - (double)interval / (double)age));
}

static void add_process(struct probe *p, struct job_state *j, struct job_process *r,
			const struct job_stat *s, uint64_t at)
{
	uint64_t then = r->begun ? r->last.own.cpu : 0;

	if (!r->begun && !is_young(j, r)) {
		r->before = whole_of(s);
		r->inherited = s->waited;
	} else if (!r->begun) {
		note_early(j, s, at);
	}
	put_process(p, j, r, s, increase(s->own.cpu, then), at);
	r->begun = r->there = true;
	r->last = *s;
	if (s->own.cpu < then)
		r->last.own.cpu = then; /* of the coarser source, now and then */
	r->last_at = at;
}

static struct job_process *find_process(struct job_state *j, int pid)
{
	for (unsigned i = 0; i < j->count; i++)
		if (j->list[i].begun && j->list[i].pid == pid)
			return &j->list[i];
	return NULL;
}

/* Of its parents, who may have ended as well, the nearest that is still there. */
static struct job_process *find_heir(struct job_state *j, const struct job_process *r)
{
	enum { GENERATIONS = 64 };
	struct job_process *p = find_process(j, r->last.ppid);

	for (int i = 0; p && !p->there && i < GENERATIONS; i++)
		p = find_process(j, p->last.ppid);
	return p && p->there ? p : NULL;
}

/* One is gone. If its parent waited for it, the parent's counts hold all that it did; else that is kept here. */
static void take_over(struct job_state *j, const struct job_process *r)
{
	struct job_process *parent = find_heir(j, r);
	struct job_counts all = whole_of(&r->last), mine = all;
	struct job_stat now;

	less_counts(&mine, &r->before);
	/* It may have waited after it was read. */
	if (parent && job_stat_read(j->root, parent->pid, &now) == 0 && now.start == parent->start)
		parent->last.waited = now.waited;
	/* Told by page faults, which are counted one by one: processor time comes in ticks. */
	if (parent && parent->last.waited.minor >= parent->inherited.minor + all.minor) {
		add_counts(&parent->inherited, &all);
		add_counts(&parent->before, &r->before);
	} else {
		add_counts(&j->left, &mine);
	}
}

/* Parents stay before their children: read in this order, no child is there twice, in its own counts and in those
 * of who has waited for it meanwhile. */
static void forget_process(struct job_state *j, unsigned i)
{
	free(j->list[i].tasks);
	j->count--;
	memmove(&j->list[i], &j->list[i + 1], (j->count - i) * sizeof(*j->list));
}

static void read_tasks(struct probe *p, struct job_state *j, uint64_t now)
{
	struct job_task growth = {0};
	bool all = true;
	uint64_t cost;

	for (unsigned i = 0; i < j->count; i++)
		all &= job_tasks_read(j->root, &j->list[i], is_young(j, &j->list[i]), &growth);
	j->sums.voluntary += growth.voluntary;
	j->sums.involuntary += growth.involuntary;
	j->sums.wait += growth.wait;
	meter_total(p, j->voluntary, j->sums.voluntary, NULL);
	meter_total(p, j->involuntary, j->sums.involuntary, NULL);
	meter_total(p, j->wait, j->sums.wait, NULL);
	if (!all && !j->tasks_said) {
		for (unsigned i = 0; i < j->count && !j->tasks_said; i++)
			j->tasks_said = j->list[i].task_count == JOB_TASKS;
		if (j->tasks_said)
			meter_denied(p,
				     "more than %d threads of a process: switches and waiting of "
				     "the first only",
				     JOB_TASKS);
	}
	cost = clock_ns(CLOCK_MONOTONIC_RAW) - now;
	j->next_tasks = now + (cost * COST_SHARE > TASKS_NS ? cost * COST_SHARE : TASKS_NS);
}

/* Those that are gone leave the list. */
static void sum_up(struct job_state *j)
{
	struct job_counts sum = {0};

	for (unsigned i = 0; i < j->count; i++)
		if (!j->list[i].there && j->list[i].begun)
			take_over(j, &j->list[i]);
	for (unsigned i = 0; i < j->count;) {
		struct job_counts mine = whole_of(&j->list[i].last);

		if (!j->list[i].there) {
			forget_process(j, i);
			continue;
		}
		less_counts(&mine, &j->list[i].before);
		add_counts(&sum, &mine);
		i++;
	}
	add_counts(&sum, &j->left);
	at_least(&j->sums.counts, &sum);
}

static void put_load(struct probe *p, struct job_state *j, uint64_t now)
{
	uint64_t grown = j->sums.counts.cpu - j->last_cpu;

	if (j->last_at && now > j->last_at)
		meter_level(p, j->share,
			    100 * (double)increase(grown, j->early) / (double)(now - j->last_at));
	j->last_at = now;
	j->last_cpu = j->sums.counts.cpu;
	j->early = 0;
}

static void job_read(struct probe *p, void *state)
{
	struct job_state *j = state;
	uint64_t now = meter_before(p), rss = 0, threads = 0, alive = 0;

	if (now >= j->next_find)
		find_processes(p, j, now);
	else if (j->count <= QUICK)
		job_find_children(j->root, j->list, &j->count);
	now = meter_before(p);
	for (unsigned i = 0; i < j->count; i++) {
		struct job_process *r = &j->list[i];
		struct job_stat s;

		r->there = false;
		if (job_stat_read(j->root, r->pid, &s) != 0 || s.start != r->start)
			continue;
		add_process(p, j, r, &s, clock_ns(CLOCK_MONOTONIC_RAW));
		rss += s.rss;
		threads += s.ended ? 0 : s.threads;
		alive += !s.ended;
	}
	sum_up(j);
	meter_total(p, j->cpu, j->sums.counts.cpu, NULL);
	meter_total(p, j->minor, j->sums.counts.minor, NULL);
	meter_total(p, j->major, j->sums.counts.major, NULL);
	put_load(p, j, now);
	if (alive) {
		meter_level(p, j->rss, (double)rss);
		meter_level(p, j->processes, (double)alive);
		meter_level(p, j->threads, (double)threads);
	}
	if (now >= j->next_tasks)
		read_tasks(p, j, now);
}

static void job_close(void *state)
{
	struct job_state *j = state;

	while (j->count)
		forget_process(j, 0);
	free(j->list);
	free(j);
}

extern const struct source source_job;
const struct source source_job = {
	.name = "job",
	.about = "the program's processes: /proc/PID",
	.interval_ns = 10 * MILLISECOND,
	.open = job_open,
	.read = job_read,
	.close = job_close,
};
