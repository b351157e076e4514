/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of one Perfetto file being written, shared by the parts of this folder.
 *
 * Four packet sequences, each with its own interned strings and running clock:
 *   host     track descriptors, calls and other host intervals, instants; written as they come
 *   sample   samples of call stacks; likewise
 *   device   dispatches and copies; sorted by device start in a spool, written at the end
 *   counter  memory in use, outstanding work; likewise
 * so memory is bounded by what is open at once, never by the length of the trace.
 */
#ifndef FORMATS_PERFETTO_WRITER_H
#define FORMATS_PERFETTO_WRITER_H

#include "formats/perfetto/own.h"
#include "formats/format.h"
#include "base/map.h"
#include "stream/kernel_values.h"
#include "formats/perfetto/live.h"
#include "formats/perfetto/packet.h"
#include "formats/perfetto/stacks.h"
#include "formats/perfetto/around.h"
#include "stream/spool.h"
#include "stream/unplaced.h"

/* A slice that has begun. */
struct open_slice {
	int64_t start, end;
	const struct packet_sequence *sequence; /* that it was written to */
	char *name; /* of an output in parts: what begins it again; else NULL */
	const char *category;
	uint64_t flow; /* that its end takes part in: an arrow goes from what is earlier */
};

/* A row on which slices nest properly: END events always mean the slice begun last. */
struct lane {
	uint64_t uuid;
	int64_t from;            /* nothing can begin before: latest begin or end so far */
	struct open_slice *open; /* the innermost (which ends first) last */
	uint32_t depth, room;
	uint32_t described; /* in the part of this number - 1 */
};

struct track {
	struct lane *lanes; /* the first has the track's own uuid */
	uint32_t lane_count, lane_room;
};

struct pending_end {
	int64_t time;
	uint32_t track, lane;
};

struct counter {
	uint64_t uuid;      /* 0: not described yet */
	uint32_t described; /* in the part of this number - 1 */
	int64_t value;
};

enum { MEMORY_KINDS = 8 };

/* What is written later takes about so many bytes: a value, a piece of device work. */
enum { POINT_BYTES = 24, WORK_BYTES = 224, WORK_BYTES_BARE = 64 };

enum track_owner {
	TRACK_OF_QUEUE,
	TRACK_OF_AGENT,
	TRACK_OF_CONTEXT,
	TRACK_OF_KIND, /* of memory of an agent: index agent * MEMORY_KINDS + kind */
	TRACK_OWNERS,
	TRACK_OF_VALUE = TRACK_OWNERS /* of values.c */
};

/* Values of one counter of one owner (a track): see values.c. */
struct series {
	uint64_t uuid;      /* 0: not described yet */
	uint32_t described; /* as struct counter's */
	double value;
	uint32_t counter, op, owner;
	uint64_t instance;
	bool rate;
};

struct series_table {
	struct series *list;
	uint32_t count, room;
	struct map places; /* by hash: index + 1 */
};

/*
 * An output in parts, each a file that opens alone: what is written at a time goes into the part of that
 * time. Each phase (host, device, counters) goes through the parts in order.
 */
struct parts {
	char *folder;          /* NULL: one file */
	uint64_t every, bytes; /* ns of a part, or bytes that one should have at most */
	int64_t *ends;         /* of parts by bytes: of all but the last */
	uint32_t count, room;
	uint32_t now;      /* that is written */
	uint32_t opened;   /* + 1: whose file is open */
	uint64_t expected; /* bytes that what was submitted in it will take */
	bool fixed;        /* by bytes: there are no further ones */
	uint8_t *made;     /* one for each: its file is there */
	uint32_t made_room;
};

struct perfetto {
	struct stream_sink sink; /* first: callbacks cast it back */
	struct stream_log *log;
	struct unplaced unplaced;
	char *path; /* NULL: standard output */
	bool finished;
	bool device_only;
	bool by_device; /* queues have no rows */
	bool no_args;
	const struct trace *trace;
	struct packet_file file;
	struct parts parts;
	struct packet_sequence host, device, counter, sample;

	int32_t *pids;        /* by process: as the file has them */
	struct track *tracks; /* processes, threads, agents, queues; uuid is index + 1 */
	uint32_t track_count;
	uint64_t next_uuid;
	struct pending_end *ends; /* binary heap */
	uint32_t end_count, end_room;

	struct open_slice *opened; /* by the event that is being made */
	struct around around;
	struct stacks stacks;

	struct spool work, points;
	struct live live, kinds; /* of allocations: bytes, kind of memory */
	uint16_t *kinds_seen;    /* of agents: bits of kinds of memory */
	struct counter *counters[TRACK_OWNERS];
	struct series_table series;
	struct kernel_values kernel_values;
	struct packet packet;
};

/* ---- tracks.c ---------------------------------------------------------------------------- */

/* Allocates the tracks of the trace. */
kymo_status_t tracks_init(struct perfetto *p);
/* Describes those that need no event for it, in a file that has begun. */
void tracks_describe(struct perfetto *p);
void tracks_release(struct perfetto *p);

/* Track of a thread, or its process where the thread is not known. */
uint32_t track_of_thread(const struct perfetto *p, uint32_t process, uint32_t thread);
uint32_t track_of_process(const struct perfetto *p, uint32_t process);
/* Of the times in which the process was not recorded. */
uint32_t track_of_pauses(const struct perfetto *p, uint32_t process);

/* Number of a thread as the file has it. */
uint32_t track_tid(const struct perfetto *p, uint32_t thread);

/* Track of device work: its queue, else its agent, else its process. */
uint32_t track_of_queue(const struct perfetto *p, uint32_t process, uint32_t agent, uint32_t queue);

/* Describes lane `uuid` (not the first) of a track. */
void track_describe_lane(struct perfetto *p, uint32_t track, uint64_t uuid);

/* Sets a counter's track up on first use and returns it. */
struct counter *track_counter(struct perfetto *p, enum track_owner set, uint32_t index);

/* Describes the track of a counter whose unit is a text. */
void track_describe_value(struct perfetto *p, uint64_t uuid, uint32_t parent, const char *name,
			  const char *unit, int32_t rank);

/* Name of a queue or agent for people, into `out`. */
void queue_name(const struct perfetto *p, uint32_t queue, char *out, size_t size);
void agent_name(const struct perfetto *p, uint32_t agent, char *out, size_t size);

/* ---- lanes.c ----------------------------------------------------------------------------- */

/*
 * Before an event at `time` is written to the sequence: writes the ends of all slices that end until then,
 * and where parts of the output end, goes into the next one. INT64_MAX: to the end.
 */
void timeline_reach(struct perfetto *p, struct packet_sequence *s, int64_t time);

/* packet_end() of an event that may have opened a slice. */
void slice_end_of_begin(struct perfetto *p);

/* ---- parts.c ----------------------------------------------------------------------------- */

/* The output of the options; afterwards parts_use() opens what is written to. */
kymo_status_t parts_init(struct perfetto *p, const struct format_options *o);

/* Opens the file of the part that is written, if it is another one, and begins the sequence in it. */
void parts_use(struct perfetto *p, struct packet_sequence *s);

/* End of the part that is written; INT64_MAX: there is no other. */
int64_t parts_end(const struct perfetto *p);

/* At `time`, ends the part that is written if it has the bytes that it should have. */
void parts_full(struct perfetto *p, const struct packet_sequence *s, int64_t time);

/* Goes on to the part of `time`, nothing being in those between. */
void parts_skip(struct perfetto *p, int64_t time);

/* The file of the part that is written is there. Begin of the last one whose is. */
bool parts_made(const struct perfetto *p);
int64_t parts_last(const struct perfetto *p);

/* What is written next begins in front, or at `time`. */
void parts_rewind(struct perfetto *p);
void parts_go(struct perfetto *p, int64_t time);

/* Closes what is open; removes it where the output is not whole. */
void parts_finish(struct perfetto *p);
void parts_release(struct perfetto *p);

/*
 * Finds the first lane of `track` on which [start, end] neither crosses nor (unless `nests`)
 * overlaps an open slice, opens it there and returns the lane's uuid; 0: too many at once. An end
 * of INT64_MAX stays open.
 */
uint64_t lane_open(struct perfetto *p, const struct packet_sequence *s, uint32_t track,
		   int64_t start, int64_t end, bool nests);

/* ---- annotate.c -------------------------------------------------------------------------- */

/* Arguments and properties of a host record, for the event being built. */
void annotate_record(struct perfetto *p, const struct rec *r);

/* The scope that it lies in: its number and path (0: not known). */
void annotate_scope(struct perfetto *p, int64_t scope, uint32_t path);

/* ---- marker.c ---------------------------------------------------------------------------- */

/* Name and categories of a marker, then its values. */
void marker_put_name(struct perfetto *p, const struct rec_marker *r);
void annotate_marker(struct perfetto *p, const struct rec_marker *r);

/* Flow that ties call `correlation` of `process` to its device work. */
uint64_t flow_id(uint32_t process, uint64_t correlation);
/* Flow from the send to the receive of a message (rec_comm.match). */
uint64_t flow_of_message(uint64_t match);

/* ---- device.c ---------------------------------------------------------------------------- */

/* `directory` is where more than fits into memory goes. */
kymo_status_t device_init(struct perfetto *p, const char *directory);

kymo_status_t device_dispatch(struct perfetto *p, const struct rec_dispatch *r);
kymo_status_t device_copy(struct perfetto *p, const struct rec_copy *r);
kymo_status_t device_unfinished(struct perfetto *p, const struct t_unfinished *u);
/* Recording was paused. */
kymo_status_t device_pause(struct perfetto *p, const struct t_pause *pause);
kymo_status_t device_allocation(struct perfetto *p, const struct rec_allocation *r);

/* A value for the counter sequence, at `time`. */
kymo_status_t device_point(struct perfetto *p, enum track_owner set, uint32_t index, int64_t time,
			   double value);

/* Writes the device and counter sequences. */
kymo_status_t device_finish(struct perfetto *p);

/* ---- values.c ---------------------------------------------------------------------------- */

/* The counter of the record is known, so that it has a track. */
bool values_draws(const struct perfetto *p, const struct rec_counter *r);
kymo_status_t values_add(struct perfetto *p, const struct rec_counter *r);
/* uuid of the series' track, which is described when it is asked for first. */
uint64_t values_track(struct perfetto *p, uint32_t index);
void values_release(struct perfetto *p);

#endif
