/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parallel jobs: which job a process belongs to and which rank it is, as far as its environment
 * tells (torchrun, PMIx, PMI, Slurm, JAX, PALS, Flux, Hydra, Open MPI, MVAPICH). Ranks of one job
 * share one trace: the name of a job is the same on all its nodes. Where launchers are nested, as
 * torchrun in srun, the innermost counts.
 */
#ifndef BASE_JOB_H
#define BASE_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOB_UNKNOWN 0xffffffffu

enum { JOB_ABOVE = 16 }; /* processes above one that are looked at */

struct job {
	char id[64]; /* names the trace; "" outside of a job; safe in a file name */
	/*
	 * Whose rank it is: ranks count within it. The id but where one job starts others, or, after a
	 * failure, its ranks again.
	 */
	char world[64];
	char by[16];      /* who says so: "torchrun", "Slurm", ...; "" of no rank */
	uint32_t rank;    /* JOB_UNKNOWN */
	uint32_t size;    /* ranks in all, 0 unknown */
	uint32_t restart; /* how often its ranks had been started before */
	/* Where the id may be used again by a later job: when this job began on this node, realtime
	 * ns; else 0. */
	uint64_t since;
	bool reused; /* such a later job may come at any time */
	int proxy;   /* pid of Hydra's proxy that the rank comes from, 0: of another launcher */
};

/* What started the ranks, as /proc knows it; for job_from_environment(). "": not found. */
struct job_starter {
	char hydra[96];  /* job that a proxy of Hydra belongs to, the same on all nodes */
	char parent[96]; /* the parent process on this node */
	char agent[96];  /* the first process upwards that has not the rank's variables */
	uint64_t since;  /* start of the proxy, or of the uppermost that has them; realtime ns */
	int proxy;       /* pid of the proxy */
};

/* Who is around a rank, upwards from its process. */
struct job_around {
	/* Pids: as far as there is a rank in their environment, and one more. */
	uint32_t above[JOB_ABOVE];
	uint32_t count;
	uint32_t inside; /* the first of them that have the same rank; the next has started it */
};

/*
 * "NAME" or "NAME:SIZE_NAME": variables that have a process's rank, and how many there are, instead of what launchers
 * say. Of processes that have KYMO_RANK_VARIABLE in their environment it is known; `names`, which stay, are of the others.
 */
enum { JOB_NAME = 128 };
void job_use_variable(const char *names);
/* False: these are no names. */
bool job_variable_split(const char *names, char rank[JOB_NAME], char size[JOB_NAME]);

/* From NUL separated NAME=VALUE words. `starter`, which may be NULL, names the job where the
 * environment does not. */
void job_from_environment(struct job *job, const char *block, size_t bytes,
			  const struct job_starter *starter);

/* The job that is named by the command line of one of Hydra's proxies: NUL separated words. "": it is
 * none. */
void job_of_hydra(char *out, size_t size, const char *words, size_t bytes);

/* Of a process, 0: this one. All unknown where its environment may not be read. */
void job_of_process(struct job *job, int pid);

/* Who is around the process, which is the rank that `job` says. */
void job_around(struct job_around *a, const struct job *job, int pid);

#endif
