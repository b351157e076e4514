/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flame graphs of a run: where threads were (samples of their stacks), where they had no processor, and device time by
 * what submitted the work. One ordered pass over the records, after the one that made the timeline, fills them.
 */
#ifndef PAGE_FLAMES_H
#define PAGE_FLAMES_H

#include <stdio.h>

#include "analysis/flame.h"
#include "analysis/timeline.h"
#include "stream/profile.h"

enum flame_kind {
	FLAME_SAMPLES, /* call stacks of samples */
	FLAME_DEVICE,  /* calls and ranges that submitted device work, and which */
	FLAME_STACKS,  /* the same by the call stack, where calls have theirs */
	FLAME_OFF_CPU, /* stacks, or calls and ranges, in which threads had no processor, and why */
	FLAME_HEAP,    /* stacks that allocated memory */
	FLAME_KINDS
};

enum {
	FLAME_NODES = 6000,  /* of one that a page has */
	FLAME_PROCESSES = 64 /* of more, stacks of all of them are together */
};

struct open_frame;

struct flames_thread { /* what it is in */
	struct open_frame *open;
	uint32_t count, room;
	bool crossing;              /* some ends after what it lies in */
	uint32_t root[FLAME_KINDS]; /* its node, 0: none yet */
};

struct flames {
	struct stream_sink sink;  /* first */
	struct stream_sink *next; /* may be NULL */
	const struct trace *t;
	const struct timeline *tl;
	struct symbols *symbols; /* borrowed */
	bool made;
	bool apart;         /* processes and threads have frames of their own */
	bool devices;       /* so have devices: there are several */
	bool timed;         /* samples stand for time */
	uint64_t heap_lost; /* samples of memory */
	bool failed;        /* memory ran out */
	struct flame_names names;
	struct flame of[FLAME_KINDS];
	struct profile_rows samples;
	uint64_t lost; /* samples */
	struct flames_thread *threads;
	/* Names, + 1: of ops, strings, sites, kernels of the trace, devices of the timeline. */
	uint32_t *of_op, *of_string, *of_site, *of_kernel, *of_device;
	/* Of calls of the timeline that submitted work: their nodes of FLAME_DEVICE; their stacks. */
	uint32_t *node_of, *stack_of;
	bool *submits, *op_submits; /* by call; by op: some of its calls do */
	bool paths;                 /* what threads are in is of use */
};

/* The sink is to read an ordered stream; it hands all on to `next` (may be NULL). What it borrows must stay. False: no memory. */
bool flames_init(struct flames *f, const struct trace *t, const struct timeline *tl,
		 struct symbols *symbols, struct stream_sink *next);
void flames_release(struct flames *f);

/* When all records are there. False: no memory. */
bool flames_finish(struct flames *f);

/* There is something in it. */
bool flames_has(const struct flames *f, enum flame_kind kind);

#define FLAME_SAMPLES_TITLE "Sampled call stacks"
#define FLAME_SAMPLES_ABOUT "where threads were when samples were taken"
#define FLAME_OFF_CPU_TITLE "Without a processor"
#define FLAME_OFF_CPU_ABOUT                                                                        \
	"where threads had no processor, and what they waited for: by call stack where it was "    \
	"taken, else by calls and ranges"
#define FLAME_HEAP_TITLE   "Memory allocated by call stack"
#define FLAME_HEAP_ABOUT   "where malloc() was called for how much, what was freed again among it"
#define FLAME_DEVICE_TITLE "Device time by what submitted it"
#define FLAME_DEVICE_ABOUT "kernels and copies under the calls and ranges that submitted them"
#define FLAME_STACKS_TITLE "Device time by the call stack that submitted it"
#define FLAME_STACKS_ABOUT "kernels and copies under the functions that called for them"

/* What is not in it: "3 samples that were lost"; nothing: all is. */
void flames_left_out(const struct flames *f, enum flame_kind kind, struct text *out);

struct flame_about {
	const char *name, *title, *about;
	const char *values[FLAME_VALUES]; /* "time", "samples"; the second is a number of them */
};
extern const struct flame_about flame_about[FLAME_KINDS];
/* Of the first value: "ns", "bytes", or "count": then it is the second one. */
const char *flames_unit(const struct flames *f, enum flame_kind kind);

/* As a member of the head: docs/page.md. */
void flames_put(FILE *out, const struct flames *f);

#endif
