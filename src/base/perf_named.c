/* SPDX-License-Identifier: Apache-2.0 */
/* Events by their names; see perf_named.h. */
#include "base/perf_named.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SOFTWARE(name, unit, config, kernel, text)                                                 \
	{                                                                                          \
		name, unit, text, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##config, kernel               \
	}
#define HARDWARE(name, config, text)                                                               \
	{                                                                                          \
		name, "", text, PERF_TYPE_HARDWARE, PERF_COUNT_HW_##config, false                  \
	}
#define CACHE(name, cache, op, result, text)                                                       \
	{                                                                                          \
		name, "", text, PERF_TYPE_HW_CACHE,                                                \
			PERF_COUNT_HW_CACHE_##cache | PERF_COUNT_HW_CACHE_OP_##op << 8 |           \
				PERF_COUNT_HW_CACHE_RESULT_##result << 16,                         \
			false                                                                      \
	}

const struct perf_named perf_named[PERF_NAMED] = {
	SOFTWARE("task-clock", "ns", TASK_CLOCK, false, "Time on a processor"),
	SOFTWARE("cpu-clock", "ns", CPU_CLOCK, false,
		 "Time on a processor, by the clock of the processor"),
	SOFTWARE("page-faults", "", PAGE_FAULTS, false, "Page faults, minor and major"),
	SOFTWARE("minor-faults", "", PAGE_FAULTS_MIN, false, "Page faults that needed no disk"),
	SOFTWARE("major-faults", "", PAGE_FAULTS_MAJ, false, "Page faults that needed a disk"),
	SOFTWARE("context-switches", "", CONTEXT_SWITCHES, true, "Times it left a processor"),
	SOFTWARE("cpu-migrations", "", CPU_MIGRATIONS, true, "Times it came to another processor"),
	SOFTWARE("alignment-faults", "", ALIGNMENT_FAULTS, false,
		 "Unaligned accesses that the kernel had to mend"),
	SOFTWARE("emulation-faults", "", EMULATION_FAULTS, false,
		 "Instructions that the kernel had to emulate"),
	HARDWARE("cycles", CPU_CYCLES, "Processor cycles"),
	HARDWARE("instructions", INSTRUCTIONS, "Instructions retired"),
	HARDWARE("cache-references", CACHE_REFERENCES, "Accesses to the last level cache"),
	HARDWARE("cache-misses", CACHE_MISSES, "Misses of the last level cache"),
	HARDWARE("branches", BRANCH_INSTRUCTIONS, "Branches retired"),
	HARDWARE("branch-misses", BRANCH_MISSES, "Branches foretold wrongly"),
	HARDWARE("ref-cycles", REF_CPU_CYCLES, "Cycles at the nominal frequency"),
	HARDWARE("stalled-cycles-frontend", STALLED_CYCLES_FRONTEND,
		 "Cycles without instructions to issue"),
	HARDWARE("stalled-cycles-backend", STALLED_CYCLES_BACKEND,
		 "Cycles in which instructions could not be issued"),
	CACHE("l1d-loads", L1D, READ, ACCESS, "Loads from the first level data cache"),
	CACHE("l1d-load-misses", L1D, READ, MISS, "Loads that missed the first level data cache"),
	CACHE("llc-loads", LL, READ, ACCESS, "Loads from the last level cache"),
	CACHE("llc-load-misses", LL, READ, MISS, "Loads that missed the last level cache"),
	CACHE("dtlb-load-misses", DTLB, READ, MISS, "Loads that missed the data TLB"),
	CACHE("itlb-load-misses", ITLB, READ, MISS, "Fetches that missed the instruction TLB"),
};

const struct perf_named *perf_named_find(const char *name)
{
	for (unsigned i = 0; i < PERF_NAMED; i++)
		if (strcmp(perf_named[i].name, name) == 0)
			return &perf_named[i];
	return NULL;
}

struct perf_event_attr perf_named_attr(const struct perf_named *e)
{
	return (struct perf_event_attr){.type = e->type, .config = e->config};
}

bool perf_named_try(const struct perf_named *e, uint64_t every, char *reason, size_t size)
{
	struct perf_event_attr attr = perf_named_attr(e);
	struct perf_fd p;
	bool user_only;
	int fd;

	attr.disabled = 1;
	attr.sample_period = every;
	attr.sample_type = every ? PERF_SAMPLE_IP : 0;
	fd = perf_open(&attr, 0, -1, -1, &user_only);
	if (fd < 0) {
		perf_reason(-fd, &attr, e->name, reason, size);
		return false;
	}
	p = perf_keep(fd);
	perf_close(&p);
	if (!user_only || !e->in_kernel)
		return true;
	snprintf(reason, size, "needs kernel.perf_event_paranoid of at most 1, or CAP_PERFMON");
	return false;
}

const struct perf_named *perf_named_parse(const char *text, uint64_t *every)
{
	char name[sizeof(((struct perf_named *)0)->name)], *end;
	const char *colon = strchr(text, ':');

	if (!colon || (size_t)(colon - text) >= sizeof(name) || !isdigit((unsigned char)colon[1]))
		return NULL;
	snprintf(name, sizeof(name), "%.*s", (int)(colon - text), text);
	errno = 0;
	*every = strtoull(colon + 1, &end, 10);
	return *end || errno || !*every || *every > INT64_MAX ? NULL : perf_named_find(name);
}
