/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making a struct trace: what readers use to collect definitions. Everything in it, strings
 * included, lives in one arena and goes away with trace_free(). Running out of memory is sticky
 * (trace_failed), so that a reader checks once at the end and not after every string.
 */
#ifndef STREAM_TRACE_H
#define STREAM_TRACE_H

#include "stream/stream.h"

/* A trace whose arrays hold element 0, "none", with empty strings. NULL: no memory. */
struct trace *trace_new(void);
void trace_free(struct trace *t);

/* Zeroed memory that lives as long as the trace. NULL: no memory (and trace_failed()). */
void *trace_alloc(struct trace *t, size_t bytes);

/* A point to go back to: what was obtained since is given back, nothing may point to it any more. */
struct trace_mark {
	void *piece;
	size_t used;
};
struct trace_mark trace_mark(const struct trace *t);
void trace_go_back(struct trace *t, struct trace_mark to);

/* A terminated copy of `length` bytes; "" when memory has run out. */
const char *trace_string(struct trace *t, const char *s, size_t length);

/* Makes room for one more element and returns it, zeroed; a scratch element without memory. */
void *trace_grow(struct trace *t, void *array, uint32_t *count, uint32_t *room, size_t size);
#define trace_add(t, name)                                                                         \
	((__typeof__((t)->name))trace_grow((t), &(t)->name, &(t)->name##_count, &(t)->name##_room, \
					   sizeof(*(t)->name)))

/* Index of the domain of that name, 0: none; and the number of the next op of one. Neither walks through all. */
uint32_t trace_find_domain(struct trace *t, const char *name);
uint32_t trace_next_op(struct trace *t, uint32_t domain);

/* Bytes of a field's value or element: whoever says something else means 8. */
static inline uint8_t trace_field_size(uint8_t size)
{
	return size == 1 || size == 2 || size == 4 ? size : 8;
}

/* Puts the values of an enum set in the order that lookups need (ascending, first name wins). */
void trace_sort_enum_set(struct t_enum_set *set);

/*
 * Tells the worlds of ranks apart, once processes are complete: one that others have spawned, or a job
 * started after another, has ranks of its own.
 */
void trace_number_worlds(struct trace *t);

/*
 * How many nodes' clocks there are that were never compared with each other: times of their processes
 * do not lie on one line. 1 or 0: they do.
 */
uint32_t trace_clocks(const struct trace *t);
/* ns from first to last; of clocks that were never compared the longest that one of their nodes has. */
uint64_t trace_duration(const struct trace *t);
/*
 * ns from the trace's time to that of the wall clock (since 1970), by the first process that knows; 0: none
 * does. Times of a job are those of rank 0's node, and a process's own offset is that of its node.
 */
int64_t trace_to_realtime(const struct trace *t);

/* Numbers and labels the queues of each agent, once agents and queues are complete. */
void trace_number_queues(struct trace *t);

/* Numbers devices that have one name, labels all (devices.c), once processes and agents are
 * complete. */
void trace_number_agents(struct trace *t);
/* What it is called says which one it is: "OCCA CUDA #1". */
bool trace_says_number(const char *name, uint32_t *out);

/* The device that an agent (an index, 0: none) is a part of, however deep; of others itself. */
uint32_t trace_whole_device(const struct trace *t, uint32_t agent);

/* Labels queues that have their numbers, as those of a store. */
void trace_label_queues(struct trace *t);

bool trace_failed(const struct trace *t);

#endif
