/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of one OTF2 export, shared by the parts of this folder:
 *
 *   write.c    the sink; what a trace says as a whole
 *   archive.c  an archive: files, memory, strings, regions, locations
 *   define.c   system tree, location groups, attributes, paradigms
 *   rows.c     intervals and points on locations, in order of time
 *   roles.c    which role the region of an operation has
 *   host.c     calls, waits, markers, what was under way
 *   device.c   kernels and copies on queues, and what synchronised these
 *   windows.c  who takes part in transfers: groups, communicators, windows
 *   mpi.c      messages
 *   epochs.c   synchronisation of MPI's windows
 *   openmp.c   teams, tasks and locks of OpenMP
 *   metrics.c  memory in use, counters
 *   details.c  arguments, payloads, call sites and stacks
 *   notes.c    what the recording warns of
 *   samples.c  samples, in an archive of their own
 *
 * Records come in order of their start. Ends are written when the next record of their location
 * shows that nothing comes before, so that memory is bounded by what is open at once.
 */
#ifndef FORMATS_OTF2_OTF2_H
#define FORMATS_OTF2_OTF2_H

#include "formats/format.h"
#include "formats/otf2/archive.h"
#include "formats/otf2/roles.h"
#include "stream/symbol.h"
#include "stream/unplaced.h"

/* X(enumerator, name, OTF2 type, description): docs/otf2.md explains them */
#define OFFLOAD "OTF2::KYMO::OFFLOAD::"
#define OTF2_ATTRIBUTES(X)                                                                         \
	X(CORRELATION_ID, OFFLOAD "CORRELATION_ID", UINT64, "of the call that submitted the work") \
	X(SUBMISSION_MODE, OFFLOAD "SUBMISSION_MODE", UINT8,                                       \
	  "0 unknown, 1 does not wait for the work, 2 waits")                                      \
	X(TASK_KIND, OFFLOAD "TASK_KIND", UINT8,                                                   \
	  "0 other, 1 kernel, 2 copy, 3 fill, 4 graph, 5 host function")                           \
	X(QUEUE, OFFLOAD "QUEUE", LOCATION, "that the work goes to, or that is waited for")        \
	X(SYNC_SCOPE, OFFLOAD "SYNC_SCOPE", UINT8, "kind of the wait: sync operation + 1")         \
	X(SYNC_COUNT, OFFLOAD "SYNC_COUNT", UINT32, "waits that one barrier stands for")           \
	X(CONFIGURATION, OFFLOAD "CONFIGURATION", STRING, "how a kernel was launched")             \
	X(PARENT, OFFLOAD "PARENT", UINT64, "launch of the graph that the work is a node of")      \
	X(GRAPH_NODE, OFFLOAD "GRAPH_NODE", UINT64, "the runtime's number of the node")            \
	X(FLAGS, OFFLOAD "FLAGS", UINT8,                                                           \
	  "1 time moved, 2 begins before its submission, "                                         \
	  "4 no device times, 8 never seen to end")                                                \
	X(UNTIMED, OFFLOAD "UNTIMED", UINT8, "why there are no device times")                      \
	X(BYTES, OFFLOAD "BYTES", UINT64, "of an operation that is no transfer")                   \
	X(QUEUED, OFFLOAD "QUEUED", UINT64, "when the work was put into its queue")                \
	X(SUBMITTED, OFFLOAD "SUBMITTED", UINT64, "when the runtime gave it to the device")        \
	X(CALL_PATH, "OTF2::KYMO::CALL_PATH", CALLING_CONTEXT, "where the call was made")          \
	X(EXTERNAL_ID, "OTF2::KYMO::EXTERNAL_ID", UINT64, "that a tool has given to the call")     \
	X(DURATION, "OTF2::KYMO::DURATION", UINT64, "ns that a value of a counter is of")          \
	X(SAMPLES, "OTF2::KYMO::SAMPLES", UINT64, "of the instruction, in one event")              \
	X(IDLE_SAMPLES, "OTF2::KYMO::IDLE_SAMPLES", UINT64, "of these: nothing could issue")       \
	X(CYCLES, "OTF2::KYMO::CYCLES", UINT64, "between two samples")                             \
	X(INSTRUCTION, "OTF2::KYMO::INSTRUCTION", UINT64, "offset in its function")                \
	X(STALL_REASON, "OTF2::KYMO::STALL_REASON", STRING, "what the kernel did")                 \
	X(SOURCE_KIND, OFFLOAD "SOURCE_KIND", STRING, "of the memory that a copy reads")           \
	X(DESTINATION_KIND, OFFLOAD "DESTINATION_KIND", STRING, "of that it writes")               \
	X(ADDRESS, OFFLOAD "ADDRESS", UINT64, "of a migration or of faults")                       \
	X(CAUSE, OFFLOAD "CAUSE", STRING, "of a migration")                                        \
	X(FAULTS, OFFLOAD "FAULTS", UINT64, "page faults that one record stands for")              \
	X(MARKER_DOMAIN, "OTF2::KYMO::MARKER_DOMAIN", STRING, "of a range or mark")                \
	X(MARKER_CATEGORY, "OTF2::KYMO::MARKER_CATEGORY", STRING, "of a range or mark")            \
	X(MARKER_COLOR, "OTF2::KYMO::MARKER_COLOR", UINT32, "of a range or mark, ARGB")            \
	X(SENT, "OTF2::KYMO::SENT", UINT64, "bytes that the call sent or wrote")                   \
	X(RECEIVED, "OTF2::KYMO::RECEIVED", UINT64, "bytes that it received or read")              \
	X(STATUS, "OTF2::KYMO::STATUS", INT32, "what a failed operation returned")                 \
	X(SCOPE, "OTF2::KYMO::SCOPE", INT64, "of a range")                                         \
	X(LOST, "OTF2::KYMO::LOST", UINT64, "records lost; 0: not known")                          \
	X(SPACE_SOURCE, "OTF2::MEMORY_SPACE_SOURCE", LOCATION_GROUP, "where a transfer reads")     \
	X(SPACE_DESTINATION, "OTF2::MEMORY_SPACE_DESTINATION", LOCATION_GROUP,                     \
	  "where a transfer writes")                                                               \
	X(ALLOCATION_SIZE, "OTF2::ALLOCATION_SIZE", UINT64, "bytes allocated")                     \
	X(RESULT_ADDRESS, "OTF2::RESULT_ADDRESS", UINT64, "address or handle of the memory")       \
	X(DEALLOCATION_SIZE, "OTF2::DEALLOCATION_SIZE", UINT64, "bytes freed")                     \
	X(ARGUMENT_ADDRESS, "OTF2::ARGUMENT_ADDRESS", UINT64, "address or handle of the memory")
enum otf2_attribute {
#define X(name, text, type, description) ATTRIBUTE_##name,
	OTF2_ATTRIBUTES(X)
#undef X
};

/* Of the archive of samples: which locations and location groups of the other its own are. */
#define PROPERTY_LOCATION "OTF2::KYMO::LOCATION"
#define PROPERTY_GROUP    "OTF2::KYMO::LOCATION_GROUP"

enum { FLAG_MOVED = 1, FLAG_EARLY = 2, FLAG_UNTIMED = 4, FLAG_UNFINISHED = 8 };

enum { MODE_UNKNOWN, MODE_SUBMITS, MODE_WAITS };

/* An interval that is open on a lane. */
struct open {
	int64_t end;
	uint64_t id; /* of the call, 0: none */
	uint32_t region, op;
	uint64_t bytes, address; /* that it allocated or freed */
	uint32_t process;
	uint8_t memory; /* 0 none, 1 allocated, 2 freed */
	bool waited;    /* for the work that it submitted */
	bool told;      /* what it sent and received is told at its Leave: */
	uint64_t sent, received;
};

/* A location on which intervals nest. */
struct lane {
	uint32_t location;
	int64_t last;      /* time of its last event */
	struct open *open; /* the innermost last */
	uint32_t depth, room;
};

enum point_kind {
	POINT_RECEIVE,
	POINT_IRECEIVE,
	POINT_ISEND_COMPLETE,
	POINT_CANCELLED,
	POINT_COLLECTIVE_END,
	POINT_ICOLLECTIVE_END,
	POINT_RMA_COMPLETE,
	POINT_MEASURE, /* on or off */
	POINT_METRIC,
	POINT_ACQUIRE,
	POINT_FENCE_END,
	POINT_WINDOW_LOCK,
	POINT_WINDOW_UNLOCK
};

/* An event that comes later than the record it is known from. */
struct point {
	int64_t time;
	uint64_t order;
	enum point_kind kind;
	uint32_t a, b, c; /* partner or root, communicator, tag or operation; by kind */
	uint64_t x, y, request;
	double value;
};

/* What has its events on one location, and on further ones where they would not nest. */
struct row {
	struct lane *lanes;
	uint32_t count, room;
	struct point *points; /* a heap */
	uint32_t point_count, point_room;
	uint64_t order;
};

/* Waits for a queue that no work has come after so far. */
struct pending {
	uint64_t correlation;
	int64_t h0, h1; /* host: first enter, last leave */
	int64_t last_h0;
	uint32_t count;
	bool implied; /* all are parts of calls that submit and wait, as blocking copies */
};

struct queue_state {
	struct pending *pending;
	uint32_t pending_count, pending_room;
	int64_t last_end;
	bool used, op_since; /* since the last wait was added */
	uint32_t barrier[2]; /* regions + 1: of waits of their own, of implied ones */
};

struct window { /* of one process and paradigm; everybody who takes part in its transfers */
	uint32_t process;
	OTF2_Paradigm paradigm;
	uint32_t *members; /* locations */
	uint32_t count, room;
	struct map ranks; /* location + 1: rank + 1 */
};

#define NO_PROCESS UINT32_MAX

struct accelerator {             /* a location group, after those of processes */
	uint32_t agent, context; /* agent NO_PROCESS: a process that nobody knows */
	uint32_t creator;        /* location group */
};

struct series { /* a metric instance */
	uint32_t klass, recorder;
	OTF2_MetricScope scope_kind;
	uint64_t scope;
};

struct configuration { /* how a kernel was launched */
	uint64_t words[17];
	uint32_t string;
};

struct otf2 {
	struct stream_sink sink; /* first: callbacks cast it back */
	struct stream_log *log;
	char *path;
	bool device_only, finished;
	bool intercomm; /* OTF2's own definition of intercommunicators, which not all readers know */
	const struct trace *t;
	struct archive archive;
	OTF2_AttributeList *attributes; /* of the Enter to come */
	OTF2_AttributeList *late;       /* of what is written before it: ends, points */
	struct unplaced unplaced;

	/* by index of the trace's lists, whose lengths at the beginning are these */
	uint32_t thread_count, process_count, queue_count, agent_count;
	struct row *threads, *processes, *queues, *agents;
	struct queue_state *queue_states;
	uint32_t *op_regions, *kernel_regions, *name_regions; /* number + 1; 0: none yet */
	const struct role **op_roles;
	uint32_t *nodes;       /* of agents: system tree node + 1 */
	int32_t *queue_fields; /* of ops: the field that names the queue; -1: none */
	int32_t *wait_fields;  /* likewise: that says whether the call waits for what it submits */
	uint32_t process_groups;

	struct map queue_handles; /* process and handle: queue */
	struct accelerator *accelerators;
	uint32_t accelerator_count, accelerator_room;
	struct map accelerator_places; /* agent and context: place + 1 */
	uint32_t node_count, root;
	struct map node_places; /* hash of name and parent: node + 1 */

	struct window *windows;
	uint32_t window_count, window_room;
	struct map window_places; /* process and paradigm: place + 1 */

	struct mpi *mpi;
	uint32_t mpi_windows;  /* their numbers come first */
	struct epochs *epochs; /* NULL: no MPI */
	struct openmp *openmp;
	struct metrics *metrics;
	struct samples *samples;
	struct symbols *symbols; /* NULL: none asked for yet */
	struct map parameters;   /* string and type: number + 1 */
	uint32_t parameter_count, detail_texts, op_count;
	uint32_t **op_parameters;           /* of ops, by field; NULL: not defined yet */
	uint32_t *stack_paths, *site_paths; /* calling context + 1 */
	struct configuration *configurations;
	uint32_t configuration_count, configuration_room;
	uint32_t last_configuration;     /* place + 1 of the one met last */
	struct map configuration_places; /* by hash: place + 1 */
};

static inline struct otf2 *otf2_of(struct stream_sink *s)
{
	return (struct otf2 *)s;
}

/* Why the archive is incomplete, told once. */
kymo_status_t otf2_status(struct otf2 *w);

/* Times before the clock's zero do not exist in OTF2. */
static inline uint64_t otf2_time(int64_t t)
{
	return t > 0 ? (uint64_t)t : 0;
}

static inline void add_u64(struct otf2 *w, enum otf2_attribute a, uint64_t v)
{
	archive_check(&w->archive, OTF2_AttributeList_AddUint64(w->attributes, a, v));
}

static inline void add_u8(struct otf2 *w, enum otf2_attribute a, uint8_t v)
{
	archive_check(&w->archive, OTF2_AttributeList_AddUint8(w->attributes, a, v));
}

static inline void add_status(struct otf2 *w, int32_t v)
{
	archive_check(&w->archive, OTF2_AttributeList_AddInt32(w->attributes, ATTRIBUTE_STATUS, v));
}

static inline void add_location(struct otf2 *w, enum otf2_attribute a, uint32_t v)
{
	archive_check(&w->archive, OTF2_AttributeList_AddLocationRef(w->attributes, a, v));
}

static inline void write_enter(struct otf2 *w, uint32_t location, int64_t time, uint32_t region)
{
	archive_check(&w->archive, OTF2_EvtWriter_Enter(archive_events(&w->archive, location),
							w->attributes, otf2_time(time), region));
}

static inline void write_leave(struct otf2 *w, uint32_t location, int64_t time, uint32_t region)
{
	archive_check(&w->archive, OTF2_EvtWriter_Leave(archive_events(&w->archive, location),
							w->late, otf2_time(time), region));
}

/* ---- define.c ------------------------------------------------------------------------------ */

kymo_status_t define_begin(struct otf2 *w);
void define_attributes(struct archive *a);
void define_end(struct otf2 *w); /* groups; before locations */
/* Location groups: of a process, and of a device as one of its contexts (0: none) sees it. */
uint32_t define_process_group(struct otf2 *w, uint32_t process);
uint32_t define_accelerator(struct otf2 *w, uint32_t agent, uint32_t context);
/* The system tree node of a device. */
uint32_t define_device(struct otf2 *w, uint32_t agent);
OTF2_Paradigm define_paradigm(const char *domain);
const struct role *define_role(struct otf2 *w, uint32_t op);
uint32_t define_new_op_region(struct otf2 *w, uint32_t op);

static inline uint32_t define_op_region(struct otf2 *w, uint32_t op)
{
	uint32_t known = w->op_regions[op];

	return known ? known - 1 : define_new_op_region(w, op);
}

/* ---- rows.c -------------------------------------------------------------------------------- */

struct row *row_of_thread(struct otf2 *w, uint32_t process, uint32_t thread);
struct row *row_of_queue(struct otf2 *w, uint32_t process, uint32_t agent, uint32_t queue);
/* The row's own location, which is made when it is asked for first. */
uint32_t row_location(struct otf2 *w, struct row *r);
/* Writes what ends or happens at or before `time`. */
void row_advance(struct otf2 *w, struct row *r, int64_t time);
/* Finds, or makes, the lane where the interval nests; what ended before is written. */
struct lane *row_open(struct otf2 *w, struct row *r, int64_t start, int64_t end, bool nests);
/* Notes that the interval is open; its Enter is written by the caller, its Leave when it is over. */
void lane_push(struct otf2 *w, struct lane *l, const struct open *o);
/* The open call `id` of the row, the innermost first; NULL: it is not open. */
struct open *row_find(struct row *r, uint64_t id);
void row_point(struct otf2 *w, struct row *r, const struct point *p);
void rows_end(struct otf2 *w);
void row_release(struct row *r);

/* ---- host.c -------------------------------------------------------------------------------- */

kymo_status_t host_call(struct stream_sink *s, const struct rec *r);
kymo_status_t host_sync(struct stream_sink *s, const struct rec_sync *r);
kymo_status_t host_marker(struct stream_sink *s, const struct rec_marker *r);
kymo_status_t host_open_call(struct stream_sink *s, const struct t_open_call *c);
kymo_status_t host_other(struct stream_sink *s, const struct rec *r);
kymo_status_t host_loss(struct stream_sink *s, const struct rec_loss *r);
void host_pauses(struct otf2 *w);
/* Which field of each op names the queue, and which handle is which queue. */
bool host_init(struct otf2 *w);

/* ---- device.c ------------------------------------------------------------------------------ */

kymo_status_t queue_dispatch(struct stream_sink *s, const struct rec_dispatch *r);
kymo_status_t queue_copy(struct stream_sink *s, const struct rec_copy *r);
kymo_status_t queue_unfinished(struct stream_sink *s, const struct t_unfinished *u);
/* The host has waited for a queue, or a device. */
void queue_waited(struct otf2 *w, const struct rec_sync *r);
void queue_end(struct otf2 *w);

/* ---- windows.c ----------------------------------------------------------------------------- */

/* The place of the window in the list; events number it after MPI's. */
uint32_t window_of(struct otf2 *w, uint32_t process, OTF2_Paradigm paradigm);
uint32_t window_rank(struct otf2 *w, uint32_t window, uint32_t location);
/* Groups, communicators and windows, from these numbers on. */
struct numbers {
	uint32_t group, comm, window;
};
void windows_end(struct otf2 *w, struct numbers *n);
void windows_release(struct otf2 *w);

/* ---- mpi.c --------------------------------------------------------------------------------- */

kymo_status_t mpi_comm(struct stream_sink *s, const struct rec_comm *r);
kymo_status_t mpi_begin(struct otf2 *w);
void mpi_point(struct otf2 *w, OTF2_EvtWriter *e, const struct point *p);
void mpi_end(struct otf2 *w, struct numbers *n);
/* How many communicators there are of MPI; theirs are the first numbers. */
uint32_t mpi_comms(const struct otf2 *w);
/* The number of a window that is a communicator of the trace; false: it is none. */
bool mpi_window(const struct otf2 *w, uint32_t communicator, uint32_t *number);
void mpi_release(struct otf2 *w);

/* ---- epochs.c ------------------------------------------------------------------------------ */

kymo_status_t epochs_begin(struct otf2 *w);
/* After the Enter of a call. */
void epochs_entered(struct otf2 *w, const struct rec *r, struct row *row, const struct lane *l);
void epochs_point(struct otf2 *w, OTF2_EvtWriter *e, const struct point *p);
void epochs_release(struct otf2 *w);

/* ---- openmp.c ------------------------------------------------------------------------------ */

kymo_status_t openmp_begin(struct otf2 *w);
/* After the Enter, before the Leave of an OpenMP operation. */
void openmp_entered(struct otf2 *w, const struct rec *r, struct row *row, struct lane *l);
void openmp_leaving(struct otf2 *w, const struct open *o, uint32_t location, uint64_t time);
void openmp_end(struct otf2 *w, struct numbers *n);
void openmp_release(struct otf2 *w);

/* ---- metrics.c ----------------------------------------------------------------------------- */

kymo_status_t metrics_begin(struct otf2 *w);
kymo_status_t metrics_allocation(struct stream_sink *s, const struct rec_allocation *r);
kymo_status_t metrics_counter(struct stream_sink *s, const struct rec_counter *r);
void metrics_point(struct otf2 *w, OTF2_EvtWriter *e, const struct point *p);
void metrics_flush(struct otf2 *w);
void metrics_end(struct otf2 *w);
void metrics_release(struct otf2 *w);

/* ---- details.c ----------------------------------------------------------------------------- */

bool details_begin(struct otf2 *w);
/* The number of a text of the program's; NO_STRING: there are too many. */
uint32_t details_text(struct otf2 *w, const char *text);
/* Parameters of the region that was entered last on the lane. */
void details_arguments(struct otf2 *w, const struct rec *r, const struct lane *l);
void details_payload(struct otf2 *w, const struct rec_marker *r, const struct lane *l);
/* Attributes of the Enter to come: where the call was made. */
void details_add_path(struct otf2 *w, const struct rec *r);
/* Calling contexts of an archive: of a site below a parent; of a stack, else of a site. */
uint32_t details_context(struct otf2 *w, struct archive *a, uint32_t parent, uint32_t site);
uint32_t details_path(struct otf2 *w, struct archive *a, uint32_t stack, enum symbols_own own,
		      uint32_t site);
void details_release(struct otf2 *w);

/* ---- notes.c ------------------------------------------------------------------------------- */

void notes_end(struct otf2 *w);

/* ---- samples.c ----------------------------------------------------------------------------- */

kymo_status_t samples_sample(struct stream_sink *s, const struct rec_sample *r);
kymo_status_t samples_device_sample(struct stream_sink *s, const struct rec_device_sample *r);
void samples_end(struct otf2 *w);
void samples_release(struct otf2 *w);

#endif
