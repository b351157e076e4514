/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who says in a block of variables which rank a process is, and what the job is called. Variables
 * outlive what they were set for: a shell in a batch system's allocation, a variable exported by a
 * script. So a rank counts only with what else its launcher sets, and of two that disagree the one
 * that cannot be a leftover.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/job_inside.h"

/* Steps above this number are no user's: of the batch script, of an interactive shell. */
#define SLURM_STEPS 0xfffffff0u

const char *job_variable(const char *block, size_t bytes, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = block, *end = block + bytes; p < end;
	     p += strnlen(p, (size_t)(end - p)) + 1)
		if ((size_t)(end - p) > n && strncmp(p, name, n) == 0 && p[n] == '=' && p[n + 1])
			return p + n + 1;
	return NULL;
}

static const char *variable(const struct job_block *b, const char *name)
{
	return job_variable(b->text, b->bytes, name);
}

static uint32_t number(const char *s, uint32_t otherwise)
{
	char *end;
	unsigned long v;

	if (!s || !isdigit((unsigned char)*s))
		return otherwise;
	v = strtoul(s, &end, 10);
	return *end == '\0' && v < JOB_UNKNOWN ? (uint32_t)v : otherwise;
}

/* ---- ranks ----------------------------------------------------------------------------------- */

/*
 * Names one behind the other, as here, need no relocation in the library that is loaded into programs: the first
 * variable of them that there is.
 */
static const char *first_variable(const struct job_block *b, const char *names)
{
	const char *v = NULL;

	for (; *names && !v; names += strlen(names) + 1)
		v = variable(b, names);
	return v;
}

static uint32_t first_number(const struct job_block *b, const char *names)
{
	return number(first_variable(b, names), JOB_UNKNOWN);
}

static bool is_rank(struct job_rank *r, const char *by, const char *name, uint32_t rank,
		    uint32_t size)
{
	if (rank == JOB_UNKNOWN || (size != JOB_UNKNOWN && rank >= size))
		return false;
	*r = (struct job_rank){by, name, rank, size == JOB_UNKNOWN ? 0 : size};
	return true;
}

/* Of a shell that a user types into, nothing is a rank: programs there are started by hand. */
static bool typed_into(const struct job_block *b)
{
	return variable(b, "SLURM_PTY_PORT") || variable(b, "SLURM_PTY_WIN_COL");
}

/* What carries the ranks of MPI, whether a program calls it or not. */
static bool rank_of_mpi(struct job_rank *r, const struct job_block *b)
{
	static const char sizes[] = "OMPI_COMM_WORLD_SIZE\0"
				    "PMI_SIZE\0"
				    "PALS_NRANKS\0"
				    "MV2_COMM_WORLD_SIZE\0"
				    "FLUX_JOB_SIZE\0";
	static const char steps[] = "SLURM_STEP_NUM_TASKS\0"
				    "SLURM_NTASKS\0";
	static const struct {
		char name[24], by[12];
	} ranks[] = {
		{"PMIX_RANK", "PMIx"},      {"OMPI_COMM_WORLD_RANK", "Open MPI"},
		{"PMI_RANK", "PMI"},        {"PMI_ID", "PMI"},
		{"PALS_RANKID", "PALS"},    {"MV2_COMM_WORLD_RANK", "MVAPICH"},
		{"FLUX_TASK_RANK", "Flux"},
	};
	const char *namespace = variable(b, "PMIX_NAMESPACE");
	uint32_t size = first_number(b, sizes);

	if (size == JOB_UNKNOWN && (!namespace || strncmp(namespace, "slurm", 5) == 0))
		size = first_number(b, steps);
	if (size == 1 && typed_into(b))
		return false;
	for (size_t i = 0; i < sizeof(ranks) / sizeof(*ranks); i++) {
		const bool open = i == 0 && variable(b, "OMPI_COMM_WORLD_RANK");

		if (is_rank(r, open ? "Open MPI" : ranks[i].by, ranks[i].name,
			    number(variable(b, ranks[i].name), JOB_UNKNOWN), size))
			return true;
	}
	return false;
}

/* One task is no job: so says the environment of a shell, too, that srun has started. */
static bool rank_of_slurm(struct job_rank *r, const struct job_block *b)
{
	static const char sizes[] = "SLURM_STEP_NUM_TASKS\0"
				    "SLURM_NTASKS\0";
	static const char steps[] = "SLURM_STEP_ID\0"
				    "SLURM_STEPID\0";
	uint32_t size = first_number(b, sizes);

	return first_number(b, steps) < SLURM_STEPS && !typed_into(b) && size != 1 &&
	       is_rank(r, "Slurm", "SLURM_PROCID", number(variable(b, "SLURM_PROCID"), JOB_UNKNOWN),
		       size);
}

static bool rank_of_jax(struct job_rank *r, const struct job_block *b)
{
	static const char sizes[] = "JAX_NUM_PROCESSES\0"
				    "JAX_PROCESS_COUNT\0";
	uint32_t size = first_number(b, sizes);

	return variable(b, "JAX_COORDINATOR_ADDRESS") && size != JOB_UNKNOWN && size > 1 &&
	       is_rank(r, "JAX", "JAX_PROCESS_ID",
		       number(variable(b, "JAX_PROCESS_ID"), JOB_UNKNOWN), size);
}

static bool is_torchrun(const struct job_block *b)
{
	return variable(b, "TORCHELASTIC_RUN_ID") && variable(b, "LOCAL_RANK");
}

/* RANK and WORLD_SIZE are anybody's words: PyTorch's are they with where its ranks meet. */
static bool rank_of_torch(struct job_rank *r, const struct job_block *b)
{
	uint32_t size = number(variable(b, "WORLD_SIZE"), JOB_UNKNOWN);
	bool run = is_torchrun(b);

	if (size == JOB_UNKNOWN || !size || !variable(b, "MASTER_ADDR") ||
	    !variable(b, "MASTER_PORT") || (size == 1 && !run))
		return false;
	return is_rank(r, run ? "torchrun" : "PyTorch", "RANK",
		       number(variable(b, "RANK"), JOB_UNKNOWN), size);
}

/*
 * Between variables that a script may have exported for all its ranks, and those of the launcher: one
 * that has started launchers has fewer ranks than these.
 */
static bool is_nested(const struct job_rank *inner, const struct job_rank *outer,
		      const struct job_block *b)
{
	if (inner->rank == outer->rank && inner->size == outer->size)
		return true;
	return outer->size && inner->size > outer->size && variable(b, "LOCAL_RANK");
}

/* ---- a variable of the user's ---- */

static const char *rank_variable; /* this process's own, before it is in its environment */

void job_use_variable(const char *names)
{
	rank_variable = names;
}

static const char *names_of(const struct job_block *b)
{
	const char *names = variable(b, "KYMO_RANK_VARIABLE");

	return names ? names : rank_variable;
}

bool job_variable_split(const char *names, char rank[JOB_NAME], char size[JOB_NAME])
{
	const char *colon = strchr(names, ':');
	size_t n = colon ? (size_t)(colon - names) : strlen(names),
	       m = colon ? strlen(colon + 1) : 0;

	if (!n || n >= JOB_NAME || m >= JOB_NAME || (colon && !m) || strchr(names, '=') ||
	    (colon && strchr(colon + 1, ':')))
		return false;
	memcpy(rank, names, n);
	rank[n] = '\0';
	memcpy(size, colon ? colon + 1 : "", m);
	size[m] = '\0';
	return true;
}

/* The user has said where ranks are: launchers are not asked, and who has no such number is none. */
static bool rank_of_user(struct job_rank *r, const struct job_block *b, const char *names)
{
	char rank[JOB_NAME], size[JOB_NAME];
	uint32_t of;

	if (!job_variable_split(names, rank, size))
		return false;
	of = *size ? number(variable(b, size), JOB_UNKNOWN) : JOB_UNKNOWN;
	return is_rank(r, "variable", "KYMO_RANK_VARIABLE", number(variable(b, rank), JOB_UNKNOWN),
		       of);
}

bool job_rank_of(struct job_rank *r, const struct job_block *b)
{
	struct job_rank torch, outer;
	const char *names = names_of(b);
	bool by_torch, by_outer;

	if (names)
		return rank_of_user(r, b, names);
	by_torch = rank_of_torch(&torch, b);
	by_outer = rank_of_mpi(&outer, b) || rank_of_jax(&outer, b) || rank_of_slurm(&outer, b);
	if (by_torch && (is_torchrun(b) || !by_outer || is_nested(&torch, &outer, b)))
		*r = torch;
	else if (by_outer)
		*r = outer;
	return by_torch || by_outer;
}

/* ---- names of jobs --------------------------------------------------------------------------- */

/* Two job steps of one allocation are two jobs. A batch script's own step starts no ranks. */
static bool slurm_name(char *out, size_t size, const struct job_block *b)
{
	const char *id = variable(b, "SLURM_JOB_ID"), *step = variable(b, "SLURM_STEP_ID");

	if (variable(b, "SLURM_HET_SIZE") && variable(b, "SLURM_JOB_ID_HET_GROUP_0"))
		id = variable(b, "SLURM_JOB_ID_HET_GROUP_0"); /* else of its part of the job */
	id = id ? id : variable(b, "SLURM_JOBID");
	step = step ? step : variable(b, "SLURM_STEPID");
	if (!id || !step || !variable(b, "SLURM_PROCID") ||
	    number(step, JOB_UNKNOWN) >= SLURM_STEPS)
		return false;
	snprintf(out, size, "slurm-%.24s.%.24s", id, step);
	return true;
}

/* MVAPICH's mpirun_rsh tells each node's starter where it runs itself. */
static void mpirun_rsh_name(char *out, size_t size, const struct job_block *b)
{
	const char *host = variable(b, "MPISPAWN_MPIRUN_HOST");
	const char *id = variable(b, "MPISPAWN_MPIRUN_ID");
	const char *port = variable(b, "MPISPAWN_MPIRUN_PORT");

	if (host && id && variable(b, "MV2_COMM_WORLD_RANK"))
		snprintf(out, size, "%.32s-%.12s-%.8s", host, id, port ? port : "0");
}

/* Only the end of a long name tells jobs apart. */
static void set_name(char *out, size_t size, const char *name)
{
	size_t n = strlen(name), room = size - 1;

	name += n > room ? n - room : 0;
	memcpy(out, name, strlen(name) + 1);
}

/* Hydra hands out ranks but no name. Under a batch system it is what starts the ranks. */
static void hydra_name(struct job *job, const struct job_starter *s)
{
	if (!s || !s->hydra[0])
		return;
	set_name(job->id, sizeof(job->id), s->hydra);
	job->since = s->since;
	job->proxy = s->proxy;
}

/* More specific ones first: a Slurm job may hold many Open MPI jobs. */
static void name_by_mpi(struct job *job, const struct job_block *b, const struct job_starter *s)
{
	static const char names[] = "PMIX_NAMESPACE\0"
				    "OMPI_MCA_ess_base_jobid\0"
				    "PALS_APID\0"
				    "PMI_JOBID\0";
	const char *id = first_variable(b, names);

	if (id)
		set_name(job->id, sizeof(job->id), id);
	else
		mpirun_rsh_name(job->id, sizeof(job->id), b);
	if (!job->id[0] && job_needs_proxy(b))
		hydra_name(job, s);
	id = variable(b, "FLUX_JOB_ID");
	if (!job->id[0] && id && variable(b, "FLUX_TASK_RANK"))
		set_name(job->id, sizeof(job->id), id);
	if (!job->id[0])
		slurm_name(job->id, sizeof(job->id), b);
	if (!job->id[0] && s && job_needs_proxy(b))
		set_name(job->id, sizeof(job->id), s->parent);
}

/* Of what a name has the beginnings of: two jobs have two names, however alike these are. */
static unsigned hash_of(const char *a, const char *b, const char *c)
{
	uint64_t hash = hash_string(a ? a : "");

	hash = hash_add(hash, b ? b : "", b ? strlen(b) : 0);
	hash = hash_add(hash, c ? c : "", c ? strlen(c) : 0);
	return (unsigned)(hash ^ hash >> 32);
}

/*
 * Where its ranks meet names a job while it runs; the next one may meet there as well, and torchrun's
 * run id is the user's, or "none". What started the ranks is one process if they are all on its node.
 */
static void name_by_meeting(char *out, size_t size, struct job *job, const struct job_block *b,
			    const struct job_starter *s)
{
	const char *run = variable(b, "TORCHELASTIC_RUN_ID"),
		   *local = variable(b, "LOCAL_WORLD_SIZE");
	const char *jax = variable(b, "JAX_COORDINATOR_ADDRESS"),
		   *port = variable(b, "MASTER_PORT");
	const char *address = variable(b, "MASTER_ADDR");
	char slurm[56];
	unsigned all;

	if (strcmp(job->by, "JAX") == 0) {
		snprintf(out, size, "jax-%.40s-%08x", jax, hash_of(jax, NULL, NULL));
	} else if (run && number(local, 0) == job->size && s && s->agent[0]) {
		snprintf(out, size, "torchrun-%.46s", s->agent);
		return;
	} else if (slurm_name(slurm, sizeof(slurm), b) && run) {
		all = hash_of(slurm, run, port);
		snprintf(out, size, "torchrun-%.20s-%.8s-%.5s-%08x", slurm, run, port, all);
		return;
	} else {
		all = hash_of(run, address, port);
		snprintf(out, size, "%s-%.14s%s%.*s-%.5s-%08x", run ? "torchrun" : "torch",
			 run ? run : "", run ? "-" : "", run ? 14 : 30, address, port, all);
	}
	job->reused = true;
	job->since = s ? s->since : 0;
}

static void make_safe(char *name)
{
	for (char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("._-", *p))
			*p = '_';
}

bool job_needs_proxy(const struct job_block *b)
{
	return variable(b, "PMI_RANK") || variable(b, "PMI_ID") || names_of(b);
}

bool job_meets(const struct job_rank *r)
{
	return strcmp(r->name, "RANK") == 0 || strcmp(r->by, "JAX") == 0;
}

static void name_job(struct job *job, const struct job_rank *r, const struct job_block *b,
		     const struct job_starter *s)
{
	const char *given = variable(b, "KYMO_JOB");

	job->world[0] = '\0';
	if (*job->by && job_meets(r)) {
		name_by_meeting(job->world, sizeof(job->world) - 8, job, b, s);
		memcpy(job->id, job->world, sizeof(job->id));
	} else {
		name_by_mpi(job, b, s);
	}
	if (given) {
		set_name(job->id, sizeof(job->id), given);
		job->since = job->reused = 0;
	}
	if (!job->world[0])
		memcpy(job->world, job->id, sizeof(job->world));
}

/* Elastic launchers start all ranks again when one fails. */
static void count_restarts(struct job *job, const struct job_block *b)
{
	size_t n = strlen(job->world);

	if (strcmp(job->by, "torchrun") == 0)
		job->restart = number(variable(b, "TORCHELASTIC_RESTART_COUNT"), 0);
	if (job->restart)
		snprintf(job->world + n, sizeof(job->world) - n, "-r%u", job->restart);
}

void job_from_environment(struct job *job, const char *block, size_t bytes,
			  const struct job_starter *starter)
{
	const struct job_block b = {block, bytes};
	struct job_rank r = {"", "", JOB_UNKNOWN, 0};

	memset(job, 0, sizeof(*job));
	job_rank_of(&r, &b);
	snprintf(job->by, sizeof(job->by), "%s", r.by);
	job->rank = r.rank;
	job->size = r.size;
	/* One without a rank has a job where it was told so. */
	if (r.rank != JOB_UNKNOWN || variable(&b, "KYMO_JOB"))
		name_job(job, &r, &b, starter);
	if (!job->id[0]) {
		memset(job, 0, sizeof(*job));
		job->rank = JOB_UNKNOWN;
	}
	make_safe(job->id);
	make_safe(job->world);
	count_restarts(job, &b);
}
