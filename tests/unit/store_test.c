/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store, the tallies and the summary: percentiles against exact ones, arguments and numbers
 * against what the raw reader says, SQL against the tallies, the life of store.db, and damage.
 */
#include <fcntl.h>
#include <glob.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/summary.h"
#include "analysis/trace_store.h"
#include "formats/store/arguments.h"
#include "report/query.h"
#include "support/synth.h"

static char said[8192]; /* by the log since it was last emptied */

static void log_message(struct stream_log *l, int severity, const char *text)
{
	size_t n = strlen(said);

	snprintf(said + n, sizeof(said) - n, "%d: %s\n", severity, text);
}

static struct stream_log test_log = {log_message};
static const struct format_options options = {.log = &test_log};

static char folder[] = "/tmp/kymo-store-test-XXXXXX";

static char *in_folder(const char *name)
{
	char *path;

	assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
	return path;
}

static char *demo(const char *name)
{
	char *path = in_folder(name);

	synth_demo(path, false);
	said[0] = '\0';
	return path;
}

/* ---- histograms -------------------------------------------------------------------------------- */

static int compare(const void *x, const void *y)
{
	uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

	return a < b ? -1 : a > b;
}

static void check_percentiles(unsigned count, double decades)
{
	static const double shares[] = {0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0};
	uint64_t *values = malloc(count * sizeof(*values));
	struct histogram_pool pool = {0};
	struct histogram h = {0};

	for (unsigned i = 0; i < count; i++) {
		values[i] = (uint64_t)pow(10, decades * drand48());
		assert_true(histogram_add(&pool, &h, histogram_bucket(values[i]), 1));
	}
	qsort(values, count, sizeof(*values), compare);
	for (unsigned i = 0; i < sizeof(shares) / sizeof(*shares); i++) {
		double rank = ceil(shares[i] * count);
		double exact = (double)values[rank < 1 ? 0 : (unsigned)rank - 1];
		double got = (double)histogram_at(&pool, &h, count, shares[i]);

		if (fabs(got - exact) > exact / 64 + 0.5)
			fail_msg("share %g of %u values over %g decades: %g, exactly %g", shares[i],
				 count, decades, got, exact);
	}
	histogram_pool_release(&pool);
	free(values);
}

static void percentiles_are_within_the_stated_error(void **state)
{
	static const unsigned counts[] = {1, 2, 3, 10, 99, 100, 1000, 100000};

	srand48(7);
	for (unsigned i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		check_percentiles(counts[i], 1);
		check_percentiles(counts[i], 6);
		check_percentiles(counts[i], 19);
	}
}

static void buckets_cover_all_values_once(void **state)
{
	for (uint32_t b = 0; b + 1 < HISTOGRAM_BUCKETS; b++) {
		uint64_t low = histogram_low(b), width = histogram_width(b);

		assert_int_equal(histogram_bucket(low), b);
		assert_int_equal(histogram_bucket(low + width - 1), b);
		assert_int_equal(histogram_low(b + 1), low + width);
	}
	assert_int_equal(histogram_bucket(UINT64_MAX), HISTOGRAM_BUCKETS - 1);
}

/* ---- tallies ----------------------------------------------------------------------------------- */

static struct trace *one_thread(void)
{
	static struct t_process processes[2];
	static struct t_thread threads[2] = {{0}, {.process = 1}};
	static struct t_op ops[4] = {
		{0}, {0}, {.number = ALLOCATION_OP_ALLOCATE}, {.number = ALLOCATION_OP_FREE}};
	static struct trace t = {.processes = processes,
				 .processes_count = 2,
				 .threads = threads,
				 .threads_count = 2,
				 .ops = ops,
				 .ops_count = 4};

	return &t;
}

static void add_call(struct tallies *a, uint32_t op, int64_t duration, uint64_t id, uint64_t parent)
{
	tallies_call(a, &(struct rec){.process = 1,
				      .thread = 1,
				      .op = op,
				      .end = duration,
				      .id = id,
				      .parent = parent,
				      .ok = true});
}

static void self_time_leaves_nested_calls_out(void **state)
{
	struct tallies *a = tallies_new(one_thread());
	const struct tally *outer, *inner;

	/* 1 { 2 { 3 } 4 }, in order of their end; 5 alone; 7, whose parent 6 was lost; 8 */
	add_call(a, 2, 10, 3, 2);
	add_call(a, 2, 30, 2, 1);
	add_call(a, 2, 5, 4, 1);
	add_call(a, 1, 100, 1, 0);
	add_call(a, 1, 50, 5, 0);
	add_call(a, 2, 40, 7, 6);
	add_call(a, 1, 20, 8, 0);
	assert_int_equal(a->set[TALLY_CALL].count, 2);
	inner = a->set[TALLY_CALL].rows[0];
	outer = a->set[TALLY_CALL].rows[1];
	assert_int_equal(outer->total, 170);
	assert_int_equal(outer->self, 170 - 30 - 5);
	assert_int_equal(inner->total, 85);
	assert_int_equal(inner->self, 75);
	tallies_free(a);
}

/* Calls of an op that is counted alone have no records; those counted beside records have. */
static void counts_alone_are_told_from_those_beside_records(void **state)
{
	struct t_tally rows[3] = {{0}, {.key = {1, 1, 1}, .thread = 1, .count = 3, .total = 30}};
	struct trace t = *one_thread();
	struct tallies *a;

	(void)state;
	a = tallies_new(&t);
	assert_false(a->counted || a->coarse);
	tallies_free(a);
	rows[1].beside = true;
	rows[2] = rows[1];
	t.tallies = rows;
	t.tallies_count = 3;
	a = tallies_new(&t);
	assert_true(a->coarse);
	assert_false(a->counted);
	assert_int_equal(a->set[TALLY_CALL].rows[0]->count, 6);
	tallies_free(a);
	rows[1].beside = false;
	a = tallies_new(&t);
	assert_true(a->counted);
	tallies_free(a);
}

/* Calls whose parents were lost are gone with the outermost call after them, however many they are. */
static void self_time_survives_any_number_of_lost_calls(void **state)
{
	struct tallies *a = tallies_new(one_thread());
	const struct tally *outer;

	for (uint64_t id = 1; id < 1000; id += 3) {
		add_call(a, 2, 40, id, id + 1); /* in one that was lost */
		add_call(a, 2, 1, id + 2, 0);
	}
	add_call(a, 2, 30, 1001, 1002);
	add_call(a, 1, 100, 1002, 0);
	outer = a->set[TALLY_CALL].rows[1];
	assert_int_equal(outer->total, 100);
	assert_int_equal(outer->self, 70);
	tallies_free(a);
}

static void take(struct tallies *a, uint32_t op, uint64_t allocation, uint64_t parent)
{
	tallies_allocation(a,
			   &(struct rec_allocation){.base = {.process = 1, .thread = 1, .op = op},
						    .kind = 3,
						    .bytes = 64,
						    .allocation = allocation,
						    .parent = parent});
}

/* A part of an allocation goes with the whole: it is nothing that was left. */
static void parts_of_allocations_are_not_left(void **state)
{
	struct tallies *a = tallies_new(one_thread());

	(void)state;
	take(a, 2, 1, 0);
	take(a, 2, 2, 1);
	take(a, 2, 2, 1);
	assert_int_equal(a->live_count, 1);
	take(a, 2, 1, 0); /* told twice */
	assert_int_equal(a->live_count, 1);
	take(a, 3, 1, 0);
	assert_int_equal(a->live_count, 0);
	tallies_free(a);
}

struct memory_step {
	int64_t time, bytes;
};

/* Allocations of several threads come out of order of time. */
static void peak_does_not_depend_on_the_order_of_arrival(void **state)
{
	enum { N = 5000 };
	static struct memory_step steps[N];
	int64_t use = 0, peak = 0;
	struct tallies *a = tallies_new(one_thread());
	const struct tally *pool;

	srand48(3);
	for (int i = 0; i < N; i++) {
		double bytes = i % 2 ? -1 - drand48() * 1000 : 1 + drand48() * 2000;

		steps[i] = (struct memory_step){1000 + i, (int64_t)bytes};
		use += steps[i].bytes;
		peak = use > peak ? use : peak;
	}
	for (int i = 0; i < N; i++) {
		int k = (i * 1237) % N; /* every step once, far from in order */
		struct rec_allocation r = {.base = {.process = 1, .thread = 1}, .kind = 3};

		r.base.op = steps[k].bytes < 0 ? 3 : 2;
		r.base.start = r.base.end = steps[k].time;
		r.bytes = (uint64_t)llabs(steps[k].bytes);
		tallies_allocation(a, &r);
	}
	tallies_end(a);
	pool = a->set[TALLY_POOL].rows[0];
	assert_int_equal(pool->peak, peak);
	assert_int_equal(pool->in_use, use);
	tallies_free(a);
}

/* ---- numbers ----------------------------------------------------------------------------------- */

static char *summary_text(const char *path, enum summary_source from, unsigned by)
{
	struct report r = {0};
	struct summary s;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (summary_read(&s, path, from, &options) != KYMO_OK)
		fail_msg("%s: %s", path, said);
	assert_int_equal(s.from_store, from == SUMMARY_STORE);
	timeline_free(s.timeline); /* a store has none, hence no digest */
	s.timeline = NULL;
	assert_int_equal(summary_report(&r, &s, 1, by), KYMO_OK);
	assert_true(report_print(&r, REPORT_JSON, out));
	fclose(out);
	report_release(&r);
	summary_release(&s);
	return text;
}

static void store_and_raw_give_the_same_summary(void **state)
{
	static const unsigned by[] = {BY_OP,
				      BY_THREAD,
				      BY_PROCESS | BY_OP,
				      BY_DEVICE,
				      BY_QUEUE | BY_OP,
				      BY_RANK,
				      BY_TRACE | BY_THREAD | BY_OP};
	char *traces[2] = {demo("same"), in_folder("bulk")};

	synth_bulk(traces[1], 3, 20000, true);
	for (unsigned t = 0; t < 2; t++) {
		for (unsigned i = 0; i < sizeof(by) / sizeof(*by); i++) {
			char *raw = summary_text(traces[t], SUMMARY_RAW, by[i]);
			char *store = summary_text(traces[t], SUMMARY_STORE, by[i]);

			assert_true(strlen(raw) > 200);
			assert_string_equal(raw, store);
			free(raw);
			free(store);
		}
		free(traces[t]);
	}
}

static int64_t number(struct store *s, const char *sql)
{
	sqlite3_stmt *q = NULL;
	int64_t v;

	if (sqlite3_prepare_v2(store_database(s), sql, -1, &q, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(store_database(s)));
	assert_int_equal(sqlite3_step(q), SQLITE_ROW);
	v = sqlite3_column_int64(q, 0);
	sqlite3_finalize(q);
	return v;
}

static struct store *open_store(const char *trace, bool rebuild)
{
	struct store *s = NULL;

	if (trace_store_open(trace, rebuild, &options, &s) != KYMO_OK)
		fail_msg("%s: %s", trace, said);
	return s;
}

/* Each must be 0: rows that one side has and the other has not. */
static const char *const differences[] = {
	"SELECT count(*) FROM (SELECT thread, op, sum(calls), sum(total), min(min), max(max) FROM "
	"tally_call WHERE op IN (SELECT op FROM call) GROUP BY 1, 2 EXCEPT SELECT thread, op, "
	"count(*), sum(duration), min(duration), max(duration) FROM call GROUP BY 1, 2)",
	"SELECT count(*) FROM (SELECT agent, queue, kernel, count(*), sum(duration) FROM dispatch "
	"GROUP BY 1, 2, 3 EXCEPT SELECT agent, queue, kernel, calls, nullif(total, 0) FROM "
	"tally_dispatch)",
	"SELECT count(*) FROM (SELECT op, count(*), sum(bytes), sum(duration) FROM copy GROUP BY "
	"op EXCEPT SELECT op, sum(calls), sum(bytes), sum(total) FROM tally_copy GROUP BY op)",
	"SELECT count(*) FROM (SELECT op, thread, count(*), sum(duration) FROM sync GROUP BY 1, 2 "
	"EXCEPT SELECT op, thread, calls, total FROM tally_sync)",
	"SELECT (SELECT sum(errors) FROM tally_call) - (SELECT sum(failed) FROM regions)",
	"SELECT (SELECT sum(calls) FROM tally_call) - (SELECT count(*) FROM call)",
	"SELECT (SELECT sum(calls) FROM tally_activity) - (SELECT count(*) FROM activity)",
	"SELECT (SELECT sum(count) FROM histogram WHERE kind = 'tally_call') - "
	"(SELECT sum(calls) FROM tally_call)",
	"SELECT count(*) FROM dispatch d LEFT JOIN call c ON c.id = d.call WHERE d.call IS NOT "
	"NULL AND c.id IS NULL",
};

static void tallies_equal_sql_on_the_rows(void **state)
{
	char *trace = demo("sql");
	struct store *s = open_store(trace, false);

	assert_true(number(s, "SELECT count(*) FROM call") > 10);
	assert_true(number(s, "SELECT count(*) FROM dispatch WHERE call IS NOT NULL") > 0);
	for (unsigned i = 0; i < sizeof(differences) / sizeof(*differences); i++) {
		if (number(s, differences[i]) != 0)
			fail_msg("not 0: %s", differences[i]);
	}
	assert_int_equal(number(s, "SELECT dynamic_shared FROM launch"), 512); /* of no registers */
	assert_int_equal(number(s, "SELECT max(event) FROM syncs"), 0xe001);
	assert_int_equal(number(s, "SELECT overwritten_records FROM process WHERE pid = 5151"), 5);
	store_close(s);
	free(trace);
}

/* ---- arguments --------------------------------------------------------------------------------- */

/* Renders the arguments of each call as the raw reader gives them and as the store keeps them. */
struct arguments_sink {
	struct stream_sink sink;
	const struct trace *trace;
	struct store *store;
	struct arguments_reader *side;
	unsigned compared;
};

static void render(const struct trace *t, const struct rec *r, char *out, size_t size)
{
	const struct t_field *field;
	struct wire_value v;
	struct rec_fields f;
	char value[1024];
	size_t n = 0;

	rec_fields_init(&f, t, r);
	out[0] = '\0';
	while (rec_fields_next(&f, &field, &v) && n < size) {
		rec_value_text(t, field, &v, value, sizeof(value));
		n += (size_t)snprintf(out + n, size - n, "%s=%s;", field->name, value);
	}
}

static kymo_status_t arguments_begin(struct stream_sink *s, const struct trace *t)
{
	((struct arguments_sink *)s)->trace = t;
	return KYMO_OK;
}

static kymo_status_t arguments_call(struct stream_sink *s, const struct rec *r)
{
	struct arguments_sink *a = (struct arguments_sink *)s;
	char raw[8192], stored[8192];
	struct wire_record w;
	struct rec copy = *r;
	const void *data;
	size_t length;
	uint32_t op;

	render(a->trace, r, raw, sizeof(raw));
	if (!arguments_find(a->side, store_call_id(r->process, r->id), &op, &data, &length)) {
		assert_true(!r->wire || r->wire->no_fields || !a->trace->ops[r->op].field_count);
		return KYMO_OK;
	}
	assert_true(args_unpack(&store_trace(a->store)->ops[op], data, length, &w));
	copy.wire = &w;
	copy.op = op;
	render(store_trace(a->store), &copy, stored, sizeof(stored));
	assert_string_equal(raw, stored);
	a->compared++;
	return KYMO_OK;
}

static void check_arguments(const char *trace, unsigned at_least)
{
	struct arguments_sink a = {.sink = {.begin = arguments_begin, .call = arguments_call}};

	a.store = open_store(trace, false);
	a.side = arguments_reader_new(store_database(a.store));
	stream_sink_complete(&a.sink);
	assert_int_equal(format_find("raw")->read(trace, NULL, false, &a.sink, &options), KYMO_OK);
	assert_true(a.compared >= at_least);
	arguments_reader_free(a.side);
	store_close(a.store);
}

static void arguments_survive_the_store(void **state)
{
	char *trace = demo("arguments"), *bulk = in_folder("arguments-bulk");

	check_arguments(trace, 10);
	synth_bulk(bulk, 60, 6000, false); /* frames of one block written several times */
	check_arguments(bulk, 60 * 6000);
	free(trace);
	free(bulk);
}

/* ---- the life of store.db ---------------------------------------------------------------------- */

static ino_t inode(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_ino : 0;
}

static void run_sql(const char *path, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

/* Gives the first raw file another time of change. */
static void touch_raw(const char *trace)
{
	const struct timespec t[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
	char *pattern;
	glob_t g;

	assert_true(asprintf(&pattern, "%s/raw/*.kyr", trace) > 0);
	assert_int_equal(glob(pattern, 0, NULL, &g), 0);
	assert_int_equal(utimensat(AT_FDCWD, g.gl_pathv[0], t, 0), 0);
	globfree(&g);
	free(pattern);
}

static void expect_rebuilt(const char *db, const char *trace)
{
	assert_false(store_fresh(db, trace));
	store_close(open_store(trace, false));
	assert_true(store_fresh(db, trace));
}

static void rebuilt_when_it_must_be_and_only_then(void **state)
{
	char *trace = demo("life"), *db, *command;
	ino_t first;
	FILE *f;

	assert_true(asprintf(&db, "%s/%s", trace, STORE_FILE) > 0);
	expect_rebuilt(db, trace);
	first = inode(db);
	store_close(open_store(trace, false));
	assert_int_equal(inode(db), first);

	run_sql(db, "UPDATE metadata SET value = '0' WHERE tag = 'schema_version'");
	expect_rebuilt(db, trace);
	touch_raw(trace);
	expect_rebuilt(db, trace);

	/* Something else lies there, or half of it. */
	f = fopen(db, "w");
	fputs("this is no database, but long enough to be taken for one at first sight\n", f);
	fclose(f);
	expect_rebuilt(db, trace);
	assert_int_equal(truncate(db, 20000), 0);
	store_close(open_store(trace, true));
	assert_true(store_fresh(db, trace));

	/* Nothing is left beside it. */
	assert_true(asprintf(&command, "test $(ls %s | grep -c store) = 1", trace) > 0);
	assert_int_equal(system(command), 0);
	free(command);
	free(db);
	free(trace);
}

static void single_file_and_store_are_traces_too(void **state)
{
	char *trace = demo("single"), *pattern, *db;
	struct store *s;
	glob_t g;

	assert_true(asprintf(&pattern, "%s/raw/*.kyr", trace) > 0);
	assert_true(asprintf(&db, "%s/%s", trace, STORE_FILE) > 0);
	assert_int_equal(glob(pattern, 0, NULL, &g), 0);
	s = open_store(g.gl_pathv[0], false);
	assert_int_equal(number(s, "SELECT count(*) FROM process"), 1);
	store_close(s);
	assert_int_equal(access(db, F_OK), -1); /* built elsewhere */
	store_close(open_store(trace, false));
	s = open_store(db, false);
	assert_int_equal(number(s, "SELECT count(*) FROM process"), 2);
	store_close(s);
	assert_int_not_equal(trace_store_open("/nonexistent", false, &options, &s), KYMO_OK);
	assert_non_null(strstr(said, "/nonexistent"));
	globfree(&g);
	free(pattern);
	free(db);
	free(trace);
}

/* ---- damage and mistakes ----------------------------------------------------------------------- */

static uint8_t *read_file(const char *path, size_t *size)
{
	FILE *f = fopen(path, "r");
	uint8_t *data;

	assert_non_null(f);
	fseek(f, 0, SEEK_END);
	*size = (size_t)ftell(f);
	rewind(f);
	data = malloc(*size);
	assert_int_equal(fread(data, 1, *size, f), *size);
	fclose(f);
	return data;
}

/* Whatever the file holds, it is refused with a word, or read as far as it makes sense. */
static bool survives(const char *path)
{
	struct tallies *t = NULL;
	struct store *s = NULL;
	FILE *nowhere;

	said[0] = '\0';
	if (store_open(path, &test_log, &s) != KYMO_OK) {
		assert_true(strlen(said) > 10);
		return false;
	}
	if (store_tallies(s, &t) == KYMO_OK)
		tallies_free(t);
	nowhere = fopen("/dev/null", "w");
	query_print(s, &(struct query_script){NULL, "SELECT count(kymo_args(id)) FROM call"}, 1,
		    REPORT_CSV, nowhere, NULL, &test_log);
	fclose(nowhere);
	store_close(s);
	return true;
}

static void damaged_stores_are_refused(void **state)
{
	char *trace = demo("damage"), *db, *bad = in_folder("bad.db");
	unsigned refused = 0;
	uint8_t *data;
	size_t size;
	FILE *f;

	assert_true(asprintf(&db, "%s/%s", trace, STORE_FILE) > 0);
	srand48(11);
	store_close(open_store(trace, false));
	for (unsigned i = 0; i < 300; i++) {
		data = read_file(db, &size);
		for (unsigned k = 0; k < 40; k++)
			data[(size_t)(drand48() * (double)size)] ^= (uint8_t)(1 + drand48() * 254);
		f = fopen(bad, "w");
		fwrite(data, 1, i % 3 ? size : (size_t)(drand48() * (double)size), f);
		fclose(f);
		free(data);
		refused += !survives(bad);
	}
	assert_true(refused > 0);
	free(db);
	free(bad);
	free(trace);
}

/* `copy` is the store as the statements leave it. */
static void change(const char *db, const char *copy, const char *sql)
{
	size_t size;
	uint8_t *data = read_file(db, &size);
	FILE *f = fopen(copy, "w");
	sqlite3 *c;

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, size, f), size);
	fclose(f);
	free(data);
	assert_int_equal(sqlite3_open(copy, &c), SQLITE_OK);
	if (sqlite3_exec(c, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(c));
	sqlite3_close(c);
}

/* The bytes are those of a store; what they say cannot be. */
static void stores_that_refer_to_nothing_are_refused(void **state)
{
	static const char *const bad[] = {
		"UPDATE op SET domain = 2000000000",
		"UPDATE thread SET process = 2000000000",
		"UPDATE agent SET process = 2000000000",
		"UPDATE queue SET agent = 2000000000",
		"UPDATE queue SET context = -1",
		"UPDATE kernel SET program = 2000000000",
		"UPDATE site SET module = 2000000000",
		"UPDATE site SET caller = id",
		"UPDATE note SET process = 2000000000",
		"UPDATE open_call SET op = 2000000000",
		"INSERT INTO rank_load(id, process, kind, whole) VALUES(1, 1, 2000000000, 0)",
		"INSERT INTO rank_load(id, process, kind, whole, key1) VALUES(1, 1, 2, 0, "
		"2000000000)",
		/* Two that are one: there is room for those of the first. */
		"INSERT INTO stack(id, process) VALUES(1, 1);"
		"INSERT INTO stack_frame(stack, depth, site) VALUES(1, 0, 1), (1.5, 1, 1), (1.5, "
		"2, 1)",
		"INSERT INTO stack_frame(stack, depth, site) VALUES(1, 0, 1)",
		"INSERT INTO stack_frame(stack, depth, site) VALUES(2000000000, 0, 1)",
		"INSERT INTO op_field(op, position) SELECT op + 0.5, position + 1 FROM op_field",
		"DELETE FROM op_field WHERE op = 1;"
		"WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 60) "
		"INSERT INTO op_field(op, position) SELECT 1, i FROM n",
	};
	char *trace = demo("refers"), *db, *copy = in_folder("refers.db");

	assert_true(asprintf(&db, "%s/%s", trace, STORE_FILE) > 0);
	store_close(open_store(trace, false));
	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		change(db, copy, bad[i]);
		if (survives(copy))
			fail_msg("it was read: %s", bad[i]);
	}
	free(db);
	free(copy);
	free(trace);
}

/* What is wrong with these is nothing that others lead to. */
static void odd_values_of_stores_are_read(void **state)
{
	static const char *const odd[] = {
		"UPDATE op_field SET size = 200",
		"INSERT INTO marker_name(id, text, length) VALUES(1, 'x', 2000000000)",
		"UPDATE agent SET uuid = 'a'",
		"UPDATE agent SET parent = id",
		"UPDATE process SET start = 9223372036854775807, end = -9223372036854775807",
		"UPDATE metadata SET value = '9223372036854775807' WHERE tag = 'duration'",
		"UPDATE enum_value SET enum_set = 2147483647 WHERE enum_set = 1",
	};
	char *trace = demo("odd"), *db, *copy = in_folder("odd.db");

	assert_true(asprintf(&db, "%s/%s", trace, STORE_FILE) > 0);
	store_close(open_store(trace, false));
	for (unsigned i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		change(db, copy, odd[i]);
		if (!survives(copy))
			fail_msg("it was refused: %s: %s", odd[i], said);
	}
	free(db);
	free(copy);
	free(trace);
}

static void build_ids_are_those_of_their_modules(void **state)
{
	char *trace = demo("modules"), *db, *copy = in_folder("modules.db");
	const struct t_module *m;
	struct store *s;

	assert_true(asprintf(&db, "%s/%s", trace, STORE_FILE) > 0);
	store_close(open_store(trace, false));
	change(db, copy,
	       "UPDATE site SET module = 0; DELETE FROM module;"
	       "INSERT INTO module(id, process, path, build_id) VALUES(1, 1, '/a', '0a0b'),"
	       "(2, 1, '/b', NULL), (3, 1, '/c', '0c0d0e')");
	assert_int_equal(store_open(copy, &test_log, &s), KYMO_OK);
	assert_int_equal(store_trace(s)->modules_count, 4);
	m = store_trace(s)->modules;
	assert_int_equal(m[1].build_id_length, 2);
	assert_memory_equal(m[1].build_id, "\x0a\x0b", 2);
	assert_int_equal(m[2].build_id_length, 0);
	assert_int_equal(m[3].build_id_length, 3);
	assert_memory_equal(m[3].build_id, "\x0c\x0d\x0e", 3);
	assert_string_equal(m[3].path, "/c");
	store_close(s);
	free(db);
	free(copy);
	free(trace);
}

static kymo_status_t ask(struct store *s, const char *sql, char **text)
{
	size_t size;
	FILE *out = open_memstream(text, &size);
	kymo_status_t status;

	said[0] = '\0';
	status = query_print(s, &(struct query_script){NULL, sql}, 1, REPORT_CSV, out, NULL,
			     &test_log);
	fclose(out);
	return status;
}

static void mistakes_in_sql_are_explained_with_their_place(void **state)
{
	static const struct {
		const char *sql, *said;
	} mistakes[] = {
		{"SELECT nme FROM regions", "no such column: nme (character 8)\n"
					    "  SELECT nme FROM regions\n         ^"},
		{"SELECT 1;\nSELECT name\nFORM x regions", "(character"},
		{"SELECT * FROM nowhere", "no such table: nowhere"},
		{"DELETE FROM call", "readonly"},
		{"CREATE TABLE x(y)", "readonly"},
		{"ATTACH '/tmp/kymo-should-not-exist.db' AS x; SELECT * FROM x.y",
		 "unable to open"},
		{"SELECT kymo_args(99999, x'00')", "no such operation"},
	};
	char *trace = demo("mistakes"), *text;
	struct store *s = open_store(trace, false);

	for (unsigned i = 0; i < sizeof(mistakes) / sizeof(*mistakes); i++) {
		assert_int_not_equal(ask(s, mistakes[i].sql, &text), KYMO_OK);
		if (!strstr(said, mistakes[i].said))
			fail_msg("%s\nsaid: %s", mistakes[i].sql, said);
		free(text);
	}
	assert_int_equal(ask(s, "SELECT 1 AS a, 'x,\"y' AS b, NULL; -- end", &text), KYMO_OK);
	assert_string_equal(text, "a,b,NULL\r\n1,\"x,\"\"y\",\r\n");
	free(text);
	assert_int_equal(access("/tmp/kymo-should-not-exist.db", F_OK), -1);
	store_close(s);
	free(trace);
}

static void several_traces_are_one(void **state)
{
	char *paths[2] = {demo("one"), demo("two")}, *text;
	struct store *s[2] = {open_store(paths[0], false), open_store(paths[1], false)};

	assert_int_equal(query_join(s, (const char *const *)paths, 2, &test_log), KYMO_OK);
	assert_int_equal(ask(s[0],
			     "SELECT count(DISTINCT trace), sum(trace = 1) = sum(trace = 2), "
			     "(SELECT count(*) FROM traces) FROM regions",
			     &text),
			 KYMO_OK);
	assert_non_null(strstr(text, "\r\n2,1,2\r\n"));
	free(text);
	assert_int_not_equal(ask(s[0], "SELECT kymo_args(1)", &text), KYMO_OK);
	assert_non_null(strstr(said, "when one trace is queried"));
	free(text);
	for (unsigned i = 0; i < 2; i++) {
		store_close(s[i]);
		free(paths[i]);
	}
}

static void empty_trace_says_why(void **state)
{
	char *path = in_folder("empty"), *text = NULL;
	struct synth_options o = {.directory = path, .pid = 77, .rank = RANK_NONE};
	struct synth *y = synth_open(&o);
	size_t size;
	bool lossy = true;
	FILE *out = open_memstream(&text, &size);

	synth_note(y, 2, "no OpenCL library was found", 10);
	synth_close(y, 0, 0, 1000);
	assert_int_equal(summary_print(path, out, &lossy, &test_log), KYMO_OK);
	fclose(out);
	assert_false(lossy);
	assert_non_null(strstr(text, "Nothing was recorded."));
	assert_non_null(strstr(text, "no OpenCL library was found"));
	assert_non_null(strstr(text, "Lost: nothing."));
	assert_non_null(strstr(text, "Clock error"));
	free(text);
	free(path);
}

static int make_folder(void **state)
{
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[256];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(percentiles_are_within_the_stated_error),
		cmocka_unit_test(buckets_cover_all_values_once),
		cmocka_unit_test(self_time_leaves_nested_calls_out),
		cmocka_unit_test(parts_of_allocations_are_not_left),
		cmocka_unit_test(counts_alone_are_told_from_those_beside_records),
		cmocka_unit_test(self_time_survives_any_number_of_lost_calls),
		cmocka_unit_test(peak_does_not_depend_on_the_order_of_arrival),
		cmocka_unit_test(store_and_raw_give_the_same_summary),
		cmocka_unit_test(tallies_equal_sql_on_the_rows),
		cmocka_unit_test(arguments_survive_the_store),
		cmocka_unit_test(rebuilt_when_it_must_be_and_only_then),
		cmocka_unit_test(single_file_and_store_are_traces_too),
		cmocka_unit_test(damaged_stores_are_refused),
		cmocka_unit_test(stores_that_refer_to_nothing_are_refused),
		cmocka_unit_test(odd_values_of_stores_are_read),
		cmocka_unit_test(build_ids_are_those_of_their_modules),
		cmocka_unit_test(mistakes_in_sql_are_explained_with_their_place),
		cmocka_unit_test(several_traces_are_one),
		cmocka_unit_test(empty_trace_says_why),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
