/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of whole processors and of PMUs outside of them (memory controllers, links, ...), over time: those that
 * --counters names with processors. What other programs do there is counted as well.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/vec.h"
#include "telemetry/perf_list.h"
#include "telemetry/source.h"

struct counted {
	int fd;
	uint64_t cpu, at;                 /* at: ns of the last reading; 0: there was none */
	uint64_t value, enabled, running; /* of it */
	uint32_t metric, event;
};

struct perf {
	struct perf_list list;
	struct counted *at;
	uint32_t count, room;
	uint32_t *devices; /* of each event of the list */
	bool shared;       /* it was told */
};

static void perf_close_all(void *state)
{
	struct perf *s = state;

	for (uint32_t i = 0; i < s->count; i++)
		close(s->at[i].fd);
	free(s->at);
	free(s->devices);
	perf_list_release(&s->list);
	free(s);
}

/* A descriptor for each event and processor: the launcher starts no program any more that would inherit the limit. */
static void allow_descriptors(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_cur < l.rlim_max) {
		l.rlim_cur = l.rlim_max;
		setrlimit(RLIMIT_NOFILE, &l);
	}
}

static void open_on(struct probe *p, struct perf *s, uint32_t event, uint32_t metric, uint64_t cpu)
{
	const struct perf_event *e = &s->list.at[event];
	int fd = perf_event_on(e, cpu);
	char why[256];

	if (fd >= 0 && vec_reserve(&s->at, &s->room, s->count, 1)) {
		s->at[s->count++] =
			(struct counted){.fd = fd, .cpu = cpu, .metric = metric, .event = event};
		return;
	}
	perf_event_reason(e, cpu, fd < 0 ? -fd : ENOMEM, why, sizeof(why));
	meter_denied(p, "%s", why);
	if (fd >= 0)
		close(fd);
}

static void open_event(struct probe *p, struct perf *s, uint32_t event)
{
	const struct perf_event *e = &s->list.at[event];
	uint32_t device = 0, metric;

	for (uint32_t i = 0; *e->pmu && i < event; i++)
		if (strcmp(s->list.at[i].pmu, e->pmu) == 0)
			device = s->devices[i];
	if (*e->pmu && !device)
		device = meter_device(
			p,
			&(struct device_info){.type = "other", .name = e->pmu, .driver = "perf"});
	s->devices[event] = device;
	metric = meter_metric(p, &(struct metric_info){.name = e->name,
						       .unit = e->unit,
						       .description = e->description,
						       .device = device,
						       .kind = METRIC_TOTAL,
						       .dimensions = "cpu:8192"});
	for (uint32_t i = 0; i < e->cpus.count; i++)
		open_on(p, s, event, metric, e->cpus.at[i].first);
}

static void tell_unasked(struct probe *p)
{
	struct perf_event e = {.attr = {.type = PERF_TYPE_SOFTWARE}, .name = "cpu-clock"};
	int fd = perf_event_on(&e, 0);
	char why[256];

	if (fd >= 0) {
		close(fd);
		meter_missing(p, "none is named (--counters NAME:cpu=0-3)");
		return;
	}
	perf_event_reason(&e, 0, -fd, why, sizeof(why));
	meter_missing(p, "%s", why);
}

static void *perf_source_open(struct probe *p)
{
	const char *events = meter_events(p);
	struct perf *s;
	char error[256];

	if (!events) {
		tell_unasked(p);
		return NULL;
	}
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	allow_descriptors();
	if (!perf_list_parse(&s->list, meter_root(p), events, error, sizeof(error)))
		meter_denied(p, "%s", error);
	s->devices = calloc(s->list.count + 1u, sizeof(*s->devices));
	for (uint32_t i = 0; s->devices && i < s->list.count; i++)
		open_event(p, s, i);
	if (s->count)
		return s;
	perf_close_all(s);
	return NULL;
}

/* Of the time in which it could not count, for want of a counter, what it counted else is taken. */
static void tell_growth(struct probe *p, struct perf *s, struct counted *c, const uint64_t *now,
			uint64_t at)
{
	const struct perf_event *e = &s->list.at[c->event];
	double enabled = (double)(now[1] - c->enabled), running = (double)(now[2] - c->running);
	double grown = (double)(now[0] - c->value);

	if (enabled > 0 && running <= 0) {
		meter_gap(p, c->metric, "the processor had no counter free for it");
		return;
	}
	if (running < enabled && !s->shared) {
		meter_told(
			p,
			"there are more counters than the processor has: they count by turns, and "
			"their values are extrapolated");
		s->shared = true;
	}
	if (running > 0 && running < enabled)
		grown *= enabled / running;
	meter_growth_of(p, c->metric, c->cpu, grown * e->scale, at - c->at);
}

static void perf_source_read(struct probe *p, void *state)
{
	struct perf *s = state;

	for (uint32_t i = 0; i < s->count; i++) {
		struct counted *c = &s->at[i];
		uint64_t at = meter_before(p), now[3]; /* value, time enabled, time running */

		if (read(c->fd, now, sizeof(now)) != sizeof(now)) {
			meter_gap(p, c->metric, "the processor was taken away");
			continue;
		}
		if (c->at && at > c->at)
			tell_growth(p, s, c, now, at);
		c->at = at;
		c->value = now[0];
		c->enabled = now[1];
		c->running = now[2];
	}
}

extern const struct source source_perf;
const struct source source_perf = {
	.name = "perf",
	.about = "counters of whole processors: --counters NAME:cpu=LIST",
	.interval_ns = MILLISECOND,
	.open = perf_source_open,
	.read = perf_source_read,
	.close = perf_close_all,
};
