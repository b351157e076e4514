/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of perf_event_open(2) under the names that users know them by: software events are there wherever it
 * is permitted, hardware events where the machine has a PMU.
 */
#ifndef BASE_PERF_NAMED_H
#define BASE_PERF_NAMED_H

#include "base/perf_event.h"

struct perf_named {
	char name[24], unit[4], description[64];
	uint32_t type;
	uint64_t config;
	bool in_kernel; /* happens in the kernel alone: nothing to see where that is excluded */
};

enum { PERF_NAMED = 24 };
extern const struct perf_named perf_named[PERF_NAMED];

/* NULL: there is none of that name. */
const struct perf_named *perf_named_find(const char *name);

struct perf_event_attr perf_named_attr(const struct perf_named *e);

/* Whether it can be counted here, or, `every` not 0, sampled after so many; else `reason` says why not. */
bool perf_named_try(const struct perf_named *e, uint64_t every, char *reason, size_t size);

/* "page-faults:100": a name, and after how many a sample is taken. NULL: it says neither. */
const struct perf_named *perf_named_parse(const char *text, uint64_t *every);

#endif
