/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sampler on four ranks. Rank 0 draws the numbers of a sweep and broadcasts them; the others have
 * nothing to do until they come. What all have found decides how it goes on, so none can be ahead.
 */
#include <mpi.h>

#include "../../common/work.h"

enum { SWEEPS = 80, N = 512, DRAW = 5000, SWEEP = 6000 };

static void draw(double *numbers, int sweep, double us)
{
	for (int k = 0; k < N; k++)
		numbers[k] = (double)((k * 31 + sweep * 17) % 97) / 97;
	rest_us(us);
}

int main(int argc, char **argv)
{
	double numbers[N], energy = 0, all;
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < SWEEPS; i++) {
#ifdef REPAIRED
		draw(numbers, i, 0); /* each its own, from one seed, beside its sweep */
#else
		if (rank == 0)
			draw(numbers, i, DRAW);
		MPI_Bcast(numbers, N, MPI_DOUBLE, 0, MPI_COMM_WORLD);
#endif
		rest_us(rank ? SWEEP : SWEEP - DRAW);
		energy += numbers[i % N];
		MPI_Allreduce(&energy, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
		energy = 0.5 * all;
	}
	if (rank == 0)
		printf("energy %.6f\n", energy);
	MPI_Finalize();
	return 0;
}
