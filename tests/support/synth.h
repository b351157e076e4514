/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes raw files for tests, through the real wire encoder and with times of its own choosing: what
 * a test reads back is exactly known. Times are ns since the process began; a tick is half a ns.
 * Failure of the file system ends the test program.
 */
#ifndef TESTS_SUPPORT_SYNTH_H
#define TESTS_SUPPORT_SYNTH_H

#include <stdio.h>

#include <kymo/schema.h>

#include "core/activity/activity.h"
#include "wire/defs.h"
#include "wire/raw.h"
#include "wire/tally.h"

#define SYNTH_TICK0     1000000000ull /* tick at which the process begins */
#define SYNTH_NS0       5000000000ull /* node time then */
#define SYNTH_REALTIME0 1700000000000000000ull
#define SYNTH_THREADS   64

struct synth;

struct synth_options {
	const char *directory; /* the trace; it and raw/ are made */
	uint32_t pid;
	uint32_t image;      /* N of HOST-PID-N.kyr */
	uint32_t chunk_size; /* 0: 64 KiB */
	uint32_t rank;       /* RANK_NONE or a rank */
	bool compress;
	bool no_clock;          /* no calibration points */
	uint64_t overwritten;   /* records that gave way, as a flight recorder says */
	uint64_t lost;          /* as the end of the file says, of records and of definitions */
	uint64_t damaged;       /* likewise of chunks */
	const char *command;    /* words separated by spaces; NULL: "demo --size 64" */
	const char *exe, *host; /* NULL: /usr/bin/demo, node1 */
	const char *job;        /* NULL: none */
	uint64_t later;         /* ns that it began after the day on which all begin */
	uint64_t ids;           /* calls of a thread, at most: no two have one id; 0: a million */
};
#define RANK_NONE 0xffffffffu

/* A field's value: the member that its kind needs. */
struct synth_value {
	uint64_t u;
	double f;
	const void *data; /* strings (terminated), bytes, arrays; NULL: absent */
	uint32_t count;   /* elements of bytes and arrays */
	uint32_t cap;     /* at most this many are stored; 0: all */
};
#define V_U(v)                                                                                     \
	{                                                                                          \
		.u = (uint64_t)(v)                                                                 \
	}
#define V_F(v)                                                                                     \
	{                                                                                          \
		.f = (v)                                                                           \
	}
#define V_S(s)                                                                                     \
	{                                                                                          \
		.data = (s)                                                                        \
	}
#define V_A(d, n)                                                                                  \
	{                                                                                          \
		.data = (d), .count = (n)                                                          \
	}

/* Opens the file and writes PROCESS, the activity domains and the first calibration point. */
struct synth *synth_open(const struct synth_options *o);

/* Registers a domain; returns the wire number of its op 0. */
uint16_t synth_domain(struct synth *s, const kymo_domain_desc_t *d);

/* Wire numbers of the activity domains' op 0. */
enum synth_activity_domain {
	SYNTH_DISPATCH,
	SYNTH_COPY,
	SYNTH_ALLOCATION,
	SYNTH_SYNC,
	SYNTH_CODE_OBJECT,
	SYNTH_ACTIVITIES
};
uint16_t synth_activity_base(const struct synth *s, enum synth_activity_domain d);

void synth_define(struct synth *s, const struct wire_def *d);

/* Shorthands for common definitions. */
uint32_t synth_thread(struct synth *s, uint32_t tid, const char *name); /* returns its index */
void synth_clock(struct synth *s, uint32_t id, const char *name);
void synth_clock_sync(struct synth *s, uint32_t id, uint64_t before, uint64_t after,
		      uint64_t value);
void synth_agent(struct synth *s, uint32_t id, const char *type, const char *name, uint32_t clock);
void synth_context(struct synth *s, uint32_t id, uint64_t handle);
void synth_queue(struct synth *s, uint32_t id, uint32_t agent, uint32_t context, uint32_t flags,
		 const char *name);
void synth_kernel(struct synth *s, uint32_t id, const char *name, uint32_t program);
void synth_site(struct synth *s, uint32_t id, uint64_t address);
void synth_note(struct synth *s, int severity, const char *text, uint64_t time);
void synth_tick_sync(struct synth *s, uint64_t time);
/* The same where the clocks do not go together: node time `ns` at that tick. */
void synth_tick_point(struct synth *s, uint64_t at, uint64_t ns);

/* Calls, as a program makes them: enter, nested ones, leave. */
uint64_t synth_enter(struct synth *s, uint32_t thread, uint16_t op, uint64_t time, uint32_t site);
void synth_leave(struct synth *s, uint32_t thread, uint64_t time, int32_t status, bool ok,
		 const struct synth_value *values);

/* As synth_leave(), with every property of a record; id, start, op and site come from the frame. */
void synth_leave_as(struct synth *s, uint32_t thread, uint64_t time, const struct wire_event *as,
		    const struct synth_value *values);

/* A record of an activity domain. */
void synth_activity(struct synth *s, uint32_t thread, uint16_t op, uint64_t start, uint64_t end,
		    const struct synth_value *values);

/* What mode "summary" leaves of a thread: a chunk of tallies, 20 of a chunk's 64 KiB at most. */
void synth_tallies(struct synth *s, uint32_t thread, const struct wire_tally *y, uint32_t count);

/* `count` records of the thread are dropped here: its chunk ends, the next says so. */
void synth_drop(struct synth *s, uint32_t thread, uint64_t count);

/* The thread's chunk is lost altogether: its number is skipped. */
void synth_lose_chunk(struct synth *s, uint32_t thread);

/* Writes what the thread's chunk holds so far; the next record begins a new chunk. */
void synth_flush(struct synth *s, uint32_t thread);

/* The program ended; `how` as in struct raw_end. Writes open calls when killed. Frees. */
void synth_close(struct synth *s, uint32_t how, int32_t status, uint64_t time);

/* As if the drain had been killed, too: what is in chunks is lost. Frees. */
void synth_abandon(struct synth *s);

/* Path of the file being written; valid until close. */
const char *synth_path(const struct synth *s);

/* ---- whole traces (synth_traces.c) ----------------------------------------------------------- */

/* Domain "test": op 0 "all_kinds" has a field of each kind, the others few. */
extern const kymo_domain_desc_t synth_test_domain;
enum { TEST_ALL_KINDS, TEST_OPEN, TEST_LAUNCH, TEST_WAIT, TEST_COPY, TEST_QUERY, TEST_OPS };
enum { TEST_FIELDS_MOST = 21 }; /* of "all_kinds" */

/*
 * Two processes, three threads, two agents, three queues; calls nested and failing, dispatches,
 * copies, allocations, syncs, a build, losses, an open call, notes. The same bytes every time.
 */
void synth_demo(const char *directory, bool compress);

/* One process in which all that has a name is called `first` or `second`. */
void synth_names(const char *directory, const char *first, const char *second);

/* One process of two threads, each of which lost `each` in the middle; its end says `end`. */
void synth_losses(const char *directory, uint64_t each, uint64_t end, uint64_t damaged);

/* One process that did what a list says (synth_timed.c); NULL: synth_open() chooses. */
void synth_timed(const char *directory, FILE *list, uint32_t rank, const char *host,
		 const char *command, const char *job);

/* One process, `threads` threads, `calls` calls each of a few arguments (40 bytes a record). */
void synth_bulk(const char *directory, uint32_t threads, uint32_t calls, bool compress);

/*
 * `calls` calls as programs of a kind make them (synth_growth.c), to see what grows with them and how. False: no such
 * kind.
 */
bool synth_growth(const char *directory, const char *kind, uint64_t calls);
/* The kinds, separated by blanks. */
extern const char synth_growth_kinds[];

#endif
