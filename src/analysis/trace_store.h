/* SPDX-License-Identifier: Apache-2.0 */
/* The store of a trace: the one that is there if it is still good, else a new one. */
#ifndef ANALYSIS_TRACE_STORE_H
#define ANALYSIS_TRACE_STORE_H

#include "formats/store/store.h"

/*
 * Opens TRACE/store.db, built or rebuilt from the raw files first when it is missing, older than
 * they are, of another schema or when `rebuild`. Where the trace cannot be written to, the store
 * is built in the folder for temporary files and gone afterwards; the log says so. `path` may
 * also name a store itself. What o->filter selects goes into a store that is gone afterwards.
 */
kymo_status_t trace_store_open(const char *path, bool rebuild, const struct format_options *o,
			       struct store **out);

/* The same of a store that others are to be joined with: it has a name until store_remove_temporary(). */
kymo_status_t trace_store_open_named(const char *path, bool rebuild, const struct format_options *o,
				     struct store **out);

/* Removes what builders of the trace's store left that were killed. */
void trace_store_sweep(const char *path);

/* A drain of this host is at work on the trace: what is read of it now may not be all. */
bool trace_being_written(const char *path);

#endif
