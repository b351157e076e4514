/* SPDX-License-Identifier: Apache-2.0 */
/* Whether what is wanted of telemetry is here: opens the sources that can have it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "base/units.h"
#include "telemetry/cpus.h"
#include "telemetry/meter.h"
#include "telemetry/perf_list.h"

struct found {
	struct choice choice;
	bool named[CHOICE_ITEMS], called[CHOICE_ITEMS];
	bool device[CHOICE_ITEMS][METER_DEVICES];
	bool by_cpu[CHOICE_ITEMS], value[CHOICE_ITEMS][CHOICE_VALUES];
	struct number_list cpus;           /* that there are */
	struct text devices[CHOICE_ITEMS]; /* what there is, for people */
	struct text missing;
};

static void note_missing(void *data, const char *source, const char *text, bool denied)
{
	struct found *f = data;

	for (unsigned i = 0; i < f->choice.count; i++)
		if (strcmp(f->choice.items[i].name, source) == 0)
			text_addf(&f->missing, "; %s: %s", source, text);
	(void)denied;
}

static void note_value(struct found *f, unsigned i, const struct choice_value *v)
{
	if (!choice_named(&f->choice.items[i], v))
		return;
	f->named[i] = true;
	f->called[i] |= choice_called(&f->choice.items[i], v);
	f->by_cpu[i] |= v->by_cpu;
	for (unsigned k = 0; k < f->choice.items[i].value_count; k++)
		f->value[i][k] |= choice_pattern(f->choice.items[i].values[k], v);
	if (v->number < 0 || f->device[i][v->number])
		return;
	f->device[i][v->number] = true;
	text_addf(&f->devices[i], "%s%d (%s)", f->devices[i].length ? ", " : "", v->number,
		  v->device);
}

static void look_at(struct found *f, const struct meter *m)
{
	for (uint32_t k = 0; k < m->metric_count; k++) {
		struct choice_value v = meter_value(m, m->metrics[k]);

		for (unsigned i = 0; i < f->choice.count; i++)
			note_value(f, i, &v);
	}
}

static bool open_sources(struct found *f, const char *root, const char *events)
{
	const struct telemetry_visitor visitor = {.missing = note_missing, .data = f};

	for (unsigned i = 0; telemetry_sources[i]; i++) {
		struct meter *m;
		struct probe p;

		if (!choice_source(&f->choice, telemetry_sources[i]->name))
			continue;
		m = malloc(sizeof(*m));
		if (!m)
			return false;
		meter_init(m, root);
		m->events = events;
		m->visitor = &visitor;
		m->programs = meter_own_program;
		m->choice = &f->choice; /* for the processors that it lists */
		if (probe_open(&p, m, telemetry_sources[i]))
			look_at(f, m);
		probe_close(&p);
		meter_release(m);
		free(m);
	}
	return true;
}

/* The first number that is listed and not there; -1: none. */
static int64_t missing_device(const struct found *f, unsigned i)
{
	const struct number_list *l = &f->choice.items[i].devices;

	for (uint32_t k = 0; k < l->count; k++)
		for (uint64_t n = l->at[k].first; n <= l->at[k].last; n++)
			if (n >= METER_DEVICES || !f->device[i][n])
				return (int64_t)(n & INT64_MAX);
	return -1;
}

/* The first processor that is listed and not there; -1: none. */
static int64_t missing_cpu(const struct found *f, unsigned i)
{
	const struct number_list *l = &f->choice.items[i].cpus;

	for (uint32_t k = 0; k < l->count; k++)
		for (uint64_t n = l->at[k].first; n <= l->at[k].last; n++)
			if (!numbers_have(&f->cpus, n))
				return (int64_t)(n & INT64_MAX);
	return -1;
}

static bool check_cpus(const struct found *f, unsigned i, char *error, size_t size)
{
	const struct choice_item *c = &f->choice.items[i];
	int64_t n = missing_cpu(f, i);

	if (n >= 0)
		snprintf(error, size,
			 "there is no processor %lld; there are %u, numbered from %llu to "
			 "%llu",
			 (long long)n, f->cpus.count,
			 (unsigned long long)(f->cpus.count ? f->cpus.at[0].first : 0),
			 (unsigned long long)(f->cpus.count ? f->cpus.at[f->cpus.count - 1].last
							    : 0));
	else if (c->cpus.count && !f->by_cpu[i])
		snprintf(error, size, "%s has no values of each processor; cpu has", c->name);
	else
		return true;
	return false;
}

static bool check_values(const struct found *f, unsigned i, char *error, size_t size)
{
	const struct choice_item *c = &f->choice.items[i];

	for (unsigned k = 0; k < c->value_count; k++)
		if (!f->value[i][k]) {
			snprintf(error, size,
				 "%s has no value %s here; kymo list telemetry shows what it has",
				 c->name, c->values[k]);
			return false;
		}
	return true;
}

static bool check_item(const struct found *f, unsigned i, char *error, size_t size)
{
	const struct choice_item *c = &f->choice.items[i];
	const char *devices = f->devices[i].s ? f->devices[i].s : "none";
	int64_t n = missing_device(f, i);

	if (!f->named[i])
		snprintf(error, size, "there is no %s here%s; kymo list telemetry shows what is",
			 c->name, f->missing.s ? f->missing.s : "");
	else if (n >= 0)
		snprintf(error, size, "%s has no device %lld; it has: %s", c->name, (long long)n,
			 devices);
	else if (!f->called[i])
		snprintf(error, size, "%s has no %s %s; it has: %s", c->name,
			 c->interface ? "interface" : "device", c->called, devices);
	else
		return check_cpus(f, i, error, size) && check_values(f, i, error, size);
	return false;
}

bool telemetry_check(const char *root, const char *only, const char *events, char *error,
		     size_t size)
{
	struct found *f = calloc(1, sizeof(*f));
	bool good = f && choice_parse(&f->choice, only, error, size);

	if (!f)
		snprintf(error, size, "there is no memory");
	if (good)
		cpus_online(root, &f->cpus);
	if (good && !open_sources(f, root, events)) {
		snprintf(error, size, "there is no memory");
		good = false;
	}
	for (unsigned i = 0; good && i < f->choice.count; i++)
		good = check_item(f, i, error, size);
	for (unsigned i = 0; f && i < CHOICE_ITEMS; i++)
		text_release(&f->devices[i]);
	if (f) {
		text_release(&f->missing);
		choice_release(&f->choice);
		free(f->cpus.at);
	}
	free(f);
	return good;
}

static bool can_open(const struct perf_event *e, char *error, size_t size)
{
	for (uint32_t i = 0; i < e->cpus.count; i++) {
		int fd = perf_event_on(e, e->cpus.at[i].first);

		if (fd < 0) {
			perf_event_reason(e, e->cpus.at[i].first, -fd, error, size);
			return false;
		}
		close(fd);
	}
	return true;
}

bool telemetry_events_check(const char *root, const char *events, char *error, size_t size)
{
	struct perf_list l;
	bool good = perf_list_parse(&l, root, events, error, size);

	for (uint32_t i = 0; good && i < l.count; i++)
		good = can_open(&l.at[i], error, size);
	perf_list_release(&l);
	return good;
}

/* Sources with the interval of number `first`, of which it is the first. */
static void add_slower(const struct choice *c, unsigned first, struct text *out)
{
	const uint64_t interval = telemetry_sources[first]->interval_ns;
	const char *before = out->length ? "; " : "";
	char every[UNITS_TEXT];

	for (unsigned i = 0; telemetry_sources[i]; i++) {
		const struct source *s = telemetry_sources[i];

		if (s->interval_ns != interval || !choice_source(c, s->name))
			continue;
		if (i < first)
			return;
		text_addf(out, "%s%s", before, s->name);
		before = ", ";
	}
	text_addf(out, " every %s", units_time(interval, every));
}

bool telemetry_slower(uint64_t interval_ns, const char *only, struct text *out)
{
	struct choice c;
	char error[200];

	if (choice_parse(&c, only, error, sizeof(error)))
		for (unsigned i = 0; telemetry_sources[i]; i++)
			if (telemetry_sources[i]->interval_ns > interval_ns &&
			    choice_source(&c, telemetry_sources[i]->name))
				add_slower(&c, i, out);
	choice_release(&c);
	return out->length != 0;
}
