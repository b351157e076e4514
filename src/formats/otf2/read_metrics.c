/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics as counters, one of each member, and of each device. What adds up since the begin is handed on as
 * what was added since the last value.
 */
#include <stdio.h>
#include <string.h>

#include <kymo/counter.h>

#include "base/hash.h"
#include "formats/otf2/reader.h"

struct where { /* what a value is of */
	uint32_t process, thread, agent;
	uint64_t key; /* of a series */
};

static void of_place(const struct place *p, struct where *w)
{
	w->process = p->process;
	w->thread = p->thread;
	w->agent = p->agent;
}

static void find_scope(const struct reader *r, const struct place *p, const struct metric_of *m,
		       struct where *w)
{
	uint32_t i;

	of_place(p, w);
	if (!m->instance)
		return;
	if (m->scope_kind == OTF2_SCOPE_LOCATION) {
		i = otf2r_at(&r->places_at, m->scope);
		if (i)
			of_place(&r->places[i - 1], w);
		return;
	}
	w->thread = 0;
	if (m->scope_kind != OTF2_SCOPE_LOCATION_GROUP)
		return;
	i = otf2r_at(&r->groups_at, m->scope);
	if (i) {
		w->process = r->groups[i - 1].process;
		w->agent = r->groups[i - 1].agent;
	}
}

static bool is_gauge(const struct reader *r, uint8_t mode)
{
	if (r->kymo)
		return mode == OTF2_METRIC_ABSOLUTE_POINT;
	return mode == OTF2_METRIC_ABSOLUTE_POINT || mode == OTF2_METRIC_ABSOLUTE_LAST ||
	       mode == OTF2_METRIC_ABSOLUTE_NEXT;
}

static bool adds_up(uint8_t mode)
{
	return mode == OTF2_METRIC_ACCUMULATED_START || mode == OTF2_METRIC_ACCUMULATED_POINT ||
	       mode == OTF2_METRIC_ACCUMULATED_LAST || mode == OTF2_METRIC_ACCUMULATED_NEXT;
}

static double value_of(OTF2_Type type, OTF2_MetricValue v)
{
	return type == OTF2_TYPE_DOUBLE  ? v.floating_point
	       : type == OTF2_TYPE_INT64 ? (double)v.signed_int
					 : (double)v.unsigned_int;
}

/* The first one is what there was before. */
static double since_last(struct reader *r, uint64_t key, double value)
{
	uint64_t before = map_get(&r->last_values, key), bits;
	double last;

	memcpy(&bits, &value, sizeof(bits));
	if (!map_set(&r->last_values, key, bits + 1 ? bits + 1 : 1))
		r->status = KYMO_ERROR_NO_MEMORY;
	if (!before)
		return value;
	before--;
	memcpy(&last, &before, sizeof(last));
	return value - last;
}

static uint32_t counter_of(struct reader *r, uint32_t member, const struct where *w)
{
	const struct metric_member *m = &r->members[member - 1];
	const struct t_counter c = {.process = w->process,
				    .agent = w->agent,
				    .flags = is_gauge(r, m->mode) ? KYMO_COUNTER_GAUGE : 0,
				    .name = m->name,
				    .unit = m->unit,
				    .description = m->description,
				    .provider = "otf2",
				    .dimensions = ""};

	return keyed_counter(&r->keyed, (uint64_t)w->agent << 32 | member, &c);
}

static uint32_t op_of(const struct where *w, bool correlated)
{
	if (correlated)
		return w->agent ? COUNTER_OP_DISPATCH : COUNTER_OP_CALL;
	return w->thread && !w->agent ? COUNTER_OP_THREAD : COUNTER_OP_SAMPLE;
}

static void take_value(struct reader *r, const struct place *p, uint32_t member,
		       const struct where *w, double value, const struct said *said)
{
	const struct metric_member *m = member ? &r->members[member - 1] : NULL;
	struct rec_counter c = {.base = otf2r_base(r, p, r->now),
				.correlation = said_of(said, ATTRIBUTE_CORRELATION_ID)};
	uint64_t duration = said_of(said, ATTRIBUTE_DURATION);

	if (!m) {
		unplaced_add(&r->unplaced, "values of metrics that are not defined", 1);
		return;
	}
	if (r->kymo && strncmp(m->name, "memory in use: ", 15) == 0)
		return; /* follows from allocations, which calls tell */
	value *= m->factor;
	if (!r->kymo && adds_up(m->mode))
		value = since_last(r, hash_mix(w->key, member), value);
	c.counter = counter_of(r, member, w);
	c.agent = w->agent;
	c.value = value;
	c.duration = duration < INT64_MAX ? (int64_t)duration : 0;
	c.base.process = w->process;
	c.base.thread = w->thread;
	c.base.op = make_activity(&r->model, RECORD_DOMAIN_counter, op_of(w, c.correlation != 0));
	OTF2R_EMIT(r, counter, &c);
}

static OTF2_CallbackCode on_metric(OTF2_LocationRef l, OTF2_TimeStamp t, void *data,
				   OTF2_AttributeList *a, OTF2_MetricRef ref, uint8_t count,
				   const OTF2_Type *types, const OTF2_MetricValue *values)
{
	struct reader *r = data;
	struct place *p = otf2r_event(r, l, t);
	uint32_t i = otf2r_at(&r->metrics_at, ref), k;
	const struct metric_of *m = i ? &r->metrics[i - 1] : NULL, *class = m;
	struct said said = {0};
	struct where w;

	if (!p)
		return OTF2_CALLBACK_SUCCESS;
	k = m && m->instance ? otf2r_at(&r->metrics_at, m->of) : i;
	class = k ? &r->metrics[k - 1] : NULL;
	if (!class || class->instance) {
		unplaced_add(&r->unplaced, "values of metrics that are not defined", count);
		return OTF2_CALLBACK_SUCCESS;
	}
	find_scope(r, p, m, &w);
	w.key = hash_mix(hash_u64((uint64_t)(p - r->places)), ref);
	otf2r_attributes(r, NULL, a, &said);
	for (unsigned n = 0; n < count; n++)
		take_value(r, p, n < class->count ? class->members[n] : 0, &w,
			   value_of(types[n], values[n]), &said);
	return r->status == KYMO_OK ? OTF2_CALLBACK_SUCCESS : OTF2_CALLBACK_INTERRUPT;
}

void otf2r_listen_metrics(OTF2_GlobalEvtReaderCallbacks *c)
{
	OTF2_GlobalEvtReaderCallbacks_SetMetricCallback(c, on_metric);
}
