/* SPDX-License-Identifier: Apache-2.0 */
/* OpenMP without a tools interface. */
#include <stdio.h>

int main(void)
{
	int sum = 0;

#pragma omp parallel for reduction(+ : sum)
	for (int i = 0; i < 100; i++)
		sum += i;
	printf("%d\n", sum);
	return 0;
}
