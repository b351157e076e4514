/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comparing runs: what takes longer, or less, in the runs of B than in those of A, and what of that is more
 * than noise. Two steps: the numbers of each run by item (compare_read.c), and what the two sides say of
 * each item (compare.c). compare_report.c makes tables of it.
 *
 * An item is what both sides have under one name: a kernel of one class of sizes, a kind of copy, a function
 * of an API, a range. Its two quantities are the typical time of a call (the median of a run) and the time
 * of a run in all. The unit is the run: calls of a run share its processor, its place in memory and its
 * heat, and tell nothing of how runs differ.
 *
 * Memory while a run is read: at most 256 KiB an item (COMPARE_KEPT times with their starts) and 16 MiB
 * a device (COMPARE_BUSY intervals); afterwards 64 bytes for each item of each run.
 */
#ifndef ANALYSIS_COMPARE_H
#define ANALYSIS_COMPARE_H

#include "analysis/stats.h"
#include "analysis/table.h"
#include "base/map.h"
#include "base/text.h"
#include "formats/format.h"

#define COMPARE_KEPT   16384u     /* calls of an item of a run, spread over the run evenly */
#define COMPARE_BUSY   (1u << 20) /* intervals of a device that are not yet added up */
#define COMPARE_BLOCKS 8u         /* of a run, to see how it varies within itself */
#define COMPARE_CALLS  (4 * COMPARE_BLOCKS) /* of these an item needs so many */
#define COMPARE_ALPHA  0.05
#define COMPARE_LOST   0.1 /* of the records of a run: with more lost nothing is judged */

/* What an item is split by. */
enum compare_by {
	COMPARE_BY_OP = 0,
	COMPARE_BY_SCOPE = 1,
	COMPARE_BY_RANK = 2,
	COMPARE_BY_DEVICE = 4,
	COMPARE_BY_ITERATION = 8 /* ranges only: the n-th of a name with the n-th */
};

struct compare_options {
	unsigned by;
	double threshold; /* least change that counts, as a share: 0.02 */
	double share; /* least share of the time of its kind that an item must have to be tested */
	double noise; /* of runs among each other (standard deviation), where there is one a side */
	bool full_names;
	bool people; /* rows that say nothing are left out */
};

/* What `kymo compare` takes, unless it is told otherwise. */
#define COMPARE_DEFAULTS ((struct compare_options){.threshold = 0.02, .share = 0.01, .noise = 0.03})

enum compare_kind { ITEM_KERNEL, ITEM_COPY, ITEM_CALL, ITEM_RANGE, ITEM_KINDS };

enum compare_verdict { VERDICT_NONE, VERDICT_SAME, VERDICT_UP, VERDICT_DOWN };

/* One quantity of an item or of the whole run. */
struct compare_test {
	bool tested;
	const char *reason;       /* why it was not, else NULL */
	double a, b;              /* typical value of the sides: ns, bytes, a number */
	struct stats_shift shift; /* of logarithms */
	double p;                 /* corrected for all that was tested */
	double detectable;        /* as a share: the least change that would have been found */
	enum compare_verdict verdict;
};

struct compare_item {
	enum compare_kind kind;
	char *key; /* what it is told by */
	size_t key_length;
	char *label;     /* for people and programs: "kernel step in solve" */
	unsigned size;   /* class of the number of work items */
	double share;    /* of the time of its kind */
	bool missing[2]; /* in no run of the side */
	struct compare_test each, all;
};

/* An item in a run. */
struct run_item {
	uint64_t count, total; /* total: ns */
	double centre;         /* median, ns */
	float noise_centre,
		noise_mean; /* how it varies within the run (compare_kept.c); below 0: too few calls */
	bool counted;       /* in the program: there are no times of single calls */
	bool left_out;      /* the recording does not have it, whether or not it was called */
	struct kept *kept; /* while the run is read */
};

enum quantity_unit { QUANTITY_TIME, QUANTITY_BYTES, QUANTITY_COUNT };

struct quantity {
	char *name;
	enum quantity_unit unit;
	struct compare_test test;
};

struct compare_run {
	const char *path; /* borrowed */
	unsigned side;
	struct run_item *items; /* by number of the item */
	uint32_t item_count, item_room;
	double *values; /* by number of the quantity */
	uint32_t value_count, value_room;
	uint64_t records, lost, late; /* late: intervals of devices that came out of order */
	unsigned damaged, endless, unread, ranks, processes;
	double length; /* ns of the whole run */
	bool counted, uncompared;
	int64_t begin, end;                                   /* ns since the epoch; 0: not known */
	char *command, *hosts, *devices, *version, *left_out; /* what should be the same */
};

struct compare {
	struct compare_options options;
	struct compare_item *items;
	uint32_t item_count, item_room;
	struct map places; /* by hash of the key: number + 1 */
	struct quantity *quantities;
	uint32_t quantity_count, quantity_room;
	struct compare_run *runs; /* those of A, then those of B */
	unsigned count[2];
	uint32_t tests; /* that were made */
	enum compare_way { COMPARE_SINGLE, COMPARE_HISTORY, COMPARE_MEANS, COMPARE_RANKS } way;
	char *selection;   /* in words, or NULL: all of the traces */
	double lost_share; /* of the run that lost most */
	bool lossy;        /* or something else is missing from a run */
	bool failed;       /* no memory */
};

/* Reads `a` traces of A and `b` of B, of them what o->filter selects. On failure the log says why; compare_release() in any case. */
kymo_status_t compare_read(struct compare *c, char *const *paths, unsigned a, unsigned b,
			   const struct compare_options *options, const struct format_options *o);
void compare_release(struct compare *c);

/* Tests all there is to test. False: no memory. */
bool compare_judge(struct compare *c);

/* Something takes longer, beyond noise and threshold. */
bool compare_worse(const struct compare *c);

/* Head, tables and foot: for people or programs, as c->options.people says. */
kymo_status_t compare_report(struct report *r, struct compare *c);

/* What an item is called without the class of its sizes: "kernel NAME", "DOMAIN FUNCTION", "range NAME", folded. */
const char *compare_item_name(const struct compare_item *x);

/* ---- private to comparing -------------------------------------------------------------------- */

/* Of the item with that key, made if it is new; UINT32_MAX: no memory. Takes label and key over. */
uint32_t compare_item_at(struct compare *c, enum compare_kind kind, struct text *key,
			 struct text *label);
/* The item in the run; NULL: no memory. */
struct run_item *compare_run_item(struct compare *c, struct compare_run *run, uint32_t item);
void compare_add_value(struct compare *c, struct compare_run *run, const char *name,
		       enum quantity_unit unit, double value);

/* Times of an item, until its run has been read (compare_kept.c). */
struct kept {
	struct kept_time {
		int64_t start;
		uint64_t ns;
	} * times;
	uint32_t count, room;
	uint64_t seen, stride; /* every so manyth is kept */
};
void kept_add(struct compare *c, struct run_item *r, int64_t start, uint64_t ns);
/* Median and noise of what was kept, which goes away. */
void kept_settle(struct compare *c, struct run_item *r);

/* The time in which a device did something, however much at once (compare_kept.c). */
struct busy {
	struct busy_interval {
		int64_t start, end;
	} * intervals;
	uint32_t count, room;
	int64_t until; /* up to here all is added up */
	uint64_t sum, late;
	bool any;
};
bool busy_add(struct busy *b, int64_t start, int64_t end);
/* Adds up the rest. */
uint64_t busy_sum(struct busy *b);
void busy_release(struct busy *b);

#endif
