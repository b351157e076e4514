/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of files, and of the other sides of sockets: what was moved, and how long the host was there for it. */
#include <stdlib.h>
#include <string.h>

#include "analysis/file_use.h"
#include "analysis/summary_parts.h"
#include "base/units.h"

static int longest(const void *a, const void *b)
{
	const struct file_use_row *x = *(const struct file_use_row *const *)a,
				  *y = *(const struct file_use_row *const *)b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return strcmp(x->file, y->file);
}

static void add_row(struct table *t, const struct summary *s, const struct file_use_row *u)
{
	struct cell *c = table_row(t);

	if (!c)
		return;
	cell_text(t, c++, s->path);
	cell_text(t, c++, *u->file ? u->file : "(not known)");
	cell_number(c++, u->ns);
	cell_number(c++, u->opens);
	cell_number(c++, u->reads);
	cell_number(c++, u->read_bytes);
	cell_number(c++, u->writes);
	cell_number(c++, u->written_bytes);
	cell_number(c++, u->others);
	cell_number(c++, u->errors);
	cell_number(c++, u->longest_ns);
	cell_text(t, c, s->trace->ops[u->longest_op].name);
}

static bool add_rows(struct table *t, const struct summary *s, bool sockets)
{
	const struct file_use *use = s->timeline ? s->timeline->files : NULL;
	const struct file_use_row **order;
	uint32_t n = 0;

	if (!use || !use->rows_count)
		return true;
	order = calloc(use->rows_count, sizeof(*order));
	if (!order)
		return false;
	for (uint32_t i = 0; i < use->rows_count; i++)
		if (file_use_is_socket(&use->rows[i]) == sockets)
			order[n++] = &use->rows[i];
	qsort(order, n, sizeof(*order), longest);
	for (uint32_t i = 0; i < n; i++)
		add_row(t, s, order[i]);
	free(order);
	return !use->failed;
}

/* Streams of the C library move data inside of it, of descriptors too that the program opened (fdopen()). */
static void note_untouched(struct table *t, const struct summary *s, unsigned count)
{
	uint64_t untouched = 0;

	for (unsigned i = 0; i < count; i++) {
		const struct file_use *use = s[i].timeline ? s[i].timeline->files : NULL;

		for (uint32_t k = 0; use && k < use->rows_count; k++) {
			const struct file_use_row *u = &use->rows[k];

			untouched += !file_use_is_socket(u) && !u->folder && u->opens > u->errors &&
				     !u->reads && !u->writes;
		}
	}
	if (untouched)
		table_note(t,
			   "%s %s opened, and no read or write of %s is seen: what the C library's "
			   "streams (fopen, fdopen) and mapped memory move is not",
			   UNITS_COUNT(untouched), untouched == 1 ? "file was" : "files were",
			   untouched == 1 ? "it" : "them");
}

static bool make(struct report *r, const struct summary *s, unsigned count, bool sockets)
{
	struct table *t =
		sockets ? report_table(r, "sockets", "Sockets") : report_table(r, "files", "Files");
	bool ok = t != NULL;

	if (!ok)
		return false;
	t->ranked = count == 1;
	table_column_if(t, count > 1, "trace", "trace", CELL_TEXT);
	table_column(t, sockets ? "peer" : "file", sockets ? "other side" : "file", CELL_TEXT);
	table_column(t, "ns", "time", CELL_TIME);
	table_column(t, sockets ? "connections" : "opens", sockets ? "connections" : "opens",
		     CELL_COUNT);
	table_column(t, "reads", sockets ? "received" : "reads", CELL_COUNT);
	table_column(t, "read_bytes", sockets ? "bytes received" : "bytes read", CELL_BYTES);
	table_column(t, "writes", sockets ? "sent" : "writes", CELL_COUNT);
	table_column(t, "written_bytes", sockets ? "bytes sent" : "bytes written", CELL_BYTES);
	table_column_optional(t, 2, "others", "others", CELL_COUNT);
	table_column_optional(t, 1, "errors", "errors", CELL_COUNT);
	table_column(t, "longest_ns", "longest", CELL_TIME);
	table_column(t, "longest_call", "in", CELL_TEXT);
	for (unsigned i = 0; ok && i < count; i++)
		ok = add_rows(t, &s[i], sockets);
	if (!sockets)
		note_untouched(t, s, count);
	report_drop_empty(r);
	return ok;
}

bool summary_files(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	return by != BY_OP || (make(r, s, count, false) && make(r, s, count, true));
}
