/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tallies of several ranks of a job added up: what mode "summary" leaves of a job whose ranks
 * reduce through MPI. A row has names, not numbers of definitions, because ranks may run different
 * programs; so its size depends on what is called, not on how many ranks call it. Times are
 * nanoseconds. The same code adds in a rank, on the way up the tree, and in a benchmark.
 */
#ifndef WIRE_JOB_TALLY_H
#define WIRE_JOB_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

#define JOB_TALLY_ROWS  4096u /* of a table; what does not fit is counted in JOB_TALLY_LEFT_OUT */
#define JOB_TALLY_NAMES 6u
#define JOB_TALLY_NAME  4095u /* bytes of one at most */

/* What a row's key is made of, beside its kind. */
enum job_tally_name {
	JOB_TALLY_DOMAIN, /* of the operation; of dispatches, of the kernel */
	JOB_TALLY_TITLE,
	JOB_TALLY_OP, /* or kernel */
	JOB_TALLY_A,  /* agent; source agent; datatype; name of a range; text of a note */
	JOB_TALLY_B,  /* destination agent; domain of a range */
	JOB_TALLY_C   /* category of a range */
};

/* A row of this bit is the load of ranks, see below; the lower bits are those of wire/tally.h. */
#define JOB_TALLY_LOAD 0x80u
#define JOB_TALLY_NOTE 0x40u /* domain: part; A: text; detail: severity */

enum job_tally_number {
	JOB_TALLY_COUNT,
	JOB_TALLY_ERRORS,
	JOB_TALLY_TOTAL,
	JOB_TALLY_SELF,
	JOB_TALLY_BYTES,
	JOB_TALLY_RECEIVED,
	JOB_TALLY_WAIT,
	JOB_TALLY_UNTIMED,
	JOB_TALLY_UNTIMED_BYTES,
	JOB_TALLY_FREES,
	JOB_TALLY_FREED,
	JOB_TALLY_IN_USE,
	JOB_TALLY_PEAK,
	JOB_TALLY_NUMBERS
};

/*
 * Row "load": for one thing, or (no op) all of one kind, the time that ranks spent: `min` and `max`
 * of those that have it, TOTAL their sum, COUNT how many have it, and `absent` the lowest that has
 * not (JOB_TALLY_NONE: all have).
 */
#define JOB_TALLY_NONE UINT32_MAX

struct job_tally_row {
	uint8_t kind;
	uint32_t detail;                   /* part of the key: kinds of memory, severity */
	uint32_t number, flags;            /* of the op: no part of the key */
	const char *name[JOB_TALLY_NAMES]; /* "" where there is none */
	uint64_t n[JOB_TALLY_NUMBERS];
	uint64_t min, max; /* min UINT64_MAX: nothing was timed */
	uint32_t min_rank, max_rank, absent;
	uint32_t first, buckets; /* of wire/tally.h, in ns */
	uint64_t *histogram;     /* `buckets` of them from `first` on */
};

/* Of the ranks together. */
enum job_tally_total {
	JOB_TALLY_RANKS,
	JOB_TALLY_WORLD, /* that are in it; of the job */
	JOB_TALLY_FIRST_RANK,
	JOB_TALLY_LAST_RANK,
	JOB_TALLY_START,
	JOB_TALLY_END, /* ns of job time: earliest, latest */
	JOB_TALLY_LOST,
	JOB_TALLY_LOST_DEFINITIONS,
	JOB_TALLY_UNTRACED,
	JOB_TALLY_UNTIMED_RECORDS,
	JOB_TALLY_OVERHEAD,    /* ns, summed */
	JOB_TALLY_CLOCK_ERROR, /* ns, the worst */
	JOB_TALLY_LEFT_OUT,    /* rows that found no room */
	JOB_TALLY_NO_MEMORY,
	JOB_TALLY_DROPPED,
	JOB_TALLY_WAITING,
	JOB_TALLY_BESIDE,
	JOB_TALLY_LOADING, /* ns, summed */
	JOB_TALLY_CALLS_COST,
	JOB_TALLY_CALLS_VARIANCE,
	JOB_TALLY_COST_SAMPLES, /* ns; ns squared */
	JOB_TALLY_THREAD_TIME,  /* ns that threads were there, summed */
	JOB_TALLY_TOTALS
};

struct job_tally {
	uint64_t total[JOB_TALLY_TOTALS];
	struct job_tally_row **rows; /* in order of first appearance */
	uint32_t count, room;
	struct map places; /* by hash of the key: row + 1 */
	bool failed;       /* memory ran out: incomplete */
};

/* An empty table: of no rank. */
void job_tally_init(struct job_tally *t);
void job_tally_release(struct job_tally *t);

/* The row with the key of `like`, made if need be; NULL: no room, which is counted. */
struct job_tally_row *job_tally_row(struct job_tally *t, const struct job_tally_row *like);
/* `n` durations in a bucket. */
void job_tally_bucket(struct job_tally *t, struct job_tally_row *row, uint32_t bucket, uint64_t n);
/*
 * The load of a table that is that of one rank: `like` has the key, `ns` is the time it spent in one
 * thing. What is added more than once adds up.
 */
void job_tally_load(struct job_tally *t, const struct job_tally_row *like, uint32_t rank,
		    uint64_t ns);

/* Adds `from`, whose ranks all lie above those of `to`. */
void job_tally_merge(struct job_tally *to, const struct job_tally *from);

/* As bytes, to be freed by the caller; NULL: no memory. */
uint8_t *job_tally_encode(const struct job_tally *t, size_t *bytes);
/* Reads what job_tally_encode() wrote; nothing is trusted. False: it is damaged. */
bool job_tally_decode(struct job_tally *t, const uint8_t *data, size_t bytes);

#endif
