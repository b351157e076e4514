/* SPDX-License-Identifier: Apache-2.0 */
/* Which rank and job a process is by its environment: launchers, nested ones, and what they leave behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/job.h"

#define NONE  JOB_UNKNOWN
#define TORCH "MASTER_ADDR=node1 MASTER_PORT=29500 "
#define STEP  "SLURM_JOB_ID=77 SLURM_STEP_ID=2 "

/* `words` with spaces between them. */
static struct job job_of(const char *words, const struct job_starter *starter)
{
	char block[1024];
	struct job job;
	size_t n = strlen(words);

	assert_true(n < sizeof(block));
	memcpy(block, words, n + 1);
	for (size_t i = 0; i < n; i++)
		block[i] = (char)(block[i] == ' ' ? '\0' : block[i]);
	job_from_environment(&job, block, n, starter);
	return job;
}

/* "#" at the end are eight hexadecimal digits, of what the name has the beginnings of. */
static void assert_name(const char *name, const char *expected)
{
	size_t n = strlen(expected);

	if (!n || expected[n - 1] != '#') {
		assert_string_equal(name, expected);
		return;
	}
	assert_int_equal(strlen(name), n + 7);
	assert_memory_equal(name, expected, n - 1);
	assert_int_equal(strspn(name + n - 1, "0123456789abcdef"), 8);
}

static void launchers(void **state)
{
	static const struct {
		const char *words, *by;
		uint32_t rank, size;
		const char *id;
	} cases[] = {
		{"RANK=3 WORLD_SIZE=4 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 "
		 "TORCHELASTIC_RUN_ID=mine " TORCH,
		 "torchrun", 3, 4, "torchrun-mine-node1-29500-#"},
		{"RANK=3 WORLD_SIZE=4 " TORCH, "PyTorch", 3, 4, "torch-node1-29500-#"},
		{STEP "SLURM_PROCID=5 SLURM_NTASKS=8", "Slurm", 5, 8, "slurm-77.2"},
		{STEP "SLURM_PROCID=5 SLURM_NTASKS=9 SLURM_STEP_NUM_TASKS=8", "Slurm", 5, 8,
		 "slurm-77.2"},
		{"PMI_RANK=1 PMI_SIZE=3 PMI_JOBID=kvs_9", "PMI", 1, 3, "kvs_9"},
		{"PMI_ID=1 PMI_SIZE=3 PMI_JOBID=kvs_9", "PMI", 1, 3, "kvs_9"},
		{"PMIX_RANK=2 PMIX_NAMESPACE=prterun-n-5@1", "PMIx", 2, 0, "prterun-n-5_1"},
		{"PMIX_RANK=2 PMIX_NAMESPACE=slurm.pmix.77.2 SLURM_NTASKS=4 SLURM_PROCID=2 " STEP,
		 "PMIx", 2, 4, "slurm.pmix.77.2"},
		{"PMIX_RANK=2 PMIX_NAMESPACE=123 OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=4",
		 "Open MPI", 2, 4, "123"},
		{"OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=4 OMPI_MCA_ess_base_jobid=9",
		 "Open MPI", 2, 4, "9"},
		{"JAX_PROCESS_ID=1 JAX_NUM_PROCESSES=2 JAX_COORDINATOR_ADDRESS=node1:1234", "JAX",
		 1, 2, "jax-node1_1234-#"},
		{"JAX_PROCESS_ID=1 JAX_PROCESS_COUNT=2 JAX_COORDINATOR_ADDRESS=node1:1234", "JAX",
		 1, 2, "jax-node1_1234-#"},
		{"FLUX_TASK_RANK=1 FLUX_JOB_SIZE=2 FLUX_JOB_ID=f2", "Flux", 1, 2, "f2"},
		{"PALS_RANKID=1 PALS_NRANKS=2 PALS_APID=a2", "PALS", 1, 2, "a2"},
		{STEP "SLURM_PROCID=5 SLURM_NTASKS=8 SLURM_HET_SIZE=2 SLURM_JOB_ID_HET_GROUP_0=70",
		 "Slurm", 5, 8, "slurm-70.2"},
		/* a variable of the user's: whatever launchers say */
		{"KYMO_RANK_VARIABLE=MY_RANK:MY_SIZE MY_RANK=4 MY_SIZE=6 PMI_RANK=1 PMI_SIZE=3 "
		 "PMI_JOBID=kvs_9",
		 "variable", 4, 6, "kvs_9"},
		{"KYMO_RANK_VARIABLE=MY_RANK MY_RANK=4 KYMO_JOB=mine", "variable", 4, 0, "mine"},
		/* nested: what is inside has more ranks, or torchrun's own variables */
		{"SLURM_PROCID=1 SLURM_NTASKS=2 " STEP
		 "RANK=3 WORLD_SIZE=4 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 "
		 "TORCHELASTIC_RUN_ID=none " TORCH,
		 "torchrun", 3, 4, "torchrun-slurm-77.2-none-29500-#"},
		{"OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 PMIX_NAMESPACE=9 "
		 "RANK=3 WORLD_SIZE=4 LOCAL_RANK=1 " TORCH,
		 "PyTorch", 3, 4, "torch-node1-29500-#"},
		{"SLURM_PROCID=0 SLURM_NTASKS=8 " STEP
		 "PMIX_RANK=2 PMIX_NAMESPACE=123 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=2",
		 "Open MPI", 2, 4, "123"},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct job job = job_of(cases[i].words, NULL);

		print_message("%s\n", cases[i].words);
		assert_string_equal(job.by, cases[i].by);
		assert_int_equal(job.rank, cases[i].rank);
		assert_int_equal(job.size, cases[i].size);
		assert_name(job.id, cases[i].id);
		assert_name(job.world, cases[i].id);
	}
}

/* What is left over from something else. */
static void leftovers(void **state)
{
	static const char *const none[] = {
		"",
		"RANK=0 WORLD_SIZE=2", /* anybody's words */
		"KYMO_RANK_VARIABLE=MY_RANK PMI_RANK=1 PMI_SIZE=3 PMI_JOBID=kvs_9",
		"KYMO_RANK_VARIABLE=MY_RANK MY_RANK=x PMI_RANK=1 PMI_SIZE=3 PMI_JOBID=kvs_9",
		"KYMO_RANK_VARIABLE=MY_RANK:N MY_RANK=3 N=3 PMI_RANK=1 PMI_SIZE=3 PMI_JOBID=kvs_9",
		"KYMO_RANK_VARIABLE=: PMI_RANK=1 PMI_SIZE=3 PMI_JOBID=kvs_9",
		"RANK=0 " TORCH,
		"RANK=0 WORLD_SIZE=1 " TORCH, /* a single process */
		"RANK=2 WORLD_SIZE=2 " TORCH, /* there is no such rank */
		"RANK=-1 WORLD_SIZE=2 " TORCH,
		"RANK=1x WORLD_SIZE=2 " TORCH,
		"SLURM_JOB_ID=77 SLURM_NTASKS=8",                /* salloc */
		"SLURM_JOB_ID=77 SLURM_NTASKS=8 SLURM_PROCID=0", /* a batch script */
		"SLURM_JOB_ID=77 SLURM_STEP_ID=4294967291 SLURM_NTASKS=8 SLURM_PROCID=0",
		"SLURM_JOB_ID=77 SLURM_STEP_ID=4294967290 SLURM_NTASKS=8 SLURM_PROCID=0",
		STEP "SLURM_PROCID=0 SLURM_NTASKS=1", /* a shell in a step */
		STEP "SLURM_PROCID=0 SLURM_NTASKS=8 SLURM_PTY_PORT=4711",
		STEP "SLURM_PROCID=0 SLURM_NTASKS=1 SLURM_PTY_PORT=1 PMI_RANK=0 PMI_SIZE=1 "
		     "PMI_JOBID=77.2",
		STEP "SLURM_PROCID=8 SLURM_NTASKS=8",
		"JAX_PROCESS_ID=0 JAX_NUM_PROCESSES=1 JAX_COORDINATOR_ADDRESS=a:1",
		"JAX_PROCESS_ID=0 JAX_COORDINATOR_ADDRESS=a:1",
		"PMI_RANK=4294967295 PMI_SIZE=2 PMI_JOBID=1",
	};

	for (unsigned i = 0; i < sizeof(none) / sizeof(*none); i++) {
		struct job job = job_of(none[i], NULL);

		print_message("%s\n", none[i]);
		assert_int_equal(job.rank, NONE);
		assert_string_equal(job.id, "");
		assert_string_equal(job.world, "");
		assert_string_equal(job.by, "");
	}
}

/* A script has exported variables for all its ranks, which their launcher tells apart. */
static void disagreements(void **state)
{
	struct job job = job_of(
		STEP "SLURM_PROCID=3 SLURM_NTASKS=4 RANK=0 WORLD_SIZE=4 LOCAL_RANK=0 " TORCH, NULL);

	assert_string_equal(job.by, "Slurm");
	assert_int_equal(job.rank, 3);
	job = job_of("PMIX_RANK=2 PMIX_NAMESPACE=1 OMPI_COMM_WORLD_SIZE=4 RANK=0 WORLD_SIZE=2 "
		     "LOCAL_RANK=0 " TORCH,
		     NULL);
	assert_string_equal(job.by, "PMIx");
	assert_int_equal(job.rank, 2);
	/* They agree: then where PyTorch's ranks meet is known, too. */
	job = job_of(STEP "SLURM_PROCID=3 SLURM_NTASKS=4 RANK=3 WORLD_SIZE=4 " TORCH, NULL);
	assert_string_equal(job.by, "PyTorch");
	assert_int_equal(job.rank, 3);
}

/* Names that a later job may have again, and those that it has not. */
static void names(void **state)
{
	static const char one_node[] = "RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 "
				       "TORCHELASTIC_RUN_ID=none " TORCH;
	struct job_starter starter = {.agent = "node1-12-345", .since = 99};
	struct job job = job_of(one_node, &starter);

	assert_string_equal(job.id, "torchrun-node1-12-345");
	assert_false(job.reused);
	job = job_of(one_node, NULL);
	assert_name(job.id, "torchrun-none-node1-29500-#");
	assert_true(job.reused);
	job = job_of("RANK=1 WORLD_SIZE=4 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 "
		     "TORCHELASTIC_RUN_ID=none " TORCH,
		     &starter);
	assert_name(job.id, "torchrun-none-node1-29500-#");
	assert_true(job.reused && job.since == 99);
	/* What kymo run hands on names the trace; ranks count in what they are ranks of. */
	job = job_of("KYMO_JOB=slurm-1.2 RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 "
		     "TORCHELASTIC_RUN_ID=none " TORCH,
		     &starter);
	assert_string_equal(job.id, "slurm-1.2");
	assert_string_equal(job.world, "torchrun-node1-12-345");
	assert_false(job.reused);
	/* Ranks that are started again are other ranks, of the same job. */
	job = job_of(
		"TORCHELASTIC_RESTART_COUNT=2 RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 "
		"TORCHELASTIC_RUN_ID=none " TORCH,
		&starter);
	assert_string_equal(job.id, "torchrun-node1-12-345");
	assert_string_equal(job.world, "torchrun-node1-12-345-r2");
	assert_int_equal(job.restart, 2);
	job = job_of("KYMO_JOB=a/b", NULL);
	assert_string_equal(job.id, "a_b");
	assert_int_equal(job.rank, NONE);
}

/* As long as they get: cut, never beyond their room. */
static void long_names(void **state)
{
	char words[600];
	struct job job;

	snprintf(words, sizeof(words),
		 "RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 TORCHELASTIC_RESTART_COUNT=4000000000 "
		 "TORCHELASTIC_RUN_ID=%0150d MASTER_ADDR=%0150d MASTER_PORT=%0100d",
		 1, 2, 3);
	job = job_of(words, NULL);
	assert_int_equal(job.rank, 1);
	assert_true(strlen(job.id) < sizeof(job.id) && strlen(job.world) < sizeof(job.world));
	assert_non_null(strstr(job.world, "-r4"));
}

/* They differ only in the end of something, or in what is no part of a file's name. */
static void alike(void **state)
{
#define LONG_HOST "gpu-rack-0123456789abcdef0123456789abcdef-node-"
#define RANK_0    "RANK=0 WORLD_SIZE=2 "
#define JAX_0     "JAX_PROCESS_ID=0 JAX_NUM_PROCESSES=2 JAX_COORDINATOR_ADDRESS="
#define AGENT     "LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 TORCHELASTIC_RUN_ID="
#define TASK      "SLURM_PROCID=0 SLURM_NTASKS=2 "
	static const char *const pairs[][2] = {
		{RANK_0 "MASTER_PORT=29500 MASTER_ADDR=" LONG_HOST "1",
		 RANK_0 "MASTER_PORT=29500 MASTER_ADDR=" LONG_HOST "2"},
		{RANK_0 "MASTER_PORT=29500 MASTER_ADDR=::1",
		 RANK_0 "MASTER_PORT=29500 MASTER_ADDR=_:1"},
		{RANK_0 TORCH AGENT "experiment-of-tuesday-1",
		 RANK_0 TORCH AGENT "experiment-of-tuesday-2"},
		{RANK_0 AGENT "mine MASTER_PORT=29500 MASTER_ADDR=" LONG_HOST "1",
		 RANK_0 AGENT "mine MASTER_PORT=29500 MASTER_ADDR=" LONG_HOST "2"},
		{RANK_0 AGENT "a-b MASTER_PORT=1 MASTER_ADDR=c",
		 RANK_0 AGENT "a MASTER_PORT=1 MASTER_ADDR=b-c"},
		{RANK_0 TASK STEP TORCH AGENT "experiment-1",
		 RANK_0 TASK STEP TORCH AGENT "experiment-2"},
		{JAX_0 LONG_HOST "1:1234", JAX_0 LONG_HOST "2:1234"},
		{JAX_0 LONG_HOST "1:1234", JAX_0 LONG_HOST "1:1235"},
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		struct job a = job_of(pairs[i][0], NULL), b = job_of(pairs[i][1], NULL),
			   again = job_of(pairs[i][0], NULL);

		print_message("%s: %s, %s\n", pairs[i][0], a.id, b.id);
		assert_int_equal(a.rank, 0);
		assert_string_not_equal(a.id, b.id);
		assert_string_not_equal(a.world, b.world);
		assert_string_equal(a.id, again.id);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(launchers),     cmocka_unit_test(leftovers),
		cmocka_unit_test(disagreements), cmocka_unit_test(names),
		cmocka_unit_test(long_names),    cmocka_unit_test(alike),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
