/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of counters: what is counted together, and how instances become the values wanted. */
#include "base/assert.h"
#include "base/numbers.h"
#include "core/counter/counter.h"
#include "core/process/process.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SETS 256u

static struct {
	struct counter_set *set;
	uint32_t generation;
} sets[SETS];

/* ---- handles: generation << 16 | slot + 1 ---- */

struct counter_set *counter_set_get(kymo_counter_set_t h)
{
	uint32_t i = (uint32_t)(h.handle & 0xffff) - 1;
	struct counter_set *s = NULL;

	pthread_mutex_lock(&counters_lock);
	if (i < SETS && sets[i].set && sets[i].generation == (uint32_t)(h.handle >> 16)) {
		s = sets[i].set;
		s->references++;
	}
	pthread_mutex_unlock(&counters_lock);
	return s;
}

void counter_set_put(struct counter_set *s)
{
	bool last;

	if (!s)
		return;
	pthread_mutex_lock(&counters_lock);
	kymo_assert(s->references);
	last = --s->references == 0;
	pthread_mutex_unlock(&counters_lock);
	if (last)
		free(s);
}

static kymo_status_t publish(struct counter_set *s, kymo_counter_set_t *out)
{
	kymo_status_t status = KYMO_ERROR_LIMIT;

	pthread_mutex_lock(&counters_lock);
	for (uint32_t i = 0; i < SETS && status != KYMO_OK; i++) {
		if (sets[i].set)
			continue;
		sets[i].set = s;
		sets[i].generation++;
		s->references = 1;
		out->handle = (uint64_t)sets[i].generation << 16 | (i + 1u);
		status = KYMO_OK;
	}
	pthread_mutex_unlock(&counters_lock);
	if (status != KYMO_OK)
		free(s);
	return status;
}

kymo_status_t kymo_counter_set_destroy(kymo_counter_set_t h)
{
	uint32_t i = (uint32_t)(h.handle & 0xffff) - 1;
	struct counter_set *s = counter_set_get(h);

	if (!s)
		return KYMO_ERROR_NOT_FOUND;
	pthread_mutex_lock(&counters_lock);
	sets[i].set = NULL;
	s->references--; /* the table's own; ours goes below */
	pthread_mutex_unlock(&counters_lock);
	counter_set_put(s);
	return KYMO_OK;
}

/* ---- making ---- */

static struct part *part_for(struct counter_set *s, const struct counter *c)
{
	for (uint32_t i = 0; i < s->part_count; i++)
		if (s->parts[i].provider == c->provider && s->parts[i].agent == c->info.agent)
			return &s->parts[i];
	if (s->part_count == COUNTER_PARTS)
		return NULL;
	s->parts[s->part_count] = (struct part){.provider = c->provider, .agent = c->info.agent};
	return &s->parts[s->part_count++];
}

/* Where the instances of `c` begin in the values of its part; several choices may share them. */
static uint32_t first_of(struct part *p, const struct counter *c)
{
	uint32_t first = 0;

	for (uint32_t i = 0; i < p->count; first += p->counters[i++]->instances)
		if (p->counters[i] == c)
			return first;
	p->counters[p->count] = c;
	p->handles[p->count++] = c->info.handle;
	p->instances += c->instances;
	return first;
}

/* The dimension is still there in the output. */
static bool stays(const struct choice *c, uint32_t d)
{
	if (c->selects && c->select[d] != KYMO_COUNTER_ALL)
		return false;
	return c->reduce == KYMO_REDUCE_NONE || (c->keep >> d & 1);
}

static void name_choice(struct choice *c)
{
	static const char reductions[][5] = {"", "sum(", "avg(", "min(", "max("};
	const kymo_counter_info_t *info = &c->counter->info;
	size_t n = (size_t)snprintf(c->name, sizeof(c->name), "%s%s", reductions[c->reduce],
				    info->name);

	for (uint32_t d = 0; c->selects && d < info->dimension_count && n < sizeof(c->name); d++)
		if (c->select[d] != KYMO_COUNTER_ALL)
			n += (size_t)snprintf(c->name + n, sizeof(c->name) - n, "[%s=%u]",
					      info->dimensions[d].name, c->select[d]);
	if (c->reduce && n < sizeof(c->name))
		snprintf(c->name + n, sizeof(c->name) - n, ")");
}

static kymo_status_t check_choice(const kymo_counter_choice_t *from, const struct counter *c)
{
	if (from->size < sizeof(*from))
		return KYMO_ERROR_INCOMPATIBLE;
	if (!c) {
		counter_refuse("a choice names a counter that does not exist");
		return KYMO_ERROR_NOT_FOUND;
	}
	if (c->info.unavailable) {
		counter_refuse("counter %s cannot be counted here: %s", c->info.name,
			       c->info.unavailable);
		return KYMO_ERROR_UNSUPPORTED;
	}
	if ((unsigned)from->reduce > KYMO_REDUCE_MAXIMUM)
		return KYMO_ERROR_INVALID_ARGUMENT;
	for (uint32_t d = 0; from->select && d < c->info.dimension_count; d++) {
		if (from->select[d] != KYMO_COUNTER_ALL &&
		    from->select[d] >= c->info.dimensions[d].size) {
			counter_refuse("counter %s has no position %u in dimension %s",
				       c->info.name, from->select[d], c->info.dimensions[d].name);
			return KYMO_ERROR_LIMIT;
		}
	}
	return KYMO_OK;
}

struct counter_set *counter_set_part(const struct counter_set *s, uint64_t choices)
{
	struct counter_set *out = calloc(1, sizeof(*out));

	if (!out)
		return NULL;
	memcpy(out->name, s->name, sizeof(out->name));
	out->references = 1;
	out->modes = s->modes;
	for (uint32_t i = 0; i < s->choice_count; i++) {
		struct choice *c = &out->choices[out->choice_count];
		struct part *p;

		if (!(choices >> i & 1))
			continue;
		*c = s->choices[i];
		p = part_for(out, c->counter);
		c->part = (uint32_t)(p - out->parts);
		c->first = first_of(p, c->counter);
		c->out = out->outputs;
		out->outputs += c->outputs;
		out->choice_count++;
	}
	for (uint32_t i = 0; i < out->part_count; i++)
		out->inputs += out->parts[i].instances;
	return out;
}

static kymo_status_t add_choice(struct counter_set *s, const kymo_counter_choice_t *from)
{
	const struct counter *counter = counter_of(from->counter);
	kymo_status_t status = check_choice(from, counter);
	struct choice *c = &s->choices[s->choice_count];
	struct part *p;

	if (status != KYMO_OK)
		return status;
	p = part_for(s, counter);
	if (!p) {
		counter_refuse("a set takes counters of at most %u providers and agents",
			       COUNTER_PARTS);
		return KYMO_ERROR_LIMIT;
	}
	*c = (struct choice){.counter = counter,
			     .reduce = from->reduce,
			     .keep = from->keep,
			     .selects = from->select != NULL,
			     .part = (uint32_t)(p - s->parts),
			     .first = first_of(p, counter),
			     .out = s->outputs,
			     .outputs = 1};
	if (from->select && counter->info.dimension_count)
		memcpy(c->select, from->select, counter->info.dimension_count * sizeof(*c->select));
	for (uint32_t d = 0; d < counter->info.dimension_count; d++)
		c->outputs *= stays(c, d) ? counter->info.dimensions[d].size : 1;
	name_choice(c);
	s->modes &= counter->info.modes;
	s->outputs += c->outputs;
	s->choice_count++;
	return KYMO_OK;
}

kymo_status_t kymo_counter_set_create(const char *name, const kymo_counter_choice_t *choices,
				      uint32_t count, kymo_counter_set_t *out)
{
	kymo_status_t status = KYMO_OK;
	struct counter_set *s;

	if (!name || !choices || !count || !out)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (count > KYMO_COUNTER_CHOICES)
		return KYMO_ERROR_LIMIT;
	if (!core_init())
		return KYMO_ERROR_UNSUPPORTED;
	s = calloc(1, sizeof(*s));
	if (!s)
		return KYMO_ERROR_NO_MEMORY;
	snprintf(s->name, sizeof(s->name), "%s", name);
	s->modes = KYMO_COUNTER_THREAD | KYMO_COUNTER_AGENT | KYMO_COUNTER_DISPATCH;
	for (uint32_t i = 0; i < count && status == KYMO_OK; i++)
		status = add_choice(s, &choices[i]);
	for (uint32_t i = 0; i < s->part_count; i++)
		s->inputs += s->parts[i].instances;
	if (status == KYMO_OK && s->inputs > KYMO_COUNTER_INSTANCES) {
		counter_refuse("the counters of a set have at most %u instances, these have %u",
			       KYMO_COUNTER_INSTANCES, s->inputs);
		status = KYMO_ERROR_LIMIT;
	}
	if (status == KYMO_OK)
		return publish(s, out);
	free(s);
	return status;
}

/* ---- from text ---- */

static kymo_status_t parse_selection(char *brackets, const kymo_counter_info_t *info,
				     uint32_t *select)
{
	while (brackets && *brackets) {
		char *equals = strchr(brackets, '='), *close = strchr(brackets, ']'), *end;
		uint32_t d = 0;
		unsigned long at;

		if (*brackets != '[' || !equals || !close || equals > close) {
			counter_refuse("\"%s\" is no selection: [DIMENSION=NUMBER]", brackets);
			return KYMO_ERROR_INVALID_ARGUMENT;
		}
		*equals = *close = '\0';
		while (d < info->dimension_count &&
		       strcmp(info->dimensions[d].name, brackets + 1) != 0)
			d++;
		at = strtoul(equals + 1, &end, 10);
		if (d == info->dimension_count || end == equals + 1 || *end ||
		    at > UINT32_MAX - 1) {
			counter_refuse("counter %s has no dimension and position \"%s=%s\"",
				       info->name, brackets + 1, equals + 1);
			return KYMO_ERROR_NOT_FOUND;
		}
		select[d] = (uint32_t)at;
		brackets = close + 1;
	}
	return KYMO_OK;
}

static kymo_reduce_t parse_reduction(char **word)
{
	static const char names[][5] = {"sum(", "avg(", "min(", "max("};
	size_t n = strlen(*word);

	for (unsigned i = 0; i < 4; i++) {
		if (strncmp(*word, names[i], 4) == 0 && n > 5 && (*word)[n - 1] == ')') {
			(*word)[n - 1] = '\0';
			*word += 4;
			return (kymo_reduce_t)(i + 1);
		}
	}
	return KYMO_REDUCE_NONE;
}

/* What is being read from text. */
struct reading {
	kymo_counter_choice_t choices[KYMO_COUNTER_CHOICES];
	uint32_t select[KYMO_COUNTER_CHOICES][KYMO_COUNTER_DIMENSIONS];
	uint32_t count;
};

static kymo_status_t take_choice(struct reading *r, kymo_counter_t counter, kymo_reduce_t reduce,
				 const char *brackets)
{
	kymo_counter_info_t info = {.size = sizeof(info)};
	char copy[128];
	uint32_t *select;

	if (r->count == KYMO_COUNTER_CHOICES) {
		counter_refuse("a set takes at most %u counters", KYMO_COUNTER_CHOICES);
		return KYMO_ERROR_LIMIT;
	}
	select = r->select[r->count];
	for (uint32_t d = 0; d < KYMO_COUNTER_DIMENSIONS; d++)
		select[d] = KYMO_COUNTER_ALL;
	r->choices[r->count++] = (kymo_counter_choice_t){.size = sizeof(kymo_counter_choice_t),
							 .counter = counter,
							 .reduce = reduce,
							 .select = select};
	snprintf(copy, sizeof(copy), "%s", brackets);
	kymo_counter_describe(counter, NULL, &info);
	return parse_selection(copy, &info, select);
}

/* Cuts ":device=0,2-3" off. False: they are no numbers. */
static bool parse_devices(char *word, struct number_list *devices)
{
	char *list = strstr(word, COUNTER_DEVICES);

	if (!list)
		return true;
	if (!numbers_parse(devices, list + strlen(COUNTER_DEVICES))) {
		counter_refuse("\"%s\": devices are numbers and ranges, as in " COUNTER_DEVICES
			       "0,2-3",
			       word);
		return false;
	}
	*list = '\0';
	return true;
}

/* The first number that is listed and is none of `count` devices. */
static bool missing_device(const struct number_list *l, uint32_t count, uint64_t *number)
{
	for (uint32_t i = 0; i < l->count; i++) {
		*number = l->at[i].first > count ? l->at[i].first : count;
		if (l->at[i].last >= count)
			return true;
	}
	return false;
}

/* One of each agent that has it, or of those whose numbers among these are listed. */
static kymo_status_t choose_agents(struct reading *r, const char *word, kymo_reduce_t reduce,
				   const char *brackets, const struct number_list *devices)
{
	uint32_t agents[COUNTER_PARTS * 8], have = 0;
	uint32_t n = counter_agents(agents, sizeof(agents) / sizeof(agents[0]));
	kymo_counter_t counter;
	uint64_t missing;

	for (uint32_t i = 0; i < n; i++) {
		kymo_status_t status = KYMO_OK;

		if (kymo_counter_find(word, agents[i], &counter) != KYMO_OK)
			continue;
		if (!devices->count || numbers_have(devices, have))
			status = take_choice(r, counter, reduce, brackets);
		if (status != KYMO_OK)
			return status;
		have++;
	}
	if (!have) {
		counter_refuse("no provider has a counter \"%s\"", word);
		return KYMO_ERROR_NOT_FOUND;
	}
	if (missing_device(devices, have, &missing)) {
		counter_refuse("%s is of no device %llu: devices that have it are numbered 0 to %u",
			       word, (unsigned long long)missing, have - 1);
		return KYMO_ERROR_NOT_FOUND;
	}
	return KYMO_OK;
}

static kymo_status_t choose(struct reading *r, const char *word, kymo_reduce_t reduce,
			    const char *brackets, const struct number_list *devices)
{
	kymo_counter_t counter;

	if (kymo_counter_find(word, 0, &counter) != KYMO_OK)
		return choose_agents(r, word, reduce, brackets, devices);
	if (!devices->count)
		return take_choice(r, counter, reduce, brackets);
	counter_refuse("%s is counted on the host, which has no numbers of devices", word);
	return KYMO_ERROR_INVALID_ARGUMENT;
}

/* A counter of the host, else one of devices. */
static kymo_status_t parse_choice(struct reading *r, char *word)
{
	struct number_list devices = {0};
	kymo_status_t status = KYMO_ERROR_INVALID_ARGUMENT;
	char *open, brackets[128] = "";
	kymo_reduce_t reduce;

	if (parse_devices(word, &devices)) {
		reduce = parse_reduction(&word);
		open = strchr(word, '[');
		if (open) {
			snprintf(brackets, sizeof(brackets), "%s", open);
			*open = '\0';
		}
		status = choose(r, word, reduce, brackets, &devices);
	}
	free(devices.at);
	return status;
}

/* Numbers after a comma are of the devices before it. */
size_t kymo_counter_item(const char *list)
{
	const char *devices;
	size_t n;

	if (!list)
		return 0;
	devices = strstr(list, COUNTER_DEVICES);
	n = strcspn(list, ",");
	while (devices && devices < list + n && list[n] == ',' &&
	       isdigit((unsigned char)list[n + 1]))
		n += 1 + strcspn(list + n + 1, ",");
	return n;
}

kymo_status_t kymo_counter_set_parse(const char *name, const char *list, kymo_counter_set_t *out)
{
	kymo_status_t status = KYMO_OK;
	struct reading *r;
	char *copy;

	if (!name || !list || !out)
		return KYMO_ERROR_INVALID_ARGUMENT;
	copy = strdup(list);
	r = calloc(1, sizeof(*r));
	if (!copy || !r)
		status = KYMO_ERROR_NO_MEMORY;
	for (char *w = copy; r && w && *w && status == KYMO_OK;) {
		size_t length = kymo_counter_item(w);
		char *next = w[length] ? w + length + 1 : w + length;

		w[length] = '\0';
		if (length)
			status = parse_choice(r, w);
		w = next;
	}
	if (status == KYMO_OK && !r->count)
		counter_refuse("the list of counters is empty");
	if (status == KYMO_OK)
		status = kymo_counter_set_create(name, r->choices, r->count, out);
	if (status != KYMO_OK)
		cap_note(2, "counter", "not counted: %s", kymo_counter_error());
	free(copy);
	free(r);
	return status;
}

/* ---- values ---- */

kymo_status_t kymo_counter_set_value(kymo_counter_set_t set, uint32_t index, const char **name,
				     const char **unit, uint64_t *instance)
{
	struct counter_set *s = counter_set_get(set);
	kymo_status_t status = KYMO_ERROR_NOT_FOUND;

	for (uint32_t i = 0; s && i < s->choice_count; i++) {
		const struct choice *c = &s->choices[i];

		if (index < c->out || index - c->out >= c->outputs)
			continue;
		if (name)
			*name = c->name;
		if (unit)
			*unit = c->counter->info.unit;
		if (instance)
			*instance = index - c->out;
		status = KYMO_OK;
	}
	counter_set_put(s);
	return status;
}

static void dimensions_text(const struct choice *c, char *out, size_t size)
{
	const kymo_counter_info_t *info = &c->counter->info;
	size_t n = 0;

	out[0] = '\0';
	for (uint32_t d = 0; d < info->dimension_count && n < size; d++)
		if (stays(c, d))
			n += (size_t)snprintf(out + n, size - n, "%s%s:%u", n ? "," : "",
					      info->dimensions[d].name, info->dimensions[d].size);
}

void counter_set_define(struct counter_set *s)
{
	for (uint32_t i = 0; i < s->choice_count; i++) {
		struct choice *c = &s->choices[i];
		const kymo_counter_info_t *info = &c->counter->info;
		char dimensions[256];
		struct wire_def d;
		uint32_t id;
		bool fresh;

		pthread_mutex_lock(&counters_lock);
		fresh = !c->definition;
		if (fresh)
			c->definition = cap_new_id(DEF_COUNTER);
		id = c->definition;
		pthread_mutex_unlock(&counters_lock);
		if (!fresh)
			continue;
		dimensions_text(c, dimensions, sizeof(dimensions));
		wire_def_init(&d, DEF_COUNTER);
		wire_def_u64(&d, id);
		wire_def_string(&d, c->name);
		wire_def_string(&d, info->unit);
		wire_def_string(&d, info->description);
		wire_def_string(&d, c->counter->provider->name);
		wire_def_u64(&d, info->agent);
		wire_def_u64(&d, info->flags);
		wire_def_string(&d, dimensions);
		cap_define(&d);
	}
}

/* NaN stands for "nothing yet". */
static void take(const struct choice *c, double v, double *out)
{
	bool first = *out != *out;

	if (first || (c->reduce == KYMO_REDUCE_MINIMUM && v < *out) ||
	    (c->reduce == KYMO_REDUCE_MAXIMUM && v > *out))
		*out = v;
	else if (c->reduce == KYMO_REDUCE_SUM || c->reduce == KYMO_REDUCE_AVERAGE)
		*out += v;
}

/* Where instance `i` of the counter goes; false: it is not selected. */
static bool place(const struct choice *c, uint32_t i, uint32_t *out)
{
	const kymo_counter_info_t *info = &c->counter->info;
	uint32_t to = 0, scale = 1;

	for (uint32_t d = info->dimension_count; d-- > 0;) {
		uint32_t size = info->dimensions[d].size, at = i % size;

		i /= size;
		if (c->selects && c->select[d] != KYMO_COUNTER_ALL && c->select[d] != at)
			return false;
		if (!stays(c, d))
			continue;
		to += at * scale;
		scale *= size;
	}
	*out = to;
	return true;
}

static void reduce_choice(const struct choice *c, const double *in, double *out)
{
	uint32_t taken = 0, to;

	for (uint32_t o = 0; o < c->outputs; o++)
		out[o] = __builtin_nan("");
	for (uint32_t i = 0; i < c->counter->instances; i++) {
		if (!place(c, i, &to))
			continue;
		take(c, in[i], &out[to]);
		taken++;
	}
	/* Every output is made of equally many instances. */
	for (uint32_t o = 0; o < c->outputs && c->reduce == KYMO_REDUCE_AVERAGE; o++)
		out[o] /= (double)taken / c->outputs;
}

static uint32_t part_offset(const struct counter_set *s, uint32_t part)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < part; i++)
		n += s->parts[i].instances;
	return n;
}

void counter_set_reduce(const struct counter_set *s, const double *in, double *out)
{
	for (uint32_t i = 0; i < s->choice_count; i++) {
		const struct choice *c = &s->choices[i];

		reduce_choice(c, in + part_offset(s, c->part) + c->first, out + c->out);
	}
}

void counter_set_difference(const struct counter_set *s, const double *from, const double *to,
			    double *scratch, double *out)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->part_count; i++) {
		for (uint32_t k = 0; k < s->parts[i].count; k++) {
			const struct counter *c = s->parts[i].counters[k];
			bool gauge = (c->info.flags & KYMO_COUNTER_GAUGE) != 0;

			for (uint32_t v = 0; v < c->instances; v++, n++)
				scratch[n] = gauge ? to[n] : to[n] - from[n];
		}
	}
	counter_set_reduce(s, scratch, out);
}
