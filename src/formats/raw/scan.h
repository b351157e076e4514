/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fast way into a raw trace: its definitions as a struct trace, then its chunks one after the
 * other, with records as they lie on the wire. Who only counts and adds (the summary) needs no
 * more than wire_next() and a table lookup for each record; who wants a record in full asks
 * raw_record().
 *
 *   raw_trace_open(path, log, &rt);
 *   raw_scan_init(&scan, rt);
 *   while (raw_scan_next(&scan, &chunk))
 *           while (raw_chunk_next(&chunk, &w)) {
 *                   const struct raw_op *op = raw_chunk_op(&chunk, w.op);
 *                   if (op->kind == RAW_KIND_CALL) { op->op, raw_chunk_ns(&chunk, w.end) ... }
 *                   else if (raw_record(&chunk, &w, &any) == RAW_KIND_DISPATCH) { any.dispatch ... }
 *           }
 *   raw_scan_finish(&scan);
 *   raw_trace_close(rt);
 */
#ifndef FORMATS_RAW_SCAN_H
#define FORMATS_RAW_SCAN_H

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
	uint32_t op; /* global index */
	uint8_t kind; /* enum raw_kind */
	uint8_t fields;
	const uint8_t *slots; /* activities: for each field its number among those of its kind, or 0 */
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
	uint64_t lost;    /* records dropped before this chunk */
	bool missing;     /* chunks before this one are missing: that count is not known */
	int64_t lost_after, lost_before; /* when it happened */
	bool damaged;     /* set by raw_chunk_next() */
	size_t bytes;
	struct wire_reader reader;
	const struct tick_map *ticks;
	const struct tick_segment *hint;
	struct raw_process *source;
};

struct raw_scan {
	struct raw_trace *rt;
	uint32_t file, block;
	struct raw_buffer buffer;
	bool ahead; /* a pass before the one that counts: damage and losses are not noted */
	uint64_t bytes_done, bytes_total; /* of all files, for progress */
	/* Return false to leave a chunk out; base and last tick as in struct raw_block. May be NULL. */
	bool (*wanted)(void *data, const struct raw_process *p, const struct raw_block *b);
	void *wanted_data;
};

void raw_scan_init(struct raw_scan *s, struct raw_trace *rt);

/* The next chunk of records, in the order of the files. False at the end. */
bool raw_scan_next(struct raw_scan *s, struct raw_chunk *out);
void raw_scan_finish(struct raw_scan *s);

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

/* Hands it to the sink. */
kymo_status_t raw_deliver(struct stream_sink *s, enum raw_kind kind, const union raw_any *any);

#endif
