/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands before the functions that fork: a child that makes no traced call is to be sampled nevertheless (core/process/life.h). When
 * they return there, all handlers of pthread_atfork() have run: what an allocator or another library of the program's locked is free.
 * Children of vfork(), posix_spawn() and _Fork() are left alone.
 */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/process/life.h"

#define EXPORT __attribute__((visibility("default")))

static pid_t (*next_fork)(void);
static int (*next_daemon)(int keep_folder, int keep_streams);

/* While looking up is allowed; before, by who comes early. */
__attribute__((constructor(102))) static void find_functions(void)
{
	void *symbol = dlsym(RTLD_NEXT, "fork");

	memcpy(&next_fork, &symbol, sizeof(symbol));
	symbol = dlsym(RTLD_NEXT, "daemon");
	memcpy(&next_daemon, &symbol, sizeof(symbol));
}

EXPORT pid_t fork(void)
{
	pid_t child;

	if (!next_fork)
		find_functions();
	if (!next_fork) {
		errno = ENOSYS;
		return -1;
	}
	child = next_fork();
	if (child == 0)
		kymo_process_forked();
	return child;
}

/* Forks inside the C library; who comes back is the child. */
EXPORT int daemon(int keep_folder, int keep_streams)
{
	int status;

	if (!next_daemon)
		find_functions();
	if (!next_daemon) {
		errno = ENOSYS;
		return -1;
	}
	status = next_daemon(keep_folder, keep_streams);
	if (status == 0)
		kymo_process_forked();
	return status;
}
