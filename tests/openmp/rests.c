/* SPDX-License-Identifier: Apache-2.0 */
/* 20 target regions of 10 ms, wherever they run. */
#include <stdio.h>
#include <time.h>

int main(void)
{
	int done = 0;

	for (int i = 0; i < 20; i++) {
#pragma omp target map(tofrom : done)
		{
			struct timespec t = {0, 10000000};

			nanosleep(&t, NULL);
			done++;
		}
	}
	printf("%d\n", done);
	return 0;
}
