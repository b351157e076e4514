/* SPDX-License-Identifier: Apache-2.0 */
/* One process that is followed: its raw file, its memory, what they define, what they say. */
#ifndef FOLLOW_PROCESS_H
#define FOLLOW_PROCESS_H

#include <sys/types.h>

#include "follow/follow.h"
#include "formats/raw/file.h"
#include "wire/defs.h"
#include "wire/raw.h"
#include "wire/shm.h"

enum follow_kind {
	FOLLOW_UNDEFINED = 0,
	FOLLOW_CALL,
	FOLLOW_DISPATCH,
	FOLLOW_COPY,
	FOLLOW_ALLOCATE,
	FOLLOW_FREE,
	FOLLOW_ASIDE /* not counted: samples, annotations, what other records say too */
};

/* Fields that are looked at, of whichever kind of record. */
enum follow_field {
	FIELD_AGENT,
	FIELD_QUEUE,
	FIELD_KERNEL,
	FIELD_START,
	FIELD_DURATION,
	FIELD_BYTES,
	FIELD_KIND,
	FIELD_PARENT,
	FIELD_ID,
	FIELDS
};

struct follow_op {
	char *name;
	uint64_t domain; /* id of its definition */
	uint32_t flags;  /* KYMO_OP_* */
	uint8_t kind;    /* enum follow_kind */
	bool resolved;   /* its domain was known when it was first met */
	uint8_t field_count;
	struct {
		uint8_t kind, element, size, what; /* enum follow_field + 1, 0: none */
	} fields[KYMO_FIELDS_MAX];
	uint32_t row;   /* of calls or copies, + 1 */
	uint32_t count; /* of a chunk that is being looked into: calls, and how long they took */
	uint64_t ticks;
};

struct follow_wait {
	uint64_t start, end; /* ticks */
};

enum { WAITS_KEPT = 8 };

/* How far the chunks of a thread were looked into. */
struct follow_thread {
	uint32_t index, tid;
	uint64_t seq;  /* of the chunk that comes next, or is being looked into; */
	uint32_t done; /* bytes of it */
	uint64_t tick; /* end of the last record there */
	/* The last waiting calls, which one that is around them may still come to replace. */
	struct follow_wait waits[WAITS_KEPT];
	unsigned wait_count;
};

/* Sums of all, as far as a process added to them. */
enum follow_table { TABLE_CALLS, TABLE_KERNELS, TABLE_COPIES, TABLE_DEVICES, TABLE_MEMORY, TABLES };

struct follow_parts {
	struct follow_sum *at; /* by place in the table */
	uint32_t room;
};

struct follow_call_open { /* the one that has been open longest */
	uint32_t op;
	uint64_t start; /* tick; 0: none */
};

struct follow_process {
	struct follow_recording *recording;
	char path[PATH_MAX];
	struct raw_header header;
	bool headed; /* `header` was read */
	bool aside;  /* no process of a program */
	int fd;      /* -1: not open, or it has ended */
	dev_t device;
	ino_t inode;
	uint64_t at;     /* offset of the next block */
	uint64_t size;   /* of the file when it was looked at last */
	uint64_t grown;  /* CLOCK_MONOTONIC ns when it was seen to be longer */
	uint32_t passed; /* chunks since the last one that was looked into */
	bool ended;
	struct raw_end end;

	/* Its memory. */
	int memory; /* -1: it cannot be looked at */
	uint64_t memory_bytes;
	struct shm_header shm; /* as it was last */
	bool geometry;         /* the places in `shm` were checked */
	bool gap; /* chunks there were not taken, because older ones are on their way into the file */

	/* What is defined. */
	struct follow_op *ops; /* by number on the wire */
	uint32_t op_room;
	uint16_t *met; /* those with a `count` */
	uint32_t met_count, met_room;
	struct map domains; /* id: name, owned */
	struct map agents;  /* id: device + 1 */
	struct map queues;  /* id: device + 1 */
	struct map kernels; /* id: row + 1 */
	struct map pieces;  /* number of a chunk of definitions in memory: bytes read */
	uint64_t pid, tick_source, tick_per_second, start_tick;
	char *program; /* words of the command line */
	int64_t rank;  /* -1: none */

	/* Times. */
	double ns_per_tick; /* 0: not known yet */
	struct raw_tick_sync first_sync;

	struct follow_thread *threads;
	uint32_t thread_count, thread_room;
	struct map thread_places;   /* index + 1: place + 1 */
	struct follow_sum *tallies; /* count on in place: as they were at the last look */
	uint32_t tally_count, tally_room;
	struct map tally_places;
	struct map allocations; /* id: bytes + 1 */

	/* Sums. */
	struct follow_parts parts[TABLES];
	double written;        /* bytes of its file that were seen to be written */
	double read, left_out; /* bytes of chunks of records */
	uint64_t damaged;      /* blocks, or stretches of the file */
	struct follow_sum calls, calls_then, kernels_sum, kernels_then, copies, copies_then;
	double waited, waiting,
		waited_then;     /* ns: in calls that have ended, in open ones; both, then */
	double cost_ns;          /* of recording calls, estimated in the program */
	double unrecorded_calls; /* that its mode leaves out, as far as it counts them */
	struct follow_call_open open;
	uint32_t silent_threads; /* in a call, and no record came from them yet */
	uint64_t under_way;
};

/* file.c: takes what has come; opens it first. */
void follow_read_file(struct follow *f, struct follow_process *p);
/* memory.c: the same of what is not in the file yet. `again`: in this look, only what was waited for. */
void follow_read_memory(struct follow *f, struct follow_process *p, bool again);
/* memory.c: `fd` of a process's memory, which is its own then. */
void follow_take_memory(struct follow_process *p, int fd);
/* drains.c: files and memory of the processes that the drains of a trace here record. `again`: those that owe no answer
 * are asked once more. */
void follow_ask_drains(struct follow *f, struct follow_recording *r, bool again);
void follow_close_doors(struct follow_recording *r);
void follow_recording_free(struct follow_recording *r);
/* sums.c: adds to a row, a device or memory in use, which follow_take_away() takes back. */
void follow_add_to(struct follow *f, struct follow_process *p, enum follow_table table,
		   uint32_t place, const struct follow_sum *more);
void follow_take_away(struct follow *f, const struct follow_process *p);
/* Sums that processes keep themselves. */
void follow_add_up(struct follow *f);
/* process.c */
struct follow_process *follow_process_of(struct follow *f, struct follow_recording *r,
					 const char *path);
void follow_process_free(struct follow_process *p);
struct follow_thread *follow_thread_of(struct follow *f, struct follow_process *p, uint32_t index);

/* definitions.c: all in a chunk from byte `from` on. */
void follow_define(struct follow *f, struct follow_process *p, const uint8_t *chunk, size_t from,
		   size_t end);
void follow_resolve(struct follow *f, struct follow_process *p, struct follow_op *op);
void follow_calibrate(struct follow_process *p, const struct raw_tick_sync *s);

/* records.c: from t->done on; each counts `weight` times. False: it stops at an operation that is not defined yet. */
bool follow_records(struct follow *f, struct follow_process *p, struct follow_thread *t,
		    const uint8_t *chunk, uint32_t committed, double weight);
/* A new chunk of a thread begins. */
void follow_begin_chunk(struct follow_thread *t, const struct wire_chunk *h);
/* live.c */
void follow_lines(struct follow *f, struct follow_process *p, const uint8_t *chunk, size_t bytes);
void follow_tallies(struct follow *f, struct follow_process *p, const uint8_t *chunk, size_t bytes);

/* rows.c: the row of that name, added if there is none: its place + 1, 0: no memory. */
uint32_t follow_row(struct follow *f, struct follow_rows *rows, const char *domain,
		    const char *name, size_t length);
uint32_t follow_device(struct follow *f, const struct follow_process *p, const struct wire_def *d);
/* Place + 1; 0: no memory. */
uint32_t follow_memory(struct follow *f, uint32_t device, uint32_t kind);
void follow_rows_release(struct follow_rows *rows);

static inline void follow_sum_add(struct follow_sum *s, const struct follow_sum *more)
{
	s->count += more->count;
	s->ns += more->ns;
	s->bytes += more->bytes;
}

static inline double follow_ns(const struct follow_process *p, uint64_t ticks)
{
	return (double)ticks * p->ns_per_tick;
}

#endif
