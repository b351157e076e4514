/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Provider "perf": what the Linux kernel counts of threads and of the process. Software events are
 * there wherever perf_event_open(2) is permitted; hardware events where the machine has a PMU.
 *
 * A thread's counters are one group, so that they are read by one read(2) and cover the same time.
 * The process is counted by events that new threads inherit; child processes are not counted.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <kymo/counter.h>

#include "base/perf_event.h"
#include "capture/perf/providers.h"

#define THREADS 4096u

struct event {
	char name[24], unit[4], description[64];
	uint32_t type;
	uint64_t config;
	bool in_kernel; /* happens in the kernel alone: nothing to see where that is excluded */
};

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

static const struct event events[] = {
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
#define EVENTS (sizeof(events) / sizeof(events[0]))

static char reasons[EVENTS][192];

static struct perf_event_attr attr_of(const struct event *e)
{
	return (struct perf_event_attr){.type = e->type, .config = e->config};
}

/* ---- what there is ---- */

/* What reading a group of one costs, by trying. */
static uint32_t measure(void)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .config = PERF_COUNT_SW_TASK_CLOCK};
	int fd = perf_open(&attr, 0, -1, -1, NULL);
	struct timespec a, b;
	struct perf_fd p;
	uint64_t value;

	if (fd < 0)
		return 0;
	p = perf_keep(fd);
	clock_gettime(CLOCK_MONOTONIC_RAW, &a);
	for (int i = 0; i < 64; i++)
		perf_read(&p, &value, sizeof(value));
	clock_gettime(CLOCK_MONOTONIC_RAW, &b);
	perf_close(&p);
	return (uint32_t)(((b.tv_sec - a.tv_sec) * 1000000000 + (b.tv_nsec - a.tv_nsec)) / 64);
}

/* NULL: it can be counted. */
static const char *try(unsigned i)
{
	struct perf_event_attr attr = attr_of(&events[i]);
	struct perf_fd p;
	bool user_only;
	int fd;

	attr.disabled = 1;
	fd = perf_open(&attr, 0, -1, -1, &user_only);
	if (fd < 0) {
		perf_reason(-fd, &attr, events[i].name, reasons[i], sizeof(reasons[i]));
		return reasons[i];
	}
	p = perf_keep(fd);
	perf_close(&p);
	return user_only && events[i].in_kernel
		       ? "needs kernel.perf_event_paranoid of at most 1, or CAP_PERFMON"
		       : NULL;
}

static kymo_status_t list(kymo_counter_list_fn add, void *to, void *data)
{
	kymo_status_t status = KYMO_OK;
	uint32_t cost = measure();

	for (unsigned i = 0; i < EVENTS && status == KYMO_OK; i++) {
		kymo_counter_info_t info = {
			.size = sizeof(info),
			.name = events[i].name,
			.description = events[i].description,
			.unit = events[i].unit,
			.modes = KYMO_COUNTER_THREAD | KYMO_COUNTER_AGENT,
			.unavailable = try(i),
			.read_ns = cost,
			.handle = i,
		};

		status = add(&info, to);
	}
	return status;
}

/* ---- sessions ---- */

struct session {
	uint32_t count;    /* counters */
	uint32_t fd_count; /* of a group: one for each; else threads times counters */
	bool group;
	uint8_t order[EVENTS]; /* position in the group of each counter */
	struct perf_fd fds[];
};

static void close_all(struct session *s)
{
	for (uint32_t i = 0; i < s->fd_count; i++)
		perf_close(&s->fds[i]);
	free(s);
}

static kymo_status_t refuse(const kymo_counter_request_t *r, const struct perf_event_attr *attr,
			    const struct event *e, int error)
{
	char why[192];

	if (error == EINVAL && attr->type != PERF_TYPE_SOFTWARE)
		snprintf(why, sizeof(why), "the machine cannot count so many events at once (%s)",
			 e->name);
	else
		perf_reason(error, attr, e->name, why, sizeof(why));
	if (r->reason)
		snprintf(r->reason, r->reason_size, "%s", why);
	return error == EACCES || error == EPERM ? KYMO_ERROR_UNSUPPORTED : KYMO_ERROR_SYSTEM;
}

/* The first that is not software leads: a group cannot become one of hardware later. */
static uint32_t leader_of(const kymo_counter_request_t *r)
{
	for (uint32_t i = 0; i < r->count; i++)
		if (events[r->counters[i]].type != PERF_TYPE_SOFTWARE)
			return i;
	return 0;
}

static kymo_status_t add_to_group(struct session *s, const kymo_counter_request_t *r, uint32_t i)
{
	const struct event *e = &events[r->counters[i]];
	struct perf_event_attr attr = attr_of(e);
	int fd;

	attr.read_format = PERF_FORMAT_GROUP;
	attr.pinned = s->fd_count == 0 && e->type != PERF_TYPE_SOFTWARE; /* never shared in time */
	fd = perf_open(&attr, 0, -1, s->fd_count ? s->fds[0].fd : -1, NULL);
	if (fd < 0)
		return refuse(r, &attr, e, -fd);
	s->order[i] = (uint8_t)s->fd_count;
	s->fds[s->fd_count] = perf_keep(fd);
	if (s->fds[s->fd_count].fd < 0)
		return KYMO_ERROR_SYSTEM;
	s->fd_count++;
	return KYMO_OK;
}

static kymo_status_t open_group(struct session *s, const kymo_counter_request_t *r)
{
	uint32_t leader = leader_of(r);
	kymo_status_t status = add_to_group(s, r, leader);

	s->group = true;
	for (uint32_t i = 0; i < r->count && status == KYMO_OK; i++)
		if (i != leader)
			status = add_to_group(s, r, i);
	return status;
}

/* Threads that start later inherit the events of those that start them. */
static kymo_status_t open_process(struct session *s, const kymo_counter_request_t *r,
				  const pid_t *tids, uint32_t threads)
{
	for (uint32_t t = 0; t < threads; t++) {
		for (uint32_t i = 0; i < r->count; i++) {
			const struct event *e = &events[r->counters[i]];
			struct perf_event_attr attr = attr_of(e);
			int fd;

			attr.inherit = 1;
			attr.inherit_thread = 1;
			fd = perf_open(&attr, tids[t], -1, -1, NULL);
			if (fd < 0 && fd != -ESRCH)
				return refuse(r, &attr, e, -fd);
			s->fds[s->fd_count++] = fd < 0 ? (struct perf_fd){-1, 0} : perf_keep(fd);
		}
	}
	return KYMO_OK;
}

static kymo_status_t open_session(const kymo_counter_request_t *r, void **session, void *data)
{
	bool process = r->mode == KYMO_COUNTER_AGENT;
	pid_t *tids = process ? malloc(THREADS * sizeof(*tids)) : NULL;
	uint32_t threads = tids ? perf_threads(tids, THREADS) : 1;
	kymo_status_t status = KYMO_ERROR_NO_MEMORY;
	struct session *s = NULL;

	if (threads > THREADS)
		threads = THREADS;
	if (!process || tids)
		s = calloc(1, sizeof(*s) + (size_t)r->count * threads * sizeof(s->fds[0]));
	if (s) {
		s->count = r->count;
		status = process ? open_process(s, r, tids, threads) : open_group(s, r);
	}
	free(tids);
	if (s && status != KYMO_OK)
		close_all(s);
	*session = status == KYMO_OK ? s : NULL;
	return status;
}

static kymo_status_t read_group(const struct session *s, double *values)
{
	struct {
		uint64_t count, value[EVENTS];
	} got;

	if (!perf_read(&s->fds[0], &got, (1u + s->fd_count) * sizeof(uint64_t)))
		return KYMO_ERROR_SYSTEM;
	for (uint32_t i = 0; i < s->count; i++)
		values[i] = (double)got.value[s->order[i]];
	return KYMO_OK;
}

static kymo_status_t read_process(const struct session *s, double *values)
{
	memset(values, 0, s->count * sizeof(*values));
	for (uint32_t i = 0; i < s->fd_count; i++) {
		uint64_t value;

		if (s->fds[i].fd < 0)
			continue; /* a thread that ended while it was opened */
		if (!perf_read(&s->fds[i], &value, sizeof(value)))
			return KYMO_ERROR_SYSTEM;
		values[i % s->count] += (double)value;
	}
	return KYMO_OK;
}

static kymo_status_t read_session(void *session, double *values, void *data)
{
	const struct session *s = session;

	return s->group ? read_group(s, values) : read_process(s, values);
}

static void close_session(void *session, void *data)
{
	close_all(session);
}

static const kymo_counter_provider_t provider = {
	.size = sizeof(provider),
	.name = "perf",
	.description = "What the Linux kernel and the processor count",
	.list = list,
	.open = open_session,
	.read = read_session,
	.close = close_session,
};

__attribute__((constructor)) static void announce(void)
{
	kymo_counter_provider_register(&provider);
	kymo_counter_provider_register(&rusage_provider);
}
