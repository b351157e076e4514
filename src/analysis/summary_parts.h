/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the summary that stand around its tables. Private to the summary. */
#ifndef ANALYSIS_SUMMARY_PARTS_H
#define ANALYSIS_SUMMARY_PARTS_H

#include "analysis/summary.h"
#include "base/text.h"

/* What ran, when nothing was recorded also why. */
void summary_head(struct report *r, const struct summary *s, unsigned count);

/* The variable, as "KYMO_OFF_CPU", by which the launcher handed an option on is set, and not to 0. */
bool summary_option(const struct summary *s, const char *variable);

/* Nobody writes to the trace any more, its drain never ended it, and no process is in it. */
bool summary_has_no_end(const struct summary *s);

/* Of the head: there is nothing to tell of; and its numbers. Kymo's own threads are not counted. */
bool summary_nothing_recorded(const struct summary *s);
/* The note is told beside the table of functions, where there is one. */
bool summary_is_short_threads(const struct t_note *n);
uint64_t summary_duration(const struct trace *t);
const char *summary_command(const struct trace *t);
/* Ranks whose tallies were added up in their job; of them those without a file (threads unknown). */
bool summary_together(const struct trace *t);
uint32_t summary_without_file(const struct trace *t);
uint32_t summary_threads(const struct trace *t, uint32_t *processes);
uint32_t summary_ranks(const struct trace *t);

/* Loss, untraced and untimed work, clock errors, damage, notes: always shown. */
void summary_quality(struct report *r, const struct summary *s, unsigned count);

/* The same in one line. */
void summary_quality_line(struct text *out, const struct summary *s);

/*
 * The tables, with a row for each combination of what `by` names. An empty one is left out.
 * False: no memory.
 */
typedef bool summary_part(struct report *r, const struct summary *s, unsigned count, unsigned by);

/* What took time: host calls, ranges and marks, messages, device work, waiting for it. */
summary_part summary_calls, summary_markers, summary_messages, summary_kernels, summary_copies,
	summary_fills, summary_maps, summary_waiting, summary_queues;

/* Of people's summary by rank and peer, instead of messages. */
bool summary_matrix(struct report *r, const struct summary *s, unsigned count);

/* Kernels, devices and memory in OCCA's words. */
summary_part summary_occa;

/* Files, and the other sides of sockets. */
summary_part summary_files;

/* Locks and what else threads wait for. */
summary_part summary_locks;
summary_part summary_waits;
summary_part summary_off_cpu;

/* Memory of malloc(), by the line that allocated it. */
summary_part summary_heap;

/* What runtimes take of ranks or processes. */
summary_part summary_shares;

/* What processes and threads used of processors and memory. */
summary_part summary_processes, summary_threads_used;

/* Builds and loads of programs, with the log of those that failed. */
summary_part summary_builds, summary_objects;

/* Why what was not freed, or not released, may have been all the same. */
void summary_tell_unfreed(struct table *t, const struct summary *s, unsigned count);

/* Bytes by direction and kind of memory, and by classes of sizes. */
summary_part summary_traffic, summary_message_sizes, summary_copy_sizes;

summary_part summary_pools, summary_allocations, summary_leaks, summary_errors;

/* Calls that were still open when their process ended. */
summary_part summary_open_calls;

/* Device work that was submitted and was never seen to finish. */
summary_part summary_unfinished;
/* Line and table of calls that the mode leaves out. */
/* How long the processes of a trace were there and recorded, ns; all, and of one. */
struct recorded_sum {
	int64_t lived, ns, least, most;
	uint32_t processes, pauses, paused; /* paused: processes that were */
};
struct recorded_sum summary_recorded_sum(const struct trace *t);
/* Of the head: pauses, and what the user has left out. */
void summary_head_recorded(struct report *r, const struct summary *s);
/* What the first process that has any was started with, "" for none. */
const char *summary_filters(const struct trace *t);
/* The run less what none of these processes (by index) recorded, ns. */
uint64_t summary_recorded_wall(const struct trace *t, const bool *of);

void summary_left_out(struct report *r, const struct summary *s, unsigned count);

/* Least, mean and most of a job's ranks, and which. */
summary_part summary_imbalance;

/* Functions that samples met, self and total; values of counters by operation. */
summary_part summary_functions, summary_counters;
/* Where stacks of samples and of calls end, and how many do before the first function of their thread. */
summary_part summary_stack_ends;

/* Lines of kernels that samples of threads met, where the processor runs them. */
summary_part summary_kernel_lines;
summary_part summary_kernel_code;

/* By module: it is the object of a kernel (PoCL). NULL: there are none, or (*failed) no memory. */
bool *summary_kernel_objects(const struct trace *t, bool *failed);
/* Of a stack the innermost place that is a kernel's: what it calls is a part of it. 0: there is none. */
uint32_t summary_kernel_site(const struct trace *t, uint32_t stack, const bool *objects);

/* Lines of kernels that samples met, and why warps waited there. */
summary_part summary_device_samples;

/* What the node and its devices did meanwhile, and the energy of kernels. */
summary_part summary_telemetry;

#endif
