/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The summary of traces: where their time went. Numbers come straight from the raw files (one fast
 * pass) or, of a store without them, from its tallies; both give the same numbers.
 */
#ifndef ANALYSIS_SUMMARY_H
#define ANALYSIS_SUMMARY_H

#include <stdio.h>

#include "analysis/table.h"
#include "analysis/timeline.h"
#include "base/text.h"
#include "formats/format.h"
#include "stream/symbol.h"
#include "tally/tally.h"

/* The numbers of one trace. */
struct diagnosis;

struct summary {
	char *path;
	const struct trace *trace; /* borrowed from `source` */
	struct tallies *tallies;   /* owned */
	struct timeline *timeline; /* owned; NULL: from a store, which has none */
	bool from_store;
	struct details *details; /* owned; of summaries by scope, site and the like, else NULL */
	struct symbols *symbols; /* owned; where something was not freed or released, else NULL */
	uint32_t *communicators; /* owned; by index, communicators.h; or NULL */
	char *selection;         /* owned; in words, or NULL: of everything */
	bool in_part;            /* so that what a memory pool holds at a time is not known */
	/* Borrowed: of the same trace, for who has it already; NULL: the digest makes one, of which it tells the titles alone. */
	struct diagnosis *diagnosis;
	void *source; /* what keeps `trace` alive */
	void (*source_free)(void *source);
};

enum summary_source {
	SUMMARY_ANY, /* raw; where there is nothing but a store, that */
	SUMMARY_RAW,
	SUMMARY_STORE /* the store, built when it is missing or stale */
};

/* Reads the numbers of `path`, of what o->filter selects from its raw files. On failure nothing is left to release and the log says why. */
kymo_status_t summary_read(struct summary *s, const char *path, enum summary_source from,
			   const struct format_options *o);
/* The same for tables by `by` (enum summary_by): with passes over the raw files for what tallies do not know. */
kymo_status_t summary_read_by(struct summary *s, const char *path, unsigned by,
			      const struct format_options *o);
/*
 * Hands over the records that it was made of, once more, in the order of their starts; it has to be of raw files
 * (SUMMARY_RAW). What the sink is told of stays until summary_release().
 */
kymo_status_t summary_stream(struct summary *s, struct stream_sink *sink,
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
	BY_SCOPE =
		128, /* only of what summary_read_by() has read, as are sites, stacks, grids, libraries */
	BY_PEER = 256, /* of messages */
	BY_NODE = 512,
	BY_DIRECTION = 1024, /* of copies */
	BY_SIZE = 2048,      /* of copies and messages: a class of bytes */
	/* Not for users; what some tables are always made by. */
	BY_MEMORY = 4096,
	BY_STATUS = 8192,
	BY_CODE = 16384,
	BY_SITE = 1u << 15,
	BY_STACK = 1u << 16,
	BY_GRID = 1u << 17,    /* of kernels */
	BY_LIBRARY = 1u << 18, /* that did the work */
	BY_KERNEL = 1u << 19,
	BY_COMMUNICATOR = 1u << 20, /* of messages */
	BY_SUBDEVICE = 1u << 21     /* a device, and each part of one for itself */
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

/* How far its numbers can be trusted, as the lines below the summary say it. */
struct summary_told {
	uint64_t lost;         /* records */
	double overhead_share; /* of the time of the program's threads; NAN: not known */
	double clock_error_ns; /* the largest of hosts, ranks, devices; NAN: nothing was timed */
	struct text loss, overhead, clock;
};
void summary_tell_quality(const struct summary *s, struct summary_told *told);
void summary_told_release(struct summary_told *told);

/*
 * Reads a trace once, as `kymo run` does at its end: prints its summary as text (`out` NULL: does not)
 * and sets *lossy as summary_lossy() says; true, and the log says why, if the trace cannot be read. The
 * tables are laid out by src/report, which implements this function.
 */
kymo_status_t summary_print(const char *trace_path, FILE *out, bool *lossy, struct stream_log *log);

#endif
