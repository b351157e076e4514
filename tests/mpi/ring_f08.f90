! SPDX-License-Identifier: Apache-2.0
! A ring through the module mpi_f08: every process sends 4 doubles on, then all add up.
program ring
	use mpi_f08
	implicit none
	integer rank, ranks, next, before
	type(MPI_Request) request
	type(MPI_Status) status
	double precision out(4), in(4), total
	call MPI_Init()
	call MPI_Comm_rank(MPI_COMM_WORLD, rank)
	call MPI_Comm_size(MPI_COMM_WORLD, ranks)
	next = mod(rank + 1, ranks)
	before = mod(rank + ranks - 1, ranks)
	out = rank
	call MPI_Irecv(in, 4, MPI_DOUBLE_PRECISION, before, 5, MPI_COMM_WORLD, request)
	call MPI_Send(out, 4, MPI_DOUBLE_PRECISION, next, 5, MPI_COMM_WORLD)
	call MPI_Wait(request, status)
	call MPI_Allreduce(in(1), total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
	if (rank == 0) print *, 'total', total
	call MPI_Finalize()
end program
