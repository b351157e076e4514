/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of counters and of telemetry as counter tracks, one for each counter, instance and owner:
 * the device, else the thread, else the process. A level stands where it was read. What is counted
 * is drawn as its rate, from the reading before on, since viewers hold a value until the next.
 */
#include "formats/perfetto/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"

enum { GAUGE = 1 };

static uint64_t hash_of(const struct series *s)
{
	return hash_mix(hash_mix(hash_u64(s->counter), (uint64_t)s->op << 32 | s->owner),
			s->instance);
}

static bool same(const struct series *a, const struct series *b)
{
	return a->counter == b->counter && a->op == b->op && a->owner == b->owner &&
	       a->instance == b->instance;
}

/* Index of the series, from 0; UINT32_MAX: no memory. */
static uint32_t series_at(struct series_table *t, const struct series *s)
{
	uint64_t hash = hash_of(s), i;

	map_each(&t->places, hash, i)
		if (same(&t->list[i - 1], s))
			return (uint32_t)i - 1;
	if (!vec_reserve(&t->list, &t->room, t->count, 1) ||
	    !map_add(&t->places, hash, t->count + 1))
		return UINT32_MAX;
	t->list[t->count] = *s;
	return t->count++;
}

void values_release(struct perfetto *p)
{
	free(p->series.list);
	map_release(&p->series.places);
}

/* The track that the counter's is below. */
static uint32_t owner_of(const struct perfetto *p, const struct rec_counter *r)
{
	const struct t_counter *k = &p->trace->counters[r->counter];
	uint32_t agent = r->agent ? r->agent : k->agent;

	if (agent && agent < p->trace->agents_count)
		return track_of_queue(p, r->base.process, agent, 0);
	if (p->trace->processes[r->base.process].telemetry)
		return track_of_process(p, r->base.process);
	return track_of_thread(p, r->base.process, r->base.thread);
}

static bool is_rate(const struct perfetto *p, const struct rec_counter *r)
{
	return !(p->trace->counters[r->counter].flags & GAUGE) && r->duration > 0 &&
	       strcmp(p->trace->ops[r->base.op].name, "sample") == 0;
}

bool values_draws(const struct perfetto *p, const struct rec_counter *r)
{
	return r->counter && r->counter < p->trace->counters_count;
}

kymo_status_t values_add(struct perfetto *p, const struct rec_counter *r)
{
	struct series s = {.counter = r->counter,
			   .op = r->base.op,
			   .owner = owner_of(p, r),
			   .instance = r->instance,
			   .rate = is_rate(p, r)};
	uint32_t index = series_at(&p->series, &s);
	int64_t time = r->base.start + (r->base.end - r->base.start) / 2;

	if (index == UINT32_MAX)
		return KYMO_ERROR_NO_MEMORY;
	if (!s.rate)
		return device_point(p, TRACK_OF_VALUE, index, time, r->value);
	return device_point(p, TRACK_OF_VALUE, index, time - r->duration,
			    r->value / ((double)r->duration / 1e9));
}

/* "minflt of clEnqueueNDRangeKernel" would be too many: one track for all calls of a thread. */
static void name_of(const struct perfetto *p, const struct series *s, char *out, size_t size)
{
	const struct t_counter *k = &p->trace->counters[s->counter];
	const char *op = p->trace->ops[s->op].name;
	char instance[40] = "";
	bool each = strcmp(op, "sample") != 0;

	if (*k->dimensions)
		snprintf(instance, sizeof(instance), " [%.*s %llu]",
			 (int)strcspn(k->dimensions, ":"), k->dimensions,
			 (unsigned long long)s->instance);
	snprintf(out, size, "%s%s%s%s", k->name, instance, each ? " of each " : "", each ? op : "");
}

uint64_t values_track(struct perfetto *p, uint32_t index)
{
	struct series *s = &p->series.list[index];
	const struct t_counter *k = &p->trace->counters[s->counter];
	char name[256], unit[80];

	if (s->described == p->parts.now + 1)
		return s->uuid;
	s->uuid = s->uuid ? s->uuid : p->next_uuid++;
	s->described = p->parts.now + 1;
	name_of(p, s, name, sizeof(name));
	snprintf(unit, sizeof(unit), "%.60s%s", k->unit, s->rate ? "/s" : "");
	track_describe_value(p, s->uuid, s->owner, name, unit, (int32_t)index);
	return s->uuid;
}
