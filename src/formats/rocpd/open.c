/* SPDX-License-Identifier: Apache-2.0 */
/* Files of ROCpd, the sets of tables in them, and their columns by name; see reader.h. */
#include "formats/rocpd/reader.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/units.h"
#include "base/vec.h"
#include "formats/rocpd/columns.h"
#include "formats/rocpd/read.h"

/* Columns in the order of columns.h. */
static const struct {
	const char *name, *columns[DBTABLE_WANTED];
} wanted[TABLES] = {
	[T_METADATA] = {"metadata", {"tag", "value"}},
	[T_STRING] = {"string", {"string"}},
	[T_NODE] = {"info_node", {"hostname", "system_name"}},
	[T_PROCESS] = {"info_process",
		       {"nid", "ppid", "pid", "init", "fini", "start", "end", "command",
			"extdata"}},
	[T_THREAD] = {"info_thread", {"pid", "tid", "name", "start", "end"}},
	[T_AGENT] = {"info_agent",
		     {"pid", "type", "absolute_index", "name", "vendor_name", "product_name",
		      "extdata"}},
	[T_QUEUE] = {"info_queue", {"name"}},
	[T_STREAM] = {"info_stream", {"name"}},
	[T_PMC] = {"info_pmc",
		   {"pid", "agent_id", "name", "description", "units", "value_type", "component"}},
	[T_CODE] = {"info_code_object", {"pid", "uri", "load_base"}},
	[T_SYMBOL] = {"info_kernel_symbol",
		      {"pid", "code_object_id", "kernel_name", "display_name", "kernel_object"}},
	[T_TRACK] = {"track", {"tid", "name_id"}},
	[T_EVENT] = {"event",
		     {"category_id", "stack_id", "parent_stack_id", "correlation_id", "extdata"}},
	[T_ARG] = {"arg", {"event_id", "type", "name", "value"}},
	[T_VALUE] = {"pmc_event", {"event_id", "pmc_id", "value"}},
	[T_REGION] = {"region", {"pid", "tid", "start", "end", "name_id", "event_id", "extdata"}},
	[T_SAMPLE] = {"sample", {"track_id", "timestamp", "event_id"}},
	[T_DISPATCH] = {"kernel_dispatch",
			{"pid",
			 "tid",
			 "agent_id",
			 "kernel_id",
			 "queue_id",
			 "stream_id",
			 "start",
			 "end",
			 "private_segment_size",
			 "group_segment_size",
			 "workgroup_size_x",
			 "workgroup_size_y",
			 "workgroup_size_z",
			 "grid_size_x",
			 "grid_size_y",
			 "grid_size_z",
			 "event_id",
			 "graph_exec_id",
			 "graph_node_id",
			 "extdata"}},
	[T_COPY] = {"memory_copy",
		    {"pid", "tid", "start", "end", "name_id", "dst_agent_id", "src_agent_id",
		     "size", "queue_id", "stream_id", "event_id", "extdata"}},
	[T_ALLOCATION] = {"memory_allocate",
			  {"pid", "tid", "agent_id", "type", "level", "start", "end", "address",
			   "size", "event_id"}},
};

/* ---- tables ------------------------------------------------------------------------------------ */

/* "rocpd_region_0198..." is region and "_0198...". TABLES: it is no table of these. */
static unsigned table_of(const struct dbvalue *name, const char **suffix, uint32_t *length)
{
	for (unsigned i = 0; i < TABLES; i++) {
		size_t n = strlen(wanted[i].name);

		if (name->length < n + 6 || memcmp(name->text, "rocpd_", 6) != 0 ||
		    memcmp(name->text + 6, wanted[i].name, n) != 0)
			continue;
		*suffix = name->text + 6 + n;
		*length = name->length - 6 - (uint32_t)n;
		if (*length < sizeof(((struct set *)0)->suffix))
			return i;
	}
	return TABLES;
}

static struct set *set_of(struct reader *r, uint32_t file, const char *suffix, uint32_t length)
{
	struct set *s;

	for (uint32_t i = 0; i < r->sets_count; i++) {
		s = &r->sets[i];
		if (s->file == &r->files[file] && strlen(s->suffix) == length &&
		    memcmp(s->suffix, suffix, length) == 0)
			return s;
	}
	if (!vec_reserve(&r->sets, &r->sets_room, r->sets_count, 1))
		return NULL;
	s = &r->sets[r->sets_count++];
	*s = (struct set){.file = &r->files[file], .path = r->paths[file]};
	memcpy(s->suffix, suffix, length);
	return s;
}

/* Of version 4, whose tables are others. */
static bool is_newer(const struct dbvalue *name)
{
	static const char start[] = "rocpd_info_category";

	return name->type == DB_TEXT && name->length >= sizeof(start) - 1 &&
	       memcmp(name->text, start, sizeof(start) - 1) == 0;
}

static kymo_status_t refuse(struct reader *r, const char *path, const char *why)
{
	stream_error(r->o->log, "%s: %s", path, why);
	return KYMO_ERROR_INVALID_ARGUMENT;
}

struct found {
	struct reader *r;
	uint32_t file;
	bool newer;
};

static bool add_table(void *data, const struct dbvalue *name, uint32_t root,
		      const struct dbvalue *sql)
{
	struct found *f = data;
	const char *suffix = NULL;
	uint32_t length = 0;
	unsigned which = table_of(name, &suffix, &length);
	struct set *s;

	f->newer |= is_newer(name);
	if (which == TABLES)
		return true;
	s = set_of(f->r, f->file, suffix, length);
	if (!s)
		return false;
	s->tables[which].root = root;
	dbtable_find_columns(&s->tables[which], wanted[which].columns, sql);
	return true;
}

static kymo_status_t find_tables(struct reader *r, uint32_t file)
{
	struct found f = {r, file, false};
	bool ok = dbtable_each(&r->files[file], add_table, &f);

	if (f.newer)
		return refuse(r, r->paths[file],
			      "ROCpd of schema version 4, which is not read: write it again with a "
			      "version 3 of the tool that made it");
	return ok ? KYMO_OK : KYMO_ERROR_NO_MEMORY;
}

/* ---- versions ---------------------------------------------------------------------------------- */

static bool is_known_version(const struct dbvalue *v)
{
	return dbvalue_is(v, "3") ||
	       (v->type == DB_TEXT && v->length >= 4 && v->length < 12 &&
		memcmp(v->text, "3.0.", 4) == 0) ||
	       (v->type == DB_INTEGER && v->integer == 3);
}

static kymo_status_t check_version(struct reader *r, struct set *s)
{
	struct dbvalue all[DBFILE_COLUMNS];
	kymo_status_t status = KYMO_OK;
	struct dbwalk w;
	struct dbrow row;

	dbwalk_init(&w, s->file, s->tables[T_METADATA].root);
	while (status == KYMO_OK && dbwalk_next(&w)) {
		const struct dbvalue *value;

		if (!dbrow_read(&s->tables[T_METADATA], &w, all, &row) ||
		    !dbvalue_is(dbrow_value(&row, C_METADATA_TAG), "schema_version"))
			continue;
		value = dbrow_value(&row, C_METADATA_VALUE);
		if (is_known_version(value))
			continue;
		stream_error(r->o->log,
			     "%s: ROCpd of schema version \"%.*s\"; 3 and 3.0.x are read", s->path,
			     value->type == DB_TEXT ? (int)(value->length & 0xff) : 1,
			     value->type == DB_TEXT ? value->text : "?");
		status = KYMO_ERROR_INVALID_ARGUMENT;
	}
	dbwalk_release(&w);
	return status;
}

static kymo_status_t check_set(struct reader *r, struct set *s)
{
	static const uint8_t needed[] = {T_STRING, T_PROCESS, T_THREAD, T_EVENT, T_REGION};

	for (size_t i = 0; i < sizeof(needed); i++) {
		if (s->tables[needed[i]].root)
			continue;
		stream_error(r->o->log, "%s: ROCpd without its table rocpd_%s%s", s->path,
			     wanted[needed[i]].name, s->suffix);
		return KYMO_ERROR_INVALID_ARGUMENT;
	}
	return s->tables[T_METADATA].root ? check_version(r, s) : KYMO_OK;
}

/*
 * A process that lies in two files is read from one of them. What has neither strings nor a version is
 * something else whose name begins alike, as tables behind a virtual one.
 */
static void drop_others(struct reader *r)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < r->sets_count; i++) {
		bool again = false;

		if (!r->sets[i].tables[T_METADATA].root && !r->sets[i].tables[T_STRING].root)
			continue;

		for (uint32_t k = 0; k < kept && !again; k++)
			again = r->sets[i].suffix[0] &&
				strcmp(r->sets[i].suffix, r->sets[k].suffix) == 0;
		if (again)
			stream_warn(r->o->log, "%s: has process %s again, which is read once",
				    r->sets[i].path, r->sets[i].suffix);
		else
			r->sets[kept++] = r->sets[i];
	}
	r->sets_count = kept;
}

/* ---- files ------------------------------------------------------------------------------------- */

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int is_database(const struct dirent *d)
{
	const char *dot = strrchr(d->d_name, '.');

	return d->d_name[0] != '.' && dot &&
	       (strcmp(dot, ".db") == 0 || strcmp(dot, ".sqlite") == 0 ||
		strcmp(dot, ".rocpd") == 0);
}

static int has_index(const struct dirent *d)
{
	return strcmp(d->d_name, "index.yaml") == 0;
}

static bool add_path(struct reader *r, const char *path)
{
	if (!vec_reserve(&r->paths, &r->paths_room, r->files_count, 1))
		return false;
	r->paths[r->files_count] = strdup(path);
	return r->paths[r->files_count] && ++r->files_count;
}

struct folder {
	struct reader *r;
	struct map known; /* paths of its databases */
};

/* A file that the index names: one of the folder, one that lies elsewhere, or missing. */
static bool take_named(void *data, const char *path)
{
	struct folder *f = data;
	struct reader *r = f->r;

	if (map_get(&f->known, hash_string(path)))
		return true;
	if (access(path, F_OK) == 0)
		return add_path(r, path);
	if (!vec_reserve(&r->missing, &r->missing_room, r->missing_count, 1))
		return false;
	r->missing[r->missing_count] = strdup(path);
	return r->missing[r->missing_count] && ++r->missing_count;
}

static bool list_databases(struct folder *f, const char *path, struct dirent **list, int count)
{
	bool ok = true;

	for (int i = 0; i < count; i++) {
		char whole[4400];

		snprintf(whole, sizeof(whole), "%s/%s", path, list[i]->d_name);
		ok = ok && add_path(f->r, whole) && map_set(&f->known, hash_string(whole), 1);
		free(list[i]);
	}
	free(list);
	return ok;
}

static void tell_missing(struct reader *r, const char *path)
{
	const char *slash = r->missing_count ? strrchr(r->missing[0], '/') : NULL;

	if (slash)
		stream_warn(r->o->log,
			    "%s: its index.yaml names %" PRIu32
			    " database%s that cannot be found (%s%s): what %s recorded is lost",
			    path, r->missing_count, plural(r->missing_count), slash + 1,
			    r->missing_count > 1 ? ", ..." : "",
			    r->missing_count > 1 ? "they" : "it");
}

static kymo_status_t list_folder(struct reader *r, const char *path)
{
	struct folder f = {.r = r};
	struct dirent **list = NULL;
	int count = scandir(path, &list, is_database, alphasort);
	bool ok;

	if (count < 0)
		return refuse(r, path, strerror(errno));
	ok = list_databases(&f, path, list, count) && index_read(path, take_named, &f);
	map_release(&f.known);
	if (!ok)
		return refuse(r, path, "its databases cannot be listed, or its index.yaml read");
	tell_missing(r, path);
	return r->files_count
		       ? KYMO_OK
		       : refuse(r, path, "a folder of ROCpd databases without a database (*.db)");
}

static kymo_status_t list_files(struct reader *r, const char *path)
{
	kymo_status_t status = KYMO_OK;

	if (is_directory(path))
		status = list_folder(r, path);
	else if (!add_path(r, path))
		status = KYMO_ERROR_NO_MEMORY;
	if (status != KYMO_OK)
		return status;
	r->files = calloc(r->files_count, sizeof(*r->files));
	return r->files ? KYMO_OK : KYMO_ERROR_NO_MEMORY;
}

static kymo_status_t open_file(struct reader *r, uint32_t i)
{
	char why[200];

	if (!dbfile_open(&r->files[i], r->paths[i], why, sizeof(why)))
		return refuse(r, r->paths[i], why);
	return find_tables(r, i);
}

kymo_status_t reader_open(struct reader *r, const char *path)
{
	kymo_status_t status = list_files(r, path);

	for (uint32_t i = 0; status == KYMO_OK && i < r->files_count; i++)
		status = open_file(r, i);
	if (status == KYMO_OK)
		drop_others(r);
	if (status == KYMO_OK && !r->sets_count)
		status =
			refuse(r, path, "a SQLite database, but not of ROCpd: no tables rocpd_...");
	for (uint32_t i = 0; status == KYMO_OK && i < r->sets_count; i++)
		status = check_set(r, &r->sets[i]);
	return status;
}

void reader_close(struct reader *r)
{
	args_close(r);
	for (uint32_t i = 0; i < r->sets_count; i++) {
		struct set *s = &r->sets[i];
		struct map *const maps[] = {
			&s->strings,  &s->processes, &s->threads, &s->agents,      &s->kernels,
			&s->counters, &s->tracks,    &s->queues,  &s->queue_names, &s->stream_names,
			&s->ops,      &s->live,      &s->live_ids};

		for (size_t k = 0; k < sizeof(maps) / sizeof(*maps); k++)
			map_release(maps[k]);
	}
	for (uint32_t i = 0; i < r->files_count; i++) {
		if (r->files)
			dbfile_close(&r->files[i]);
		free(r->paths[i]);
	}
	for (uint32_t i = 0; i < r->missing_count; i++)
		free(r->missing[i]);
	free(r->missing);
	free(r->files);
	free(r->damaged);
	free(r->paths);
	free(r->sets);
	free((void *)r->texts);
	map_release(&r->by_name);
	map_release(&r->ranges);
	if (r->t)
		trace_free(r->t);
}

/* A SQLite file that names these tables, or a folder of such files. */
bool rocpd_probe(const char *path)
{
	struct dirent **list = NULL;
	int count;

	if (!is_directory(path))
		return dbfile_probe(path, "rocpd_");
	count = scandir(path, &list, has_index, NULL);
	for (int i = 0; i < count; i++)
		free(list[i]);
	free(list);
	return count > 0 || (strlen(path) > 5 && strstr(path, ".rpdb"));
}
