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

enum { GAUGE = 1, FIRST_ROOM = 256 };

static uint32_t hash_of(const struct series *s)
{
	uint64_t h = s->counter;

	h = h * 0x9e3779b97f4a7c15ull + s->op;
	h = h * 0x9e3779b97f4a7c15ull + s->owner;
	h = h * 0x9e3779b97f4a7c15ull + s->instance;
	return (uint32_t)(h >> 32 ^ h);
}

static bool same(const struct series *a, const struct series *b)
{
	return a->counter == b->counter && a->op == b->op && a->owner == b->owner &&
	       a->instance == b->instance;
}

/* Where `s` stands in the table, or would. */
static uint32_t *slot_of(struct series_table *t, const struct series *s)
{
	uint32_t i = hash_of(s) & t->mask;

	while (t->slots[i] && !same(&t->list[t->slots[i] - 1], s))
		i = (i + 1) & t->mask;
	return &t->slots[i];
}

static bool grow(struct series_table *t)
{
	uint32_t room = t->room ? t->room * 2 : FIRST_ROOM;
	struct series *list = realloc(t->list, room * sizeof(*list));
	uint32_t *slots;

	if (!list)
		return false;
	t->list = list;
	slots = calloc(room * 2, sizeof(*slots));
	if (!slots)
		return false;
	free(t->slots);
	t->slots = slots;
	t->room = room;
	t->mask = room * 2 - 1;
	for (uint32_t i = 0; i < t->count; i++)
		*slot_of(t, &t->list[i]) = i + 1;
	return true;
}

/* Index of the series, from 0; UINT32_MAX: no memory. */
static uint32_t series_at(struct series_table *t, const struct series *s)
{
	uint32_t *slot;

	if (t->count == t->room && !grow(t))
		return UINT32_MAX;
	slot = slot_of(t, s);
	if (!*slot) {
		t->list[t->count] = *s;
		*slot = ++t->count;
	}
	return *slot - 1;
}

void values_release(struct perfetto *p)
{
	free(p->series.list);
	free(p->series.slots);
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
	struct series s = {.counter = r->counter, .op = r->base.op, .owner = owner_of(p, r),
			   .instance = r->instance, .rate = is_rate(p, r)};
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
		snprintf(instance, sizeof(instance), " [%.*s %llu]", (int)strcspn(k->dimensions, ":"),
			 k->dimensions, (unsigned long long)s->instance);
	snprintf(out, size, "%s%s%s%s", k->name, instance, each ? " of each " : "", each ? op : "");
}

uint64_t values_track(struct perfetto *p, uint32_t index)
{
	struct series *s = &p->series.list[index];
	const struct t_counter *k = &p->trace->counters[s->counter];
	char name[256], unit[80];

	if (s->uuid)
		return s->uuid;
	s->uuid = p->next_uuid++;
	name_of(p, s, name, sizeof(name));
	snprintf(unit, sizeof(unit), "%.60s%s", k->unit, s->rate ? "/s" : "");
	track_describe_value(p, s->uuid, s->owner, name, unit, (int32_t)index);
	return s->uuid;
}
