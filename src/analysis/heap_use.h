/* SPDX-License-Identifier: Apache-2.0 */
/* What a program allocated, by the stack that did: added up from samples of malloc(). */
#ifndef ANALYSIS_HEAP_USE_H
#define ANALYSIS_HEAP_USE_H

#include "base/map.h"
#include "stream/stream.h"

/* Estimates: of each sample what it stands for. `frees` alone of allocations that are here. */
struct heap_use_row {
	uint32_t process, stack; /* indices; stack 0: not known */
	uint64_t samples;
	uint64_t bytes, live,
		at_peak; /* allocated; not freed at the end; in use when the process used most */
	double objects, live_objects;
	double variance, live_variance; /* of `bytes` and `live`, in bytes squared */
	uint32_t epoch;                 /* peaks of the process when it changed last */
};

struct heap_use_process {
	uint64_t live, peak;
	int64_t peak_time; /* ns, as records have times */
	uint64_t lost;     /* samples that were not recorded */
	uint32_t epoch;    /* peaks so far */
};

struct heap_use {
	const struct trace *trace;
	struct heap_use_row *rows;
	uint32_t rows_count, rows_room;
	struct map places;    /* by process and stack: number from 1 */
	struct map allocated; /* by process and allocation: row of those not freed, from 1 */
	struct heap_use_process *processes; /* by index; NULL: there are no samples */
	bool failed;                        /* no memory */
};

struct heap_use *heap_use_new(const struct trace *t);
void heap_use_free(struct heap_use *u);
/* Records of a process in the order in which they were written. */
void heap_use_add(struct heap_use *u, const struct rec_heap *r);
/* When all are there: at_peak of all rows. */
void heap_use_finish(struct heap_use *u);

/* Of an estimate, by its variance: the part of it that it is off by, as a standard deviation. */
double heap_use_error(double variance, uint64_t bytes);

#endif
