/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of kernels, a row for each launch; see passes.h. */
#include "analysis/passes.h"

/* ---- what does not fit together ---- */

/* Launches of which runs have different grids: each grid has a row of its own. */
static void tell_grids(sqlite3 *db, struct stream_log *log)
{
	static const char sql[] =
		"SELECT count(*), kernel_name, launch FROM (SELECT kernel_name, launch "
		"FROM kernel_counters GROUP BY process, kernel_name, launch "
		"HAVING count(DISTINCT grid) > 1 ORDER BY kernel_name, launch)";
	sqlite3_stmt *q = NULL;

	if (sqlite3_prepare_v2(db, sql, -1, &q, NULL) == SQLITE_OK &&
	    sqlite3_step(q) == SQLITE_ROW && sqlite3_column_int(q, 0))
		stream_warn(log,
			    "%d launches of kernels have another grid in another run, as launch "
			    "%lld of %s: the runs did not do the same, and each grid has a row",
			    sqlite3_column_int(q, 0), (long long)sqlite3_column_int64(q, 2),
			    (const char *)sqlite3_column_text(q, 1));
	sqlite3_finalize(q);
}

static void tell_missing(sqlite3 *db, struct stream_log *log)
{
	static const char sql[] = "SELECT min(n), max(n) FROM (SELECT count(*) AS n FROM (SELECT "
				  "DISTINCT trace, process, "
				  "kernel_name, launch FROM kernel_counters) GROUP BY trace)";
	sqlite3_stmt *q = NULL;

	if (sqlite3_prepare_v2(db, sql, -1, &q, NULL) == SQLITE_OK &&
	    sqlite3_step(q) == SQLITE_ROW &&
	    sqlite3_column_int64(q, 0) != sqlite3_column_int64(q, 1))
		stream_warn(log,
			    "the runs counted different numbers of launches, from %lld to %lld: "
			    "what one of them has not is empty",
			    (long long)sqlite3_column_int64(q, 0),
			    (long long)sqlite3_column_int64(q, 1));
	sqlite3_finalize(q);
}

/* ---- the table ---- */

/* A column for each counter, and for each instance of one that has several. */
static bool add_columns(sqlite3 *db, sqlite3_str *sql)
{
	static const char names[] = "SELECT name, instance, max(instance) OVER (PARTITION BY name) "
				    "FROM kernel_counters "
				    "GROUP BY name, instance ORDER BY name, instance";
	sqlite3_stmt *q = NULL;
	bool good = sqlite3_prepare_v2(db, names, -1, &q, NULL) == SQLITE_OK;

	while (good && sqlite3_step(q) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(q, 0);
		const int instance = sqlite3_column_int(q, 1);

		sqlite3_str_appendf(
			sql, ", avg(CASE WHEN name = %Q AND instance = %d THEN value END) AS ",
			name, instance);
		if (sqlite3_column_int(q, 2))
			sqlite3_str_appendf(sql, "\"%w[%d]\"", name, instance);
		else
			sqlite3_str_appendf(sql, "\"%w\"", name);
	}
	sqlite3_finalize(q);
	return good;
}

char *passes_sql(sqlite3 *db, unsigned traces, struct stream_log *log)
{
	sqlite3_str *sql = sqlite3_str_new(db);
	char *text;
	bool good;

	sqlite3_str_appendall(sql, "SELECT process, kernel_name AS kernel, launch, grid, "
				   "avg(kernel_duration) AS duration");
	good = add_columns(db, sql);
	sqlite3_str_appendall(sql,
			      " FROM kernel_counters GROUP BY process, kernel_name, launch, grid "
			      "ORDER BY process, kernel_name, launch, grid");
	text = sqlite3_str_finish(sql);
	if (good && text) {
		tell_grids(db, log);
		if (traces > 1)
			tell_missing(db, log);
		return text;
	}
	sqlite3_free(text);
	return NULL;
}
