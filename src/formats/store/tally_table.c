/* SPDX-License-Identifier: Apache-2.0 */
/* Tallies to and from their tables. */
#include <string.h>

#include "formats/store/definitions.h"

#define KEY(name, i)      {name, SQL_U32, offsetof(struct tally, key) + (i) * sizeof(uint32_t)}
#define NUMBER(member)    SQL_COLUMN(U64, struct tally, member)
#define CALLS             {"calls", SQL_U64, offsetof(struct tally, count)}
#define SENT              {"sent", SQL_U64, offsetof(struct tally, bytes)}
#define SIZES             {"min_bytes", SQL_DOUBLE, offsetof(struct tally, low)}, \
			  {"max_bytes", SQL_DOUBLE, offsetof(struct tally, high)}
#define EXTREMES          SQL_COLUMN(EXTREME, struct tally, min), NUMBER(max)

static const struct sql_column call_columns[] = {
	KEY("process", 0), KEY("thread", 1), KEY("op", 2), CALLS, NUMBER(errors), NUMBER(total),
	NUMBER(self), EXTREMES};
static const struct sql_column dispatch_columns[] = {
	KEY("process", 0), KEY("agent", 1), KEY("queue", 2), KEY("kernel", 3), CALLS,
	NUMBER(errors), NUMBER(total), EXTREMES, NUMBER(wait), NUMBER(untimed)};
static const struct sql_column copy_columns[] = {
	KEY("process", 0), KEY("op", 1), KEY("queue", 2), KEY("source_agent", 3),
	KEY("destination_agent", 4), KEY("kinds", 5), CALLS, NUMBER(errors), NUMBER(total),
	EXTREMES, NUMBER(bytes), NUMBER(wait), NUMBER(untimed), NUMBER(untimed_bytes), SIZES};
static const struct sql_column copy_size_columns[] = {
	KEY("process", 0), KEY("op", 1), KEY("class", 2), KEY("source_agent", 3),
	KEY("destination_agent", 4), KEY("kinds", 5), CALLS, NUMBER(total), NUMBER(bytes),
	NUMBER(untimed), NUMBER(untimed_bytes)};
static const struct sql_column allocation_columns[] = {
	KEY("process", 0), KEY("agent", 1), KEY("kind", 2), KEY("what", 3), CALLS, NUMBER(frees),
	NUMBER(bytes), NUMBER(freed)};
static const struct sql_column pool_columns[] = {
	KEY("process", 0), KEY("agent", 1), KEY("kind", 2), CALLS, NUMBER(frees), NUMBER(in_use),
	NUMBER(peak), SQL_COLUMN(TIME, struct tally, peak_time)};
static const struct sql_column sync_columns[] = {
	KEY("process", 0), KEY("thread", 1), KEY("op", 2), KEY("queue", 3), CALLS, NUMBER(total),
	NUMBER(self), EXTREMES};
static const struct sql_column marker_columns[] = {
	KEY("process", 0), KEY("thread", 1), KEY("op", 2), KEY("name", 3), KEY("domain", 4),
	KEY("category", 5), CALLS, {"left_open", SQL_U64, offsetof(struct tally, errors)},
	NUMBER(total), NUMBER(self), EXTREMES};
static const struct sql_column counter_columns[] = {
	KEY("process", 0), KEY("thread", 1), KEY("op", 2), KEY("call_op", 3), KEY("counter", 4),
	KEY("instance", 5), CALLS, SQL_COLUMN(DOUBLE, struct tally, sum),
	SQL_COLUMN(DOUBLE, struct tally, low), SQL_COLUMN(DOUBLE, struct tally, high),
	SQL_COLUMN(DOUBLE, struct tally, last)};
static const struct sql_column sample_columns[] = {
	KEY("process", 0), KEY("thread", 1), KEY("stack", 2),
	{"samples", SQL_U64, offsetof(struct tally, count)},
	{"lost", SQL_U64, offsetof(struct tally, errors)}, NUMBER(total)};
static const struct sql_column device_sample_columns[] = {
	KEY("process", 0), KEY("agent", 1), KEY("code", 2), KEY("reason", 3),
	{"records", SQL_U64, offsetof(struct tally, count)},
	{"samples", SQL_U64, offsetof(struct tally, bytes)},
	{"idle", SQL_U64, offsetof(struct tally, untimed)},
	{"lost", SQL_U64, offsetof(struct tally, errors)},
	{"buffer_full", SQL_U64, offsetof(struct tally, frees)}};
static const struct sql_column comm_columns[] = {
	KEY("process", 0), KEY("thread", 1), KEY("op", 2), KEY("communicator", 3),
	KEY("peer", 4), KEY("datatype", 5), CALLS, NUMBER(errors), NUMBER(total), NUMBER(self),
	EXTREMES, SENT, NUMBER(received), SIZES};
static const struct sql_column comm_size_columns[] = {
	KEY("process", 0), KEY("op", 1), KEY("class", 2), CALLS, NUMBER(total), SENT,
	NUMBER(received)};
static const struct sql_column error_columns[] = {
	KEY("process", 0), KEY("op", 1), KEY("status", 2), KEY("thread", 3), KEY("uncoded", 4), CALLS,
	SQL_COLUMN(TIME, struct tally, first)};
static const struct sql_column loss_columns[] = {KEY("process", 0), KEY("thread", 1), CALLS,
						 {"gaps", SQL_U64, offsetof(struct tally, errors)}};

static const struct sql_table tables[TALLY_KINDS] = {
	[TALLY_CALL] = SQL_TABLE("tally_call", call_columns),
	[TALLY_ACTIVITY] = SQL_TABLE("tally_activity", call_columns),
	[TALLY_DISPATCH] = SQL_TABLE("tally_dispatch", dispatch_columns),
	[TALLY_COPY] = SQL_TABLE("tally_copy", copy_columns),
	[TALLY_ALLOCATION] = SQL_TABLE("tally_allocation", allocation_columns),
	[TALLY_POOL] = SQL_TABLE("tally_pool", pool_columns),
	[TALLY_SYNC] = SQL_TABLE("tally_sync", sync_columns),
	[TALLY_ERROR] = SQL_TABLE("tally_error", error_columns),
	[TALLY_MARKER] = SQL_TABLE("tally_marker", marker_columns),
	[TALLY_COUNTER] = SQL_TABLE("tally_counter", counter_columns),
	[TALLY_SAMPLE] = SQL_TABLE("tally_sample", sample_columns),
	[TALLY_DEVICE_SAMPLE] = SQL_TABLE("tally_device_sample", device_sample_columns),
	[TALLY_COMM] = SQL_TABLE("tally_comm", comm_columns),
	[TALLY_COMM_SIZE] = SQL_TABLE("tally_comm_size", comm_size_columns),
	[TALLY_COPY_SIZE] = SQL_TABLE("tally_copy_size", copy_size_columns),
	[TALLY_LOSS] = SQL_TABLE("tally_loss", loss_columns),
};

static bool write_histogram(sqlite3_stmt *s, const struct tallies *a, const struct tally *row,
			    const char *kind, uint32_t id)
{
	for (uint32_t b = 0; b < HISTOGRAM_BUCKETS; b++) {
		uint64_t n;

		if (b % HISTOGRAM_SUB == 0 &&
		    !histogram_page_of(&a->pool, &row->histogram, b / HISTOGRAM_SUB)) {
			b += HISTOGRAM_SUB - 1;
			continue;
		}
		n = histogram_get(&a->pool, &row->histogram, b);
		if (!n)
			continue;
		sqlite3_bind_text(s, 1, kind, -1, SQLITE_STATIC);
		sqlite3_bind_int64(s, 2, id);
		sqlite3_bind_int64(s, 3, b);
		sqlite3_bind_int64(s, 4, (int64_t)histogram_low(b));
		sqlite3_bind_int64(s, 5, (int64_t)histogram_width(b));
		sqlite3_bind_int64(s, 6, (int64_t)n);
		if (sqlite3_step(s) != SQLITE_DONE)
			return false;
		sqlite3_reset(s);
	}
	return true;
}

static bool write_kind(struct sql_context *c, struct tallies *a, unsigned kind,
		       sqlite3_stmt *histogram)
{
	const struct tally_set *set = &a->set[kind];
	sqlite3_stmt *s = sql_insert(c->db, &tables[kind]);
	bool ok = s != NULL;

	for (uint32_t i = 0; ok && i < set->count; i++) {
		tally_expand(a, set->rows[i]);
		ok = sql_write(c, s, &tables[kind], i + 1, set->rows[i]) &&
		     write_histogram(histogram, a, set->rows[i], tables[kind].name, i + 1);
	}
	sqlite3_finalize(s);
	return ok;
}

bool tallies_write(struct sql_context *c, struct tallies *a)
{
	sqlite3_stmt *histogram = NULL;
	bool ok = sqlite3_prepare_v2(c->db,
				     "INSERT INTO histogram(kind, row, bucket, low, width, count) "
				     "VALUES(?, ?, ?, ?, ?, ?)",
				     -1, &histogram, NULL) == SQLITE_OK;

	for (unsigned k = 0; ok && k < TALLY_KINDS; k++)
		ok = write_kind(c, a, k, histogram);
	sqlite3_finalize(histogram);
	return ok && metadata_add_integer(c->db, "allocations_out_of_order", (int64_t)a->late) &&
	       metadata_add(c->db, "percentile_error", a->coarse ? "0.05" : "0.016");
}

/* What the keys of a kind are indexes of, in their order; KEY_NUMBER: of nothing. */
enum key_of {
	KEY_NUMBER, KEY_PROCESS, KEY_THREAD, KEY_OP, KEY_AGENT, KEY_QUEUE, KEY_KERNEL, KEY_STRING,
	KEY_COMMUNICATOR, KEY_COUNTER, KEY_STACK
};

static const uint8_t indexes[TALLY_KINDS][TALLY_KEYS] = {
	[TALLY_CALL] = {KEY_PROCESS, KEY_THREAD, KEY_OP},
	[TALLY_ACTIVITY] = {KEY_PROCESS, KEY_THREAD, KEY_OP},
	[TALLY_DISPATCH] = {KEY_PROCESS, KEY_AGENT, KEY_QUEUE, KEY_KERNEL},
	[TALLY_COPY] = {KEY_PROCESS, KEY_OP, KEY_QUEUE, KEY_AGENT, KEY_AGENT},
	[TALLY_ALLOCATION] = {KEY_PROCESS, KEY_AGENT},
	[TALLY_POOL] = {KEY_PROCESS, KEY_AGENT},
	[TALLY_SYNC] = {KEY_PROCESS, KEY_THREAD, KEY_OP, KEY_QUEUE},
	[TALLY_ERROR] = {KEY_PROCESS, KEY_OP, KEY_NUMBER, KEY_THREAD},
	[TALLY_MARKER] = {KEY_PROCESS, KEY_THREAD, KEY_OP, KEY_STRING, KEY_STRING, KEY_STRING},
	[TALLY_COUNTER] = {KEY_PROCESS, KEY_THREAD, KEY_OP, KEY_OP, KEY_COUNTER},
	[TALLY_SAMPLE] = {KEY_PROCESS, KEY_THREAD, KEY_STACK},
	[TALLY_COMM] = {KEY_PROCESS, KEY_THREAD, KEY_OP, KEY_COMMUNICATOR, KEY_NUMBER, KEY_STRING},
	[TALLY_COMM_SIZE] = {KEY_PROCESS, KEY_OP},
	[TALLY_COPY_SIZE] = {KEY_PROCESS, KEY_OP, KEY_NUMBER, KEY_AGENT, KEY_AGENT},
	[TALLY_LOSS] = {KEY_PROCESS, KEY_THREAD},
};

static uint32_t limit_of(const struct trace *t, enum key_of what)
{
	const uint32_t limits[] = {
		[KEY_NUMBER] = UINT32_MAX, [KEY_PROCESS] = t->processes_count,
		[KEY_THREAD] = t->threads_count, [KEY_OP] = t->ops_count, [KEY_AGENT] = t->agents_count,
		[KEY_QUEUE] = t->queues_count, [KEY_KERNEL] = t->kernels_count,
		[KEY_STRING] = t->strings_count, [KEY_COMMUNICATOR] = t->communicators_count,
		[KEY_COUNTER] = t->counters_count, [KEY_STACK] = t->stacks_count};

	return limits[what];
}

/* A store can come from anywhere: what keys refer to must be there. */
static bool is_sound(const struct trace *t, unsigned kind, const struct tally *row)
{
	for (unsigned i = 0; i < TALLY_KEYS; i++) {
		enum key_of what = indexes[kind][i];

		if (what != KEY_NUMBER && row->key[i] && row->key[i] >= limit_of(t, what))
			return false;
	}
	return true;
}

/* The row under its key; a store where a key comes twice, or in another order, is damaged. */
static bool read_row(struct sql_context *c, struct tallies *a, unsigned kind, sqlite3_stmt *s)
{
	struct tally row = {0}, *to;

	sql_read(c, s, &tables[kind], &row);
	if (!is_sound(a->trace, kind, &row))
		return false;
	to = tally_at(a, kind, row.key);
	if (!to || sqlite3_column_int64(s, 0) != a->set[kind].count)
		return false;
	*to = row;
	return true;
}

static bool read_kind(struct sql_context *c, struct tallies *a, unsigned kind)
{
	sqlite3_stmt *s = sql_select(c->db, &tables[kind]);
	bool ok = s != NULL;
	int rc = SQLITE_DONE;

	while (ok && (rc = sqlite3_step(s)) == SQLITE_ROW)
		ok = read_row(c, a, kind, s);
	sqlite3_finalize(s);
	return ok && rc == SQLITE_DONE;
}

static bool read_histograms(struct sql_context *c, struct tallies *a)
{
	sqlite3_stmt *s = NULL;
	unsigned kind = 0;
	bool ok = sqlite3_prepare_v2(c->db, "SELECT kind, row, bucket, count FROM histogram", -1,
				     &s, NULL) == SQLITE_OK;

	while (ok && sqlite3_step(s) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(s, 0);
		uint64_t row = (uint64_t)sqlite3_column_int64(s, 1) - 1;
		uint64_t bucket = (uint64_t)sqlite3_column_int64(s, 2);

		for (unsigned k = 0; name && k < TALLY_KINDS && strcmp(tables[kind].name, name) != 0;
		     k++)
			kind = (kind + 1) % TALLY_KINDS;
		ok = name && strcmp(tables[kind].name, name) == 0 &&
		     row < a->set[kind].count && bucket < HISTOGRAM_BUCKETS &&
		     histogram_add(&a->pool, &a->set[kind].rows[row]->histogram, (uint32_t)bucket,
				   (uint64_t)sqlite3_column_int64(s, 3));
	}
	sqlite3_finalize(s);
	return ok;
}

struct tallies *tallies_read(struct sql_context *c, const struct trace *t)
{
	struct tallies *a = tallies_empty(t);
	const char *late = metadata_text(c, "allocations_out_of_order");
	const char *error = metadata_text(c, "percentile_error");
	bool ok = a != NULL;

	for (unsigned k = 0; ok && k < TALLY_KINDS; k++)
		ok = read_kind(c, a, k);
	if (ok && read_histograms(c, a)) {
		a->late = late && strcmp(late, "0") != 0;
		a->coarse = error && strcmp(error, "0.05") == 0;
		return a;
	}
	tallies_free(a);
	return NULL;
}
