/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that are counted, not recorded, and what a job counts together. For backends. */
#ifndef CORE_TALLY_JOB_H
#define CORE_TALLY_JOB_H

#include "core/capture.h"

struct job_tally;

/* Calls are counted in this process, not recorded (mode summary). */
bool cap_tallies(void);
/*
 * A call of the calling thread is counted in the tallies of all that want it recorded, instead of recorded: `duration` and what
 * of it was not spent in other calls, in ticks. Any number of calls, of any op.
 */
void cap_count_call(const struct cap_op *op, uint64_t duration, uint64_t self);
/* From now on activities are counted as well, because cap_tally_take() will be called. */
void cap_tally_work(void);
/* The call `f`, which ends no more than that, is counted as if it ended now. */
void cap_tally_last(struct cap_frame *f);
/*
 * What was counted so far, as the table of one rank. The trace says that it was given: whoever finds
 * the job's table in the trace will not count it twice. `clock_error`: ns. Release `out`.
 */
void cap_tally_take(struct job_tally *out, uint32_t rank, uint32_t world, int64_t offset,
		    uint64_t clock_error);
/* The table of all ranks goes into this process's trace. False: it does not, or not whole. */
bool cap_tally_write(const struct job_tally *t);
/*
 * It is there: counting ends. `elsewhere`: in another process's trace, so that this one needs none,
 * unless it has more than tallies.
 */
void cap_tally_given(bool elsewhere);

#endif
