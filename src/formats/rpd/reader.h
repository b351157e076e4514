/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of RPD, the database of ROCm's rocmProfileData (rpd_tracer), of schema versions up to 3. Files are
 * read as data (sql/dbfile.h): nothing in them is executed.
 *
 *	open.c      the file, its tables and their columns
 *	model.c     what records refer to
 *	collect.c   rows as items (stream/assemble.h)
 *	deliver.c   an item as a record
 *	read.c      the file as a whole, and what is told of it
 */
#ifndef FORMATS_RPD_READER_H
#define FORMATS_RPD_READER_H

#include "formats/format.h"
#include "sql/dbindex.h"
#include "stream/assemble.h"
#include "stream/keyed.h"
#include "stream/unplaced.h"

enum rpd_table {
	T_METADATA,
	T_STRING,
	T_USTRING,
	T_API,
	T_HSA,
	T_OP,
	T_API_OPS,
	T_KERNEL_API,
	T_COPY_API,
	T_MONITOR,
	T_COUNTER,
	TABLES
};

/* What an op is, by its type. */
enum rpd_class { CLASS_KERNEL, CLASS_WRITE, CLASS_READ, CLASS_COPY, CLASS_FILL, CLASS_BARRIER };

struct reader {
	const struct format_options *o;
	const char *path;
	struct trace *t;
	struct dbfile file;
	struct dbtable tables[TABLES];
	struct dbindex strings, arguments, ops, kernel_apis, copy_apis;
	struct dbwalk walks[TABLES];
	struct keyed keyed;
	struct make_activities model;
	struct assembly all;

	struct map api_ops;  /* op -> call + 1 */
	struct map extended; /* calls that say sizes in work items */
	struct map told;     /* copies' calls whose bytes are told */
	struct map call_ops; /* name, domain -> op */
	struct map live;     /* process and address -> lifetime */
	uint64_t allocations;
	int64_t pid_stride,
		gpu_stride; /* of nodes in numbers of processes and devices; 0: one node */
	uint64_t links;     /* of ops to further calls */
	uint64_t hip, cuda; /* calls */
	const char *runtime;
	bool items; /* sizes of grids are work items */
	bool nodes; /* there are several */
	struct make_fields fields;
	uint64_t wrong; /* values of another type than their column's */
	struct unplaced left_out;
	uint32_t unknown; /* tables */
	bool failed;      /* no memory */
};

/* ---- columns, as open.c has their names ---------------------------------------------------- */

enum { C_METADATA_TAG, C_METADATA_VALUE };
enum { C_STRING_ID, C_STRING_TEXT };
enum {
	C_API_ID,
	C_API_PROCESS,
	C_API_THREAD,
	C_API_START,
	C_API_END,
	C_API_NAME,
	C_API_ARGUMENTS,
	C_API_DOMAIN
};
enum { C_OP_ID, C_OP_GPU, C_OP_QUEUE, C_OP_START, C_OP_END, C_OP_NAME, C_OP_TYPE };
enum { C_LINK_API, C_LINK_OP };
enum {
	C_KERNEL_API,
	C_KERNEL_STREAM,
	C_KERNEL_GRID,
	C_KERNEL_GROUP = C_KERNEL_GRID + 3,
	C_KERNEL_SHARED = C_KERNEL_GROUP + 3,
	C_KERNEL_PRIVATE,
	C_KERNEL_NAME
};
enum { C_COPY_API, C_COPY_STREAM, C_COPY_SIZE, C_COPY_WIDTH, C_COPY_HEIGHT, C_COPY_KIND };
enum { C_MONITOR_DEVICE_TYPE, C_MONITOR_DEVICE, C_MONITOR_TYPE, C_MONITOR_START, C_MONITOR_VALUE };
enum { C_COUNTER_OP, C_COUNTER_NAME, C_COUNTER_VALUE };

/* ---- open.c -------------------------------------------------------------------------------- */

bool rpd_probe(const char *path);
kymo_status_t rpd_open(struct reader *r, const char *path);

typedef void (*rpd_take)(struct reader *r, const struct dbrow *row, enum rpd_table table);
void rpd_each(struct reader *r, enum rpd_table table, rpd_take take);

static inline int64_t rpd_number(struct reader *r, const struct dbrow *row, unsigned column)
{
	return dbrow_number(row, column, &r->wrong);
}

/* ---- model.c ------------------------------------------------------------------------------- */

void rpd_metadata(struct reader *r);
/* String of the trace. */
uint32_t rpd_text(struct reader *r, int64_t id);
const char *rpd_string(struct reader *r, int64_t id);
uint32_t rpd_process(struct reader *r, int64_t pid);
uint32_t rpd_thread(struct reader *r, int64_t pid, int64_t tid);
uint32_t rpd_op(struct reader *r, const struct dbrow *row, enum rpd_table table);
/* Arguments of a call, text of a marker; NULL, 0: it has none. */
const struct dbvalue *rpd_arguments(struct reader *r, const struct dbrow *row,
				    struct dbvalue all[DBFILE_COLUMNS]);
uint32_t rpd_marker_name(struct reader *r, const struct dbrow *row);
/* False: it is no call that gets or gives back memory. */
bool rpd_memory(struct reader *r, const struct dbrow *row, uint64_t *address, uint64_t *bytes,
		bool *gone);
bool rpd_is_marker(struct reader *r, const struct dbrow *row);
enum rpd_class rpd_class(struct reader *r, const struct dbrow *op);
uint32_t rpd_agent(struct reader *r, uint32_t process, int64_t gpu);
/* `stream`: as the call names it, where there is a call. */
uint32_t rpd_queue(struct reader *r, uint32_t process, uint32_t agent, int64_t queue,
		   const struct dbvalue *stream);
uint32_t rpd_kernel(struct reader *r, uint32_t process, const struct dbrow *op);
/* Counters of devices as they were watched, and of kernels. */
uint32_t rpd_monitor(struct reader *r, const struct dbrow *row);
uint32_t rpd_counter(struct reader *r, uint32_t process, const struct dbrow *row);
void rpd_complete(struct reader *r);

/* ---- collect.c, deliver.c ------------------------------------------------------------------ */

void rpd_collect(struct reader *r);
/* Defines what ops refer to, once their processes are known. */
void rpd_define_work(struct reader *r);
kymo_status_t rpd_deliver(struct reader *r, struct stream_sink *sink);

#endif
