/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of call stacks, added up, and what all writers of profiles (folded stacks, speedscope, pprof) have in
 * common: a row for each stack of each thread, those of a thread one behind the other, the heaviest first.
 */
#ifndef STREAM_PROFILE_H
#define STREAM_PROFILE_H

#include "base/map.h"
#include "base/text.h"
#include "stream/output.h"
#include "stream/stream.h"
#include "stream/symbol.h"
#include "stream/unplaced.h"

struct profile_row {
	uint32_t thread;
	uint32_t stack; /* 0: none was kept */
	uint64_t pc;    /* where there is none */
	uint64_t samples;
	int64_t weight; /* ns of processor time that they stand for; of the heap: bytes allocated */
	bool kernel;    /* the kernel was at work for the thread */
	/* Of the heap: allocations, those not freed at the end, and their bytes. */
	double objects, left_objects;
	uint64_t bytes, left_bytes;
};

/* What a profile is of. */
enum profile_of {
	PROFILE_SAMPLES,
	PROFILE_HEAP,     /* bytes that were allocated ... */
	PROFILE_HEAP_LEFT /* ... and of them, those that were not freed */
};

/* All zero: none. */
struct profile_rows {
	struct profile_row *at;
	uint32_t count, room;
	struct map found; /* rows by their hash, plus one */
};

/* Adds a sample, not one that says how many were lost. False: no memory. */
bool profile_add(struct profile_rows *rows, const struct rec_sample *r);
/* As put() gets them: of a thread one behind the other, the heaviest first. Nothing can be added afterwards. */
void profile_sort(struct profile_rows *rows);
void profile_rows_release(struct profile_rows *rows);

struct profile_writer {
	struct stream_sink sink; /* first */
	const struct trace *t;
	const char *format; /* its name, for messages */
	struct stream_log *log;
	struct symbols *names; /* from here: for put() */
	struct profile_rows rows;
	enum profile_of of;   /* from profile_begin() on */
	struct map allocated; /* by process and allocation: the row of those not freed, plus one */
	struct output out;
	kymo_status_t (*put)(struct profile_writer *w); /* writes the rows */
	struct unplaced unplaced;
	bool open;
};

/*
 * Begins a writer, zeroed before, of a file at `path` (NULL: standard output), which an existing one gives way to
 * with `force`: put() is called at the end of the stream, if it had samples, of threads or of the heap as `variant`
 * says, which else is an error.
 */
kymo_status_t profile_begin(struct profile_writer *w, const char *format, const char *variant,
			    const char *path, bool force, struct stream_log *log);

/* `variant`, NULL: of samples. */
#define PROFILE_VARIANTS                                                                           \
	"of memory of malloc(): heap, what was allocated; heap-left, what was not freed"
bool profile_variant(const char *variant, bool *folder);
void profile_release(struct profile_writer *w);

/* Sites of the row's stack as it is shown, innermost first (symbols_stack()); *count 0: only the row's pc is known. */
const uint32_t *profile_frames(struct symbols *names, enum profile_of of,
			       const struct profile_row *r, uint32_t *count);

/* What a row stands for, in ns or bytes; of samples that have no weight, how many they are. */
uint64_t profile_weight(const struct profile_row *r);

/* What stands for a process and for a thread: "a.out rank 3", "a.out 4242", "worker 4243". */
void profile_add_process(struct text *out, const struct trace *t, uint32_t process);
void profile_add_thread(struct text *out, const struct trace *t, uint32_t thread);

#endif
