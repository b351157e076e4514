/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libkymo-mpi.so: the door of MPI. It exports MPI_X and PMPI_X; the Fortran and C++ bindings of the
 * implementations call one or the other, so that they come through here too. The first call has
 * libkymo look which MPI the process has loaded and fill the slots; a process that calls no MPI
 * never gets further than having the door mapped.
 */
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/elf.h"
#include "capture/mpi/thunk.h"
#include "core/intercept/resolve.h"

__attribute__((visibility("hidden"))) struct cap_slot mpi_slots[2 * MPI_OP_COUNT];

extern const char *const mpi_door_names[MPI_OP_COUNT] __attribute__((visibility("hidden")));

/* Of libkymo.so.1. True: all slots have targets. */
bool kymo_mpi_open(const struct mpi_door *door);

void *mpi_resolve(uint32_t slot) __attribute__((visibility("hidden"), used));

static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

/* No tail call: dlsym() looks at its return address to know after whom to search. */
static void *next(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	__asm__ volatile("" : "+r"(found));
	return found;
}

/* ---- Fortran -------------------------------------------------------------------------------- */

__attribute__((visibility("hidden"))) void *mpi_fortran_targets[MPI_FORTRAN_NAMES * MPI_OP_COUNT];
__attribute__((visibility("hidden"),
	       tls_model("initial-exec"))) _Thread_local const void *mpi_fortran_caller;

static const void **fortran_caller(void)
{
	return &mpi_fortran_caller;
}

/* The name behind a number; see FORTRAN in gen_mpi.py. */
static void fortran_name(uint32_t number, char out[128])
{
	static const char *const after[MPI_FORTRAN_NAMES] = {"_", "__", "", "", "_f08_", "_f08ts_"};
	const char *name = mpi_door_names[number / MPI_FORTRAN_NAMES] + 1;
	uint32_t form = number % MPI_FORTRAN_NAMES;
	size_t n = strlen(name);
	bool large = n > 2 && strcmp(name + n - 2, "_c") == 0;

	snprintf(out, 128, "%.*s%s%s", (int)(large ? n - 2 : n), name, after[form],
		 large ? "large_" : "");
	for (char *p = out; *p; p++)
		*p = (char)(form == 3 ? toupper((unsigned char)*p) : tolower((unsigned char)*p));
}

static bool may_be_mpi(const char *path, const void *unused)
{
	return strstr(path, "mpi") && !strstr(path, "/libkymo");
}

/* No MPI is in the process: what asks whether there is one gets an answer, the rest an error. */
enum { MPI_ERROR_OF_ANY = 16 }; /* not MPI_SUCCESS anywhere */

static int absent(void)
{
	return MPI_ERROR_OF_ANY;
}

static int absent_flag(int *flag)
{
	*flag = 0;
	return 0;
}

static void *no_mpi(uint32_t op)
{
	return op == MPI_OP_Initialized || op == MPI_OP_Finalized ? (void *)absent_flag
								  : (void *)absent;
}

static void *fortran_resolve(uint32_t number)
{
	int saved = errno;
	char name[128];
	void *found;

	fortran_name(number, name);
	found = next(name);
	/* Libraries that were loaded without RTLD_GLOBAL are searched one by one. */
	if (!found)
		elf_find_in(may_be_mpi, NULL, name, &found, 1);
	if (found)
		__atomic_store_n(&mpi_fortran_targets[number], found, __ATOMIC_RELAXED);
	errno = saved;
	return found ? found : (void *)absent;
}

void *mpi_resolve(uint32_t slot)
{
	static const struct mpi_door door = {MPI_CONTRACT,   MPI_OP_COUNT, mpi_slots,
					     mpi_door_names, next,         fortran_caller};
	int saved = errno;
	void *target;

	if (slot & MPI_FORTRAN)
		return fortran_resolve(slot & ~(uint32_t)MPI_FORTRAN);
	/* Once open, and by whoever came first, the slots never are empty again. */
	pthread_mutex_lock(&opening);
	target = atomic_load(&mpi_slots[slot].target);
	if (!target && kymo_mpi_open(&door))
		target = atomic_load(&mpi_slots[slot].target);
	pthread_mutex_unlock(&opening);
	errno = saved;
	return target ? target : no_mpi(slot / 2);
}

RESOLVE_AND_JUMP("mpi_unbound", "mpi_resolve");
