/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks and tracks of publishers. Readers of a trace get all readings of a clock; the latest are
 * kept here too, so that tools in the process can be told times on the host's time line.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/define/clock_readings.h"
#include "core/process/process.h"
#include "core/publish/publish.h"

#define CLOCKS 256u

struct clock {
	uint32_t id; /* of its definition */
	uint64_t ns_per_1000;
	struct clock_readings
		readings; /* under the lock of the threads, as it is taken last of all */
};

static struct clock clocks[CLOCKS];
static _Atomic uint32_t clock_count, track_count;

/* ---- clocks ---- */

static struct clock *clock_of(kymo_clock_t clock)
{
	uint32_t count = atomic_load_explicit(&clock_count, memory_order_acquire);

	return clock.handle && clock.handle <= count ? &clocks[clock.handle - 1] : NULL;
}

bool publish_clock_known(kymo_clock_t clock)
{
	return clock.handle == 0 || clock_of(clock);
}

uint32_t publish_clock_id(kymo_clock_t clock)
{
	const struct clock *c = clock_of(clock);

	return c ? c->id : 0;
}

uint64_t publish_clock_ns(kymo_clock_t clock, uint64_t units)
{
	const struct clock *c = clock_of(clock);

	if (!c || c->ns_per_1000 == 1000)
		return units;
	return (uint64_t)((unsigned __int128)units * c->ns_per_1000 / 1000);
}

kymo_status_t kymo_clock_create(const char *name, const char *kind, uint64_t ns_per_1000,
				kymo_clock_t *out)
{
	kymo_status_t status = core_changeable();
	struct wire_def d;
	uint32_t n, id;

	if (!name || !kind || !out || ns_per_1000 == 0)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (status != KYMO_OK)
		return status;
	id = cap_new_id(DEF_CLOCK);
	pthread_mutex_lock(&core_live->threads);
	n = atomic_load(&clock_count);
	if (n < CLOCKS) {
		clocks[n].id = id;
		clocks[n].ns_per_1000 = ns_per_1000;
		atomic_store_explicit(&clock_count, n + 1, memory_order_release);
	}
	pthread_mutex_unlock(&core_live->threads);
	if (n == CLOCKS)
		return KYMO_ERROR_LIMIT;
	wire_def_init(&d, DEF_CLOCK);
	wire_def_u64(&d, id);
	wire_def_string(&d, name);
	wire_def_string(&d, kind);
	wire_def_u64(&d, 1000); /* values are written in nanoseconds */
	cap_define(&d);
	out->handle = n + 1;
	return KYMO_OK;
}

kymo_status_t kymo_clock_sync(kymo_clock_t clock, uint64_t before, uint64_t value, uint64_t after,
			      kymo_sync_method_t method)
{
	kymo_status_t status = core_changeable();
	struct clock *c = clock_of(clock);
	struct clock_reading r;
	struct wire_def d;

	if (after < before || (method != KYMO_SYNC_SAMPLED && method != KYMO_SYNC_BOUNDED))
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (!c)
		return KYMO_ERROR_NOT_FOUND;
	if (status != KYMO_OK)
		return status;
	r = clock_reading_between(before, publish_clock_ns(clock, value), after);
	pthread_mutex_lock(&core_live->threads);
	clock_readings_add(&c->readings, &r);
	pthread_mutex_unlock(&core_live->threads);
	wire_def_init(&d, DEF_CLOCK_SYNC);
	wire_def_u64(&d, c->id);
	wire_def_u64(&d, before);
	wire_def_u64(&d, after);
	wire_def_u64(&d, r.value);
	wire_def_u64(&d, (uint64_t)method);
	wire_def_u64(&d, CLOCK_SYNC_NODE_TIME);
	cap_define(&d);
	return KYMO_OK;
}

uint64_t publish_clock_host(uint32_t id, uint64_t ns)
{
	uint32_t count = atomic_load_explicit(&clock_count, memory_order_acquire);

	for (uint32_t i = 0; i < count; i++) {
		if (clocks[i].id != id)
			continue;
		pthread_mutex_lock(&core_live->threads);
		clock_readings_host(&clocks[i].readings, ns, &ns, NULL);
		pthread_mutex_unlock(&core_live->threads);
		break;
	}
	return ns;
}

/* ---- host times as ticks ---- */

uint64_t publish_tick(uint64_t host_ns)
{
	struct tick_line line = tick_line_now();

	return tick_line_tick(&line, host_ns);
}

/* ---- tracks ---- */

kymo_status_t kymo_track_create(const char *name, kymo_track_t *out)
{
	kymo_status_t status = core_changeable();
	struct wire_def d;
	uint32_t n;

	if (!name || !out)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (status != KYMO_OK)
		return status;
	n = atomic_load(&track_count);
	do {
		if (n == CORE_TRACKS_MAX)
			return KYMO_ERROR_LIMIT;
	} while (!atomic_compare_exchange_weak(&track_count, &n, n + 1));
	wire_def_init(&d, DEF_THREAD);
	wire_def_u64(&d, CORE_TRACKS + n);
	wire_def_u64(&d, CORE_TRACKS + n); /* no thread of the system has such a number */
	wire_def_string(&d, name);
	wire_def_u64(&d, tick_now());
	wire_def_u64(&d, 0);
	cap_define(&d);
	out->handle = n + 1;
	return KYMO_OK;
}

bool publish_track(kymo_track_t track, uint32_t *thread)
{
	*thread = track.handle ? CORE_TRACKS + (uint32_t)track.handle - 1 : 0;
	return track.handle <= atomic_load(&track_count);
}
