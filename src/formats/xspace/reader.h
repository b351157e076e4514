/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader's state. Files lie in memory as they are on disk (what was compressed: in a temporary file); names
 * and events are walked where they are, and an event is looked at twice: first to know what it is, for which an
 * entry of sizeof(struct entry) bytes is kept, and again when its record is handed on.
 *
 *   input.c        files and folders
 *   read_planes.c  planes, lines, names
 *   read_events.c  what kind an event is
 *   read_define.c  processes, threads, devices, ...: what records refer to
 *   read_order.c   nesting, the submitting calls, scopes
 *   read_emit.c    records
 *   read.c         the whole
 */
#ifndef FORMATS_XSPACE_READER_H
#define FORMATS_XSPACE_READER_H

#include "base/map.h"
#include "base/text.h"
#include "formats/xspace/names.h"
#include "stream/proto.h"
#include "formats/xspace/xspace.h"
#include "stream/make.h"
#include "stream/unplaced.h"

/* A file, of one host. */
struct input {
	char *path;
	struct part data;
	uint32_t host;       /* string */
	uint32_t process;    /* that of planes which name none; 0: not there yet */
	int64_t start, stop; /* of recording, ns since 1970; 0: not known */
};

struct inputs {
	struct input *files;
	uint32_t count, room;
	bool folder; /* their names are those of their hosts */
};

/* The profiles at `path`, in order of their names. False: said why. */
bool inputs_open(struct inputs *in, const char *path, const struct format_options *o);
void inputs_close(struct inputs *in);

/* ---- names ----------------------------------------------------------------------------------- */

/* No profile is of a time before 2001: smaller times are since the begin of recording. */
#define SINCE_1970 INT64_C(1000000000000000000)

/* Stats whose names say what the value is. */
#define XREAD_STATS(X)                                                                             \
	X(CORRELATION, "correlation_id")                                                           \
	X(SCOPE, "scope_range_id")                                                                 \
	X(DEVICE, "device_id")                                                                     \
	X(CONTEXT, "context_id")                                                                   \
	X(STREAM, "stream")                                                                        \
	X(GROUP, "group_id")                                                                       \
	X(KERNEL_DETAILS, "kernel_details")                                                        \
	X(MEMCPY_DETAILS, "memcpy_details")                                                        \
	X(MEMSET_DETAILS, "Memset_details")                                                        \
	X(ALLOC_DETAILS, "memalloc_details")                                                       \
	X(FREE_DETAILS, "MemFree_details")                                                         \
	X(HLO_MODULE, "hlo_module")                                                                \
	X(HLO_OP, "hlo_op")                                                                        \
	X(PROGRAM, "program_id")                                                                   \
	X(NVTX, "nvtx_range")                                                                      \
	X(TF_OP, "tf_op")                                                                          \
	X(FLOW, "flow")                                                                            \
	X(PID, "process_id")                                                                       \
	X(DOMAIN, "domain")                                                                        \
	X(CATEGORY, "category")                                                                    \
	X(COLOR, "color")                                                                          \
	X(STATUS, "status")                                                                        \
	X(ACTIVITY, "activity")                                                                    \
	X(LEFT_OPEN, "left_open")                                                                  \
	X(EXTERNAL, "external_id")                                                                 \
	X(GRAPH, "cuda_graph_id")                                                                  \
	X(GRAPH_NODE, "cuda_graph_node_id")                                                        \
	X(SYNC, "sync")                                                                            \
	X(MARK, "mark")                                                                            \
	X(QUEUED, "queued_before_ns")                                                              \
	X(SUBMITTED, "submitted_before_ns")                                                        \
	X(WORK_ITEMS, "work_items")                                                                \
	X(DIMENSIONS, "dimensions")                                                                \
	X(LOCAL_MEMORY, "local_memory")                                                            \
	X(COPY, "copy")                                                                            \
	X(SOURCE, "source_device")                                                                 \
	X(DESTINATION, "destination_device")                                                       \
	X(ADDRESS, "address")                                                                      \
	X(FAULTS, "faults")                                                                        \
	X(WHAT, "what")                                                                            \
	X(ALLOCATION, "allocation")                                                                \
	X(EVENTS, "events")                                                                        \
	X(EVENT, "event")                                                                          \
	X(SENT, "sent")                                                                            \
	X(RECEIVED, "received")                                                                    \
	X(CALL, "call")                                                                            \
	X(PEER, "peer")                                                                            \
	X(TAG, "tag")                                                                              \
	X(DATATYPE, "datatype")                                                                    \
	X(COMMUNICATOR, "communicator")

enum stat_name {
	STAT_OTHER,
#define X(name, text) STAT_##name,
	XREAD_STATS(X)
#undef X
		STAT_NAMES
};

enum stat_type { TYPE_NONE, TYPE_REAL, TYPE_UNSIGNED, TYPE_SIGNED, TYPE_TEXT, TYPE_BYTES };

struct stat_value {
	struct part name;
	uint8_t known; /* enum stat_name */
	uint8_t type;  /* enum stat_type */
	union {
		uint64_t u;
		int64_t i;
		double d;
	};
	struct part s;
};

/* Stats of an event that have a meaning; the last one of each name. */
struct stats {
	uint64_t there; /* bits of enum stat_name */
	struct stat_value of[STAT_NAMES];
};

struct event_name {
	struct part name, display, stats; /* stats: the whole metadata */
};

struct stat_meta {
	struct part name;
	uint8_t known;
};

enum plane_kind { PLANE_OTHER, PLANE_HOST, PLANE_DEVICE, PLANE_TREE, PLANE_ENVIRONMENT };

struct plane_in {
	uint32_t input;
	uint8_t kind; /* enum plane_kind */
	bool tpu, gpu;
	struct part whole, name;
	int64_t id;
	struct map events, stats; /* by id: place in the lists below + 1 */
	uint32_t process;         /* of hosts' planes */
	struct part device_name, device_type, vendor, runtime, process_name, hostname;
	uint64_t pid, clock_khz, cores, memory, bandwidth, major, minor, rank, ranks;
	bool has_pid, has_rank, has_capability;
};

enum line_what {
	ROW_THREAD,
	ROW_QUEUE,
	ROW_DEVICE,
	ROW_RANGES,
	ROW_MESSAGES,
	ROW_COUNTERS,
	ROW_DERIVED
};

struct line_in {
	uint32_t plane;
	uint8_t what; /* enum line_what */
	struct part whole, name, display;
	int64_t id, timestamp_ns;
	uint32_t thread;
	uint32_t first; /* that it is a part of, as events of one overlapped; else itself */
};

enum entry_kind {
	ENTRY_NONE,
	ENTRY_CALL,
	ENTRY_RANGE,
	ENTRY_PROCESS_RANGE,
	ENTRY_MARK,
	ENTRY_DISPATCH,
	ENTRY_COPY,
	ENTRY_SYNC,
	ENTRY_MEMORY,
	ENTRY_COUNTER,
	ENTRY_COMM,
	ENTRY_SCOPE, /* that no event tells of, but its work */
};

struct entry {
	int64_t start, end;
	uint64_t key;  /* of calls and device work: correlation */
	int64_t scope; /* that the event names; of ranges: the one it is */
	const uint8_t *data;
	uint32_t length;
	uint32_t line;
	uint32_t up;      /* entry that it lies in, + 1; of device work: its call, + 1 */
	uint32_t what;    /* of calls: the op; of counters: the counter; of scopes: the name */
	uint32_t process; /* of the trace */
	uint8_t kind;     /* enum entry_kind */
	bool correlated;
};

/* "child lies in parent", of the tree of a file. */
struct edge {
	int64_t child, parent;
	uint32_t input;
	uint8_t state;
};

struct reader {
	const struct format_options *o;
	struct inputs in;
	struct trace *t;
	struct make_activities model;
	struct text scratch;

	struct plane_in *planes;
	uint32_t plane_count, plane_room;
	struct line_in *lines;
	uint32_t line_count, line_room;
	struct event_name *event_names;
	uint32_t event_name_count, event_name_room;
	struct stat_meta *stat_names;
	uint32_t stat_name_count, stat_name_room;
	struct map known; /* of enum stat_name, by hash of the name */

	struct entry *entries;
	uint32_t count, room;
	uint32_t *order, picked;

	struct edge *edges;
	uint32_t edge_count, edge_room;
	struct map edge_places; /* by hash of file and child: place + 1 */
	struct map own_scopes;  /* by hash of process and id: entry + 1 */

	struct map strings, threads, ops, agents, queues, kernels, counters, calls, pids;
	uint32_t *threads_of;
	int64_t *last_scope; /* by process: numbers so far of ranges that have none */
	uint64_t largest_call;
	int64_t window[2];
	bool dated;       /* times are since 1970 */
	int64_t shift;    /* added to the files' times */
	uint64_t wrong;   /* fields of a type that is not theirs */
	uint64_t damaged; /* messages that end too early, or are none */
	uint32_t scope_domain;
	struct names left_out; /* names of stats that have no place */
	struct unplaced unplaced;
	bool failed;
};

/* ---- read_planes.c --------------------------------------------------------------------------- */

/* Finds planes, lines and names of all files. */
void xread_planes(struct reader *r);
/* The value of a stat, of the plane; false: it has none. */
bool xread_stat(struct reader *r, const struct plane_in *p, struct part stat, struct stat_value *v);
const struct event_name *xread_event_name(const struct reader *r, const struct plane_in *p,
					  int64_t id);
/* Stats of the event, then those of its name. */
struct stat_walk {
	const struct plane_in *plane;
	struct proto_walk w;
	struct part later;
	uint32_t field;
};
struct stat_walk xread_stat_walk(const struct reader *r, const struct entry *e);
bool xread_next_stat(struct reader *r, struct stat_walk *w, struct stat_value *v);
void xread_stats(struct reader *r, const struct entry *e, struct stats *out);
static inline const struct stat_value *stat_of(const struct stats *s, enum stat_name name)
{
	return s->there >> name & 1 ? &s->of[name] : NULL;
}
/* Numbers of any kind; 0 where there is none. */
uint64_t stat_unsigned(const struct stats *s, enum stat_name name);
struct part stat_text(const struct stats *s, enum stat_name name);

/* ---- read_events.c --------------------------------------------------------------------------- */

void xread_events(struct reader *r);
/* Of ranges and marks. */
struct part xread_domain(const struct reader *r, const struct entry *e, const struct stats *s);
struct part xread_name(const struct reader *r, const struct entry *e);
/* A word of "a:1 b:2"; a number of it. */
bool xread_detail(struct part details, const char *key, struct part *out);
uint64_t xread_detail_number(struct part details, const char *key);

/* ---- read_define.c --------------------------------------------------------------------------- */

uint32_t xread_text(struct reader *r, struct part text);
const char *xread_kept(struct reader *r, struct part text); /* the text, as long as the trace */
void xread_define_processes(struct reader *r);
uint32_t xread_default_process(struct reader *r, uint32_t input);
uint32_t xread_process_of_pid(struct reader *r, uint32_t input, uint64_t pid);
void xread_thread(struct reader *r, struct line_in *l);
uint32_t xread_op(struct reader *r, const struct entry *e, const struct stats *s);
uint32_t xread_counter(struct reader *r, uint32_t process, uint32_t agent, struct part name);
uint32_t xread_agent(struct reader *r, uint32_t process, uint32_t plane); /* plane: + 1, 0: none */
uint32_t xread_device_plane(const struct reader *r, uint32_t input,
			    const struct stat_value *number);
uint32_t xread_queue(struct reader *r, uint32_t process, uint32_t line);
uint32_t xread_kernel(struct reader *r, uint32_t process, struct part name);
/* Counts a stat that its record has no field for. */
void xread_count_stat(struct reader *r, struct part name);
void xread_complete(struct reader *r);

/* ---- read_order.c ---------------------------------------------------------------------------- */

bool xread_order(struct reader *r);
void xread_add_edge(struct reader *r, uint32_t input, int64_t child, int64_t parent);
/* The scope around that one, as the tree has it; 0: it is outermost, or not there. */
int64_t xread_parent_scope(const struct reader *r, uint32_t input, int64_t child);
uint32_t xread_own_scope(const struct reader *r, uint32_t process, int64_t id); /* entry + 1 */
uint32_t xread_call(const struct reader *r, uint32_t process, uint64_t key);    /* entry + 1 */
struct entry *xread_add_entry(struct reader *r);

/* ---- read_emit.c ----------------------------------------------------------------------------- */

/* What a call's argument of that stat is called; empty: it is none, but says something of the event itself. */
struct part xread_argument(const struct stat_value *v);

kymo_status_t xread_emit(struct reader *r, struct stream_sink *sink);

#endif
