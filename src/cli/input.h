/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands that read traces share: readers, messages, options of the record filter. */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include "cli/cli.h"
#include "formats/format.h"
#include "stream/filter.h"

/* Messages of readers and writers as errors and warnings; after ten warnings they are counted. */
extern struct stream_log cli_log;

/* Says how many warnings were not shown. */
void cli_log_finish(void);

/* The format that reads `path`; NULL: said why. */
const struct format *cli_reader(const char *path);

/* Options that choose records, for a structure that has `struct cli_filter filter`. */
struct cli_filter {
	const char *include, *exclude, *domains, *kernels, *processes, *threads;
	uint64_t after, before, min_duration;
};

#define CLI_FILTER_AT(type, member) (offsetof(type, filter) + offsetof(struct cli_filter, member))
/* clang-format off */
#define CLI_FILTER_KNOBS(type)                                                                     \
	{"include", 'i', KNOB_REGEX, 0, CLI_FILTER_AT(type, include), "REGEX", NULL, NULL, NULL,   \
	 "Which records", "Only operations whose DOMAIN:NAME matches"},                            \
	{"exclude", 'x', KNOB_REGEX, 0, CLI_FILTER_AT(type, exclude), "REGEX", NULL, NULL, NULL,   \
	 "Which records", "No operations whose DOMAIN:NAME matches"},                              \
	{"domain", 'd', KNOB_LIST, 0, CLI_FILTER_AT(type, domains), "LIST", NULL, NULL, NULL,      \
	 "Which records", "Only these domains (opencl, dispatch, copy, ...), comma separated"},    \
	{"kernel", 'k', KNOB_REGEX, 0, CLI_FILTER_AT(type, kernels), "REGEX", NULL, NULL, NULL,    \
	 "Which records", "Only executions of kernels whose name matches"},                        \
	{"process", 'p', KNOB_LIST, 0, CLI_FILTER_AT(type, processes), "LIST", NULL, NULL, NULL,   \
	 "Which records", "Only processes with these ids, comma separated"},                       \
	{"thread", 't', KNOB_LIST, 0, CLI_FILTER_AT(type, threads), "LIST", NULL, NULL, NULL,      \
	 "Which records", "Only threads with these ids (tid), comma separated"},                   \
	{"after", 0, KNOB_DURATION, 0, CLI_FILTER_AT(type, after), "TIME", NULL, NULL, NULL,       \
	 "Which records", "Only records that end after this time since the beginning"},            \
	{"before", 0, KNOB_DURATION, 0, CLI_FILTER_AT(type, before), "TIME", NULL, NULL, NULL,     \
	 "Which records", "Only records that start before this time since the beginning"},         \
	{"min-duration", 0, KNOB_DURATION, 0, CLI_FILTER_AT(type, min_duration), "TIME", NULL,     \
	 NULL, NULL, "Which records", "Only records that take at least this long"}
/* clang-format on */

/* Leaves out traces that are named before, with a note. Returns how many are left. */
int cli_distinct(int argc, char **argv);

/* Compiles the options, which are of `t`; NULL with *failed unset: everything is wanted. */
struct stream_filter *cli_filter_new(const struct cli_filter *o, const struct knob_table *t,
				     bool *failed);

/*
 * Stands before a sink: counts records, and ends the stream with KYMO_ERROR_LIMIT after `limit` of
 * them (0: never). `next` is not owned.
 */
struct cli_counter {
	struct stream_sink sink; /* first */
	struct stream_sink *next;
	uint64_t limit, count;
	const char *domains; /* that the user named: each must be one of the trace; or NULL */
	bool tallies;        /* the trace holds counts of calls (mode summary) */
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
