/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of call stacks, added up, and what all writers of profiles (folded stacks, speedscope, pprof) have in
 * common: a row for each stack of each thread, those of a thread one behind the other, the heaviest first.
 */
#ifndef STREAM_PROFILE_H
#define STREAM_PROFILE_H

#include "base/map.h"
#include "stream/output.h"
#include "stream/stream.h"
#include "stream/symbol.h"
#include "stream/unplaced.h"

struct profile_row {
	uint32_t thread;
	uint32_t stack; /* 0: none was kept */
	uint64_t pc;    /* where there is none */
	uint64_t samples;
	int64_t weight; /* ns of processor time that they stand for */
	bool kernel;    /* the kernel was at work for the thread */
};

struct profile_writer {
	struct stream_sink sink; /* first */
	const struct trace *t;
	const char *format; /* its name, for messages */
	struct stream_log *log;
	struct symbols *names; /* from here: for put() */
	struct profile_row *rows;
	uint32_t count;
	struct output out;
	kymo_status_t (*put)(struct profile_writer *w); /* writes the rows */
	uint32_t room;
	struct map found; /* rows by their hash, plus one */
	struct unplaced unplaced;
	bool open;
};

/*
 * Begins a writer, zeroed before, of a file at `path` (NULL: standard output), which an existing one gives way to
 * with `force`: put() is called at the end of the stream, if it had samples, which else is an error.
 */
kymo_status_t profile_begin(struct profile_writer *w, const char *format, const char *path,
			    bool force, struct stream_log *log);
void profile_release(struct profile_writer *w);

/* Sites of the row's stack, innermost first; *count 0: only the row's pc is known. */
const uint32_t *profile_frames(const struct trace *t, const struct profile_row *r, uint32_t *count);

/* What a row stands for, in ns; of samples that have no weight, how many they are. */
uint64_t profile_weight(const struct profile_row *r);

#endif
