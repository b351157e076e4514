/* SPDX-License-Identifier: Apache-2.0 */
/* Ticks and device clocks to node time; see ticks.h. */
#include "stream/ticks.h"

#include <stdlib.h>
#include <string.h>

#define ONE           (1ull << 40)
#define POINT_SPACING 100000000  /* ns: closer points would turn bracket noise into slope noise */
#define WINDOW        1000000000 /* ns of device time that may share an offset when a clock drifts */
#define CLOSE         1000000    /* ns between points of a drifting clock, at least */

static bool usable(const struct raw_tick_sync *p)
{
	return p->after >= p->before && p->after - p->before < (1ull << 40) &&
	       p->monotonic_raw < (uint64_t)INT64_MAX;
}

static uint64_t middle(const struct raw_tick_sync *p)
{
	return p->before + (p->after - p->before) / 2;
}

static int compare_points(const void *a, const void *b)
{
	uint64_t x = middle(a), y = middle(b);

	return (x > y) - (x < y);
}

/* The first and the last usable point, if both clocks advance between them. */
static bool end_points(const struct raw_tick_sync *p, uint32_t count, struct raw_tick_sync ends[2])
{
	uint32_t first = 0, last = count;

	while (first < count && !usable(&p[first]))
		first++;
	while (last > first && !usable(&p[last - 1]))
		last--;
	if (last < first + 2 || p[last - 1].monotonic_raw <= p[first].monotonic_raw ||
	    middle(&p[last - 1]) <= middle(&p[first]))
		return false;
	ends[0] = p[first];
	ends[1] = p[last - 1];
	return true;
}

/*
 * Keeps points that are at least POINT_SPACING apart and advance in both clocks; of two close ones
 * the tighter. Of a short run only one would remain: there the ends are kept, noisy as their slope
 * is, because nothing else tells the rate. Returns how many remain.
 */
static uint32_t choose_points(struct raw_tick_sync *p, uint32_t count)
{
	struct raw_tick_sync ends[2];
	bool have_ends = end_points(p, count, ends);
	uint32_t n = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (!usable(&p[i]))
			continue;
		if (n && (p[i].monotonic_raw <= p[n - 1].monotonic_raw ||
			  middle(&p[i]) <= middle(&p[n - 1])))
			continue;
		if (n && p[i].monotonic_raw - p[n - 1].monotonic_raw < POINT_SPACING) {
			bool tighter = p[i].after - p[i].before < p[n - 1].after - p[n - 1].before;

			if (tighter && (n == 1 || middle(&p[i]) > middle(&p[n - 2])))
				p[n - 1] = p[i];
			continue;
		}
		p[n++] = p[i];
	}
	if (n < 2 && have_ends) {
		memcpy(p, ends, sizeof(ends));
		n = 2;
	}
	return n;
}

static uint64_t rate_of(const struct tick_origin *o)
{
	if (o->identity || o->per_second < 1000)
		return ONE; /* unknown, or damaged */
	return (uint64_t)(1e9 / (double)o->per_second * (double)ONE);
}

static uint64_t rate_between(const struct raw_tick_sync *a, const struct raw_tick_sync *b)
{
	unsigned __int128 ns = b->monotonic_raw - a->monotonic_raw;
	unsigned __int128 rate = (ns << 40) / (middle(b) - middle(a));

	return rate > ONE << 16 ? ONE << 16 : (uint64_t)rate;
}

static void one_segment(struct tick_map *m, uint64_t tick, int64_t ns, uint64_t rate)
{
	m->count = 1;
	m->segments[0] = (struct tick_segment){0, UINT64_MAX, tick, ns, rate};
}

static void segments_between(struct tick_map *m, const struct raw_tick_sync *p, uint32_t n)
{
	m->count = n - 1;
	for (uint32_t i = 0; i + 1 < n; i++) {
		m->segments[i] = (struct tick_segment){middle(&p[i]), middle(&p[i + 1]),
						       middle(&p[i]), (int64_t)p[i].monotonic_raw,
						       rate_between(&p[i], &p[i + 1])};
	}
	m->segments[0].from = 0;
	m->segments[n - 2].to = UINT64_MAX;
}

static double widest(const struct raw_tick_sync *p, uint32_t n, uint64_t rate)
{
	uint64_t worst = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (p[i].after - p[i].before > worst)
			worst = p[i].after - p[i].before;
	}
	return (double)worst / 2 * ((double)rate / (double)ONE);
}

/* ns that pass between two points by the node's clock, and those that ticks of that rate make. */
static double departure(const struct raw_tick_sync *a, const struct raw_tick_sync *b, uint64_t rate)
{
	double ticks = (double)(middle(b) - middle(a)) * ((double)rate / (double)ONE);

	return (double)(int64_t)(b->monotonic_raw - a->monotonic_raw) - ticks;
}

/*
 * How far one of the clocks has stepped: the ticks' rate is known to 1 % without the points, and
 * hardly changes, so more than that between two of them is a step. Nobody knows when between them,
 * so it is part of the error. 0: none, or the rate is not known.
 */
static double largest_step(const struct raw_tick_sync *p, uint32_t count,
			   const struct tick_origin *o)
{
	const struct raw_tick_sync *before = NULL;
	double largest = 0;

	for (uint32_t i = 0; i < count && o->per_second >= 1000; i++) {
		double step, allowed;

		if (!usable(&p[i]))
			continue;
		if (before) {
			step = departure(before, &p[i], rate_of(o));
			allowed = ((double)(middle(&p[i]) - middle(before)) / 100 +
				   (double)(before->after - before->before + p[i].after -
					    p[i].before)) *
				  ((double)rate_of(o) / (double)ONE);
			step = step < 0 ? -step : step;
			largest = step > allowed && step > largest ? step : largest;
		}
		before = &p[i];
	}
	return largest;
}

kymo_status_t tick_map_build(struct tick_map *m, const struct tick_origin *o,
			     struct raw_tick_sync *points, uint32_t count)
{
	double step;
	uint32_t n;

	if (count)
		qsort(points, count, sizeof(*points), compare_points);
	step = o->identity ? 0 : largest_step(points, count, o);
	n = choose_points(points, count);
	m->segments = calloc(n > 2 ? n : 2, sizeof(*m->segments));
	if (!m->segments)
		return KYMO_ERROR_NO_MEMORY;
	m->error_ns = 0;
	if (o->identity) {
		one_segment(m, 0, 0, ONE);
	} else if (n >= 2) {
		segments_between(m, points, n);
		m->error_ns = widest(points, n, m->segments[0].rate);
	} else if (n == 1) {
		one_segment(m, middle(points), (int64_t)points->monotonic_raw, rate_of(o));
		m->error_ns = widest(points, 1, rate_of(o));
	} else {
		one_segment(m, o->tick, (int64_t)o->ns, rate_of(o));
	}
	if (step > m->error_ns)
		m->error_ns = step;
	return KYMO_OK;
}

static int compare_job_points(const void *a, const void *b)
{
	const struct job_point *x = a, *y = b;

	return (x->ns > y->ns) - (x->ns < y->ns);
}

int64_t job_offset(const struct job_point *p, uint32_t n, int64_t ns)
{
	uint32_t i = 1;

	if (n == 0)
		return 0;
	if (ns <= p[0].ns)
		return p[0].offset;
	while (i < n && p[i].ns < ns)
		i++;
	if (i == n)
		return p[n - 1].offset;
	return p[i - 1].offset + (int64_t)((__int128)(p[i].offset - p[i - 1].offset) *
					   (ns - p[i - 1].ns) / (p[i].ns - p[i - 1].ns));
}

/* How offsets grow about `ns`: not outside of the points, as job_offset() has it. */
static double job_slope(const struct job_point *p, uint32_t n, int64_t ns)
{
	uint32_t i = 1;

	if (n < 2 || ns < p[0].ns || ns >= p[n - 1].ns)
		return 0;
	while (p[i].ns <= ns)
		i++;
	return (double)(p[i].offset - p[i - 1].offset) / (double)(p[i].ns - p[i - 1].ns);
}

#define ROUNDED_NS 2

static __int128 segment_ticks(const struct tick_segment *s, int64_t ns)
{
	return s->rate ? (__int128)(ns - s->base_ns) * ((__int128)1 << 40) / (__int128)s->rate : 0;
}

/* Cuts segments where points lie, so that each has one slope. Without memory they stay as they are. */
static void cut_at_points(struct tick_map *m, const struct job_point *points, uint32_t count)
{
	struct tick_segment *cut = calloc(m->count + count, sizeof(*cut));
	uint32_t n = 0;

	for (uint32_t i = 0; cut && i < m->count; i++) {
		struct tick_segment *s = &m->segments[i];

		for (uint32_t k = 0; k < count; k++) {
			__int128 at = (__int128)s->base_tick + segment_ticks(s, points[k].ns);

			if (at <= (__int128)s->from || at >= (__int128)s->to)
				continue;
			cut[n] = *s;
			cut[n++].to = s->from = (uint64_t)at;
		}
		cut[n++] = *s;
	}
	if (!cut)
		return;
	free(m->segments);
	m->segments = cut;
	m->count = n;
}

/* Anchored where the segment begins, or at the first point: a slope far from its anchor is wrong. */
static void align_segment(struct tick_segment *s, const struct job_point *points, uint32_t count)
{
	int64_t ns = s->from ? tick_segment_ns(s, s->from) : points[0].ns;
	/* Where a segment was cut is known to a tick. */
	double slope = job_slope(points, count, s->from ? ns + ROUNDED_NS : ns - ROUNDED_NS);

	s->base_tick += (uint64_t)(int64_t)segment_ticks(s, ns);
	s->base_ns = ns + job_offset(points, count, ns);
	s->rate = (uint64_t)((double)s->rate * (1 + slope));
}

void tick_map_align(struct tick_map *m, struct job_point *points, uint32_t count)
{
	int64_t worst = 0;

	if (!count)
		return;
	qsort(points, count, sizeof(*points), compare_job_points);
	for (uint32_t i = 0; i < count; i++)
		worst = points[i].error > worst ? points[i].error : worst;
	m->error_ns += (double)worst;
	cut_at_points(m, points, count);
	for (uint32_t i = 0; i < m->count; i++)
		align_segment(&m->segments[i], points, count);
}

void tick_map_release(struct tick_map *m)
{
	free(m->segments);
	memset(m, 0, sizeof(*m));
}

const struct tick_segment *tick_map_find(const struct tick_map *m, uint64_t tick)
{
	uint32_t lo = 0, hi = m->count;

	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (tick < m->segments[mid].from)
			hi = mid;
		else
			lo = mid;
	}
	return &m->segments[lo];
}

/* ---- device clocks ------------------------------------------------------------------------- */

static int compare_syncs(const void *a, const void *b)
{
	const struct device_sync *x = a, *y = b;

	return (x->value > y->value) - (x->value < y->value);
}

/* Offsets that satisfy every bracket so far: [low, high]; empty when low > high. */
struct range {
	int64_t low, high;
};

static struct range offsets_of(const struct device_sync *s)
{
	return (struct range){(int64_t)((uint64_t)s->before - (uint64_t)s->value),
			      (int64_t)((uint64_t)s->after - (uint64_t)s->value)};
}

static double width(struct range r)
{
	return (double)r.high - (double)r.low;
}

static struct range intersect(struct range a, struct range b)
{
	return (struct range){a.low > b.low ? a.low : b.low, a.high < b.high ? a.high : b.high};
}

static int64_t centre(struct range r)
{
	return (int64_t)(((__int128)r.low + r.high) / 2);
}

/* The offsets that satisfy all brackets. */
static struct range agree(const struct device_sync *s, uint32_t count)
{
	struct range all = offsets_of(&s[0]);

	for (uint32_t i = 1; i < count; i++)
		all = intersect(all, offsets_of(&s[i]));
	return all;
}

static void add_point(struct device_map *m, int64_t value, struct range r)
{
	m->points[m->count++] = (struct device_point){value, centre(r)};
	if (width(r) / 2 > m->error_ns)
		m->error_ns = width(r) / 2;
}

/* How far the map is from satisfying a bracket. */
static double violation(const struct device_map *m, const struct device_sync *s)
{
	int64_t at = device_map_ns(m, s->value);

	return at < s->before  ? (double)s->before - (double)at
	       : at > s->after ? (double)at - (double)s->after
			       : 0;
}

/* Closer points would turn noise into slope, and might make time run backwards. */
static bool too_close(const struct device_map *m, int64_t value, const struct range *r)
{
	const struct device_point *last = m->count ? &m->points[m->count - 1] : NULL;
	__int128 since, moved;

	if (!last)
		return false;
	since = (__int128)value - last->value;
	moved = (__int128)centre(*r) - last->offset;
	return since < CLOSE || moved <= -since / 2;
}

/* Clocks count what they like, and a file may say anything. */
static bool in_window(const struct device_sync *first, const struct device_sync *s)
{
	return (__int128)s->value - first->value < WINDOW;
}

/*
 * A point for each window of the clock's time in which one offset satisfies all brackets. Brackets that
 * the map then does not satisfy widen the stated error.
 */
static void add_windows(struct device_map *m, const struct device_sync *s, uint32_t count)
{
	double worst = 0;

	for (uint32_t from = 0, to; from < count; from = to) {
		struct range r = offsets_of(&s[from]);
		int64_t value;

		for (to = from + 1; to < count && in_window(&s[from], &s[to]); to++) {
			struct range both = intersect(r, offsets_of(&s[to]));

			if (both.low > both.high)
				break;
			r = both;
		}
		value = s[from].value + (s[to - 1].value - s[from].value) / 2;
		if (!too_close(m, value, &r))
			add_point(m, value, r);
	}
	for (uint32_t i = 0; i < count; i++) {
		double v = violation(m, &s[i]);

		worst = v > worst ? v : worst;
	}
	m->error_ns += worst;
}

static uint32_t drop_impossible(struct device_sync *s, uint32_t count)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (s[i].after >= s[i].before)
			s[n++] = s[i];
	}
	return n;
}

kymo_status_t device_map_build(struct device_map *m, struct device_sync *syncs, uint32_t count)
{
	struct range all;

	memset(m, 0, sizeof(*m));
	m->error_ns = -1;
	count = drop_impossible(syncs, count);
	if (count == 0)
		return KYMO_OK;
	qsort(syncs, count, sizeof(*syncs), compare_syncs);
	m->points = calloc(count, sizeof(*m->points));
	if (!m->points)
		return KYMO_ERROR_NO_MEMORY;
	m->error_ns = 0;
	all = agree(syncs, count);
	if (all.low <= all.high)
		add_point(m, syncs[0].value, all);
	else
		add_windows(m, syncs, count);
	return KYMO_OK;
}

void device_map_release(struct device_map *m)
{
	free(m->points);
	memset(m, 0, sizeof(*m));
}

int64_t device_map_ns(const struct device_map *m, int64_t value)
{
	uint32_t lo = 0, hi = m->count;
	const struct device_point *a, *b;
	double at;

	if (m->count == 0)
		return value;
	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (value < m->points[mid].value)
			hi = mid;
		else
			lo = mid;
	}
	if (m->count == 1)
		return (int64_t)((uint64_t)value + (uint64_t)m->points[0].offset);
	if (lo + 1 == m->count)
		lo--; /* beyond the last point: the last slope goes on */
	a = &m->points[lo];
	b = &m->points[lo + 1];
	at = ((double)value - (double)a->value) / ((double)b->value - (double)a->value);
	at *= (double)b->offset - (double)a->offset;
	if (!(at > -9e18 && at < 9e18))
		at = 0; /* only damaged sync points get here */
	return (int64_t)((uint64_t)value + (uint64_t)a->offset + (uint64_t)(int64_t)at);
}
