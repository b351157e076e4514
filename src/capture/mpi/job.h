/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks of a job that act together: only when every rank of MPI_COMM_WORLD is recorded into the
 * same trace, because what they do is collective and a rank without Kymo would not take part.
 */
#ifndef CAPTURE_MPI_JOB_H
#define CAPTURE_MPI_JOB_H

#include <stdbool.h>
#include <stdint.h>

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
enum { JOB_TAG = 1, JOB_TAG_PACE = 2 };
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

/* What a rank says of its clock, and of how it lies to rank 0's. */
struct job_clock {
	int64_t now, offset, error;
	uint64_t clock; /* names the clock that is read */
	uint32_t same;  /* it is rank 0's */
};

/* The tightest of some exchanges with a parent. */
struct job_exchange {
	struct job_clock theirs; /* as the last answer said */
	int64_t measured, bound; /* bound: INT64_MAX at first */
	uint64_t count;
};

/* clock.c: this rank's answer now. */
void job_clock_answer(struct job_clock *out);
int64_t job_clock_now(void);
/* clock.c: an answer to a question that was asked at `before`. */
void job_exchange_add(struct job_exchange *x, const struct job_clock *theirs, int64_t before);
/* clock.c: they are enough, or have taken long enough since `begin`. */
bool job_exchange_enough(const struct job_exchange *x, int64_t begin);
/* clock.c: what came of them is a point of the mapping; NULL: of rank 0. */
void job_clock_point(const struct job_exchange *x, int parent);

/* pace.c: points between the first and the last, for long jobs. */
void job_pace_begin(void);
/* Receives what is still under way, so that nothing is left in the implementation. */
void job_pace_end(void);

#endif
