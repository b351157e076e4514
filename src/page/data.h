/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a page shows, gathered from a stream of records: a tree of tracks with their rows of slices and their curves,
 * what slices are (ops), messages, and the calls that device work and messages refer to. Slices lie in the store.
 */
#ifndef PAGE_DATA_H
#define PAGE_DATA_H

#include "analysis/timeline.h"
#include "base/map.h"
#include "page/members.h"
#include "page/rows.h"
#include "stream/spool.h"
#include "stream/stream.h"
#include "stream/unplaced.h"

enum {
	PAGE_OPS_MOST = 1 << 17, /* different names of ranges, above all: more are one */
	PAGE_NAME_MOST = 4096,   /* bytes of a name that are kept */
	PAGE_DEPTH_MOST = 512,   /* calls in calls that have rows */
	PAGE_LANES_MOST = 1024,  /* pieces of work of a queue at once that have rows */
	PAGE_ROWS_MOST = 8192,
	PAGE_CURVES_MOST = 4096,
	PAGE_PROCESSES_MOST = 64, /* that are drawn */
	PAGE_APART = 4 * 64       /* classes of times between readings, four of a power of two */
};

struct page_op {
	uint32_t name;
	const char *domain, *kind; /* borrowed */
	uint64_t count, busy;
};

enum page_track_kind {
	TRACK_RANK,
	TRACK_PROCESS,
	TRACK_THREAD,
	TRACK_DEVICE,
	TRACK_QUEUE,
	TRACK_GROUP
};

struct page_track {
	uint32_t parent; /* UINT32_MAX: none */
	uint32_t process;
	uint32_t number; /* of a thread, a queue: in the trace; else 0 */
	enum page_track_kind kind;
	char *label;
	uint32_t sort; /* among those of its parent */
	/* Rows by depth, and those for what crosses the slices that it lies in. */
	uint32_t *rows, *lanes;
	uint32_t row_count, row_room, lane_count, lane_room;
	int64_t *open; /* ends of the slices that are open, by depth */
	uint32_t depth, open_room;
};

struct page_row {
	uint32_t track, depth;
	struct page_chain *slices;
	int64_t last; /* end */
	uint64_t busy;
};

enum page_curve_kind { CURVE_MEMORY, CURVE_TELEMETRY, CURVE_COUNTER };

struct page_curve {
	uint32_t track;
	enum page_curve_kind kind;
	bool step;
	uint32_t counter, op; /* of the trace; of memory: kind of it */
	uint64_t instance;
	char *name, *unit;
	uint32_t
		base; /* bytes of the name that are the counter's: the rest tells its instances apart */
	bool level; /* not counted: W, not J */
	double min, max;
	double sum; /* of what was read: of what is counted, all of it */
	uint64_t readings;
	struct page_chain *points; /* NAN: nothing was measured from there on */
	/* Of what is read time and again, while readings come: */
	uint32_t *
		apart; /* number of readings by the time since the one before, PAGE_APART classes; owned */
	int64_t read;  /* when the one before was read */
	int64_t known; /* until when the last point stands */
};

/* Where a call is drawn. */
struct page_call {
	uint64_t id;
	uint32_t row, index;
};

struct page_calls { /* of a process */
	struct page_call *at;
	uint32_t count, room;
	bool mixed;  /* their ids do not ascend: to be sorted */
	bool wanted; /* something refers to them */
};

struct page_end { /* of a message whose other end is not there yet */
	uint64_t call, bytes;
	int64_t start;
	uint32_t process;
	bool sends;
};

/* What the spool of points holds: readings do not come in order of the times that they stand for. */
struct page_reading {
	struct spool_key key;
	int64_t duration; /* that it is of, 0: it stands until the next */
	double value;
	uint32_t curve;
};

struct page_data {
	struct stream_sink sink; /* first */
	const struct trace *t;
	struct page_store store;
	struct stream_log *log;
	const bool *draws; /* by process; NULL: all are drawn */
	const uint32_t
		*like; /* by process: those not drawn that it stands for; NULL: all are drawn */
	struct members *members; /* what the others do; NULL: nobody asks */
	int64_t origin;
	uint64_t length; /* ns */
	uint64_t records;
	uint64_t apart; /* of them, of processes that are not drawn */

	char **names;
	uint32_t name_count, name_room;
	struct map name_of; /* by hash */
	struct page_op *ops;
	uint32_t op_count, op_room;
	struct map op_of;                        /* by hash */
	uint32_t *of_op, *of_kernel, *of_string; /* of the trace: op + 1 */

	struct page_track *tracks;
	uint32_t track_count, track_room;
	uint32_t *of_process, *of_thread, *of_queue, *of_agent, *of_gaps; /* track + 1 */
	struct page_row *rows;
	uint32_t row_count, row_room;

	struct page_curve *curves;
	uint32_t curve_count, curve_room;
	struct map curve_of;
	struct spool points;

	struct page_calls *calls; /* by process */
	bool refers;              /* the trace may have something that refers to calls */
	uint32_t process_count;
	struct page_chain *messages;
	struct page_end *ends;
	uint32_t end_count, end_room, end_free;
	struct map end_of; /* by match */

	struct unplaced left; /* what the page does not show */
	bool failed;          /* memory ran out */
};

/* The sink is to read an ordered stream; temporary files lie in `directory`. */
kymo_status_t page_data_init(struct page_data *d, struct page_temporary where);
void page_data_release(struct page_data *d);

/* Of the stream only values of counters are wanted: for plots of them alone. To be called before it. */
void page_data_counters_alone(struct page_data *d);

/* After the stream: memory in use, as the run's timeline has it (NULL: there is none). Then all is in the store. */
kymo_status_t page_data_finish(struct page_data *d, const struct timeline *tl);

/* Tracks, rows, curves, ops and names stay as they are numbered; what is in them goes, for another part of the same trace. */
kymo_status_t page_data_again(struct page_data *d);

/* Where a call is drawn, or NULL. */
const struct page_call *page_data_call(const struct page_data *d, uint32_t process, uint64_t id);

/* ---- ops.c ------------------------------------------------------------------------------- */

uint32_t page_name(struct page_data *d, const char *s, size_t n);
uint32_t page_op(struct page_data *d, const char *name, size_t n, const char *domain,
		 const char *kind);
uint32_t page_op_of_record(struct page_data *d, uint32_t op);
uint32_t page_op_of_work(struct page_data *d, uint32_t op, uint32_t kernel);
uint32_t page_op_of_marker(struct page_data *d, const struct rec_marker *r);

/* ---- tracks.c ---------------------------------------------------------------------------- */

bool page_tracks_init(struct page_data *d);
void page_tracks_release(struct page_data *d);
/* Tracks, which are made when they are asked for first. UINT32_MAX: no memory. */
uint32_t page_track_of_process(struct page_data *d, uint32_t process);
uint32_t page_track_of_thread(struct page_data *d, uint32_t process, uint32_t thread);
uint32_t page_track_of_device(struct page_data *d, uint32_t process, uint32_t agent);
uint32_t page_track_of_queue(struct page_data *d, uint32_t process, uint32_t agent, uint32_t queue);
/* Of what was not recorded of a process. */
uint32_t page_track_of_gaps(struct page_data *d, uint32_t process);

/*
 * Puts a slice into a row of the track: nested in what it lies in, or beside what it overlaps. *row, *index: where it
 * is; UINT32_MAX: it has no place, which was noted.
 */
kymo_status_t page_put_nested(struct page_data *d, uint32_t track, struct page_slice *s,
			      uint32_t *row, uint32_t *index);
kymo_status_t page_put_beside(struct page_data *d, uint32_t track, struct page_slice *s,
			      uint32_t *row, uint32_t *index);

/* ---- calls.c ----------------------------------------------------------------------------- */

bool page_note_call(struct page_data *d, const struct rec *r, uint32_t row, uint32_t index);
bool page_calls_finish(struct page_data *d);

/* ---- curves.c ---------------------------------------------------------------------------- */

kymo_status_t page_counter(struct page_data *d, const struct rec_counter *r);
kymo_status_t page_memory(struct page_data *d, const struct timeline *tl);
kymo_status_t page_curves_finish(struct page_data *d);

#endif
