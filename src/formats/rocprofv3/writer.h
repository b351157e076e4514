/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What both writers have in common: records are rows of lists, one for each kind and process. They lie side by side
 * in one temporary file until the end (stream/strands.h), and take the form of the output only then.
 */
#ifndef FORMATS_ROCPROFV3_WRITER_H
#define FORMATS_ROCPROFV3_WRITER_H

#include "base/text.h"
#include "formats/rocprofv3/rocprofv3.h"
#include "stream/kernel_values.h"
#include "stream/strands.h"
#include "stream/spool.h"

struct rp_part {
	struct strand strand; /* of struct rp_line */
	uint32_t process, list;
};

/* A kernel that counters may be of, and its number in the process. */
struct rp_kept {
	struct spool_key key; /* first */
	struct rec_dispatch dispatch;
	uint64_t number;
};

/* Values of a kernel, by counter and instance. */
struct rp_counted {
	const struct rp_kept *kept;
	struct kernel_value *values;
	uint32_t count, room;
	bool failed; /* no memory */
};

/* Of a call: what its arguments need besides their bytes. */
struct rp_call {
	struct rec rec;
	uint64_t classes, classes_hi, pointer_base;
	uint64_t has_wire;
};

enum rp_line_kind {
	LINE_CALL,
	LINE_DISPATCH,
	LINE_COPY,
	LINE_ALLOCATION,
	LINE_MARKER,
	LINE_COUNTED,
	LINE_AGENT
};

/* A record as it is kept; bytes belong to calls, markers (their text) and counters (their values). */
struct rp_line {
	uint64_t kind;   /* enum rp_line_kind */
	uint64_t number; /* of dispatches and markers in their process; of agents in the trace */
	union {
		struct rp_call call;
		struct rec_dispatch dispatch;
		struct rec_copy copy;
		struct rec_allocation allocation;
		struct rec_marker marker;
		struct rp_kept counted;
	};
};
_Static_assert(sizeof(struct rp_line) <= STRAND_RECORD_MAX, "a row is too long for a strand");

struct rp_marker {
	struct output *out;
	const struct rec_marker *r;
	uint64_t id;
	uint32_t kind, op;
};

struct rp_writer;

/* How rows look. Those that a form has no function for it leaves out. */
struct rp_form {
	const char *missing;   /* "... has no place for" */
	bool sizes, arguments; /* it has those of copies, of calls */
	void (*dispatch)(struct rp_writer *w, struct output *o, const struct rec_dispatch *r,
			 uint64_t number);
	void (*copy)(struct rp_writer *w, struct output *o, const struct rec_copy *r,
		     uint32_t direction);
	void (*allocation)(struct rp_writer *w, struct output *o, const struct rec_allocation *r,
			   uint32_t op);
	void (*marker)(struct rp_writer *w, const struct rp_marker *m);
	void (*call)(struct rp_writer *w, struct output *o, const struct rec *r);
	void (*counters)(struct rp_writer *w, struct output *o, const struct rp_counted *c);
	void (*agent)(struct rp_writer *w, struct output *o, uint32_t agent);
	kymo_status_t (*finish)(struct rp_writer *w);
};

extern const struct rp_form rp_csv, rp_json;

struct rp_writer {
	struct stream_sink sink; /* first */
	struct format_options o;
	const struct rp_form *form;
	const struct trace *t;
	struct output out; /* of the document */
	struct rp_numbers numbers;
	struct rp_stats stats;
	struct strands strands;
	struct rp_part **lists;
	uint32_t count, room;
	struct map found; /* by process and list: index + 1 */
	bool hosts;       /* processes are of several */
	uint32_t *twins;  /* of processes, see rp_twin() */
	struct kernel_values values;
	struct spool kept;
	bool keeps; /* there are counters: kernels are kept for them */
	bool later; /* rows of the list came before */
	uint32_t openings_count;
	struct text
		*openings; /* of the document: by op, what stands before its arguments' values */
	struct rec_launch *launches; /* of kernels, of their last dispatch */
	struct unplaced unplaced;
};

/* One more row of a list, and `n` bytes that belong to it. */
kymo_status_t rp_keep(struct rp_writer *w, uint32_t process, uint32_t list,
		      const struct rp_line *row, const void *bytes, size_t n);
/* All rows of the list in that form; nothing where there is none. */
kymo_status_t rp_put_list(struct rp_writer *w, uint32_t process, uint32_t list,
			  const struct rp_form *form, struct output *o);

/* 1 and on; 0: none. */
static inline uint32_t rp_queue(const struct rp_writer *w, uint32_t queue)
{
	return queue ? w->t->queues[queue].number + 1 : 0;
}

/* The device at one side of a copy; 0: the host. */
uint32_t rp_copy_agent(const struct rp_writer *w, const struct rec_copy *r, uint32_t direction,
		       bool to);

/* 0: no other process has its number; else 1 for the first one of it on its host, 2 ... */
uint32_t rp_twin(const struct rp_writer *w, uint32_t process);

/* Of the counter of value `i`, the first one of it. */
double rp_counter_sum(const struct rp_counted *c, uint32_t i);

kymo_status_t rp_write(const struct format_options *o, const struct rp_form *form,
		       struct stream_sink **sink);
void rp_free(struct stream_sink *s);

#endif
