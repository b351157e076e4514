/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers for devices of the same name. Each process and each runtime defines the devices it uses:
 * those of one uuid are one device, whoever defined them; without a uuid the first of each process are
 * taken for one, and so on.
 */
#include <stdlib.h>
#include <string.h>

#include "stream/trace.h"

struct device {
	const struct t_agent *agent;
	uint32_t index, ordinal; /* ordinal: among those of the name and process without uuid */
	uint32_t first, name;    /* lowest index of the same device, of the same name */
};

static int by_process(const void *a, const void *b)
{
	const struct device *x = a, *y = b;
	int order = strcmp(x->agent->name, y->agent->name);

	if (order == 0)
		order = (x->agent->process > y->agent->process) -
			(x->agent->process < y->agent->process);
	return order ? order : (x->index > y->index) - (x->index < y->index);
}

static int identity(const struct device *x, const struct device *y)
{
	int order = strcmp(x->agent->name, y->agent->name);

	if (order == 0)
		order = x->agent->has_uuid - y->agent->has_uuid;
	if (order == 0 && x->agent->has_uuid)
		order = memcmp(x->agent->uuid, y->agent->uuid, sizeof(x->agent->uuid));
	else if (order == 0)
		order = (x->ordinal > y->ordinal) - (x->ordinal < y->ordinal);
	return order;
}

static int by_identity(const void *a, const void *b)
{
	const struct device *x = a, *y = b;
	int order = identity(x, y);

	return order ? order : (x->index > y->index) - (x->index < y->index);
}

static int by_index(const void *a, const void *b)
{
	const struct device *x = a, *y = b;

	return (x->index > y->index) - (x->index < y->index);
}

static void count_ordinals(struct device *d, uint32_t count)
{
	qsort(d, count, sizeof(*d), by_process);
	for (uint32_t i = 1; i < count; i++)
		if (d[i].agent->process == d[i - 1].agent->process &&
		    strcmp(d[i].agent->name, d[i - 1].agent->name) == 0)
			d[i].ordinal = d[i - 1].ordinal + 1;
}

/* Sorted by identity, those of one name lie together. */
static void find_firsts(struct device *d, uint32_t count)
{
	qsort(d, count, sizeof(*d), by_identity);
	for (uint32_t i = 0, from = 0; i < count; i++) {
		d[i].first = i && identity(&d[i], &d[i - 1]) == 0 ? d[i - 1].first : d[i].index;
		if (i && strcmp(d[i].agent->name, d[from].agent->name) != 0)
			from = i;
		d[i].name = d[from].index;
	}
}

void trace_number_agents(struct trace *t)
{
	const uint32_t count = t->agents_count ? t->agents_count - 1 : 0; /* index 0 is none */
	struct device *d = calloc(count + 1, sizeof(*d));
	uint32_t *next = calloc(count + 1, sizeof(*next)); /* by index: numbers given out */

	for (uint32_t i = 0; d && i < count; i++)
		d[i] = (struct device){.agent = &t->agents[i + 1], .index = i + 1};
	if (d && next && count) { /* without memory they have no numbers */
		count_ordinals(d, count);
		find_firsts(d, count);
		qsort(d, count, sizeof(*d), by_index);
		for (uint32_t i = 0; i < count; i++)
			t->agents[i + 1].number = d[i].first == d[i].index
							  ? next[d[i].name]++
							  : t->agents[d[i].first].number;
		for (uint32_t i = 0; i < count; i++)
			t->agents[i + 1].several = next[d[i].name] > 1;
	}
	free(next);
	free(d);
}
