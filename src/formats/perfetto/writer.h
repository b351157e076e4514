/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of one Perfetto file being written, shared by the parts of this folder.
 *
 * Three packet sequences, each with its own interned strings and running clock:
 *   host     track descriptors, calls and other host intervals, instants; written as they come
 *   device   dispatches and copies; sorted by device start in a spool, written at the end
 *   counter  memory in use, outstanding work; likewise
 * so memory is bounded by what is open at once, never by the length of the trace.
 */
#ifndef FORMATS_PERFETTO_WRITER_H
#define FORMATS_PERFETTO_WRITER_H

#include "formats/format.h"
#include "base/map.h"
#include "stream/kernel_values.h"
#include "formats/perfetto/live.h"
#include "formats/perfetto/packet.h"
#include "stream/spool.h"

/* A row on which slices nest properly: END events always mean the slice begun last. */
struct lane {
	uint64_t uuid;
	int64_t from;  /* nothing can begin before: latest begin or end so far */
	int64_t *ends; /* of open slices, the innermost (earliest) last */
	uint32_t depth, room;
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
	uint64_t uuid; /* 0: not described yet */
	int64_t value;
};

enum track_owner {
	TRACK_OF_QUEUE,
	TRACK_OF_AGENT,
	TRACK_OF_CONTEXT,
	TRACK_OWNERS,
	TRACK_OF_VALUE = TRACK_OWNERS /* of values.c */
};

/* Values of one counter of one owner (a track): see values.c. */
struct series {
	uint64_t uuid; /* 0: not described yet */
	uint32_t counter, op, owner;
	uint64_t instance;
	bool rate;
};

struct series_table {
	struct series *list;
	uint32_t count, room;
	struct map places; /* by hash: index + 1 */
};

struct perfetto {
	struct stream_sink sink; /* first: callbacks cast it back */
	struct stream_log *log;
	char *path; /* NULL: standard output */
	bool finished;
	bool device_only;
	bool by_device; /* queues have no rows */
	const struct trace *trace;
	struct packet_file file;
	struct packet_sequence host, device, counter;

	int32_t *pids;        /* by process: as the file has them */
	struct track *tracks; /* processes, threads, agents, queues; uuid is index + 1 */
	uint32_t track_count;
	uint64_t next_uuid;
	struct pending_end *ends; /* binary heap */
	uint32_t end_count, end_room;

	struct spool work, points;
	struct live live;
	struct counter *counters[TRACK_OWNERS];
	struct series_table series;
	struct kernel_values kernel_values;
	struct packet packet;
};

/* ---- tracks.c ---------------------------------------------------------------------------- */

/* Allocates the tracks of the trace and describes them. */
kymo_status_t tracks_init(struct perfetto *p);
void tracks_release(struct perfetto *p);

/* Track of a thread, or its process where the thread is not known. */
uint32_t track_of_thread(const struct perfetto *p, uint32_t process, uint32_t thread);
uint32_t track_of_process(const struct perfetto *p, uint32_t process);

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

/* Writes the ends of all slices that end at or before `time`. */
void lanes_close(struct perfetto *p, struct packet_sequence *s, int64_t time);

/*
 * Finds the first lane of `track` on which [start, end] neither crosses nor (unless `nests`)
 * overlaps an open slice, opens it there and returns the lane's uuid; 0: too many at once. An end
 * of INT64_MAX stays open.
 */
uint64_t lane_open(struct perfetto *p, uint32_t track, int64_t start, int64_t end, bool nests);

/* ---- annotate.c -------------------------------------------------------------------------- */

/* Arguments and properties of a host record, for the event being built. */
void annotate_record(struct perfetto *p, const struct rec *r);

/* ---- marker.c ---------------------------------------------------------------------------- */

/* Name and categories of a marker, then its values. */
void marker_name(struct perfetto *p, const struct rec_marker *r);
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
