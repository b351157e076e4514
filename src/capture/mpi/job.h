/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks of a job that act together: only when every rank of MPI_COMM_WORLD is recorded into the
 * same trace, because what they do is collective and a rank without Kymo would not take part.
 */
#ifndef CAPTURE_MPI_JOB_H
#define CAPTURE_MPI_JOB_H

#include <stdbool.h>

/* Before MPI_Init: signs the list of ranks in the trace. */
void job_sign(void);
/* After it: the private communicator, if all have signed. */
bool job_join(void);
bool job_joined(void);
int job_rank(void);
int job_size(void);

/*
 * A binomial tree over the ranks. A rank's children are at steps 1, 2, 4 and so on, as far as there are
 * any: the nearest first, so that their ranks and those below them follow on one another.
 */
int job_parent(void);
int job_child(int step); /* -1: none, nor at larger steps */

/* What is exchanged at different times must not be taken for one another. */
enum { JOB_TAG = 1, JOB_TAG_PACE = 2, JOB_TAGS = 32767 };
/* Before MPI_Finalize, after the last exchange. */
void job_part(void);

struct cap_frame;
struct job_tally;

/*
 * reduce.c: in mode summary, the tallies of all ranks into the trace of rank 0. The call that is about
 * to finalise MPI counts as long as it waited for the other ranks.
 */
void job_tally_reduce(struct cap_frame *finalize);

/* clock.c: the tallies of this rank, with times of the job. */
void job_clock_tally(struct job_tally *out);
/* clock.c: a point of the mapping from this node's time to that of rank 0's node. */
void job_clock_take(void);
/* pace.c: points between the first and the last, for long jobs. */
void job_pace_begin(void);
void job_pace_end(void);
/* clock.c: the same in the middle of the job; false: a rank has not come in `wait_ns`. */
bool job_clock_take_within(int tag, uint64_t wait_ns);

#endif
