/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What foreign annotations cost: a range pushed and popped through NVTX and ITT, by the fakes of
 * the tests, which call as the vendors' headers do, through a ROCTx library (the argument) and Kokkos
 * Tools. Prints the best of many rounds; -1: the interface has no tool.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../tests/itt/fake.h"
#include "../tests/nvtx/fake.h"

enum { ROUNDS = 30, RANGES = 100000 };

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void nvtx(void)
{
	nvtxRangePushA("step");
	nvtxRangePop();
}

static __itt_domain *domain;
static __itt_string_handle *name;

static void itt(void)
{
	__itt_task_begin(domain, __itt_null, __itt_null, name);
	__itt_task_end(domain);
}

static int (*roctx_push)(const char *), (*roctx_pop)(void);

static void roctx(void)
{
	roctx_push("step");
	roctx_pop();
}

static void (*kokkos_push)(const char *), (*kokkos_pop)(void);

static void kokkos(void)
{
	kokkos_push("step");
	kokkos_pop();
}

static void find(const char *library, const char *push, void *at_push, const char *pop,
		 void *at_pop)
{
	void *opened = library ? dlopen(library, RTLD_NOW) : NULL;

	*(void **)at_push = opened ? dlsym(opened, push) : NULL;
	*(void **)at_pop = opened ? dlsym(opened, pop) : NULL;
}

static double best(void (*range)(void))
{
	double least = 1e9;

	for (int r = 0; r < ROUNDS; r++) {
		double begin = now(), each;

		for (int i = 0; i < RANGES; i++)
			range();
		each = (now() - begin) / RANGES;
		least = each < least ? each : least;
	}
	return least;
}

int main(int argc, char **argv)
{
	find(argc > 1 ? argv[1] : NULL, "roctxRangePushA", &roctx_push, "roctxRangePop",
	     &roctx_pop);
	find(getenv("KOKKOS_TOOLS_LIBS"), "kokkosp_push_profile_region", &kokkos_push,
	     "kokkosp_pop_profile_region", &kokkos_pop);
	domain = __itt_domain_create("bench");
	name = __itt_string_handle_create("step");
	printf("nvtx=%.2f\n", best(nvtx));
	printf("itt=%.2f\n", best(itt));
	printf("roctx=%.2f\n", roctx_push ? best(roctx) : -1);
	printf("kokkos=%.2f\n", kokkos_push ? best(kokkos) : -1);
	return 0;
}
