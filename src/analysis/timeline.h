/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run, made small enough for memory: what its devices did and when, which call submitted it, what the
 * threads that drive them did meanwhile, messages, ranges, allocations. The digest and the findings are
 * made from it. One pass over the records fills it.
 *
 * Memory, at most: 250 bytes for a piece of device work, 230 for a call that submits, waits, allocates or takes
 * TIMELINE_LONG_NS, 200 for a message, 100 for a range, 120 for an allocation or release, 120 for
 * a region of OpenMP and for each thread's part of it, 80 for a wait. Other
 * calls are kept together, with the time that was spent in them, as long as they follow each other soon. Of more than TIMELINE_MOST of one of
 * these nothing more is kept, and `cut` says so: findings of such a run would be wrong.
 *
 * Times are node ns, as in the stream. Indexes are those of the trace, but devices'.
 */
#ifndef ANALYSIS_TIMELINE_H
#define ANALYSIS_TIMELINE_H

#include "analysis/intervals.h"
#include "analysis/objects.h"
#include "analysis/off_use.h"
#include "base/map.h"
#include "stream/stream.h"

enum {
	TIMELINE_LONG_NS = 5000,     /* a call that is kept for its length */
	TIMELINE_PAUSE_NS = 50000,   /* at most, between short calls that are kept as one, */
	TIMELINE_BURST_NS = 1000000, /* of which one begins so long after the first, at most */
	TIMELINE_MOST = 24 << 20     /* of one kind of thing */
};

#define TIMELINE_NONE UINT32_MAX

enum work_kind { WORK_KERNEL, WORK_COPY, WORK_FILL, WORK_MAP, WORK_MIGRATION, WORK_KINDS };

/* Work of a device. Of several runtimes on one device all is there. */
struct tl_work {
	int64_t start, end;
	int64_t submit;    /* the submitting call began, 0: not known */
	int64_t submitted; /* as the runtime says, 0: not known */
	union {
		uint64_t id;   /* of the submitting call, 0: none recorded; while it is filled */
		uint32_t call; /* then: index of timeline.calls, or TIMELINE_NONE */
	};
	union {
		uint64_t bytes;  /* of all but kernels */
		uint64_t groups; /* of kernels: work groups or blocks; 0: left to the runtime */
	};
	uint64_t items;  /* of kernels: work items or threads */
	uint32_t device; /* index of timeline.devices */
	uint32_t process, queue, kernel, op;
	uint8_t kind;                          /* enum work_kind */
	uint8_t source_kind, destination_kind; /* memory kinds of copies */
	bool to_device : 1, from_device : 1;
	bool blocking : 1;     /* the call waited for it */
	bool graph : 1;        /* part of a graph, which one call submitted as a whole */
	bool early : 1;        /* starts before it was submitted: clocks disagree */
	bool communicates : 1; /* a kernel that sends to other devices: communication.h */
	bool failed : 1;
};

enum {
	CALL_NESTED = 1, /* in another call of its thread */
	CALL_BUILD = 2,  /* programs were built or loaded in it */
	CALL_BURST =
		4, /* several short ones that do not wait, one after the other; op is the first's */
	CALL_MPI = 8, /* communication */
	CALL_FAILED = 16,
	CALL_MIXED = 64,     /* a burst of different functions */
	CALL_OPENMP = 32,    /* a region: the program's own code runs in it */
	CALL_TARGET = 128,   /* of OpenMP, but for a device: a call as others */
	CALL_FALLBACK = 256, /* a target region that no device took: the host computes it */
	CALL_ASKS =
		512, /* whether messages are there, and does not wait; of a burst: one of its calls */
	CALL_COMMUNICATES = 1024, /* of a library that sends from devices, or made in such a call */
	CALL_COMMUNICATION = 2048, /* the outermost of these */
	/* What the thread waits for in it: a host_state from HOST_THREADS on, less CALL_WAIT_BASE, in these bits; 0: none. */
	CALL_WAIT_SHIFT = 12,
	CALL_WAIT = 7 << CALL_WAIT_SHIFT,
	CALL_OFF = 1 << 15 /* no call: the thread had no processor, and is in none */
};

struct tl_call {
	int64_t start, end;
	uint64_t id;
	uint64_t
		waited; /* ns that it waited for a device; of a burst, that were spent in its calls */
	uint32_t thread, op, site;
	union {
		uint32_t count; /* of a burst; see timeline_count() */
		uint32_t ends;  /* others: of a copy, number from 1 of timeline.ends; 0: none */
	};
	uint32_t outermost; /* index of the call of its thread that it was made in, or its own */
	uint16_t op_flags;
	uint16_t flags; /* CALL_* */
};

/* Where in memory a copy leads, as the arguments of its call say; 0: not known. */
struct tl_ends {
	uint64_t source, destination;
};

struct tl_wait {
	int64_t start, end;
	uint64_t id; /* of the call */
	uint64_t event;
	uint32_t thread, op, queue; /* queue 0: several, or none */
};

struct tl_build { /* of a program for one or several devices, or the loading of a module */
	int64_t start, end;
	uint64_t id;
	uint32_t thread, op, program;
	uint32_t options; /* blob: what it was built with, 0: none */
	uint32_t log;     /* blob: of one that failed, 0: none */
	int32_t status;   /* the runtime's code */
	bool failed;
};

struct tl_message {
	int64_t start, end;
	uint64_t id, completed_by; /* calls; completed_by 0: the same */
	uint64_t match;            /* both ends of one message have the same; 0: not known */
	uint64_t bytes;            /* sent or received, the larger */
	uint64_t request;
	uint32_t process, thread, op, communicator;
	int32_t peer, tag;
	uint8_t kind; /* number of the op in domain comm: COMM_OP_* */
	uint8_t state;
};

struct tl_range {
	int64_t start, end, scope;
	uint32_t process, thread, name, domain;
};

/*
 * A parallel region of OpenMP on the thread that met it, or what another thread did in one (`task`). Tasks of less
 * than TIMELINE_LONG_NS are left out; regions as short, soon after another, are part of that one's `until`.
 */
struct tl_team {
	int64_t start, end;
	int64_t until;   /* of regions: of the last short one that follows soon */
	uint64_t region; /* id of the region's call */
	uint64_t
		worked; /* of regions: ns until its thread was at the barrier, 0: waited for nobody */
	uint32_t thread, site, threads;
	bool task;
};

struct tl_allocation {
	int64_t time;
	uint64_t id; /* of the call */
	uint64_t bytes, address;
	uint64_t allocation; /* the same when it is freed */
	uint32_t thread, process, agent;
	uint8_t kind, what; /* memory kind, allocation_what */
	bool part;          /* of another allocation */
	bool freed;         /* released, not allocated */
};

/* One device, whatever runtimes call it. */
struct tl_device {
	uint32_t agent;        /* of the trace: the first that is it */
	uint32_t first, count; /* its work: timeline.order[first ...], by start */
	struct intervals kernels,
		transfers;    /* when such work ran: transfers are all that is no kernel */
	struct intervals all; /* their union; if one is empty the other, which owns it */
	/* Of kernels, where there are both kinds or the first: when some communicated, when others ran. */
	struct intervals communication, computing;
	uint64_t number[WORK_KINDS];
};

/* What a thread did, as far as its calls tell. */
enum host_state {
	HOST_OUTSIDE, /* in no recorded call */
	HOST_LAUNCH,  /* in a call that submits work */
	HOST_WAIT,    /* in one that waits for a device */
	HOST_MPI,     /* communicating */
	HOST_ALLOCATE,
	HOST_BUILD,
	HOST_OTHER,     /* in another call */
	HOST_THREADS,   /* waiting for another thread */
	HOST_SLEEP,     /* sleeping */
	HOST_POLL,      /* waiting until one of several descriptors is ready */
	HOST_IO,        /* in calls of files and sockets */
	HOST_BLOCKED,   /* waiting for something else: processes, signals, pages */
	HOST_PREEMPTED, /* ready, while others had its processor */
	HOST_STATES
};

enum { CALL_WAIT_BASE = HOST_THREADS - 1 };

/* Flags of a call in which the thread is in this state. */
static inline uint16_t call_wait(enum host_state state)
{
	return (uint16_t)(((unsigned)state - CALL_WAIT_BASE) << CALL_WAIT_SHIFT);
}

/* It waits, but for no device and no rank. */
static inline bool host_waits(enum host_state state)
{
	return state >= HOST_THREADS;
}

struct tl_thread {
	uint32_t first, count;    /* its outermost calls: timeline.outer[first ...], by start */
	uint64_t in[HOST_STATES]; /* ns of its life in each */
	bool pool; /* not main, feeds no device, and waits for work half of its life: an idle pool's */
};

/* Arguments of an op that say where in memory it copies: numbers from 1, 0: none does. */
struct tl_addresses {
	uint32_t source, destination, last;
};

/*
 * Calls by their ids: indexes + 1 of timeline.calls; 0: free. Where ids are dense, as they are but for short calls in
 * between, by the id; else by its hash, at most half full.
 */
struct tl_index {
	uint32_t *at;   /* NULL: none */
	uint64_t first; /* id */
	uint32_t ids;   /* from it on; 0: by hash */
	uint32_t mask;
};

struct timeline {
	const struct trace *trace;
	int64_t start, end; /* of the run, or of the part of it that was selected */
	struct tl_work *work;
	struct tl_call *calls; /* by thread, then start; an outer one before those in it */
	struct tl_ends *ends;
	struct tl_wait *waits;
	struct tl_build *builds;
	struct tl_message *messages;
	struct tl_range *ranges;
	struct tl_allocation *allocations;
	struct tl_team *teams; /* as they came: of one thread by their end */
	uint32_t work_count, work_room, calls_count, calls_room, waits_count, waits_room;
	uint32_t ends_count, ends_room;
	uint32_t builds_count, builds_room, messages_count, messages_room;
	uint32_t ranges_count, ranges_room, allocations_count, allocations_room;
	uint32_t teams_count, teams_room;
	struct objects *objects; /* of runtimes, that are no memory */
	struct occa_use *occa;
	struct file_use *files;
	struct lock_use *locks;
	struct wait_use *host_waits; /* sleeps and polls */
	struct off_use off;
	struct heap_use *heap;
	uint32_t *order; /* work by device, then start */
	uint32_t *outer; /* outermost calls by thread, then start */
	struct tl_device *devices;
	uint32_t devices_count, devices_room;
	struct tl_thread *threads; /* by the trace's index */
	uint64_t records;          /* that were read */
	uint64_t lost;             /* records of which nothing is here */
	int64_t overwritten_until; /* ns: of a flight recorder, what came before is not all here */
	uint64_t early;            /* work that starts before it was submitted */
	uint64_t untimed;          /* work without device times: in nothing here */
	uint64_t backwards;        /* ends before it starts: likewise */
	bool counted; /* calls were counted, not recorded: what threads did is not known */
	struct intervals
		*building;       /* by process: when any of its threads built or loaded programs */
	struct intervals absent; /* when no recorded process was there: nobody's code ran */
	uint64_t paused;         /* ns that none of its processes recorded */
	bool partial; /* of what was selected, not all that happened from start to end is here */
	bool chosen;  /* likewise, as a part was chosen when it was recorded */
	bool window;  /* neither start nor end are those of the run */
	bool apart; /* clocks of nodes were never compared: times of different nodes say nothing */
	bool implicit_tasks; /* of OpenMP are recorded */
	bool explicit_tasks; /* of OpenMP ran: in barriers, or anywhere */
	bool cut, failed;
	/* While it is filled. */
	uint32_t *device_of_agent;      /* index + 1 */
	uint16_t *op_is;                /* by op */
	struct tl_addresses *addresses; /* by op */
	uint32_t *last;                 /* by thread: its call that came last, index + 1 */
	struct map used;          /* device and process that gave it work, see timeline_uses() */
	struct map labels;        /* of devices, by hash: place + 1 */
	uint32_t *last_region;    /* likewise, of teams */
	struct tl_index *call_of; /* by process: its calls by their ids */
};

/* Whether so much was lost that what is told of the whole may be wrong; *records: that there were. */
bool timeline_lossy(const struct timeline *tl, uint64_t *records);

/* Hands every record on to `next`, which may be NULL. `brief` and `matches` are those that it wants, and may be set. */
struct timeline_sink {
	struct stream_sink sink; /* first */
	struct stream_sink *next;
	struct timeline
		*timeline; /* made when the stream begins; timeline_free() is left to the reader */
};
void timeline_sink_init(struct timeline_sink *s, struct stream_sink *next);

void timeline_free(struct timeline *tl);

/* Puts it in order when all records are there; the sink does that, which knows what was selected. False: no memory. */
bool timeline_finish(struct timeline *tl, const struct stream_sink *sink);

/* The call that submitted it, or NULL; and the outermost call of the thread that it was made in. */
const struct tl_call *timeline_call(const struct timeline *tl, const struct tl_work *w);
const struct tl_call *timeline_outermost(const struct timeline *tl, const struct tl_call *c);

/* How many calls it stands for. */
static inline uint32_t timeline_count(const struct tl_call *c)
{
	return c->flags & CALL_BURST ? c->count : 1;
}

/* The call with this id, or NULL where it was not kept. */
const struct tl_call *timeline_find(const struct timeline *tl, uint32_t process, uint64_t id);

/* The process has given the device work. */
bool timeline_uses(const struct timeline *tl, uint32_t device, uint32_t process);

/* What a call stands for while its thread is in it. */
enum host_state timeline_state(const struct tl_call *c);

/* Number of the first outermost call of a thread (of timeline.outer from its `first`) that ends after `time`. */
uint32_t timeline_at(const struct timeline *tl, uint32_t thread, int64_t time);

/* So much of the run was not recorded that nothing can be said of it as a whole. */
static inline bool timeline_pauses(const struct timeline *tl)
{
	return 50 * tl->paused > (uint64_t)(tl->end - tl->start);
}

/* Of a flight recorder, what is looked at reaches into what gave way to newer records. */
static inline bool timeline_overwritten(const struct timeline *tl)
{
	return tl->overwritten_until > tl->start;
}

/* Seconds since the trace begins from which on nothing gave way, as --after takes them, to the next microsecond. */
static inline double timeline_complete_from(const struct timeline *tl)
{
	return 1e-6 * (double)((tl->overwritten_until - tl->trace->origin) / 1000 + 1);
}

/* Records are missing: what is counted or paired may be without its other half. */
static inline bool timeline_missing(const struct timeline *tl)
{
	return tl->lost || timeline_overwritten(tl);
}

/* What is not there was not idle for all that is known: no time that could be won is told of it. */
static inline bool timeline_gaps(const struct timeline *tl)
{
	return tl->chosen || timeline_pauses(tl) || timeline_overwritten(tl);
}

/* Length of the run. */
static inline uint64_t timeline_length(const struct timeline *tl)
{
	return (uint64_t)(tl->end - tl->start);
}

#endif
