/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of kernels, of one run or of several of which each counted some (kymo run --replay
 * application): one row for each launch, joined by process, kernel, launch and grid.
 */
#ifndef ANALYSIS_PASSES_H
#define ANALYSIS_PASSES_H

#include <sqlite3.h>

#include "stream/stream.h"

/*
 * The SQL of that table over `db`, the store of a trace or the join of `traces`; sqlite3_free() it. NULL: no
 * memory, or the database cannot be read. What of the runs does not fit together is warned of.
 */
char *passes_sql(sqlite3 *db, unsigned traces, struct stream_log *log);

#endif
