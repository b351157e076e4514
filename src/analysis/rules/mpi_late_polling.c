/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank asks now and then whether a message is there, and sleeps between: it sees the message long after it was sent.
 * That it sleeps and does not compute is known by the processor time of its thread.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/rules/support.h"

enum {
	LEAST_NUMBER = 10,
	APART_NS = 100000,   /* questions that are closer see a message at once */
	MOST_QUESTIONS = 100 /* that one message takes, as far as is looked */
};

/* Of one thread. */
struct naps {
	uint64_t between; /* ns from one question to the next */
	uint64_t late;    /* ns that messages were there, and not seen */
	uint64_t number;
	const struct tl_call *worst; /* the question that saw a message latest, */
	int64_t since;               /* which was there from then on */
};

struct search {
	struct naps *threads;
	struct intervals late; /* of all ranks that sleep */
	uint64_t number;
	const struct naps *most;
};

static const struct tl_call *outer(const struct timeline *tl, uint32_t thread, uint32_t i)
{
	return &tl->calls[tl->outer[tl->threads[thread].first + i]];
}

/* It asks, and so did the call before, long enough ago. */
static bool asks_again(const struct timeline *tl, uint32_t thread, uint32_t i)
{
	const struct tl_call *x = outer(tl, thread, i), *before = outer(tl, thread, i - 1);

	return x->flags & before->flags & CALL_ASKS && x->start - before->end > APART_NS;
}

/* From when on message `i` was there and not seen; false: it was seen at once, or was not asked for so. */
static bool unseen(const struct diagnosis *d, uint32_t i, struct rank_wait *out)
{
	const struct timeline *tl = d->tl;
	const struct tl_message *m = &tl->messages[i];
	uint32_t other = d->waits.other ? d->waits.other[i] : 0, last, first;
	int64_t sent;

	if (m->kind != COMM_OP_RECEIVE || !other || !m->request)
		return false;
	last = timeline_at(tl, m->thread, m->end - 1);
	if (!last || last >= tl->threads[m->thread].count ||
	    outer(tl, m->thread, last)->start > m->end || !asks_again(tl, m->thread, last))
		return false;
	/* Large messages take several questions, as libraries go on with them only then. */
	sent = tl->messages[other - 1].start;
	for (first = last - 1; first && last - first < MOST_QUESTIONS; first--)
		if (outer(tl, m->thread, first)->end <= sent || !asks_again(tl, m->thread, first))
			break;
	out->start = outer(tl, m->thread, first)->end;
	out->start = out->start < sent ? sent : out->start;
	out->end = outer(tl, m->thread, last)->start;
	out->call = tl->outer[tl->threads[m->thread].first + last];
	return out->end > out->start;
}

/* Its processor time, of which MPI_Init takes some as well, does not explain two thirds of what lies between questions. */
static bool sleeps(const struct diagnosis *d, const struct search *s, uint32_t thread)
{
	uint64_t used = d->trace->threads[thread].processor_ns;

	return used && 3 * used < 2 * s->threads[thread].between &&
	       s->threads[thread].number >= LEAST_NUMBER;
}

static void add_between(const struct timeline *tl, struct search *s)
{
	for (uint32_t t = 0; t < tl->trace->threads_count; t++) {
		const struct tl_thread *th = &tl->threads[t];

		for (uint32_t i = 1; i < th->count; i++) {
			const struct tl_call *x = &tl->calls[tl->outer[th->first + i]];
			const struct tl_call *before = &tl->calls[tl->outer[th->first + i - 1]];

			if (x->flags & before->flags & CALL_ASKS && x->start > before->end)
				s->threads[t].between += (uint64_t)(x->start - before->end);
		}
	}
}

static void add_late(const struct diagnosis *d, struct search *s)
{
	struct rank_wait x;

	for (uint32_t i = 0; i < d->tl->messages_count; i++) {
		struct naps *n = &s->threads[d->tl->messages[i].thread];

		if (!unseen(d, i, &x))
			continue;
		if (!n->worst || x.end - x.start > n->worst->start - n->since) {
			n->worst = &d->tl->calls[x.call];
			n->since = x.start;
		}
		n->late += (uint64_t)(x.end - x.start);
		n->number++;
	}
}

static void unite(struct diagnosis *d, struct search *s)
{
	struct rank_wait x;

	for (uint32_t i = 0; i < d->tl->messages_count; i++) {
		uint32_t thread = d->tl->messages[i].thread;

		if (!sleeps(d, s, thread) || !unseen(d, i, &x))
			continue;
		d->failed |= !intervals_add(&s->late, x.start, x.end);
		s->number++;
		if (!s->most || s->threads[thread].late > s->most->late)
			s->most = &s->threads[thread];
	}
	intervals_unite(&s->late);
}

static void tell(struct diagnosis *d, const struct search *s)
{
	uint64_t gain = intervals_length(&s->late);
	const struct tl_call *x = s->most->worst;
	const struct t_process *p =
		&d->trace->processes[d->trace->threads[s->most - s->threads].process];
	char time[UNITS_TEXT], used[UNITS_TEXT], between[UNITS_TEXT];
	struct finding *f =
		finding_add(d, gain, "ranks that ask now and then see %s messages late, by %s",
			    UNITS_COUNT(s->number), units_time(gain, time));

	if (!f)
		return;
	f->count = s->number;
	f->start = s->most->since;
	f->end = x->start;
	f->thread = (uint32_t)(s->most - s->threads);
	text_addf(&f->where, "rank %" PRIu32 ", %s", p->rank, op_name(d, x->op));
	if (x->site) {
		text_add(&f->where, " at ");
		finding_add_site(d, &f->where, x->site);
	}
	text_addf(&f->evidence,
		  "it sleeps: %s between questions, and its thread used processors for %s in all\n",
		  units_time(s->most->between, between),
		  units_time(d->trace->threads[s->most - s->threads].processor_ns, used));
	finding_set_show(d, f, "-d mpi,comm");
	text_add(&f->advice,
		 "wait with MPI_Wait, which goes on when the message is there; to spare "
		 "the processor, let the library yield it");
}

static void find(struct diagnosis *d)
{
	struct search s = {0};

	if (d->waits.ranks_count < 2 || d->tl->counted || d->tl->cut || timeline_missing(d->tl))
		return; /* rules about ranks that wait say so */
	s.threads = calloc((size_t)d->trace->threads_count + 1, sizeof(*s.threads));
	if (!s.threads) {
		d->failed = true;
		return;
	}
	add_between(d->tl, &s);
	add_late(d, &s);
	unite(d, &s);
	if (s.most)
		tell(d, &s);
	intervals_release(&s.late);
	free(s.threads);
}

const struct rule rule_mpi_late_polling = {
	.id = "mpi-late-polling",
	.what = "a rank asks so seldom whether messages are there that it sees them late",
	.threshold = 0.05,
	.why = "below a twentieth of the run no nap is too long; fewer than 10 messages are no "
	       "habit",
	.cost = "from the send of a message, or the first question if that is later, to the one "
		"that sees it; "
		"times of several ranks count once",
	.find = find,
};
