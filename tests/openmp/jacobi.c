/* SPDX-License-Identifier: Apache-2.0 */
/* Jacobi's iteration in two dimensions: an OpenMP program as people write them. jacobi SIZE STEPS
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 256, steps = argc > 2 ? atoi(argv[2]) : 1000;
	double *a = calloc((size_t)n * (size_t)n, sizeof(*a)),
	       *b = calloc((size_t)n * (size_t)n, sizeof(*b));
	double change = 0;

	if (!a || !b)
		return 1;
	for (int i = 0; i < n; i++)
		a[i] = b[i] = 1;
	for (int s = 0; s < steps; s++) {
		double *t = a;

		change = 0;
#pragma omp parallel for reduction(max : change)
		for (int y = 1; y < n - 1; y++) {
			for (int x = 1; x < n - 1; x++) {
				double v = 0.25 * (a[(y - 1) * n + x] + a[(y + 1) * n + x] +
						   a[y * n + x - 1] + a[y * n + x + 1]);

				change = fmax(change, fabs(v - a[y * n + x]));
				b[y * n + x] = v;
			}
		}
		a = b;
		b = t;
	}
	printf("%d steps, last change %.3g, centre %.6f\n", steps, change, a[n / 2 * n + n / 2]);
	free(a);
	free(b);
	return 0;
}
