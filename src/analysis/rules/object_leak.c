/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line makes objects of a runtime all through the run and never gives them back. What is made at the begin and used
 * to the end (queues, kernels, a pool of events) is no leak, nor is the last of what is given back later.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/progress.h"
#include "analysis/rules/support.h"
#include "base/plain.h"

/* Where lines are not known all objects of one kind and function are one, so it takes more. */
enum { LEAST = 16, LEAST_UNKNOWN = 64 };

/* In which parts of its process's run a line made what is alive, by number of the line. */
static uint8_t *parts_of_lines(struct diagnosis *d, const struct objects *o)
{
	uint8_t *in = calloc(o->lines_count + 1u, sizeof(*in));
	struct progresses all = {0};
	bool ok = in && progresses_find(&all, d->tl);

	for (uint32_t i = 0; ok && i < o->count; i++) {
		const struct object *x = &o->list[i];

		if (x->alive)
			in[x->line - 1] |= progress_bit(&all, x->process, x->made);
	}
	d->failed |= !ok;
	progresses_release(&all);
	if (ok)
		return in;
	free(in);
	return NULL;
}

static void tell(struct diagnosis *d, const struct object_line *l)
{
	const struct t_process *p = &d->trace->processes[l->process];
	struct finding *f = finding_add_fact(
		d, "%s of %s %ss%s are never released", UNITS_COUNT(l->alive), UNITS_COUNT(l->made),
		objects_kind_name(l->kind), l->site ? " of one line" : "");

	if (!f)
		return;
	f->count = l->alive;
	f->process = l->process;
	if (p->rank != UINT32_MAX)
		text_addf(&f->where, "rank %" PRIu32 ", ", p->rank);
	plain_addf(&f->where, "%s", op_name(d, l->op));
	if (l->site) {
		text_add(&f->where, " at ");
		finding_add_site(d, &f->where, l->site);
	}
	text_addf(&f->evidence, "they are made all through the run%s\n",
		  l->most > l->alive ? "; of some it is not known whether they were released "
				       "(--mode full records all releases)"
				     : "");
	text_add(&f->show, "kymo summary --tables objects ");
	text_add_shell(&f->show, d->path);
	text_add(&f->advice, "release each when it is not needed any more, or make it once and use "
			     "it again");
}

static bool is_damaged(const struct trace *t)
{
	for (uint32_t i = 1; i < t->processes_count; i++)
		if (t->processes[i].damaged_blocks || t->processes[i].file_state)
			return true;
	return false;
}

static void find(struct diagnosis *d)
{
	const struct objects *o = d->tl->objects;
	uint8_t *in;

	if (!o || !o->alive_count || o->order[0]->alive < LEAST)
		return;
	if (timeline_missing(d->tl) || is_damaged(d->trace) || d->tl->partial || d->tl->window ||
	    d->tl->chosen || d->trace->pauses_count > 1 || o->cut || o->failed) {
		diagnosis_abstain(d, "records are missing: what was released is not known");
		return;
	}
	in = parts_of_lines(d, o);
	for (uint32_t i = 0; in && i < o->alive_count; i++) {
		const struct object_line *l = o->order[i];
		uint32_t least = l->site ? LEAST : LEAST_UNKNOWN;

		if (l->op != UINT32_MAX && l->alive >= least &&
		    progress_throughout(in[l - o->lines]) && diagnosis_ended(d, l->process))
			tell(d, l);
	}
	free(in);
}

const struct rule rule_object_leak = {
	.id = "object-leak",
	.what = "one line makes events, kernels, communicators, ... that are never released",
	.threshold = 0,
	.why = "sixteen or more, in six of eight parts of the run: what is made at the begin and "
	       "used to the end is no leak",
	.cost = "no time: the runtime's memory grows, and it gets slower",
	.find = find,
};
