/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that failed, again and again, while the program went on. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/diagnose.h"
#include "base/plain.h"
#include "base/units.h"

enum { LEAST = 3 }; /* once or twice is a program that tries what there is */

/* Answers to a question: the program goes on rightly. */
static bool is_answer(const char *status)
{
	static const char *const words[] = {
		"NOT_READY",    "NotReady", "NOT_FOUND", "NotFound",    "NOT_SUPPORTED",
		"NotSupported", "ALREADY",  "Already",   "UNSUPPORTED", "NOT_PERMITTED",
		"ETIMEDOUT",    "EAGAIN",   "EBUSY",     "EINTR",       "EINPROGRESS",
		"ECHILD"}; /* there are no more children to wait for */

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strstr(status, words[i]))
			return true;
	return false;
}

static const struct tl_call *first_failed(const struct timeline *tl, uint32_t process, uint32_t op)
{
	const struct tl_call *first = NULL;

	for (uint32_t i = 0; i < tl->calls_count; i++) {
		const struct tl_call *c = &tl->calls[i];

		if ((c->flags & CALL_FAILED) && c->op == op &&
		    tl->trace->threads[c->thread].process == process &&
		    (!first || c->start < first->start))
			first = c;
	}
	return first;
}

static void add_where(struct diagnosis *d, struct finding *f, const struct tally *y)
{
	const struct t_op *op = &d->trace->ops[y->key[KEY_ERROR_OP]];
	const struct t_process *p = &d->trace->processes[y->key[0]];
	const struct tl_call *c = first_failed(d->tl, y->key[0], y->key[KEY_ERROR_OP]);

	if (p->rank != UINT32_MAX)
		plain_addf(&f->where, "rank %" PRIu32 ", ", p->rank);
	plain_addf(&f->where, "%s", op->name);
	if (c && c->site) {
		text_add(&f->where, " at ");
		finding_add_site(d, &f->where, c->site);
	}
	if (c) {
		f->start = c->start;
		f->end = c->end;
		f->thread = c->thread;
		f->process = y->key[0];
		plain_addf(&f->evidence, "the first at %.6f s of the run\n",
			   (double)(c->start - d->trace->origin) / 1e9);
	}
	plain_addf(&f->show, "kymo show -i ':%s$' ", op->name);
	text_add_shell(&f->show, d->path);
}

static void find(struct diagnosis *d)
{
	const struct tally_set *set = d->tallies ? &d->tallies->set[TALLY_ERROR] : NULL;

	for (uint32_t i = 0; set && i < set->count; i++) {
		const struct tally *y = set->rows[i];
		const struct t_op *op = &d->trace->ops[y->key[KEY_ERROR_OP]];
		int32_t status = (int32_t)y->key[KEY_ERROR_STATUS];
		const char *name = rec_status_name(op, status);
		char number[16];
		struct finding *f;

		snprintf(number, sizeof(number), "%" PRId32, status);
		if (y->count < LEAST || is_answer(name ? name : ""))
			continue;
		f = finding_add_fact(d, "%s fails %s times (%s), and the program goes on", op->name,
				     UNITS_COUNT(y->count), name ? name : number);
		if (!f)
			return;
		f->count = y->count;
		add_where(d, f, y);
		text_add(&f->advice, "look at the status of the call; what comes after it may be "
				     "wrong, however long it takes");
	}
}

const struct rule rule_ignored_errors = {
	.id = "ignored-errors",
	.what = "calls fail again and again, and the program goes on",
	.threshold = 0,
	.why = "three times or more: once or twice is a program that tries what there is",
	.cost = "no time: results may be wrong",
	.find = find,
};
