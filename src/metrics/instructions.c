/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of kernels by instruction, with its text where the trace has the code and the machine a disassembler. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "formats/store/store.h"
#include "metrics/report.h"
#include "metrics/sass.h"

/* Samples and counts may be of several traces in one; each alone will do. */
static const char query[] =
	"WITH met AS (SELECT function, module, offset, file, line, agent_name, reason, "
	"sum(samples) AS samples, sum(idle) AS idle FROM device_samples GROUP BY 1, 2, 3, 4, 5, 6, "
	"7 ORDER BY samples DESC), "
	"every AS (SELECT function, agent_name, file, line, module, offset, sum(samples) AS "
	"samples, "
	"sum(idle) AS idle, group_concat(reason || ' ' || samples, ', ') AS stalls, 0 AS warps, "
	"0 AS items, 0 AS lanes, NULL AS sectors_needed, NULL AS sectors_used, NULL AS conflicts "
	"FROM met GROUP BY function, module, offset, file, line, agent_name "
	"UNION ALL SELECT function, agent_name, file, line, module, offset, 0, 0, NULL, "
	"sum(warps), "
	"sum(items), sum(warps * warp), "
	"sum(sectors_needed) FILTER (WHERE kind = 'global'), "
	"sum(sectors_used) FILTER (WHERE sectors_used), "
	"sum(rounds_used - rounds_needed) FILTER (WHERE rounds_used) "
	"FROM kernel_instructions GROUP BY function, module, offset, file, line, agent_name) "
	"SELECT function, agent_name, file, line, module, offset, sum(samples), sum(idle), "
	"max(stalls), 100.0 * sum(samples) / (SELECT sum(samples) FROM met), sum(warps), "
	"100.0 * sum(items) / nullif(sum(lanes), 0), sum(sectors_needed), sum(sectors_used), "
	"sum(conflicts) FROM every "
	"GROUP BY function, module, offset, file, line, agent_name ORDER BY 7 DESC, function, "
	"offset";
enum {
	Q_FUNCTION,
	Q_DEVICE,
	Q_FILE,
	Q_LINE,
	Q_MODULE,
	Q_OFFSET,
	Q_SAMPLES,
	Q_IDLE,
	Q_STALLS,
	Q_SHARE,
	Q_WARPS,
	Q_LANES,
	Q_SECTORS_NEEDED,
	Q_END = Q_SECTORS_NEEDED + 3
};

/* Binaries that samples met; one that was cut is none. */
static const char code_query[] =
	"SELECT substr(what, 7), data FROM blob WHERE what LIKE 'cubin %' AND stored = total";

bool sass_read(struct sass *s, sqlite3 *db)
{
	sqlite3_stmt *q = NULL;
	int rc = sqlite3_prepare_v2(db, code_query, -1, &q, NULL);

	while (rc == SQLITE_OK && (rc = sqlite3_step(q)) == SQLITE_ROW) {
		sass_module(s, (const char *)sqlite3_column_text(q, 0), sqlite3_column_blob(q, 1),
			    (size_t)sqlite3_column_bytes(q, 1));
		rc = SQLITE_OK;
	}
	sqlite3_finalize(q);
	return rc == SQLITE_DONE;
}

static void put_text(struct table *t, struct cell *c, const char *s)
{
	if (s && *s)
		cell_text(t, c, s);
}

static void put_samples(struct table *t, struct cell *c, sqlite3_stmt *q)
{
	const double samples = sqlite3_column_double(q, Q_SAMPLES);

	cell_number(c++, (uint64_t)sqlite3_column_int64(q, Q_SAMPLES));
	cell_real(c++, sqlite3_column_double(q, Q_SHARE));
	if (samples > 0)
		cell_real(c, 100 * sqlite3_column_double(q, Q_IDLE) / samples);
	c++;
	put_text(t, c, (const char *)sqlite3_column_text(q, Q_STALLS));
}

static void put_counts(struct cell *c, sqlite3_stmt *q, uint32_t use)
{
	if (use)
		cell_number(c, use);
	c++;
	for (int i = Q_WARPS; i < Q_END; i++, c++)
		if (sqlite3_column_type(q, i) != SQLITE_NULL && i == Q_LANES)
			cell_real(c, sqlite3_column_double(q, i));
		else if (sqlite3_column_type(q, i) != SQLITE_NULL)
			cell_number(c, (uint64_t)sqlite3_column_int64(q, i));
}

/* False: its text is not known. */
static bool put_row(struct table *t, sqlite3_stmt *q, const struct sass *s, bool samples)
{
	const char *function = (const char *)sqlite3_column_text(q, Q_FUNCTION);
	const char *module = (const char *)sqlite3_column_text(q, Q_MODULE);
	const uint64_t offset = (uint64_t)sqlite3_column_int64(q, Q_OFFSET);
	struct cell *c = table_row(t);
	const struct sass_code *code;
	uint32_t count = 0, at;
	char address[24];

	if (!c)
		return true;
	snprintf(address, sizeof(address), "0x%" PRIx64, offset);
	code = sass_function(s, module ? module : "", function ? function : "", &count);
	at = code ? sass_at(code, count, offset) : UINT32_MAX;
	put_text(t, c++, function);
	put_text(t, c++, (const char *)sqlite3_column_text(q, Q_DEVICE));
	put_text(t, c++, (const char *)sqlite3_column_text(q, Q_FILE));
	if (sqlite3_column_int64(q, Q_LINE) > 0)
		cell_number(c, (uint64_t)sqlite3_column_int64(q, Q_LINE));
	c++;
	cell_text(t, c++, address);
	put_text(t, c++, at == UINT32_MAX ? NULL : code[at].text);
	if (samples)
		put_samples(t, c, q);
	put_counts(c + 4, q, at == UINT32_MAX ? 0 : sass_load_use(code, count, at));
	return at != UINT32_MAX;
}

static void put_columns(struct table *t, bool samples, bool counts)
{
	t->ranked = true;
	table_column(t, "function", "function", CELL_TEXT);
	table_column_optional(t, 1, "device", "device", CELL_TEXT);
	table_column(t, "file", "file", CELL_TEXT);
	table_column(t, "line", "line", CELL_ID);
	table_column(t, "address", "address", CELL_TEXT);
	table_column_optional(t, 2, "instruction", "instruction", CELL_TEXT);
	table_column_if(t, samples, "samples", "samples", CELL_COUNT);
	table_column_if(t, samples, "share_percent", "share %", CELL_PERCENT);
	table_column_if(t, samples, "idle_percent", "idle %", CELL_PERCENT);
	table_column_if(t, samples, "stalls", "samples by stall", CELL_TEXT);
	table_column_optional(t, 3, "use_after", "used after", CELL_COUNT);
	table_column_if(t, counts, "warps", "executed by warps", CELL_COUNT);
	table_column_if(t, counts, "lanes_percent", "lanes %", CELL_PERCENT);
	table_column_if(t, counts, "sectors_needed", "sectors needed", CELL_COUNT);
	table_column_if(t, counts, "sectors_used", "used", CELL_COUNT);
	table_column_if(t, counts, "conflicts", "conflicts", CELL_COUNT);
}

static void put_notes(struct table *t, const struct sass *s, uint32_t unknown)
{
	if (!t->row_count)
		table_note(t, NO_KERNEL_SAMPLES);
	else if (sass_why(s))
		table_note(t, "text of instructions N/A: %s", sass_why(s));
	else if (unknown)
		table_note(t,
			   "text of %" PRIu32
			   " instructions N/A: the trace has no code of theirs (it "
			   "keeps modules with lines, -lineinfo, of at most 1 MiB)",
			   unknown);
}

bool instructions_table(struct report *r, const struct kernel_report *k, const char *id,
			const char *title)
{
	sqlite3 *db = store_database(k->store);
	struct table *t = report_table(r, id, title);
	struct sass *sass = sass_new();
	sqlite3_stmt *q = NULL;
	const bool samples = report_any(db, "SELECT 1 FROM device_sample LIMIT 1");
	uint32_t unknown = 0;
	int rc = SQLITE_NOMEM;

	if (t && sass && sass_read(sass, db)) {
		put_columns(t, samples, report_any(db, "SELECT 1 FROM kernel_instruction LIMIT 1"));
		rc = sqlite3_prepare_v2(db, query, -1, &q, NULL);
	}
	while (rc == SQLITE_OK && (rc = sqlite3_step(q)) == SQLITE_ROW) {
		unknown += !put_row(t, q, sass, samples);
		rc = SQLITE_OK;
	}
	sqlite3_finalize(q);
	if (rc != SQLITE_DONE)
		stream_error(k->log, "the store cannot be read: %s", sqlite3_errmsg(db));
	else
		put_notes(t, sass, unknown);
	if (!k->panels)
		report_drop_empty(r);
	sass_free(sass);
	return rc == SQLITE_DONE;
}
