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
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "capture/mpi/thunk.h"

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

struct hunt {
	const char *name;
	void *found;
};

/* Libraries that were loaded without RTLD_GLOBAL are searched one by one. */
static int hunt_in(struct dl_phdr_info *info, size_t size, void *data)
{
	struct hunt *h = data;
	void *handle = info->dlpi_name && strstr(info->dlpi_name, "mpi") &&
				       !strstr(info->dlpi_name, "/libkymo")
			       ? dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD)
			       : NULL;

	h->found = handle ? dlsym(handle, h->name) : NULL;
	if (handle)
		dlclose(handle);
	return h->found != NULL;
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
	struct hunt h = {NULL, NULL};
	int saved = errno;
	char name[128];

	fortran_name(number, name);
	h.name = name;
	h.found = next(name);
	if (!h.found)
		dl_iterate_phdr(hunt_in, &h);
	if (h.found)
		__atomic_store_n(&mpi_fortran_targets[number], h.found, __ATOMIC_RELAXED);
	errno = saved;
	return h.found ? h.found : (void *)absent;
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

/* Keeps every register in which an argument may be, and goes on where mpi_resolve() says. */
#if defined(__x86_64__)
__asm__(".pushsection .text,\"ax\",%progbits\n"
	"\t.globl mpi_unbound\n\t.hidden mpi_unbound\n\t.type mpi_unbound, %function\n"
	"mpi_unbound:\n\t.cfi_startproc\n"
	"\tpush %rbp\n\t.cfi_def_cfa_offset 16\n\t.cfi_offset %rbp, -16\n"
	"\tmov %rsp, %rbp\n\t.cfi_def_cfa_register %rbp\n"
	"\tpush %rdi\n\tpush %rsi\n\tpush %rdx\n\tpush %rcx\n\tpush %r8\n\tpush %r9\n"
	"\tpush %rax\n\tpush %rax\n\tsub $128, %rsp\n"
	"\tmovups %xmm0, (%rsp)\n\tmovups %xmm1, 16(%rsp)\n\tmovups %xmm2, 32(%rsp)\n"
	"\tmovups %xmm3, 48(%rsp)\n\tmovups %xmm4, 64(%rsp)\n\tmovups %xmm5, 80(%rsp)\n"
	"\tmovups %xmm6, 96(%rsp)\n\tmovups %xmm7, 112(%rsp)\n"
	"\tmov %r11d, %edi\n\tcall mpi_resolve\n\tmov %rax, %r11\n"
	"\tmovups (%rsp), %xmm0\n\tmovups 16(%rsp), %xmm1\n\tmovups 32(%rsp), %xmm2\n"
	"\tmovups 48(%rsp), %xmm3\n\tmovups 64(%rsp), %xmm4\n\tmovups 80(%rsp), %xmm5\n"
	"\tmovups 96(%rsp), %xmm6\n\tmovups 112(%rsp), %xmm7\n"
	"\tadd $128, %rsp\n\tpop %rax\n\tpop %rax\n\tpop %r9\n\tpop %r8\n\tpop %rcx\n"
	"\tpop %rdx\n\tpop %rsi\n\tpop %rdi\n\tpop %rbp\n\t.cfi_def_cfa %rsp, 8\n"
	"\tjmp *%r11\n\t.cfi_endproc\n\t.size mpi_unbound, . - mpi_unbound\n\t.popsection\n");
#elif defined(__aarch64__)
__asm__(".pushsection .text,\"ax\",%progbits\n"
	"\t.globl mpi_unbound\n\t.hidden mpi_unbound\n\t.type mpi_unbound, %function\n"
	"mpi_unbound:\n\t.cfi_startproc\n"
	"\tstp x29, x30, [sp, #-208]!\n\t.cfi_def_cfa_offset 208\n\tmov x29, sp\n"
	"\tstp x0, x1, [sp, #16]\n\tstp x2, x3, [sp, #32]\n\tstp x4, x5, [sp, #48]\n"
	"\tstp x6, x7, [sp, #64]\n\tstp q0, q1, [sp, #80]\n\tstp q2, q3, [sp, #112]\n"
	"\tstp q4, q5, [sp, #144]\n\tstp q6, q7, [sp, #176]\n"
	"\tmov w0, w17\n\tbl mpi_resolve\n\tmov x16, x0\n"
	"\tldp q6, q7, [sp, #176]\n\tldp q4, q5, [sp, #144]\n\tldp q2, q3, [sp, #112]\n"
	"\tldp q0, q1, [sp, #80]\n\tldp x6, x7, [sp, #64]\n\tldp x4, x5, [sp, #48]\n"
	"\tldp x2, x3, [sp, #32]\n\tldp x0, x1, [sp, #16]\n\tldp x29, x30, [sp], #208\n"
	"\t.cfi_def_cfa_offset 0\n\tbr x16\n\t.cfi_endproc\n"
	"\t.size mpi_unbound, . - mpi_unbound\n\t.popsection\n");
#endif
