/* SPDX-License-Identifier: Apache-2.0 */
/* The names of the summary's tables, for those who want some of them. */
#ifndef ANALYSIS_TABLE_NAMES_H
#define ANALYSIS_TABLE_NAMES_H

#include "analysis/summary.h"
#include "base/text.h"

struct table_name {
	const char *name, *what;
};

/* In the order of the tables, but for those of domains; the last has no name. */
extern const struct table_name table_names[];

/*
 * Whether all words of a list name tables: those above, or domains of the traces. If not, *bad is the word
 * (not terminated) and *nearest what may have been meant, or NULL.
 */
bool table_names_known(const char *list, const struct summary *s, unsigned count, const char **bad,
		       size_t *bad_length, const char **nearest);

/* Adds the names of the tables of calls, parted by commas: the domains of which calls were recorded. */
void table_names_of_calls(struct text *out, const struct summary *s, unsigned count);

/* The list names this table; NULL: any. */
bool table_names_has(const char *list, const char *table);

/* Leaves the tables of r->chosen in the report, also those that people are not shown; says which are empty. */
void report_choose(struct report *r);

#endif
