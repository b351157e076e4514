/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The selection: which records of a trace are wanted (docs/selection.md). A filter is compiled once
 * from what the user asked for, then bound to the definitions of a trace: names are matched once for
 * each definition, not for each record. Readers apply it themselves, so that they can leave out whole
 * chunks or rows.
 *
 * Some choices need to be looked up in the records before any can be chosen: where ranges and marks
 * lie in time, which calls lie in a range, which of them submitted device work. The reader makes a
 * pass for each filter_look() before the one that counts.
 */
#ifndef STREAM_FILTER_H
#define STREAM_FILTER_H

#include "stream/stream.h"

/*
 * NULL, 0 or false: no restriction. Times are ns since the trace's origin. Regular expressions may be several, one a
 * line (base/patterns.h).
 */
struct stream_filter_spec {
	const char *domains; /* comma separated names */
	const char *ops;     /* regex, searched in "domain:op" */
	const char *exclude; /* regex, likewise: these not */
	const char *
		kernels; /* regex, searched in kernel names: only dispatches of these, or NAME#1-3 of them */
	const char *no_kernels; /* likewise: these not */
	const char *processes;  /* comma separated pids and names of programs */
	const char *threads;    /* comma separated tids and names, "main" */
	const char *ranks;      /* "0,4-7" */
	const char *nodes;      /* comma separated names */
	const char *devices;    /* comma separated numbers, or a regex, searched in labels */
	const char *queues;     /* likewise */
	const char *ranges;     /* NAME or NAME#N-M: what is done below executions of that range */
	const char *during;     /* likewise: while they last, by anybody in their process */
	const char *sites;      /* FILE:LINE, FILE:LINE-LINE, or a function: what it calls */
	const char *memory;     /* "#N" or an address: what is done with that allocation */
	const char *after, *before; /* a time of docs/selection.md, as text */
	bool has_from, has_to;      /* a record is wanted if it overlaps [from, to] */
	int64_t from, to;
	int64_t min_duration;
	bool inside; /* with after, before: what lies wholly between them */
};

struct stream_filter;

/* Compiles; explains what is wrong in `log`, which must outlive it. The texts of `spec` are copied. */
kymo_status_t stream_filter_new(const struct stream_filter_spec *spec, struct stream_log *log,
				struct stream_filter **out);
void stream_filter_free(struct stream_filter *f);

/*
 * So many traces will be read with it. A trace in which something that the user named is not found is
 * an error (KYMO_ERROR_INVALID_ARGUMENT) where it is the only one; of several, none of its records are
 * wanted.
 */
void stream_filter_traces(struct stream_filter *f, unsigned count);

/* After the last of several traces: says what was found in none of them. */
kymo_status_t stream_filter_finish(struct stream_filter *f);

/* In words, as options: "-k advance --after 1s"; to be freed. NULL: no memory. */
char *stream_filter_text(const struct stream_filter *f);

/*
 * It leaves out records by what they are or when, so that what is in use at a moment cannot be told:
 * not only by whose they are (process, rank, node, device).
 */
bool stream_filter_in_part(const struct stream_filter *f);

/* It leaves out nothing but by time, and whole processes. */
bool stream_filter_only_when(const struct stream_filter *f);

/* What calls were handed is looked at: readers have fields for it, whatever the sink wants. */
bool stream_filter_reads_fields(const struct stream_filter *f);

/* ---- bound to a trace, for readers ------------------------------------------------------------- */

struct filter_ranges;
struct filter_counts;
struct filter_calls;

/*
 * What touches any of them is wanted, each once. What was lost behind the last chunks is left out, as is what devices tell
 * more than `late` ns after a window.
 */
struct filter_windows {
	const struct filter_window {
		int64_t from, to; /* node time; the last is in it */
	} * at;                   /* in order of time */
	uint32_t count;
	int64_t late;
};

bool filter_in_windows(const struct filter_windows *w, int64_t start, int64_t end);

/* A NULL filter binds to one that wants everything. */
struct filter_binding {
	const struct trace *trace;
	struct stream_filter *filter;              /* NULL: wants everything */
	bool *ops, *kernels, *processes, *threads; /* by global index; NULL: all */
	bool *agents, *queues, *sites, *stacks;    /* likewise */
	bool *built_for;  /* likewise, kernels: by what their framework calls the device */
	int64_t from, to; /* node time */
	bool inside;
	int64_t min_duration;
	bool only_kernels;
	bool only_devices; /* what has no device is not wanted */
	bool host;         /* scope, site or memory are asked for: filter_host() decides */
	bool follows; /* device work is wanted if the call that submitted it is, as `calls` has them */
	bool nothing;                         /* what the user named is not in this trace */
	const struct filter_windows *windows; /* of [from, to] these alone; NULL: all of it */
	struct filter_ranges *ranges;         /* NULL: not asked for */
	struct filter_counts *counts;         /* likewise: executions of kernels by number */
	struct filter_calls *calls;           /* likewise */
	uint8_t looks;                        /* that were made */
};

kymo_status_t filter_bind(const struct stream_filter *f, const struct trace *t,
			  struct filter_binding *out);
void filter_unbind(struct filter_binding *b);

/*
 * What must be read first: the sink of the next pass, for records of the ops that `wants` is true of;
 * NULL: no more. Passes leave out processes that are not wanted. filter_looked() takes in what the pass
 * has found.
 */
struct stream_sink *filter_look(struct filter_binding *b,
				bool (**wants)(const struct trace *t, const struct t_op *op));
kymo_status_t filter_looked(struct filter_binding *b);

/* What is wanted is told by its op alone. */
static inline bool filter_only_ops(const struct filter_binding *b)
{
	return !b->kernels && !b->processes && !b->threads && b->from == INT64_MIN &&
	       b->to == INT64_MAX && b->min_duration == INT64_MIN && !b->only_kernels &&
	       !b->only_devices && !b->host && !b->follows && !b->ranges && !b->counts &&
	       !b->nothing;
}

static inline bool filter_op(const struct filter_binding *b, uint32_t op)
{
	return !b->ops || b->ops[op];
}

static inline bool filter_process(const struct filter_binding *b, uint32_t process)
{
	return !b->processes || b->processes[process];
}

static inline bool filter_thread(const struct filter_binding *b, uint32_t process, uint32_t thread)
{
	return filter_process(b, process) && (!b->threads || b->threads[thread]);
}

/* A chunk of that thread may hold something that is wanted. */
static inline bool filter_chunk(const struct filter_binding *b, uint32_t process, uint32_t thread)
{
	return !b->nothing &&
	       (b->follows ? filter_process(b, process) : filter_thread(b, process, thread));
}

static inline bool filter_time(const struct filter_binding *b, int64_t start, int64_t end)
{
	return start <= b->to && end >= b->from &&
	       (!b->windows || filter_in_windows(b->windows, start, end)) &&
	       (!b->inside || (start >= b->from && (b->to == INT64_MAX || end <= b->to + 1))) &&
	       (int64_t)((uint64_t)end - (uint64_t)start) >= b->min_duration;
}

/* Likewise, and in one of the windows of its process. */
bool filter_when(const struct filter_binding *b, uint32_t process, int64_t start, int64_t end);

/* The whole test for a call, another activity. */
bool filter_call(const struct filter_binding *b, const struct rec *r);
bool filter_dispatch(const struct filter_binding *b, const struct rec_dispatch *r);
bool filter_copy(const struct filter_binding *b, const struct rec_copy *r);
bool filter_allocation(const struct filter_binding *b, const struct rec_allocation *r);
bool filter_sync(const struct filter_binding *b, const struct rec_sync *r);
bool filter_marker(const struct filter_binding *b, const struct rec_marker *r);
bool filter_comm(const struct filter_binding *b, const struct rec_comm *r);
bool filter_counter(const struct filter_binding *b, const struct rec_counter *r);
bool filter_sample(const struct filter_binding *b, const struct rec_sample *r);
bool filter_heap(const struct filter_binding *b, const struct rec_heap *r);
bool filter_kernel_line(const struct filter_binding *b, const struct rec_kernel_line *r);
bool filter_device_sample(const struct filter_binding *b, const struct rec_device_sample *r);
/* Of what was under way when its process ended: it lasted until then, at least. */
bool filter_open_call(const struct filter_binding *b, const struct trace *t,
		      const struct t_open_call *c);
bool filter_unfinished(const struct filter_binding *b, const struct trace *t,
		       const struct t_unfinished *u);
/* The work of a process of which only the number is known. */
bool filter_unlisted(const struct filter_binding *b, const struct trace *t, uint32_t process);
bool filter_loss(const struct filter_binding *b, const struct rec_loss *r);
/*
 * Of what the trace lists itself, keeps what is wanted; reading it again with another selection does not
 * bring it back. False: of what was counted, not recorded, that cannot be told (said why).
 */
bool filter_lists(const struct filter_binding *b, struct trace *t);

#endif
