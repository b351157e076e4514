/* SPDX-License-Identifier: Apache-2.0 */
/* Each rank writes its blocks of one file by MPI-IO, as IOR does, and reads them again. */
#include <mpi.h>
#include <string.h>

enum { BLOCKS = 20, BLOCK = 65536 };

int main(int argc, char **argv)
{
	static char block[BLOCK];
	int rank, size;
	MPI_File file;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	memset(block, rank + 1, sizeof(block));
	MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
		      &file);
	for (int i = 0; i < BLOCKS; i++)
		MPI_File_write_at(file, (MPI_Offset)(i * size + rank) * BLOCK, block, BLOCK,
				  MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_File_sync(file);
	for (int i = 0; i < BLOCKS; i++)
		MPI_File_read_at(file, (MPI_Offset)(i * size + rank) * BLOCK, block, BLOCK,
				 MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_File_close(&file);
	MPI_Finalize();
	return block[0] == rank + 1 ? 0 : 1;
}
