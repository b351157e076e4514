/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of more columns than a line holds, for people: a line for each column. */
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "report/report.h"

/* Rows have the name of their first column's cell, which is over the column that they become. */
static void turn_headings(struct table *to, const struct table *t)
{
	char buffer[32];

	table_column(to, t->columns[0].name, t->columns[0].heading, CELL_TEXT);
	for (uint32_t r = 0; r < t->row_count; r++) {
		const struct cell *first = &t->cells[(size_t)r * t->column_count];

		table_column(to, "value",
			     table_own(to, cell_show(first, t->columns[0].unit, buffer)),
			     CELL_TEXT);
		if (to->column_count)
			to->columns[to->column_count - 1].right = true;
	}
}

/* Programs have times of a part of a nanosecond as numbers. */
static const char *show(const struct cell *c, const struct table_column *column, char buffer[32])
{
	size_t n = strlen(column->name);

	if (column->unit != CELL_NUMBER || c->none || n < 3 ||
	    strcmp(column->name + n - 3, "_ns") != 0 || !(c->f >= 0))
		return cell_show(c, column->unit, buffer);
	return units_time((uint64_t)llround(c->f), buffer);
}

static void turn_cells(struct table *to, const struct table *t, unsigned column)
{
	struct cell *cells = table_row(to);
	char buffer[32];

	if (!cells)
		return;
	cell_text(to, cells, t->columns[column].heading);
	for (uint32_t r = 0; r < t->row_count; r++)
		cell_text(to, cells + r + 1,
			  show(&t->cells[(size_t)r * t->column_count + column], &t->columns[column],
			       buffer));
}

static void turn(struct report *r, const struct table *t)
{
	struct table *to = report_table(r, t->name, t->title);

	if (!to)
		return;
	turn_headings(to, t);
	for (unsigned c = 1; c < t->column_count; c++)
		if (!t->columns[c].hidden)
			turn_cells(to, t, c);
	r->failed |= to->failed;
}

bool report_turned(struct report *r, const struct table *t)
{
	*r = (struct report){.people = true};
	turn(r, t);
	return !r->failed;
}
