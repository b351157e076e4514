/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tool for OMPT that does nothing: what is left when the recording is taken away. BENCH_OMPT says
 * which callbacks it asks for: "regions" those of parallel regions alone, "threads" those of what
 * each thread does in them as well; else none.
 */
#include <stdlib.h>
#include <string.h>

#include "capture/openmp/ompt.h"

__attribute__((visibility("default"))) struct omp_tool *
ompt_start_tool(unsigned omp_version, const char *runtime_version);

static void parallel_begin(union omp_data *task, const struct omp_frame *frame,
			   union omp_data *parallel, unsigned requested, int flags,
			   const void *code)
{
}

static void parallel_end(union omp_data *parallel, union omp_data *task, int flags,
			 const void *code)
{
}

static void implicit_task(int endpoint, union omp_data *parallel, union omp_data *task,
			  unsigned threads, unsigned number, int flags)
{
}

static void sync_region(int kind, int endpoint, union omp_data *parallel, union omp_data *task,
			const void *code)
{
}

static int initialize(omp_lookup lookup, int initial_device, union omp_data *tool)
{
	const char *which = getenv("BENCH_OMPT");
	omp_function found = lookup("ompt_set_callback");
	omp_set_callback set;

	memcpy(&set, &found, sizeof(set));
	if (!which || !set)
		return 1;
	set(OMP_PARALLEL_BEGIN, (omp_function)parallel_begin);
	set(OMP_PARALLEL_END, (omp_function)parallel_end);
	if (strcmp(which, "threads") != 0)
		return 1;
	set(OMP_IMPLICIT_TASK, (omp_function)implicit_task);
	set(OMP_SYNC_REGION, (omp_function)sync_region);
	return 1;
}

static void finalize(union omp_data *tool)
{
}

struct omp_tool *ompt_start_tool(unsigned omp_version, const char *runtime_version)
{
	static struct omp_tool us = {initialize, finalize, {0}};

	return &us;
}
