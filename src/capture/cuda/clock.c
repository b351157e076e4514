/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock of device times. CUPTI converts the device's clock to one of the host itself, and is
 * given CLOCK_MONOTONIC_RAW for it, whose relation to our ticks is sampled between two of them; so
 * the only error that is not bounded here is that of CUPTI's own conversion.
 */
#include <pthread.h>

#include "capture/cuda/backend.h"

enum { METHOD_SAMPLE = 1 };

static uint32_t id;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pair {
	uint64_t tick, ns;
} first, last;

uint64_t cuda_clock(void)
{
	return clock_ns(CLOCK_MONOTONIC_RAW);
}

uint32_t cuda_clock_id(void)
{
	return id;
}

void cuda_clock_define(void)
{
	struct wire_def d;

	id = cap_new_id(DEF_CLOCK);
	wire_def_init(&d, DEF_CLOCK);
	wire_def_u64(&d, id);
	wire_def_string(&d, "CUDA");
	wire_def_string(&d, "device");
	wire_def_u64(&d, 1000); /* nanoseconds */
	cap_define(&d);
}

/* The tightest of a few readings. */
static void sample(uint64_t *before, uint64_t *after, uint64_t *value)
{
	*before = *value = 0;
	*after = UINT64_MAX;
	for (int i = 0; i < 5; i++) {
		uint64_t b = tick_now(), v = cuda_clock(), a = tick_now();

		if (a - b < *after - *before) {
			*before = b;
			*after = a;
			*value = v;
		}
	}
}

void cuda_clock_sync(void)
{
	uint64_t before, after, value;
	struct wire_def d;

	sample(&before, &after, &value);
	pthread_mutex_lock(&lock);
	last = (struct pair){before + (after - before) / 2, value};
	if (!first.tick)
		first = last;
	pthread_mutex_unlock(&lock);
	wire_def_init(&d, DEF_CLOCK_SYNC);
	wire_def_u64(&d, id);
	wire_def_u64(&d, before);
	wire_def_u64(&d, after);
	wire_def_u64(&d, value);
	wire_def_u64(&d, METHOD_SAMPLE);
	cap_define(&d);
	cuda_driver_clock_sync();
}

uint64_t cuda_clock_of_tick(uint64_t tick)
{
	struct pair a, b;

	pthread_mutex_lock(&lock);
	a = first;
	b = last;
	pthread_mutex_unlock(&lock);
	if (b.tick - a.tick < 1000000) /* too close for a rate: a point further on */
		b = (struct pair){tick_now(), cuda_clock()};
	if (b.tick <= a.tick)
		return a.ns;
	return a.ns + (uint64_t)((double)(int64_t)(tick - a.tick) * (double)(b.ns - a.ns) /
				 (double)(b.tick - a.tick));
}

uint64_t cuda_default_clock(void)
{
	return clock_ns(CLOCK_REALTIME);
}
