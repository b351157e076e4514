/* SPDX-License-Identifier: Apache-2.0 */
/* SQL over the stores of one or several traces, and its results printed. */
#ifndef REPORT_QUERY_H
#define REPORT_QUERY_H

#include "formats/store/store.h"
#include "report/report.h"

/*
 * Lets queries on the first store see all of them: every table and view becomes the union of those
 * of all traces, with a first column `trace` (1, 2, ...); `traces` names them.
 */
kymo_status_t query_join(struct store *const *stores, const char *const *paths, unsigned count,
			 struct stream_log *log);

struct query_script {
	const char *file; /* that it comes from, NULL: the command line */
	const char *sql;
};

/*
 * Runs the statements and prints each one's result, those of files each with a heading: the first line
 * of the comment before it, else how it begins. `begin` (may be NULL) is called before each, once it is
 * known to be right. Results are written row by row, but for the first thousand of text, Markdown and
 * HTML, of which the columns get their widths. A mistake in the SQL is explained with its place.
 */
kymo_status_t query_print(struct store *s, const struct query_script *scripts, unsigned count,
			  enum report_format format, FILE *out, void (*begin)(void),
			  struct stream_log *log);

#endif
