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
/* Before MPI_Finalize, after the last exchange. */
void job_part(void);

/* clock.c: a point of the mapping from this node's time to that of rank 0's node. */
void job_clock_take(void);

#endif
