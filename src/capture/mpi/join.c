/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who takes part; see job.h. Each rank writes one byte of a file in the trace directory before it
 * calls MPI_Init. No rank leaves MPI_Init before all have entered it, so afterwards the file tells
 * every rank the same. (On a file system that shows other nodes' writes late the bytes are waited
 * for; a rank without Kymo never writes its byte, and then nobody joins.)
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/job.h"
#include "base/ranks.h"
#include "base/variables.h"
#include "capture/mpi/backend.h"
#include "capture/mpi/job.h"

enum { WAIT_MS = 200, STEP_MS = 2 };

static char path[PATH_MAX];
static struct mpi_private group;
static bool joined;

void job_sign(void)
{
	const char *trace = variable("KYMO_TRACE");
	struct job job;
	int fd;

	path[0] = '\0';
	job_of_process(&job, 0);
	if (!trace || !*trace || !job.id[0] || job.rank == JOB_UNKNOWN)
		return;
	snprintf(path, sizeof(path), "%.*s/.ranks-%.63s", PATH_MAX - 80, trace, job.id);
	fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || pwrite(fd, "1", 1, (off_t)job.rank) != 1)
		path[0] = '\0';
	if (fd >= 0)
		close(fd);
}

static bool all_signed(int size)
{
	char *bytes = calloc(1, (size_t)size);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = bytes && fd >= 0 ? pread(fd, bytes, (size_t)size, 0) : 0;
	bool all = n == size && !memchr(bytes, 0, (size_t)size);

	if (fd >= 0)
		close(fd);
	free(bytes);
	return all;
}

/* False: the user has left ranks out, nobody need wait for them. The launcher has checked the list. */
static bool all_wanted(int size)
{
	const char *ranks = variable("KYMO_RANK");

	return !ranks || !*ranks || ranks_count(ranks, (uint32_t)size) == (uint32_t)size;
}

bool job_join(void)
{
	const struct timespec step = {0, STEP_MS * 1000000};
	struct mpi_object_info world;
	bool all = false, possible;

	if (!path[0] || !mpi_module->query(MPI_OBJECT_COMM, mpi_module->world, &world))
		return false;
	possible = world.size > 1 && all_wanted(world.size);
	for (int ms = 0; possible && ms < WAIT_MS; ms += STEP_MS) {
		all = all_signed(world.size);
		if (all)
			break;
		nanosleep(&step, NULL);
	}
	joined = all && mpi_module->private_open(&group);
	if (!joined && world.size > 1)
		cap_note(1, "mpi",
			 "not all ranks are recorded into this trace: their clocks are not "
			 "compared");
	return joined;
}

bool job_joined(void)
{
	return joined;
}

int job_rank(void)
{
	return group.rank;
}

int job_size(void)
{
	return group.size;
}

/* The distance to the parent; of rank 0, one that no rank has. */
static int reach(void)
{
	int step = 1;

	while (step < group.size && group.rank % (2 * step) == 0)
		step *= 2;
	return step;
}

int job_parent(void)
{
	return group.rank - reach();
}

int job_child(int step)
{
	return step < reach() && group.rank + step < group.size ? group.rank + step : -1;
}

void job_part(void)
{
	if (joined)
		mpi_module->private_close();
	joined = false;
	if (path[0] && group.rank == 0)
		unlink(path);
}
