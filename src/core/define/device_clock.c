/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks of agents for tools in the process. Whatever a backend defines for readers of traces
 * passes by here: which clock an agent has, and readings that tie it to the host, each between two
 * host times. Kept are the latest of each clock.
 */
#include <pthread.h>
#include <stdlib.h>

#include <kymo/agent.h>
#include <kymo/answer.h>

#include "base/locks.h"
#include "base/vec.h"
#include "core/define/clock_readings.h"
#include "core/define/define.h"
#include "core/process/process.h"
#include "core/ring/ring.h"

struct device_clock {
	uint64_t rate; /* ns of 1000 units */
	struct clock_readings readings;
};

/* By id; under `threads`, which is taken last of all. */
static struct device_clock **clocks GUARDED_BY(core_live->threads);
static uint32_t *clock_of_agent GUARDED_BY(core_live->threads);
static uint32_t clock_room, agent_room;

#define IDS_MAX (1u << 20)

/* Caller holds `threads`. */
static struct device_clock *clock_get(uint32_t id) REQUIRES(core_live->threads)
{
	kymo_assert_held(&core_live->threads);
	if (id >= IDS_MAX || !vec_reserve_zero(&clocks, &clock_room, id, 1))
		return NULL;
	if (!clocks[id])
		clocks[id] = calloc(1, sizeof(*clocks[id]));
	if (clocks[id] && !clocks[id]->rate)
		clocks[id]->rate = 1000;
	return clocks[id];
}

/* Host times are taken now, while the ticks are near: later their rate would matter. */
static struct clock_reading reading_of(const struct wire_def *d)
{
	uint64_t before = wire_def_get(d, DEF_CLOCK_SYNC_BEFORE);
	uint64_t after = wire_def_get(d, DEF_CLOCK_SYNC_AFTER);

	if (wire_def_get(d, DEF_CLOCK_SYNC_HOST) == CLOCK_SYNC_TICKS) {
		struct tick_line line = tick_line_now();

		before = tick_line_ns(&line, before);
		after = tick_line_ns(&line, after);
	}
	return clock_reading_between(before, wire_def_get(d, DEF_CLOCK_SYNC_VALUE), after);
}

void core_clock_defined(const struct wire_def *d)
{
	struct device_clock *c;
	struct clock_reading r;
	uint32_t id;

	if (d->kind == DEF_CLOCK_SYNC)
		r = reading_of(d);
	pthread_mutex_lock(&core_live->threads);
	if (d->kind == DEF_AGENT) {
		id = (uint32_t)wire_def_get(d, DEF_AGENT_ID);
		if (id < IDS_MAX && vec_reserve_zero(&clock_of_agent, &agent_room, id, 1))
			clock_of_agent[id] = (uint32_t)wire_def_get(d, DEF_AGENT_CLOCK);
	} else {
		c = clock_get((uint32_t)wire_def_get(
			d, d->kind == DEF_CLOCK ? DEF_CLOCK_ID : DEF_CLOCK_SYNC_CLOCK));
		if (c && d->kind == DEF_CLOCK && wire_def_get(d, DEF_CLOCK_RATE))
			c->rate = wire_def_get(d, DEF_CLOCK_RATE);
		if (c && d->kind == DEF_CLOCK_SYNC) {
			r.value = (uint64_t)((unsigned __int128)r.value * c->rate / 1000);
			clock_readings_add(&c->readings, &r);
		}
	}
	pthread_mutex_unlock(&core_live->threads);
}

/* ---- what tools ask ---- */

static kymo_status_t convert(uint32_t agent, uint64_t t, uint64_t *host_ns, uint64_t *error_ns)
	REQUIRES(core_live->threads)
{
	uint32_t id = agent < agent_room ? clock_of_agent[agent] : 0;
	const struct device_clock *c = id && id < clock_room ? clocks[id] : NULL;
	double error;

	kymo_assert_held(&core_live->threads);
	if (!c || !clock_readings_host(&c->readings, t, host_ns, &error))
		return id ? KYMO_ERROR_STATE : KYMO_ERROR_UNSUPPORTED;
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
