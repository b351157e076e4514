/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tallies: the numbers that summaries are made of, kept while records stream by. The same code
 * runs when a summary is made straight from raw files and when the store is filled, which keeps
 * the result in its tables: so both say the same.
 *
 * A row is one combination of keys with counts, sums, extremes and a histogram. Memory is
 * proportional to the number of combinations, not of records.
 */
#ifndef TALLY_H
#define TALLY_H

#include "base/map.h"
#include "record/tallies.h"
#include "stream/stream.h"
#include "tally/histogram.h"

struct tally {
	uint32_t key[TALLY_KEYS];
	uint64_t count;
	uint64_t errors; /* calls whose status is not success, device work that failed */
	uint64_t total;  /* ns, nested calls included */
	uint64_t self;   /* ns, traced calls inside excluded */
	uint64_t
		recursive; /* of calls and ranges: with others of the same row inside, whose time counts again in `total` */
	int64_t began;     /* node ns, of the call or range that ended last, while records come */
	uint64_t min, max; /* ns, of those timed */
	uint64_t bytes;
	uint64_t wait;          /* ns between queued (or the submitting call) and start, summed */
	uint64_t untimed;       /* of `count`: without device times, in no other number */
	uint64_t untimed_bytes; /* of `bytes`: in no bandwidth, as without device times or mapped
				       where they lie */
	uint64_t frees, freed;  /* number and bytes */
	uint64_t in_use, peak;  /* bytes at the end, at most */
	int64_t peak_time;      /* node ns */
	double sum, low, high;  /* of values that are no times; least and most bytes */
	double last;            /* of them */
	uint64_t received;      /* bytes of messages; `bytes` are those sent */
	int64_t first;          /* node ns, of errors; 0: not known */
	struct histogram histogram; /* of durations, and those of ... */
	const struct t_tally
		*counted; /* ... this, which was counted in the program, or NULL: of many
					  ranks there are many rows, and most are only added up */
};

enum { TALLY_RECENT = 32 };

struct tally_set {
	struct tally **rows; /* in order of first appearance */
	uint32_t count, room;
	struct map places;                  /* by hash of the key: row + 1 */
	struct tally *recent[TALLY_RECENT]; /* rows that were asked for last, by some of the key */
};

/* An allocation that is not freed, as far as records have come. */
struct tally_live {
	uint64_t key, call, bytes;
	int64_t time;
	const struct tally
		*row; /* of TALLY_LEAK that it is part of, once tallies_leaks() was called */
	uint32_t process, thread, agent;
	uint8_t kind, what;
	bool freed; /* its end has come before its beginning */
};

struct tally_build {
	uint32_t op, thread;
	int64_t start, end;
};

struct tallies {
	struct tally_set set[TALLY_KINDS];
	struct histogram_pool pool;
	const struct trace *trace; /* of the records; borrowed, may be gone by tallies_free() */
	bool scoped;               /* rows are kept apart by `scope`; they do not go to a store */
	uint32_t scope;            /* of the next record */
	bool failed;               /* memory ran out: the numbers are incomplete */
	bool counted;              /* some are all that there is of their calls */
	bool coarse;               /* histograms kept in the program are in it: 5 % */
	uint64_t late;             /* allocations that came too late for an exact peak */
	struct tally_thread *threads;
	struct tally_thread *scopes; /* likewise of ranges */
	uint32_t thread_count;
	struct tally_memory *memory;
	struct tally_live *live;
	uint32_t live_count, live_room;
	struct map live_places;   /* by process and id: place + 1 */
	struct tally_build build; /* the last */
};

/* What the trace brings along (calls that were counted, not recorded) is in it from the start. */
struct tallies *tallies_new(const struct trace *t);
struct tallies *tallies_empty(const struct trace *t);
void tallies_free(struct tallies *a);

/* The row with this key, made when missing; NULL: no memory. Keys not used are 0. */
struct tally *tally_at(struct tallies *a, enum tally_kind kind, const uint32_t key[TALLY_KEYS]);

/* Adds the numbers of `from` (which belongs to `source`) to `to` (of `a`). */
void tally_merge(struct tallies *a, struct tally *to, const struct tallies *source,
		 const struct tally *from);

/* Classes of sizes: 0 bytes, then up to and without each power of 4. */
static inline uint32_t tally_size_class(uint64_t bytes)
{
	return bytes ? 1 + (63u - (unsigned)__builtin_clzll(bytes)) / 2 : 0;
}

/* Least number of bytes of a class; that of the next one ends it. */
static inline uint64_t tally_size_least(uint32_t size_class)
{
	return size_class && size_class <= 32 ? 1ull << 2 * (size_class - 1) : 0;
}

/* Takes what was counted in the program into the row's own histogram. */
void tally_expand(struct tallies *a, struct tally *row);

/* False: nobody told how its durations are distributed, so it has no percentiles. */
bool tally_distributed(const struct tallies *a, const struct tally *row);
/* Of a row that has been expanded, or merged into: duration at `share` of the timed records, within 1.6 %, or 5 % when `coarse`. */
uint64_t tally_percentile(const struct tallies *a, const struct tally *row, double share);

/* ---- one record each ----------------------------------------------------------------------- */

/* Of the calls of one thread, in order of their end. */
void tallies_call(struct tallies *a, const struct rec *r);
void tallies_dispatch(struct tallies *a, const struct rec_dispatch *r);
void tallies_copy(struct tallies *a, const struct rec_copy *r);
void tallies_allocation(struct tallies *a, const struct rec_allocation *r);
void tallies_sync(struct tallies *a, const struct rec_sync *r);
void tallies_marker(struct tallies *a, const struct rec_marker *r);
void tallies_counter(struct tallies *a, const struct rec_counter *r);
void tallies_sample(struct tallies *a, const struct rec_sample *r);
void tallies_device_sample(struct tallies *a, const struct rec_device_sample *r);
void tallies_comm(struct tallies *a, const struct rec_comm *r);
void tallies_other(struct tallies *a, const struct rec *r);
void tallies_loss(struct tallies *a, const struct rec_loss *r);

/* Completes what needs all records (peaks). */
void tallies_end(struct tallies *a);

/*
 * Makes rows of what was never freed, after the end; `site_of` tells where, 0: not known. False: no
 * memory.
 */
bool tallies_leaks(struct tallies *a, uint32_t (*site_of)(void *data, const struct tally_live *l),
		   void *data);

/* ---- a stream of records --------------------------------------------------------------------- */

struct tallies_sink {
	struct stream_sink sink; /* first */
	struct tallies *tallies; /* made when the stream begins; tallies_free() is left to whoever
				    reads them */
	/*
	 * The scope that a record is counted for; `call`: that submitted it (device_call()), of
	 * device work, else 0. NULL: scopes are not told apart.
	 */
	uint32_t (*scope_of)(void *data, const struct rec *r, uint64_t call);
	void *data;
};

void tallies_sink_init(struct tallies_sink *s);

#endif
