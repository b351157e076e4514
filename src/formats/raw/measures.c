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

	idmap_set(&p->counters, wire_def_get(d, DEF_COUNTER_ID), t->counters_count);
	*trace_add(t, counters) = (struct t_counter){
		.process = p->process,
		.agent = idmap_get(&p->agents, wire_def_get(d, DEF_COUNTER_AGENT)),
		.flags = (uint32_t)wire_def_get(d, DEF_COUNTER_FLAGS),
		.name = text_of(t, d, DEF_COUNTER_NAME),
		.unit = text_of(t, d, DEF_COUNTER_UNIT),
		.description = text_of(t, d, DEF_COUNTER_DESCRIPTION),
		.provider = text_of(t, d, DEF_COUNTER_PROVIDER),
		.dimensions = text_of(t, d, DEF_COUNTER_DIMENSIONS),
	};
}

/* ---- counters ------------------------------------------------------------------------------ */

static void take_counter(struct raw_chunk *c, const char *name, const struct wire_value *v,
			 struct rec_counter *out)
{
	struct raw_process *p = c->source;

	if (strcmp(name, "correlation") == 0)
		out->correlation = v->u;
	else if (strcmp(name, "counter") == 0)
		out->counter = idmap_get(&p->counters, v->u);
	else if (strcmp(name, "instance") == 0)
		out->instance = v->u;
	else if (strcmp(name, "value") == 0)
		out->value = v->f;
	else if (strcmp(name, "op") == 0)
		out->call_op = v->u <= UINT16_MAX ? raw_chunk_op(c, (uint16_t)v->u)->op : 0;
	else if (strcmp(name, "agent") == 0)
		out->agent = idmap_get(&p->agents, v->u);
	else if (strcmp(name, "duration") == 0)
		out->duration = v->i;
	else if (strcmp(name, "kernel") == 0)
		out->kernel = idmap_get(&p->kernels, v->u);
	else if (strcmp(name, "thread") == 0 && v->u)
		out->base.thread = idmap_get(&p->threads, v->u);
}

void raw_decode_counter(struct raw_chunk *c, const struct wire_record *w, const struct t_op *op,
			struct rec_counter *out)
{
	struct wire_cursor cursor;
	struct wire_value v;

	memset((char *)out + sizeof(out->base), 0, sizeof(*out) - sizeof(out->base));
	if (raw_op_is_published(op))
		raw_decode_published(c, w, op, &out->base);
	wire_cursor_init(&cursor, w);
	for (uint32_t i = 0; i < op_own_fields(op); i++) {
		const struct t_field *f = &op->fields[i];

		if (!wire_field(&cursor, f->kind, f->element, f->size, &v))
			break;
		take_counter(c, f->name, &v, out);
	}
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

static void take_sample(struct raw_process *p, const char *name, const struct wire_value *v,
			struct rec_sample *out, uint32_t *tid)
{
	if (strcmp(name, "correlation") == 0)
		out->correlation = v->u;
	else if (strcmp(name, "thread") == 0)
		out->base.thread = idmap_get(&p->threads, v->u);
	else if (strcmp(name, "tid") == 0)
		*tid = (uint32_t)v->u;
	else if (strcmp(name, "time") == 0)
		out->base.start = out->base.end = raw_node_ns(p, v->i);
	else if (strcmp(name, "cpu") == 0)
		out->cpu = (uint32_t)v->u;
	else if (strcmp(name, "pc") == 0)
		out->pc = v->u;
	else if (strcmp(name, "stack") == 0)
		out->base.stack = idmap_get(&p->stacks, v->u);
	else if (strcmp(name, "weight") == 0)
		out->weight = v->i;
	else if (strcmp(name, "kernel") == 0)
		out->kernel = v->u != 0;
	else if (strcmp(name, "scope") == 0)
		out->base.scope = v->i;
	else if (strcmp(name, "count") == 0)
		out->lost = raw_count(p, v->u, COUNT_MAX);
}

void raw_decode_sample(struct raw_chunk *c, const struct wire_record *w, const struct t_op *op,
		       struct rec_sample *out)
{
	struct raw_process *p = c->source;
	struct wire_cursor cursor;
	struct wire_value v;
	uint32_t tid = 0;

	memset((char *)out + sizeof(out->base), 0, sizeof(*out) - sizeof(out->base));
	if (raw_op_is_published(op))
		raw_decode_published(c, w, op, &out->base);
	wire_cursor_init(&cursor, w);
	for (uint32_t i = 0; i < op_own_fields(op); i++) {
		const struct t_field *f = &op->fields[i];

		if (!wire_field(&cursor, f->kind, f->element, f->size, &v))
			break;
		take_sample(p, f->name, &v, out, &tid);
	}
	if (tid)
		out->base.thread = thread_at(p, out->base.thread, tid, out->base.start);
}

/* ---- samples of kernels -------------------------------------------------------------------- */

static void take_device_sample(struct raw_process *p, const char *name, uint64_t v,
			       struct rec_device_sample *out)
{
	if (strcmp(name, "correlation") == 0)
		out->correlation = v;
	else if (strcmp(name, "agent") == 0)
		out->agent = idmap_get(&p->agents, v);
	else if (strcmp(name, "code") == 0)
		out->code = idmap_get(&p->codes, v);
	else if (strcmp(name, "reason") == 0)
		out->reason = idmap_get(&p->strings, v);
	else if (strcmp(name, "samples") == 0)
		out->samples = v;
	else if (strcmp(name, "idle") == 0)
		out->idle = v;
	else if (strcmp(name, "cycles") == 0)
		out->cycles = v;
	else if (strcmp(name, "count") == 0)
		out->lost = raw_count(p, v, COUNT_MAX);
	else if (strcmp(name, "full") == 0)
		out->full = raw_count(p, v, COUNT_MAX);
}

void raw_decode_device_sample(struct raw_chunk *c, const struct wire_record *w, const struct t_op *op,
			      struct rec_device_sample *out)
{
	struct wire_cursor cursor;
	struct wire_value v;

	memset((char *)out + sizeof(out->base), 0, sizeof(*out) - sizeof(out->base));
	wire_cursor_init(&cursor, w);
	for (uint32_t i = 0; i < op->field_count; i++) {
		const struct t_field *f = &op->fields[i];

		if (!wire_field(&cursor, f->kind, f->element, f->size, &v))
			break;
		take_device_sample(c->source, f->name, v.u, out);
	}
}
