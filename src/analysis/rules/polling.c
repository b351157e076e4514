/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host asks again and again whether a device is done. That wins no time of the run (asking sees the end
 * sooner than waiting), but takes a processor. Three ways to see it: calls that ask, in the trace; those
 * that the mode leaves out, which are counted; and, where neither is, that time and again a thread which is
 * in no call goes on just when the device ends.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/rules/support.h"
#include "base/plain.h"

#define APART_NS    100000 /* on average, at most: what is asked less often is no loop */
#define LEAST_POLLS 100
#define LEAST_TIMES 20     /* that the host goes on right after the end of the device's work */
#define SOON_NS     20000  /* "right after" */
#define LONG_NS     200000 /* work worth waiting for */

/* What asking took, of all threads. */
struct spent {
	uint64_t *of; /* each thread, by the clock; NULL: no memory */
	uint64_t ns, processor;
};

static void spent_init(const struct diagnosis *d, struct spent *s)
{
	*s = (struct spent){.of = calloc(d->trace->threads_count + 1u, sizeof(*s->of))};
}

static void spent_add(struct spent *s, uint32_t thread, uint64_t ns)
{
	s->ns += ns;
	if (s->of)
		s->of[thread] += ns;
}

static void spent_end(struct diagnosis *d, struct spent *s)
{
	for (uint32_t i = 0; s->of && i < d->trace->threads_count; i++)
		s->processor += thread_processor(d, i, s->of[i]);
	d->failed |= !s->of;
	free(s->of);
	s->of = NULL;
}

/* Of calls in the trace: as many as there are, and from the first to the last of each row. */
static struct spent in_trace(struct diagnosis *d, struct places *places, const uint8_t *is,
			     uint64_t *number)
{
	struct spent spent;

	spent_init(d, &spent);
	for (uint32_t i = 0; i < d->tl->calls_count; i++) {
		const struct tl_call *c = &d->tl->calls[i];

		uint64_t in = c->flags & CALL_BURST ? c->waited : (uint64_t)(c->end - c->start);

		if (!is[c->op] || c->flags & (CALL_NESTED | CALL_MIXED))
			continue;
		spent_add(&spent, c->thread, in);
		*number += timeline_count(c);
		place_add(places_at(places, TIMELINE_NONE, c->site, c->op, 0), in, c->start,
			  c->end);
	}
	spent_end(d, &spent);
	return spent;
}

/* Time that a thread is in no call while a device works: so long it can have asked. */
static uint64_t beside_devices(const struct diagnosis *d, uint32_t thread, struct place *at)
{
	const struct tl_thread *th = &d->tl->threads[thread];
	uint64_t ns = 0;

	for (uint32_t i = 1; i < th->count; i++) {
		const struct tl_call *a = &d->tl->calls[d->tl->outer[th->first + i - 1]];
		const struct tl_call *b = &d->tl->calls[d->tl->outer[th->first + i]];
		uint64_t busy = b->start > a->end ? (uint64_t)(b->start - a->end) -
							    call_exposed(d, a->end, b->start)
						  : 0;

		ns += busy;
		if (busy && b->start - a->end > at->end - at->start) {
			at->start = a->end;
			at->end = b->start;
		}
	}
	return ns;
}

/* Calls that ask and that the mode leaves out, where they are so many that there is little between them. */
static struct spent left_out(const struct diagnosis *d, const uint8_t *is, struct place *at)
{
	struct spent spent = {0};

	for (uint32_t i = 0; i < d->trace->left_out_count; i++) {
		const struct t_left_out *l = &d->trace->left_out[i];
		struct place best = {.op = l->op};
		uint64_t ns;

		if (l->op >= d->trace->ops_count || !is[l->op] || l->calls < LEAST_POLLS ||
		    l->thread >= d->trace->threads_count)
			continue;
		ns = beside_devices(d, l->thread, &best);
		if (ns / l->calls > APART_NS || ns <= spent.ns)
			continue;
		best.count = l->calls;
		*at = best;
		spent.ns = ns;
		spent.processor = thread_processor(d, l->thread, ns);
	}
	return spent;
}

/*
 * Gaps that begin when the host, in no call all the while, has just seen the end of a kernel: the next call of
 * its thread comes within SOON_NS.
 */
static struct spent followed(struct diagnosis *d, struct places *places, uint64_t *number,
			     uint64_t *of)
{
	struct spent spent;

	spent_init(d, &spent);
	for (uint32_t device = 0; device < d->tl->devices_count; device++) {
		const struct tl_device *dev = &d->tl->devices[device];

		for (uint32_t i = 0; i < dev->count; i++) {
			const struct tl_work *w = &d->tl->work[d->tl->order[dev->first + i]];
			const struct tl_call *c, *next, *last;
			const struct tl_thread *th;
			uint32_t at;

			if (w->kind != WORK_KERNEL || w->end - w->start < LONG_NS)
				continue;
			c = timeline_call(d->tl, w);
			if (!c)
				continue;
			++*of;
			th = &d->tl->threads[c->thread];
			at = timeline_at(d->tl, c->thread, w->end);
			if (!at || at >= th->count)
				continue;
			next = &d->tl->calls[d->tl->outer[th->first + at]];
			last = &d->tl->calls[d->tl->outer[th->first + at - 1]];
			if (next->start < w->end || next->start - w->end > SOON_NS ||
			    last->end > w->start + (w->end - w->start) / 10)
				continue;
			++*number;
			spent_add(&spent, c->thread, (uint64_t)(next->start - last->end));
			place_add(places_at(places, device, next->site, next->op, 0),
				  (uint64_t)(next->start - last->end), last->end, next->start);
		}
	}
	spent_end(d, &spent);
	return spent;
}

/* Where the device is the processors, who polls takes one of them from its threads. */
static struct finding *add(struct diagnosis *d, struct spent spent, const char *what,
			   uint64_t number)
{
	char time[UNITS_TEXT], processor[UNITS_TEXT];
	uint64_t units = d->tl->devices_count && device_is_host(d, 0) ? device_units(d, 0) : 0;
	struct finding *f;

	units_time(spent.ns, time);
	f = units ? finding_add(d, spent.processor / (units + 1), "the host polls: %s %s times, %s",
				what, UNITS_COUNT(number), time)
		  : finding_add_spent(d, spent.processor, "the host polls: %s %s times, %s", what,
				      UNITS_COUNT(number), time);
	if (!f)
		return NULL;
	f->count = number;
	plain_addf(&f->evidence, "%s of a processor", units_time(spent.processor, processor));
	text_add(&f->evidence, units ? ", which is one of those that the device computes with\n"
				     : ", no time of the run\n");
	text_add(&f->advice, "wait with a blocking call (cudaDeviceScheduleBlockingSync, "
			     "clWaitForEvents), unless the processor has nothing else to do");
	return f;
}

static void tell_places(struct diagnosis *d, struct finding *f, struct places *places)
{
	const struct place *most = f ? places_sort(places) : NULL;

	if (most) {
		finding_set_place(d, f, most);
		finding_add_places(d, f, places, "of asking");
	}
	d->failed |= places->failed;
	places_release(places);
}

static bool find_in_trace(struct diagnosis *d, const uint8_t *is)
{
	struct places places = {0};
	uint64_t number = 0;
	struct spent spent = in_trace(d, &places, is, &number);
	bool found = number >= LEAST_POLLS;

	tell_places(d, found ? add(d, spent, op_name(d, places.at[0].op), number) : NULL, &places);
	return found;
}

static bool find_left_out(struct diagnosis *d, const uint8_t *is)
{
	struct place at = {0};
	struct spent spent = left_out(d, is, &at);
	struct finding *f = spent.ns ? add(d, spent, op_name(d, at.op), at.count) : NULL;

	if (f) {
		at.device = TIMELINE_NONE;
		finding_set_place(d, f, &at);
		text_add(&f->evidence, "the mode leaves these calls out and counts them\n");
	}
	return spent.ns;
}

static void find_followed(struct diagnosis *d)
{
	struct places places = {0};
	uint64_t number = 0, of = 0;
	struct spent spent = followed(d, &places, &number, &of);
	struct finding *f = NULL;

	if (number >= LEAST_TIMES && 2 * number > of)
		f = add(d, spent, "the end of a kernel", number);
	if (f)
		text_add(&f->evidence,
			 "its thread was in no recorded call, and went on within 20 us "
			 "of their end\n");
	tell_places(d, f, &places);
}

static void find(struct diagnosis *d)
{
	uint8_t *is = calloc((size_t)d->trace->ops_count + 1, sizeof(*is));

	if (!is) {
		d->failed = true;
		return;
	}
	for (uint32_t i = 0; i < d->trace->ops_count; i++)
		is[i] = !(d->trace->ops[i].flags & KYMO_OP_ACTIVITY) &&
			op_asks(d->trace->ops[i].name);
	if (!find_in_trace(d, is) && !find_left_out(d, is))
		find_followed(d);
	free(is);
}

const struct rule rule_polling = {
	.id = "polling",
	.what = "the host asks again and again whether a device is done",
	.threshold = 0.05,
	.why = "fewer than 100 questions, or 20 waits, cost nothing",
	.cost = "nothing of the run (asking sees the end sooner than waiting); the processor's "
		"time "
		"is told",
	.find = find,
};
