/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer's state. A plane is one message, whose length stands in front of it, and so is a line: nothing of
 * the file can be written before all records are there. Until then events lie in a temporary file as they came,
 * and sorted keys of them in a spool. At the end they are written in order into a second one, with what only the
 * whole says (names of the scopes around them, which line of those that overlap), and then lines and planes go out.
 *
 *   write.c          the sink, the file
 *   write_records.c  records as events
 *   write_event.c    an event, and its stats
 *   write_scopes.c   scopes: their tree, XLA's names among them
 *   write_lines.c    sorting, lines that overlap
 *   write_planes.c   planes, their names and properties
 */
#ifndef FORMATS_XSPACE_WRITER_H
#define FORMATS_XSPACE_WRITER_H

#include "formats/xspace/names.h"
#include "formats/xspace/occupancy.h"
#include "formats/xspace/xspace.h"
#include "formats/xspace/xspace.pb-c.h"
#include "stream/output.h"
#include "stream/spool.h"
#include "stream/unplaced.h"

enum {
	STATS_MAX = 96,       /* of an event */
	LANES_MAX = 64,       /* lines beside each other where events of one overlap */
	TEXTS_MAX = 1u << 16, /* of stats of a plane; further ones stand in the events */
};

struct plane {
	char *name;
	int64_t id;
	uint32_t file;  /* number of `files` */
	uint32_t next;  /* of its file: + 1; 0: none */
	uint32_t lines; /* the first that has events: + 1 */
	struct names events, stats;
	struct text properties; /* packed stats */
};

/* What a queue's line has, for its name. */
enum work {
	WORK_KERNEL,
	WORK_H2D,
	WORK_D2H,
	WORK_D2D,
	WORK_P2P,
	WORK_H2H,
	WORK_MEMSET,
	WORK_OTHER,
	WORKS
};

struct lane {
	uint64_t bytes;
	int64_t *ends; /* of events that are not over, the innermost last */
	uint32_t depth, room;
};

struct line {
	uint32_t plane; /* + 1; 0: nothing is on it */
	uint32_t works; /* bits of enum work */
	struct lane *lanes;
	uint32_t lane_count, lane_room;
	uint32_t next;        /* of its plane: + 1; 0: none */
	uint64_t from, bytes; /* where its events lie in the second file */
};

/* Of a folder one for each host; else there is one. */
struct file {
	const char *host;
	uint32_t planes;     /* the first: + 1 */
	uint32_t numbers[2]; /* so many devices that are no GPUs, and GPUs */
	struct text warnings;
};

/* A scope that is known by its range, or by what lies in it. */
struct scope {
	int64_t id, parent; /* of its process */
	uint32_t process;
	uint32_t next;       /* of its process: + 1, once all are there; 0: none */
	uint32_t name;       /* text of `texts`; 0: no range of it is there */
	uint32_t module, op; /* of XLA's names, likewise; 0: it says none */
	int64_t program, step;
	bool has_program, has_step;
	uint8_t state; /* of the walk that looks for cycles */
};

/* As it lies in the spool. */
struct item {
	struct spool_key key; /* time: the start */
	int64_t end;
	uint64_t offset;
	int64_t scope;
	uint32_t length, line, plane, process;
	bool device;
};

/* Bytes that only grow, then are looked at. */
struct pile {
	int fd;
	uint64_t written;
	struct text buffer;
	uint8_t *mapped;
	uint64_t seen; /* bytes looked at since its pages were let go */
};

struct xspace_writer {
	struct stream_sink sink; /* first */
	struct format_options o;
	struct output out;
	bool open, failed; /* failed: no memory */
	int error;         /* of the temporary files: errno, 0: none */
	const struct trace *t;
	int64_t base; /* ns since 1970 of the trace's origin */

	bool folder; /* a file for each host */
	struct file *files;
	uint32_t file_count;
	struct names hosts;
	struct plane *planes; /* of processes, then of devices */
	uint32_t plane_count;
	uint32_t *devices;     /* by agent: its device's plane; 0: none */
	bool *pointers;        /* by agent: a queue of it has a pointer for its handle */
	bool *other_thread;    /* by thread: one before it has the same id */
	struct limits *limits; /* by agent */
	struct occupancy_memo occupancy;
	struct line *lines;
	uint32_t line_count;
	struct spool spool;
	struct pile events, sorted;

	struct scope *scopes; /* base/bulk.h, as scope_places: there is one for each range */
	uint32_t scope_count, scope_room;
	uint32_t *scopes_of;     /* by process: the first, + 1, once all are there */
	struct map scope_places; /* by hash: place + 1 */
	struct names texts;

	uint64_t written; /* bytes of the file */
	struct text scratch, packed;
	struct unplaced unplaced;
};

static inline struct xspace_writer *xspace_writer_of(struct stream_sink *s)
{
	return (struct xspace_writer *)(void *)s;
}

/* ---- write_planes.c -------------------------------------------------------------------------- */

kymo_status_t planes_begin(struct xspace_writer *w);
void planes_release(struct xspace_writer *w);
/* Which plane, and number of its device, as in its name. */
uint32_t plane_of_process(const struct xspace_writer *w, uint32_t process);
uint32_t plane_of_agent(const struct xspace_writer *w, uint32_t process, uint32_t agent);
uint64_t device_number(const struct xspace_writer *w, uint32_t agent);
struct file *file_of_process(const struct xspace_writer *w, uint32_t process);
/* Puts all records in order. To be called once all are there. */
void planes_finish(struct xspace_writer *w);
/* All of a file. */
void planes_write(struct xspace_writer *w, const struct file *f);

/* Lines are numbered by what they are of. */
enum line_kind {
	LINE_THREAD,
	LINE_QUEUE,
	LINE_AGENT,    /* work of a device without a queue */
	LINE_RANGES,   /* of a process */
	LINE_MESSAGES, /* of a process */
	LINE_COUNTERS, /* of a process */
	LINE_DEVICE_COUNTERS,
};
uint32_t line_of(const struct xspace_writer *w, enum line_kind kind, uint32_t index);
/* Which it is; its index. */
enum line_kind line_kind(const struct xspace_writer *w, uint32_t line, uint32_t *index);

/* ---- write_event.c --------------------------------------------------------------------------- */

/* An event that is being put together. */
struct event {
	struct xspace_writer *w;
	struct plane *plane;
	struct item item;
	Xs__Event message;
	Xs__Stat stats[STATS_MAX], *list[STATS_MAX];
	char *owned[STATS_MAX]; /* texts that stand in the event itself */
};

void xevent_begin(struct xspace_writer *w, struct event *e, uint32_t plane, uint32_t line,
		  const char *name, size_t length, const struct rec *r, int64_t start, int64_t end);
void xevent_unsigned(struct event *e, const char *name, uint64_t v);
void xevent_signed(struct event *e, const char *name, int64_t v);
void xevent_real(struct event *e, const char *name, double v);
/* A text that other events have as well. */
void xevent_text(struct event *e, const char *name, const char *s, size_t length);
void xevent_word(struct event *e, const char *name, const char *s);
/* Arguments of the record; those whose names the event has already are called "arg:NAME". */
void xevent_fields(struct event *e, const struct rec *r);
void xevent_payload(struct event *e, const struct rec_marker *r);
void xevent_end(struct event *e);

/* What is known at the end: stats of the scopes around it, packed as a part of the event. */
void xevent_scopes(struct xspace_writer *w, const struct item *i, struct text *out);

/* Packs a part of a message into `out`, behind the head of a field of that number. */
void pack_field(struct xspace_writer *w, struct text *out, unsigned field,
		const ProtobufCMessage *m);
/* The same without the head. */
void pack_message(struct xspace_writer *w, struct text *out, const ProtobufCMessage *m);
void pack_head(struct text *out, unsigned field, uint64_t length);
size_t head_size(uint64_t length);

/* ---- write_scopes.c -------------------------------------------------------------------------- */

void scopes_add(struct xspace_writer *w, const struct rec_marker *r);
/* The scope's id in the file, where several processes have the same; 0 of none. */
int64_t scope_number(struct xspace_writer *w, uint32_t process, int64_t id);
uint64_t call_number(const struct xspace_writer *w, uint32_t process, uint64_t id);
/* Leaves out what would make a circle. To be called once all are there. */
void scopes_finish(struct xspace_writer *w);
/* Up to the outermost: NULL after it. */
const struct scope *scope_find(const struct xspace_writer *w, uint32_t process, int64_t id);
const struct scope *scope_above(const struct xspace_writer *w, const struct scope *s);
/* The next edge of the tree of the process's scopes, in `out`; *place: 0 before the first. False: there is none. */
bool scopes_next(struct xspace_writer *w, uint32_t process, uint32_t *place, struct text *out);

/* ---- write_lines.c --------------------------------------------------------------------------- */

bool pile_open(struct xspace_writer *w, struct pile *p);
void pile_add(struct xspace_writer *w, struct pile *p, const void *data, size_t n);
bool pile_map(struct xspace_writer *w, struct pile *p);
/* `n` bytes were looked at: now and then pages are let go, so that memory does not grow with the file. */
void pile_seen(struct pile *p, size_t n);
void pile_release(struct pile *p);

/* Keeps what went wrong. */
void spool_failed(struct xspace_writer *w, kymo_status_t status);
int item_compare(const void *a, const void *b);
/* Writes all events, in order, into `sorted`. */
bool lines_sort(struct xspace_writer *w);
/* Puts out the events of one lane. */
void lines_put(struct xspace_writer *w, const struct line *l, uint32_t lane);

/* ---- write_records.c ------------------------------------------------------------------------- */

void records_set(struct stream_sink *s);

#endif
