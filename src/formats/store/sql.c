/* SPDX-License-Identifier: Apache-2.0 */
/* Structures as rows; see sql.h. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "formats/store/sql.h"

bool sql_run(sqlite3 *db, const char *statements)
{
	return sqlite3_exec(db, statements, NULL, NULL, NULL) == SQLITE_OK;
}

void sql_release(struct sql_context *c)
{
	sqlite3_finalize(c->string_add);
	sqlite3_finalize(c->string_get);
	c->string_add = c->string_get = NULL;
}

static sqlite3_stmt *prepare_statement(sqlite3 *db, struct text *sql)
{
	sqlite3_stmt *s = NULL;

	if (sql->failed || sqlite3_prepare_v2(db, sql->s, -1, &s, NULL) != SQLITE_OK)
		s = NULL;
	text_release(sql);
	return s;
}

sqlite3_stmt *sql_insert(sqlite3 *db, const struct sql_table *t)
{
	struct text sql = {0};

	text_addf(&sql, "INSERT INTO \"%s\"(id", t->name);
	for (unsigned i = 0; i < t->count; i++)
		text_addf(&sql, ",\"%s\"", t->columns[i].name);
	text_add(&sql, ") VALUES(?");
	for (unsigned i = 0; i < t->count; i++)
		text_add(&sql, ",?");
	text_add(&sql, ")");
	return prepare_statement(db, &sql);
}

sqlite3_stmt *sql_select(sqlite3 *db, const struct sql_table *t)
{
	struct text sql = {0};

	text_add(&sql, "SELECT id");
	for (unsigned i = 0; i < t->count; i++)
		text_addf(&sql, ",\"%s\"", t->columns[i].name);
	text_addf(&sql, " FROM \"%s\" ORDER BY id", t->name);
	return prepare_statement(db, &sql);
}

/* ---- strings ----------------------------------------------------------------------------------- */

static bool string_statement(struct sql_context *c, sqlite3_stmt **s, const char *sql)
{
	return *s || sqlite3_prepare_v2(c->db, sql, -1, s, NULL) == SQLITE_OK;
}

/* Id of a text in table `string`; 0 is NULL and "". */
static int64_t string_id(struct sql_context *c, const char *text)
{
	int64_t id = 0;

	if (!text || !*text ||
	    !string_statement(c, &c->string_add, "INSERT OR IGNORE INTO string(text) VALUES(?)") ||
	    !string_statement(c, &c->string_get, "SELECT id FROM string WHERE text = ?"))
		return 0;
	sqlite3_bind_text(c->string_add, 1, text, -1, SQLITE_STATIC);
	sqlite3_step(c->string_add);
	sqlite3_reset(c->string_add);
	sqlite3_bind_text(c->string_get, 1, text, -1, SQLITE_STATIC);
	if (sqlite3_step(c->string_get) == SQLITE_ROW)
		id = sqlite3_column_int64(c->string_get, 0);
	sqlite3_reset(c->string_get);
	return id;
}

static const char *string_text(struct sql_context *c, int64_t id)
{
	const char *text = "";

	if (!id || !string_statement(c, &c->string_get, "SELECT text FROM string WHERE id = ?"))
		return c->keep(c->owner, NULL);
	sqlite3_bind_int64(c->string_get, 1, id);
	if (sqlite3_step(c->string_get) == SQLITE_ROW)
		text = c->keep(c->owner, (const char *)sqlite3_column_text(c->string_get, 0));
	sqlite3_reset(c->string_get);
	return text;
}

/* ---- rows -------------------------------------------------------------------------------------- */

#define MEMBER(type, p) (*(const type *)(p))

static void bind(struct sql_context *c, sqlite3_stmt *s, int at, uint8_t type, const void *p)
{
	switch (type) {
	case SQL_U8:
		sqlite3_bind_int(s, at, MEMBER(uint8_t, p));
		break;
	case SQL_U32:
		sqlite3_bind_int64(s, at, MEMBER(uint32_t, p));
		break;
	case SQL_I32:
		sqlite3_bind_int(s, at, MEMBER(int32_t, p));
		break;
	case SQL_BOOL:
		sqlite3_bind_int(s, at, MEMBER(bool, p));
		break;
	case SQL_DOUBLE:
		sqlite3_bind_double(s, at, MEMBER(double, p));
		break;
	case SQL_TEXT:
		sqlite3_bind_text(s, at, MEMBER(char *, p), -1, SQLITE_STATIC);
		break;
	case SQL_STRING:
		sqlite3_bind_int64(s, at, string_id(c, MEMBER(char *, p)));
		break;
	case SQL_TIME:
		if (MEMBER(int64_t, p))
			sqlite3_bind_int64(s, at, MEMBER(int64_t, p) - c->origin);
		break;
	case SQL_EXTREME:
		if (MEMBER(uint64_t, p) != UINT64_MAX)
			sqlite3_bind_int64(s, at, MEMBER(int64_t, p));
		break;
	case SQL_KNOWN:
		if (MEMBER(uint32_t, p) != UINT32_MAX)
			sqlite3_bind_int64(s, at, MEMBER(uint32_t, p));
		break;
	default:
		sqlite3_bind_int64(s, at, MEMBER(int64_t, p));
	}
}

bool sql_write(struct sql_context *c, sqlite3_stmt *insert, const struct sql_table *t, int64_t id,
	       const void *structure)
{
	int rc;

	sqlite3_clear_bindings(insert);
	sqlite3_bind_int64(insert, 1, id);
	for (unsigned i = 0; i < t->count; i++)
		bind(c, insert, (int)i + 2, t->columns[i].type,
		     (const char *)structure + t->columns[i].offset);
	rc = sqlite3_step(insert);
	sqlite3_reset(insert);
	return rc == SQLITE_DONE;
}

#undef MEMBER
#define MEMBER(type, p) (*(type *)(p))

static void take_column(struct sql_context *c, sqlite3_stmt *s, int at, uint8_t type, void *p)
{
	switch (type) {
	case SQL_U8:
		MEMBER(uint8_t, p) = (uint8_t)sqlite3_column_int(s, at);
		break;
	case SQL_U32:
		MEMBER(uint32_t, p) = (uint32_t)sqlite3_column_int64(s, at);
		break;
	case SQL_I32:
		MEMBER(int32_t, p) = sqlite3_column_int(s, at);
		break;
	case SQL_BOOL:
		MEMBER(bool, p) = sqlite3_column_int(s, at) != 0;
		break;
	case SQL_DOUBLE:
		MEMBER(double, p) = sqlite3_column_double(s, at);
		break;
	case SQL_TEXT:
		MEMBER(const char *, p) =
			c->keep(c->owner, (const char *)sqlite3_column_text(s, at));
		break;
	case SQL_STRING:
		MEMBER(const char *, p) = string_text(c, sqlite3_column_int64(s, at));
		break;
	case SQL_TIME:
		MEMBER(int64_t, p) = sqlite3_column_type(s, at) == SQLITE_NULL
					     ? 0
					     : sql_time(c->origin, sqlite3_column_int64(s, at));
		break;
	case SQL_EXTREME:
		MEMBER(uint64_t, p) = sqlite3_column_type(s, at) == SQLITE_NULL
					      ? UINT64_MAX
					      : (uint64_t)sqlite3_column_int64(s, at);
		break;
	case SQL_KNOWN:
		MEMBER(uint32_t, p) = sqlite3_column_type(s, at) == SQLITE_NULL
					      ? UINT32_MAX
					      : (uint32_t)sqlite3_column_int64(s, at);
		break;
	default:
		MEMBER(int64_t, p) = sqlite3_column_int64(s, at);
	}
}

void sql_read(struct sql_context *c, sqlite3_stmt *select, const struct sql_table *t,
	      void *structure)
{
	for (unsigned i = 0; i < t->count; i++)
		take_column(c, select, (int)i + 1, t->columns[i].type,
			    (char *)structure + t->columns[i].offset);
}
