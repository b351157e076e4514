/* SPDX-License-Identifier: Apache-2.0 */
/* What the files share that find a process's job: its variables (job_environment.c), and the processes around it (job.c). */
#ifndef BASE_JOB_INSIDE_H
#define BASE_JOB_INSIDE_H

#include "base/job.h"

struct job_block { /* NUL separated NAME=VALUE words */
	const char *text;
	size_t bytes;
};

struct job_rank {
	const char *by, *name; /* launcher, and the variable that has the rank */
	uint32_t rank, size;   /* size 0: not known */
};

/* A variable that is not empty, or NULL. */
const char *job_variable(const char *block, size_t bytes, const char *name);

/* False: of none. */
bool job_rank_of(struct job_rank *r, const struct job_block *b);

/* Its job has a name that can be found with the process that started it only: the proxy of Hydra,
 * or what started a rank of PyTorch or JAX. */
bool job_needs_proxy(const struct job_block *b);
bool job_meets(const struct job_rank *r);

#endif
