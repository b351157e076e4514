/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parallel jobs: which job a process belongs to and which rank it is, as far as its environment
 * tells (PMIx, PMI, Slurm, PALS, Flux, Hydra, Open MPI, MVAPICH). Ranks of one job share one trace:
 * the name of a job is the same on all its nodes.
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
	/* Where the id may be used again by a later job: when this job began on this node, realtime
	 * ns; else 0. */
	uint64_t since;
	int proxy; /* pid of Hydra's proxy that the rank comes from, 0: of another launcher */
};

/* What started the ranks, as /proc knows it; for job_from_environment(). "": not found. */
struct job_starter {
	char hydra[96];  /* job that a proxy of Hydra belongs to, the same on all nodes */
	char parent[96]; /* the parent process on this node */
	uint64_t since;  /* the proxy's start, realtime ns */
	int proxy;       /* its pid */
};

/* From NUL separated NAME=VALUE words. `starter`, which may be NULL, names the job where the
 * environment does not. */
void job_from_environment(struct job *job, const char *block, size_t bytes,
			  const struct job_starter *starter);

/* The job that is named by the command line of one of Hydra's proxies: NUL separated words. "": it is
 * none. */
void job_of_hydra(char *out, size_t size, const char *words, size_t bytes);

/* Of a process, 0: this one. All unknown where its environment may not be read. */
void job_of_process(struct job *job, int pid);

#endif
