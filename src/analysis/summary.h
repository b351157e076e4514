/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The summary of traces: where their time went. Numbers come straight from the raw files (one fast
 * pass) or, when a fresh store lies in the trace, from its tallies; both give the same numbers.
 */
#ifndef ANALYSIS_SUMMARY_H
#define ANALYSIS_SUMMARY_H

#include <stdio.h>

#include "formats/format.h"
#include "formats/store/tally.h"

/* The numbers of one trace. */
struct summary {
	const struct trace *trace; /* owned */
	struct tallies *tallies;   /* owned */
	bool from_store;
	void *source;              /* what keeps `trace` alive */
	void (*source_free)(void *source);
};

enum summary_source {
	SUMMARY_ANY,   /* the store when it is fresh, else raw */
	SUMMARY_RAW,
	SUMMARY_STORE  /* the store, built when it is missing or stale */
};

/* Reads the numbers of `path`. On failure nothing is left to release and `log` says why. */
kymo_status_t summary_read(struct summary *s, const char *path, enum summary_source from,
			   const struct format_options *o);
void summary_release(struct summary *s);

/*
 * Prints the summary of a trace as text, as `kymo run` does at its end. The tables are laid out by
 * src/report, which implements this function.
 */
kymo_status_t summary_print(const char *trace_path, FILE *out, struct stream_log *log);

#endif
