/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a device did not compute: every instant of the run at which it ran no kernel gets one cause, the
 * first that fits, so that kernels, transfers and causes add up to the run.
 *
 * An instant between two pieces of work belongs to the one that comes next, k, and to the thread that
 * submitted it. Before the call that submitted k, it is what that thread did; in that call, launching;
 * after it, the latency of the device, what held k back, or unknown.
 *
 * Start-up is what comes before the call that submits the first work. Runtimes and libraries have a device do something
 * as they begin, though: so it goes on to the end of a pause in which the host is busy, if what the device did before is
 * next to nothing (STARTUP_WORK of its pieces, and of the time they take) and took less long, from its first piece on, than
 * the pause. A device that works regularly has no such pause: after two of one length the next is no longer than what was
 * before it.
 */
#ifndef ANALYSIS_IDLE_H
#define ANALYSIS_IDLE_H

#include "analysis/timeline.h"

enum idle_cause {
	IDLE_STARTUP,   /* before the call that submits its first work, but for next to nothing */
	IDLE_HOST,      /* the host was outside of all recorded calls */
	IDLE_THREADS,   /* it waited for another thread */
	IDLE_SLEEP,     /* it slept */
	IDLE_POLL,      /* it waited for descriptors */
	IDLE_IO,        /* it was in calls of files and sockets */
	IDLE_BLOCKED,   /* it waited for something else: processes, signals, pages */
	IDLE_PREEMPTED, /* it was ready, and had no processor */
	IDLE_RUNTIME,   /* in other calls of a runtime */
	IDLE_BUILD,     /* it built or loaded programs */
	IDLE_ALLOCATE,  /* it allocated or freed memory */
	IDLE_LAUNCH,    /* in calls that submit work */
	IDLE_WAIT,      /* it had not yet returned from waiting for this device */
	IDLE_DEVICE,    /* it, or the work, waited for another device */
	IDLE_MPI,       /* it communicated */
	IDLE_HELD,      /* the work lay in its queue until the program flushed it */
	IDLE_LATENCY,   /* submitted, and about to start */
	IDLE_END,       /* after its last work */
	IDLE_ABSENT,    /* no recorded process was there */
	IDLE_UNKNOWN,
	IDLE_CAUSES
};

/* "start-up", "host code", ... */
const char *idle_name(enum idle_cause cause);

/* "startup_ns", "host_ns", ...: columns of tables */
const char *idle_column(enum idle_cause cause);

/* Idle time of one cause before work that was submitted from one place. */
struct idle_site {
	uint32_t site, op; /* of the call that submitted what came next */
	uint8_t cause;
	uint32_t gaps;
	uint64_t ns;
	int64_t longest_start;
	uint64_t longest;
};

/* Time in which a device had no work, the run's start-up and end included. */
struct idle_gap {
	int64_t start, end;
	uint64_t ns; /* of its largest cause */
	uint32_t
		next; /* the work that ends it, index of timeline.work, or TIMELINE_NONE: the run does */
	uint8_t cause; /* the largest */
};

enum { IDLE_LONGEST = 1000 };

struct idle {
	uint64_t kernels;       /* ns that kernels ran; unions all */
	uint64_t communication; /* of them, that those alone ran that communicate */
	uint64_t transfers;     /* that other work ran alone */
	uint64_t cause[IDLE_CAUSES];
	uint64_t before[IDLE_CAUSES]; /* of them, before `begun` */
	uint64_t startup
		[HOST_STATES]; /* what the submitting thread did in IDLE_STARTUP, where it is known */
	struct intervals host;         /* when IDLE_HOST was, */
	struct intervals startup_host; /* and HOST_OUTSIDE of start-up */
	struct idle_site *sites;       /* most time first */
	uint32_t sites_count, sites_room;
	struct idle_gap *longest; /* so many of its gaps, the longest first */
	uint32_t longest_count, longest_room;
	int64_t first, last; /* start of its first work, end of its last */
	int64_t begun;       /* start of the first that is not part of start-up */
	uint32_t early;      /* pieces of work before that */
	uint64_t early_kernels,
		early_transfers; /* ns of `kernels` and `transfers` that they took */
};

/* Of device `device` of the timeline. False: no memory. */
bool idle_find(struct idle *idle, const struct timeline *tl, uint32_t device);
void idle_release(struct idle *idle);

/* When the thread that submitted it came to do that; its start where that is not known. */
int64_t idle_submitted(const struct timeline *tl, const struct tl_work *w);

#endif
