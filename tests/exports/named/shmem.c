/* SPDX-License-Identifier: Apache-2.0 */
/* Each PE puts to and gets from the next one. */
#include <shmem.h>
#include <stdlib.h>
#include <unistd.h>

#include "calls.h"

int main(void)
{
	double *numbers;
	int me, all, next;
	char *bytes;

	CALL(shmem_init)();
	me = CALL(shmem_my_pe)();
	all = CALL(shmem_n_pes)();
	next = (me + 1) % all;
	bytes = CALL(shmem_malloc)(1000);
	numbers = CALL(shmem_calloc)(10, sizeof(double));
	CALL(shmem_barrier_all)();
	CALL(shmem_putmem)(bytes, "0123456789", 10, next);
	CALL(shmem_put32)(bytes + 100, "0123456789ab", 3, next);
	CALL(shmem_double_p)(&numbers[3], 2.5 + me, next);
	CALL(shmem_ctx_double_put)(SHMEM_CTX_DEFAULT, numbers + 4, (double[]){1, 2, 3}, 3, next);
	CALL(shmem_long_put_nbi)((long *)(bytes + 200), (long[]){1, 2}, 2, next);
	CALL(shmem_quiet)();
	CALL(shmem_barrier_all)();
	printf("%.10s %.1f", bytes, CALL(shmem_double_g)(&numbers[3], me));
	CALL(shmem_getmem)(bytes + 300, bytes, 7, next);
	printf(" %.7s\n", bytes + 300);
	CALL(shmem_free)(bytes);
	if (me == 0)
		calls_print();
	fflush(stdout);
	/* All is done in both; the test does not count this one, at the end of which one may be killed. */
	shmem_sync_all();
	/* Debian's Open MPI 4.1 crashes in shmem_finalize() where there is no network. */
	if (me == 0)
		shmem_global_exit(0);
	for (;;)
		pause();
}
