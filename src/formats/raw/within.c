/* SPDX-License-Identifier: Apache-2.0 */
/* Open calls and ranges by thread; see within.h. */
#include "formats/raw/within.h"

#include <stdlib.h>

#define DEPTH 128u /* deeper ones do not count */

struct open {
	int64_t end, scope;
	uint64_t call; /* the innermost one */
};

struct open_thread {
	uint32_t depth;
	struct open *stack; /* DEPTH, made when needed */
};

struct within {
	struct open_thread *threads;
	uint32_t count;
};

struct within *within_new(const struct trace *t)
{
	struct within *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->count = t->threads_count;
	w->threads = calloc(w->count, sizeof(*w->threads));
	if (w->threads)
		return w;
	free(w);
	return NULL;
}

void within_free(struct within *w)
{
	if (!w)
		return;
	for (uint32_t i = 0; i < w->count; i++)
		free(w->threads[i].stack);
	free(w->threads);
	free(w);
}

static void close_until(struct open_thread *t, int64_t time)
{
	while (t->depth && t->stack[t->depth - 1].end <= time)
		t->depth--;
}

static void push_call(struct open_thread *t, int64_t end, int64_t scope, uint64_t call)
{
	if (!t->stack)
		t->stack = malloc(DEPTH * sizeof(*t->stack));
	if (!t->stack || t->depth == DEPTH)
		return;
	if (!call && t->depth)
		call = t->stack[t->depth - 1].call;
	t->stack[t->depth++] = (struct open){end, scope, call};
}

static void fill_sample(const struct open_thread *t, struct rec_sample *s)
{
	const struct open *o = t->depth ? &t->stack[t->depth - 1] : NULL;

	if (!o)
		return;
	if (!s->correlation)
		s->correlation = o->call;
	if (!s->base.scope)
		s->base.scope = o->scope;
}

void enclosing_scope_update(struct within *w, enum raw_kind kind, union raw_any *any)
{
	struct open_thread *t;

	if (any->rec.thread >= w->count ||
	    (kind != RAW_KIND_CALL && kind != RAW_KIND_MARKER && kind != RAW_KIND_SAMPLE))
		return;
	t = &w->threads[any->rec.thread];
	close_until(t, any->rec.start);
	if (kind == RAW_KIND_CALL)
		push_call(t, any->rec.end, any->rec.scope, any->rec.id);
	else if (kind == RAW_KIND_SAMPLE)
		fill_sample(t, &any->sample);
	else if (any->marker.scope && !any->marker.starter)
		push_call(t, any->rec.end, any->marker.scope, 0);
}
