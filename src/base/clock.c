/* SPDX-License-Identifier: Apache-2.0 */
/* Choice of the tick source and calibration points. */
#include "base/clock.h"
#include "base/variables.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define LEAST_BASE 200000 /* ns over which a rate is measured */

enum tick_source tick_source_chosen = TICK_MONOTONIC_RAW;
static struct tick_sync first; /* at tick_init() */

#if defined(__x86_64__)
/* The kernel itself trusts the TSC, and the CPU says it never stops. */
static bool tsc_usable(void)
{
	unsigned a, b, c, d;
	char name[32] = "";
	FILE *f;

	if (!__get_cpuid(0x80000007, &a, &b, &c, &d) || !(d & (1u << 8)))
		return false;
	f = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
	if (!f)
		return false;
	if (!fgets(name, sizeof(name), f))
		name[0] = '\0';
	fclose(f);
	/* kvm-clock and hyperv are the TSC scaled by the host: constant as well. */
	return strncmp(name, "tsc", 3) == 0 || strncmp(name, "kvm-clock", 9) == 0 ||
	       strncmp(name, "hyperv", 6) == 0;
}
#endif

static enum tick_source choose_source(void)
{
	const char *wish = variable("KYMO_CLOCK");

	if (wish && strcmp(wish, "monotonic") == 0)
		return TICK_MONOTONIC_RAW;
#if defined(__x86_64__)
	if ((wish && strcmp(wish, "tsc") == 0) || tsc_usable())
		return TICK_TSC;
#elif defined(__aarch64__)
	return TICK_CNTVCT;
#endif
	return TICK_MONOTONIC_RAW;
}

void tick_init(void)
{
	static bool done;

	if (done)
		return;
	tick_source_chosen = choose_source();
	tick_sync_take(&first);
	done = true;
}

/* The narrowest of five readings, or the first that is as narrow as `enough` ticks. */
static void take_reading(struct tick_sync *out, uint64_t enough)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 5 && best > enough; i++) {
		struct tick_sync s;

		s.before = tick_now();
		s.monotonic_raw = clock_ns(CLOCK_MONOTONIC_RAW);
		s.after = tick_now();
		if (s.after - s.before < best) {
			best = s.after - s.before;
			*out = s;
		}
	}
}

void tick_sync_take(struct tick_sync *out)
{
	take_reading(out, 0);
	out->realtime =
		clock_ns(CLOCK_REALTIME) - (clock_ns(CLOCK_MONOTONIC_RAW) - out->monotonic_raw);
}

/* Both clocks since tick_init(), but over LEAST_BASE at least. */
static uint64_t measure_rate(void)
{
	struct tick_sync now;

	do {
		tick_sync_take(&now);
	} while (now.monotonic_raw - first.monotonic_raw < LEAST_BASE);
	return (uint64_t)((double)(now.before - first.before) * 1e9 /
			  (double)(now.monotonic_raw - first.monotonic_raw));
}

uint64_t tick_rate(void)
{
	static _Atomic uint64_t rate;
	uint64_t r = atomic_load_explicit(&rate, memory_order_relaxed);

	if (r)
		return r;
	r = 1000000000u;
#if defined(__aarch64__)
	if (tick_source_chosen == TICK_CNTVCT)
		__asm__ volatile("mrs %0, cntfrq_el0" : "=r"(r));
#endif
	if (tick_source_chosen == TICK_TSC)
		r = measure_rate();
	atomic_store_explicit(&rate, r, memory_order_relaxed);
	return r;
}

static uint64_t middle(const struct tick_sync *s)
{
	return s->before + (s->after - s->before) / 2;
}

struct tick_line tick_line_now(void)
{
	struct tick_sync now = {0};
	struct tick_line l;

	take_reading(&now, 2 * (first.after - first.before));
	l.tick = middle(&now);
	l.ns = now.monotonic_raw;
	if (tick_source_chosen == TICK_MONOTONIC_RAW)
		l.ns_per_tick = 1;
	else if (now.monotonic_raw - first.monotonic_raw < LEAST_BASE)
		l.ns_per_tick = 1e9 / (double)tick_rate();
	else
		l.ns_per_tick = (double)(now.monotonic_raw - first.monotonic_raw) /
				(double)(l.tick - middle(&first));
	return l;
}
