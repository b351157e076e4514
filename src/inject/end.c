/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands before _exit(), after which nothing of the program's runs any more: device work that only
 * the runtime knows of so far would be lost. exit() and return need nothing of this, nor do the
 * children that the C library itself makes (posix_spawn, system), which end without these symbols.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/process/ending.h"

typedef void (*end)(int status);

/* Whoever would have been called: a sanitizer, or the C library. Looked up while that is allowed. */
static end next;

__attribute__((visibility("default"), noreturn)) void _exit(int status);
__attribute__((visibility("default"), noreturn)) void _Exit(int status);

__attribute__((constructor(102))) static void find_next_exit(void)
{
	void *symbol = dlsym(RTLD_NEXT, "_exit");
	int saved = errno;

	memcpy(&next, &symbol, sizeof(next));
	kymo_process_ending_arm();
	at_quick_exit(kymo_process_ending);
	errno = saved;
}

void _exit(int status)
{
	kymo_process_ending();
	if (next)
		next(status);
	for (;;)
		syscall(SYS_exit_group, status);
}

void _Exit(int status)
{
	_exit(status);
}
