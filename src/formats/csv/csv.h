/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the writers of tables (CSV, Markdown, XLSX), shared by their files: the same rows in another form. */
#ifndef FORMATS_CSV_CSV_H
#define FORMATS_CSV_CSV_H

#include "formats/format.h"
#include "stream/output.h"
#include "stream/unplaced.h"
#include "base/text.h"
#include "stream/symbol.h"

enum csv_table {
	CSV_CALLS,
	CSV_DISPATCHES,
	CSV_COPIES,
	CSV_ALLOCATIONS,
	CSV_SYNCS,
	CSV_MARKERS,
	CSV_MESSAGES,
	CSV_OTHERS,
	CSV_LOSSES,
	CSV_PROCESSES,
	CSV_THREADS,
	CSV_AGENTS,
	CSV_QUEUES,
	CSV_OPEN_CALLS,
	CSV_UNFINISHED,
	CSV_NOT_RECORDED,
	CSV_NOTES,
	CSV_TABLES
};

/* Where rows of a table go. */
struct csv_out {
	struct output out;           /* of CSV and Markdown */
	const struct csv_form *form; /* NULL: CSV, whose cells end with commas */
	void *sheet;                 /* of XLSX */
	uint32_t column, row;        /* of XLSX: of the next cell; rows with the header */
	uint64_t left_out;           /* of XLSX: rows for which a sheet has no place */
	struct csv_writer *writer;
	enum csv_table table;
};

/* A form that is not CSV. */
struct csv_form {
	kymo_status_t (*open)(struct csv_writer *w);
	void (*text)(struct csv_out *o, const char *s, size_t n);
	void (*number)(struct csv_out *o, const char *digits);
	kymo_status_t (*end_row)(struct csv_out *o);
	kymo_status_t (*close)(struct csv_writer *w); /* writes what there is */
	void (*release)(struct csv_writer *w);        /* also where nothing was written */
};

struct csv_writer {
	struct stream_sink sink; /* first */
	struct format_options o;
	struct csv_out out[CSV_TABLES];
	const struct csv_form *form;
	const struct trace *t;
	struct symbols *symbols;
	struct text values; /* of a cell */
	char **sites;       /* as text, by index */
	uint32_t sites_count;
	struct output file; /* of Markdown: the tables one behind the other */
	void *book;         /* of XLSX */
	struct unplaced unplaced;
	uint64_t cut; /* texts that were longer than a cell of XLSX */
};

static inline struct csv_writer *csv_writer_of(struct stream_sink *s)
{
	return (struct csv_writer *)(void *)s;
}

/* Name of a table, and its columns, apart by commas. */
const char *csv_name(enum csv_table table);
const char *csv_header(enum csv_table table);

kymo_status_t csv_make(const struct format_options *o, const struct csv_form *form,
		       struct stream_sink **sink);
void csv_free(struct stream_sink *s);

/* Cells. */
void csv_bytes(struct csv_out *o, const char *s, size_t n);
void csv_text(struct csv_out *o, const char *s);
void csv_unsigned(struct csv_out *o, uint64_t v);
void csv_signed(struct csv_out *o, int64_t v);
void csv_real(struct csv_out *o, double v);
void csv_number(struct csv_out *o, const char *digits); /* "": not known */
void csv_hex(struct csv_out *o, uint64_t v);
kymo_status_t csv_end_row(struct csv_out *o);

void csv_set_records(struct stream_sink *s);
void csv_definitions(struct csv_writer *w);

#endif
