/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks of agents for tools in the process. Whatever a backend defines for readers of traces
 * passes by here: which clock an agent has, and readings that tie it to the host, each between two
 * host times. Kept are the latest of each clock.
 */
#include <stdlib.h>

#include <kymo/agent.h>
#include <kymo/answer.h>

#include "core/internal.h"

#define READINGS 64u
#define APART_NS 10000000u /* closer readings say nothing of the rate */
#define DRIFT    1e-4      /* of a clock whose rate is not known: the bound that is told */

struct reading {
	uint64_t value;    /* ns of the clock */
	uint64_t host;     /* middle of the bracket, ns */
	double half_width; /* ns */
};

struct device_clock {
	uint64_t rate;  /* ns of 1000 units */
	uint32_t count; /* readings, by value */
	struct reading readings[READINGS];
};

/* By id; under `threads`, which is taken last of all. */
static struct device_clock **clocks;
static uint32_t *clock_of_agent;
static uint32_t clock_room, agent_room;

static bool grow(void *array, uint32_t *room, uint32_t id, size_t element)
{
	uint32_t more = *room ? *room : 64;
	void **at = array, *larger;

	if (id >= 1u << 20)
		return false;
	while (more <= id)
		more *= 2;
	if (more == *room)
		return true;
	larger = realloc(*at, more * element);
	if (!larger)
		return false;
	memset((char *)larger + *room * element, 0, (more - *room) * element);
	*at = larger;
	*room = more;
	return true;
}

/* Caller holds `threads`. */
static struct device_clock *clock_get(uint32_t id)
{
	if (!grow(&clocks, &clock_room, id, sizeof(*clocks)))
		return NULL;
	if (!clocks[id])
		clocks[id] = calloc(1, sizeof(*clocks[id]));
	if (clocks[id] && !clocks[id]->rate)
		clocks[id]->rate = 1000;
	return clocks[id];
}

/* Of too many the earliest gives way. */
static void add(struct device_clock *c, const struct reading *r)
{
	uint32_t at;

	if (c->count == READINGS) {
		if (r->value <= c->readings[0].value)
			return;
		c->count--;
		memmove(c->readings, c->readings + 1, c->count * sizeof(*r));
	}
	for (at = c->count; at && c->readings[at - 1].value > r->value; at--)
		c->readings[at] = c->readings[at - 1];
	c->readings[at] = *r;
	c->count++;
}

/* Host times are taken now, while the ticks are near: later their rate would matter. */
static struct reading reading_of(const struct wire_def *d)
{
	uint64_t before = wire_def_get(d, DEF_CLOCK_SYNC_BEFORE);
	uint64_t after = wire_def_get(d, DEF_CLOCK_SYNC_AFTER);

	if (wire_def_get(d, DEF_CLOCK_SYNC_HOST) == CLOCK_SYNC_TICKS) {
		before = core_tick_ns(before);
		after = core_tick_ns(after);
	}
	after = after > before ? after : before;
	return (struct reading){wire_def_get(d, DEF_CLOCK_SYNC_VALUE),
				before + (after - before) / 2, (double)(after - before) / 2};
}

void core_clock_defined(const struct wire_def *d)
{
	struct device_clock *c;
	struct reading r;
	uint32_t id;

	if (d->kind == DEF_CLOCK_SYNC)
		r = reading_of(d);
	pthread_mutex_lock(&core_live->threads);
	if (d->kind == DEF_AGENT) {
		id = (uint32_t)wire_def_get(d, DEF_AGENT_ID);
		if (grow(&clock_of_agent, &agent_room, id, sizeof(*clock_of_agent)))
			clock_of_agent[id] = (uint32_t)wire_def_get(d, DEF_AGENT_CLOCK);
	} else {
		c = clock_get((uint32_t)wire_def_get(
			d, d->kind == DEF_CLOCK ? DEF_CLOCK_ID : DEF_CLOCK_SYNC_CLOCK));
		if (c && d->kind == DEF_CLOCK && wire_def_get(d, DEF_CLOCK_RATE))
			c->rate = wire_def_get(d, DEF_CLOCK_RATE);
		if (c && d->kind == DEF_CLOCK_SYNC) {
			r.value = (uint64_t)((unsigned __int128)r.value * c->rate / 1000);
			add(c, &r);
		}
	}
	pthread_mutex_unlock(&core_live->threads);
}

/* ---- what tools ask ---- */

static double distance(uint64_t a, uint64_t b)
{
	return (double)(int64_t)(a - b);
}

static double widest(double a, double b)
{
	return a > b ? a : b;
}

/* Between two readings the clock is on the line between them, as far as each is right. */
static bool between(const struct device_clock *c, uint64_t t, double *host, double *error)
{
	for (uint32_t i = 1; i < c->count; i++) {
		const struct reading *a = &c->readings[i - 1], *b = &c->readings[i];
		double length = distance(b->value, a->value);

		if (t < a->value || t > b->value)
			continue;
		*host = length > 0 ? distance(t, a->value) * distance(b->host, a->host) / length
				   : 0;
		*host += distance(a->host, c->readings[0].host);
		*error = widest(a->half_width, b->half_width);
		return true;
	}
	return false;
}

/* Before the first or behind the last: by the rate between them if they are far enough apart. */
static void beyond(const struct device_clock *c, uint64_t t, double *host, double *error)
{
	const struct reading *a = &c->readings[0], *b = &c->readings[c->count - 1];
	const struct reading *near = t < a->value ? a : b;
	double length = distance(b->value, a->value), away = distance(t, near->value);
	double rate = 1, doubt = DRIFT;

	if (length >= APART_NS) {
		rate = distance(b->host, a->host) / length;
		doubt = (a->half_width + b->half_width) / length;
	}
	*host = distance(near->host, a->host) + away * rate;
	*error = near->half_width + (away < 0 ? -away : away) * doubt;
}

static kymo_status_t convert(uint32_t agent, uint64_t t, uint64_t *host_ns, uint64_t *error_ns)
{
	uint32_t id = agent < agent_room ? clock_of_agent[agent] : 0;
	const struct device_clock *c = id && id < clock_room ? clocks[id] : NULL;
	double host, error;

	if (!c || !c->count)
		return id ? KYMO_ERROR_STATE : KYMO_ERROR_UNSUPPORTED;
	if (!between(c, t, &host, &error))
		beyond(c, t, &host, &error);
	*host_ns = c->readings[0].host + (uint64_t)(int64_t)host;
	if (error_ns)
		*error_ns = (uint64_t)error + 1;
	return KYMO_OK;
}

kymo_status_t kymo_clock_to_host(uint32_t agent, uint64_t time, uint64_t *host_ns,
				 uint64_t *error_ns)
{
	const kymo_agent_t *known;
	kymo_status_t status;

	if (!host_ns || !agent)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (!core_init())
		return KYMO_ERROR_UNSUPPORTED;
	pthread_mutex_lock(&core_live->threads);
	status = convert(agent, time, host_ns, error_ns);
	pthread_mutex_unlock(&core_live->threads);
	if (status == KYMO_ERROR_UNSUPPORTED && kymo_agent_find_record(agent, &known) != KYMO_OK)
		status = KYMO_ERROR_NOT_FOUND;
	return status;
}
