/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table: what an analysis answers with and a report prints. Cells are numbers in base units
 * (nanoseconds, bytes) until a renderer makes them readable.
 */
#ifndef ANALYSIS_TABLE_H
#define ANALYSIS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cell_unit {
	CELL_TEXT,
	CELL_COUNT,
	CELL_ID,        /* of a process, a processor: its digits are not grouped */
	CELL_TIME,      /* ns */
	CELL_TIMESTAMP, /* ns since the trace's origin */
	CELL_BYTES,
	CELL_BYTES_MEAN, /* as CELL_BYTES, with a fraction (cell_real) */
	CELL_RATE,       /* bytes a second */
	CELL_PERCENT,
	CELL_NUMBER /* anything else */
};

struct table_column {
	const char *name;    /* for programs: "average_ns" */
	const char *heading; /* for people: "average" */
	uint8_t unit;        /* enum cell_unit */
	bool right;          /* text aligned to the right, as numbers are */
	bool lines;          /* text of several lines, in which names were made plain before */
	bool hidden;         /* from people: it has nothing to say here */
	bool whole;          /* text that says what to do: it is not cut */
	uint8_t spare;       /* gives way where the terminal is narrow: 1 first; 0: stays */
};

struct cell {
	bool none;  /* nothing to show */
	bool quiet; /* a value that people are spared */
	union {
		char *s;    /* owned */
		double f;   /* percent, rate, number */
		uint64_t u; /* count, time, bytes */
	};
};

struct text_lines {
	char **lines;
	unsigned count, room;
};

struct table {
	char *name;  /* for programs: "opencl" */
	char *title; /* for people: "OpenCL calls" */
	bool hidden; /* from people, whom the lines around the tables tell the same */
	bool drawn;  /* its rows are lines of a picture */
	bool turned; /* people get a line for each column: there are more of them than a line holds */
	bool ranked; /* the heaviest row is the first: people see some, unless they ask for all */
	struct table_column *columns;
	unsigned column_count, column_room;
	struct cell *cells; /* row after row */
	uint32_t row_count;
	uint32_t more; /* rows behind these that were not made, as people are not shown them */
	size_t cell_room;
	struct text_lines notes; /* under the table */
	struct text_lines own;   /* names of columns that are nobody else's */
	bool failed;             /* memory ran out */
};

/* A few tables and the lines around them, in order. */
struct report {
	struct table **tables;
	unsigned table_count, table_room;
	struct text_lines head, foot;
	bool alone;         /* the one table needs no column with its name in CSV */
	const char *chosen; /* borrowed: a list of those that are asked for; NULL: all */
	const char *by;     /* borrowed: what their rows are asked by; NULL: as they are */
	const char *more;   /* how people get the rows that they are not shown */
	uint32_t
		top; /* rows of a ranked table that people are shown; 0: all. Programs always get all. */
	bool utf8;   /* what they read it on shows that */
	bool marked; /* as text: a REPORT_MARK stands before the head of each table */
	bool people; /* it is for them, not for programs */
	bool digest; /* it has one among the lines above the tables */
	bool fold;   /* annotations are one row whose names differ only in instance data */
	bool failed;
};

enum { TABLE_TOP = 10 /* of a summary, unless somebody asks for more */ };

/* So many of the table's rows are shown where `top` are wanted: one row more takes no more room than to say so. */
uint32_t table_shown(const struct table *t, uint32_t top);

struct table *report_table(struct report *r, const char *name, const char *title);
void report_head(struct report *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
void report_foot(struct report *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
void report_release(struct report *r);

/* Columns are added before rows. Heading and name are borrowed. */
void table_column(struct table *t, const char *name, const char *heading, enum cell_unit unit);
/* As above; programs always see it, people only if it is `shown`. */
void table_column_if(struct table *t, bool shown, const char *name, const char *heading,
		     enum cell_unit unit);

/* Of text in several lines. */
void table_column_lines(struct table *t, const char *name, const char *heading);
/* As table_column(); gives way where the terminal is too narrow, that of the least `spare` first. */
void table_column_optional(struct table *t, unsigned spare, const char *name, const char *heading,
			   enum cell_unit unit);

/* The text of the last column is never cut. */
void table_last_whole(struct table *t);

/* A copy for the name of a column, which lives as long as the table. */
const char *table_own(struct table *t, const char *name);

/* How many of `count` rows to make of a table that is `ranked` already: notes the others. */
uint32_t table_make(struct table *t, const struct report *r, uint32_t count);

/* The cells of a new row, all "none". NULL: no memory (and `failed`). */
struct cell *table_row(struct table *t);
/* Makes room for others. */
void table_drop_rows(struct table *t);
void table_note(struct table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Drops the tables that are not `wanted`; those that are, people see, under the names that programs have. */
void report_keep(struct report *r, bool (*wanted)(const char *name, const void *data),
		 const void *data);

/* Drops the last table when it has no row. */
void report_drop_empty(struct report *r);

void cell_text(struct table *t, struct cell *c, const char *text);
void cell_number(struct cell *c, uint64_t u);
void cell_real(struct cell *c, double f);

#endif
