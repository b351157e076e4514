/* SPDX-License-Identifier: Apache-2.0 */
/* Which thread of which task a thread or a queue of the trace is; the header and the names that say so. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "formats/paraver/paraver.h"
#include "stream/names.h"
#include "stream/trace.h"

void put_name(struct output *o, const char *s)
{
	for (; *s; s++)
		output_char(o, (unsigned char)*s < ' ' || *s == 127 ? '_' : *s);
}

/* ---- tasks ----------------------------------------------------------------------------------- */

struct placed {
	uint32_t process, world, rank, pid;
};

static int by_rank(const void *x, const void *y)
{
	const struct placed *a = x, *b = y;

	if (a->rank == UINT32_MAX || b->rank == UINT32_MAX) {
		if (a->rank != b->rank)
			return a->rank == UINT32_MAX ? 1 : -1;
	} else if (a->world != b->world) {
		return a->world < b->world ? -1 : 1;
	} else if (a->rank != b->rank) {
		return a->rank < b->rank ? -1 : 1;
	}
	return a->process < b->process ? -1 : 1;
}

static bool sort_tasks(struct paraver *w)
{
	const struct trace *t = w->t;
	uint32_t n = t->processes_count - 1;
	struct placed *list = calloc(n + 1u, sizeof(*list));

	if (!list)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		const struct t_process *p = &t->processes[i + 1];

		list[i] = (struct placed){i + 1, p->world, p->rank, p->pid};
	}
	qsort(list, n, sizeof(*list), by_rank);
	for (uint32_t i = 0; i < n; i++)
		w->tasks[i] = list[i].process;
	w->task_count = n;
	free(list);
	return true;
}

static uint32_t node_of(struct paraver *w, const char *name)
{
	uint32_t i = 0;

	while (i < w->node_count && strcmp(w->nodes[i], name) != 0)
		i++;
	if (i == w->node_count)
		w->nodes[w->node_count++] = name;
	return i + 1;
}

/* Processors are counted node by node. */
static void number_processors(struct paraver *w)
{
	uint32_t cpu = 0;

	for (uint32_t node = 1; node <= w->node_count; node++) {
		for (uint32_t i = 0; i < w->task_count; i++)
			if (w->task_nodes[i] == node)
				w->processes[w->tasks[i]] = (struct object){i + 1, 1, ++cpu};
	}
}

static void number_threads(struct paraver *w)
{
	const struct trace *t = w->t;

	for (uint32_t i = 1; i < t->threads_count; i++) {
		w->threads[i] = w->processes[t->threads[i].process];
		if (w->threads[i].task)
			w->threads[i].thread = ++w->sizes[w->threads[i].task - 1];
	}
	for (uint32_t i = 1; i < t->queues_count; i++) {
		w->queues[i] = w->processes[t->queues[i].process];
		if (w->queues[i].task)
			w->queues[i].thread = ++w->sizes[w->queues[i].task - 1];
	}
	for (uint32_t i = 0; i < w->task_count; i++) /* none has no thread at all */
		w->sizes[i] += !w->sizes[i];
}

bool places_make(struct paraver *w)
{
	const struct trace *t = w->t;

	w->thread_count = t->threads_count;
	w->queue_count = t->queues_count;
	w->threads = calloc(t->threads_count + 1u, sizeof(*w->threads));
	w->thread_rows = calloc(t->threads_count + 1u, sizeof(*w->thread_rows));
	w->queues = calloc(t->queues_count + 1u, sizeof(*w->queues));
	w->queue_rows = calloc(t->queues_count + 1u, sizeof(*w->queue_rows));
	w->processes = calloc(t->processes_count + 1u, sizeof(*w->processes));
	w->tasks = calloc(t->processes_count, sizeof(*w->tasks));
	w->sizes = calloc(t->processes_count, sizeof(*w->sizes));
	w->task_nodes = calloc(t->processes_count, sizeof(*w->task_nodes));
	w->nodes = calloc(t->processes_count, sizeof(*w->nodes));
	if (!w->threads || !w->thread_rows || !w->queues || !w->queue_rows || !w->processes ||
	    !w->tasks || !w->sizes || !w->task_nodes || !w->nodes || !sort_tasks(w))
		return false;
	for (uint32_t i = 0; i < w->task_count; i++) {
		const char *host = t->processes[w->tasks[i]].hostname;

		w->task_nodes[i] = node_of(w, host ? host : "");
	}
	number_processors(w);
	number_threads(w);
	return true;
}

void places_free(struct paraver *w)
{
	for (uint32_t i = 0; w->thread_rows && i < w->thread_count; i++)
		free(w->thread_rows[i].open);
	for (uint32_t i = 0; w->queue_rows && i < w->queue_count; i++)
		free(w->queue_rows[i].open);
	free(w->threads);
	free(w->thread_rows);
	free(w->queues);
	free(w->queue_rows);
	free(w->processes);
	free(w->tasks);
	free(w->sizes);
	free(w->task_nodes);
	free(w->nodes);
}

/* ---- the header ------------------------------------------------------------------------------ */

static uint32_t tasks_on(const struct paraver *w, uint32_t node)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->task_count; i++)
		n += w->task_nodes[i] == node;
	return n;
}

/* #Paraver (day at time):length_ns:nodes(processors,...):applications:tasks(threads:node,...) */
void places_header(const struct paraver *w, struct output *o)
{
	int64_t realtime = trace_to_realtime(w->t);
	time_t began = (time_t)((w->t->origin + realtime) / 1000000000);
	char date[64] = "01/01/70 at 00:00";
	struct tm tm;

	if (realtime && gmtime_r(&began, &tm))
		strftime(date, sizeof(date), "%d/%m/%y at %H:%M", &tm);
	output_text(o, "#Paraver (");
	output_text(o, date);
	output_text(o, "):");
	output_signed(o, w->end > w->t->origin ? w->end - w->t->origin : 0);
	output_text(o, "_ns:");
	output_unsigned(o, w->node_count);
	for (uint32_t i = 1; i <= w->node_count; i++) {
		output_char(o, i == 1 ? '(' : ',');
		output_unsigned(o, tasks_on(w, i));
	}
	output_text(o, w->node_count ? "):1:" : ":1:");
	output_unsigned(o, w->task_count);
	for (uint32_t i = 0; i < w->task_count; i++) {
		output_char(o, i == 0 ? '(' : ',');
		output_unsigned(o, w->sizes[i]);
		output_char(o, ':');
		output_unsigned(o, w->task_nodes[i]);
	}
	output_text(o, w->task_count ? ")\n" : "\n");
}

/* ---- names ----------------------------------------------------------------------------------- */

static void put_task_name(const struct paraver *w, struct output *o, uint32_t task)
{
	const struct t_process *p = &w->t->processes[w->tasks[task]];

	if (p->rank != UINT32_MAX) {
		output_text(o, "rank ");
		output_unsigned(o, p->rank);
		output_char(o, ' ');
	}
	put_name(o, p->name ? p->name : name_program(p));
	output_char(o, ' ');
	output_unsigned(o, p->pid);
}

static void put_thread_names(const struct paraver *w, struct output *o, uint32_t task)
{
	const struct trace *t = w->t;
	uint32_t named = 0;
	char name[32];

	for (uint32_t i = 1; i < t->threads_count; i++) {
		if (w->threads[i].task != task + 1)
			continue;
		put_name(o, name_thread(&t->threads[i], name, sizeof(name)));
		output_char(o, ' ');
		output_unsigned(o, t->threads[i].tid);
		output_char(o, '\n');
		named++;
	}
	for (uint32_t i = 1; i < t->queues_count; i++) {
		if (w->queues[i].task != task + 1)
			continue;
		put_name(o, t->agents[t->queues[i].agent].label);
		output_char(o, ' ');
		put_name(o, t->queues[i].label);
		output_char(o, '\n');
		named++;
	}
	if (!named)
		output_text(o, "no thread\n");
}

static void begin_level(struct output *o, const char *level, uint32_t size)
{
	output_text(o, "LEVEL ");
	output_text(o, level);
	output_text(o, " SIZE ");
	output_unsigned(o, size);
	output_char(o, '\n');
}

kymo_status_t places_write_names(const struct paraver *w)
{
	struct output o;
	kymo_status_t status = open_part(w, &o, "row");
	uint32_t threads = 0;

	if (status != KYMO_OK)
		return status;
	begin_level(&o, "NODE", w->node_count);
	for (uint32_t i = 0; i < w->node_count; i++) {
		put_name(&o, w->nodes[i]);
		output_char(&o, '\n');
	}
	output_char(&o, '\n');
	begin_level(&o, "TASK", w->task_count);
	for (uint32_t i = 0; i < w->task_count; i++) {
		put_task_name(w, &o, i);
		output_char(&o, '\n');
		threads += w->sizes[i];
	}
	output_char(&o, '\n');
	begin_level(&o, "THREAD", threads);
	for (uint32_t i = 0; i < w->task_count; i++)
		put_thread_names(w, &o, i);
	return output_close(&o, w->o.log);
}
