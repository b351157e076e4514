/* SPDX-License-Identifier: Apache-2.0 */
/* Job, rank and size from the environment of a process; see job.h. */
#include "base/job.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

/* More specific ones first: a Slurm job may hold many Open MPI jobs. */
static const char *const id_names[] = {
	"KYMO_JOB", "PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PALS_APID", "PMI_JOBID", NULL,
};
static const char *const rank_names[] = {
	"PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PALS_RANKID", "MV2_COMM_WORLD_RANK",
	"SLURM_PROCID", NULL,
};
static const char *const size_names[] = {
	"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PALS_NRANKS", "MV2_COMM_WORLD_SIZE", "SLURM_NTASKS",
	NULL,
};

static const char *lookup(const char *block, size_t bytes, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = block, *end = block + bytes; p < end; p += strnlen(p, (size_t)(end - p)) + 1)
		if ((size_t)(end - p) > n && strncmp(p, name, n) == 0 && p[n] == '=' && p[n + 1])
			return p + n + 1;
	return NULL;
}

static const char *first(const char *block, size_t bytes, const char *const *names)
{
	const char *v = NULL;

	for (; *names && !v; names++)
		v = lookup(block, bytes, *names);
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

/* Two job steps of one allocation are two jobs. A batch script's own step starts no ranks. */
static void slurm_id(struct job *job, const char *block, size_t bytes)
{
	const char *id = lookup(block, bytes, "SLURM_JOB_ID");
	const char *step = lookup(block, bytes, "SLURM_STEP_ID");

	if (id && step && lookup(block, bytes, "SLURM_PROCID"))
		snprintf(job->id, sizeof(job->id), "slurm-%.24s.%.24s", id, step);
}

void job_from_environment(struct job *job, const char *block, size_t bytes, const char *launcher)
{
	const char *id = first(block, bytes, id_names);

	memset(job, 0, sizeof(*job));
	job->rank = number(first(block, bytes, rank_names), JOB_UNKNOWN);
	job->size = number(first(block, bytes, size_names), 0);
	if (id)
		snprintf(job->id, sizeof(job->id), "%.63s", id);
	else
		slurm_id(job, block, bytes);
	/* Hydra hands out ranks but no name. */
	if (!job->id[0] && launcher && lookup(block, bytes, "PMI_RANK"))
		snprintf(job->id, sizeof(job->id), "%.63s", launcher);
	if (!job->id[0]) {
		job->rank = JOB_UNKNOWN;
		job->size = 0;
	}
	for (char *p = job->id; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("._-", *p))
			*p = '_';
}

/* Parent and its start time: the same for all ranks that one starter has on this node. */
static void name_of_starter(int pid, char *out, size_t size)
{
	char path[64], host[64] = "", *text, *p;
	unsigned long long start = 0;
	int parent = 0;

	out[0] = '\0';
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	text = file_read(path, NULL);
	p = text ? strrchr(text, ')') : NULL;
	if (!p || sscanf(p + 1, " %*c %d", &parent) != 1) {
		free(text);
		return;
	}
	free(text);
	snprintf(path, sizeof(path), "/proc/%d/stat", parent);
	text = file_read(path, NULL);
	p = text ? strrchr(text, ')') : NULL;
	for (int i = 0; p && i < 20; i++)
		p = strchr(p + 1, ' ');
	if (p)
		start = strtoull(p, NULL, 10);
	free(text);
	gethostname(host, sizeof(host) - 1);
	snprintf(out, size, "%.24s-%d-%llu", host, parent, start);
}

void job_of_process(struct job *job, int pid)
{
	char path[64], starter[96], *block;
	size_t bytes = 0;

	if (pid == 0)
		pid = (int)getpid();
	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	block = file_read(path, &bytes);
	name_of_starter(pid, starter, sizeof(starter));
	job_from_environment(job, block ? block : "", block ? bytes : 0, starter);
	free(block);
}
