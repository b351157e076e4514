/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations (calls with two arguments, and the kernels they submit) written to a ROCpd database and read from
 * it, against SQLite alone inserting the same rows and stepping through them, in the same run:
 *
 *   bench_rocpd FOLDER [KERNELS]
 *
 * Prints millions of operations a second of processor time; best of three. kymo0.db stays, of KERNELS calls and
 * as many kernels.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "measure.h"
#include "formats/format.h"
#include "formats/rocpd/schema.h"
#include "sql/sqlite.h"
#include "stream/make.h"

#define STEP 1000 /* ns between kernels */

/* ---- SQLite alone ------------------------------------------------------------------------------ */

static const char guid[] = "00000000-0000-7000-8000-000000000001";
static const char suffix[] = "_00000000_0000_7000_8000_000000000001";

enum { EVENT, REGION, ARG, DISPATCH, STATEMENTS };
static const struct {
	const char *table, *columns;
	unsigned count;
} inserts[STATEMENTS] = {
	{"event", "category_id,stack_id,parent_stack_id,correlation_id,call_stack,extdata", 6},
	{"region", "nid,pid,tid,start,end,name_id,event_id,extdata", 8},
	{"arg", "event_id,position,type,name,value", 5},
	{"kernel_dispatch",
	 "nid,pid,tid,agent_id,kernel_id,dispatch_id,queue_id,stream_id,start,end,"
	 "private_segment_size,group_segment_size,workgroup_size_x,workgroup_size_y,"
	 "workgroup_size_z,grid_size_x,grid_size_y,grid_size_z,region_name_id,event_id,extdata",
	 21},
};

static sqlite3_stmt *prepare(sqlite3 *db, unsigned i)
{
	struct text sql = {0};
	sqlite3_stmt *s = NULL;

	text_addf(&sql, "INSERT INTO \"rocpd_%s%s\"(%s) VALUES(?", inserts[i].table, suffix,
		  inserts[i].columns);
	for (unsigned k = 1; k < inserts[i].count; k++)
		text_add(&sql, ",?");
	text_add(&sql, ")");
	need(sqlite3_prepare_v2(db, sql.s, -1, &s, NULL) == SQLITE_OK, "prepare");
	text_release(&sql);
	return s;
}

/* `texts` of the last columns are texts, the others numbers. */
static void insert(sqlite3_stmt *s, unsigned count, const int64_t *numbers, unsigned texts,
		   const char *const *text)
{
	for (unsigned i = 0; i < count - texts; i++)
		sqlite3_bind_int64(s, (int)i + 1, numbers[i]);
	for (unsigned i = 0; i < texts; i++)
		sqlite3_bind_text(s, (int)(count - texts + i) + 1, text[i], -1, SQLITE_STATIC);
	need(sqlite3_step(s) == SQLITE_DONE, "insert");
	sqlite3_reset(s);
}

static void insert_kernel(sqlite3_stmt *const *s, int64_t i)
{
	static const char *const none[] = {"{}", "{}"};
	static const char *const args[2][3] = {{"", "count", "1024"}, {"char *", "name", "kernel"}};
	int64_t at = 1000 + i * STEP, call = 2 * i + 1;

	insert(s[EVENT], 6, (const int64_t[]){2, i + 1, 0, 0}, 2, none);
	insert(s[REGION], 8, (const int64_t[]){1, 1, 1, at, at + 200, 3, call}, 1, none);
	for (int64_t k = 0; k < 2; k++)
		insert(s[ARG], 5, (const int64_t[]){call, k}, 3, args[k]);
	insert(s[EVENT], 6, (const int64_t[]){4, i + 1, i + 1, 0}, 2, none);
	insert(s[DISPATCH], 21, (const int64_t[]){1, 1, 1,  1, 1, i,    1, 1, at + 300, at + 900,
						  0, 0, 64, 1, 1, 1024, 1, 1, 1,        call + 1},
	       1, (const char *const[]){"{\"submit\":1000,\"dims\":1}"});
}

static double alone(const char *path, uint64_t kernels)
{
	struct rocpd_schema schema;
	sqlite3_stmt *s[STATEMENTS];
	struct text sql = {0};
	double begin;
	sqlite3 *db;

	unlink(path);
	begin = cpu();
	rocpd_schema_parse("3", &schema);
	rocpd_schema_tables(&sql, &schema, guid, suffix);
	need(sqlite3_open(path, &db) == SQLITE_OK, "open");
	need(sqlite3_exec(
		     db,
		     "PRAGMA page_size = 16384; PRAGMA journal_mode = OFF; PRAGMA synchronous = "
		     "OFF; PRAGMA locking_mode = EXCLUSIVE; BEGIN",
		     NULL, NULL, NULL) == SQLITE_OK,
	     "setup");
	need(sqlite3_exec(db, sql.s, NULL, NULL, NULL) == SQLITE_OK, "tables");
	for (unsigned i = 0; i < STATEMENTS; i++)
		s[i] = prepare(db, i);
	for (uint64_t i = 0; i < kernels; i++)
		insert_kernel(s, (int64_t)i);
	for (unsigned i = 0; i < STATEMENTS; i++)
		sqlite3_finalize(s[i]);
	need(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK, "commit");
	sqlite3_close(db);
	text_release(&sql);
	return cpu() - begin;
}

static double alone_read(const char *path)
{
	double begin = cpu();
	uint64_t sum = 0;
	sqlite3 *db;

	need(sqlite3_open(path, &db) == SQLITE_OK, "open");
	for (unsigned i = 0; i < STATEMENTS; i++) {
		struct text sql = {0};
		sqlite3_stmt *s;

		if (i == ARG) /* a summary needs none of them */
			continue;
		text_addf(&sql, "SELECT * FROM \"rocpd_%s%s\"", inserts[i].table, suffix);
		need(sqlite3_prepare_v2(db, sql.s, -1, &s, NULL) == SQLITE_OK, "select");
		while (sqlite3_step(s) == SQLITE_ROW)
			for (int k = 0; k < sqlite3_column_count(s); k++)
				sum += (uint64_t)sqlite3_column_int64(s, k);
		sqlite3_finalize(s);
		text_release(&sql);
	}
	sqlite3_close(db);
	need(sum != 0, "sum");
	return cpu() - begin;
}

/* ---- Kymo -------------------------------------------------------------------------------------- */

static struct trace *make_trace(uint32_t *call, uint32_t *kernel)
{
	static const struct make_field fields[] = {{"count", KYMO_KIND_UNSIGNED},
						   {"name", KYMO_KIND_STRING}};
	struct trace *t = trace_new();
	struct make_activities model;

	need(t != NULL, "trace_new");
	*call = make_op(t, make_domain(t, "hip", "HIP"), "hipLaunchKernel", fields, 2);
	make_usual_activities(t, &model);
	*kernel = make_activity(&model, RECORD_DOMAIN_dispatch, DISPATCH_OP_KERNEL);
	*trace_add(t, processes) = (struct t_process){.pid = 1,
						      .rank = UINT32_MAX,
						      .of_rank = UINT32_MAX,
						      .hostname = "h",
						      .exe = "/p",
						      .argv = "/p",
						      .start = 1};
	*trace_add(t, threads) =
		(struct t_thread){.process = 1, .tid = 1, .name = "", .main = true};
	*trace_add(t, agents) = (struct t_agent){.process = 1,
						 .name = "gpu",
						 .label = "gpu",
						 .hardware = "gpu",
						 .domain = "hip",
						 .type = "gpu",
						 .vendor = "",
						 .driver = "",
						 .platform = "",
						 .properties = ""};
	*trace_add(t, queues) = (struct t_queue){
		.process = 1, .agent = 1, .domain = "hip", .name = "", .label = "queue 0"};
	*trace_add(t, kernels) = (struct t_kernel){.process = 1,
						   .domain = "hip",
						   .name = "k",
						   .symbol = "",
						   .framework = "",
						   .source = "",
						   .device = ""};
	t->origin = 1000;
	return t;
}

static void put_kernel(struct stream_sink *s, uint32_t call_op, uint32_t kernel_op,
		       const struct wire_record *fields, uint64_t i)
{
	int64_t at = 1000 + (int64_t)i * STEP;
	struct rec call = {.process = 1,
			   .thread = 1,
			   .op = call_op,
			   .ok = true,
			   .id = i + 1,
			   .start = at,
			   .end = at + 200,
			   .wire = fields};
	struct rec_dispatch work = {
		.base = {.process = 1,
			 .thread = 1,
			 .op = kernel_op,
			 .ok = true,
			 .start = at + 900,
			 .end = at + 900},
		.device = {.start = at + 300, .end = at + 900, .correlation = i + 1, .submit = at},
		.agent = 1,
		.queue = 1,
		.kernel = 1,
		.dims = 1,
		.global = {1024},
		.local = {64}};

	need(s->call(s, &call) == KYMO_OK && s->dispatch(s, &work) == KYMO_OK, "record");
}

static double kymo(const char *path, uint64_t kernels)
{
	const struct format_options o = {.output = path, .force = true};
	uint32_t call_op, kernel_op;
	struct trace *t = make_trace(&call_op, &kernel_op);
	const struct wire_record *fields;
	struct make_fields m;
	struct stream_sink *s;
	double begin;

	make_fields_begin(&m, &t->ops[call_op]);
	make_number(&m, 1024);
	make_text(&m, "kernel", 6);
	fields = make_fields_end(&m);
	t->end = (int64_t)(kernels + 2) * STEP;
	begin = cpu();
	need(format_find("rocpd")->write(&o, &s) == KYMO_OK, "write");
	stream_sink_complete(s);
	need(s->begin(s, t) == KYMO_OK, "begin");
	for (uint64_t i = 0; i < kernels; i++)
		put_kernel(s, call_op, kernel_op, fields, i);
	need(s->end(s, t) == KYMO_OK, "end");
	format_find("rocpd")->sink_free(s);
	begin = cpu() - begin;
	trace_free(t);
	return begin;
}

struct counter {
	struct stream_sink sink;
	uint64_t records;
};

static kymo_status_t count_call(struct stream_sink *s, const struct rec *r)
{
	((struct counter *)s)->records += r->op != 0;
	return KYMO_OK;
}

static kymo_status_t count_dispatch(struct stream_sink *s, const struct rec_dispatch *r)
{
	((struct counter *)s)->records += r->kernel != 0;
	return KYMO_OK;
}

static double kymo_read(const char *path, uint64_t kernels)
{
	struct counter c = {
		.sink = {.brief = true, .call = count_call, .dispatch = count_dispatch}};
	const struct format_options o = {0};
	double begin = cpu();

	need(format_find("rocpd")->read(path, NULL, false, &c.sink, &o) == KYMO_OK, "read");
	need(c.records == 2 * kernels, "count");
	return cpu() - begin;
}

/* ---- all --------------------------------------------------------------------------------------- */

/* Millions a second. */
static double rate(double ns, uint64_t kernels)
{
	return 2 * (double)kernels / ns * 1e3;
}

static void keep(double *best, double got)
{
	*best = got < *best ? got : *best;
}

int main(int argc, char **argv)
{
	uint64_t kernels = argc > 2 ? strtoull(argv[2], NULL, 0) : 150000;
	double best[4] = {INFINITY, INFINITY, INFINITY, INFINITY};
	char ours[4200], theirs[4200];

	need(argc > 1, "no folder told");
	snprintf(ours, sizeof(ours), "%s/kymo0.db", argv[1]);
	snprintf(theirs, sizeof(theirs), "%s/alone.db", argv[1]);
	for (int i = 0; i < 3; i++) {
		keep(&best[0], kymo(ours, kernels));
		keep(&best[1], alone(theirs, kernels));
		keep(&best[2], kymo_read(ours, kernels));
		keep(&best[3], alone_read(theirs));
	}
	unlink(theirs);
	printf("write=%.3f write_alone=%.3f read=%.3f read_alone=%.3f\n", rate(best[0], kernels),
	       rate(best[1], kernels), rate(best[2], kernels), rate(best[3], kernels));
	return 0;
}
