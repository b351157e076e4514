/* SPDX-License-Identifier: Apache-2.0 */
/* Queues, streams and contexts are made and destroyed again and again: one of them would do. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/rules/support.h"

#define LEAST_NUMBER 10 /* fewer are no loop */

enum { OTHER, MAKES, DESTROYS };

static bool has(const char *name, const char *const *words, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (strstr(name, words[i]))
			return true;
	return false;
}

/* By the name: what makes queues and contexts is called alike everywhere. */
static uint8_t what_is(const struct trace *t, const struct t_op *op)
{
	static const char *const things[] = {"Queue",      "Stream",     "Context",    "CtxCreate",
					     "CtxDestroy", "PrimaryCtx", "CommandList"};
	static const char *const makes[] = {"Create", "PrimaryCtxRetain"};
	static const char *const destroys[] = {"Release", "Destroy"};
	const char *domain = t->domains[op->domain].name;

	if (op->flags & KYMO_OP_ACTIVITY || strcmp(domain, "mpi") == 0 ||
	    !has(op->name, things, sizeof(things) / sizeof(*things)))
		return OTHER;
	if (has(op->name, makes, sizeof(makes) / sizeof(*makes)))
		return MAKES;
	return has(op->name, destroys, sizeof(destroys) / sizeof(*destroys)) ? DESTROYS : OTHER;
}

/* One of the things stays, and it costs as much as those that go cost on average. */
static uint64_t won(const struct places *p)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < p->count; i++)
		ns += p->at[i].ns - p->at[i].ns / (p->at[i].count ? p->at[i].count : 1);
	return ns;
}

static void find(struct diagnosis *d)
{
	uint8_t *is = calloc((size_t)d->trace->ops_count + 1, sizeof(*is));
	struct places places = {0};
	uint64_t number[3] = {0}, gain;
	const struct place *most;
	struct finding *f = NULL;
	struct intervals times = {0};
	char time[UNITS_TEXT];

	if (!is) {
		d->failed = true;
		return;
	}
	for (uint32_t i = 0; i < d->trace->ops_count; i++)
		is[i] = what_is(d->trace, &d->trace->ops[i]);
	for (uint32_t i = 0; i < d->tl->calls_count; i++) {
		const struct tl_call *c = &d->tl->calls[i];

		if (c->flags & (CALL_NESTED | CALL_MIXED) || !is[c->op])
			continue;
		number[is[c->op]] += timeline_count(c);
		d->failed |= !intervals_add(&times, c->start, c->end);
		place_add(places_at(&places, TIMELINE_NONE, c->site, c->op, 0),
			  call_exposed(d, c->start, c->end), c->start, c->end);
	}
	free(is);
	most = places_sort(&places);
	gain = won(&places);
	gain = least(gain, times_exposed(d, &times));
	if (most && number[MAKES] >= LEAST_NUMBER && number[DESTROYS] >= LEAST_NUMBER)
		f = finding_add(d, gain, "queues or contexts made %s times, %s",
				UNITS_COUNT(number[MAKES]), units_time(gain, time));
	if (f) {
		f->count = number[MAKES];
		finding_set_place(d, f, most);
		finding_add_places(d, f, &places, "while no device worked");
		text_add(&f->advice, "make queues and contexts once, and use them again");
	}
	claim_gaps(d, &times, f);
	d->failed |= places.failed;
	places_release(&places);
}

const struct rule rule_queue_churn = {
	.id = "queue-churn",
	.what = "queues, streams or contexts are made and destroyed in a loop",
	.threshold = 0.02,
	.why = "below that it is noise; fewer than 10 are no loop",
	.cost = "the calls that make and destroy them while no device works, but one of each",
	.find = find,
};
