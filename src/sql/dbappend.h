/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows at the end of tables of a SQLite file, put into pages without SQLite: several times as fast as INSERT,
 * where rows come in the order of their ids, no index or trigger is on the table, and nobody else has the file
 * open. The format is that of https://www.sqlite.org/fileformat.html.
 *
 *	sqlite3_open(path, &db), CREATE TABLE ...
 *	dbappend_init(&a, &pages, db, &table);      // of each table, which is empty
 *	sqlite3_close(db);
 *	dbpages_open(&pages, path);
 *	c = dbappend_row(&a); c[0] = ++id; ...      // again and again
 *	dbappend_finish(&a);                        // of each table
 *	dbpages_close(&pages);                      // now it is SQLite's again
 */
#ifndef SQL_DBAPPEND_H
#define SQL_DBAPPEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sql/sqlite.h"

#define DBAPPEND_TEXT_MAX                                                                          \
	8192u /* bytes of one text that is put together; a row has at most two of these */
#define DBAPPEND_NULL INT64_MIN /* a cell that is NULL */

enum { DBAPPEND_COLUMNS = 40, DBAPPEND_LEVELS = 12 };

struct dbpages {
	int fd; /* -1: not open */
	uint32_t size, count;
	int error; /* errno of what failed; 0: nothing did */
};

/* False of all: `error` says why. */
bool dbpages_open(struct dbpages *p, const char *path);
/* Writes into its header how long it is. */
bool dbpages_close(struct dbpages *p);

struct dbappend_table {
	const char *name;
	const char *
		columns; /* that rows have, with commas, the id first; others get what the table says */
	uint64_t reals,
		texts; /* bits by column: cells are the bytes of a double; pointers to text */
};

struct dbappend_level;

struct dbappend {
	struct dbpages *pages;
	uint32_t root;
	unsigned columns; /* of the table */
	struct {
		int cell; /* -1: it has always this: */
		uint32_t type, length;
		char *bytes;
	} column[DBAPPEND_COLUMNS];
	uint64_t reals, texts;
	int64_t cells[DBAPPEND_COLUMNS];
	bool row;      /* cells hold one */
	uint32_t used; /* of `room` */
	char *room;
	struct dbappend_level *level[DBAPPEND_LEVELS]; /* 0: of leaves */
};

/* Keeps no connection. False: `db` says why, or there is no memory. */
bool dbappend_init(struct dbappend *a, struct dbpages *pages, sqlite3 *db,
		   const struct dbappend_table *t);
void dbappend_release(struct dbappend *a);

/* Cells of the next row, to be filled whole, with an id above all others. NULL: the last could not be written. */
int64_t *dbappend_row(struct dbappend *a);
bool dbappend_finish(struct dbappend *a);

/* Where a text of the present row is put together: at most DBAPPEND_TEXT_MAX bytes. */
static inline char *dbappend_room(struct dbappend *a)
{
	return a->room + a->used;
}

/* The cell for a terminated text that stays until the next row; NULL is NULL. */
static inline int64_t dbappend_text(const char *text)
{
	return text ? (int64_t)(intptr_t)text : DBAPPEND_NULL;
}

/* The same for one of `length` bytes, less its terminator, just put into dbappend_room(). */
static inline int64_t dbappend_written(struct dbappend *a, uint32_t length)
{
	const char *text = a->room + a->used;

	a->used += length + 1;
	return dbappend_text(text);
}

#endif
