/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of Nsight Systems' SQLite exports. Files are read as data (sql/dbfile.h): nothing in them is
 * executed. Their columns differ by version: what is there is taken, by name.
 *
 *	open.c      the file, its tables and their columns
 *	model.c     what records refer to: processes, threads, devices, names, numbers of enumerations
 *	collect.c   rows as items (stream/assemble.h), with what only they define
 *	deliver.c   an item as a record
 *	mpi.c       messages and collectives, with the calls that they are of
 *	sample.c    samples of the processor: collected and delivered
 *	device.c    work of devices and memory, likewise
 *	read.c      the file as a whole, and what is told of it
 */
#ifndef FORMATS_NSYS_READER_H
#define FORMATS_NSYS_READER_H

#include "base/text.h"
#include "formats/format.h"
#include "sql/dbindex.h"
#include "stream/assemble.h"
#include "stream/keyed.h"
#include "stream/unplaced.h"

enum nsys_table {
	T_STRING,
	T_PROCESS,
	T_THREAD_NAME,
	T_GPU,
	T_CUDA_DEVICE,
	T_ENVIRONMENT,
	T_START_TIME,
	T_DETAILS,
	T_METRIC,
	T_RANK,
	T_COMMUNICATOR,
	T_ENUM_COPY,
	T_ENUM_MEMORY,
	T_ENUM_SYNC,
	T_ENUM_NVTX,
	T_ENUM_USAGE,
	T_ENUM_SEVERITY,
	T_DIAGNOSTIC,
	T_RUNTIME,
	T_KERNEL,
	T_GRAPH,
	T_COPY,
	T_FILL,
	T_SYNC,
	T_EVENT,
	T_CPU_FAULT,
	T_GPU_FAULT,
	T_USAGE,
	T_NVTX,
	T_GPU_METRIC,
	T_SAMPLE,
	T_FRAME,
	TABLES,
	CALLS_MAX = 40 /* tables of calls of other kinds: MPI, the system's libraries, cuBLAS ... */
};

/* Enumerations, in the order in which model.c names them. */
enum {
	COPY_KIND_UNKNOWN,
	COPY_KIND_HTOD,
	COPY_KIND_DTOH,
	COPY_KIND_HTOA,
	COPY_KIND_ATOH,
	COPY_KIND_ATOA,
	COPY_KIND_ATOD,
	COPY_KIND_DTOA,
	COPY_KIND_DTOD,
	COPY_KIND_HTOH,
	COPY_KIND_PTOP,
	COPY_KIND_UVM_HTOD,
	COPY_KIND_UVM_DTOH,
	COPY_KIND_UVM_DTOD
};
enum { WAIT_UNKNOWN, WAIT_EVENT, WAIT_QUEUE_EVENT, WAIT_STREAM, WAIT_CONTEXT };
enum {
	NVTX_UNKNOWN,
	NVTX_CATEGORY = 33,
	NVTX_MARK = 34,
	NVTX_PUSH_POP = 59,
	NVTX_START_END = 60,
	NVTX_DOMAIN = 75,
	NVTX_DOMAIN_END = 76
};
enum { USAGE_ALLOCATE, USAGE_FREE };
enum { SEVERITY_WARNING = 2, SEVERITY_ERROR = 3 }; /* as notes have them */

/* A device as TARGET_INFO_GPU has it. */
struct gpu {
	int64_t id, cuda;
	bool has_cuda;
	struct t_agent agent;
};

/* Of a process, which device is which. */
struct cuda_device {
	int64_t gpu, cuda, pid;
};

/* What a rank calls a communicator, and its own rank in it. */
struct communicator {
	int64_t rank, handle, size, own;
	uint64_t uid; /* the same in all ranks; 0: not known */
};

struct calls {
	struct dbtable table;
	char domain[40];
	const char *name; /* of the table */
};

struct reader {
	const struct format_options *o;
	const char *path;
	struct trace *t;
	struct dbfile file;
	struct dbtable tables[TABLES];
	struct calls calls[CALLS_MAX];
	uint32_t calls_count;
	struct dbindex strings;
	struct keyed keyed;
	struct make_activities model;
	struct assembly all;

	struct gpu *gpus;
	uint32_t gpu_count, gpu_room;
	struct cuda_device *devices;
	uint32_t device_count, device_room;
	struct map agents;     /* process and device -> agent + 1 */
	struct map hosts;      /* machine -> string */
	struct map enums;      /* enumeration << 32 | number in the file -> ours + 1 */
	struct map ops;        /* source << 40 | class << 36 and name -> op */
	struct map domains;    /* of NVTX: process and id -> string */
	struct map categories; /* of NVTX: process, domain and id -> string */
	struct map metrics;    /* type and metric -> name */
	struct map live;       /* process and address -> lifetime */
	struct communicator *comms;
	uint32_t comm_count, comm_room;
	int64_t world;            /* size of the largest one */
	struct map comms_at;      /* rank and handle -> comms + 1 */
	struct map communicators; /* process and handle -> communicator */
	struct map chains;        /* hash of a sample -> row of its first frame + 1 */
	int64_t last_chain;
	struct dbwalk chain_walk;
	uint64_t allocations;
	int64_t utc;          /* of time 0; 0: not known */
	struct dbwalk *walks; /* of all tables, while records are handed on */
	struct make_fields fields;
	struct text payload;
	uint64_t wrong; /* values of another type than their column's */
	struct unplaced left_out;
	uint32_t unknown; /* tables */
	bool failed;      /* no memory */
};

/* A row that a record is made of. */
struct source_row {
	struct dbvalue all[DBFILE_COLUMNS];
	struct dbrow row;
};

/* ---- open.c -------------------------------------------------------------------------------- */

bool nsys_probe(const char *path);
kymo_status_t nsys_open(struct reader *r, const char *path);

static inline struct dbtable *nsys_table(struct reader *r, uint32_t source)
{
	return source < TABLES ? &r->tables[source] : &r->calls[source - TABLES].table;
}

static inline int64_t nsys_number(struct reader *r, const struct dbrow *row, unsigned column)
{
	return dbrow_number(row, column, &r->wrong);
}

/* False: no memory. Stops where `take` sets r->failed. */
typedef void (*nsys_take)(struct reader *r, const struct dbrow *row, uint32_t source);
void nsys_each(struct reader *r, uint32_t source, nsys_take take);

/* ---- model.c ------------------------------------------------------------------------------- */

void nsys_model(struct reader *r);
/* String of the trace; 0: the file has none of that id. */
uint32_t nsys_text(struct reader *r, int64_t id);
/* Of "Serialized GlobalId"s: machine, process, thread in one number. */
uint32_t nsys_process(struct reader *r, int64_t global);
uint32_t nsys_thread(struct reader *r, int64_t global);
/* The number that it has here of what the file calls `value`; UINT32_MAX: it is none of these. */
uint32_t nsys_enum(const struct reader *r, enum nsys_table which, int64_t value);
uint32_t nsys_agent(struct reader *r, uint32_t process, int64_t device);
uint32_t nsys_gpu_agent(struct reader *r, uint32_t process, int64_t gpu);
uint32_t nsys_queue(struct reader *r, uint32_t process, uint32_t agent, int64_t context,
		    int64_t stream);
/* Names, numbers and ranks of processes and threads: devices are found by process. */
void nsys_name(struct reader *r);
void nsys_complete(struct reader *r);

/* ---- collect.c ----------------------------------------------------------------------------- */

void nsys_collect(struct reader *r);
/* False: the row has none, which is counted. */
bool nsys_time(struct reader *r, const struct dbrow *row, unsigned column, int64_t *out);
uint32_t nsys_op(struct reader *r, uint32_t source, const struct dbrow *row);
uint32_t nsys_counter(struct reader *r, int64_t type, int64_t metric);
/* Name of a range or mark, and its domain and category; strings of the trace. */
uint32_t nsys_marker_name(struct reader *r, const struct dbrow *row);
uint64_t nsys_domain_key(int64_t global, int64_t domain);
uint64_t nsys_category_key(int64_t global, int64_t domain, int64_t category);
/* Columns of calls that become arguments, in order; ends with a name of NULL. */
struct nsys_argument {
	uint8_t column;
	const char *name;
	uint8_t kind;
};
extern const struct nsys_argument nsys_arguments[];

/* ---- sample.c ------------------------------------------------------------------------------ */

void nsys_collect_samples(struct reader *r);
kymo_status_t nsys_deliver_sample(struct reader *r, struct stream_sink *sink,
				  const struct assembly_item *i, const struct dbrow *row);

/* ---- mpi.c --------------------------------------------------------------------------------- */

void nsys_define_messages(struct reader *r);
/* None where the call moves nothing. */
kymo_status_t nsys_deliver_message(struct reader *r, struct stream_sink *sink,
				   const struct assembly_item *i, const struct dbrow *row);

/* ---- deliver.c, device.c ------------------------------------------------------------------- */

kymo_status_t nsys_deliver(struct reader *r, struct stream_sink *sink);
/* Defines what work on devices refers to, once its process is known. */
void nsys_define_work(struct reader *r);

kymo_status_t nsys_deliver_work(struct reader *r, struct stream_sink *sink,
				const struct assembly_item *i, const struct dbrow *row);

/* The row of an item by the walk of its table. False: it cannot be read. */
bool nsys_row(struct reader *r, struct dbwalk *walks, const struct assembly_item *i,
	      struct source_row *out);
struct dbwalk *nsys_walks(struct reader *r);
void nsys_walks_end(struct reader *r, struct dbwalk *walks);

#endif
