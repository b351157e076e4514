/* SPDX-License-Identifier: Apache-2.0 */
/* Tables as data; see table.h. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/table.h"
#include "base/vec.h"

enum { COLUMNS_A_LINE = 7 };

/* Appends a formatted line to an owned list. False: no memory. */
static bool add_line(struct text_lines *l, const char *format, va_list args)
{
	char *line;

	if (!vec_reserve(&l->lines, &l->room, l->count, 1) || vasprintf(&line, format, args) < 0)
		return false;
	l->lines[l->count++] = line;
	return true;
}

#define ADD_LINE(owner, lines)                                                                     \
	do {                                                                                       \
		va_list args;                                                                      \
		va_start(args, format);                                                            \
		if (!add_line(&(lines), format, args))                                             \
			(owner)->failed = true;                                                    \
		va_end(args);                                                                      \
	} while (0)

void report_head(struct report *r, const char *format, ...)
{
	ADD_LINE(r, r->head);
}

void report_foot(struct report *r, const char *format, ...)
{
	ADD_LINE(r, r->foot);
}

void table_note(struct table *t, const char *format, ...)
{
	ADD_LINE(t, t->notes);
}

static void free_lines(struct text_lines *l)
{
	for (unsigned i = 0; i < l->count; i++)
		free(l->lines[i]);
	free(l->lines);
}

void table_drop_rows(struct table *t)
{
	for (unsigned c = 0; c < t->column_count; c++) {
		for (uint32_t r = 0; t->columns[c].unit == CELL_TEXT && r < t->row_count; r++) {
			if (!t->cells[(size_t)r * t->column_count + c].none)
				free(t->cells[(size_t)r * t->column_count + c].s);
		}
	}
	t->row_count = 0;
}

static void table_free(struct table *t)
{
	if (!t)
		return;
	table_drop_rows(t);
	free_lines(&t->notes);
	free_lines(&t->own);
	free(t->columns);
	free(t->cells);
	free(t->name);
	free(t->title);
	free(t);
}

void report_release(struct report *r)
{
	for (unsigned i = 0; i < r->table_count; i++)
		table_free(r->tables[i]);
	free(r->tables);
	free_lines(&r->head);
	free_lines(&r->foot);
	memset(r, 0, sizeof(*r));
}

struct table *report_table(struct report *r, const char *name, const char *title)
{
	bool room = vec_reserve(&r->tables, &r->table_room, r->table_count, 1);
	struct table *t = calloc(1, sizeof(*t));

	if (t) {
		t->name = strdup(name);
		t->title = strdup(title);
	}
	if (!room || !t || !t->name || !t->title) {
		table_free(t);
		r->failed = true;
		return NULL;
	}
	return r->tables[r->table_count++] = t;
}

/* "duration_ns" as "duration": people see the unit at the number. */
static void name_column(struct table *t, struct table_column *c)
{
	static const char *const units[] = {"_ns", "_bytes"};
	size_t n = strlen(c->name);
	char *heading;

	if (!vec_reserve(&t->own.lines, &t->own.room, t->own.count, 1) ||
	    !(heading = strdup(c->name))) {
		t->failed = true;
		return;
	}
	for (unsigned i = 0; i < sizeof(units) / sizeof(*units); i++) {
		size_t unit = strlen(units[i]);

		if (n > unit && strcmp(c->name + n - unit, units[i]) == 0)
			heading[n - unit] = '\0';
	}
	for (char *p = heading; *p; p++)
		*p = *p == '_' ? ' ' : *p;
	t->own.lines[t->own.count++] = heading;
	c->heading = heading;
}

/* "not_recorded" as "Not recorded" */
static void name_table(struct table *t)
{
	char *title = *t->title ? NULL : strdup(t->name);

	if (!title)
		return;
	if (*title >= 'a' && *title <= 'z')
		*title = (char)(*title - 'a' + 'A');
	for (char *p = title; *p; p++)
		*p = *p == '_' ? ' ' : *p;
	free(t->title);
	t->title = title;
}

static void show_hidden(struct table *t)
{
	if (!t->hidden)
		return;
	t->hidden = false;
	name_table(t);
	t->turned = t->column_count > COLUMNS_A_LINE;
	for (unsigned c = 0; c < t->column_count; c++)
		if (!*t->columns[c].heading)
			name_column(t, &t->columns[c]);
}

void report_keep(struct report *r, bool (*wanted)(const char *name, const void *data),
		 const void *data)
{
	unsigned n = 0;

	for (unsigned i = 0; i < r->table_count; i++) {
		struct table *t = r->tables[i];

		if (wanted(t->name, data)) {
			show_hidden(t);
			r->tables[n++] = t;
		} else {
			table_free(t);
		}
	}
	r->table_count = n;
}

void report_drop_empty(struct report *r)
{
	if (r->table_count && r->tables[r->table_count - 1]->row_count == 0)
		table_free(r->tables[--r->table_count]);
}

void table_column(struct table *t, const char *name, const char *heading, enum cell_unit unit)
{
	table_column_if(t, true, name, heading, unit);
}

void table_last_whole(struct table *t)
{
	if (t->column_count)
		t->columns[t->column_count - 1].whole = true;
}

const char *table_own(struct table *t, const char *name)
{
	char *copy = strdup(name ? name : "");

	if (!copy || !vec_reserve(&t->own.lines, &t->own.room, t->own.count, 1)) {
		free(copy);
		t->failed = true;
		return "";
	}
	return t->own.lines[t->own.count++] = copy;
}

void table_column_if(struct table *t, bool shown, const char *name, const char *heading,
		     enum cell_unit unit)
{
	if (!vec_reserve(&t->columns, &t->column_room, t->column_count, 1)) {
		t->failed = true;
		return;
	}
	t->columns[t->column_count++] = (struct table_column){.name = name,
							      .heading = heading,
							      .unit = (uint8_t)unit,
							      .right = unit != CELL_TEXT,
							      .hidden = !shown};
}

void table_column_optional(struct table *t, unsigned spare, const char *name, const char *heading,
			   enum cell_unit unit)
{
	unsigned before = t->column_count;

	table_column(t, name, heading, unit);
	if (t->column_count > before)
		t->columns[before].spare = (uint8_t)spare;
}

void table_column_lines(struct table *t, const char *name, const char *heading)
{
	unsigned before = t->column_count;

	table_column(t, name, heading, CELL_TEXT);
	if (t->column_count > before)
		t->columns[before].lines = true;
}

struct cell *table_row(struct table *t)
{
	size_t n = t->column_count, at = (size_t)t->row_count * n;

	if (!vec_reserve(&t->cells, &t->cell_room, at, n)) {
		t->failed = true;
		return NULL;
	}
	t->row_count++;
	for (size_t i = 0; i < n; i++)
		t->cells[at + i] = (struct cell){.none = true};
	return t->cells + at;
}

void cell_text(struct table *t, struct cell *c, const char *text)
{
	c->s = strdup(text);
	c->none = !c->s;
	if (!c->s)
		t->failed = true;
}

void cell_number(struct cell *c, uint64_t u)
{
	c->none = false;
	c->u = u;
}

void cell_real(struct cell *c, double f)
{
	c->none = false;
	c->f = f;
}

uint32_t table_shown(const struct table *t, uint32_t top)
{
	return top && t->ranked && t->row_count && t->row_count - 1 > top ? top : t->row_count;
}

uint32_t table_make(struct table *t, const struct report *r, uint32_t count)
{
	uint32_t made =
		r->people && r->top && t->ranked && count && count - 1 > r->top ? r->top : count;

	t->more = count - made;
	return made;
}
