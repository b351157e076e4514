/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of instrumented launches, between backends and handlers (kymo/handler.h): a backend says what a launch can have
 * records of, and hands them over in batches of whole groups; core gives them to all handlers that are at work, and writes
 * what they report.
 *
 *   uint32_t wants = cap_accesses_wanted(); // before the launch: which records are to be made
 *   a = cap_accesses_begin(&launch, &what);
 *   while (...) { get the records of some groups; why = cap_accesses_take(a, records, count); }
 *   cap_accesses_end(a, complete);
 *
 * A launch at a time, on the thread that launches; of several processes each has its own.
 */
#ifndef CORE_COUNTER_ACCESSES_H
#define CORE_COUNTER_ACCESSES_H

#include <kymo/handler.h>

#include "core/counter/lines.h"

/* Records that somebody looks at: KYMO_HANDLER_ACCESSES, KYMO_HANDLER_BLOCKS, or both; 0: none are to be made. */
uint32_t cap_accesses_wanted(void);

struct cap_accesses;

/*
 * The launch begins. Of `what` correlation, agent, kernel and profile are filled here; its arrays are the caller's until
 * cap_accesses_end(). Sites without records (of kind NONE) may be among them. NULL: no memory, or no handler works on it; notes
 * say why.
 */
struct cap_accesses *cap_accesses_begin(const struct cap_launch *launch,
					const kymo_handler_launch_t *what);

/*
 * Records of one group or more, a group's in one call; those of a work item in the order in which they happened. NULL: go on;
 * else why no handler wants more, a literal.
 */
const char *cap_accesses_take(struct cap_accesses *a, const kymo_access_t *records, size_t count);

/* `complete`: all records have come, and what the handlers report is written. Frees it; NULL: nothing happens. */
void cap_accesses_end(struct cap_accesses *a, bool complete);

#endif
