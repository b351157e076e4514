/* SPDX-License-Identifier: Apache-2.0 */
/* A program of the small runtime; try `kymo run -o sums.kymo ./register-sums`. */
#include <stdio.h>

#include "sums.h"

int main(void)
{
	uint64_t sum;

	if (sums_open("squares", &sum) != 0)
		return 1;
	for (int i = 1; i <= 10; i++)
		sums_add(sum, i, i);
	sums_add(sum + 1, 1, 1); /* fails: no such sum */
	printf("%g\n", sums_read(sum));
	return sums_close(sum) != 0;
}
