! SPDX-License-Identifier: Apache-2.0
! A ring through mpif.h: every process sends 4 doubles on, then all add up.
program ring
	implicit none
	include 'mpif.h'
	integer rank, ranks, next, before, error, request, status(MPI_STATUS_SIZE)
	double precision out(4), in(4), total
	call MPI_Init(error)
	call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
	call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
	next = mod(rank + 1, ranks)
	before = mod(rank + ranks - 1, ranks)
	out = rank
	call MPI_Irecv(in, 4, MPI_DOUBLE_PRECISION, before, 5, MPI_COMM_WORLD, request, error)
	call MPI_Send(out, 4, MPI_DOUBLE_PRECISION, next, 5, MPI_COMM_WORLD, error)
	call MPI_Wait(request, status, error)
	call MPI_Allreduce(in(1), total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
	if (rank == 0) print *, 'total', total
	call MPI_Finalize(error)
end program
