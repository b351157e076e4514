/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counting kernels that a backend runs alone. A backend asks at each launch whether it is counted; if it
 * is, the backend holds the counting until it ends it: nobody else counts, and enqueues of other threads
 * that pass the gate wait. All such waits are bounded, since the program may have locks of its own: who
 * has waited too long goes on, and the pass during which it did has no values. What a thread spends between
 * cap_launch_hold() and cap_launch_end(), or waiting at the gate, is overhead, but for what the launch
 * takes without: backends put cap_timed_own() around that.
 *
 *   if (cap_launch_chosen(&c, &launch) && cap_launch_hold(&c)) {
 *           for (i = 0; i < c.passes; i++)
 *                   cap_pass_begin(&c); run the kernel, wait for it; cap_pass_end(&c, true);
 *           cap_launch_end(&c);
 *   }
 */
#ifndef CORE_COUNTER_KERNEL_H
#define CORE_COUNTER_KERNEL_H

#include <kymo/counter.h>

#include "core/capture.h"

#define CAP_LAUNCH_PASSES 64u /* of all services together, at most */

struct cap_launch {
	uint32_t agent, queue, kernel;
	uint64_t correlation; /* of the call */
	const char *name;     /* of the kernel; NULL: looked up */
	bool processor;       /* of the host: its counters can be those of the kernel */
	uint64_t number; /* that it has been given before; 0: it gets the next of its kernel's */
};

/* What tools are told of a launch, which is counted as one of its kernel's. */
void cap_launch_describe(const struct cap_launch *launch, kymo_counter_launch_t *out);

struct counter_kernel_pass;

struct cap_counted_launch {
	struct cap_launch launch;
	uint32_t passes, at; /* how many there are to be; the one that is next, or under way */
	uint32_t disturbed;
	uint32_t wanted; /* bit n: service n counts it */
	uint64_t start, number;
	struct cap_timed cost;
	bool good;
	bool lines; /* how often its lines are executed is to be counted */
	struct cap_launch_pass {
		struct core_counter_service *service;
		struct counter_kernel_pass *pass;
	} pass[CAP_LAUNCH_PASSES];
};

/* How many services count kernels; 0: nothing below is to be called. */
extern _Atomic uint32_t cap_counting_kernels;

static inline bool cap_counts_kernels(void)
{
	return atomic_load_explicit(&cap_counting_kernels, memory_order_relaxed) != 0;
}

/* Whether the launch is to be counted. It has the next number of its kernel's launches in any case. */
bool cap_launch_chosen(struct cap_counted_launch *c, const struct cap_launch *launch);
/* One that cannot be has its number, too: numbers are those of all that is recorded. */
void cap_launch_passed(const struct cap_launch *launch);
/* Waits until it may begin. False: it is not counted after all. */
bool cap_launch_hold(struct cap_counted_launch *c);
void cap_pass_begin(struct cap_counted_launch *c);
/* Writes the values, if it ran as it was to. */
void cap_pass_end(struct cap_counted_launch *c, bool ran);
void cap_launch_end(struct cap_counted_launch *c);

/* The passes that are left have no values: `reason`, a literal, is noted. */
void cap_launch_refuse(struct cap_counted_launch *c, const char *reason);
/* The same of all but one: it cannot be repeated. */
void cap_launch_first_only(struct cap_counted_launch *c, const char *reason);
/* The same of a launch that is not to be counted at all. */
void cap_launch_not_counted(const char *reason);
/* So many bytes were put aside so that the kernel can be repeated. */
void cap_launch_saved(uint64_t bytes);

/* Around enqueues of whatever else. False: it took too long, or this thread is counting. */
bool cap_gate_enter(void);
void cap_gate_leave(bool entered);

#endif
