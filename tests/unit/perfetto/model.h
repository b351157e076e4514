/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hand-made trace to write, and a reader of the result that draws the same picture as an
 * importer does: running clocks resolved, events in order of time, begins and ends matched.
 */
#ifndef TESTS_PERFETTO_MODEL_H
#define TESTS_PERFETTO_MODEL_H

#include "formats/format.h"
#include "formats/perfetto/trace.pb-c.h"

enum { OP_NONE, OP_ENQUEUE, OP_CREATE, OP_KERNEL, OP_READ, OP_ALLOCATE, OP_FREE, OP_FINISH };
enum { THREAD_MAIN = 1, THREAD_WORKER = 2 };
enum { QUEUE_IN_ORDER = 1, QUEUE_FREE = 2 };
enum { KERNEL_A = 1, KERNEL_B = 2 };
enum { SITE_MAIN = 1, SITE_INNER = 2 };

#define ORIGIN 5000000000000ll

/* One process, two threads, one device with two queues, one context. */
const struct trace *model_trace(void);

/* A written file being drawn again. */
struct drawn_slice {
	uint64_t track;
	int64_t start, end; /* end INT64_MAX: never ended */
	unsigned depth;
	const Pf__TrackEvent *event;
	uint32_t sequence;
};

struct drawn {
	Pf__Trace *trace;
	struct drawn_slice *slices;
	size_t slice_count;
	struct drawn_slice *instants;
	size_t instant_count;
	struct drawn_slice *points; /* counters, in order of time */
	size_t point_count;
	size_t broken; /* ends without begin, unknown tracks, missing state */
	size_t flow_pairs;
	uint64_t bytes;
};

struct drawn *drawn_read(const char *path);
void drawn_free(struct drawn *d);

/* Descriptor of a track, NULL if there is none. */
const Pf__TrackDescriptor *drawn_track(const struct drawn *d, uint64_t uuid);
/* Name of an event or text of an annotation, interned or not. */
const char *drawn_name(const struct drawn *d, const struct drawn_slice *s);
const Pf__DebugAnnotation *drawn_annotation(const struct drawn *d, const struct drawn_slice *s,
					    const char *name);
const char *drawn_text(const struct drawn *d, const struct drawn_slice *s,
		       const Pf__DebugAnnotation *a);
bool drawn_has_category(const struct drawn *d, const struct drawn_slice *s, const char *category);

#endif
