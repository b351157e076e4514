/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tallies of all ranks become one table, in MPI_Finalize: up a binomial tree over the ranks, each
 * adding its children's tables to its own, so that it takes log2(ranks) rounds and no rank ever has
 * more than a table's memory. Rank 0 has it in its trace; then the others are told that theirs need
 * not stay. The same tree, with nothing to carry, first waits until all ranks have come.
 */
#include <stdlib.h>

#include "capture/mpi/backend.h"
#include "capture/mpi/job.h"
#include "core/tally/job.h"
#include "wire/job_tally.h"

/* ---- the tree ------------------------------------------------------------------------------- */

static bool receive(int from, void *data, int bytes)
{
	return mpi_module->receive(from, JOB_TAG, data, bytes);
}

static bool to_children(uint32_t value)
{
	bool ok = true;

	for (int step = 1; job_child(step) >= 0; step *= 2)
		ok &= mpi_module->send(job_child(step), JOB_TAG, &value, sizeof(value));
	return ok;
}

static bool to_parent(const void *data, int bytes)
{
	return job_rank() == 0 || mpi_module->send(job_parent(), JOB_TAG, data, bytes);
}

static bool from_parent(uint32_t *value)
{
	return job_rank() == 0 || receive(job_parent(), value, sizeof(*value));
}

/* What any rank says; all have come when it returns. */
static uint32_t any_of_all(uint32_t value)
{
	uint32_t theirs;

	for (int step = 1; job_child(step) >= 0; step *= 2) {
		if (!receive(job_child(step), &theirs, sizeof(theirs)))
			return 0;
		value |= theirs;
	}
	if (!to_parent(&value, sizeof(value)) || !from_parent(&value) || !to_children(value))
		return 0;
	return value;
}

/* ---- tables --------------------------------------------------------------------------------- */

enum { LARGEST = 1 << 28 };

static void add_child(struct job_tally *t, int child)
{
	struct job_tally theirs = {0};
	uint8_t *data = NULL;
	uint64_t bytes = 0;

	if (receive(child, &bytes, sizeof(bytes)) && bytes && bytes <= LARGEST)
		data = malloc(bytes);
	if (data && receive(child, data, (int)bytes) && job_tally_decode(&theirs, data, bytes))
		job_tally_merge(t, &theirs);
	else
		t->failed = true;
	job_tally_release(&theirs);
	free(data);
}

/* Nothing (0 bytes) if it is not complete: then no rank's is used. */
static bool pass_on(const struct job_tally *t)
{
	size_t bytes = 0;
	uint8_t *data = t->failed ? NULL : job_tally_encode(t, &bytes);
	uint64_t size = data && bytes <= LARGEST ? bytes : 0;
	bool ok = to_parent(&size, sizeof(size)) && (!size || to_parent(data, (int)size));

	free(data);
	return ok;
}

void job_tally_reduce(struct cap_frame *finalize)
{
	struct job_tally t;
	uint32_t written = 0;

	if (!any_of_all(cap_tallies()))
		return;
	if (finalize)
		cap_tally_last(finalize);
	job_clock_tally(&t);
	for (int step = 1; job_child(step) >= 0; step *= 2)
		add_child(&t, job_child(step));
	if (job_rank() == 0)
		written = !t.failed && t.total[JOB_TALLY_RANKS] && cap_tally_write(&t);
	else
		pass_on(&t);
	job_tally_release(&t);
	if (from_parent(&written) && to_children(written) && written)
		cap_tally_given(job_rank() != 0);
}
