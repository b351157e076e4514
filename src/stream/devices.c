/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels of devices and queues, which tell those of the same name apart. Each process and each
 * runtime defines the devices it uses: those of one node and uuid are one device, whoever defined
 * them; without a uuid the first of each process of a node are taken for one, and so on. Devices of
 * one name are numbered on each node, and named with it where other nodes have such devices. Parts of a
 * device (sub-devices, tiles) are numbered in what they are parts of, in each process for itself. What a user called a
 * device comes last, whichever process told it: what it is comes first.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "stream/trace.h"

struct device {
	const struct t_agent *agent;
	const char *host;
	uint32_t index, ordinal; /* ordinal: among those of the name and process without uuid */
	uint32_t first, kin; /* lowest index of the same device; of one of its name on its node */
	bool elsewhere;      /* other nodes have devices of the name */
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

static int compare_identity(const struct device *x, const struct device *y)
{
	int order = strcmp(x->agent->name, y->agent->name);

	if (order == 0)
		order = strcmp(x->host, y->host);
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
	int order = compare_identity(x, y);

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

static bool same_name(const struct device *x, const struct device *y)
{
	return strcmp(x->agent->name, y->agent->name) == 0;
}

/* `count` devices of one name, those of a node together. */
static void find_kin(struct device *d, uint32_t count)
{
	/* Processes that stand for several are of no node of their own: they sort first. */
	const char *first = d[count - 1].host;
	bool elsewhere = false;

	for (uint32_t i = 0; i < count; i++) {
		bool known = i && strcmp(d[i].host, d[i - 1].host) == 0;

		d[i].kin = known ? d[i - 1].kin : d[i].index;
		elsewhere |= *d[i].host && strcmp(d[i].host, first) != 0;
	}
	for (uint32_t i = 0; i < count; i++)
		d[i].elsewhere = elsewhere && *d[i].host;
}

static void find_firsts(struct device *d, uint32_t count)
{
	uint32_t from = 0;

	qsort(d, count, sizeof(*d), by_identity);
	for (uint32_t i = 0; i < count; i++) {
		d[i].first =
			i && compare_identity(&d[i], &d[i - 1]) == 0 ? d[i - 1].first : d[i].index;
		if (i + 1 == count || !same_name(&d[i], &d[i + 1])) {
			find_kin(d + from, i + 1 - from);
			from = i + 1;
		}
	}
}

static const char *keep(struct trace *t, struct text *label)
{
	const char *kept =
		trace_string(t, label->s ? label->s : "", label->failed ? 0 : label->length);

	text_release(label);
	return kept;
}

static const char *with_given(struct trace *t, const char *label, const char *given)
{
	struct text both = {0};

	if (!given || !*given)
		return label;
	text_addf(&both, "%s (%s)", label, given);
	return keep(t, &both);
}

static const char *of_part(struct trace *t, const char *device, uint32_t number)
{
	struct text label = {0};

	text_addf(&label, "%s part %u", device, number);
	return keep(t, &label);
}

static void label_agent(struct trace *t, const struct device *d)
{
	struct t_agent *a = &t->agents[d->index];
	struct text label = {0};

	text_add(&label, *a->name ? a->name : a->type);
	if (a->several)
		text_addf(&label, " #%u", a->number);
	if (d->elsewhere)
		text_addf(&label, " on %s", d->host);
	a->hardware = keep(t, &label);
	a->label = with_given(t, a->hardware, t->agents[d->first].given);
}

/* "OCCA Serial #1" says itself which one it is: runtimes that number what they make of one thing. */
bool trace_says_number(const char *name, uint32_t *out)
{
	const char *at = NULL;
	unsigned long number;
	char *end;

	for (const char *s = strstr(name, " #"); s; s = strstr(s + 1, " #"))
		at = s + 2;
	if (!at || *at < '0' || *at > '9')
		return false;
	number = strtoul(at, &end, 10);
	*out = (uint32_t)number;
	return number < UINT32_MAX && (*end == '\0' || *end == ' ');
}

static void number_devices(struct trace *t, struct device *d, uint32_t count, uint32_t *next)
{
	qsort(d, count, sizeof(*d), by_index);
	for (uint32_t i = 0; i < count; i++) /* one name for all that are one device */
		if (!t->agents[d[i].first].given)
			t->agents[d[i].first].given = d[i].agent->given;
	for (uint32_t i = 0; i < count; i++)
		t->agents[d[i].index].number =
			d[i].first == d[i].index ? next[d[i].kin]++ : t->agents[d[i].first].number;
	for (uint32_t i = 0; i < count; i++) {
		t->agents[d[i].index].several = next[d[i].kin] > 1;
		if (!t->agents[d[i].index].several)
			trace_says_number(d[i].agent->name, &t->agents[d[i].index].number);
		label_agent(t, &d[i]);
	}
}

/* A device is defined before its parts: what a damaged trace says otherwise is none. */
static bool is_part(const struct trace *t, uint32_t agent)
{
	return t->agents[agent].parent && t->agents[agent].parent < agent;
}

uint32_t trace_whole_device(const struct trace *t, uint32_t agent)
{
	while (agent && agent < t->agents_count && is_part(t, agent))
		agent = t->agents[agent].parent;
	return agent;
}

static void number_parts(struct trace *t, uint32_t *next)
{
	memset(next, 0, t->agents_count * sizeof(*next));
	for (uint32_t i = 1; i < t->agents_count; i++) {
		struct t_agent *a = &t->agents[i];

		if (!is_part(t, i))
			continue;
		a->several = true;
		a->number = next[a->parent]++;
		a->hardware = of_part(t, t->agents[a->parent].hardware, a->number);
		a->label =
			with_given(t, of_part(t, t->agents[a->parent].label, a->number), a->given);
	}
}

void trace_number_agents(struct trace *t)
{
	struct device *d = calloc(t->agents_count + 1, sizeof(*d));
	uint32_t *next =
		calloc(t->agents_count + 1, sizeof(*next)); /* by index: numbers given out */
	uint32_t count = 0;                                 /* of whole devices */

	for (uint32_t i = 1; i < t->agents_count; i++) { /* index 0 is none */
		struct t_agent *a = &t->agents[i];

		a->label = a->hardware = a->name;
		if (!is_part(t, i))
			a->parent = 0;
		if (d && !a->parent)
			d[count++] = (struct device){
				.agent = a, .index = i, .host = t->processes[a->process].hostname};
	}
	if (d && next && count) { /* without memory they have no numbers */
		count_ordinals(d, count);
		find_firsts(d, count);
		number_devices(t, d, count, next);
		number_parts(t, next);
	}
	free(next);
	free(d);
}

void trace_label_queues(struct trace *t)
{
	for (uint32_t i = 1; i < t->queues_count; i++) {
		struct t_queue *q = &t->queues[i];
		struct text label = {0};

		text_addf(&label, *q->name ? "queue %u (%s)" : "queue %u", q->number, q->name);
		q->label = keep(t, &label);
	}
}
