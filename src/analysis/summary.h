/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The summary of traces: where their time went. Numbers come straight from the raw files (one fast
 * pass) or, when a fresh store lies in the trace, from its tallies; both give the same numbers.
 */
#ifndef ANALYSIS_SUMMARY_H
#define ANALYSIS_SUMMARY_H

#include <stdio.h>

#include "analysis/table.h"
#include "formats/format.h"
#include "tally/tally.h"

/* The numbers of one trace. */
struct summary {
	char *path;
	const struct trace *trace; /* borrowed from `source` */
	struct tallies *tallies;   /* owned */
	bool from_store;
	struct scopes *scopes; /* owned; of summaries by scope, else NULL */
	void *source;          /* what keeps `trace` alive */
	void (*source_free)(void *source);
};

enum summary_source {
	SUMMARY_ANY, /* the store when it is fresh, else raw */
	SUMMARY_RAW,
	SUMMARY_SCOPES, /* raw, in two passes: rows are kept apart by scope */
	SUMMARY_STORE   /* the store, built when it is missing or stale */
};

/* Reads the numbers of `path`. On failure nothing is left to release and the log says why. */
kymo_status_t summary_read(struct summary *s, const char *path, enum summary_source from,
			   const struct format_options *o);
void summary_release(struct summary *s);

/* What rows stand for; several may be or'ed. */
enum summary_by {
	BY_TRACE = 1,
	BY_RANK = 2,
	BY_PROCESS = 4,
	BY_THREAD = 8,
	BY_DEVICE = 16,
	BY_QUEUE = 32,
	BY_OP = 64,
	BY_SCOPE = 128, /* only of what SUMMARY_SCOPES has read */
	BY_PEER = 256,  /* of messages */
	BY_NODE = 512,
	BY_DIRECTION = 1024, /* of copies */
	BY_SIZE = 2048,      /* of copies and messages: a class of bytes */
	/* Not for users; what some tables are always made by. */
	BY_MEMORY = 4096,
	BY_STATUS = 8192,
	BY_CODE = 16384
};

/* Parses "thread,op"; 0 and *bad (a word of `text`, not terminated) when a word is unknown. */
unsigned summary_by_parse(const char *text, const char **bad, size_t *bad_length);

/* Nothing in any trace can be told by these together: there would be no table. */
bool summary_by_useless(unsigned by);

/* Makes the tables of the summary of `count` traces together. */
kymo_status_t summary_report(struct report *r, const struct summary *s, unsigned count,
			     unsigned by);

/* Something was lost, or nobody can tell because the end of a recording is missing. */
bool summary_lossy(const struct summary *s, unsigned count);

/*
 * Reads a trace once, as `kymo run` does at its end: prints its summary as text (`out` NULL: does not)
 * and sets *lossy as summary_lossy() says; true, and the log says why, if the trace cannot be read. The
 * tables are laid out by src/report, which implements this function.
 */
kymo_status_t summary_print(const char *trace_path, FILE *out, bool *lossy, struct stream_log *log);

#endif
