/* SPDX-License-Identifier: Apache-2.0 */
/* The text writer's state, shared by its files. */
#ifndef FORMATS_TEXT_TEXT_H
#define FORMATS_TEXT_TEXT_H

#include "formats/format.h"
#include "stream/names.h"
#include "stream/output.h"
#include "stream/symbol.h"

/* The exit line of a call whose entry line was written, waiting for its time. */
struct pending {
	int64_t end;
	uint64_t order; /* of writing: of equal ends the inner call's first */
	char *line;     /* owned */
	size_t length;
};

struct text_writer {
	struct stream_sink sink; /* first */
	struct format_options o;
	struct output out;
	const struct trace *t;
	struct symbols *symbols;
	/* Rendered once: they open every line. */
	char **op_names, **thread_names, **queue_names; /* by global index */
	char **site_names;                              /* made when first seen */
	uint32_t op_count, thread_count, queue_count,
		site_count; /* of these; the trace goes first */
	unsigned place_width;
	struct pending *exits; /* heap, entry-exit mode */
	uint32_t exit_count, exit_room;
	uint64_t orders;
};

static inline struct text_writer *text_writer_of(struct stream_sink *s)
{
	return (struct text_writer *)(void *)s;
}

/* prepare.c: names of threads, queues and operations. */
kymo_status_t text_names_init(struct text_writer *w);
void text_names_release(struct text_writer *w);
const char *text_site(struct text_writer *w, uint32_t site);
/* The frames of a place in a stack, from the innermost function out, with " < " between them. */
void text_frames(struct text_writer *w, uint32_t site);
/* Those that the function at the site is inlined into, with what stands between; nothing for others. */
void text_callers(struct text_writer *w, uint32_t site);

/* Time, duration (INT64_MIN: none) and place of a line. */
void text_begin_line(struct text_writer *w, int64_t time, int64_t duration, const char *place);

/* call.c */
kymo_status_t text_call(struct stream_sink *s, const struct rec *r);
kymo_status_t text_call_entry(struct text_writer *w, const struct rec *r);

/* Writes the exit lines that are due before `time`. */
void text_flush_exits(struct text_writer *w, int64_t time);

/* Name, arguments; `out_too`: values after the call as well. */
void text_arguments(struct text_writer *w, const struct rec *r, bool in, bool out_too);
void text_status(struct text_writer *w, const struct rec *r);

/* activity.c */
kymo_status_t text_dispatch(struct stream_sink *s, const struct rec_dispatch *r);
kymo_status_t text_copy(struct stream_sink *s, const struct rec_copy *r);
kymo_status_t text_allocation(struct stream_sink *s, const struct rec_allocation *r);
kymo_status_t text_sync(struct stream_sink *s, const struct rec_sync *r);
kymo_status_t text_marker(struct stream_sink *s, const struct rec_marker *r);
kymo_status_t text_comm(struct stream_sink *s, const struct rec_comm *r);
/* measures.c */
kymo_status_t text_sample(struct stream_sink *s, const struct rec_sample *r);
kymo_status_t text_device_sample(struct stream_sink *s, const struct rec_device_sample *r);
kymo_status_t text_counter(struct stream_sink *s, const struct rec_counter *r);
kymo_status_t text_other(struct stream_sink *s, const struct rec *r);
kymo_status_t text_loss(struct stream_sink *s, const struct rec_loss *r);
kymo_status_t text_open_call(struct stream_sink *s, const struct t_open_call *c);
kymo_status_t text_unfinished(struct stream_sink *s, const struct t_unfinished *u);

#endif
