/* SPDX-License-Identifier: Apache-2.0 */
/* Job, rank and size from the environment of a process; see job.h. */
#include "base/job.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

/* More specific ones first: a Slurm job may hold many Open MPI jobs. */
static const char *const id_names[] = {
	"KYMO_JOB", "PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PALS_APID", "PMI_JOBID", NULL,
};
static const char *const rank_names[] = {
	"PMIX_RANK",           "OMPI_COMM_WORLD_RANK", "PMI_RANK",     "PALS_RANKID",
	"MV2_COMM_WORLD_RANK", "FLUX_TASK_RANK",       "SLURM_PROCID", NULL,
};
static const char *const size_names[] = {
	"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",     "PALS_NRANKS", "MV2_COMM_WORLD_SIZE",
	"FLUX_JOB_SIZE",        "SLURM_NTASKS", NULL,
};

enum { GENERATIONS = 16 }; /* between a proxy and a rank */

static const char *lookup_variable(const char *block, size_t bytes, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = block, *end = block + bytes; p < end;
	     p += strnlen(p, (size_t)(end - p)) + 1)
		if ((size_t)(end - p) > n && strncmp(p, name, n) == 0 && p[n] == '=' && p[n + 1])
			return p + n + 1;
	return NULL;
}

static const char *first_variable(const char *block, size_t bytes, const char *const *names)
{
	const char *v = NULL;

	for (; *names && !v; names++)
		v = lookup_variable(block, bytes, *names);
	return v;
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

/* Only the end of a long name tells jobs apart. */
static void set_id(struct job *job, const char *id)
{
	size_t n = strlen(id), room = sizeof(job->id) - 1;

	id += n > room ? n - room : 0;
	memcpy(job->id, id, strlen(id) + 1);
}

/* Two job steps of one allocation are two jobs. A batch script's own step starts no ranks. */
static void slurm_id(struct job *job, const char *block, size_t bytes)
{
	const char *id = lookup_variable(block, bytes, "SLURM_JOB_ID");
	const char *step = lookup_variable(block, bytes, "SLURM_STEP_ID");

	if (id && step && lookup_variable(block, bytes, "SLURM_PROCID"))
		snprintf(job->id, sizeof(job->id), "slurm-%.24s.%.24s", id, step);
}

/* MVAPICH's mpirun_rsh tells each node's starter where it runs itself. */
static void mpirun_rsh_id(struct job *job, const char *block, size_t bytes)
{
	const char *host = lookup_variable(block, bytes, "MPISPAWN_MPIRUN_HOST");
	const char *id = lookup_variable(block, bytes, "MPISPAWN_MPIRUN_ID");
	const char *port = lookup_variable(block, bytes, "MPISPAWN_MPIRUN_PORT");

	if (host && id && lookup_variable(block, bytes, "MV2_COMM_WORLD_RANK"))
		snprintf(job->id, sizeof(job->id), "%.32s-%.12s-%.8s", host, id, port ? port : "0");
}

static void flux_id(struct job *job, const char *block, size_t bytes)
{
	const char *id = lookup_variable(block, bytes, "FLUX_JOB_ID");

	if (id && lookup_variable(block, bytes, "FLUX_TASK_RANK"))
		set_id(job, id);
}

/* Hydra hands out ranks but no name. Under a batch system it is what starts the ranks. */
static void hydra_id(struct job *job, const struct job_starter *starter)
{
	if (!starter || !starter->hydra[0])
		return;
	set_id(job, starter->hydra);
	job->since = starter->since;
	job->proxy = starter->proxy;
}

void job_from_environment(struct job *job, const char *block, size_t bytes,
			  const struct job_starter *starter)
{
	const char *id = first_variable(block, bytes, id_names);
	bool pmi = lookup_variable(block, bytes, "PMI_RANK") != NULL;

	memset(job, 0, sizeof(*job));
	job->rank = number(first_variable(block, bytes, rank_names), JOB_UNKNOWN);
	job->size = number(first_variable(block, bytes, size_names), 0);
	if (id)
		set_id(job, id);
	else
		mpirun_rsh_id(job, block, bytes);
	if (!job->id[0] && pmi)
		hydra_id(job, starter);
	if (!job->id[0])
		flux_id(job, block, bytes);
	if (!job->id[0])
		slurm_id(job, block, bytes);
	if (!job->id[0] && starter && pmi)
		set_id(job, starter->parent);
	if (!job->id[0]) {
		job->rank = JOB_UNKNOWN;
		job->size = 0;
	}
	for (char *p = job->id; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("._-", *p))
			*p = '_';
}

/* The word after `option` in a command line, "" if there is none. */
static const char *word_after(const char *words, size_t bytes, const char *option)
{
	const char *end = words + bytes;

	for (const char *p = words; p < end; p += strnlen(p, (size_t)(end - p)) + 1) {
		const char *next = p + strnlen(p, (size_t)(end - p)) + 1;

		if (strncmp(p, option, strlen(option) + 1) == 0 && next < end)
			return next;
	}
	return "";
}

/*
 * The port that mpiexec listens to for its proxies is the job's alone while it runs, and each proxy
 * is told it; processes that the job spawns are a group of another number. MPICH and MVAPICH:
 * --control-port HOST:PORT, Intel MPI: --upstream-host HOST --upstream-port PORT.
 */
void job_of_hydra(char *out, size_t size, const char *words, size_t bytes)
{
	const char *port = word_after(words, bytes, "--control-port");
	const char *host = word_after(words, bytes, "--upstream-host");
	const char *upstream = word_after(words, bytes, "--upstream-port");
	const char *group = word_after(words, bytes, "--pgid");

	out[0] = '\0';
	if (!memmem(words, strnlen(words, bytes), "hydra", 5) &&
	    !memmem(words, strnlen(words, bytes), "_proxy", 6))
		return;
	if (strchr(port, ':'))
		snprintf(out, size, "%s-%.8s", strlen(port) > 50 ? port + strlen(port) - 50 : port,
			 *group ? group : "0");
	else if (*host && *upstream)
		snprintf(out, size, "%.32s-%.8s-%.8s", host, upstream, *group ? group : "0");
}

/* The parent of a process, 0 if there is none to be seen; *start in clock ticks since the boot. */
static int parent_of(int pid, unsigned long long *start)
{
	char path[64], *text, *p;
	int parent = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	text = file_read(path, NULL);
	p = text ? strrchr(text, ')') : NULL;
	if (!p || sscanf(p + 1, " %*c %d", &parent) != 1)
		parent = 0;
	for (int i = 0; p && i < 20; i++)
		p = strchr(p + 1, ' ');
	*start = p ? strtoull(p, NULL, 10) : 0;
	free(text);
	return parent;
}

/* Of a moment since the boot, in clock ticks. */
static uint64_t realtime_of(unsigned long long ticks)
{
	uint64_t now = clock_ns(CLOCK_REALTIME), up = clock_ns(CLOCK_BOOTTIME);
	long rate = sysconf(_SC_CLK_TCK);

	return rate > 0 ? now - up + ticks * (1000000000ull / (unsigned long)rate) : 0;
}

/* Scripts and `env` may stand between the proxy and the rank. */
static void find_starter(struct job_starter *s, int pid)
{
	unsigned long long start = 0;
	int parent = parent_of(pid, &start);
	char path[64], host[64] = "", *words;
	size_t bytes;

	memset(s, 0, sizeof(*s));
	gethostname(host, sizeof(host) - 1);
	for (int i = 0; i < GENERATIONS && parent > 1; i++) {
		int next = parent_of(parent, &start);

		if (i == 0)
			snprintf(s->parent, sizeof(s->parent), "%.24s-%d-%llu", host, parent,
				 start);
		snprintf(path, sizeof(path), "/proc/%d/cmdline", parent);
		words = file_read(path, &bytes);
		if (words)
			job_of_hydra(s->hydra, sizeof(s->hydra), words, bytes);
		free(words);
		if (s->hydra[0]) {
			s->since = realtime_of(start);
			s->proxy = parent;
			return;
		}
		parent = next;
	}
}

void job_of_process(struct job *job, int pid)
{
	struct job_starter starter;
	char path[64], *block;
	size_t bytes = 0;
	bool starts;

	if (pid == 0)
		pid = (int)getpid();
	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	block = file_read(path, &bytes);
	bytes = block ? bytes : 0;
	/* The way up to what started the ranks is long: it is gone where it can lead to something.
	 */
	starts = block && lookup_variable(block, bytes, "PMI_RANK");
	if (starts)
		find_starter(&starter, pid);
	job_from_environment(job, block ? block : "", bytes, starts ? &starter : NULL);
	free(block);
}
