/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of rocprofv3's CSV files and of its JSON document. Both are read once: rows go to a temporary file, and
 * items for them to memory (stream/assemble.h). What they name may come behind them, so names are looked up once all
 * is read.
 *
 *	tables.c     CSV as rows of cells, found by the names of their columns
 *	read_csv.c   files of a folder, and their rows
 *	read_json.c  the document
 *	rows.c       rows kept, and items of them
 *	model.c      what records refer to
 *	deliver.c    rows as records
 *	read.c       the whole
 */
#ifndef FORMATS_ROCPROFV3_READER_H
#define FORMATS_ROCPROFV3_READER_H

#include "base/map.h"
#include "base/text.h"
#include "formats/format.h"
#include "stream/assemble.h"
#include "stream/keyed.h"
#include "stream/unplaced.h"

enum { LINE_MAX_BYTES = 1 << 20, CELLS_MAX = 1024, PATHS_MAX = 1 << 16 };

/* A process as the input has it: files of one beginning in one folder, or an element of the document. */
struct rp_source {
	uint32_t pid, process;  /* process: 0 until it is in the trace */
	uint32_t host, command; /* strings */
	int64_t start, end;     /* 0: not said */
	bool kernels;           /* it has them apart from counters */
	bool streams;           /* its work is on streams other than the default one */
};

enum rp_row_kind { ROW_CALL, ROW_MARKER, ROW_KERNEL, ROW_COPY, ROW_MEMORY, ROW_COUNTER };

/* How a row names a device. */
enum rp_by { BY_NONE, BY_NODE, BY_LOGICAL, BY_TYPE_GPU, BY_TYPE_CPU, BY_HANDLE };

struct rp_ref {
	uint64_t number;
	uint32_t by;
};

/* Values as the file has them; what is found for them once all is read. */
struct rp_row {
	uint64_t correlation, external, dispatch;
	uint64_t kernel; /* number in the document; 0: `name` is it */
	uint64_t queue, stream, bytes, address;
	uint64_t shared, scratch, registers;
	uint64_t grid[3], group[3];
	double value;
	int64_t status;
	struct rp_ref agent, from;
	uint32_t source;
	uint32_t name, domain;    /* strings: of calls, kernels, markers, counters */
	uint32_t kind, operation; /* of the document, where names are 0 */
	uint32_t counter;         /* likewise */
	uint32_t values;          /* bytes behind it: arguments */
	uint8_t what, left_out;
	bool has_status;
	bool of_counters; /* a kernel that counters name: left out where kernels are apart */
	/* found */
	uint32_t op, agent_index, from_index, queue_index, kernel_index, counter_index;
};

/* A device of a source. */
struct rp_agent {
	uint32_t source, name, vendor, label; /* strings */
	uint32_t properties;                  /* likewise: JSON; 0: none are told */
	uint64_t node, logical, of_type, handle;
	bool gpu;
};

/* A kernel, or a counter, of the document. */
struct rp_symbol {
	uint32_t name, symbol;
	uint64_t registers;
};

struct rp_reader {
	const struct format_options *o;
	const char *path;
	struct trace *t;
	struct keyed keyed;
	struct make_activities model;
	struct assembly all;
	struct make_fields fields;
	int rows; /* file */
	struct text pending;
	uint64_t written;
	uint8_t *mapped;
	struct rp_source *sources;
	uint32_t source_count, source_room;
	struct rp_agent *agents;
	uint32_t agent_count, agent_room;
	struct rp_symbol *symbols;
	uint32_t symbol_count, symbol_room;
	struct map found_sources, found_symbols, kinds, operations, texts, seen_kernels, live;
	struct map found_agents; /* by source, way and number: index + 1 */
	struct map
		kernel_ends; /* of CSV files, by source and dispatch: for counters without times */
	struct map of_type;  /* devices of a source so far, by type */
	uint64_t allocations, damaged, unread;
	uint64_t unsized; /* copies of CSV files that have no column for their bytes */
	struct unplaced left_out;
	struct text scratch;
	bool failed; /* no memory, or no room for rows */
};

/* ---- tables.c -------------------------------------------------------------------------------- */

struct rp_table;
struct rp_cell {
	const char *s;
	size_t n;
};

/* NULL: errno says why not. */
struct rp_table *rp_table_open(const char *path);
void rp_table_close(struct rp_table *x);
/* The next line's cells, which stay until the next. False: there is none. */
bool rp_table_next(struct rp_table *x, const struct rp_cell **cells, uint32_t *count);
/* Lines that were too long, or had too many cells. */
uint64_t rp_table_broken(const struct rp_table *x);
/* Its last line has no end. */
bool rp_table_cut(const struct rp_table *x);
bool rp_cell_is(struct rp_cell c, const char *text);
bool rp_cell_unsigned(struct rp_cell c, uint64_t *out);

/* ---- read_csv.c, read_json.c ----------------------------------------------------------------- */

bool rp_probe(const char *path);
bool rp_csv_probe(const char *path);
bool rp_json_probe(const char *path);
/* False: said why. */
bool rp_read_csv(struct rp_reader *r, const char *path);
bool rp_read_json(struct rp_reader *r, const char *path);

/* ---- rows.c ---------------------------------------------------------------------------------- */

uint32_t rp_text(struct rp_reader *r, const char *s, size_t n);
/* 0: no memory. */
uint32_t rp_source(struct rp_reader *r, uint64_t key);
uint32_t rp_process(struct rp_reader *r, uint32_t source, uint64_t pid);
void rp_add_agent(struct rp_reader *r, struct rp_agent a);
/* Keeps the row and adds its item; `values` may be NULL. */
void rp_add_row(struct rp_reader *r, struct rp_row *row, enum assembly_kind kind, uint32_t process,
		uint64_t tid, int64_t start, int64_t end, const struct text *values);
bool rp_flush(struct rp_reader *r);
static inline struct rp_row *rp_row_of(const struct rp_reader *r, const struct assembly_item *i)
{
	return (struct rp_row *)(void *)(r->mapped + i->row);
}

/* ---- model.c, deliver.c ---------------------------------------------------------------------- */

/* A call or marker of that domain: "HIP_RUNTIME_API_EXT". True: it is a call. */
bool rp_domain(const char *said, const char *function, char out[64]);
void rp_define(struct rp_reader *r);
kymo_status_t rp_deliver(struct rp_reader *r, struct stream_sink *sink);
kymo_status_t rp_read(const char *path, const struct stream_filter *filter, bool ordered,
		      struct stream_sink *sink, const struct format_options *o);

#endif
