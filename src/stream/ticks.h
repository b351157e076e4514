/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clock mapping. Ticks of a process become node time (CLOCK_MONOTONIC_RAW, ns) by calibration
 * points taken during the run, piecewise linear between them; device clocks become node time by
 * sync points. Each mapping states the bound of its error. Both are monotonic: what was ordered
 * stays ordered.
 */
#ifndef STREAM_TICKS_H
#define STREAM_TICKS_H

#include <stdbool.h>
#include <stdint.h>

#include <kymo/status.h>

#include "wire/raw.h"

/* Valid for ticks in [from, to); ns = base_ns + (tick - base_tick) * rate / 2^40. */
struct tick_segment {
	uint64_t from, to;
	uint64_t base_tick;
	int64_t base_ns;
	uint64_t rate; /* ns per tick, 2^-40 units */
};

struct tick_map {
	struct tick_segment *segments; /* ascending, covering all ticks; at least one */
	uint32_t count;
	double error_ns; /* bound, from the widths of the brackets used */
};

/* What is known without calibration points: DEF_PROCESS. */
struct tick_origin {
	uint64_t tick, ns;
	uint64_t per_second; /* estimate; 0 is unknown */
	bool identity;       /* ticks are node nanoseconds */
};

/* Builds the map; sorts `points`. */
kymo_status_t tick_map_build(struct tick_map *m, const struct tick_origin *o,
			     struct raw_tick_sync *points, uint32_t count);
void tick_map_release(struct tick_map *m);

/* What is added to node time for the time of a job. */
struct job_point {
	int64_t ns; /* node time */
	int64_t offset;
	int64_t error; /* bound of it */
};

/*
 * Makes node time job time: offsets are interpolated between the points, and those of the first and
 * last hold before and after. Sorts `points`; none leave the map as it is.
 */
void tick_map_align(struct tick_map *m, struct job_point *points, uint32_t count);

/* What is added at node time `ns`; `points` as tick_map_align() has sorted them. */
int64_t job_offset(const struct job_point *points, uint32_t count, int64_t ns);

static inline int64_t tick_segment_ns(const struct tick_segment *s, uint64_t tick)
{
	__int128 ns = ((__int128)(int64_t)(tick - s->base_tick) * (__int128)s->rate) >> 40;

	return (int64_t)((uint64_t)s->base_ns + (uint64_t)ns); /* wraps only in damaged traces */
}

/* The segment that covers `tick`. */
const struct tick_segment *tick_map_find(const struct tick_map *m, uint64_t tick);

static inline int64_t tick_map_ns(const struct tick_map *m, uint64_t tick)
{
	return tick_segment_ns(tick_map_find(m, tick), tick);
}

/* As tick_map_ns(), remembering the segment in *hint (may point to NULL at first). */
static inline int64_t tick_map_ns_near(const struct tick_map *m, const struct tick_segment **hint,
				       uint64_t tick)
{
	if (__builtin_expect(!*hint || tick < (*hint)->from || tick >= (*hint)->to, 0))
		*hint = tick_map_find(m, tick);
	return tick_segment_ns(*hint, tick);
}

/* ---- device clocks ------------------------------------------------------------------------- */

/* The clock showed `value` (its own ns) at a node time between `before` and `after`. */
struct device_sync {
	int64_t before, after;
	int64_t value;
};

struct device_point {
	int64_t value;  /* clock's own ns */
	int64_t offset; /* node time - clock at that value */
};

struct device_map {
	struct device_point *points; /* ascending by value */
	uint32_t count;              /* 0: not aligned, times are left as they are */
	double error_ns;             /* bound; < 0 when not aligned */
};

/*
 * Builds the map; sorts `syncs`. If one constant offset satisfies every bracket, that offset is
 * used; otherwise the clock drifts, and offsets are interpolated between the windows (of a second at
 * most) in which one satisfies all. The error covers every bracket.
 */
kymo_status_t device_map_build(struct device_map *m, struct device_sync *syncs, uint32_t count);
void device_map_release(struct device_map *m);
int64_t device_map_ns(const struct device_map *m, int64_t value);

#endif
