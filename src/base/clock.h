/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ticks: the cheapest monotonic counter of the machine, the same for every process of the node.
 * The raw CPU counter where the kernel says it is constant and non-stop, CLOCK_MONOTONIC_RAW
 * nanoseconds otherwise. Ticks become nanoseconds when a trace is read.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum tick_source { TICK_TSC = 1, TICK_MONOTONIC_RAW = 2, TICK_CNTVCT = 3 };

/* Chosen once by tick_init(); read-only afterwards. */
extern enum tick_source tick_source_chosen;

/* Chooses the source. Idempotent, any thread. KYMO_CLOCK=tsc|monotonic overrides. */
void tick_init(void);

static inline uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Ticks are the processor's counter; known after tick_init(). */
static inline bool tick_is_counter(void)
{
#if defined(__x86_64__)
	return tick_source_chosen == TICK_TSC;
#elif defined(__aarch64__)
	return tick_source_chosen == TICK_CNTVCT;
#else
	return false;
#endif
}

/* The processor's counter, where tick_is_counter(). */
static inline uint64_t tick_counter(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t v;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
	return v;
#else
	return 0;
#endif
}

static inline uint64_t tick_now(void)
{
	if (__builtin_expect(tick_is_counter(), 1))
		return tick_counter();
	return clock_ns(CLOCK_MONOTONIC_RAW);
}

/* A calibration point: the two clocks were read between the two ticks. */
struct tick_sync {
	uint64_t before;
	uint64_t after;
	uint64_t monotonic_raw;
	uint64_t realtime;
};

/* Takes the tightest of a few readings; about 1 us. */
void tick_sync_take(struct tick_sync *out);

/*
 * Rough ticks per second, good to 0.1 % (readers of a trace calibrate). The first call may take
 * 200 us, later ones are cheap. Any thread.
 */
uint64_t tick_rate(void);

/*
 * CLOCK_MONOTONIC_RAW by ticks: the line through the reading of tick_init() and one of now. Times
 * between these are as good as the readings, however short that is; any thread, after tick_init().
 */
struct tick_line {
	uint64_t tick, ns; /* now */
	double ns_per_tick;
};

struct tick_line tick_line_now(void);

static inline uint64_t tick_line_ns(const struct tick_line *l, uint64_t tick)
{
	return l->ns + (uint64_t)(int64_t)((double)(int64_t)(tick - l->tick) * l->ns_per_tick);
}

static inline uint64_t tick_ns(uint64_t tick)
{
	struct tick_line line = tick_line_now();

	return tick_line_ns(&line, tick);
}

static inline uint64_t tick_line_tick(const struct tick_line *l, uint64_t ns)
{
	return l->tick + (uint64_t)(int64_t)((double)(int64_t)(ns - l->ns) / l->ns_per_tick);
}

#endif
