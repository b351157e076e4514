/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of kernels from the store, for the rules that look at them; see findings.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/store/store.h"
#include "metrics/findings.h"
#include "metrics/sass.h"

/* "line N" of a program's own text, an address where there are no lines. */
#define WHERE                                                                                      \
	"CASE WHEN ifnull(line, 0) = 0 THEN function || '+' || printf('0x%x', col) "               \
	"WHEN ifnull(file, '') = '' THEN 'line ' || line ELSE file || ':' || line END"

/* Accesses, then branches. Private memory has no choice. */
static const char line_query[] =
	"WITH met AS (SELECT kernel_name, agent_name, " WHERE " AS place, what, kind, unit, "
	"sum(needed) AS needed, sum(used) AS used, sum(warps) AS warps, sum(accesses) AS items, "
	"sum(lanes) AS lanes FROM kernel_accesses WHERE kind <> 'private' GROUP BY 1, 2, 3, 4, 5, "
	"6) "
	"SELECT kernel_name, agent_name, place, what, kind, unit, needed, used, warps, items, "
	"lanes, "
	"sum(used) OVER (PARTITION BY kernel_name, agent_name, kind, unit), 0, 0 FROM met "
	"UNION ALL SELECT kernel_name, agent_name, " WHERE ", NULL, '', '', 0, 0, sum(warps), "
	"sum(items), sum(warps * warp), 0, sum(uniform), sum(divergent) FROM (SELECT *, offset AS "
	"col FROM kernel_instructions) WHERE uniform + divergent > 0 GROUP BY 1, 2, 3";
enum {
	Q_KERNEL,
	Q_DEVICE,
	Q_WHERE,
	Q_WHAT,
	Q_KIND,
	Q_UNIT,
	Q_NEEDED,
	Q_USED,
	Q_WARPS,
	Q_ITEMS,
	Q_LANES,
	Q_ALL,
	Q_UNIFORM,
	Q_DIVERGENT
};

/* Where samples wait for memory; the load stands before. */
static const char wait_query[] =
	"WITH met AS (SELECT function, agent_name, module, offset AS col, file, line, sum(samples) "
	"AS samples, ifnull(sum(samples) FILTER (WHERE reason LIKE '%scoreboard%'), 0) AS waiting "
	"FROM device_samples GROUP BY 1, 2, 3, 4, 5, 6), "
	"shares AS (SELECT *, sum(samples) OVER (PARTITION BY function, agent_name) AS total FROM "
	"met) "
	"SELECT function, agent_name, " WHERE ", module, col, total, waiting, function FROM shares "
	"WHERE waiting > 0 ORDER BY 1, 2, col";
enum { W_MODULE = Q_WHERE + 1, W_OFFSET, W_SAMPLES, W_WAITING, W_FUNCTION };

static const char *text_of(sqlite3_stmt *q, int column)
{
	const char *s = (const char *)sqlite3_column_text(q, column);

	return s ? s : "";
}

static const struct kernel_group *group_of(const struct kernel_data *d, uint32_t most,
					   sqlite3_stmt *q)
{
	for (uint32_t i = 0; i < d->group_count && (!most || i < most); i++)
		if (strcmp(d->groups[i].name, text_of(q, Q_KERNEL)) == 0 &&
		    strcmp(d->groups[i].device->label, text_of(q, Q_DEVICE)) == 0)
			return &d->groups[i];
	return NULL;
}

static void ask(struct kernel_findings *f, const struct kernel_group *g,
		const struct kernel_line *l)
{
	for (uint32_t r = 0; g && r < kernel_rules_count; r++) {
		f->rule = kernel_rules[r];
		if (f->rule->find_line)
			f->rule->find_line(f, g, l);
	}
}

static void ask_of_line(struct kernel_findings *f, const struct kernel_group *g, sqlite3_stmt *q,
			const void *unused)
{
	const struct kernel_line l = {.where = (char *)(uintptr_t)text_of(q, Q_WHERE),
				      .what = (const char *)sqlite3_column_text(q, Q_WHAT),
				      .kind = text_of(q, Q_KIND),
				      .unit = text_of(q, Q_UNIT),
				      .needed = sqlite3_column_double(q, Q_NEEDED),
				      .used = sqlite3_column_double(q, Q_USED),
				      .warps = sqlite3_column_double(q, Q_WARPS),
				      .items = sqlite3_column_double(q, Q_ITEMS),
				      .lanes = sqlite3_column_double(q, Q_LANES),
				      .used_by_kernel = sqlite3_column_double(q, Q_ALL),
				      .uniform = sqlite3_column_double(q, Q_UNIFORM),
				      .divergent = sqlite3_column_double(q, Q_DIVERGENT)};

	ask(f, g, &l);
}

static void ask_of_wait(struct kernel_findings *f, const struct kernel_group *g, sqlite3_stmt *q,
			const void *sass)
{
	struct kernel_line l = {.where = (char *)(uintptr_t)text_of(q, Q_WHERE),
				.samples = sqlite3_column_double(q, W_SAMPLES),
				.waiting = sqlite3_column_double(q, W_WAITING)};
	uint32_t count = 0, at, load;
	const struct sass_code *code =
		sass_function(sass, text_of(q, W_MODULE), text_of(q, W_FUNCTION), &count);

	at = code ? sass_at(code, count, (uint64_t)sqlite3_column_int64(q, W_OFFSET)) : UINT32_MAX;
	load = at == UINT32_MAX ? UINT32_MAX : sass_load_of(code, count, at);
	if (load == UINT32_MAX)
		return;
	l.load = code[load].text;
	l.user = code[at].text;
	l.distance = at - load;
	ask(f, g, &l);
}

static bool each(struct kernel_findings *f, const struct kernel_data *d, uint32_t most,
		 const char *query,
		 void (*row)(struct kernel_findings *f, const struct kernel_group *g,
			     sqlite3_stmt *q, const void *more),
		 const void *more)
{
	sqlite3_stmt *q = NULL;
	int rc = sqlite3_prepare_v2(store_database(f->store), query, -1, &q, NULL);

	while (rc == SQLITE_OK && (rc = sqlite3_step(q)) == SQLITE_ROW) {
		row(f, group_of(d, most, q), q, more);
		rc = SQLITE_OK;
	}
	sqlite3_finalize(q);
	return rc == SQLITE_DONE;
}

bool kernel_findings_lines(struct kernel_findings *f, const struct kernel_data *d, uint32_t most)
{
	sqlite3 *db = store_database(f->store);
	bool good = each(f, d, most, line_query, ask_of_line, NULL);
	struct sass *s;

	if (!good || !report_any(db, "SELECT 1 FROM device_sample LIMIT 1"))
		return good;
	s = sass_new();
	good = s && sass_read(s, db) && each(f, d, most, wait_query, ask_of_wait, s);
	sass_free(s);
	return good;
}
