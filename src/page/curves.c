/* SPDX-License-Identifier: Apache-2.0 */
/* Curves: memory in use, telemetry, counters. See data.h. */
#include "page/data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kymo/counter.h>

#include "base/hash.h"
#include "base/text.h"
#include "base/vec.h"
#include "stream/names.h"
#include "stream/trace.h"

enum { MEMORY = UINT32_MAX };

/* There are too many curves. */
#define CURVE_NONE (UINT32_MAX - 1)

static bool same(const struct page_curve *a, const struct page_curve *b)
{
	return a->track == b->track && a->counter == b->counter && a->op == b->op &&
	       a->instance == b->instance && a->kind == b->kind;
}

/* Index; UINT32_MAX: no memory. */
static uint32_t curve_for(struct page_data *d, const struct page_curve *like)
{
	uint64_t hash = hash_mix(hash_mix(hash_u64((uint64_t)like->track << 32 | like->counter),
					  (uint64_t)like->op << 8 | like->kind),
				 like->instance);
	uint64_t i;
	struct page_curve c = *like;

	map_each(&d->curve_of, hash, i)
		if (same(&d->curves[i - 1], like))
			return (uint32_t)i - 1;
	if (d->curve_count >= PAGE_CURVES_MOST)
		return CURVE_NONE;
	c.points = page_chain_new(&d->store, sizeof(struct page_point));
	if (!c.points || !vec_reserve(&d->curves, &d->curve_room, d->curve_count, 1) ||
	    !map_add(&d->curve_of, hash, d->curve_count + 1u))
		return UINT32_MAX;
	c.min = INFINITY;
	c.max = -INFINITY;
	d->curves[d->curve_count] = c;
	return d->curve_count++;
}

/* Of what a spool has returned: why its file failed. */
static kymo_status_t tell_points(const struct page_data *d, kymo_status_t status)
{
	return status == KYMO_ERROR_SYSTEM ? page_temporary_failed(&d->store.where) : status;
}

static kymo_status_t add(struct page_data *d, uint32_t curve, int64_t time, int64_t duration,
			 double value)
{
	struct page_reading r = {.key.time = (int64_t)((uint64_t)time - (uint64_t)d->origin),
				 .duration = duration,
				 .value = value,
				 .curve = curve};

	if (curve == UINT32_MAX)
		return KYMO_ERROR_NO_MEMORY;
	if (r.key.time < 0 || r.key.time > (int64_t)COUNT_MAX || !isfinite(value) ||
	    curve == CURVE_NONE) {
		unplaced_add(&d->left,
			     curve == CURVE_NONE ? "readings for which there are too many curves"
						 : "readings that cannot be drawn",
			     1);
		return KYMO_OK;
	}
	return tell_points(d, spool_add(&d->points, &r));
}

/* ---- counters ---------------------------------------------------------------------------------- */

static uint32_t track_of(struct page_data *d, const struct rec_counter *r)
{
	const struct t_counter *k = &d->t->counters[r->counter];
	uint32_t agent = r->agent ? r->agent : k->agent;

	if (agent && agent < d->t->agents_count)
		return page_track_of_device(d, r->base.process, agent);
	if (d->t->processes[r->base.process].telemetry)
		return page_track_of_process(d, r->base.process);
	return page_track_of_thread(d, r->base.process, r->base.thread);
}

static void name_counter(const struct page_data *d, struct page_curve *c, bool rate)
{
	const struct t_counter *k = &d->t->counters[c->counter];
	const char *op = d->t->ops[c->op].name;
	bool each = strcmp(op, "sample") != 0 && c->kind == CURVE_COUNTER;
	struct text name = {0}, unit = {0};

	text_addf(&name, "%.200s", k->name);
	c->base = (uint32_t)name.length;
	if (*k->dimensions)
		text_addf(&name, " [%.*s %llu]", (int)strcspn(k->dimensions, ":"), k->dimensions,
			  (unsigned long long)c->instance);
	if (each)
		text_addf(&name, " of each %s", op);
	text_addf(&unit, "%.60s%s", k->unit, rate ? "/s" : "");
	c->name = name.s;
	c->unit = unit.s;
	c->level = (k->flags & KYMO_COUNTER_GAUGE) != 0;
}

/* ---- gaps -------------------------------------------------------------------------------------- */

/* Quarters of powers of two: 4, 5, 6, 7, 8, 10, 12, 14, 16, ... */
static unsigned class_of(int64_t ns)
{
	unsigned power = ns > 3 ? 63u - (unsigned)__builtin_clzll((uint64_t)ns) : 2;

	return ns > 3 ? 4 * power + ((uint64_t)ns >> (power - 2) & 3) : 0;
}

static int64_t class_end(unsigned class)
{
	return (int64_t)((5 + class % 4) << (class / 4)) / 4;
}

/* One reading more, `time` ns since the trace began, of a sensor that is read at an interval. */
static bool note_reading(struct page_curve *c, int64_t time)
{
	if (!c->apart)
		c->apart = calloc(PAGE_APART, sizeof(*c->apart));
	else if (time > c->read)
		c->apart[class_of(time - c->read)]++;
	c->read = time;
	return c->apart;
}

/* Half of the readings are not farther apart, to a quarter. 0: it is not read at an interval. */
static int64_t interval_of(const struct page_curve *c)
{
	uint64_t all = 0, sum = 0;
	unsigned i = 0;

	for (unsigned k = 0; c->apart && k < PAGE_APART; k++)
		all += c->apart[k];
	while (all && (sum += c->apart[i]) * 2 < all)
		i++;
	return all ? class_end(i) : 0;
}

static kymo_status_t put_point(struct page_data *d, struct page_curve *c, int64_t time,
			       double value)
{
	const struct page_point p = {time, value};

	return page_chain_add(&d->store, c->points, &p, time, time);
}

/* Nothing was measured from where the last point stands no longer: readings that come late by less are none missed. */
static kymo_status_t put_gap(struct page_data *d, struct page_curve *c, int64_t next)
{
	const int64_t interval = interval_of(c);

	if (!interval || !c->points->count || next - c->known <= interval + interval / 2)
		return KYMO_OK;
	return put_point(d, c, c->known, NAN);
}

/* A level stands where it was read; what is counted is a rate, from the reading before on. */
kymo_status_t page_counter(struct page_data *d, const struct rec_counter *r)
{
	const struct trace *t = d->t;
	const struct t_op *op = &t->ops[r->base.op];
	bool telemetry = strcmp(t->domains[op->domain].name, "telemetry") == 0;
	struct page_curve c = {.counter = r->counter, .op = r->base.op, .instance = r->instance};
	int64_t time = r->base.start + (r->base.end - r->base.start) / 2;
	bool rate;
	uint32_t i;

	if (!r->counter || r->counter >= t->counters_count) {
		unplaced_add(&d->left, "values of counters that are not known", 1);
		return KYMO_OK;
	}
	rate = !(t->counters[r->counter].flags & KYMO_COUNTER_GAUGE) && r->duration > 0 &&
	       strcmp(op->name, "sample") == 0;
	c.kind = telemetry ? CURVE_TELEMETRY : CURVE_COUNTER;
	c.step = true;
	c.track = track_of(d, r);
	i = c.track == UINT32_MAX ? UINT32_MAX : curve_for(d, &c);
	if (i < CURVE_NONE && !d->curves[i].name)
		name_counter(d, &d->curves[i], rate);
	if (i < CURVE_NONE && isfinite(r->value)) {
		d->curves[i].readings++;
		d->curves[i].sum += r->value;
		if (strcmp(op->name, "sample") == 0 && !note_reading(&d->curves[i], time))
			return KYMO_ERROR_NO_MEMORY;
	}
	return rate ? add(d, i, time - r->duration, r->duration,
			  r->value / ((double)r->duration / 1e9))
		    : add(d, i, time, 0, r->value);
}

/* ---- memory ------------------------------------------------------------------------------------ */

struct change {
	int64_t time;
	int64_t bytes;
	uint32_t curve, number;
};

static int by_curve(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->curve != y->curve)
		return x->curve < y->curve ? -1 : 1;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

static uint32_t memory_curve(struct page_data *d, const struct tl_allocation *a)
{
	struct page_curve c = {
		.kind = CURVE_MEMORY, .step = true, .counter = a->kind, .op = MEMORY};
	uint32_t i;

	c.track = page_track_of_device(d, a->process, a->agent);
	i = c.track == UINT32_MAX ? UINT32_MAX : curve_for(d, &c);
	if (i < CURVE_NONE && !d->curves[i].name) {
		struct text name = {0};

		text_addf(&name, "%s memory in use", name_memory_kind(a->kind));
		d->curves[i].name = name.s;
		d->curves[i].unit = strdup("B");
	}
	return i;
}

static kymo_status_t draw_memory(struct page_data *d, const struct change *at, uint32_t count)
{
	int64_t level = 0;
	kymo_status_t status = KYMO_OK;

	for (uint32_t i = 0; i < count && status == KYMO_OK; i++) {
		level = i && at[i].curve == at[i - 1].curve ? level : 0;
		level += at[i].bytes;
		status = add(d, at[i].curve, at[i].time, 0, (double)(level > 0 ? level : 0));
	}
	return status;
}

kymo_status_t page_memory(struct page_data *d, const struct timeline *tl)
{
	struct change *changes = calloc(tl->allocations_count + 1u, sizeof(*changes));
	uint32_t n = 0;
	kymo_status_t status = changes ? KYMO_OK : KYMO_ERROR_NO_MEMORY;

	for (uint32_t i = 0; changes && i < tl->allocations_count; i++) {
		const struct tl_allocation *a = &tl->allocations[i];
		bool drawn = !a->part && (!d->draws || d->draws[a->process]);
		uint32_t curve = drawn ? memory_curve(d, a) : 0;

		if (curve == UINT32_MAX)
			status = KYMO_ERROR_NO_MEMORY;
		else if (drawn)
			changes[n++] = (struct change){.time = a->time,
						       .bytes = a->freed ? -(int64_t)a->bytes
									 : (int64_t)a->bytes,
						       .curve = curve,
						       .number = i};
	}
	if (n)
		qsort(changes, n, sizeof(*changes), by_curve);
	if (status == KYMO_OK)
		status = draw_memory(d, changes, n);
	free(changes);
	return status;
}

/* ------------------------------------------------------------------------------------------------ */

/* Memory that was only given back, or whose sizes are not known, is none in use at any time: there is no curve of it. */
static void drop_empty(struct page_data *d)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < d->curve_count; i++) {
		struct page_curve *c = &d->curves[i];

		if (c->kind == CURVE_MEMORY && !(c->max > 0)) {
			free(c->name);
			free(c->unit);
			free(c->apart);
		} else {
			d->curves[kept++] = *c;
		}
	}
	d->curve_count = kept;
}

kymo_status_t page_curves_finish(struct page_data *d)
{
	const void *item;
	kymo_status_t status = tell_points(d, spool_rewind(&d->points));

	while (status == KYMO_OK &&
	       (status = tell_points(d, spool_next(&d->points, &item))) == KYMO_OK && item) {
		const struct page_reading *r = item;
		struct page_curve *c = &d->curves[r->curve];
		const int64_t time = r->key.time;

		c->min = r->value < c->min ? r->value : c->min;
		c->max = r->value > c->max ? r->value : c->max;
		d->length = (uint64_t)time > d->length ? (uint64_t)time : d->length;
		status = put_gap(d, c, time);
		if (status == KYMO_OK)
			status = put_point(d, c, time, r->value);
		c->known = time + (r->duration ? r->duration : interval_of(c));
	}
	for (uint32_t i = 0; i < d->curve_count && status == KYMO_OK; i++)
		status = put_gap(d, &d->curves[i], (int64_t)d->length);
	drop_empty(d);
	return status;
}
