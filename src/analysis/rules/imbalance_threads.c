/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of a team wait at the end of a region, or at its barriers, for one that has more to do.
 *
 * Which thread that is has to be the same all over the regions of one place: threads that delay each other by turns
 * are what a busy machine does to equal work.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/rules/teams.h"
#include "base/plain.h"
#include "base/units.h"
#include "base/vec.h"

enum { LEAST_NS = 5000, TELL = 4 }; /* of a region, to be won; places in the evidence */

/* Of one thread in one region, later in all of one place. */
struct part {
	uint32_t primary, site, thread, regions;
	uint64_t busy, mean, length; /* the latter of the region, with the primary thread's part */
	int64_t start, end;
};

struct place {
	uint32_t primary, site, thread, regions;
	uint64_t busy, mean, length, gain;
	uint64_t evened;    /* so much less is `busy` than it was, for want of a processor */
	int64_t start, end; /* of its longest region */
};

struct parts {
	struct part *at;
	uint32_t count, room;
};

static int by_place(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (x->primary != y->primary)
		return x->primary < y->primary ? -1 : 1;
	if (x->site != y->site)
		return x->site < y->site ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static int most_gain(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->gain > y->gain ? -1 : x->gain < y->gain;
}

static uint64_t busy_of(struct diagnosis *d, const struct teams *t, uint32_t thread, int64_t start,
			int64_t end)
{
	uint64_t length = (uint64_t)(end - start), waits = teams_waits(d, t, thread, start, end);

	return length > waits ? length - waits : 0;
}

/* One of a region's threads; NULL: no memory. */
static struct part *part_add(struct diagnosis *d, struct parts *p, const struct tl_team *region,
			     uint32_t thread, uint64_t busy)
{
	struct part *part;

	if (!vec_reserve(&p->at, &p->room, p->count, 1)) {
		d->failed = true;
		return NULL;
	}
	part = &p->at[p->count++];
	*part = (struct part){
		.primary = region->thread, .site = region->site, .thread = thread, .busy = busy};
	return part;
}

static void add_region(struct diagnosis *d, const struct teams *t, const struct team *m,
		       struct parts *p)
{
	const struct tl_team *region = &m->is;
	uint32_t tasks = teams_tasks(t, m), first = p->count;
	uint64_t length = (uint64_t)(region->end - region->start), sum;
	uint64_t worked = region->worked && region->worked < length ? region->worked : length;
	struct part *part;

	sum = busy_of(d, t, region->thread, region->start, region->start + (int64_t)worked);
	part_add(d, p, region, region->thread, sum);
	for (uint32_t i = 1; i <= tasks; i++) {
		const struct tl_team *task = &m[i].is;
		uint64_t busy = busy_of(d, t, task->thread, task->start, task->end);

		part_add(d, p, region, task->thread, busy);
		sum += busy;
	}
	if (d->failed)
		return;
	part = &p->at[first];
	part->regions = 1;
	part->mean = sum / region->threads;
	part->length = length;
	part->start = region->start;
	part->end = region->end;
}

/*
 * By thread: so long it computed. Who meets regions computes outside of them as well; the others are taken to do nothing
 * there. NULL: no memory.
 */
static uint64_t *list_computed(const struct diagnosis *d, const struct parts *p)
{
	uint32_t threads = d->trace->threads_count;
	uint64_t *computed = calloc((size_t)threads + 1, sizeof(*computed));
	uint64_t *in_regions = calloc((size_t)threads + 1, sizeof(*in_regions));

	for (uint32_t i = 0; computed && in_regions && i < p->count; i++) {
		computed[p->at[i].thread] += p->at[i].busy;
		in_regions[p->at[i].primary] += p->at[i].length;
	}
	for (uint32_t i = 0; computed && in_regions && i < threads; i++) {
		uint64_t outside = d->tl->threads[i].in[HOST_OUTSIDE];

		if (in_regions[i] && outside > in_regions[i])
			computed[i] += outside - in_regions[i];
	}
	if (!in_regions) {
		free(computed);
		computed = NULL;
	}
	free(in_regions);
	return computed;
}

/*
 * By process: so long its threads lacked a processor for each ns that they had one, as its main thread did. NULL: no
 * memory.
 */
static double *list_lack(const struct trace *t)
{
	double *lack = calloc((size_t)t->processes_count + 1, sizeof(*lack));

	for (uint32_t i = 1; lack && i < t->threads_count; i++) {
		const struct t_thread *thread = &t->threads[i];

		if (thread->main && thread->processor_ns)
			lack[thread->process] = (double)t->processes[thread->process].delay_ns /
						(double)thread->processor_ns;
	}
	return lack;
}

/*
 * Of `all` that a thread computes, the share in which it did not lack a processor. Where it had none it lacked it or
 * slept: one thread may lack twice as much as another, and who sleeps uses next to none.
 */
static double share_of(double used, double all, double lack)
{
	double lacked = used > 0 && used < all ? all - used : 0;

	lacked = lacked < 2 * used * lack ? lacked : 2 * used * lack;
	return all > 0 ? 1 - lacked / all : 1;
}

/* By thread; NULL: no memory. */
static double *list_shares(const struct diagnosis *d, const struct parts *p)
{
	const struct trace *t = d->trace;
	double *share = calloc((size_t)t->threads_count + 1, sizeof(*share)), *lack = list_lack(t);
	uint64_t *computed = list_computed(d, p);
	bool ok = share && lack && computed;

	for (uint32_t i = 0; ok && i < t->threads_count; i++)
		share[i] = share_of((double)t->threads[i].processor_ns, (double)computed[i],
				    lack[t->threads[i].process]);
	free(lack);
	free(computed);
	if (!ok) {
		free(share);
		share = NULL;
	}
	return share;
}

/*
 * A thread that is last because other programs had its processor more often than those of its team computes so long as if
 * all had had theirs equally often. That is known of threads of a process that lacked processors for as long as could
 * be won.
 */
static void even_out(const struct diagnosis *d, const struct parts *p, uint32_t first,
		     uint32_t last, const double *share, struct place *out)
{
	const struct trace *t = d->trace;
	double busy = 0, worked = 0, most;

	if (t->processes[t->threads[out->primary].process].delay_ns < out->gain)
		return;
	for (uint32_t i = first; i < last; i++) {
		busy += (double)p->at[i].busy;
		worked += (double)p->at[i].busy * share[p->at[i].thread];
	}
	most = (double)out->busy * share[out->thread] * busy / worked;
	if (!(most < (double)out->busy))
		return;
	/* Of a quarter that is left nobody knows whether it is not lack as well, which comes when it comes. */
	if (4 * (most - (double)out->mean) < (double)(out->busy - out->mean))
		most = (double)out->mean;
	out->evened = out->busy - (uint64_t)most;
	out->busy = (uint64_t)most;
}

static uint64_t gain_at(const struct place *at)
{
	uint64_t ns = at->busy > at->mean ? at->busy - at->mean : 0;

	return ns >= LEAST_NS * (uint64_t)at->regions ? ns : 0;
}

/* From the first part of a place on: number of its parts. */
static uint32_t add_place(const struct diagnosis *d, const struct parts *p, uint32_t first,
			  const double *share, struct place *out)
{
	uint64_t busy = 0;
	uint32_t i;

	*out = (struct place){.primary = p->at[first].primary, .site = p->at[first].site};
	for (i = first;
	     i < p->count && p->at[i].primary == out->primary && p->at[i].site == out->site; i++) {
		const struct part *part = &p->at[i];

		busy = i > first && part[-1].thread == part->thread ? busy + part->busy
								    : part->busy;
		if (busy > out->busy) {
			out->busy = busy;
			out->thread = part->thread;
		}
		out->regions += part->regions;
		out->mean += part->mean;
		out->length += part->length;
		if (part->end - part->start > out->end - out->start) {
			out->start = part->start;
			out->end = part->end;
		}
	}
	out->gain = gain_at(out);
	if (out->gain)
		even_out(d, p, first, i, share, out);
	out->gain = gain_at(out);
	return i - first;
}

static void add_evidence(struct diagnosis *d, struct finding *f, const struct place *at,
			 uint32_t count)
{
	for (uint32_t i = 0; i < count && i < TELL && at[i].gain; i++) {
		char busy[UNITS_TEXT], mean[UNITS_TEXT], length[UNITS_TEXT];

		plain_addf(&f->evidence, "%s region%s of %s in all", UNITS_COUNT(at[i].regions),
			   plural(at[i].regions), units_time(at[i].length, length));
		if (at[i].site) {
			text_add(&f->evidence, " at ");
			finding_add_site(d, &f->evidence, at[i].site);
		}
		text_add(&f->evidence, ": ");
		teams_add_thread(d, &f->evidence, at[i].thread);
		plain_addf(&f->evidence, "%s computes for %s, the mean of the team is %s\n",
			   at[i].thread == at[i].primary ? " (which met the region)" : "",
			   units_time(at[i].busy, busy), units_time(at[i].mean, mean));
		if (100 * at[i].evened > at[i].busy)
			plain_addf(&f->evidence,
				   "that is without %s more than the others for which it had no "
				   "processor\n",
				   units_time(at[i].evened, busy));
	}
}

/* The places of one primary thread, which has one region at a time: what they win adds up. */
static void tell(struct diagnosis *d, struct place *at, uint32_t count)
{
	uint64_t gain = 0, length = 0;
	uint32_t regions = 0;
	char waited[UNITS_TEXT], all[UNITS_TEXT];
	struct finding *f;

	for (uint32_t i = 0; i < count; i++) {
		gain += at[i].gain;
		length += at[i].gain ? at[i].length : 0;
		regions += at[i].gain ? at[i].regions : 0;
	}
	qsort(at, count, sizeof(*at), most_gain);
	f = finding_add(
		d, gain,
		"threads wait for one that has more to do: %s of the %s of %s parallel regions",
		units_time(gain, waited), units_time(length, all), UNITS_COUNT(regions));
	if (!f)
		return;
	f->count = regions;
	f->start = at->start;
	f->end = at->end;
	f->thread = at->thread;
	teams_add_rank(d, &f->where, at->primary);
	if (at->site) {
		finding_add_site(d, &f->where, at->site);
		text_add(&f->where, ", ");
	}
	text_add(&f->where, "last: ");
	teams_add_thread(d, &f->where, at->thread);
	add_evidence(d, f, at, count);
	text_add(&f->show, "kymo summary -i '^openmp:(parallel|implicit_task)$' --by thread,op ");
	text_add_shell(&f->show, d->path);
	text_add(&f->advice,
		 "share the iterations evenly: schedule(dynamic) or (guided), smaller pieces, or "
		 "collapse the loops; for tasks of known length, by length");
}

static uint64_t gain_of(const struct place *at, uint32_t count)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count; i++)
		sum += at[i].gain;
	return sum;
}

/* Threads that meet regions do so at once: told is the one with most to win. */
static void tell_most(struct diagnosis *d, const struct parts *p)
{
	struct place *places = calloc((size_t)p->count + 1, sizeof(*places));
	double *share = list_shares(d, p);
	uint32_t n = 0, first = 0, most = 0, most_count = 0;

	if (!places || !share) {
		free(places);
		free(share);
		d->failed = true;
		return;
	}
	for (uint32_t i = 0; i < p->count; n++)
		i += add_place(d, p, i, share, &places[n]);
	for (uint32_t i = 1; i <= n; i++) {
		if (i < n && places[i].primary == places[first].primary)
			continue;
		if (gain_of(&places[first], i - first) > gain_of(&places[most], most_count)) {
			most = first;
			most_count = i - first;
		}
		first = i;
	}
	if (most_count)
		tell(d, &places[most], most_count);
	free(share);
	free(places);
}

static void find(struct diagnosis *d)
{
	struct parts p = {0};
	struct teams t;

	if (!teams_find(d, &t))
		return;
	if (teams_parts_known(d)) {
		for (uint32_t i = 0; i < t.regions_count && !d->failed; i++)
			add_region(d, &t, t.regions[i], &p);
		if (p.count && !d->failed) {
			qsort(p.at, p.count, sizeof(*p.at), by_place);
			tell_most(d, &p);
		}
	}
	free(p.at);
	teams_release(&t);
}

const struct rule rule_imbalance_threads = {
	.id = "imbalance-threads",
	.what = "threads of OpenMP wait at the end of regions for one that has more to do",
	.threshold = 0.05,
	.why = "work is hardly ever shared to less than a twentieth of the run",
	.cost = "by place: what the busiest thread computes less the mean of the team, added up "
		"over places",
	.find = find,
};
