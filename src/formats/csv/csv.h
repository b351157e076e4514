/* SPDX-License-Identifier: Apache-2.0 */
/* The CSV writer's state, shared by its files. */
#ifndef FORMATS_CSV_CSV_H
#define FORMATS_CSV_CSV_H

#include "formats/format.h"
#include "stream/output.h"
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

struct csv_writer {
	struct stream_sink sink; /* first */
	struct format_options o;
	struct output out[CSV_TABLES];
	const struct trace *t;
	struct symbols *symbols;
};

static inline struct csv_writer *csv_writer_of(struct stream_sink *s)
{
	return (struct csv_writer *)(void *)s;
}

/* Columns: each ends with a comma, the row's end takes the last one away. */
void csv_text(struct output *o, const char *s);
void csv_unsigned(struct output *o, uint64_t v);
void csv_signed(struct output *o, int64_t v);
void csv_real(struct output *o, double v);
void csv_hex(struct output *o, uint64_t v);
kymo_status_t csv_end_row(struct output *o);

void csv_set_records(struct stream_sink *s);
void csv_definitions(struct csv_writer *w);

#endif
