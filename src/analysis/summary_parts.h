/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the summary that stand around its tables. Private to the summary. */
#ifndef ANALYSIS_SUMMARY_PARTS_H
#define ANALYSIS_SUMMARY_PARTS_H

#include "analysis/summary.h"

/* What ran, when nothing was recorded also why. */
void summary_head(struct report *r, const struct summary *s, unsigned count);

/* Calls that were still open when their process ended. False: no memory. */
bool summary_open_calls(struct report *r, const struct summary *s, unsigned count);

/* Loss, untraced and untimed work, clock errors, damage, notes: always shown. */
void summary_quality(struct report *r, const struct summary *s, unsigned count);

/* Least, mean and most of a job's ranks, and which. False: no memory. */
bool summary_imbalance(struct report *r, const struct summary *s, unsigned count, unsigned by);

/* Functions that samples met, self and total; values of counters by operation. False: no memory. */
bool summary_functions(struct report *r, const struct summary *s, unsigned count);
bool summary_counters(struct report *r, const struct summary *s, unsigned count);

/* What the node and its devices did meanwhile, and the energy of kernels. False: no memory. */
bool summary_telemetry(struct report *r, const struct summary *s, unsigned count);

#endif
