/* SPDX-License-Identifier: Apache-2.0 */
/* What `kymo list` prints: lines for people, or a table in another form (-f). */
#ifndef CLI_LIST_OUTPUT_H
#define CLI_LIST_OUTPUT_H

#include "analysis/table.h"
#include "report/report.h"

/* What -f said; `kymo list` takes it off the words. */
enum report_format list_format(void);
bool list_take_format(int *argc, char **argv);

/* A table of text. Lines of people have each column as wide as is said here, at least. */
struct list_output {
	struct report report;
	struct table *table;
	const unsigned *widths;
};

/* `columns` ends with NULL; `widths` has a number for each but the last. */
void list_begin(struct list_output *o, const char *name, const char *title,
		const char *const *columns, const unsigned *widths);

/* One text for each column; NULL: nothing to say. */
void list_row(struct list_output *o, const char *const *texts);
#define LIST_ROW(output, ...) list_row(output, (const char *const[]){__VA_ARGS__})

/* Prints it all. Returns the exit status. */
int list_end(struct list_output *o);

#endif
