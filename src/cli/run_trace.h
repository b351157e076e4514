/* SPDX-License-Identifier: Apache-2.0 */
/* Names of traces; see run_trace_name.c. For run_trace.c alone. */
#ifndef CLI_RUN_TRACE_H
#define CLI_RUN_TRACE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/job.h"

enum { TRACE_NAMES = 100 }; /* numbers that are tried */

/* A manifest that has more is none: whoever writes one into a folder says what is read of it. */
#define MANIFEST_MOST ((size_t)64 << 20)

/* What is at the place of a trace. */
struct trace_found {
	bool is_trace;
	char job[64];     /* "": of no job */
	uint32_t ranks;   /* of the job, 0 unknown */
	uint64_t started; /* realtime ns, 0 unknown */
	const char *path;
};

void trace_look(const char *path, struct trace_found *f);

/* Is it of this job, not of an earlier one that had its name? */
bool trace_is_of(const struct trace_found *f, const struct job *job);

/* PROGRAM-TIME.kymo, with a number from the second attempt on. */
void trace_name_by_time(char out[NAME_MAX + 1], const char *program, int attempt);

/*
 * PROGRAM-JOB.kymo in `folder`, the same for all ranks, whatever they run. True: this rank has
 * chosen it and calls trace_unclaim() when the directory is there.
 */
bool trace_name_by_job(char out[NAME_MAX + 1], const char *folder, const char *program,
		       const struct job *job, int attempt);
void trace_unclaim(const char *folder, const struct job *job);

/*
 * The directory and raw/ in it are this user's, and no links: who made it gets what is recorded into
 * it, and other users know the names of jobs, too.
 */
bool trace_is_own(const char *path);

#endif
