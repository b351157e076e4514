/* SPDX-License-Identifier: Apache-2.0 */
/* Putting a timeline in order once all records are there: by device, by thread, work to its call. */
#include "analysis/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/communication.h"
#include "analysis/lock_use.h"
#include "stream/large.h"
#include "stream/trace.h"
#include "wire/tally.h"
#include "stream/recorded.h"

enum { MOVES = 64 /* of one call past others, on average: of more they are in no order */ };

/* What work of a device is sorted by; equal ones stay as they came. */
struct place {
	int64_t start;
	uint32_t index;
};

static bool starts_before(const struct tl_work *a, const struct tl_work *b)
{
	return a->start != b->start ? a->start < b->start : a->end < b->end;
}

static uint64_t user_key(uint32_t device, uint32_t process)
{
	return (uint64_t)(device + 1) << 32 | process;
}

bool timeline_uses(const struct timeline *tl, uint32_t device, uint32_t process)
{
	return map_get(&tl->used, user_key(device, process)) != 0;
}

struct named {
	const char *label;
	uint32_t index;
};

/* ---- devices ----------------------------------------------------------------------------------- */

static int by_label(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	return strcmp(x->label, y->label);
}

/* In the order of their labels, whichever came first. */
static bool number_devices(struct timeline *tl)
{
	uint32_t n = tl->devices_count;
	struct named *order = calloc((size_t)n + 1, sizeof(*order));
	struct tl_device *devices = calloc((size_t)n + 1, sizeof(*devices));
	uint32_t *now = calloc((size_t)n + 1, sizeof(*now));
	struct map used = {0};
	bool ok = order && devices && now;

	for (uint32_t i = 0; ok && i < n; i++)
		order[i] = (struct named){tl->trace->agents[tl->devices[i].agent].label, i};
	if (ok && n)
		qsort(order, n, sizeof(*order), by_label);
	for (uint32_t i = 0; ok && i < n; i++) {
		devices[i] = tl->devices[order[i].index];
		now[order[i].index] = i;
	}
	for (uint32_t i = 0; ok && n > 1 && i < tl->work_count; i++)
		tl->work[i].device = now[tl->work[i].device];
	for (uint32_t p = 0; ok && p < tl->trace->processes_count; p++)
		for (uint32_t i = 0; ok && i < n; i++)
			if (timeline_uses(tl, i, p))
				ok = map_set(&used, user_key(now[i], p), 1);
	if (ok) {
		map_release(&tl->used);
		tl->used = used;
		free(tl->devices);
		tl->devices = devices;
		tl->devices_room = n + 1;
	} else {
		map_release(&used);
		free(devices);
	}
	free(order);
	free(now);
	return ok;
}

static bool comes_before(const struct timeline *tl, const struct place *a, const struct place *b)
{
	return a->start != b->start ? a->start < b->start
				    : tl->work[a->index].end < tl->work[b->index].end;
}

/* Where the run that begins at `i` ends: what is in order already. */
static uint32_t run_end(const struct timeline *tl, const struct place *p, uint32_t i,
			uint32_t count)
{
	for (i++; i < count && !comes_before(tl, &p[i], &p[i - 1]); i++)
		;
	return i;
}

/* Two runs that follow each other, to the same place in `to`. Of equal ones the first run's come first. */
static void merge_runs(const struct timeline *tl, const struct place *from, struct place *to,
		       uint32_t first, uint32_t second, uint32_t end)
{
	uint32_t a = first, b = second;

	for (uint32_t i = first; i < end; i++)
		to[i] = b == end || (a < second && !comes_before(tl, &from[b], &from[a]))
				? from[a++]
				: from[b++];
}

/*
 * Each queue's work comes in order: what there is are some runs, which are merged by twos until there is one. Returns
 * that of the two arrays it is in.
 */
static struct place *merge_all(const struct timeline *tl, struct place *from, struct place *to,
			       uint32_t count)
{
	while (run_end(tl, from, 0, count) < count) {
		struct place *other = from;

		for (uint32_t i = 0; i < count;) {
			uint32_t second = run_end(tl, from, i, count);
			uint32_t end = second < count ? run_end(tl, from, second, count) : count;

			merge_runs(tl, from, to, i, second, end);
			i = end;
		}
		from = to;
		to = other;
	}
	return from;
}

/* Work of one device, as it came: it is sorted unless it came in order, which is what most does. */
static bool order_device(const struct timeline *tl, uint32_t *order, uint32_t count)
{
	struct place *p, *sorted;
	uint32_t i = 1;

	while (i < count && !starts_before(&tl->work[order[i]], &tl->work[order[i - 1]]))
		i++;
	if (i >= count)
		return true;
	p = malloc(2 * (size_t)count * sizeof(*p));
	if (!p)
		return false;
	for (i = 0; i < count; i++)
		p[i] = (struct place){tl->work[order[i]].start, order[i]};
	sorted = merge_all(tl, p, p + count, count);
	for (i = 0; i < count; i++)
		order[i] = sorted[i].index;
	free(p);
	return true;
}

static bool unite_both(struct tl_device *d)
{
	const struct intervals *k = &d->kernels, *t = &d->transfers;
	uint32_t i = 0, n = 0;
	bool ok = true;

	if (!k->count || !t->count) {
		d->all = k->count ? *k : *t;
		return true;
	}
	while (ok && (i < k->count || n < t->count)) {
		const struct interval *next =
			n == t->count || (i < k->count && k->at[i].start <= t->at[n].start)
				? &k->at[i++]
				: &t->at[n++];

		ok = intervals_add(&d->all, next->start, next->end);
	}
	return ok;
}

/* When it worked; what devices say of their times may be anything. */
static bool find_times(const struct timeline *tl, struct tl_device *d)
{
	for (uint32_t i = 0; i < d->count; i++) {
		const struct tl_work *w = &tl->work[tl->order[d->first + i]];

		if (!intervals_add(w->kind == WORK_KERNEL ? &d->kernels : &d->transfers, w->start,
				   w->end))
			return false;
	}
	intervals_unite(&d->kernels);
	intervals_unite(&d->transfers);
	intervals_clip(&d->kernels, tl->start, tl->end);
	intervals_clip(&d->transfers, tl->start, tl->end);
	return unite_both(d);
}

static bool order_work(struct timeline *tl)
{
	uint32_t first = 0;

	tl->order = large_new(((size_t)tl->work_count + 1) * sizeof(*tl->order));
	if (!tl->order)
		return false;
	for (uint32_t i = 0; i < tl->devices_count; i++) {
		struct tl_device *d = &tl->devices[i];

		d->first = first;
		first += d->count;
		d->count = 0;
	}
	for (uint32_t i = 0; i < tl->work_count; i++) {
		struct tl_device *d = &tl->devices[tl->work[i].device];

		tl->order[d->first + d->count++] = i;
	}
	for (uint32_t i = 0; i < tl->devices_count; i++) {
		struct tl_device *d = &tl->devices[i];

		if (!order_device(tl, &tl->order[d->first], d->count) || !find_times(tl, d))
			return false;
	}
	return true;
}

/* ---- threads ----------------------------------------------------------------------------------- */

/* In front of those that lie in it, and of those of equal length that came later. */
static bool goes_before(const struct tl_call *a, const struct tl_call *b)
{
	return a->start != b->start ? a->start < b->start : a->end > b->end;
}

static int by_start(const void *a, const void *b)
{
	return goes_before(a, b) ? -1 : goes_before(b, a);
}

/*
 * Calls of a thread come in the order of their end, an outer one after those in it: each is moved past those
 * alone. In a damaged trace that may be all there are: then they are sorted as anything else.
 */
static void order_thread(struct tl_call *calls, uint32_t count)
{
	uint64_t moves = 0;

	for (uint32_t i = 1; i < count; i++) {
		struct tl_call c = calls[i];
		uint32_t k = i;

		for (; k && goes_before(&c, &calls[k - 1]); k--)
			calls[k] = calls[k - 1];
		calls[k] = c;
		moves += i - k;
		if (moves > (uint64_t)MOVES * count) {
			qsort(calls, count, sizeof(*calls), by_start);
			return;
		}
	}
}

static bool by_thread(const struct timeline *tl)
{
	for (uint32_t i = 1; i < tl->calls_count; i++)
		if (tl->calls[i].thread < tl->calls[i - 1].thread)
			return false;
	return true;
}

/* Moves those of each thread to where they `first` begin. */
static bool part_threads(struct timeline *tl, const uint32_t *first)
{
	struct tl_call *ordered = large_new(((size_t)tl->calls_count + 1) * sizeof(*ordered));
	uint32_t *next = malloc(((size_t)tl->trace->threads_count + 1) * sizeof(*next));

	if (!next || !ordered) {
		free(next);
		large_free(ordered);
		return false;
	}
	memcpy(next, first, ((size_t)tl->trace->threads_count + 1) * sizeof(*next));
	for (uint32_t i = 0; i < tl->calls_count; i++)
		ordered[next[tl->calls[i].thread]++] = tl->calls[i];
	large_free(tl->calls);
	free(next);
	tl->calls = ordered;
	tl->calls_room = tl->calls_count + 1;
	return true;
}

/* By thread first, in the order in which they came. */
static bool order_calls(struct timeline *tl)
{
	uint32_t threads = tl->trace->threads_count;
	uint32_t *first = calloc((size_t)threads + 1, sizeof(*first));
	bool ok;

	if (!first)
		return false;
	for (uint32_t i = 0; i < tl->calls_count; i++)
		first[tl->calls[i].thread + 1]++;
	for (uint32_t i = 0; i < threads; i++)
		first[i + 1] += first[i];
	ok = by_thread(tl) || part_threads(tl, first);
	for (uint32_t i = 0; ok && i < threads; i++)
		order_thread(&tl->calls[first[i]], first[i + 1] - first[i]);
	free(first);
	return ok;
}

/*
 * Outermost is what lies in no other call; a region of OpenMP is none: the program's own code runs in it, and
 * what that calls is outermost again.
 */
static bool find_outer(struct timeline *tl)
{
	struct tl_call *around = NULL;
	uint32_t n = 0;

	tl->outer = large_new(((size_t)tl->calls_count + 1) * sizeof(*tl->outer));
	if (!tl->outer)
		return false;
	for (uint32_t i = 0; i < tl->calls_count; i++) {
		struct tl_call *c = &tl->calls[i];
		struct tl_thread *th = &tl->threads[c->thread];

		c->flags &= (uint16_t)~CALL_NESTED;
		c->outermost = i;
		/* Clocks are not that exact: a time without a processor ends where a call begins. */
		if (around && around->flags & CALL_OFF && around->thread == c->thread &&
		    c->start < around->end && !(c->flags & CALL_OFF))
			around->end = c->start;
		if (around && around->thread == c->thread && c->start < around->end) {
			c->flags |= CALL_NESTED;
			c->outermost = (uint32_t)(around - tl->calls);
			continue;
		}
		if (c->flags & CALL_OPENMP)
			continue;
		around = c;
		if (!th->count++)
			th->first = n;
		tl->outer[n++] = i;
	}
	return true;
}

/* Something may refer to it: work, waits, messages, allocations, builds. */
static bool is_asked_for(const struct tl_call *c)
{
	return c->op_flags & (KYMO_OP_SUBMITS | KYMO_OP_WAITS | KYMO_OP_ALLOCATES) ||
	       c->flags & CALL_MPI || c->end - c->start >= TIMELINE_LONG_NS;
}

static bool is_indexed(const struct tl_call *c)
{
	return c->id && !(c->flags & CALL_BURST) && is_asked_for(c);
}

/* Where the call with this id is in the index of its process, or where it would be; NULL: in none. */
static uint32_t *place_of(const struct timeline *tl, const struct tl_index *x, uint64_t id)
{
	uint32_t i = (uint32_t)((id * 0x9e3779b97f4a7c15ull) >> 32) & x->mask;

	if (x->ids)
		return id - x->first < x->ids ? &x->at[id - x->first] : NULL;
	while (x->at[i] && tl->calls[x->at[i] - 1].id != id)
		i = (i + 1) & x->mask;
	return &x->at[i];
}

/* Calls of a process: how many, and between which ids. */
struct id_span {
	uint64_t least, most;
	uint32_t count;
};

/* A place for each id that there may be, unless that is more than a hash takes: twice as many as calls, a power of two. */
static bool make_index(struct tl_index *x, const struct id_span *s)
{
	uint64_t places = 8;

	if (!s->count)
		return true;
	while (places < 2 * (uint64_t)s->count)
		places *= 2;
	x->first = s->least;
	if (s->most - s->least < places)
		x->ids = (uint32_t)(s->most - s->least + 1);
	x->at = large_new((x->ids ? x->ids : places) * sizeof(*x->at));
	x->mask = (uint32_t)(places - 1);
	return x->at != NULL;
}

static void count_id(struct id_span *s, uint64_t id)
{
	s->least = s->count && s->least < id ? s->least : id;
	s->most = s->count && s->most > id ? s->most : id;
	s->count++;
}

static bool index_calls(struct timeline *tl)
{
	const struct trace *t = tl->trace;
	struct id_span *spans = calloc((size_t)t->processes_count + 1, sizeof(*spans));
	bool ok = spans;

	for (uint32_t i = 0; ok && i < tl->calls_count; i++)
		if (is_indexed(&tl->calls[i]))
			count_id(&spans[t->threads[tl->calls[i].thread].process], tl->calls[i].id);
	for (uint32_t p = 0; ok && p < t->processes_count; p++)
		ok = make_index(&tl->call_of[p], &spans[p]);
	for (uint32_t i = 0; ok && i < tl->calls_count; i++) {
		const struct tl_call *c = &tl->calls[i];

		if (is_indexed(c))
			*place_of(tl, &tl->call_of[t->threads[c->thread].process], c->id) = i + 1;
	}
	free(spans);
	return ok;
}

const struct tl_call *timeline_find(const struct timeline *tl, uint32_t process, uint64_t id)
{
	const struct tl_index *x =
		process < tl->trace->processes_count ? &tl->call_of[process] : NULL;
	const uint32_t *at = id && x && x->at ? place_of(tl, x, id) : NULL;

	return at && *at ? &tl->calls[*at - 1] : NULL;
}

const struct tl_call *timeline_call(const struct timeline *tl, const struct tl_work *w)
{
	return w->call == TIMELINE_NONE ? NULL : &tl->calls[w->call];
}

const struct tl_call *timeline_outermost(const struct timeline *tl, const struct tl_call *c)
{
	return &tl->calls[c->outermost];
}

/* ---- what calls do ----------------------------------------------------------------------------- */

static uint64_t overlap(int64_t a, int64_t b, int64_t c, int64_t d)
{
	int64_t start = a > c ? a : c, end = b < d ? b : d;

	return end > start ? (uint64_t)(end - start) : 0;
}

static void add_waited(struct timeline *tl, struct tl_call *c, int64_t start, int64_t end)
{
	struct tl_call *o = &tl->calls[timeline_outermost(tl, c) - tl->calls];

	c->waited += overlap(start, end, c->start, c->end);
	if (o != c)
		o->waited += overlap(start, end, o->start, o->end);
}

static struct tl_call *find(struct timeline *tl, uint32_t process, uint64_t id)
{
	const struct tl_call *c = timeline_find(tl, process, id);

	return c ? &tl->calls[c - tl->calls] : NULL;
}

static void note_waits(struct timeline *tl)
{
	for (uint32_t i = 0; i < tl->waits_count; i++) {
		const struct tl_wait *w = &tl->waits[i];
		struct tl_call *c = find(tl, tl->trace->threads[w->thread].process, w->id);

		if (c && w->end > w->start && !(c->flags & CALL_MPI))
			add_waited(tl, c, w->start, w->end);
	}
}

/* Half of the call or more: the call stands for it. */
static void note_builds(struct timeline *tl)
{
	for (uint32_t i = 0; i < tl->builds_count; i++) {
		const struct tl_build *b = &tl->builds[i];
		struct tl_call *c = find(tl, tl->trace->threads[b->thread].process, b->id), *o;

		if (!c)
			continue;
		o = &tl->calls[timeline_outermost(tl, c) - tl->calls];
		c->flags |= CALL_BUILD;
		if (2 * overlap(b->start, b->end, o->start, o->end) >=
		    (uint64_t)(o->end - o->start))
			o->flags |= CALL_BUILD;
	}
}

static void join_work(struct timeline *tl)
{
	for (uint32_t i = 0; i < tl->work_count; i++) {
		struct tl_work *w = &tl->work[i];
		struct tl_call *c = find(tl, w->process, w->id);

		w->call = TIMELINE_NONE;
		if (!c || w->early) /* no call submits what has begun before it */
			continue;
		w->call = (uint32_t)(c - tl->calls);
		if (!w->submit)
			w->submit = c->start;
		if (w->blocking && !c->waited)
			add_waited(tl, c, c->start, w->end < c->end ? w->end : c->end);
	}
}

enum host_state timeline_state(const struct tl_call *c)
{
	if (c->flags & CALL_MPI)
		return HOST_MPI;
	if (c->flags & CALL_BUILD)
		return HOST_BUILD;
	if (c->flags & CALL_WAIT)
		return (enum host_state)(((c->flags & CALL_WAIT) >> CALL_WAIT_SHIFT) +
					 CALL_WAIT_BASE);
	if (c->flags & CALL_BURST)
		return HOST_OTHER;
	if (2 * c->waited >= (uint64_t)(c->end - c->start) && c->waited)
		return HOST_WAIT;
	if (c->op_flags & KYMO_OP_SUBMITS)
		return HOST_LAUNCH;
	if (c->op_flags & KYMO_OP_WAITS)
		return HOST_WAIT;
	return c->op_flags & KYMO_OP_ALLOCATES ? HOST_ALLOCATE : HOST_OTHER;
}

static bool find_building(struct timeline *tl)
{
	const struct trace *t = tl->trace;
	bool ok;

	tl->building = calloc((size_t)t->processes_count + 1, sizeof(*tl->building));
	ok = tl->building;
	for (uint32_t i = 0; ok && i < tl->calls_count; i++) {
		const struct tl_call *c = &tl->calls[i];

		if (c->outermost == i && timeline_state(c) == HOST_BUILD)
			ok = intervals_add(&tl->building[t->threads[c->thread].process], c->start,
					   c->end);
	}
	for (uint32_t i = 0; ok && i < t->processes_count; i++)
		intervals_unite(&tl->building[i]);
	return ok;
}

uint32_t timeline_at(const struct timeline *tl, uint32_t thread, int64_t time)
{
	const struct tl_thread *th = &tl->threads[thread];
	uint32_t low = 0, high = th->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (tl->calls[tl->outer[th->first + middle]].end > time)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static void live(const struct timeline *tl, uint32_t thread, int64_t *start, int64_t *end)
{
	const struct t_thread *t = &tl->trace->threads[thread];
	const struct t_process *p = &tl->trace->processes[t->process];

	*start = recorded_thread_start(tl->trace, t);
	*end = t->end ? t->end : p->end ? p->end : tl->end;
	if (*start < tl->start)
		*start = tl->start;
	if (*end > tl->end)
		*end = tl->end;
}

static void add_states(struct timeline *tl, uint32_t thread)
{
	struct tl_thread *th = &tl->threads[thread];
	uint64_t inside = 0, life;
	int64_t start, end;

	for (uint32_t i = 0; i < th->count; i++) {
		const struct tl_call *c = &tl->calls[tl->outer[th->first + i]];

		uint64_t whole = (uint64_t)(c->end - c->start);
		uint64_t ns = overlap(c->start, c->end, tl->start, tl->end);

		if (c->flags & CALL_BURST && whole)
			ns = (uint64_t)((double)c->waited * ((double)ns / (double)whole));

		th->in[timeline_state(c)] += ns;
		inside += ns;
	}
	live(tl, thread, &start, &end);
	life = end > start ? (uint64_t)(end - start) : 0;
	th->in[HOST_OUTSIDE] = life > inside ? life - inside : 0;
}

static void find_pool(struct timeline *tl, uint32_t thread)
{
	struct tl_thread *th = &tl->threads[thread];
	uint64_t life = 0;

	for (unsigned s = 0; s < HOST_STATES; s++)
		life += th->in[s];
	th->pool = !tl->trace->threads[thread].main && !th->in[HOST_LAUNCH] && life &&
		   2 * tl->locks->for_work[thread] >= life;
}

static bool is_pool(const void *data, uint32_t thread)
{
	const struct timeline *tl = data;

	return tl->threads[thread].pool;
}

static bool counts_calls(const struct trace *t)
{
	for (uint32_t i = 1; i < t->tallies_count; i++)
		if (t->tallies[i].kind == WIRE_TALLY_CALL && !t->tallies[i].beside)
			return true;
	return false;
}

/* Time in which none of the processes that were there recorded. */
static uint64_t paused_of(const struct trace *t)
{
	uint64_t ns = 0, most = 0;

	for (uint32_t i = 1; i < t->pauses_count; i++) {
		const struct t_pause *p = &t->pauses[i];

		if (i > 1 && p->process != t->pauses[i - 1].process)
			ns = 0;
		ns += p->end > p->start ? (uint64_t)(p->end - p->start) : 0;
		most = ns > most ? ns : most;
	}
	return most;
}

/* Programs run one after the other, traces that were merged: in between nobody is there. */
static bool find_absent(struct timeline *tl)
{
	const struct trace *t = tl->trace;
	struct intervals there = {0};
	int64_t until = tl->start;
	bool ok = true;

	for (uint32_t i = 1; ok && i < t->processes_count; i++) {
		const struct t_process *p = &t->processes[i];

		if (!p->telemetry && !p->file_state)
			ok = intervals_add(&there, p->start, recorded_until(t, p));
	}
	intervals_unite(&there);
	intervals_clip(&there, tl->start, tl->end);
	for (uint32_t i = 0; ok && there.count && i <= there.count; i++) {
		int64_t from = i < there.count ? there.at[i].start : tl->end;

		ok = from <= until || intervals_add(&tl->absent, until, from);
		if (i < there.count)
			until = there.at[i].end;
	}
	intervals_release(&there);
	return ok;
}

enum { LEAST_RECORDS = 1000, LOST_SHARE = 20 }; /* of fewer no share is told */

/* What threads say that they recorded is not taken: it has what the file system refused then. */
bool timeline_lossy(const struct timeline *tl, uint64_t *records)
{
	*records = tl->records + tl->lost;
	return *records >= LEAST_RECORDS && LOST_SHARE * tl->lost >= *records;
}

/* The run, or the time that was selected of it. */
static void set_window(struct timeline *tl, const struct stream_sink *sink)
{
	const struct trace *t = tl->trace;

	tl->start = t->origin;
	tl->end = t->end > t->origin ? t->end : t->origin;
	tl->partial = !sink->whole;
	if (sink->from > tl->start) {
		tl->start = sink->from < tl->end ? sink->from : tl->end;
		tl->window = true;
	}
	if (sink->to < tl->end) {
		tl->end = sink->to > tl->start ? sink->to : tl->start;
		tl->window = true;
	}
}

static bool find_pools(struct timeline *tl)
{
	for (uint32_t i = 1; i < tl->trace->threads_count; i++)
		find_pool(tl, i);
	lock_use_find_pools(tl->locks, is_pool, tl);
	return !tl->locks->failed;
}

bool timeline_finish(struct timeline *tl, const struct stream_sink *sink)
{
	const struct trace *t = tl->trace;

	set_window(tl, sink);
	tl->paused = paused_of(t);
	for (uint32_t i = 1; i < t->processes_count; i++)
		tl->chosen |= t->processes[i].partial;
	tl->counted = counts_calls(t);
	tl->apart = trace_clocks(t) > 1;
	if (tl->failed || !find_absent(tl) || !number_devices(tl) || !order_work(tl) ||
	    !order_calls(tl) || !find_outer(tl) || !index_calls(tl))
		return false;
	note_waits(tl);
	note_builds(tl);
	join_work(tl);
	if (!find_building(tl) || !communication_find(tl))
		return false;
	for (uint32_t i = 1; i < t->threads_count; i++)
		add_states(tl, i);
	return !tl->locks || find_pools(tl);
}
