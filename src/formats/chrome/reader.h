/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader's state. The format has no order and may name things after they are used, so the file is
 * read once: what records need of each event goes to a temporary file (details), and to an entry of
 * sizeof(struct entry) bytes in memory. Then entries are sorted, pairs are found, calls and ranges nested,
 * device work given to its process, and records handed on in the order of their ends.
 *
 *   parse.c     an event's members
 *   events.c    what kind it is, by phase and category (docs/chrome.md has the table)
 *   define.c    processes, threads, devices, ...: what records refer to
 *   own.c       what Kymo's own files say besides
 *   order.c     pairs, nesting, the submitting calls
 *   emit.c      records
 *   read.c      the file as a whole
 */
#ifndef FORMATS_CHROME_READER_H
#define FORMATS_CHROME_READER_H

#include "base/map.h"
#include "stream/source.h"
#include "formats/format.h"
#include "stream/keyed.h"

/* An event as it stands in the file. */
struct event {
	char phase; /* 0: none */
	struct span name, category, pid, tid, id, scope, args, stack;
	int64_t time, duration;
	bool has_time, has_duration;
};

enum entry_kind {
	ENTRY_NONE, /* paired off, or of no use */
	ENTRY_CALL,
	ENTRY_RANGE,
	ENTRY_BEGIN, /* until pairs are found: becomes a range, or a call */
	ENTRY_END,
	ENTRY_ASYNC_BEGIN, /* likewise: becomes a range of its process */
	ENTRY_ASYNC_END,
	ENTRY_PROCESS_RANGE,
	ENTRY_MARK,
	ENTRY_DISPATCH,
	ENTRY_COPY,
	ENTRY_SYNC,
	ENTRY_MEMORY,
	ENTRY_COUNTER,
	ENTRY_MESSAGE_BEGIN, /* as ENTRY_ASYNC_BEGIN: becomes a message */
	ENTRY_MESSAGE,       /* details: struct message_details */
	ENTRY_OPEN_CALL,     /* number: its place in the trace's list, likewise of: */
	ENTRY_UNFINISHED,
	ENTRY_SAMPLE, /* details: name the stack, domain the processor, category in the kernel, external the pc */
};

struct entry {
	int64_t start, end; /* ns, of the file */
	uint64_t key; /* of calls, device work: correlation; of pairs: what is the same for both */
	/* details: where they lie */
	uint64_t details : 54, kind : 8, correlated : 1, left_open : 1;
	uint32_t thread; /* of the trace; of device work: of its call, 0: not known */
	uint32_t up;     /* entry that it lies in, + 1; of device work: its call, + 1 */
	/* Around it, + 1: of what lies in a range the call, of what lies in a call the range. Of device work: `placed`. */
	uint32_t other;
	uint32_t number; /* of ranges: the scope, in its process; of memory: `placed` */
};

/* What emit.c needs besides. Of calls and ranges `values` bytes follow: see values_pack(). */
struct details {
	uint64_t external;
	uint32_t name, domain, category; /* strings */
	uint32_t op;                     /* of calls */
	uint32_t counter;
	uint32_t values;
	double value;
};

/* Where device work was done, as the file says it, until its process is known. */
struct place {
	int64_t device, stream;
	bool has_device, has_stream;
	uint64_t row; /* key of the row's name, see reader_row_key() */
};

struct device_details {
	struct details base;
	struct place place, from, to;          /* from, to: of copies between devices */
	uint64_t grid[3], block[3], global[3]; /* global: 0 where it is their product */
	uint64_t registers, shared, static_shared, local, graph, graph_node, bytes, count;
	uint64_t address;
	uint32_t op;      /* of its domain: COPY_OP_READ ... */
	uint32_t process; /* that it names; 0: none */
	uint8_t source_kind, destination_kind;
	uint8_t untimed; /* UNTIMED_...: its time is when it was submitted */
	bool unfinished; /* likewise: it was never seen to finish */
	bool launch;     /* registers and what follows are known */
};

/* Of device work and memory: what it belongs to, which order.c finds when all events are known. */
struct placed {
	uint32_t process, agent, queue, kernel, source_agent, destination_agent;
	union {
		uint64_t bytes;      /* of copies */
		uint64_t allocation; /* of memory */
	};
};

struct message_details {
	uint64_t correlation, sent, received, completed_by, request, probe, external;
	int32_t peer, tag;
	uint32_t op, communicator, datatype, partitions, state;
};

/* A device as "deviceProperties" has it. */
struct device {
	int64_t id;
	uint32_t name, runtime, type; /* strings */
	const char *properties;
};

/* Of Kymo's own files: a counter in the row of a device. */
struct device_counter {
	uint32_t process, thread, agent;
};

/* What was not taken, by what and why. */
struct left_out {
	char text[96];
	uint64_t count;
};

struct reader {
	const struct format_options *o;
	struct source source;
	struct trace *t;
	struct make_activities model;
	struct text scratch, other;
	struct text packed; /* values of the event that is being read */

	struct entry *entries;
	uint32_t count, room;
	uint32_t *order, picked;
	int details_file;
	const uint8_t *mapped; /* details */
	uint64_t details_size;
	struct text details_buffer; /* what is still to be written */

	struct placed *placed; /* by entry, see there */
	uint32_t placed_count, placed_room;
	uint32_t fallback; /* process of what is of no thread */

	struct keyed keyed;
	struct map ops, agents, calls, rows, communicators;
	struct map device_rows; /* of Kymo's own files: rows of devices, which are no processes */
	struct map device_counter_names; /* likewise, by reader_counter_key(): place below, + 1 */
	struct device_counter *device_counters;
	uint32_t device_counter_count, device_counter_room;
	uint64_t messages;
	struct device *devices;
	uint32_t device_count, device_room;
	struct left_out *left_out;
	uint32_t left_out_count, left_out_room;
	uint64_t malformed; /* events that could not be read */

	uint64_t largest_call; /* of the correlations that are taken */
	uint32_t *scopes;      /* by process: ranges so far */
	int64_t window[2];     /* when the other tool recorded, where it says */
	int64_t base;          /* ns since the epoch of the file's zero; 0: not known */
	int64_t shift;         /* added to the file's times */
	uint32_t rank, ranks, hostname, program; /* the last two strings */
	uint64_t hip, cuda, other_runtimes;      /* calls */
	bool array, open_end, trailing;          /* trailing: something comes after the end */
	uint64_t wrong;                          /* values that are no numbers from 0 up */
	bool no_room;                            /* for the details, which was told */
	bool failed;                             /* no memory, or no room for the details */
};

/* ---- parse.c --------------------------------------------------------------------------------- */

/* False: it is no event. */
bool event_parse(struct span value, struct event *e);
/* A member of its args. */
bool event_arg(const struct event *e, const char *name, struct span *value);

/* ---- events.c -------------------------------------------------------------------------------- */

void reader_event(struct reader *r, const struct event *e);
/* Writes the rest of the details. */
bool reader_flush(struct reader *r);
/* A number of the event's args; 0 where it is none, which is counted, and where there is none. */
uint64_t reader_unsigned(struct reader *r, const struct event *e, const char *name);
/* Counts what is not taken. */
void reader_leave_out(struct reader *r, const char *format, const char *what, size_t n);

struct entry *reader_add_entry(struct reader *r, const struct event *e, enum entry_kind kind);
/* Where they lie. */
uint64_t reader_put_details(struct reader *r, const void *d, size_t n);
/* What a begin (phase b) and its end have in common. */
uint64_t reader_async_key(struct reader *r, const struct event *e);

/* ---- own.c ------------------------------------------------------------------------------------ */

/* Metadata of Kymo's own files: of a process its rank, of a row that it is a device's; whose a counter is. */
void reader_label_process(struct reader *r, const struct event *e);
void reader_label_counter(struct reader *r, const struct event *e);
/* Whose a counter is: it may stand in the row of a device. */
struct device_counter reader_whose_counter(struct reader *r, const struct event *e);
/* Of device work whose call is not there. */
static inline uint32_t reader_process_of(const struct reader *r, const struct device_details *d)
{
	return d->process ? d->process : r->fallback;
}

/* The process that device work names; 0: it names none. */
uint32_t reader_named_process(struct reader *r, const struct event *e);
/* Who did what stands in the row of a device that is no device work: a thread of that name. */
uint32_t reader_row_thread(struct reader *r, const struct event *e);
/* Another: a communicator. */
void reader_communicator(struct reader *r, const struct event *e);
bool reader_is_message(const struct event *e);
void reader_message(struct reader *r, const struct event *e);
void reader_take_untimed(const struct event *e, struct device_details *d);
/* Calls and work that never finished, once calls and devices are known. */
void reader_list_under_way(struct reader *r);
kymo_status_t reader_emit_message(struct reader *r, const struct entry *e, struct rec base,
				  struct stream_sink *sink);
/* What files of other tools cannot say of calls of MPI. */
void reader_tell_ranks(const struct reader *r);

/* ---- define.c -------------------------------------------------------------------------------- */

/* The string of a JSON string, of other values as they stand; 0 of "". */
uint32_t reader_string(struct reader *r, struct span value);
uint32_t reader_text(struct reader *r, const char *s, size_t n);
uint32_t reader_process(struct reader *r, struct span pid);
uint32_t reader_thread(struct reader *r, struct span pid, struct span tid);
uint32_t reader_op(struct reader *r, const char *domain, const struct event *e);
uint32_t reader_counter(struct reader *r, uint32_t process, uint32_t agent, uint32_t name);
uint32_t reader_agent(struct reader *r, uint32_t process, const struct place *p);
uint32_t reader_queue(struct reader *r, uint32_t process, const struct place *p);
uint32_t reader_kernel(struct reader *r, uint32_t process, uint32_t name);
/* Under which names of rows are known, which may come later. */
uint64_t reader_row_key(struct span pid, struct span tid);
uint64_t reader_process_key(struct span pid);
uint64_t reader_counter_key(struct span pid, struct span name, struct span id);
void reader_name_row(struct reader *r, const struct event *e);
void reader_top_member(struct reader *r, struct span key, struct span value);
/* Times, names and ranks of processes and threads, once all events are known. */
void reader_complete(struct reader *r);

/* Arguments that are no values of the program's, or said elsewhere. */
bool reader_is_own_arg(struct span key);

/* ---- order.c --------------------------------------------------------------------------------- */

bool reader_order(struct reader *r);
/* The call of that number in that process, + 1; 0: none. */
uint32_t reader_call(const struct reader *r, uint32_t process, uint64_t key);
static inline const struct details *details_of(const struct reader *r, const struct entry *e)
{
	return (const struct details *)(const void *)(r->mapped + e->details);
}
/* The values behind them. */
static inline const uint8_t *details_bytes(const struct reader *r, const struct entry *e)
{
	return r->mapped + e->details + sizeof(struct details);
}
static inline const struct device_details *device_of(const struct reader *r, const struct entry *e)
{
	return (const struct device_details *)(const void *)(r->mapped + e->details);
}
static inline const struct placed *placed_of(const struct reader *r, const struct entry *e)
{
	return &r->placed[e->kind == ENTRY_MEMORY ? e->number : e->other];
}

static inline const struct message_details *message_of(const struct reader *r,
						       const struct entry *e)
{
	return (const struct message_details *)(const void *)(r->mapped + e->details);
}

/* ---- emit.c ---------------------------------------------------------------------------------- */

kymo_status_t reader_emit(struct reader *r, struct stream_sink *sink);

#endif
