/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parallel regions of OpenMP with several threads that lie in no other, with what each thread did in them. Where it
 * cannot be known, the rule that asks abstains.
 */
#ifndef ANALYSIS_RULES_TEAMS_H
#define ANALYSIS_RULES_TEAMS_H

#include "analysis/diagnose.h"

struct team {
	struct tl_team is;
	uint32_t process;
	bool nested; /* in another region of its thread */
};

struct teams {
	struct team *at;       /* by process, region: a region and then its tasks */
	struct team **regions; /* outermost ones, by thread, then start */
	uint32_t *calls;       /* by thread: its first call; one more at the end */
	uint32_t count, regions_count;
};

/* False: there are none, or nothing can be told of them. */
bool teams_find(struct diagnosis *d, struct teams *t);
void teams_release(struct teams *t);

/* What each thread computed in regions, and when it waited there; abstains where it is not. */
bool teams_parts_known(struct diagnosis *d);

/* Index of the first call of a thread that begins at `start` or later; at most t->calls[thread + 1]. */
uint32_t teams_first_call(const struct timeline *tl, const struct teams *t, uint32_t thread,
			  int64_t start);

/* Number of the region's tasks, which follow it. */
uint32_t teams_tasks(const struct teams *t, const struct team *region);

/* Time in which a thread communicated, or was in calls with one of these flags (KYMO_OP_*). */
uint64_t teams_in_calls(const struct diagnosis *d, const struct teams *t, uint32_t thread,
			int64_t start, int64_t end, uint32_t flags);
/* Likewise, waited or communicated. */
uint64_t teams_waits(const struct diagnosis *d, const struct teams *t, uint32_t thread,
		     int64_t start, int64_t end);

/* "thread 1234", with its name where it has one. */
void teams_add_thread(const struct diagnosis *d, struct text *out, uint32_t thread);
void teams_add_rank(const struct diagnosis *d, struct text *out, uint32_t thread);

#endif
