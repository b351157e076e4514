/* SPDX-License-Identifier: Apache-2.0 */
/* The state of MPI in this process. */
#ifndef CAPTURE_MPI_HOST_H
#define CAPTURE_MPI_HOST_H

#include <stdatomic.h>
#include <stdbool.h>

#include "capture/mpi/contract.h"

extern const struct mpi_host mpi_host_functions;

/* The implementation may be asked: between MPI_Init (or the first session) and MPI_Finalize. */
extern _Atomic bool mpi_is_alive;

#define MPI_BINDINGS 3u

/* The Fortran bindings' code; calls from there were made by somebody else. */
struct mpi_bindings {
	uint32_t count;
	uintptr_t low[MPI_BINDINGS], high[MPI_BINDINGS];
	const void **(*caller)(void);
};
extern struct mpi_bindings mpi_bindings;

static inline bool mpi_host_alive(void)
{
	return atomic_load_explicit(&mpi_is_alive, memory_order_relaxed);
}

#endif
