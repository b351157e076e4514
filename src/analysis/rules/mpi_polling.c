/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank asks again and again whether messages are there, one question after the other: it waits, and its processor is
 * busy with that. What lies between questions that are further apart may be the program's work, and is not told.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/rules/support.h"
#include "base/plain.h"

enum {
	LEAST_QUESTIONS = 100,
	DENSE = 10, /* times what a question takes they are apart, at most */
	TELL = 3
};

/* Of one thread. */
struct asking {
	uint32_t thread, op, site;
	uint64_t ns, number;
	int64_t start, end; /* of the longest row */
};

static void add_row(struct asking *a, const struct tl_call *first, int64_t end, uint64_t number,
		    uint64_t inside)
{
	uint64_t ns = (uint64_t)(end - first->start);

	if (number < 2 || DENSE * inside < ns)
		return;
	if (end - first->start > a->end - a->start) {
		a->start = first->start;
		a->end = end;
		a->op = first->op;
		a->site = first->site;
	}
	a->thread = first->thread;
	a->ns += ns;
	a->number += number;
}

/* Questions in a row: calls that follow each other in a thread, with no other between. */
static void add_rows(const struct timeline *tl, struct asking *all)
{
	const struct tl_call *first = NULL;
	uint64_t number = 0, inside = 0;
	int64_t end = 0;

	for (uint32_t i = 0; i < tl->calls_count; i++) {
		const struct tl_call *c = &tl->calls[i];
		uint64_t in = c->flags & CALL_BURST ? c->waited : (uint64_t)(c->end - c->start);
		bool asked = c->flags & CALL_ASKS && !(c->flags & (CALL_NESTED | CALL_MIXED));

		if (first && (!asked || c->thread != first->thread ||
			      (uint64_t)(c->start - end) > DENSE * in)) {
			add_row(&all[first->thread], first, end, number, inside);
			first = NULL;
		}
		if (!asked)
			continue;
		if (!first) {
			first = c;
			number = inside = 0;
		}
		number += timeline_count(c);
		inside += in;
		end = c->end;
	}
	if (first)
		add_row(&all[first->thread], first, end, number, inside);
}

static int most_time(const void *a, const void *b)
{
	const struct asking *x = a, *y = b;

	return x->ns > y->ns ? -1 : x->ns < y->ns;
}

static void add_who(const struct diagnosis *d, struct text *out, const struct asking *a)
{
	const struct t_thread *t = &d->trace->threads[a->thread];
	const struct t_process *p = &d->trace->processes[t->process];

	if (p->rank != UINT32_MAX)
		plain_addf(out, "rank %" PRIu32, p->rank);
	else
		plain_addf(out, "process %" PRIu32, p->pid);
	if (!t->main)
		plain_addf(out, ", thread %" PRIu32, t->tid);
}

static void tell(struct diagnosis *d, const struct asking *all, uint32_t count)
{
	char time[UNITS_TEXT];
	struct finding *f =
		finding_add_spent(d, thread_processor(d, all->thread, all->ns),
				  "a rank polls for messages: %s %s times, %s", op_name(d, all->op),
				  UNITS_COUNT(all->number), units_time(all->ns, time));

	if (!f)
		return;
	f->count = all->number;
	f->start = all->start;
	f->end = all->end;
	f->thread = all->thread;
	add_who(d, &f->where, all);
	if (all->site) {
		text_add(&f->where, ", ");
		finding_add_site(d, &f->where, all->site);
	}
	text_add(&f->evidence, "so long it waits for others: rules about ranks that wait see only "
			       "the question that was answered\n");
	for (uint32_t i = 1; i < count && i <= TELL && all[i].ns; i++) {
		add_who(d, &f->evidence, &all[i]);
		plain_addf(&f->evidence, " polls %s times, %s\n", UNITS_COUNT(all[i].number),
			   units_time(all[i].ns, time));
	}
	finding_set_show(d, f, "-i '^mpi:MPI_(I?m?probe|Test)'");
	text_add(&f->advice,
		 "wait with MPI_Wait or MPI_Probe where there is nothing else to do, and "
		 "see what the sender is late with");
}

static void find(struct diagnosis *d)
{
	const struct trace *t = d->trace;
	struct asking *all = calloc((size_t)t->threads_count + 1, sizeof(*all));
	uint32_t count = 0;

	if (all) {
		add_rows(d->tl, all);
		for (uint32_t i = 0; i < t->threads_count; i++)
			if (all[i].number >= LEAST_QUESTIONS)
				all[count++] = all[i];
		if (count) {
			qsort(all, count, sizeof(*all), most_time);
			tell(d, all, count);
		}
	} else {
		d->failed = true;
	}
	free(all);
}

const struct rule rule_mpi_polling = {
	.id = "mpi-polling",
	.what = "a rank asks again and again whether messages are there",
	.threshold = 0.05,
	.why = "fewer than 100 questions, or further apart than ten times what one takes, are no "
	       "loop that waits",
	.cost = "nothing of the run (waiting lasts as long); the time of the rank that asks most "
		"is told",
	.find = find,
};
