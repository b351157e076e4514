/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this layer share. */
#ifndef METRICS_PARTS_H
#define METRICS_PARTS_H

#include "metrics/metrics.h"

enum { METRIC_VARIABLES_DEEP = 8 /* one is made of others, and these of others */ };

/* Takes what `more` has, which keeps what it replaces. False: no memory. */
bool metric_set_merge(struct metric_set *set, struct metric_set *more);

#endif
