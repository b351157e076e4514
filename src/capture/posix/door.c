/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libkymo-posix.so: preloaded where the domain "posix" is named. It stands before the C library's functions of files and
 * sockets; what the C library calls inside its own functions does not come here, nor does what Kymo calls.
 */
#include <dlfcn.h>
#include <link.h>

#include "capture/posix/door.h"

posix_fn *_Atomic posix_next[FUNCTIONS];
_Thread_local uint32_t posix_inside __attribute__((tls_model("initial-exec")));
_Thread_local const void *posix_inside_sp __attribute__((tls_model("initial-exec")));
bool posix_started;

static const char names[FUNCTIONS][20] = {
#define FUNCTION(name) #name,
	POSIX_FUNCTIONS(FUNCTION)
#undef FUNCTION
};

posix_fn *posix_find(enum posix_function f)
{
	int saved = errno;
	void *symbol = dlsym(RTLD_NEXT, names[f]);
	posix_fn *next;

	memcpy(&next, &symbol, sizeof(next));
	atomic_store_explicit(&posix_next[f], next, memory_order_relaxed);
	errno = saved;
	return next;
}

/* ---- Kymo's own calls ---- */

#define OWN 16u
static struct {
	uintptr_t start, end;
} own[OWN];
static uint32_t own_count;

bool posix_is_own(const void *caller)
{
	const uintptr_t at = (uintptr_t)caller;

	for (uint32_t i = 0; i < own_count; i++)
		if (at - own[i].start < own[i].end - own[i].start)
			return true;
	return false;
}

static int add_own(struct dl_phdr_info *info, size_t size, void *data)
{
	if (!info->dlpi_name || !strstr(info->dlpi_name, "/libkymo"))
		return 0;
	for (unsigned i = 0; i < info->dlpi_phnum && own_count < OWN; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		own[own_count].start = info->dlpi_addr + p->p_vaddr;
		own[own_count++].end = info->dlpi_addr + p->p_vaddr + p->p_memsz;
	}
	return 0;
}

__attribute__((constructor)) static void loaded(void)
{
	int saved = errno;

	/* Now, and not first in a signal's handler. */
	for (unsigned f = 0; f < FUNCTIONS; f++)
		posix_find((enum posix_function)f);
	dl_iterate_phdr(add_own, NULL);
	posix_inside = 1;
	posix_inside_sp = cap_sp();
	posix_started = kymo_posix_start();
	posix_inside = 0;
	errno = saved;
}
