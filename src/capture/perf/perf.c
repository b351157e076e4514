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
#include "base/perf_named.h"
#include "capture/perf/providers.h"

#define THREADS 4096u

static char reasons[PERF_NAMED][192];

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
	return perf_named_try(&perf_named[i], 0, reasons[i], sizeof(reasons[i])) ? NULL
										 : reasons[i];
}

static kymo_status_t list(kymo_counter_list_fn add, void *to, void *data)
{
	kymo_status_t status = KYMO_OK;
	uint32_t cost = measure();

	for (unsigned i = 0; i < PERF_NAMED && status == KYMO_OK; i++) {
		kymo_counter_info_t info = {
			.size = sizeof(info),
			.name = perf_named[i].name,
			.description = perf_named[i].description,
			.unit = perf_named[i].unit,
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
	uint8_t order[PERF_NAMED]; /* position in the group of each counter */
	struct perf_fd fds[];
};

static void close_all(struct session *s)
{
	for (uint32_t i = 0; i < s->fd_count; i++)
		perf_close(&s->fds[i]);
	free(s);
}

static kymo_status_t refuse(const kymo_counter_request_t *r, const struct perf_event_attr *attr,
			    const struct perf_named *e, int error)
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
		if (perf_named[r->counters[i]].type != PERF_TYPE_SOFTWARE)
			return i;
	return 0;
}

static kymo_status_t add_to_group(struct session *s, const kymo_counter_request_t *r, uint32_t i)
{
	const struct perf_named *e = &perf_named[r->counters[i]];
	struct perf_event_attr attr = perf_named_attr(e);
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
			const struct perf_named *e = &perf_named[r->counters[i]];
			struct perf_event_attr attr = perf_named_attr(e);
			int fd;

			/* Never shared in time: what was not counted all the time cannot be read. */
			attr.pinned = e->type != PERF_TYPE_SOFTWARE;
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

/*
 * How many events the processor counts at once, the kernel knows, and tells when they are put into one
 * group. Software events take no counter.
 */
static kymo_status_t admit(const kymo_counter_request_t *r, void *data)
{
	uint64_t events[PERF_NAMED];
	kymo_counter_request_t hardware = *r;
	kymo_status_t status = KYMO_OK;
	struct session *s;

	hardware.counters = events;
	hardware.count = 0;
	for (uint32_t i = 0; i < r->count && hardware.count < PERF_NAMED; i++)
		if (perf_named[r->counters[i]].type != PERF_TYPE_SOFTWARE)
			events[hardware.count++] = r->counters[i];
	if (hardware.count < 2)
		return KYMO_OK;
	s = calloc(1, sizeof(*s) + hardware.count * sizeof(s->fds[0]));
	if (!s)
		return KYMO_ERROR_NO_MEMORY;
	status = open_group(s, &hardware);
	close_all(s);
	return status;
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
		uint64_t count, value[PERF_NAMED];
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
	.admit = admit,
	.open = open_session,
	.read = read_session,
	.close = close_session,
};

__attribute__((constructor)) static void announce(void)
{
	kymo_counter_provider_register(&provider);
	kymo_counter_provider_register(&rusage_provider);
}
