/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer of ROCpd. Each process has a set of tables (struct part) in a file of its own or in one
 * file for all. Records become rows in feeds; definitions follow at the end, when names are complete.
 *
 *   write.c        the sink: begins, ends, tells what has no place
 *   part.c         one set of tables: its names, rows, strings and tracks
 *   records.c      records as rows
 *   definitions.c  processes, threads, queues, kernels, counters as rows
 *   agent.c        devices, with all that readers of this format want to know of them
 */
#ifndef FORMATS_ROCPD_WRITER_H
#define FORMATS_ROCPD_WRITER_H

#include "base/map.h"
#include "formats/format.h"
#include "formats/rocpd/schema.h"
#include "sql/dbappend.h"
#include "stream/output.h"
#include "stream/symbol.h"
#include "stream/unplaced.h"

enum rocpd_feed {
	ROCPD_EVENT,
	ROCPD_REGION,
	ROCPD_ARG,
	ROCPD_SAMPLE,
	ROCPD_DISPATCH,
	ROCPD_COPY,
	ROCPD_ALLOCATION,
	ROCPD_VALUE,
	ROCPD_FEEDS
};

struct track {
	int64_t thread, name; /* rows */
};

/* A database: SQLite's while tables, definitions and views are made, else its pages are filled with records. */
struct place {
	char *path;
	sqlite3 *db; /* NULL: it is not SQLite's now */
	struct dbpages pages;
};

struct part {
	struct rocpd *w;
	uint32_t process;
	struct place own, *place; /* own: of a folder */
	bool begun;               /* it has tables and feeds */
	bool failed;
	char guid[ROCPD_GUID], suffix[ROCPD_SUFFIX];
	int64_t node, pid; /* rows */
	int64_t main;      /* row of the thread of what no thread did */
	struct dbappend feed[ROCPD_FEEDS];
	int64_t last[ROCPD_FEEDS];
	const char **strings; /* text of row i + 1 */
	uint32_t strings_count, strings_room;
	struct map string_rows;
	struct track *tracks; /* row i + 1 */
	uint32_t tracks_count, tracks_room;
	struct map track_rows;
	uint32_t *op_name, *op_category; /* rows, by op; 0: not looked up yet */
	sqlite3 *pending_db;             /* values of kernels, whose events are found at the end */
	sqlite3_stmt *pending;
	bool unknown_kernel; /* a row says so */
};

struct rocpd {
	struct stream_sink sink;
	struct format_options o;
	struct rocpd_schema schema;
	bool folder;
	char *path;
	const struct trace *t;
	struct place one;   /* of all, unless each has its own */
	struct part *parts; /* by process; 0: of what no process did */
	uint32_t part_count, site_count;
	int64_t *thread_row, *agent_row;
	char **site_text, **counter_text; /* made when first needed */
	char **kept;                      /* texts that live as long as the parts */
	uint32_t kept_count, kept_room;
	struct symbols *symbols;
	struct unplaced unplaced;
	uint64_t untimed;
	bool complete;
};

/* ---- part.c -------------------------------------------------------------------------------- */

void part_name(struct part *p);
/* The part of a process, with its tables. NULL: it cannot be written, and why was said. */
struct part *part_get(struct rocpd *w, uint32_t process);
/* Those of one file, all at once. False: it was said why. */
bool parts_begin(struct rocpd *w);
/* No records come any more. */
bool part_flush(struct part *p);
/* SQLite has the file again. */
bool place_define(struct place *o);
void place_release(struct place *o);
bool part_finish(struct part *p);
void part_release(struct part *p);

/* Says why, once; returns what the sink returns. */
kymo_status_t part_error(struct part *p);

/* Row of a text, which lives as long as the writer; 0: failed. */
int64_t part_string(struct part *p, const char *text);
int64_t part_track(struct part *p, int64_t thread, int64_t name);

int64_t part_thread(const struct part *p, uint32_t thread);
int64_t part_agent(const struct part *p, uint32_t agent);

/* A copy that lives as long as the writer. NULL: no memory. */
const char *rocpd_keep(struct rocpd *w, const char *text);

/* ---- records.c ----------------------------------------------------------------------------- */

void rocpd_set_records(struct stream_sink *s);

/* ---- definitions.c, agent.c ---------------------------------------------------------------- */

/* Rows of all agents, before there are records. */
void agents_number(struct rocpd *w);
bool agents_write(struct part *p);
/* That some are no CPUs or GPUs. */
void agents_tell(const struct rocpd *w);
bool part_definitions(struct part *p);

/* One row: a prepared INSERT whose values come one after the other. */
struct row {
	sqlite3_stmt *insert;
	int at;
	bool failed;
};
struct row row_of(struct part *p, const char *table, const char *columns, unsigned count);
void row_integer(struct row *r, int64_t v);
void row_null(struct row *r);
void row_text(struct row *r, const char *s); /* NULL: null */
/* Inserts it; the next begins with its first value. */
void row_add(struct row *r);
/* False: a row was not inserted. */
bool row_end(struct row *r);

#endif
