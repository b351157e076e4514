/* SPDX-License-Identifier: Apache-2.0 */
/* What OpenMP does on devices; the test offloads to the processor. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1000 };

int main(int argc, char **argv)
{
	double *x = malloc(N * sizeof(*x)), *y = malloc(N * sizeof(*y)), sum = 0;
	int host = -1, device = argc > 1 ? atoi(argv[1]) : 0;
	void *block;

	for (int i = 0; i < N; i++)
		x[i] = y[i] = i;
#pragma omp target enter data map(to : x [0:N]) device(device)
#pragma omp target teams distribute parallel for map(tofrom : y [0:N]) device(device)
	for (int i = 0; i < N; i++)
		y[i] += x[i];
#pragma omp target map(from : host) device(device)
	host = omp_is_initial_device();
#pragma omp target update from(x [0:N]) device(device)
#pragma omp target exit data map(delete : x [0:N]) device(device)
	block = omp_target_alloc(4096, device);
	omp_target_memcpy(block, x, 4096, 0, 0, device, omp_get_initial_device());
	omp_target_free(block, device);
#pragma omp parallel num_threads(1)
#pragma omp single
#pragma omp target map(tofrom : y [0:N]) device(device) nowait
	for (int i = 0; i < N; i++)
		y[i] += 1;
	for (int i = 0; i < N; i++)
		sum += y[i];
	printf("%g, on the host: %d\n", sum, host);
	return 0;
}
