/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands that read traces share: readers, messages, options of the record filter. */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include "base/text.h"
#include "cli/cli.h"
#include "formats/format.h"
#include "stream/filter.h"

/* Messages of readers and writers as errors and warnings; after ten warnings they are counted. */
extern struct stream_log cli_log;

/*
 * Messages call what lies at `path` `name`, until the next call of this: where it is written is no place that a user
 * knows. NULL: as it is.
 */
void cli_log_call(const char *path, const char *name);

/*
 * Keeps what cli_log is told until cli_log_settle(). Then, where all went well, errors are what was lost on the way:
 * warnings. Else the last error, which says what failed, comes first, and the others behind it.
 */
void cli_log_keep(void);
void cli_log_settle(bool ok);

/* Says how many warnings were not shown. */
void cli_log_finish(void);

/* The format that reads `path`; NULL: said why. */
const struct format *cli_reader(const char *path);

/*
 * The selection (docs/selection.md), for a structure that has `struct cli_filter filter`: put
 * CLI_FILTER_KNOBS(type) among the rows of a command, cli_filter_new() gives the filter that readers
 * take.
 */
struct cli_filter {
	const char *include, *exclude, *domains, *kernels, *no_kernels, *processes, *threads,
		*ranks, *nodes, *devices, *queues, *ranges, *during, *sites, *memory, *after,
		*before;
	uint64_t min_duration;
	bool inside;
	bool mangled; /* no choice, but goes with them */
};

#define CLI_FILTER_AT(type, member) (offsetof(type, filter) + offsetof(struct cli_filter, member))
/* clang-format off */
#define CLI_FILTER_ROW(type, name, letter, kind, member, metavar, doc)                             \
	{name, letter, kind, 0, CLI_FILTER_AT(type, member), metavar, NULL, NULL, NULL,            \
	 "Which records (kymo help selection)", doc}
#define CLI_FILTER_KNOBS(type)                                                                     \
	CLI_FILTER_ROW(type, "include", 'i', KNOB_REGEX, include, "REGEX",                         \
		       "Only operations whose DOMAIN:NAME matches; @FILE has an expression a "     \
		       "line, here and wherever a REGEX is taken"),                                \
	CLI_FILTER_ROW(type, "exclude", 'x', KNOB_REGEX, exclude, "REGEX",                         \
		       "No operations whose DOMAIN:NAME matches"),                                 \
	CLI_FILTER_ROW(type, "domain", 'd', KNOB_LIST, domains, "LIST",                            \
		       "Only these domains (opencl, dispatch, copy, ...), comma separated"),       \
	CLI_FILTER_ROW(type, "kernel", 'k', KNOB_KERNELS, kernels, "REGEX",                        \
		       "Only executions of kernels whose name matches; NAME#1, NAME#10-20: these " \
		       "of each process and kernel"),                                              \
	CLI_FILTER_ROW(type, "exclude-kernel", 0, KNOB_KERNELS, no_kernels, "REGEX",               \
		       "No executions of kernels whose name matches, likewise"),                   \
	CLI_FILTER_ROW(type, "process", 'p', KNOB_LIST, processes, "LIST",                         \
		       "Only processes with these ids or program names, comma separated"),         \
	CLI_FILTER_ROW(type, "thread", 't', KNOB_LIST, threads, "LIST",                            \
		       "Only threads with these ids (tid) or names, comma separated, main, and "   \
		       "the work of devices that they submitted"),                                 \
	CLI_FILTER_ROW(type, "rank", 0, KNOB_LIST, ranks, "LIST", "Only these ranks: 0,4-7"),      \
	CLI_FILTER_ROW(type, "node", 0, KNOB_LIST, nodes, "LIST",                                  \
		       "Only processes of these nodes, comma separated"),                          \
	CLI_FILTER_ROW(type, "device", 0, KNOB_STRING, devices, "DEVICE",                          \
		       "Only what is on these devices: numbers, or a REGEX of their names"),       \
	CLI_FILTER_ROW(type, "queue", 0, KNOB_STRING, queues, "QUEUE",                             \
		       "Only what is on these queues: numbers, or a REGEX of their names"),        \
	CLI_FILTER_ROW(type, "range", 0, KNOB_STRING, ranges, "RANGE",                             \
		       "Only what is done in ranges of that name, by the thread that is in it, "   \
		       "and on devices for it; NAME#3, NAME#100-110: these executions"),           \
	CLI_FILTER_ROW(type, "during", 0, KNOB_STRING, during, "RANGE",                            \
		       "Only what any thread or device does while such ranges last"),              \
	CLI_FILTER_ROW(type, "site", 0, KNOB_STRING, sites, "SITE",                                \
		       "Only what a function (or a function below it, where stacks were "          \
		       "recorded), a FILE or FILE:LINE calls, and its work on devices"),           \
	CLI_FILTER_ROW(type, "memory", 0, KNOB_STRING, memory, "OBJECT",                           \
		       "Only what is done with an allocation: an address in it, its handle, or "   \
		       "its number as #N"),                                                        \
	CLI_FILTER_ROW(type, "after", 0, KNOB_STRING, after, "TIME",                               \
		       "Only records that end after this time: 1.5s since the beginning, 30%, "    \
		       "end-2s, 14:03:05, @NAME where a range or mark begins"),                    \
	CLI_FILTER_ROW(type, "before", 0, KNOB_STRING, before, "TIME",                             \
		       "Only records that start before this time, likewise"),                      \
	CLI_FILTER_ROW(type, "inside", 0, KNOB_FLAG, inside, NULL,                                 \
		       "With --after and --before: only records that lie wholly between them"),    \
	CLI_FILTER_ROW(type, "min-duration", 0, KNOB_DURATION, min_duration, "TIME",               \
		       "Only records that take at least this long"),                                \
	{"mangled", 0, KNOB_FLAG, 0, CLI_FILTER_AT(type, mangled), NULL, NULL, NULL, NULL,         \
	 "Names", "Show names of kernels and functions as the linker has them, and look for "      \
		  "those; names in traces of other tools are as these wrote them"}
/* clang-format on */

/*
 * Warns that a trace is still being recorded: what was `made` of it ("the answer is", "the output is") is of what was
 * written so far. NULL: it is another tool's file, which was made when it was. `at_work`: a drain was, before the trace
 * was read.
 */
void cli_tell_recording(struct stream_log *log, const char *path, const struct trace *t,
			bool at_work, const char *made);

/* Leaves out traces that are named before, with a note. Returns how many are left. */
int cli_distinct(int argc, char **argv);

/*
 * Compiles the options, for so many traces; NULL with *failed unset: everything is wanted. After the
 * last of several traces, stream_filter_finish() says what was in none of them.
 */
struct stream_filter *cli_filter_new(const struct cli_filter *o, unsigned traces, bool *failed);

/*
 * Stands before a sink: counts records, and ends the stream with KYMO_ERROR_LIMIT after `limit` of
 * them (0: never). `next` is not owned.
 */
struct cli_counter {
	struct stream_sink sink; /* first */
	struct stream_sink *next;
	uint64_t limit, count;
	bool tallies; /* the trace holds counts of calls (mode summary) */
	/* What cli_tell_recording() needs, set before the stream begins; `path` NULL: it is not told. */
	const char *path, *made;
	bool at_work;
	/* Once the stream is over: of those counted, records that the writer left out. */
	uint64_t left;
};
void cli_counter_init(struct cli_counter *c, struct stream_sink *next, uint64_t limit);

/* Why a stream that was read without error held nothing, or no calls; silent otherwise. */
void cli_explain_missing(const struct cli_counter *c, const char *path, bool filtered);

/* Exit status of a command for a status already explained. */
static inline int cli_exit(kymo_status_t status)
{
	return status == KYMO_OK                       ? cli_told_errors() ? CLI_FAILURE : CLI_OK
	       : status == KYMO_ERROR_INVALID_ARGUMENT ? CLI_USAGE
						       : CLI_FAILURE;
}

#endif
