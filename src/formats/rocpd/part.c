/* SPDX-License-Identifier: Apache-2.0 */
/* One set of tables: its names, its rows, its strings and tracks; see writer.h. */
#include "formats/rocpd/writer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/vec.h"

static const struct {
	const char *table, *names;
	uint64_t reals, texts;
} feeds[ROCPD_FEEDS] = {
	[ROCPD_EVENT] =
		{"event",
		 "id,category_id,stack_id,parent_stack_id,correlation_id,call_stack,extdata", 0,
		 3u << 5},
	[ROCPD_REGION] = {"region", "id,nid,pid,tid,start,end,name_id,event_id,extdata", 0,
			  1u << 8},
	[ROCPD_ARG] = {"arg", "id,event_id,position,type,name,value", 0, 7u << 3},
	[ROCPD_SAMPLE] = {"sample", "id,track_id,timestamp,event_id,extdata", 0, 1u << 4},
	[ROCPD_DISPATCH] =
		{"kernel_dispatch",
		 "id,nid,pid,tid,agent_id,kernel_id,dispatch_id,queue_id,stream_id,start,"
		 "end,private_segment_size,group_segment_size,workgroup_size_x,"
		 "workgroup_size_y,workgroup_size_z,grid_size_x,grid_size_y,grid_size_z,"
		 "region_name_id,event_id,extdata",
		 0, 1u << 21},
	[ROCPD_COPY] =
		{"memory_copy",
		 "id,nid,pid,tid,start,end,name_id,dst_agent_id,dst_address,src_agent_id,size,"
		 "queue_id,stream_id,region_name_id,event_id,extdata",
		 0, 1u << 15},
	[ROCPD_ALLOCATION] = {"memory_allocate",
			      "id,nid,pid,tid,agent_id,type,level,start,end,address,size,event_id,"
			      "extdata",
			      0, 3u << 5 | 1u << 12},
	[ROCPD_VALUE] = {"pmc_event", "id,event_id,pmc_id,value,extdata", 1u << 3, 1u << 4},
};

/* What versions from 3.0.2 on have besides, behind the rest. */
#define GRAPH_COLUMNS ",graph_exec_id,graph_node_id"

static bool has_graphs(const struct part *p, unsigned feed)
{
	return p->w->schema.version >= 2 && (feed == ROCPD_DISPATCH || feed == ROCPD_COPY);
}

kymo_status_t part_error(struct part *p)
{
	const struct place *o = p->place ? p->place : &p->w->one;
	bool full = o->db && sqlite3_errcode(o->db) == SQLITE_NOMEM;

	if (!p->failed)
		stream_error(p->w->o.log, "%s: cannot be written: %s",
			     p->w->path ? p->w->path : "rocpd",
			     o->db ? sqlite3_errmsg(o->db) : strerror(o->pages.error));
	p->failed = true;
	return full || o->pages.error == ENOMEM ? KYMO_ERROR_NO_MEMORY : KYMO_ERROR_SYSTEM;
}

const char *rocpd_keep(struct rocpd *w, const char *text)
{
	char *copy = strdup(text);

	if (!copy || !vec_reserve(&w->kept, &w->kept_room, w->kept_count, 1)) {
		free(copy);
		return NULL;
	}
	w->kept[w->kept_count++] = copy;
	return copy;
}

/* ---- names ------------------------------------------------------------------------------------- */

/*
 * The same for the same process of the same run, however often it is written. As version 7 of UUIDs
 * wants it: the time of its start in milliseconds, then what tells it from all others.
 */
void part_name(struct part *p)
{
	const struct t_process *r = &p->w->t->processes[p->process];
	uint64_t ms = (uint64_t)(r->start_realtime ? r->start_realtime : r->start) / 1000000;
	uint64_t a = hash_string(r->hostname ? r->hostname : ""), b;

	a = hash_mix(a, (uint64_t)r->pid << 32 | r->ppid);
	a = hash_mix(a, (uint64_t)r->start ^ (uint64_t)r->start_realtime);
	b = hash_mix(a, p->process);
	snprintf(p->guid, sizeof(p->guid), "%08x-%04x-7%03x-%04x-%012llx",
		 (unsigned)(ms >> 16 & 0xffffffff), (unsigned)(ms & 0xffff), (unsigned)(a & 0xfff),
		 (unsigned)(0x8000 | (a >> 12 & 0x3fff)), (unsigned long long)(b & 0xffffffffffff));
	p->suffix[0] = '_';
	for (unsigned i = 0; i < ROCPD_GUID; i++)
		p->suffix[i + 1] = p->guid[i] == '-' ? '_' : p->guid[i];
}

/* ---- beginning and end ------------------------------------------------------------------------- */

/* No journal: the file takes its place when it is whole. */
static const char setup[] = "PRAGMA page_size = 16384; PRAGMA journal_mode = OFF;"
			    "PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
			    "PRAGMA cache_size = -16384; BEGIN;";

bool place_define(struct place *o)
{
	bool ok = o->pages.fd < 0 || dbpages_close(&o->pages);

	return ok && sqlite3_open(o->path, &o->db) == SQLITE_OK &&
	       sqlite3_exec(o->db, setup, NULL, NULL, NULL) == SQLITE_OK;
}

/* Its tables are there, records can come. */
static bool place_fill(struct place *o)
{
	if (sqlite3_exec(o->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK ||
	    sqlite3_close(o->db) != SQLITE_OK)
		return false;
	o->db = NULL;
	return dbpages_open(&o->pages, o->path);
}

void place_release(struct place *o)
{
	sqlite3_close(o->db);
	if (o->path && o->pages.fd >= 0)
		close(o->pages.fd);
	free(o->path);
}

static bool place_find(struct part *p)
{
	struct rocpd *w = p->w;
	const struct t_process *r = &w->t->processes[p->process];
	char path[4300];

	p->place = w->folder ? &p->own : &w->one;
	if (p->place->path)
		return true;
	snprintf(path, sizeof(path), "%s", w->path);
	if (w->folder)
		snprintf(path, sizeof(path), "%s/%s_%u_%s.db", w->path, r->hostname, r->pid,
			 p->guid);
	p->place->pages.fd = -1;
	p->place->path = strdup(path);
	return p->place->path != NULL;
}

static bool make_tables(struct part *p)
{
	struct text sql = {0};
	bool ok;

	rocpd_schema_tables(&sql, &p->w->schema, p->guid, p->suffix);
	ok = !sql.failed && sqlite3_exec(p->place->db, sql.s, NULL, NULL, NULL) == SQLITE_OK;
	text_release(&sql);
	return ok;
}

static bool make_feed(struct part *p, unsigned i)
{
	char table[100], names[400];
	struct dbappend_table t = {table, names, feeds[i].reals, feeds[i].texts};

	snprintf(table, sizeof(table), "rocpd_%s%s", feeds[i].table, p->suffix);
	snprintf(names, sizeof(names), "%s%s", feeds[i].names,
		 has_graphs(p, i) ? GRAPH_COLUMNS : "");
	return dbappend_init(&p->feed[i], &p->place->pages, p->place->db, &t);
}

static bool begin_part(struct part *p)
{
	const struct t_process *r = &p->w->t->processes[p->process];
	uint32_t ops = p->w->t->ops_count;

	p->node = (int64_t)(hash_string(r->hostname) & 0xffffffff);
	p->pid = r->pid;
	p->op_name = calloc(ops + 1u, sizeof(*p->op_name));
	p->op_category = calloc(ops + 1u, sizeof(*p->op_category));
	if (!p->op_name || !p->op_category || !make_tables(p))
		return false;
	for (unsigned i = 0; i < ROCPD_FEEDS; i++)
		if (!make_feed(p, i))
			return false;
	return part_string(p, "") != 0;
}

/* The tables of a process, while its file is SQLite's. */
static bool part_start(struct part *p)
{
	p->begun = true;
	if (place_find(p) && (p->place->db || place_define(p->place)) && begin_part(p))
		return true;
	part_error(p);
	return false;
}

bool parts_begin(struct rocpd *w)
{
	bool ok = true;

	for (uint32_t i = w->t->processes_count > 1; ok && i < w->t->processes_count; i++)
		ok = part_start(&w->parts[i]);
	if (ok && !place_fill(&w->one)) {
		part_error(&w->parts[0]);
		ok = false;
	}
	return ok;
}

struct part *part_get(struct rocpd *w, uint32_t process)
{
	struct part *p = &w->parts[process < w->t->processes_count ? process : 0];

	if (p->begun)
		return p->failed ? NULL : p;
	if (part_start(p) && place_fill(p->place))
		return p;
	part_error(p);
	return NULL;
}

/* ---- strings and tracks ------------------------------------------------------------------------ */

int64_t part_string(struct part *p, const char *text)
{
	uint64_t hash = hash_string(text), i;

	map_each(&p->string_rows, hash, i) {
		if (strcmp(p->strings[i - 1], text) == 0)
			return (int64_t)i;
	}
	if (!vec_reserve(&p->strings, &p->strings_room, p->strings_count, 1) ||
	    !map_add(&p->string_rows, hash, p->strings_count + 1u))
		return 0;
	p->strings[p->strings_count] = text;
	return ++p->strings_count;
}

int64_t part_track(struct part *p, int64_t thread, int64_t name)
{
	uint64_t hash = hash_mix(hash_u64((uint64_t)thread), (uint64_t)name), i;

	map_each(&p->track_rows, hash, i) {
		if (p->tracks[i - 1].thread == thread && p->tracks[i - 1].name == name)
			return (int64_t)i;
	}
	if (!vec_reserve(&p->tracks, &p->tracks_room, p->tracks_count, 1) ||
	    !map_add(&p->track_rows, hash, p->tracks_count + 1u))
		return 0;
	p->tracks[p->tracks_count] = (struct track){thread, name};
	return ++p->tracks_count;
}

int64_t part_thread(const struct part *p, uint32_t thread)
{
	const struct trace *t = p->w->t;

	return thread && thread < t->threads_count && t->threads[thread].process == p->process
		       ? p->w->thread_row[thread]
		       : p->main;
}

int64_t part_agent(const struct part *p, uint32_t agent)
{
	const struct trace *t = p->w->t;

	return agent && agent < t->agents_count && t->agents[agent].process == p->process
		       ? p->w->agent_row[agent]
		       : 0;
}

static bool write_strings(struct part *p)
{
	struct row r = row_of(p, "string", "id,string", 2);

	for (uint32_t i = 0; i < p->strings_count; i++) {
		row_integer(&r, i + 1);
		row_text(&r, p->strings[i]);
		row_add(&r);
	}
	return row_end(&r);
}

static bool write_tracks(struct part *p)
{
	struct row r = row_of(p, "track", "id,nid,pid,tid,name_id", 5);

	for (uint32_t i = 0; i < p->tracks_count; i++) {
		row_integer(&r, i + 1);
		row_integer(&r, p->node);
		row_integer(&r, p->pid);
		row_integer(&r, p->tracks[i].thread);
		row_integer(&r, p->tracks[i].name);
		row_add(&r);
	}
	return row_end(&r);
}

/* Of each value that was counted for a kernel the event of that. */
static bool place_values(struct part *p, sqlite3_stmt *update)
{
	sqlite3_stmt *each = NULL;
	bool ok = sqlite3_prepare_v2(p->pending_db, "SELECT id, call, kernel FROM pending", -1,
				     &each, NULL) == SQLITE_OK;

	while (ok && sqlite3_step(each) == SQLITE_ROW) {
		for (int i = 0; i < 3; i++)
			sqlite3_bind_int64(update, i + 1, sqlite3_column_int64(each, i));
		ok = sqlite3_step(update) == SQLITE_DONE;
		sqlite3_reset(update);
	}
	sqlite3_finalize(each);
	return ok;
}

static bool place_pending(struct part *p)
{
	sqlite3_stmt *update = NULL;
	struct text make = {0}, set = {0};
	bool ok;

	if (!p->pending)
		return true;
	text_addf(&make,
		  "CREATE TEMP TABLE work AS SELECT e.stack_id AS call, k.kernel_id AS kernel, "
		  "k.event_id AS event FROM \"rocpd_kernel_dispatch%s\" k JOIN \"rocpd_event%s\" e "
		  "ON e.id = k.event_id; CREATE INDEX temp.work_call ON work(call, kernel)",
		  p->suffix, p->suffix);
	text_addf(
		&set,
		"UPDATE \"rocpd_pmc_event%s\" SET event_id = (SELECT event FROM work WHERE call = "
		"?2 AND kernel = ?3 LIMIT 1) WHERE id = ?1",
		p->suffix);
	ok = !make.failed && !set.failed &&
	     sqlite3_exec(p->place->db, make.s, NULL, NULL, NULL) == SQLITE_OK &&
	     sqlite3_prepare_v2(p->place->db, set.s, -1, &update, NULL) == SQLITE_OK &&
	     place_values(p, update);
	sqlite3_finalize(update);
	ok = ok && sqlite3_exec(p->place->db, "DROP TABLE work", NULL, NULL, NULL) == SQLITE_OK;
	text_release(&make);
	text_release(&set);
	return ok;
}

/* So that ids which others add do not begin again. */
static bool write_sequences(struct part *p)
{
	sqlite3_stmt *s = NULL;
	char table[100];
	bool ok = sqlite3_prepare_v2(p->place->db,
				     "INSERT INTO sqlite_sequence(name, seq) VALUES(?, ?)", -1, &s,
				     NULL) == SQLITE_OK;

	for (unsigned i = 0; ok && i < ROCPD_FEEDS; i++) {
		if (!p->last[i])
			continue;
		snprintf(table, sizeof(table), "rocpd_%s%s", feeds[i].table, p->suffix);
		sqlite3_bind_text(s, 1, table, -1, SQLITE_STATIC);
		sqlite3_bind_int64(s, 2, p->last[i]);
		ok = sqlite3_step(s) == SQLITE_DONE;
		sqlite3_reset(s);
	}
	sqlite3_finalize(s);
	return ok;
}

bool part_flush(struct part *p)
{
	bool ok = true;

	for (unsigned i = 0; ok && i < ROCPD_FEEDS; i++)
		ok = dbappend_finish(&p->feed[i]);
	if (!ok)
		part_error(p);
	for (unsigned i = 0; i < ROCPD_FEEDS; i++)
		dbappend_release(&p->feed[i]);
	return ok;
}

bool part_finish(struct part *p)
{
	bool ok = write_sequences(p) && place_pending(p) && part_definitions(p) &&
		  write_tracks(p) && write_strings(p);

	if (!ok)
		part_error(p);
	return ok;
}

void part_release(struct part *p)
{
	for (unsigned i = 0; i < ROCPD_FEEDS; i++)
		dbappend_release(&p->feed[i]);
	sqlite3_finalize(p->pending);
	sqlite3_close(p->pending_db);
	if (p->place == &p->own)
		place_release(&p->own);
	free(p->strings);
	free(p->tracks);
	free(p->op_name);
	free(p->op_category);
	map_release(&p->string_rows);
	map_release(&p->track_rows);
}

/* ---- single rows ------------------------------------------------------------------------------- */

struct row row_of(struct part *p, const char *table, const char *columns, unsigned count)
{
	struct row r = {0};
	struct text sql = {0};

	text_addf(&sql, "INSERT INTO \"rocpd_%s%s\" (%s) VALUES (?", table, p->suffix, columns);
	for (unsigned i = 1; i < count; i++)
		text_add(&sql, ",?");
	text_add(&sql, ")");
	r.failed = sql.failed ||
		   sqlite3_prepare_v2(p->place->db, sql.s, -1, &r.insert, NULL) != SQLITE_OK;
	text_release(&sql);
	return r;
}

void row_integer(struct row *r, int64_t v)
{
	sqlite3_bind_int64(r->insert, ++r->at, v);
}

void row_null(struct row *r)
{
	sqlite3_bind_null(r->insert, ++r->at);
}

void row_text(struct row *r, const char *s)
{
	sqlite3_bind_text(r->insert, ++r->at, s, -1, SQLITE_TRANSIENT);
}

void row_add(struct row *r)
{
	r->at = 0;
	if (r->failed)
		return;
	r->failed = sqlite3_step(r->insert) != SQLITE_DONE;
	if (!r->failed)
		sqlite3_reset(r->insert);
}

bool row_end(struct row *r)
{
	sqlite3_finalize(r->insert); /* the message of a failure stays */
	return !r->failed;
}
