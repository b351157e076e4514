/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of the job in /proc; see job.h. */
#include "telemetry/job.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/vec.h"
#include "telemetry/values.h"

enum { STAT_FIELDS = 24, GENERATIONS = 64 };

/* ---- one process --------------------------------------------------------------------------- */

/* Fields after the name, which may hold anything, parentheses included. Field 3 is index 3. */
static bool fields_of(const char *text, uint64_t out[STAT_FIELDS + 1], char *state)
{
	const char *p = strrchr(text, ')');
	char *end;

	if (!p || p[1] != ' ' || !p[2] || p[3] != ' ')
		return false;
	*state = p[2];
	p += 4;
	for (unsigned i = 4; i <= STAT_FIELDS; i++) {
		if (!isdigit((unsigned char)*p) && *p != '-')
			return false;
		out[i] = strtoull(p, &end, 10);
		p = *end == ' ' ? end + 1 : end;
	}
	return true;
}

bool job_stat_parse(const char *text, struct job_stat *out)
{
	const long hz = sysconf(_SC_CLK_TCK), page = sysconf(_SC_PAGESIZE);
	const uint64_t tick = 1000000000u / (uint64_t)(hz > 0 ? hz : 100);
	uint64_t f[STAT_FIELDS + 1];
	char state;

	if (!fields_of(text, f, &state))
		return false;
	*out = (struct job_stat){.pid = atoi(text),
				 .ppid = (int)f[4],
				 .own = {(f[14] + f[15]) * tick, f[10], f[12]},
				 .waited = {(f[16] + f[17]) * tick, f[11], f[13]},
				 .threads = f[20],
				 .start = f[22],
				 .ended = state == 'Z' || state == 'X',
				 .rss = f[24] * (uint64_t)(page > 0 ? page : 4096)};
	return true;
}

/* The clock of a process's processor time is finer than the ticks of its file. */
static void refine_cpu_time(struct job_stat *s)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid(s->pid, &clock) == 0 && clock_gettime(clock, &t) == 0 &&
	    (t.tv_sec || t.tv_nsec))
		s->own.cpu = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int job_stat_read(const char *root, int pid, struct job_stat *out)
{
	struct value_file f;
	char text[1024];
	size_t n;
	int error;

	value_file_init(&f, "%s/proc/%d/stat", root, pid);
	error = value_file_text(&f, text, sizeof(text), &n);
	value_file_close(&f);
	if (error)
		return error;
	if (!job_stat_parse(text, out) || out->pid != pid)
		return EBADMSG;
	out->ended = out->ended || out->rss == 0; /* its memory goes before it does */
	if (!*root)
		refine_cpu_time(out);
	return 0;
}

/* ---- all of them --------------------------------------------------------------------------- */

struct all {
	struct job_stat *list;
	unsigned count, room;
};

static void list_processes(const char *root, struct all *all)
{
	char path[PATH_MAX];
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "%.*s/proc", PATH_MAX - 16, root);
	d = opendir(path);
	while (d && (e = readdir(d)) != NULL) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		if (!vec_reserve(&all->list, &all->room, all->count, 1))
			break;
		if (job_stat_read(root, atoi(e->d_name), &all->list[all->count]) == 0)
			all->count++;
	}
	if (d)
		closedir(d);
}

static bool in_list(const struct job_process *list, unsigned count, int pid)
{
	for (unsigned i = 0; i < count; i++)
		if (list[i].pid == pid)
			return true;
	return false;
}

static bool is_program(const int *programs, unsigned count, int pid)
{
	for (unsigned i = 0; i < count; i++)
		if (programs[i] == pid)
			return true;
	return false;
}

/* Each pass finds the children of those that the one before has found. */
unsigned job_find(const char *root, const int *programs, unsigned program_count,
		  struct job_process *list, unsigned *count)
{
	struct all all = {0};
	unsigned refused = 0, before;

	list_processes(root, &all);
	for (unsigned pass = 0; pass < GENERATIONS; pass++) {
		before = *count;
		refused = 0;
		for (unsigned i = 0; i < all.count; i++) {
			const struct job_stat *s = &all.list[i];

			if (in_list(list, *count, s->pid) ||
			    !(is_program(programs, program_count, s->pid) ||
			      in_list(list, *count, s->ppid)))
				continue;
			if (*count < JOB_PROCESSES)
				list[(*count)++] =
					(struct job_process){.pid = s->pid, .start = s->start};
			else
				refused++;
		}
		if (*count == before)
			break;
	}
	free(all.list);
	return refused;
}

static void add_children(const char *root, const char *text, int parent, struct job_process *list,
			 unsigned *count)
{
	struct job_stat s;
	char *end;

	for (int pid; (pid = (int)strtol(text, &end, 10)) > 0 && end != text; text = end)
		if (*count < JOB_PROCESSES && !in_list(list, *count, pid) &&
		    job_stat_read(root, pid, &s) == 0 && s.ppid == parent)
			list[(*count)++] = (struct job_process){.pid = pid, .start = s.start};
}

void job_find_children(const char *root, struct job_process *list, unsigned *count)
{
	for (unsigned i = 0; i < *count; i++) {
		struct value_file f;
		char text[4096];
		size_t n;

		value_file_init(&f, "%s/proc/%d/task/%d/children", root, list[i].pid, list[i].pid);
		if (value_file_text(&f, text, sizeof(text), &n) == 0)
			add_children(root, text, list[i].pid, list, count);
		value_file_close(&f);
	}
}

/* ---- tasks --------------------------------------------------------------------------------- */

static uint64_t line_value(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

static bool read_task(const char *folder, const char *name, struct job_task *out)
{
	struct value_file f;
	char text[4096], *second;
	size_t n;
	int error;

	*out = (struct job_task){.tid = atoi(name)};
	value_file_init(&f, "%s/%.20s/status", folder, name);
	error = value_file_text(&f, text, sizeof(text), &n);
	value_file_close(&f);
	if (error)
		return false;
	out->voluntary = line_value(text, "\nvoluntary_ctxt_switches:");
	out->involuntary = line_value(text, "\nnonvoluntary_ctxt_switches:");
	value_file_init(&f, "%s/%.20s/schedstat", folder, name);
	error = value_file_text(&f, text, sizeof(text), &n);
	value_file_close(&f);
	second = error ? NULL : strchr(text, ' ');
	out->wait = second ? strtoull(second, NULL, 10) : 0;
	return true;
}

static uint64_t increase(uint64_t now, uint64_t then)
{
	return now > then ? now - then : 0;
}

static void add_growth(const struct job_process *p, const struct job_task *now, bool whole,
		       struct job_task *growth)
{
	struct job_task then = {0};
	bool known = false;

	for (unsigned i = 0; i < p->task_count && !known; i++) {
		known = p->tasks[i].tid == now->tid;
		if (known)
			then = p->tasks[i];
	}
	if (!known && !whole && !p->tasks_begun)
		return;
	growth->voluntary += increase(now->voluntary, then.voluntary);
	growth->involuntary += increase(now->involuntary, then.involuntary);
	growth->wait += increase(now->wait, then.wait);
}

bool job_tasks_read(const char *root, struct job_process *p, bool whole, struct job_task *growth)
{
	char folder[PATH_MAX];
	struct job_task *now = malloc(JOB_TASKS * sizeof(*now));
	struct dirent *e;
	bool all = true;
	unsigned n = 0;
	DIR *d;

	snprintf(folder, sizeof(folder), "%.*s/proc/%d/task", PATH_MAX - 64, root, p->pid);
	d = now ? opendir(folder) : NULL;
	while (d && all && (e = readdir(d)) != NULL) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		all = n < JOB_TASKS;
		if (all && read_task(folder, e->d_name, &now[n])) {
			add_growth(p, &now[n], whole, growth);
			n++;
		}
	}
	if (d)
		closedir(d);
	free(p->tasks);
	p->tasks = now;
	p->task_count = n;
	p->tasks_begun = true;
	return all && n;
}
