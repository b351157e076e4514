/* SPDX-License-Identifier: Apache-2.0 */
/* What the text writer renders once: names of operations, threads, queues and call sites. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/plain.h"
#include "formats/text/text.h"

#define PLACE_MAX 28u

static char *op_name(const struct trace *t, uint32_t i)
{
	const struct t_op *op = &t->ops[i];
	const char *domain = t->domains[op->domain].name;
	char *s = NULL;

	return asprintf(&s, "%s%s%s", domain, domain[0] ? ":" : "", op->name) < 0 ? NULL : s;
}

/* "program/worker", with the pid where several processes could be meant. */
static char *thread_name(const struct trace *t, uint32_t i)
{
	const struct t_thread *th = &t->threads[i];
	const struct t_process *p = &t->processes[th->process];
	char number[16], tid[16], *s = NULL;
	int n;

	snprintf(number, sizeof(number), "[%u]", p->pid);
	snprintf(tid, sizeof(tid), "%u", th->tid);
	n = asprintf(&s, "%s%s/%s%s%s", name_program(p), t->processes_count > 2 ? number : "", tid,
		     th->name[0] ? " " : "", th->name);
	return n < 0 ? NULL : s;
}

static char *queue_name(const struct trace *t, uint32_t i)
{
	const struct t_queue *q = &t->queues[i];
	char *s = NULL;

	if (i == 0)
		return strdup("");
	return asprintf(&s, "%s/%s", t->agents[q->agent].label, q->label) < 0 ? NULL : s;
}

static char **table(const struct trace *t, uint32_t count,
		    char *(*name)(const struct trace *t, uint32_t i), unsigned *width)
{
	char **names = calloc(count + 1u, sizeof(*names));

	for (uint32_t i = 0; names && i < count; i++) {
		names[i] = name(t, i);
		if (!names[i])
			return names; /* noticed by its NULL */
		if (width && plain_width(names[i]) > *width)
			*width = plain_width(names[i]);
	}
	return names;
}

static bool whole(char **names, uint32_t count)
{
	return names && (count == 0 || names[count - 1]);
}

kymo_status_t text_names_init(struct text_writer *w)
{
	const struct trace *t = w->t;

	text_names_release(w);
	w->op_count = t->ops_count;
	w->thread_count = t->threads_count;
	w->queue_count = t->queues_count;
	w->site_count = t->sites_count;
	w->op_names = table(t, t->ops_count, op_name, NULL);
	w->thread_names = table(t, t->threads_count, thread_name, &w->place_width);
	w->queue_names = table(t, t->queues_count, queue_name, &w->place_width);
	w->site_names = calloc(t->sites_count, sizeof(*w->site_names));
	w->symbols = symbols_new(t, w->o.log);
	if (w->place_width > PLACE_MAX)
		w->place_width = PLACE_MAX;
	if (!whole(w->op_names, t->ops_count) || !whole(w->thread_names, t->threads_count) ||
	    !whole(w->queue_names, t->queues_count) || !w->site_names || !w->symbols)
		return KYMO_ERROR_NO_MEMORY;
	return KYMO_OK;
}

static void free_table(char **names, uint32_t count)
{
	for (uint32_t i = 0; names && i < count; i++)
		free(names[i]);
	free(names);
}

void text_names_release(struct text_writer *w)
{
	free_table(w->op_names, w->op_count);
	free_table(w->thread_names, w->thread_count);
	free_table(w->queue_names, w->queue_count);
	free_table(w->site_names, w->site_count);
	w->op_names = w->thread_names = w->queue_names = w->site_names = NULL;
	symbols_free(w->symbols);
	w->symbols = NULL;
}

const char *text_site(struct text_writer *w, uint32_t site)
{
	char text[512];

	if (!w->site_names[site])
		w->site_names[site] = strdup(symbols_text(w->symbols, site, text, sizeof(text)));
	return w->site_names[site] ? w->site_names[site] : "?";
}

void text_frames(struct text_writer *w, uint32_t site)
{
	output_name(&w->out, text_site(w, site));
	text_callers(w, site);
}

void text_callers(struct text_writer *w, uint32_t site)
{
	const struct symbol *y = symbols_site(w->symbols, site);
	char text[512];

	for (; y->caller; y = y->caller) {
		output_text(&w->out, " (inlined) < ");
		output_name(&w->out, symbol_text(y->caller, text, sizeof(text)));
	}
}

void text_begin_line(struct text_writer *w, int64_t time, int64_t duration, const char *place)
{
	output_seconds(&w->out, (int64_t)((uint64_t)time - (uint64_t)w->t->origin), 15);
	if (duration == INT64_MIN)
		output_put(&w->out, "             ", 13);
	else
		output_duration(&w->out, duration, 13);
	output_put(&w->out, "  ", 2);
	output_padded(&w->out, place, w->place_width);
	output_put(&w->out, "  ", 2);
}
