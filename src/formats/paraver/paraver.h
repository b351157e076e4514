/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Paraver writer's state. A folder with three files, after BSC's "Paraver: trace generation" and the
 * files that its tracers leave: trace.prv, lines in order of time; trace.pcf, what types and values of events
 * mean; trace.row, names of objects.
 *
 * Objects: one application; a task for each process, ranks first and in their order; of each, a thread
 * for each thread of the program and, behind these, for each queue of its devices. Nodes are nodes; each task has a
 * processor of its own. Lines:
 *	1:cpu:1:task:thread:begin:end:state		what a thread or queue was about
 *	2:cpu:1:task:thread:time:type:value		an event; value 0 ends what the last one began
 *	3:(cpu:1:task:thread:time:time) twice:bytes:tag	a message, from one to the other
 * Times are nanoseconds since the trace begins.
 */
#ifndef FORMATS_PARAVER_PARAVER_H
#define FORMATS_PARAVER_PARAVER_H

#include "base/map.h"
#include "base/text.h"
#include "formats/format.h"
#include "stream/output.h"
#include "stream/unplaced.h"

/* Types of events; those of calls and counters are counted up from theirs, by domain and counter. */
enum {
	TYPE_CALLS = 63000000,
	TYPE_KERNEL = 63100000,
	TYPE_COPY,
	TYPE_COPY_BYTES,
	TYPE_ALLOCATED,
	TYPE_FREED,
	TYPE_RANGE,
	TYPE_MARK,
	TYPE_SAMPLE,
	TYPE_LINE,
	TYPE_REASON,
	TYPE_VALUES = 63110000,
	TYPE_COUNTERS = 63200000,
	TYPE_ARGUMENTS = 63300000,
};

/* What records hold besides, each of a type of its own, counted up from TYPE_VALUES. X(enumerator, name, unit) */
#define PARAVER_VALUES(X)                                                                          \
	X(GLOBAL_X, "Work items, x", "")                                                           \
	X(GLOBAL_Y, "Work items, y", "")                                                           \
	X(GLOBAL_Z, "Work items, z", "")                                                           \
	X(LOCAL_X, "Group, x", "")                                                                 \
	X(LOCAL_Y, "Group, y", "")                                                                 \
	X(LOCAL_Z, "Group, z", "")                                                                 \
	X(OFFSET_X, "Offset, x", "")                                                               \
	X(OFFSET_Y, "Offset, y", "")                                                               \
	X(OFFSET_Z, "Offset, z", "")                                                               \
	X(REGISTERS, "Registers of a work item", "")                                               \
	X(STATIC_SHARED, "Static shared memory", "bytes")                                          \
	X(DYNAMIC_SHARED, "Dynamic shared memory", "bytes")                                        \
	X(LOCAL_MEMORY, "Local memory of a work item", "bytes")                                    \
	X(GRAPH, "Graph", "")                                                                      \
	X(GRAPH_NODE, "Node of the graph", "")                                                     \
	X(CALL, "Call that it is of", "")                                                          \
	X(EXTERNAL, "Number of the program or a tool (external)", "")                              \
	X(STATUS, "Status", "")                                                                    \
	X(ADDRESS, "Address", "")                                                                  \
	X(ALLOCATION, "Number of the allocation", "")                                              \
	X(PARENT, "Number of the allocation that it is a part of", "")                             \
	X(FAULTS, "Page faults", "")                                                               \
	X(EVENTS, "Events waited for", "")                                                         \
	X(EVENT, "Event waited for", "")                                                           \
	X(COLOR, "Color of an annotation", "")                                                     \
	X(PEER, "Rank of the other side", "")                                                      \
	X(TAG, "Tag of a transfer", "")                                                            \
	X(REQUEST, "Request of a transfer", "")                                                    \
	X(PARTITIONS, "Partitions of a transfer", "")                                              \
	X(COMPLETED_BY, "Call that saw it complete", "")                                           \
	X(PROBE, "Call that probed for it", "")                                                    \
	X(SENT, "Sent", "bytes")                                                                   \
	X(RECEIVED, "Received", "bytes")                                                           \
	X(WEIGHT, "Time that a sample stands for", "ns")                                           \
	X(PROCESSOR, "Processor of a sample", "")                                                  \
	X(SAMPLES, "Samples of a line", "")                                                        \
	X(IDLE_SAMPLES, "Samples of a line with idle schedulers", "")                              \
	X(CYCLES, "Cycles between samples of a line", "")
enum paraver_value {
#define PARAVER_VALUE(K, name, unit) VALUE_##K,
	PARAVER_VALUES(PARAVER_VALUE)
#undef PARAVER_VALUE
		VALUES
};

enum { STATE_IDLE = 0, STATE_RUNNING = 1, STATE_NOT_CREATED = 2, STATE_TRANSFER = 17 };

struct object {                     /* a thread or a queue */
	uint32_t task, thread, cpu; /* from 1; task 0: none */
};

struct line { /* of an event */
	int64_t time;
	int64_t sequence; /* among those of one time */
	const struct object *object;
	uint64_t value;
	uint32_t type;
};

struct message {
	int64_t sent, received;
	const struct object *sender, *receiver;
	uint64_t bytes;
	int32_t tag;
	uint32_t sequence;
};

struct nested { /* an event that has begun and not ended */
	int64_t end;
	uint32_t type;
	uint64_t value;
};

struct row { /* what goes on on a thread or queue */
	struct nested *open;
	uint32_t depth, room;
	int64_t busy_until; /* queues: their last state's end */
};

struct paraver {
	struct stream_sink sink; /* first */
	struct format_options o;
	const struct trace *t;
	struct object *threads, *queues, *processes; /* by index of the trace's lists */
	struct row *thread_rows, *queue_rows;
	uint32_t thread_count, queue_count; /* of these, at the beginning */
	uint32_t *tasks, *sizes; /* by task less one: its process; how many objects it has */
	uint32_t *task_nodes;    /* likewise: its node, from 1 */
	const char **nodes;
	uint32_t task_count, node_count;
	struct output body; /* lines of events and states */
	char *body_path;
	struct line *ahead; /* a heap: the next one on top */
	uint32_t ahead_count, ahead_room;
	int64_t sequence;
	int64_t written, end;     /* time of the last line; of whatever ended last */
	struct message *messages; /* both ends known, or one so far; base/bulk.h, as `halves` */
	uint32_t message_count, message_room;
	struct map halves; /* by match: number of the message of which one end is known, plus one */
	struct map texts;  /* names of ranges and marks: numbers by their hash */
	char **names;      /* value less one */
	uint32_t name_count, name_room;
	struct map arguments;        /* their names: numbers by their hash */
	const char **argument_names; /* of the trace; value less one */
	uint32_t argument_count, argument_room;
	uint8_t *domains_used, *counters_used, values_used[VALUES];
	bool samples_used, lines_used;
	struct unplaced unplaced;
};

/* places.c */
bool places_make(struct paraver *w);
void places_header(const struct paraver *w, struct output *o);
kymo_status_t places_write_names(const struct paraver *w);
void places_free(struct paraver *w);

/* legend.c: the .pcf file. */
kymo_status_t legend_write(const struct paraver *w);
uint64_t legend_name(struct paraver *w, const char *text, size_t length); /* 0: no memory */
void legend_type(struct output *o, uint32_t type, const char *name, const char *unit);

/* values.c: events besides, at `time`. False: no memory. */
bool values_put(struct paraver *w, const struct object *object, int64_t time, enum paraver_value v,
		uint64_t value);
/* Where 0 says nothing. */
bool values_some(struct paraver *w, const struct object *object, int64_t time, enum paraver_value v,
		 uint64_t value);
bool values_three(struct paraver *w, const struct object *object, int64_t time,
		  enum paraver_value first, const uint64_t v[3]);
/* Arguments that are whole numbers, from 0 up; others are counted. */
bool values_arguments(struct paraver *w, const struct object *object, const struct rec *r);
void values_legend(const struct paraver *w, struct output *o);

/* lines.c: false is no memory. */
bool lines_event(struct paraver *w, const struct object *object, int64_t time, uint32_t type,
		 uint64_t value);
/* `value` from `start` to `end`, then `back`. */
bool lines_interval(struct paraver *w, const struct object *object, int64_t start, int64_t end,
		    uint32_t type, uint64_t value, uint64_t back);
void lines_until(struct paraver *w, int64_t time); /* writes all events before it */
void lines_state(struct paraver *w, const struct object *object, int64_t begin, int64_t end,
		 unsigned state);
void lines_copy(struct paraver *w, struct output *to, const char *path);

/* Names that end a line where they hold one. */
void put_name(struct output *o, const char *s);
/* Opens DIR/trace.`suffix`. */
kymo_status_t open_part(const struct paraver *w, struct output *o, const char *suffix);

#endif
