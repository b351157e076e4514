/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer of CTF 1.8: records become messages of a graph of libbabeltrace2, whose component sink.ctf.fs writes
 * the streams and the metadata.
 *
 *	write.c   the sink: records, definitions, the folder as a whole
 *	graph.c   the graph, its streams and packets
 *	class.c   event classes of tables and of arguments
 *	value.c   values into fields
 */
#ifndef FORMATS_CTF_WRITER_H
#define FORMATS_CTF_WRITER_H

#include <babeltrace2/babeltrace.h>

#include "base/map.h"
#include "formats/ctf/tables.h"
#include "formats/format.h"
#include "stream/unplaced.h"

enum { CTF_STREAMS = 256, CTF_QUEUE = 512, CTF_PACKET_EVENTS = 16384 };

struct ctf_stream {
	bt_stream *stream;
	bt_packet *packet; /* NULL: none was begun */
	uint64_t last;     /* time of its last message */
	uint32_t events;   /* in the packet */
	bool any;          /* a packet was begun */
};

struct ctf_writer {
	struct stream_sink sink; /* first */
	struct format_options o;
	const struct trace *t;
	char *path;
	bt_graph *graph;
	bt_self_component_source *source;
	bt_self_message_iterator *iterator;
	bt_trace_class *trace_class;
	bt_trace *trace;
	bt_clock_class *clock;
	bt_stream_class *records, *definitions;
	struct ctf_stream streams[CTF_STREAMS + 1]; /* the last: definitions */
	const bt_message *queue[CTF_QUEUE];
	unsigned queued, taken;
	struct map classes; /* kind and op -> event class */
	struct map sets;    /* sets of names -> their number */
	struct unplaced unplaced;
	struct ctf_end ended_with;
	bool ended, failed, begun;
};

static inline struct ctf_writer *ctf_writer_of(struct stream_sink *s)
{
	return (struct ctf_writer *)(void *)s;
}

/* ---- graph.c ------------------------------------------------------------------------------- */

/* Makes the graph; its source asks `w` for classes and messages. */
kymo_status_t ctf_graph_open(struct ctf_writer *w);
/* Describes the trace: clock, environment, classes of streams. */
bool ctf_graph_describe(struct ctf_writer *w);
/* An event of that class at `time` in a stream; ctf_graph_push() sends it. NULL: failed. */
bt_message *ctf_graph_event(struct ctf_writer *w, unsigned stream, bt_event_class *class,
			    int64_t time);
kymo_status_t ctf_graph_push(struct ctf_writer *w, const bt_message *m);
/* So many events are missing in the stream from here on; 0: an unknown number. */
kymo_status_t ctf_graph_lost(struct ctf_writer *w, unsigned stream, uint64_t count);
/* Ends all streams and waits for what is left. */
kymo_status_t ctf_graph_end(struct ctf_writer *w);
void ctf_graph_close(struct ctf_writer *w);
/* What libbabeltrace2 says went wrong. */
kymo_status_t ctf_graph_failed(struct ctf_writer *w);

/* ---- class.c ------------------------------------------------------------------------------- */

/* The event class of definitions of a table. NULL: no memory. */
bt_event_class *ctf_class_of_table(struct ctf_writer *w, const struct ctf_table *table);
/* Of records of the kind and op. */
bt_event_class *ctf_class_of_op(struct ctf_writer *w, enum ctf_kind kind, uint32_t op);

/* ---- value.c ------------------------------------------------------------------------------- */

/* The members of `s` into the fields of `payload` from number `*at` on. */
void ctf_put_members(bt_field *payload, uint64_t *at, const struct ctf_table *table, const void *s);
void ctf_put_arguments(struct ctf_writer *w, bt_field *arguments, const struct rec *r);

#endif
