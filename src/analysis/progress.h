/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far a process has come in what it does. A host that is ahead of its device does in a moment what a long run needs,
 * so "later" is told by the work that was submitted, or by messages too; where there is little, by time.
 */
#ifndef ANALYSIS_PROGRESS_H
#define ANALYSIS_PROGRESS_H

#include "analysis/timeline.h"

/* A process gave a device work, or began to communicate. */
struct step {
	int64_t time;
	uint32_t process;
};

/* Steps of one process. */
struct progress {
	const struct step *at;
	uint32_t count;
	int64_t start, end; /* of the process */
};

/* All processes' steps, one process after the other, to be freed; NULL: no memory. */
struct step *progress_steps(const struct timeline *tl, bool messages, uint32_t *count);

/* Goes on to a process; all zero at first, and processes in ascending order: steps are gone through once. */
void progress_next(struct progress *p, const struct timeline *tl, const struct step *steps,
		   uint32_t count, uint32_t process);

/* In which of `parts` equal ones a time lies. */
uint32_t progress_part(const struct progress *p, int64_t time, uint32_t parts);

/*
 * What is made all through the run, and not at its begin alone: things are noted as bits, one for each part of the
 * run of their process in which one was made.
 */
struct progresses {
	struct progress *of; /* by process */
	struct step *steps;
};

/* By work and messages. False: no memory. */
bool progresses_find(struct progresses *all, const struct timeline *tl);
void progresses_release(struct progresses *all);

uint8_t progress_bit(const struct progresses *all, uint32_t process, int64_t time);
bool progress_throughout(uint8_t bits);

#endif
