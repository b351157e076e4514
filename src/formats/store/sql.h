/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structures as rows: a table of columns says which member of a structure goes to which column.
 * The same description writes and reads, so the two cannot drift apart. Private to the store.
 */
#ifndef FORMATS_STORE_SQL_H
#define FORMATS_STORE_SQL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sql/sqlite.h"

enum sql_type {
	SQL_U8,
	SQL_U32,
	SQL_I32,
	SQL_U64,
	SQL_I64,
	SQL_BOOL,
	SQL_DOUBLE,
	SQL_TEXT,    /* const char * */
	SQL_STRING,  /* const char *, kept once in table `string` */
	SQL_TIME,    /* int64_t node time; relative to the origin in the table; 0 is NULL */
	SQL_EXTREME, /* uint64_t; UINT64_MAX, "none yet", is NULL */
	SQL_KNOWN    /* uint32_t; UINT32_MAX, "not known", is NULL */
};

struct sql_column {
	const char *name;
	uint8_t type; /* enum sql_type */
	uint16_t offset;
};

#define SQL_COLUMN(kind, structure, member)                                                        \
	{                                                                                          \
#member, SQL_##kind, offsetof(structure, member)                                   \
	}

struct sql_table {
	const char *name;
	const struct sql_column *columns;
	unsigned count;
};
#define SQL_TABLE(table, columns)                                                                  \
	{                                                                                          \
		table, columns, sizeof(columns) / sizeof(*(columns))                               \
	}

/* A time of the table. What cannot be a time comes from nowhere, and turns round. */
static inline int64_t sql_time(int64_t origin, int64_t from_there)
{
	return (int64_t)((uint64_t)origin + (uint64_t)from_there);
}

/* Copies text into what lives as long as the structures read; "" for NULL. */
typedef const char *(*sql_keep)(void *owner, const char *text);

struct sql_context {
	sqlite3 *db;
	int64_t origin;
	sqlite3_stmt *string_add, *string_get; /* made when needed */
	sql_keep keep;                         /* when reading */
	void *owner;
};

void sql_release(struct sql_context *c);

/* Runs statements; false: sqlite3_errmsg() says why. */
bool sql_run(sqlite3 *db, const char *statements);

/* "INSERT INTO t(id, columns...)". NULL: sqlite3_errmsg(). */
sqlite3_stmt *sql_insert(sqlite3 *db, const struct sql_table *t);
/* "SELECT id, columns... FROM t ORDER BY id". */
sqlite3_stmt *sql_select(sqlite3 *db, const struct sql_table *t);

bool sql_write(struct sql_context *c, sqlite3_stmt *insert, const struct sql_table *t, int64_t id,
	       const void *structure);
/* Fills the structure from the row the statement stands on. */
void sql_read(struct sql_context *c, sqlite3_stmt *select, const struct sql_table *t,
	      void *structure);

#endif
