/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which records are wanted. A filter is compiled once from what the user asked for, then bound to
 * the definitions of a trace: names are matched once for each definition, not for each record.
 * Readers apply it themselves, so that they can leave out whole chunks or rows.
 */
#ifndef STREAM_FILTER_H
#define STREAM_FILTER_H

#include "stream/stream.h"

/* NULL, 0 or false: no restriction. Times are ns since the trace's origin. */
struct stream_filter_spec {
	const char *domains;   /* comma separated names */
	const char *ops;       /* regex, searched in "domain:op" */
	const char *exclude;   /* regex, likewise: these not */
	const char *kernels;   /* regex, searched in kernel names: only dispatches of these */
	const char *processes; /* comma separated pids */
	const char *threads;   /* comma separated tids */
	bool has_from, has_to; /* a record is wanted if it overlaps [from, to] */
	int64_t from, to;
	int64_t min_duration;
};

struct stream_filter;

/* Compiles; explains what is wrong in `log`. The texts of `spec` are copied. */
kymo_status_t stream_filter_new(const struct stream_filter_spec *spec, struct stream_log *log,
				struct stream_filter **out);
void stream_filter_free(struct stream_filter *f);

/* A filter bound to a trace. A NULL filter binds to one that wants everything. */
struct filter_binding {
	bool *ops, *kernels, *processes, *threads; /* by global index; NULL: all */
	int64_t from, to;                          /* node time */
	int64_t min_duration;
	bool only_kernels;
};

kymo_status_t filter_bind(const struct stream_filter *f, const struct trace *t,
			  struct filter_binding *out);
void filter_unbind(struct filter_binding *b);

/* What is wanted is told by its op alone. */
static inline bool filter_only_ops(const struct filter_binding *b)
{
	return !b->kernels && !b->processes && !b->threads && b->from == INT64_MIN &&
	       b->to == INT64_MAX && b->min_duration == INT64_MIN && !b->only_kernels;
}

static inline bool filter_op(const struct filter_binding *b, uint32_t op)
{
	return !b->ops || b->ops[op];
}

static inline bool filter_thread(const struct filter_binding *b, uint32_t process, uint32_t thread)
{
	return (!b->processes || b->processes[process]) && (!b->threads || b->threads[thread]);
}

static inline bool filter_time(const struct filter_binding *b, int64_t start, int64_t end)
{
	return start <= b->to && end >= b->from &&
	       (int64_t)((uint64_t)end - (uint64_t)start) >= b->min_duration;
}

/* The whole test for a call, an allocation, a sync, another activity. */
static inline bool filter_rec(const struct filter_binding *b, const struct rec *r)
{
	return filter_op(b, r->op) && filter_thread(b, r->process, r->thread) &&
	       filter_time(b, r->start, r->end) && !b->only_kernels;
}

bool filter_dispatch(const struct filter_binding *b, const struct rec_dispatch *r);
bool filter_copy(const struct filter_binding *b, const struct rec_copy *r);
/* Of what was under way when its process ended: it lasted until then, at least. */
bool filter_open_call(const struct filter_binding *b, const struct trace *t,
		      const struct t_open_call *c);
bool filter_unfinished(const struct filter_binding *b, const struct trace *t,
		       const struct t_unfinished *u);
/* The work of a process of which only the number is known. */
bool filter_unlisted(const struct filter_binding *b, const struct trace *t, uint32_t process);
bool filter_loss(const struct filter_binding *b, const struct rec_loss *r);

#endif
