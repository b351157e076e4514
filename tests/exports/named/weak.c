/* SPDX-License-Identifier: Apache-2.0 */
/* A program that uses libnuma and UCX where they are, and is linked to neither. Says what they say, or that there is none. */
#include <stdio.h>

__attribute__((weak)) int numa_available(void);
__attribute__((weak)) int numa_max_node(void);
__attribute__((weak)) void *numa_alloc(size_t bytes);
__attribute__((weak)) int ucp_worker_create(void *context, const void *params, void **worker);

int main(void)
{
	void *worker = NULL;

	if (numa_available && numa_max_node && numa_alloc)
		printf("numa %d %d %d\n", numa_available(), numa_max_node(), numa_alloc(1) != NULL);
	else
		printf("numa none\n");
	if (ucp_worker_create)
		printf("ucx %d\n", (signed char)ucp_worker_create(NULL, NULL, &worker) < 0);
	else
		printf("ucx none\n");
	return 0;
}
