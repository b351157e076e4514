/* SPDX-License-Identifier: Apache-2.0 */
/* The second of two threads has 20 ms more to do, in each of 20 regions. */
#include <omp.h>
#include <time.h>

int main(void)
{
	for (int i = 0; i < 20; i++) {
#pragma omp parallel num_threads(2)
		{
			struct timespec t = {0, omp_get_thread_num() ? 22000000 : 2000000};

			nanosleep(&t, NULL);
		}
	}
	return 0;
}
