/* SPDX-License-Identifier: Apache-2.0 */
/* Each rank is in as many ranges as its argument says, each of another name. */
#include <kymo/marker.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	char name[32];
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < atoi(argv[1]); i++) {
		snprintf(name, sizeof(name), "range %d", i);
		kymo_range_push(name);
		kymo_range_pop();
	}
	MPI_Finalize();
	return 0;
}
