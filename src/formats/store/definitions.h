/* SPDX-License-Identifier: Apache-2.0 */
/* The definitions of a trace and its tallies, to and from the store's tables. Private to it. */
#ifndef FORMATS_STORE_DEFINITIONS_H
#define FORMATS_STORE_DEFINITIONS_H

#include "formats/store/sql.h"
#include "tally/tally.h"

bool definitions_write(struct sql_context *c, const struct trace *t);

/* Reads into a new trace. NULL: damaged, or no memory. */
struct trace *definitions_read(struct sql_context *c);

/* Makes the context keep what it reads in `t`. */
void definitions_reader(struct sql_context *c, struct trace *t);

bool tallies_write(struct sql_context *c, struct tallies *a);
/* NULL: damaged, or no memory. `t` must outlive the result. */
struct tallies *tallies_read(struct sql_context *c, const struct trace *t);

/* What rows of loads are about is there. */
bool tallies_loads_sound(const struct trace *t);

/* Text of a metadata row, kept by the context's owner; NULL when there is none. */
const char *metadata_text(struct sql_context *c, const char *tag);
bool metadata_add(sqlite3 *db, const char *tag, const char *value);
bool metadata_add_integer(sqlite3 *db, const char *tag, int64_t value);

#endif
