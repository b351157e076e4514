/* SPDX-License-Identifier: Apache-2.0 */
/* Memory and policies by libnuma, in two threads. */
#include <dlfcn.h>
#include <numa.h>
#include <numaif.h>
#include <pthread.h>
#include <stdlib.h>

#include "calls.h"

static void *again(void *unused)
{
	void *p = numa_alloc(777);

	numa_free(p, 777);
	return NULL;
}

int main(void)
{
	void *library = dlopen("libnuma.so.1", RTLD_NOW);
	int (*by_name)(void) = (int (*)(void))dlsym(library, "numa_max_node");
	unsigned long mask = 1;
	void *pages[1];
	int where[1];
	pthread_t thread;
	struct bitmask *nodes;
	char *p;

	if (CALL(numa_available)() < 0)
		return 77;
	p = CALL(numa_alloc)(1 << 20);
	memset(p, 1, 1 << 20);
	pages[0] = p;
	CALL(move_pages)(0, 1, pages, NULL, where, 0);
	CALL(mbind)(p, 4096, MPOL_BIND, &mask, 64, 0);
	CALL(numa_free)(p, 1 << 20);
	p = CALL(numa_alloc_onnode)(12345, 0);
	CALL(numa_free)(p, 12345);
	CALL(set_mempolicy)(MPOL_DEFAULT, NULL, 0);
	nodes = CALL(numa_allocate_nodemask)(); /* ends by jumping to numa_bitmask_alloc() */
	CALL(numa_bitmask_setbit)(nodes, 0);
	CALL(numa_bind)(nodes); /* calls others inside */
	CALL(numa_bitmask_free)(nodes);
	calls_count("numa_max_node");
	by_name();
	calls_count("numa_alloc");
	calls_count("numa_free");
	pthread_create(&thread, NULL, again, NULL);
	pthread_join(thread, NULL);
	calls_print();
	return 0;
}
