/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An open raw trace, and one chunk of it: its records as they lie on the wire, each in full
 * (raw_record()), handed on (raw_deliver()), or of a call the numbers alone (raw_call()).
 * Which chunks there are, and which of them are wanted, says spans.h; read.h reads a trace into a
 * sink.
 */
#ifndef FORMATS_RAW_CHUNK_H
#define FORMATS_RAW_CHUNK_H

#include "formats/raw/file.h"
#include "stream/stream.h"
#include "stream/ticks.h"

enum raw_kind {
	RAW_KIND_NONE = 0, /* an op without definition */
	RAW_KIND_CALL,
	RAW_KIND_OTHER,     /* an activity that is struct rec, with fields to be walked */
	RAW_KIND_PUBLISHED, /* a call or event whose times are in its fields; `rec` as of a call */
#define RAW_KIND_OF(K, name, type) RAW_KIND_##K,
	RECORD_KINDS(RAW_KIND_OF)
#undef RAW_KIND_OF
};

struct raw_op {
	uint32_t op;  /* global index */
	uint8_t kind; /* enum raw_kind */
	uint8_t fields;
	bool published; /* its last fields say when and where it was */
	uint8_t placed; /* so many fields, from the first one, say when it was; 0: the record itself
			   does */
	const uint8_t
		*slots; /* activities: for each field its number among those of its kind, or 0 */
};

struct raw_process; /* one raw file; private */

struct raw_trace;

/*
 * Opens a trace directory or one .kyr file and reads all definitions. Files that cannot be read
 * are warned about as long as one can. `log` must outlive the trace.
 */
kymo_status_t raw_trace_open(const char *path, struct stream_log *log, struct raw_trace **out);
void raw_trace_close(struct raw_trace *rt);

/* True when `path` looks like one. */
bool raw_trace_probe(const char *path);

struct trace *raw_trace_definitions(struct raw_trace *rt);

/* Brings the totals of the definitions (losses, damage) up to what has been scanned. */
void raw_trace_totals(struct raw_trace *rt);

struct raw_chunk {
	uint32_t process, thread; /* global indexes */
	uint32_t number;          /* block in its file */
	const struct raw_op *ops;
	uint32_t op_count;
	uint64_t lost; /* records dropped before this chunk */
	bool missing;  /* chunks before this one are missing: that count is not known */
	int64_t lost_after, lost_before; /* when it happened */
	bool damaged;                    /* set by raw_chunk_next(), or said before */
	bool broken; /* raw_chunk_next() came to an end in the middle of a record */
	size_t bytes;
	uint32_t stored; /* of them in the file */
	struct wire_reader reader;
	const struct tick_map *ticks;
	const struct tick_segment *hint;
	struct raw_process *source;
};

/* Next record of the chunk; false at its end or where it is damaged (then warned and counted). */
bool raw_chunk_damaged(struct raw_chunk *c);

static inline bool raw_chunk_next(struct raw_chunk *c, struct wire_record *w)
{
	int got = wire_next(&c->reader, w);

	if (__builtin_expect(got < 0, 0))
		return raw_chunk_damaged(c);
	return got > 0;
}

extern const struct raw_op raw_op_none;

static inline const struct raw_op *raw_chunk_op(const struct raw_chunk *c, uint16_t wire_op)
{
	return wire_op < c->op_count ? &c->ops[wire_op] : &raw_op_none;
}

static inline int64_t raw_chunk_ns(struct raw_chunk *c, uint64_t tick)
{
	return tick_map_ns_near(c->ticks, &c->hint, tick);
}

/* Any record in full. Borrows `w`. */
union raw_any {
	struct rec rec;
#define RAW_ANY_OF(K, name, type) struct type name;
	RECORD_KINDS(RAW_ANY_OF)
#undef RAW_ANY_OF
};

enum raw_kind raw_record(struct raw_chunk *c, const struct wire_record *w, union raw_any *out);

/*
 * Of a call (RAW_KIND_CALL) what stream_sink.brief asks for. `out` is the chunk's, made by
 * raw_call_init(), and used again for each of its calls.
 */
static inline void raw_call_init(const struct raw_chunk *c, struct rec *out)
{
	*out = (struct rec){.process = c->process, .thread = c->thread};
}

static inline void raw_call(struct raw_chunk *c, const struct wire_record *w,
			    const struct raw_op *op, int32_t status_ok, struct rec *out)
{
	out->op = op->op;
	out->status = w->has_status ? w->status : status_ok;
	out->ok = out->status == status_ok;
	out->id = w->id;
	out->parent = w->parent;
	out->scope = w->scope;
	out->start = raw_chunk_ns(c, w->start);
	out->end = raw_chunk_ns(c, w->end);
}

/* Hands it to the sink. */
kymo_status_t raw_deliver(struct stream_sink *s, enum raw_kind kind, const union raw_any *any);

#endif
