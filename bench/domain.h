/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A made-up runtime of one function with four arguments, traced the way the generated wrappers
 * trace real ones: thunk, slot, wrapper, all arguments. What it costs is what a call of a real
 * runtime costs, without a runtime's own time in the way.
 */
#ifndef BENCH_DOMAIN_H
#define BENCH_DOMAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_EXPORT __attribute__((visibility("default")))

typedef int (*bench_fn)(void *handle, uint32_t index, size_t size, const void *value);

/* The function as the runtime has it. */
BENCH_EXPORT int bench_plain(void *handle, uint32_t index, size_t size, const void *value);
/* What a loader would hand out under Kymo. */
BENCH_EXPORT bench_fn bench_traced(void);
/* Writes the record of a kernel as a backend does when the device has finished. */
BENCH_EXPORT int bench_activity(void *handle, uint32_t index, size_t size, const void *value);
/* A range of a thread, pushed and popped as by an annotation. */
BENCH_EXPORT int bench_range(void *handle, uint32_t index, size_t size, const void *value);
/* What tells of work of a device (published), a wait, memory, a message, a mark or a range; NULL: there is none such. */
BENCH_EXPORT bench_fn bench_work(const char *what);

enum bench_reader {
	BENCH_DISCARD, /* a thread of this process throws chunks away */
	BENCH_DRAIN,   /* a real drain writes them to KYMO_TRACE */
	BENCH_NOBODY,  /* what does not fit into the buffer is lost */
	BENCH_PRIVATE, /* a tool in this process is given every record, */
	BENCH_BATCH    /* or batches of them */
};

struct bench_recording {
	enum bench_reader reader;
	bool tally;     /* mode summary */
	bool work;      /* activities are counted too, as in a rank whose job adds them up */
	bool stopped;   /* the context is started and then stopped */
	uint64_t bytes; /* of the buffer */
	bool left_out;  /* calls are only counted, as those that a mode leaves out */
};

/* Starts recording every call. False: it did not start. */
BENCH_EXPORT bool bench_record(const struct bench_recording *r);
/* Starts `tools` contexts whose callbacks do nothing, or read all arguments each time. */
BENCH_EXPORT bool bench_tools(unsigned tools, bool reads, bool exits);
/* Pushes an external id of the last of them and pops it again. */
BENCH_EXPORT int bench_external(void *handle, uint32_t index, size_t size, const void *value);
/* Makes one of several recordings, not started; its number, or -1. */
BENCH_EXPORT int bench_make(const struct bench_recording *r);
/* Starts recording `i`, or stops it and waits until everything was delivered. */
BENCH_EXPORT bool bench_start(int i);
BENCH_EXPORT bool bench_stop(int i);
/* Records lost so far, by the last recording that was made. */
BENCH_EXPORT uint64_t bench_lost(void);
/* Records that tools in this process were given so far. */
BENCH_EXPORT uint64_t bench_delivered(void);

#endif
