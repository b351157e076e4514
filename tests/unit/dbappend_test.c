/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows that sql/dbappend.h puts into pages, as SQLite reads them: each value, in small pages so that trees are
 * deep and rows longer than a page, of any number of rows; SQLite's own check of the file, and rows it adds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sql/dbappend.h"

static char path[] = "/tmp/kymo-dbappend-XXXXXX";

static sqlite3 *opened(void)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	return db;
}

static void run(sqlite3 *db, const char *sql)
{
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
}

static const char *one(sqlite3 *db, const char *sql, char *room, size_t size)
{
	sqlite3_stmt *s;

	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	snprintf(room, size, "%s", (const char *)sqlite3_column_text(s, 0));
	sqlite3_finalize(s);
	return room;
}

static void make(unsigned page, struct dbpages *pages, struct dbappend *a, unsigned tables)
{
	char sql[300];
	sqlite3 *db;

	unlink(path);
	db = opened();
	snprintf(sql, sizeof(sql), "PRAGMA page_size = %u", page);
	run(db, sql);
	for (unsigned i = 0; i < tables; i++) {
		char name[12], columns[] = "id,number,value,text";
		struct dbappend_table t = {name, columns, 1u << 2, 1u << 3};

		snprintf(name, sizeof(name), "t%u", i);
		snprintf(sql, sizeof(sql),
			 "CREATE TABLE t%u(id INTEGER PRIMARY KEY AUTOINCREMENT, guid TEXT DEFAULT "
			 "'a-b', number INTEGER, zero INTEGER NOT NULL DEFAULT 0, many INTEGER "
			 "DEFAULT 70000, none INTEGER, value REAL, text TEXT)",
			 i);
		run(db, sql);
		assert_true(dbappend_init(&a[i], pages, db, &t));
	}
	sqlite3_close(db);
	assert_true(dbpages_open(pages, path));
}

static void finish(struct dbpages *pages, struct dbappend *a, unsigned tables)
{
	for (unsigned i = 0; i < tables; i++) {
		assert_true(dbappend_finish(&a[i]));
		dbappend_release(&a[i]);
	}
	assert_true(dbpages_close(pages));
}

/* All lengths of integers, with both signs. */
static int64_t number_of(int64_t id)
{
	int64_t v = (int64_t)((uint64_t)id * 0x9e3779b97f4a7c15u) >> (id * 7 % 64);

	return id % 11 == 0 ? DBAPPEND_NULL : v == DBAPPEND_NULL ? 0 : v;
}

static size_t length_of(int64_t id, unsigned page)
{
	return id % 97 == 0   ? page * 3 + (size_t)(id % 50)
	       : id % 31 == 0 ? page - 60 + (size_t)(id % 60)
			      : (size_t)(id % 40);
}

static char letter(int64_t id, size_t i)
{
	return (char)('a' + ((size_t)id + i) % 26);
}

static void add(struct dbappend *a, int64_t id, unsigned page, char *kept)
{
	int64_t *c = dbappend_row(a);
	double real = (double)id / 3;
	size_t n = length_of(id, page);
	char *text = n < DBAPPEND_TEXT_MAX ? dbappend_room(a) : kept;

	assert_non_null(c);
	for (size_t i = 0; i < n; i++)
		text[i] = letter(id, i);
	text[n] = '\0';
	c[0] = id * 3; /* ids need not be without gaps */
	c[1] = number_of(id);
	memcpy(&c[2], &real, sizeof(real));
	c[3] = id % 13 == 0   ? DBAPPEND_NULL
	       : text == kept ? dbappend_text(kept)
			      : dbappend_written(a, (uint32_t)n);
}

static void check_row(sqlite3_stmt *s, int64_t id, unsigned page)
{
	const char *text = (const char *)sqlite3_column_text(s, 7);

	assert_int_equal(sqlite3_column_int64(s, 0), id * 3);
	assert_string_equal((const char *)sqlite3_column_text(s, 1), "a-b");
	if (number_of(id) == DBAPPEND_NULL)
		assert_int_equal(sqlite3_column_type(s, 2), SQLITE_NULL);
	else
		assert_int_equal(sqlite3_column_int64(s, 2), number_of(id));
	assert_int_equal(sqlite3_column_type(s, 3), SQLITE_INTEGER);
	assert_int_equal(sqlite3_column_int64(s, 3), 0);
	assert_int_equal(sqlite3_column_int64(s, 4), 70000);
	assert_int_equal(sqlite3_column_type(s, 5), SQLITE_NULL);
	assert_true(sqlite3_column_double(s, 6) == (double)id / 3);
	if (id % 13 == 0) {
		assert_null(text);
		return;
	}
	assert_int_equal(strlen(text), length_of(id, page));
	for (size_t i = 0; text[i]; i++)
		assert_int_equal(text[i], letter(id, i));
}

static void check_table(sqlite3 *db, const char *sql, int64_t rows, unsigned page)
{
	sqlite3_stmt *s;
	int64_t id = 0;

	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
	while (sqlite3_step(s) == SQLITE_ROW)
		check_row(s, ++id, page);
	assert_int_equal(id, rows);
	sqlite3_finalize(s);
}

static void whole(unsigned page, int64_t rows)
{
	static char kept[2][3 * 65536 + 100]; /* until their rows are written */
	struct dbappend a[2];
	struct dbpages pages;
	char room[200];
	sqlite3 *db;

	make(page, &pages, a, 2);
	for (int64_t id = 1; id <= rows; id++) {
		add(&a[0], id, page, kept[0]);
		if (id <= rows / 2)
			add(&a[1], id, page, kept[1]);
	}
	finish(&pages, a, 2);
	db = opened();
	assert_string_equal(one(db, "PRAGMA integrity_check", room, sizeof(room)), "ok");
	check_table(db, "SELECT * FROM t0 ORDER BY id", rows, page);
	check_table(db, "SELECT * FROM t1 ORDER BY id", rows / 2, page);
	for (int64_t id = 1; id <= rows; id += 1 + rows / 7) {
		snprintf(room, sizeof(room), "SELECT number IS NULL FROM t0 WHERE id = %lld",
			 (long long)id * 3);
		one(db, room, room, sizeof(room));
		assert_string_equal(room, id % 11 ? "0" : "1");
	}
	run(db,
	    "INSERT INTO t0 (number) SELECT number FROM t0; DELETE FROM t0 WHERE id % 2; VACUUM");
	assert_string_equal(one(db, "PRAGMA integrity_check", room, sizeof(room)), "ok");
	sqlite3_close(db);
	unlink(path);
}

/* Of 512 bytes a page of children has some 60: trees of one to four levels, and each number around full pages. */
static void test_sizes(void **state)
{
	for (int64_t rows = 0; rows < 120; rows++)
		whole(512, rows);
	for (int64_t rows = 3000; rows < 3010; rows++)
		whole(512, rows);
	whole(512, 40000);
	whole(1024, 20000);
	whole(16384, 5000);
	whole(65536, 500);
}

/* Children full to the last cell, whatever number of them is in the last page. */
static void test_full_pages(void **state)
{
	struct dbappend a;
	struct dbpages pages;
	char room[200];
	sqlite3 *db;

	for (int64_t rows = 4300; rows < 4500; rows += 7) {
		make(512, &pages, &a, 1);
		for (int64_t id = 1; id <= rows; id++) {
			int64_t *c = dbappend_row(&a);

			assert_non_null(c);
			memcpy(c, (const int64_t[]){id, id, 0, DBAPPEND_NULL}, 4 * sizeof(*c));
		}
		finish(&pages, &a, 1);
		db = opened();
		assert_string_equal(one(db, "PRAGMA integrity_check", room, sizeof(room)), "ok");
		one(db, "SELECT count(*) || ' ' || sum(number) FROM t0", room, sizeof(room));
		assert_int_equal(strtoll(room, NULL, 10), rows);
		assert_int_equal(strtoll(strchr(room, ' '), NULL, 10), rows * (rows + 1) / 2);
		sqlite3_close(db);
	}
	unlink(path);
}

/* Texts of one row that are put together in its room lie one behind the other. */
static void test_two_texts(void **state)
{
	struct dbappend_table t = {"t", "id,first,second", 0, 3u << 1};
	struct dbpages pages;
	struct dbappend a;
	char room[200];
	sqlite3 *db;

	unlink(path);
	db = opened();
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, first TEXT, second TEXT)");
	assert_true(dbappend_init(&a, &pages, db, &t));
	sqlite3_close(db);
	assert_true(dbpages_open(&pages, path));
	for (int64_t id = 1; id <= 2; id++) {
		int64_t *c = dbappend_row(&a);

		assert_non_null(c);
		c[0] = id;
		for (unsigned i = 1; i <= 2; i++)
			c[i] = dbappend_written(
				&a, (uint32_t)sprintf(dbappend_room(&a), "%u of %d", i, (int)id));
	}
	finish(&pages, &a, 1);
	db = opened();
	assert_string_equal(one(db,
				"SELECT group_concat(first || ', ' || second, '; ') FROM "
				"(SELECT * FROM t ORDER BY id)",
				room, sizeof(room)),
			    "1 of 1, 2 of 1; 1 of 2, 2 of 2");
	sqlite3_close(db);
	unlink(path);
}

static void test_no_file(void **state)
{
	struct dbpages pages;

	assert_false(dbpages_open(&pages, "/nonexistent/kymo"));
	assert_int_not_equal(pages.error, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_full_pages),
		cmocka_unit_test(test_two_texts),
		cmocka_unit_test(test_no_file),
	};
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
