/* SPDX-License-Identifier: Apache-2.0 */
/* Provider "rusage": what getrusage(2) says of a thread or of the process; works everywhere. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "capture/perf/providers.h"

enum usage { UTIME, STIME, MAXRSS, MINFLT, MAJFLT, INBLOCK, OUBLOCK, NVCSW, NIVCSW, USAGES };

static const struct {
	char name[8], unit[8], description[64];
	uint32_t flags;
} counters[USAGES] = {
	[UTIME] = {"utime", "ns", "Time on a processor in the program itself", 0},
	[STIME] = {"stime", "ns", "Time on a processor in the kernel", 0},
	[MAXRSS] = {"maxrss", "bytes", "Most memory the process ever had resident",
		    KYMO_COUNTER_GAUGE},
	[MINFLT] = {"minflt", "", "Page faults that needed no disk", 0},
	[MAJFLT] = {"majflt", "", "Page faults that needed a disk", 0},
	[INBLOCK] = {"inblock", "", "Blocks of 512 bytes read from disks", 0},
	[OUBLOCK] = {"oublock", "", "Blocks of 512 bytes to be written to disks", 0},
	[NVCSW] = {"nvcsw", "", "Times it gave up the processor to wait", 0},
	[NIVCSW] = {"nivcsw", "", "Times the processor was taken away", 0},
};

struct session {
	int who;
	uint32_t count;
	uint64_t counters[];
};

static double ns(const struct timeval *t)
{
	return (double)t->tv_sec * 1e9 + (double)t->tv_usec * 1e3;
}

static double value_of(const struct rusage *u, uint64_t counter)
{
	switch (counter) {
	case UTIME:
		return ns(&u->ru_utime);
	case STIME:
		return ns(&u->ru_stime);
	case MAXRSS:
		return (double)u->ru_maxrss * 1024;
	case MINFLT:
		return (double)u->ru_minflt;
	case MAJFLT:
		return (double)u->ru_majflt;
	case INBLOCK:
		return (double)u->ru_inblock;
	case OUBLOCK:
		return (double)u->ru_oublock;
	case NVCSW:
		return (double)u->ru_nvcsw;
	default:
		return (double)u->ru_nivcsw;
	}
}

static uint32_t measure(void)
{
	struct timespec a, b;
	struct rusage u;

	clock_gettime(CLOCK_MONOTONIC_RAW, &a);
	for (int i = 0; i < 64; i++)
		getrusage(RUSAGE_THREAD, &u);
	clock_gettime(CLOCK_MONOTONIC_RAW, &b);
	return (uint32_t)(((b.tv_sec - a.tv_sec) * 1000000000 + (b.tv_nsec - a.tv_nsec)) / 64);
}

static kymo_status_t list(kymo_counter_list_fn add, void *to, void *data)
{
	kymo_status_t status = KYMO_OK;
	uint32_t cost = measure();

	for (unsigned i = 0; i < USAGES && status == KYMO_OK; i++) {
		kymo_counter_info_t info = {
			.size = sizeof(info),
			.name = counters[i].name,
			.description = counters[i].description,
			.unit = counters[i].unit,
			.modes = KYMO_COUNTER_THREAD | KYMO_COUNTER_AGENT,
			.flags = counters[i].flags,
			.read_ns = cost,
			.handle = i,
		};

		status = add(&info, to);
	}
	return status;
}

static kymo_status_t open_session(const kymo_counter_request_t *r, void **session, void *data)
{
	struct session *s = malloc(sizeof(*s) + r->count * sizeof(s->counters[0]));

	if (!s)
		return KYMO_ERROR_NO_MEMORY;
	s->who = r->mode == KYMO_COUNTER_AGENT ? RUSAGE_SELF : RUSAGE_THREAD;
	s->count = r->count;
	memcpy(s->counters, r->counters, r->count * sizeof(s->counters[0]));
	*session = s;
	return KYMO_OK;
}

static kymo_status_t read_session(void *session, double *values, void *data)
{
	const struct session *s = session;
	struct rusage u;

	if (getrusage(s->who, &u) != 0)
		return KYMO_ERROR_SYSTEM;
	for (uint32_t i = 0; i < s->count; i++)
		values[i] = value_of(&u, s->counters[i]);
	return KYMO_OK;
}

static void close_session(void *session, void *data)
{
	free(session);
}

const kymo_counter_provider_t rusage_provider = {
	.size = sizeof(rusage_provider),
	.name = "rusage",
	.description = "What getrusage() reports of threads and of the process",
	.list = list,
	.open = open_session,
	.read = read_session,
	.close = close_session,
};
