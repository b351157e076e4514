/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of Perfetto traces: track events of the SDK, of rocprofiler-systems, rocprofv3, iprof (THAPI) and
 * Kymo's own. Packets lie in memory as they are on disk (what was compressed: in a temporary file) and are looked
 * at three times: for what they are (an event of sizeof(struct event) bytes is kept), for what they become, and
 * again when their record is handed on.
 *
 *   read_input.c      the file, and what is compressed in it
 *   read_packets.c    sequences, their interned data and defaults, tracks, events
 *   read_clocks.c     times of all clocks as times of the trace's
 *   read_tracks.c     tracks as processes, threads, rows of devices, counters
 *   read_event.c      names, categories, flows, annotations of an event
 *   read_stacks.c     call stacks of samples
 *   read_match.c      begins with their ends, calls with their work
 *   read_emit.c       records
 *   read.c            the whole, and what is told of it
 */
#ifndef FORMATS_PERFETTO_READER_H
#define FORMATS_PERFETTO_READER_H

#include "base/hash.h"
#include "base/map.h"
#include "base/text.h"
#include "formats/format.h"
#include "formats/perfetto/own.h"
#include "stream/assemble.h"
#include "stream/keyed.h"
#include "stream/proto.h"
#include "stream/unplaced.h"

bool pfread_probe(const char *path);
kymo_status_t pfread_read(const char *path, const struct stream_filter *filter, bool ordered,
			  struct stream_sink *sink, const struct format_options *o);

/* ---- read_input.c ----------------------------------------------------------------------------- */

struct pfread_input {
	const uint8_t *data;
	size_t size;
	bool mapped;
	const char *wrong; /* what is wrong with what is packed in it, or NULL */
	uint64_t damaged;  /* packets that cannot be unpacked */
};

/* False: said why. */
bool pfread_open(struct pfread_input *in, const char *path, const struct format_options *o);
void pfread_close(struct pfread_input *in);

/* ---- what is kept ------------------------------------------------------------------------------ */

enum event_type {
	EVENT_NONE,
	EVENT_BEGIN,
	EVENT_END,
	EVENT_INSTANT,
	EVENT_COUNTER,
	EVENT_COMPLETE, /* has a duration */
	EVENT_STAGE,    /* of a device, has a duration */
	EVENT_SAMPLE    /* its duration is the number of its stack */
};

struct event {
	int64_t time;
	union {
		int64_t duration;
		double value;
	};
	uint64_t at; /* its message, in the data */
	uint32_t length;
	uint32_t track;
	uint32_t generation; /* of its sequence's interned data */
	uint8_t type;        /* enum event_type */
};

enum track_what { TRACK_ROW, TRACK_PROCESS, TRACK_THREAD };
enum track_state { TRACK_NEW, TRACK_VISITED, TRACK_DONE };

struct track_in {
	uint64_t uuid, parent, merge, multiplier;
	uint32_t name, process_name, command, thread_name, unit; /* strings */
	uint32_t label_rank, host;                               /* label_rank: + 1 */
	uint32_t pid, tid;
	bool has_parent, is_process, is_thread, is_counter, incremental, apart, by_key;
	int64_t start, last; /* last: time of the event before */
	uint32_t type;       /* of a counter that has no name */
	/* Found by read_tracks.c. */
	uint8_t state, what;
	bool device;              /* agent and queue are known */
	uint32_t up, below, same; /* track + 1; below: of a climb; same: that it is drawn with */
	uint32_t process, thread, agent, queue, counter;
	uint32_t open;    /* item + 1 */
	uint32_t skipped; /* begun last, and are no item */
};

struct sequence {
	uint64_t id;
	uint32_t generation; /* 0: nothing interned is known */
	uint64_t track, clock;
	bool valid, has_track, has_clock, seen, has_thread;
	uint32_t pid, tid;
	int64_t weight; /* of its samples, ns; 0: not said, or taken by events */
	struct part counters, real_counters; /* defaults that have extra tracks */
	int64_t legacy_us;
};

struct clock_in {
	uint64_t key;
	int64_t offset, last, multiplier;
	bool known, incremental;
};

/* Names that say what an annotation is, or that an event has it said elsewhere. */
#define PFREAD_NAMES(X)                                                                            \
	X(CORRELATION, "correlation")                                                              \
	X(CORR_ID, "corr_id")                                                                      \
	X(BEGIN, "begin_ns")                                                                       \
	X(END, "end_ns")                                                                           \
	X(DELTA, "delta_ns")                                                                       \
	X(TID, "tid")                                                                              \
	X(KIND, "kind")                                                                            \
	X(OPERATION, "operation")                                                                  \
	X(PARENT, "parent")                                                                        \
	X(SCOPE, "scope")                                                                          \
	X(PARENT_SCOPE, "parent scope")                                                            \
	X(EXTERNAL, "external")                                                                    \
	X(ERROR, "error")                                                                          \
	X(UNWOUND, "unwound")                                                                      \
	X(LEFT_OPEN, "end")                                                                        \
	X(COLOR, "color")                                                                          \
	X(STARTED_BY, "started by thread")                                                         \
	X(GLOBAL, "global")                                                                        \
	X(LOCAL, "local")                                                                          \
	X(OFFSET, "offset")                                                                        \
	X(GRID, "grid_size")                                                                       \
	X(GROUP, "workgroup_size")                                                                 \
	X(REGISTERS, "registers")                                                                  \
	X(STATIC_SHARED, "static_shared_bytes")                                                    \
	X(DYNAMIC_SHARED, "dynamic_shared_bytes")                                                  \
	X(LOCAL_MEMORY, "local_memory_bytes")                                                      \
	X(PRIVATE_SEGMENT, "private_segment_size")                                                 \
	X(GROUP_SEGMENT, "group_segment_size")                                                     \
	X(GRAPH, "graph")                                                                          \
	X(GRAPH_NODE, "graph_node")                                                                \
	X(BYTES, "bytes")                                                                          \
	X(COPY_BYTES, "copy_bytes")                                                                \
	X(SIZE, "size")                                                                            \
	X(SOURCE, "source")                                                                        \
	X(DESTINATION, "destination")                                                              \
	X(BLOCKING, "blocking")                                                                    \
	X(QUEUE, "queue")                                                                          \
	X(QUEUED, "queued_to_start_ns")                                                            \
	X(SUBMITTED, "submitted_to_start_ns")                                                      \
	X(UNTIMED, "untimed")                                                                      \
	X(EVENTS, "events")                                                                        \
	X(SENT, "sent")                                                                            \
	X(RECEIVED, "received")                                                                    \
	X(TAG, "tag")                                                                              \
	X(DATATYPE, "datatype")                                                                    \
	X(COMMUNICATOR, "communicator")                                                            \
	X(COMMUNICATOR_SIZE, "communicator_size")                                                  \
	X(COMPLETED_BY, "completed_by")                                                            \
	X(COUNT, "count")                                                                          \
	X(HOW, "how")                                                                              \
	X(EXIT_STATUS, "exit_status")                                                              \
	X(LOST, "lost_records")                                                                    \
	X(ADDRESS, "address")                                                                      \
	X(WHAT, "what")                                                                            \
	X(MEMORY, "memory")                                                                        \
	X(DEVICE, "device")                                                                        \
	X(ALLOCATION, "allocation")                                                                \
	X(PART_OF, "part of")

enum pfread_name {
#define X(name, text) NAME_##name,
	PFREAD_NAMES(X)
#undef X
		NAMES
};

enum note_type { NOTE_NONE, NOTE_UNSIGNED, NOTE_SIGNED, NOTE_REAL, NOTE_POINTER, NOTE_TEXT };

struct note {
	uint32_t name;  /* string */
	uint8_t type;   /* enum note_type */
	uint8_t known;  /* enum pfread_name, NAMES: another */
	uint32_t at, n; /* of texts: in struct notes */
	union {
		uint64_t u;
		int64_t i;
		double d;
	};
};

enum { NOTES_MAX = 64, CATEGORIES_MAX = 4, FLOWS_MAX = 16 };

struct notes {
	struct note list[NOTES_MAX];
	uint32_t count, left_out;
	struct text texts;
	bool brief; /* of texts it is enough that they are there */
};

struct event_in {
	uint32_t name, categories[CATEGORIES_MAX]; /* strings */
	uint32_t category_count, flow_count;
	uint64_t flows[FLOWS_MAX];
	uint64_t terminating; /* bits of flows */
	uint64_t correlation;
	bool correlated;
	struct notes *notes;
};

/* What an event becomes. */
enum kind_in {
	KIND_CALL,
	KIND_RANGE, /* also marks, ranges of processes */
	KIND_KERNEL,
	KIND_COPY,
	KIND_SYNC,
	KIND_COMM,
	KIND_ALLOCATION,
	KIND_COUNTER,
	KIND_LOSS,
	KIND_NOTE,
	KIND_SAMPLE,
	KIND_OTHER /* of Kymo's: what has no place here */
};

struct pfreader {
	const struct format_options *o;
	const char *path;
	struct pfread_input in;
	struct trace *t;
	struct keyed keyed;
	struct make_activities model;
	struct assembly all;
	struct make_fields fields;
	uint32_t known[NAMES];
	struct map known_names;

	struct event *events;
	uint64_t event_count, event_room;
	struct track_in *tracks;
	uint32_t track_count, track_room;
	struct map track_places; /* by uuid: place + 1 */
	struct map rows;         /* of siblings that are one: track + 1 */
	struct map device_names; /* process and name -> agent */
	struct sequence *sequences;
	uint32_t sequence_count, sequence_room;
	struct map sequence_places;
	struct map interned; /* sequence's generation, kind, number: string, or place + 1 */
	uint32_t generations;
	struct map tree; /* number of a process or thread: its name, of a process tree */

	struct clock_in *clocks;
	uint32_t clock_count, clock_room;
	struct map clock_places;
	uint64_t primary; /* the trace's clock; 0: not said yet */
	int64_t realtime; /* to that of the day; 0: not known */

	struct map flows; /* flow: call's item + 1 */
	struct map ends;  /* item: the event that ends it + 1, where that says something */
	struct map left_open_items; /* item + 1: index in the trace's list of its kind */
	struct notes notes, end_notes;
	struct text payload;
	uint64_t last_key;

	struct map stack_places; /* modules, sites, stacks */
	struct map weights;      /* a sequence's generation: ns that a sample of it stands for */
	struct map sum_places;   /* sequence, its generation, track: place in sums + 1 */
	double *sums;
	uint32_t sum_count, sum_room;

	bool unsorted; /* a track's times go back */
	uint64_t wrong, damaged, lost, dropped, no_clock, bad_times, cyclic, ends_alone, left_open,
		arguments, allocations;
	uint32_t fallback; /* process of what is of none */
	struct unplaced left_out;
	bool failed;
};

/* ---- read_packets.c --------------------------------------------------------------------------- */

void pfread_packets(struct pfreader *r);
/* The track of that uuid, which is added; place. */
uint32_t pfread_track(struct pfreader *r, uint64_t uuid);

/* Fields of InternedData. */
enum interned_kind {
	INTERNED_CATEGORY = 1,
	INTERNED_NAME = 2,
	INTERNED_ANNOTATION = 3,
	INTERNED_FUNCTION = 5,
	INTERNED_FRAME = 6,
	INTERNED_CALLSTACK = 7,
	INTERNED_BUILD_ID = 16,
	INTERNED_PATH = 17,
	INTERNED_SOURCE = 18,
	INTERNED_MAPPING = 19,
	INTERNED_STAGE = 24,
	INTERNED_CONTEXT = 23,
	INTERNED_TEXT = 29,
	INTERNED_TYPE_NAME = 27
};
/* A string, of the other kinds the place of their message + 1; 0: not there. */
uint64_t pfread_interned(const struct pfreader *r, uint32_t generation, enum interned_kind kind,
			 uint64_t iid);
uint32_t pfread_text(struct pfreader *r, struct part s);

/* ---- read_clocks.c ---------------------------------------------------------------------------- */

void pfread_snapshot(struct pfreader *r, uint64_t sequence, struct part snapshot);
/* `clock` 0: the trace's own. False: it cannot be told. */
bool pfread_time(struct pfreader *r, uint64_t sequence, uint64_t clock, uint64_t timestamp,
		 int64_t *out);

/* ---- read_tracks.c ---------------------------------------------------------------------------- */

void pfread_resolve(struct pfreader *r);
/* Finds the agent and the queue of a track that has device work. */
void pfread_device_row(struct pfreader *r, uint32_t track);
uint32_t pfread_counter(struct pfreader *r, uint32_t track);
uint32_t pfread_fallback(struct pfreader *r);
/* "Device 3" and the like; false: the name is no such. */
bool pfread_numbered(const char *name, const char *word, uint64_t *number);
uint32_t pfread_agent_named(const struct pfreader *r, uint32_t process, const char *name, size_t n);

/* ---- read_event.c ----------------------------------------------------------------------------- */

struct part pfread_message(const struct pfreader *r, const struct event *e);
/* Its annotations into `notes`, if that is not NULL. */
void pfread_event(struct pfreader *r, const struct event *e, struct notes *notes,
		  struct event_in *out);
const struct note *pfread_note(const struct notes *n, enum pfread_name name);
uint64_t pfread_number(const struct notes *n, enum pfread_name name);
/* Up to three numbers of "[4, 2, 1]", or the one. */
unsigned pfread_numbers(const struct notes *n, enum pfread_name name, uint64_t out[3]);
/* "" where there is none. */
const char *pfread_note_text(const struct notes *n, enum pfread_name name);
/* It says something of the program's, not of the event. */
bool pfread_is_argument(const struct note *n);

/* ---- read_stacks.c ---------------------------------------------------------------------------- */

/* The stack of that number; 0: it is not there. */
uint32_t pfread_stack(struct pfreader *r, uint32_t process, uint32_t generation, uint64_t iid);

/* ---- read_match.c, read_emit.c ---------------------------------------------------------------- */

/* What an event on the track becomes; `domain` of calls. */
enum kind_in pfread_kind(const struct pfreader *r, const struct event_in *e,
			 const struct track_in *track, const char **domain);
bool pfread_match(struct pfreader *r);
/* Work that never finished, as the trace lists it. */
void pfread_unfinished(struct pfreader *r, const struct assembly_item *i, struct t_unfinished *out);
kymo_status_t pfread_emit(struct pfreader *r, struct stream_sink *sink);

static inline const char *pfread_string(const struct pfreader *r, uint32_t string)
{
	return keyed_string(&r->keyed, string);
}

#endif
