/* SPDX-License-Identifier: Apache-2.0 */
/* Reading an open raw trace into a sink: what read.c and order.c share and commands may call. */
#ifndef FORMATS_RAW_READ_H
#define FORMATS_RAW_READ_H

#include "formats/format.h"
#include "formats/raw/internal.h"
#include "formats/raw/under_way.h"
#include "stream/filter.h"

/* A drain of this host is at work on it: what is read now may not be all. */
bool raw_being_written(const char *directory);

/* begin, all wanted records, end. May be called again. */
kymo_status_t raw_trace_read(struct raw_trace *rt, const struct stream_filter *filter, bool ordered,
			     struct stream_sink *sink, const struct format_options *o);

/*
 * A pass before the one that counts, in the order of the files: damage and losses are not noted.
 * `wants` chooses the records by their ops; others are not decoded.
 */
kymo_status_t raw_trace_look(struct raw_trace *rt,
			     bool (*wants)(const struct trace *t, const struct t_op *op),
			     struct stream_sink *sink);

/* As raw_trace_look(), without chunks of threads that end at times which `where` does not want. */
typedef bool raw_look_where(const void *data, uint32_t thread, int64_t end);
kymo_status_t raw_trace_look_where(struct raw_trace *rt,
				   bool (*wants)(const struct trace *t, const struct t_op *op),
				   raw_look_where *where, const void *data,
				   struct stream_sink *sink);

/* The passes that the choice of records needs, before raw_trace_read_bound(). */
kymo_status_t raw_trace_look_ahead(struct raw_trace *rt, struct filter_binding *b);

/* What `b` wants, in order, without begin and end. */
kymo_status_t raw_trace_read_bound(struct raw_trace *rt, const struct filter_binding *b,
				   struct stream_sink *sink);

/*
 * The wanted records sorted by start (device records by device start); of those that begin at once the
 * one that ends last, then the smaller id, is first. Memory: the chunks whose span of starts holds the
 * present position, each with 72 bytes a record: for each thread one chunk and one for each call that
 * is open, and of device records those reported out of order. Nothing is looked into that lies behind
 * the last record handed on, chunks with records that fields place elsewhere in time (devices', samples) aside.
 */
kymo_status_t raw_read_ordered(struct raw_trace *rt, const struct filter_binding *b,
			       struct under_way *under_way, struct stream_sink *sink,
			       const struct format_options *o);

bool raw_wanted(const struct filter_binding *b, enum raw_kind kind, const union raw_any *any);

#endif
