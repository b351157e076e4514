/* SPDX-License-Identifier: Apache-2.0 */
/* The job of a process, as /proc has its environment and who started it; see job.h. */
#include "base/job.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/job_inside.h"

enum { GENERATIONS = 16 }; /* between a proxy and a rank */

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

/* NUL separated words of a process, to be freed; NULL: not to be had. */
static char *words_of(int pid, const char *which, size_t *bytes)
{
	char path[64], *words;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, which);
	words = file_read(path, bytes);
	*bytes = words ? *bytes : 0;
	return words;
}

/* Scripts and `env` may stand between the proxy and the rank. */
static void find_proxy(struct job_starter *s, int pid)
{
	unsigned long long start = 0;
	int parent = parent_of(pid, &start);
	char host[64] = "";

	gethostname(host, sizeof(host) - 1);
	for (int i = 0; i < GENERATIONS && parent > 1; i++) {
		int next = parent_of(parent, &start);
		size_t bytes;
		char *words = words_of(parent, "cmdline", &bytes);

		if (i == 0)
			snprintf(s->parent, sizeof(s->parent), "%.24s-%d-%llu", host, parent,
				 start);
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

static bool rank_there(struct job_rank *r, int pid)
{
	size_t bytes;
	char *block = words_of(pid, "environ", &bytes);
	bool has = block && job_rank_of(r, &(struct job_block){block, bytes});

	free(block);
	return has;
}

/* Upwards from `pid`; *start: of the uppermost that is inside the rank, in clock ticks. */
static void look_around(struct job_around *a, const struct job_rank *r, int pid,
			unsigned long long *start)
{
	unsigned long long of_parent;
	int parent = parent_of(pid, start);
	struct job_rank other;
	bool inside = true, has = true;

	memset(a, 0, sizeof(*a));
	while (parent > 1 && has && a->count < JOB_ABOVE) {
		int next = parent_of(parent, &of_parent);

		a->above[a->count++] = (uint32_t)parent;
		has = rank_there(&other, parent);
		inside &= has && strcmp(other.name, r->name) == 0 && other.rank == r->rank &&
			  other.size == r->size;
		a->inside += inside;
		*start = inside ? of_parent : *start;
		parent = next;
	}
}

static void find_agent(struct job_starter *s, const struct job_rank *r, int pid)
{
	unsigned long long start = 0;
	struct job_around a;
	char host[64] = "";

	gethostname(host, sizeof(host) - 1);
	look_around(&a, r, pid, &start);
	s->since = realtime_of(start);
	if (a.inside == a.count)
		return;
	parent_of((int)a.above[a.inside], &start);
	snprintf(s->agent, sizeof(s->agent), "%.20s-%u-%llu", host, a.above[a.inside], start);
}

void job_of_process(struct job *job, int pid)
{
	struct job_starter starter = {0};
	struct job_rank r;
	size_t bytes;
	char *block;

	if (pid == 0)
		pid = (int)getpid();
	block = words_of(pid, "environ", &bytes);
	/* The way up to what started the ranks is long: it is gone where it can lead to something.
	 */
	if (block && job_needs_proxy(&(struct job_block){block, bytes}))
		find_proxy(&starter, pid);
	if (block && job_rank_of(&r, &(struct job_block){block, bytes}) && job_meets(&r))
		find_agent(&starter, &r, pid);
	job_from_environment(job, block ? block : "", bytes, &starter);
	free(block);
}

void job_around(struct job_around *a, const struct job *job, int pid)
{
	unsigned long long start;
	struct job_rank r;
	size_t bytes;
	char *block;

	memset(a, 0, sizeof(*a));
	if (job->rank == JOB_UNKNOWN)
		return;
	block = words_of(pid, "environ", &bytes);
	if (block && job_rank_of(&r, &(struct job_block){block, bytes}))
		look_around(a, &r, pid, &start);
	free(block);
}
