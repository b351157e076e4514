/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of ROCpd. Files are read as data (sql/dbfile.h): nothing in them is executed.
 *
 *   read.c      the format: which files, the passes over their records, filter and order
 *   open.c      files and their sets of tables, versions, columns by name
 *   model.c     definitions into the trace, and what only records tell: ops, queues, times
 *   args.c      arguments of calls
 *   deliver.c   one row as a record
 */
#ifndef FORMATS_ROCPD_READER_H
#define FORMATS_ROCPD_READER_H

#include "base/map.h"
#include "formats/format.h"
#include "sql/dbtable.h"
#include "stream/filter.h"
#include "stream/make.h"
#include "stream/trace.h"
#include "stream/unplaced.h"

enum rocpd_table {
	T_METADATA,
	T_STRING,
	T_NODE,
	T_PROCESS,
	T_THREAD,
	T_AGENT,
	T_QUEUE,
	T_STREAM,
	T_PMC,
	T_CODE,
	T_SYMBOL,
	T_TRACK,
	T_EVENT,
	T_ARG,
	T_VALUE,
	T_REGION,
	T_SAMPLE,
	T_DISPATCH,
	T_COPY,
	T_ALLOCATION,
	TABLES
};

struct reader_track {
	uint32_t thread, name; /* index of the thread; of the text in `texts` */
};

/* Arguments of calls, and which of them it stands on. */
struct args {
	struct dbwalk walk;
	bool opened; /* it is known how they lie */
	bool there;
	int64_t event, before; /* of the row it stands on, and of the one before */
	int64_t first, last;   /* rows */
	uint64_t rows, of_calls;
	struct arg_row *index; /* in the order of events; NULL: rows are */
	uint64_t indexed, at;
};

/* The tables of one process (or several, of other writers). */
struct set {
	struct dbfile *file;
	const char *path;
	char suffix[64];
	struct dbtable tables[TABLES];
	uint32_t process;                                                 /* the first */
	struct map strings;                                               /* row -> text + 1 */
	struct map processes, threads, agents, kernels, counters, tracks; /* row -> index + 1 */
	struct map queues;                    /* agent << 32 | row -> index */
	struct map queue_names, stream_names; /* row -> text + 1 */
	struct map ops;                       /* category << 32 | name -> op + 1 */
	struct map live;                      /* address -> bytes + 1, of what is allocated */
	struct map live_ids;                  /* address -> id */
	uint64_t allocations;
	uint64_t left_out; /* rows that are no record */
	struct args args;
};

struct reader {
	const struct format_options *o;
	struct trace *t;
	struct dbfile *files;
	char **paths;
	uint32_t files_count;
	size_t paths_room;
	char **missing; /* files that index.yaml names and are not there */
	uint32_t missing_count;
	size_t missing_room;
	struct set *sets;
	uint32_t sets_count, sets_room;
	struct map by_name; /* of ops */
	struct map ranges;  /* text -> string of the trace */
	uint32_t range_count;
	const char **texts; /* all strings that were kept */
	uint32_t texts_count, texts_room;
	uint32_t activity[16];        /* first op of each domain of activities */
	struct op_arguments *op_args; /* by op */
	uint32_t op_args_count, op_args_room;
	bool (*args_of)(const struct trace *t, const struct t_op *op); /* are wanted; NULL: none */
	struct make_fields fields;
	bool complete;     /* the trace was handed on: it takes no more definitions */
	uint64_t *damaged; /* by file: when definitions had been read */
	uint64_t wrong;    /* values of another type than their column's */
	struct unplaced skipped;
	struct filter_binding *filter;
	struct stream_sink *sink;
};

/* One record: a row of a table. */
struct item {
	int64_t start;
	int64_t id;
	uint32_t set;
	uint8_t table;
	int64_t value; /* of counters: row in pmc_event */
};

/* Where the passes stand in the tables of one set. */
struct places {
	struct dbwalk rows[TABLES];
};

/* ---- index.c ------------------------------------------------------------------------------- */

typedef bool (*take_name)(void *data, const char *path);
/*
 * Calls `take` once for each database that index.yaml of the folder names, with a path that lies in it unless the
 * index says where else. True where there is no index; false: it cannot be read (errno), or `take` returned false.
 */
bool index_read(const char *folder, take_name take, void *data);

/* ---- open.c -------------------------------------------------------------------------------- */

kymo_status_t reader_open(struct reader *r, const char *path);
void reader_close(struct reader *r);

/* 0 of what is no number, which is counted in `r` (may be NULL). */
static inline int64_t row_number(struct reader *r, const struct dbrow *row, unsigned wanted)
{
	return dbrow_number(row, wanted, r ? &r->wrong : NULL);
}

/* ---- model.c ------------------------------------------------------------------------------- */

kymo_status_t model_read(struct reader *r);

enum { /* order of reader.activity */
       ACTIVITY_DISPATCH,
       ACTIVITY_COPY,
       ACTIVITY_ALLOCATION,
       ACTIVITY_MARKER,
       ACTIVITY_COUNTER,
       ACTIVITY_SYNC
};

/* Op of a region; 0: the row cannot be read, or was not there when operations were looked for (damage). */
uint32_t model_op(struct reader *r, struct set *s, uint64_t category, uint64_t name);
/* Queue of work, made when it is not there yet; 0 where it is too late for that. */
uint32_t model_queue(struct reader *r, struct set *s, uint32_t agent, int64_t stream,
		     int64_t queue);
const char *model_text(const struct reader *r, const struct set *s, int64_t row);

/* ---- ranges.c ------------------------------------------------------------------------------ */

enum { RANGE_TEXT = 4096 };

/* Text of a range whose region is called `name`, not terminated; returns its length. */
uint32_t range_text(const char *name, const struct dbvalue *extdata, char out[RANGE_TEXT]);
/* The trace has its name from now on. False: no memory. */
bool range_learn(struct reader *r, const char *name, const struct dbvalue *extdata);
/* The string of the trace that is its name; 0: it has none. */
uint32_t range_name(const struct reader *r, const char *name, const char *text, uint32_t length);

/* ---- args.c -------------------------------------------------------------------------------- */

/* From now on those of all operations are wanted. False of this and the next: no memory. */
bool args_want_all(struct reader *r);
/* What the calls of `op` have, of which one is the event's, where they are wanted. */
bool args_learn(struct reader *r, struct set *s, uint32_t op, int64_t event);
/* Operations have what was learnt as their fields. */
void args_define(struct reader *r);
/* Fields of the event's call, until the next is asked for; NULL: its operation has none. */
const struct wire_record *args_read(struct reader *r, struct set *s, uint32_t op, int64_t event);
/* So many are of something else than calls; 0 where not all were wanted. */
uint64_t args_of_others(const struct reader *r);
void args_close(struct reader *r);

/* ---- deliver.c ----------------------------------------------------------------------------- */

/* The record of an item; `there`: its row, unless it is to be looked for. */
kymo_status_t deliver(struct reader *r, struct places *p, const struct item *item,
		      const struct dbrow *there);

/* What is behind "key": of a JSON object, as if it were one. False of these: it is not there. */
bool json_find_rest(const struct dbvalue *json, const char *key, struct dbvalue *rest);
/* "key":value of a JSON object, as far as simple ones go. */
bool json_find_number(const struct dbvalue *json, const char *key, int64_t *out);
bool json_find_text(const struct dbvalue *json, const char *key, const char **text,
		    uint32_t *length);
/* What short escapes and \xNN stand for; others stay as they are. Returns the length, at most `size`. */
uint32_t json_unescape(const char *text, uint32_t length, char *out, uint32_t size);

#endif
