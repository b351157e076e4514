/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the writer of raw traces share: see write.h. */
#ifndef FORMATS_RAW_WRITER_H
#define FORMATS_RAW_WRITER_H

#include <limits.h>

#include "base/map.h"
#include "formats/raw/encode.h"
#include "formats/raw/write.h"
#include "wire/defs.h"
#include "wire/raw.h"

/* The process's file, and definitions on their way into it. */
struct raw_out {
	char path[PATH_MAX];
	uint8_t *definitions; /* a chunk that is being filled */
	uint32_t used, room;
	uint64_t seq;
	uint32_t first_thread;
	struct map defined; /* what of things that no process owns it has defined: key_of() */
};

struct raw_out_thread {
	struct wire_ring ring; /* ring.chunk NULL: no chunk is under way */
	uint8_t *memory;
	uint64_t records;
	uint64_t last; /* tick: none of its records so far ends later */
	uint64_t lost; /* before the chunk that is next */
	uint32_t next; /* thread of its process; 0: none */
};

/* How an op is written. */
struct raw_out_op {
	enum raw_kind kind;          /* RAW_KIND_OTHER: by its own schema */
	const kymo_op_desc_t *model; /* of the record model, where it is one of that */
	uint32_t number;             /* there */
};

/* Of what was under way at the end, or was counted alone: its process, its place in the trace's list. */
struct raw_under_way {
	uint32_t process, index;
	uint8_t kind;
};

struct raw_writer {
	struct stream_sink sink; /* first */
	const struct trace *t;
	const struct raw_origin *origin;
	struct stream_log *log;
	char directory[PATH_MAX];
	struct raw_out *processes; /* by index */
	uint32_t process_count;
	struct raw_out_thread
		*threads; /* by index; those behind are of processes' records of no thread */
	uint32_t thread_count;
	uint32_t open[RAW_WRITE_OPEN]; /* threads that have memory */
	uint32_t open_count, open_oldest;
	struct raw_out_op *ops; /* by index */
	uint16_t *wire_ops;
	struct raw_under_way *under_way; /* by process */
	uint32_t under_way_count, under_way_next;
	int64_t last_end; /* of all records */
	bool failed;      /* told */
};

/* Each tells the log what failed, once, and returns false from then on. */

/* A block at the end of the process's file. */
bool raw_out_block(struct raw_writer *w, struct raw_out *p, struct raw_block *b,
		   const void *payload, uint32_t bytes);
bool raw_out_define(struct raw_writer *w, struct raw_out *p, const struct wire_def *d);
bool raw_out_flush(struct raw_writer *w, struct raw_out *p);
bool raw_out_failed(struct raw_writer *w, const char *what, int error);

/* Makes the file of each process, with all that is known of it before the first record. */
bool raw_out_begin(struct raw_writer *w);
/* Defines what the process has not defined yet. */
bool raw_out_op(struct raw_writer *w, uint32_t process, uint32_t op);
bool raw_out_string(struct raw_writer *w, uint32_t process, uint32_t string);
/* How it ended. */
bool raw_out_end(struct raw_writer *w, uint32_t process);

/* What was under way (write_under_way.c): of all processes, then into the file of each, from the first on. */
bool raw_out_find_under_way(struct raw_writer *w);
bool raw_out_under_way(struct raw_writer *w, uint32_t process);

/* Numbers of ops on the wire, and how each is written. */
bool raw_out_number_ops(struct raw_writer *w);

/* What the trace has of sums (write_tallies.c). */
bool raw_out_tallies(struct raw_writer *w);

/* Chunks of records (write_records.c). */
bool raw_out_flush_thread(struct raw_writer *w, uint32_t process, uint32_t thread);
void raw_out_sink(struct raw_writer *w);

static inline uint32_t raw_out_thread_of(const struct raw_writer *w, const struct rec *r)
{
	return r->thread ? r->thread : w->t->threads_count + r->process;
}

#endif
