/* SPDX-License-Identifier: Apache-2.0 */
/* What handlers of records reported of kernels (`kymo kernels --handler`). */
#ifndef METRICS_HANDLERS_H
#define METRICS_HANDLERS_H

#include "analysis/table.h"
#include "formats/store/store.h"

/* Adds the tables of a handler; `count`: how many there are. False: no memory, or the log says why. */
bool handler_tables(struct report *r, struct store *store, const char *handler,
		    struct stream_log *log, uint32_t *count);

#endif
