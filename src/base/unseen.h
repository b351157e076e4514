/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why nothing of a runtime was recorded although it was used: what a traced process or the launcher
 * finds out is left in the trace as an empty file each, to be told where a trace has nothing in it.
 */
#ifndef BASE_UNSEEN_H
#define BASE_UNSEEN_H

#include <stdbool.h>

enum unseen {
	UNSEEN_OPENCL,  /* a driver without a loader that can be entered */
	UNSEEN_OMPT,    /* OpenMP has another tool */
	UNSEEN_PRELOAD, /* LD_PRELOAD of the command replaces Kymo's */
	UNSEEN_REASONS
};

/* Leaves it in the trace directory. */
void unseen_tell(const char *trace, enum unseen reason);

/* What is to be told of the trace, NULL: it was not left there. */
const char *unseen_told(const char *trace, enum unseen reason);

#endif
