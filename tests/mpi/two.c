/* SPDX-License-Identifier: Apache-2.0 */
/* A program that has another MPI library in its process, loaded before it calls its own. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	int size = 0;

	if (argc > 1 && !dlopen(argv[1], RTLD_NOW | RTLD_LOCAL))
		return 3;
	MPI_Init(NULL, NULL);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Finalize();
	printf("%d\n", size);
	return 0;
}
