/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times without a processor (domain "off_cpu") by the stack that the thread waited with, where it is known. Memory is
 * proportional to stacks.
 */
#ifndef ANALYSIS_OFF_USE_H
#define ANALYSIS_OFF_USE_H

#include "base/map.h"
#include "stream/stream.h"

struct off_use_row {
	uint32_t op, stack;
	uint64_t times, ns, longest_ns;
};

struct off_use {
	const struct trace *trace;
	struct off_use_row *rows;
	uint32_t rows_count, rows_room;
	struct map places;         /* by op and stack: number from 1 */
	uint64_t without_stack;    /* times of the program's threads that are in no row, ... */
	uint64_t without_stack_ns; /* ... and how long they are together */
	bool failed;               /* no memory */
};

/* Returns the innermost place of its stack that is not the C library's; 0: it has none. Threads of Kymo's are left out. */
uint32_t off_use_add(struct off_use *u, const struct rec *r);
void off_use_release(struct off_use *u);

#endif
