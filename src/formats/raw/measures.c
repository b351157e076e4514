/* SPDX-License-Identifier: Apache-2.0 */
/* Counters and samples: what counters are called, and records that belong to another thread. */
#include <string.h>

#include "formats/raw/internal.h"

/* Threads that core did not know were numbered from here on by who took the samples. */
#define OWN_THREADS (1u << 24)

static const char *text_of(struct trace *t, const struct wire_def *d, unsigned i)
{
	size_t n;
	const char *s = wire_def_text(d, i, &n);

	return trace_string(t, s, n);
}

void raw_add_counter(struct raw_process *p, const struct wire_def *d)
{
	struct trace *t = p->rt->trace;

	map_set(&p->counters, wire_def_get(d, DEF_COUNTER_ID), t->counters_count);
	*trace_add(t, counters) = (struct t_counter){
		.process = p->process,
		.agent = map_get(&p->agents, wire_def_get(d, DEF_COUNTER_AGENT)),
		.flags = (uint32_t)wire_def_get(d, DEF_COUNTER_FLAGS),
		.name = text_of(t, d, DEF_COUNTER_NAME),
		.unit = text_of(t, d, DEF_COUNTER_UNIT),
		.description = text_of(t, d, DEF_COUNTER_DESCRIPTION),
		.provider = text_of(t, d, DEF_COUNTER_PROVIDER),
		.dimensions = text_of(t, d, DEF_COUNTER_DIMENSIONS),
	};
}

/* ---- counters ------------------------------------------------------------------------------ */

void raw_finish_counter(struct raw_chunk *c, const struct record_rest *v, struct rec_counter *out)
{
	if (v->thread)
		out->base.thread = map_get(&c->source->threads, v->thread);
}

/* ---- samples ------------------------------------------------------------------------------- */

/* A thread may have met core after its first samples, or have ended before they were looked at. */
static uint32_t thread_at(const struct raw_process *p, uint32_t thread, uint32_t tid, int64_t time)
{
	const struct trace *t = p->rt->trace;

	if (t->threads[thread].index < OWN_THREADS)
		return thread;
	for (uint32_t i = p->first_thread; i < p->first_thread + p->thread_count; i++) {
		const struct t_thread *th = &t->threads[i];

		if (th->tid == tid && th->index < OWN_THREADS && (!th->end || th->end >= time))
			return i;
	}
	return thread;
}

static void finish(const struct raw_process *p, const struct record_rest *v, struct rec *out)
{
	if (v->thread)
		out->thread = map_get(&p->threads, v->thread);
	if (v->time)
		out->start = out->end = raw_node_ns(p, (int64_t)v->time);
	if (v->tid)
		out->thread = thread_at(p, out->thread, (uint32_t)v->tid, out->start);
}

void raw_finish_sample(struct raw_chunk *c, const struct record_rest *v, struct rec_sample *out)
{
	finish(c->source, v, &out->base);
}

void raw_finish_heap(struct raw_chunk *c, const struct record_rest *v, struct rec_heap *out)
{
	finish(c->source, v, &out->base);
}
