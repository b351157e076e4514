/* SPDX-License-Identifier: Apache-2.0 */
/* This process as one rank of a job: what MPI says of it, from MPI_Init to MPI_Finalize. */
#include <stdatomic.h>

#include "base/job.h"
#include "capture/mpi/backend.h"
#include "capture/mpi/host.h"
#include "capture/mpi/job.h"
#include "core/tally/job.h"

static _Atomic int sessions;

static void define_rank(enum rank_stage stage)
{
	struct mpi_object_info world;
	struct wire_def d;
	struct job job;
	char version[256];
	int level;

	if (!mpi_module->query(MPI_OBJECT_COMM, mpi_module->world, &world))
		return;
	mpi_module->library(version, &level);
	job_of_process(&job, 0);
	wire_def_init(&d, DEF_RANK);
	wire_def_u64(&d, (uint64_t)world.rank);
	wire_def_u64(&d, (uint64_t)world.size);
	wire_def_string(&d, mpi_module->name);
	wire_def_string(&d, version);
	wire_def_u64(&d, (unsigned)(level + 1));
	wire_def_u64(&d, tick_now());
	wire_def_string(&d, job.id);
	wire_def_u64(&d, stage);
	cap_define(&d);
}

void mpi_job_before_init(void)
{
	job_sign();
}

void mpi_job_came_late(void)
{
	atomic_store(&mpi_is_alive, true);
	cap_guard_enter();
	define_rank(RANK_INITIALIZED);
	mpi_comm_made(MPI_OBJECT_COMM, mpi_module->world, 0);
	cap_guard_leave();
}

void mpi_job_after_init(bool world)
{
	atomic_store(&mpi_is_alive, true);
	if (!world) {
		atomic_fetch_add(&sessions, 1);
		return;
	}
	cap_guard_enter();
	define_rank(RANK_INITIALIZED);
	mpi_comm_made(MPI_OBJECT_COMM, mpi_module->world, 0);
	if (job_join()) {
		job_clock_take();
		job_pace_begin();
		cap_tally_work();
	}
	cap_guard_leave();
}

void mpi_job_before_finalize(struct cap_frame *f)
{
	mpi_requests_leave();
	cap_guard_enter();
	define_rank(RANK_FINALIZING);
	job_pace_end();
	if (job_joined()) {
		job_clock_take();
		job_tally_reduce(f);
	}
	job_part();
	cap_guard_leave();
	if (atomic_load(&sessions) == 0)
		atomic_store(&mpi_is_alive, false);
}
