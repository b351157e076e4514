/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of call stacks, added up: what writers of profiles (folded stacks, speedscope, pprof) write. A row
 * for each stack of each thread, in the order in which they were first seen.
 */
#ifndef STREAM_PROFILE_H
#define STREAM_PROFILE_H

#include "base/map.h"
#include "stream/stream.h"

struct profile_row {
	uint32_t thread;
	uint32_t stack; /* 0: none was kept */
	uint64_t pc;    /* where there is none */
	uint64_t samples;
	int64_t weight; /* ns of processor time that they stand for */
	bool kernel;    /* the kernel was at work for the thread */
};

struct profile {
	struct profile_row *rows;
	uint32_t count, room;
	struct map found;   /* rows by profile_hash(), plus one */
	uint64_t elsewhere; /* records that a profile has no place for */
};

/* False: no memory. */
bool profile_add(struct profile *p, const struct rec_sample *r);
void profile_release(struct profile *p);

/* Rows of a thread follow on one another. */
void profile_sort(struct profile *p);

/*
 * Says what the profile lacks: an error where the trace has no samples, else a note of what has no place in
 * `format`.
 */
kymo_status_t profile_check(const struct profile *p, const struct trace *t, const char *format,
			    struct stream_log *log);

/* Sites of the row's stack, innermost first; *count 0: only the row's pc is known. */
const uint32_t *profile_frames(const struct trace *t, const struct profile_row *r, uint32_t *count);

#endif
