/* SPDX-License-Identifier: Apache-2.0 */
/* The file, its tables and their columns; see reader.h. */
#include <string.h>

#include "formats/rpd/reader.h"

#define API                                                                                        \
	{                                                                                          \
		"id", "pid", "tid", "start", "end", "apiName_id", "args_id", "domain_id"           \
	}

/* Columns in the order of reader.h. */
static const struct {
	const char *name, *columns[DBTABLE_WANTED];
} wanted[TABLES] = {
	[T_METADATA] = {"rocpd_metadata", {"tag", "value"}},
	[T_STRING] = {"rocpd_string", {"id", "string"}},
	[T_USTRING] = {"rocpd_ustring", {"id", "string"}},
	[T_API] = {"rocpd_api", API},
	[T_HSA] = {"rocpd_hsaApi", API},
	[T_OP] = {"rocpd_op",
		  {"id", "gpuId", "queueId", "start", "end", "description_id", "opType_id"}},
	[T_API_OPS] = {"rocpd_api_ops", {"api_id", "op_id"}},
	[T_KERNEL_API] = {"rocpd_kernelapi",
			  {"api_ptr_id", "stream", "gridX", "gridY", "gridZ", "workgroupX",
			   "workgroupY", "workgroupZ", "groupSegmentSize", "privateSegmentSize",
			   "kernelName_id"}},
	[T_COPY_API] = {"rocpd_copyapi",
			{"api_ptr_id", "stream", "size", "width", "height", "kind"}},
	[T_MONITOR] = {"rocpd_monitor",
		       {"deviceType", "deviceId", "monitorType", "start", "value"}},
	[T_COUNTER] = {"rocpd_counter", {"op_id", "name_id", "value"}},
};

/* Tables that are not known are told by their names. */
static void leave_out(struct reader *r, const struct dbvalue *name, uint32_t root)
{
	if (r->unknown++ < DBTABLE_UNKNOWN)
		unplaced_rows(&r->left_out, r->t, name->text, name->length,
			      dbtable_rows(&r->file, root));
	else
		unplaced_add(&r->left_out, "further tables", 1);
}

static bool add_table(void *data, const struct dbvalue *name, uint32_t root,
		      const struct dbvalue *sql)
{
	struct reader *r = data;

	for (unsigned i = 0; i < TABLES; i++) {
		if (!dbvalue_is(name, wanted[i].name))
			continue;
		r->tables[i].root = root;
		dbtable_find_columns(&r->tables[i], wanted[i].columns, sql);
		return true;
	}
	if (name->length < 7 || memcmp(name->text, "sqlite_", 7) != 0)
		leave_out(r, name, root);
	return true;
}

static kymo_status_t refuse(struct reader *r, const char *why)
{
	stream_error(r->o->log, "%s: %s", r->path, why);
	return KYMO_ERROR_INVALID_ARGUMENT;
}

static kymo_status_t check_table(struct reader *r, unsigned which, unsigned first, unsigned last)
{
	const struct dbtable *t = &r->tables[which];

	if (!t->root && which != T_API && which != T_OP && which != T_STRING)
		return KYMO_OK;
	for (unsigned i = first; t->root && i <= last; i++) {
		if (t->at[i] >= 0)
			continue;
		stream_error(r->o->log, "%s: its table %s has no column %s", r->path,
			     wanted[which].name, wanted[which].columns[i]);
		return KYMO_ERROR_INVALID_ARGUMENT;
	}
	if (t->root)
		return KYMO_OK;
	stream_error(r->o->log, "%s: RPD without its table %s", r->path, wanted[which].name);
	return KYMO_ERROR_INVALID_ARGUMENT;
}

static kymo_status_t check_tables(struct reader *r)
{
	static const struct {
		uint8_t table, first, last;
	} needed[] = {{T_STRING, C_STRING_ID, C_STRING_TEXT},
		      {T_API, C_API_ID, C_API_NAME},
		      {T_HSA, C_API_PROCESS, C_API_NAME},
		      {T_OP, C_OP_ID, C_OP_TYPE},
		      {T_API_OPS, C_LINK_API, C_LINK_OP},
		      {T_KERNEL_API, C_KERNEL_API, C_KERNEL_API},
		      {T_COPY_API, C_COPY_API, C_COPY_API},
		      {T_MONITOR, C_MONITOR_DEVICE_TYPE, C_MONITOR_VALUE},
		      {T_COUNTER, C_COUNTER_OP, C_COUNTER_VALUE}};
	kymo_status_t status = KYMO_OK;

	for (size_t i = 0; i < sizeof(needed) / sizeof(*needed) && status == KYMO_OK; i++)
		status = check_table(r, needed[i].table, needed[i].first, needed[i].last);
	return status;
}

/* Before version 3 arguments lay among the other strings. */
static bool open_indexes(struct reader *r)
{
	unsigned arguments = r->tables[T_USTRING].root ? T_USTRING : T_STRING;

	return dbindex_open(&r->strings, &r->file, &r->tables[T_STRING]) &&
	       dbindex_open(&r->arguments, &r->file, &r->tables[arguments]) &&
	       dbindex_open(&r->ops, &r->file, &r->tables[T_OP]) &&
	       dbindex_open(&r->kernel_apis, &r->file, &r->tables[T_KERNEL_API]) &&
	       dbindex_open(&r->copy_apis, &r->file, &r->tables[T_COPY_API]);
}

kymo_status_t rpd_open(struct reader *r, const char *path)
{
	kymo_status_t status;
	char why[200];

	r->path = path;
	if (!dbfile_open(&r->file, path, why, sizeof(why)))
		return refuse(r, why);
	dbtable_each(&r->file, add_table, r);
	status = check_tables(r);
	for (unsigned i = 0; i < TABLES; i++)
		dbwalk_init(&r->walks[i], &r->file, r->tables[i].root);
	return status != KYMO_OK || open_indexes(r) ? status : KYMO_ERROR_NO_MEMORY;
}

/* ROCpd, its successor, has no table of that name. */
bool rpd_probe(const char *path)
{
	return dbfile_probe(path, "rocpd_api_ops");
}

void rpd_each(struct reader *r, enum rpd_table table, rpd_take take)
{
	struct dbtable *t = &r->tables[table];
	struct dbvalue all[DBFILE_COLUMNS];
	struct dbwalk w;
	struct dbrow row;

	if (!t->root)
		return;
	dbwalk_init(&w, &r->file, t->root);
	while (!r->failed && dbwalk_next(&w))
		if (dbrow_read(t, &w, all, &row))
			take(r, &row, table);
	dbwalk_release(&w);
}
