/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a writer's format cannot hold: counted while it writes, told once at its end.
 *	unplaced_add(&w->unplaced, "call that never returned has",
 *		     "calls that never returned have", 1);
 *	...
 *	unplaced_tell(&w->unplaced, log, "rocpd"); // "rocpd: 3 calls that never returned have no place ..."
 */
#ifndef STREAM_UNPLACED_H
#define STREAM_UNPLACED_H

#include "stream/stream.h"

enum { UNPLACED_KINDS = 24 };

struct unplaced {
	struct {
		const char *one, *many; /* constants */
		uint64_t count;
	} kinds[UNPLACED_KINDS];
	unsigned used;
};

/* `one` and `many` say what it is, as constants: a kind is found by the text of `one`, which ends with "has", `many` with "have". */
void unplaced_add(struct unplaced *u, const char *one, const char *many, uint64_t count);

uint64_t unplaced_total(const struct unplaced *u);

/* A warning for each kind. */
void unplaced_tell(const struct unplaced *u, struct stream_log *log, const char *format);

#endif
