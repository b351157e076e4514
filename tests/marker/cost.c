/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What annotations cost the thread that makes them: nobody listening, and traced into memory that
 * nobody empties. Prints the lower quartile and the median of many short batches, beside two clock
 * reads, which no traced range can do without.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <kymo/kymo.h>
#include <kymo/marker.h>

#include "base/clock.h"

#define BATCHES 4000
#define EACH    100

static kymo_string_t step = KYMO_STRING("step");
static double values[BATCHES];

static kymo_status_t share(int memfd, uint64_t bytes, void *data)
{
	return KYMO_OK;
}

static void text(void)
{
	kymo_range_push("solve the system");
	kymo_range_pop();
}

static void string(void)
{
	kymo_range_push_string(&step);
	kymo_range_pop();
}

static void payload(void)
{
	kymo_payload_t p = kymo_int64("n", 7);
	kymo_marker_t m = {.size = sizeof(m), .string = &step, .payload = &p, .payload_count = 1};

	kymo_range_push_full(&m);
	kymo_range_pop();
}

static void mark(void)
{
	kymo_mark("here");
}

static void two_ticks(void)
{
	__asm__ volatile("" ::"r"(tick_now()));
	__asm__ volatile("" ::"r"(tick_now()));
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void measure(const char *what, void (*once)(void))
{
	for (int i = 0; i < BATCHES; i++) {
		uint64_t begin = clock_ns(CLOCK_MONOTONIC_RAW);

		for (int k = 0; k < EACH; k++)
			once();
		values[i] = (double)(clock_ns(CLOCK_MONOTONIC_RAW) - begin) / EACH;
	}
	qsort(values, BATCHES, sizeof(*values), compare);
	printf("%-28s %6.1f ns %6.1f ns\n", what, values[BATCHES / 4], values[BATCHES / 2]);
}

static kymo_status_t listen(void)
{
	kymo_selection_t markers = {.size = sizeof(markers), .domain = "marker"};
	kymo_buffer_desc_t d = {
		.size = sizeof(d), .bytes = 512u << 20, .policy = KYMO_POLICY_DROP, .share = share};
	kymo_context_t context;
	kymo_buffer_t buffer;
	kymo_status_t status = kymo_context_create(&context);

	if (status == KYMO_OK)
		status = kymo_buffer_create(context, &d, &buffer);
	if (status == KYMO_OK)
		status = kymo_buffer_service(context, &markers, buffer);
	return status == KYMO_OK ? kymo_context_start(context) : status;
}

int main(void)
{
	printf("%-28s %9s %9s\n", "", "p25", "median");
	tick_init();
	measure("two clock reads", two_ticks);
	text(); /* the first one finds out that nobody listens */
	measure("push + pop, nobody listens", text);
	if (listen() != KYMO_OK)
		return 1;
	measure("push + pop, text", text);
	measure("push + pop, string", string);
	measure("push + pop, one value", payload);
	measure("mark", mark);
	return 0;
}
