/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters that are read over time, of whole processors: items of --counters that name processors or a PMU,
 * NAME:cpu=NUMBERS or PMU/EVENT/[:cpu=NUMBERS]. What they are is looked up here.
 */
#ifndef TELEMETRY_PERF_LIST_H
#define TELEMETRY_PERF_LIST_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/numbers.h"
#include "base/text.h"

/* An event on a PMU; PMU/EVENT/ may stand for several, as uncore_imc/... for uncore_imc_0, uncore_imc_1. */
struct perf_event {
	struct perf_event_attr attr;
	char name[96], unit[24], description[96];
	char pmu[64]; /* "": the processors' own */
	double scale;
	struct number_list cpus; /* on which it counts */
};

struct perf_list {
	struct perf_event *at;
	uint32_t count, room;
};

/* Bytes of the first item of a list of counters; commas within slashes and between numbers are in it. */
size_t perf_item(const char *list);
/* Whether it is read over time; others are counted in the program. */
bool perf_over_time(const char *item, size_t length);

/* False: `error` says what there is not. Release it in any case. */
bool perf_list_parse(struct perf_list *l, const char *root, const char *list, char *error,
		     size_t size);
void perf_list_release(struct perf_list *l);

/* Opens the event on a processor. Negative: -errno. */
int perf_event_on(const struct perf_event *e, uint64_t cpu);
void perf_event_reason(const struct perf_event *e, uint64_t cpu, int error, char *out, size_t size);

/* "PMU/EVENT/" of all PMUs below the root, one a line. */
void perf_list_all(const char *root, struct text *out);

#endif
