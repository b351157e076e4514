/* SPDX-License-Identifier: Apache-2.0 */
/* See under_way.h. */
#include "formats/raw/under_way.h"

#include <stdlib.h>

#include "stream/recorded.h"

enum what { OPEN_CALL, WORK, UNLISTED, LOST_BY_THREAD, LOST_BY_PROCESS };

static void add(struct under_way *w, int64_t time, enum what what, uint32_t index)
{
	w->items[w->count++] = (struct under_way_item){time, what, index};
}

/* Outer calls before those in them, calls before the work that they gave in. */
static int by_time(const void *a, const void *b)
{
	const struct under_way_item *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (x->what != y->what)
		return x->what < y->what ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

bool under_way_find(struct under_way *w, const struct trace *t, const struct filter_binding *b)
{
	size_t most = (size_t)t->open_calls_count + t->unfinished_count +
		      2 * (size_t)t->processes_count + t->threads_count;

	*w = (struct under_way){.trace = t, .items = malloc(most * sizeof(*w->items))};
	if (!w->items)
		return false;
	for (uint32_t i = 1; i < t->open_calls_count; i++)
		if (filter_open_call(b, t, &t->open_calls[i]))
			add(w, t->open_calls[i].start, OPEN_CALL, i);
	for (uint32_t i = 1; i < t->unfinished_count; i++)
		if (filter_unfinished(b, t, &t->unfinished[i]))
			add(w, t->unfinished[i].submit, WORK, i);
	for (uint32_t i = 1; i < t->processes_count; i++)
		if (t->processes[i].unlisted && filter_unlisted(b, t, i))
			add(w, recorded_until(t, &t->processes[i]), UNLISTED, i);
	qsort(w->items, w->count, sizeof(*w->items), by_time);
	return true;
}

/* ---- losses ------------------------------------------------------------------------------------ */

/* After the last chunk of a thread, or at any time of a process where no thread is known. */
static struct rec_loss loss_of(const struct under_way *w, const struct under_way_item *item)
{
	const struct trace *t = w->trace;
	bool thread = item->what == LOST_BY_THREAD;
	uint32_t process = thread ? t->threads[item->index].process : item->index;

	return (struct rec_loss){.process = process,
				 .thread = thread ? item->index : 0,
				 .after = thread ? w->last[item->index]
						 : t->processes[process].start,
				 .before = item->time};
}

static void add_loss(struct under_way *w, const struct filter_binding *b, enum what what,
		     uint32_t index)
{
	const struct trace *t = w->trace;
	bool thread = what == LOST_BY_THREAD;
	const struct t_process *p = &t->processes[thread ? t->threads[index].process : index];
	int64_t end = thread ? t->threads[index].end : 0;
	struct under_way_item item = {end ? end : recorded_until(t, p), what, index};
	struct rec_loss loss;

	if (thread && item.time < w->last[index])
		item.time = w->last[index];
	loss = loss_of(w, &item);
	if (filter_loss(b, &loss))
		w->items[w->count++] = item;
}

bool under_way_losses(struct under_way *w, struct spans *spans, const struct filter_binding *b)
{
	const struct trace *t = w->trace;

	w->spans = spans;
	w->last = malloc(t->threads_count * sizeof(*w->last));
	if (!w->last)
		return false;
	for (uint32_t i = 0; i < t->threads_count; i++)
		w->last[i] = t->threads[i].start;
	for (uint32_t i = 0; i < spans->count; i++)
		if (spans->at[i].base > w->last[spans->at[i].thread])
			w->last[spans->at[i].thread] = spans->at[i].base;
	for (uint32_t i = 1; i < t->threads_count && !b->windows; i++)
		if (t->threads[i].lost)
			add_loss(w, b, LOST_BY_THREAD, i);
	for (uint32_t i = 1; i < t->processes_count && !b->windows; i++)
		if (t->processes[i].lost_records)
			add_loss(w, b, LOST_BY_PROCESS, i);
	qsort(w->items, w->count, sizeof(*w->items), by_time);
	return true;
}

/* Chunks that nobody wanted so far tell of losses as well. */
static void open_rest(struct spans *s, uint32_t process)
{
	struct raw_buffer buffer = {0};
	struct raw_chunk chunk;

	for (uint32_t i = 0; i < s->count; i++)
		if (!s->at[i].counted && s->rt->processes[s->at[i].process].process == process)
			spans_open(s, i, &buffer, &chunk);
	raw_buffer_release(&buffer);
}

static uint64_t told_by_chunks(const struct raw_trace *rt, uint32_t thread)
{
	for (uint32_t i = 0; i < rt->count; i++) {
		const struct raw_process *p = &rt->processes[i];

		if (thread >= p->first_thread && thread - p->first_thread < p->thread_count)
			return p->lost_seen[thread - p->first_thread];
	}
	return 0;
}

/* Of all threads, as each counted or as their chunks say, whatever is more. */
static uint64_t told_by_threads(const struct under_way *w, uint32_t process)
{
	const struct trace *t = w->trace;
	uint64_t sum = 0;

	for (uint32_t i = 1; i < t->threads_count; i++) {
		uint64_t chunks;

		if (t->threads[i].process != process)
			continue;
		chunks = told_by_chunks(w->spans->rt, i);
		sum += chunks > t->threads[i].lost ? chunks : t->threads[i].lost;
		sum = sum < COUNT_MAX ? sum : COUNT_MAX;
	}
	return sum;
}

static kymo_status_t deliver_loss(const struct under_way *w, const struct under_way_item *item,
				  struct stream_sink *sink)
{
	struct rec_loss loss = loss_of(w, item);
	uint64_t all, told;

	open_rest(w->spans, loss.process);
	if (loss.thread) {
		all = w->trace->threads[loss.thread].lost;
		told = told_by_chunks(w->spans->rt, loss.thread);
	} else {
		all = w->trace->processes[loss.process].lost_records;
		told = told_by_threads(w, loss.process);
	}
	if (all <= told)
		return KYMO_OK;
	loss.count = all - told;
	return sink->loss(sink, &loss);
}

/* ---- all --------------------------------------------------------------------------------------- */

void under_way_release(struct under_way *w)
{
	free(w->items);
	free(w->last);
	*w = (struct under_way){0};
}

static kymo_status_t deliver_one(const struct under_way *w, const struct under_way_item *item,
				 struct stream_sink *sink)
{
	const struct trace *t = w->trace;
	struct t_unfinished more;

	if (item->what == OPEN_CALL)
		return sink->open_call(sink, &t->open_calls[item->index]);
	if (item->what == WORK)
		return sink->unfinished(sink, &t->unfinished[item->index]);
	if (item->what == LOST_BY_THREAD || item->what == LOST_BY_PROCESS)
		return deliver_loss(w, item, sink);
	more = (struct t_unfinished){.process = item->index,
				     .submit = item->time,
				     .unlisted = t->processes[item->index].unlisted};
	return sink->unfinished(sink, &more);
}

kymo_status_t under_way_deliver(struct under_way *w, int64_t time, struct stream_sink *sink)
{
	kymo_status_t status = KYMO_OK;

	while (status == KYMO_OK && w->next < w->count && w->items[w->next].time <= time)
		status = deliver_one(w, &w->items[w->next++], sink);
	return status;
}
