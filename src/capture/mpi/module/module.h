/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A module: built once for each implementation of MPI, against its mpi.h. What it calls of MPI it
 * calls through `mpi_next`, so that it needs no library and works whichever scope MPI was loaded
 * into.
 */
#ifndef CAPTURE_MPI_MODULE_H
#define CAPTURE_MPI_MODULE_H

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "capture/mpi/contract.h"

#define MODULE_STATUSES MPI_FEW

extern const struct mpi_description mpi_description;

/* A handle as 64 bits: a pointer here, an int there. */
#ifdef OPEN_MPI
#define MODULE_HANDLE(h)     ((uint64_t)(uintptr_t)(h))
#define MODULE_FROM(type, v) ((type)(uintptr_t)(v))
#else
#define MODULE_HANDLE(h)                                                                           \
	(sizeof(h) == 4 ? (uint64_t)(uint32_t)(uintptr_t)(h) : (uint64_t)(uintptr_t)(h))
#define MODULE_FROM(type, v) ((type)(v))
#endif

/* As cap_sp() of core/capture.h, which a module does not include. */
#if defined(__has_builtin)
#if __has_builtin(__builtin_dwarf_cfa)
#define MODULE_SP __builtin_dwarf_cfa()
#endif
#endif
#ifndef MODULE_SP
#define MODULE_SP __builtin_frame_address(0)
#endif

#define MODULE_ENTER(call, op, v)                                                                  \
	mpi_host->enter(call, op, v, __builtin_return_address(0), MODULE_SP)

extern const struct mpi_host *mpi_host;
extern void *mpi_next[MPI_OP_COUNT];
extern void *const mpi_wrappers[MPI_OP_COUNT];

/* Where the program wants no statuses: `own`, or memory of *more that the wrapper frees. */
static inline MPI_Status *module_statuses(int count, MPI_Status *own, MPI_Status **more)
{
	if (count <= (int)MODULE_STATUSES)
		return own;
	*more = malloc((size_t)count * sizeof(**more));
	return *more ? *more : MPI_STATUSES_IGNORE;
}

#endif
