/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parallel jobs: which job a process belongs to and which rank it is, as far as its environment
 * tells (PMIx, PMI, Slurm, PALS, Hydra, Open MPI, MVAPICH). Ranks of one job share one trace.
 */
#ifndef BASE_JOB_H
#define BASE_JOB_H

#include <stddef.h>
#include <stdint.h>

#define JOB_UNKNOWN 0xffffffffu

struct job {
	char id[64];   /* "" outside of a job; safe in a file name */
	uint32_t rank; /* JOB_UNKNOWN */
	uint32_t size; /* ranks in all, 0 unknown */
};

/* From NUL separated NAME=VALUE words. `launcher` tells runs of one node apart where the
 * environment has no job id: the process that started the ranks. */
void job_from_environment(struct job *job, const char *block, size_t bytes, const char *launcher);

/* Of a process, 0: this one. All unknown where its environment may not be read. */
void job_of_process(struct job *job, int pid);

#endif
