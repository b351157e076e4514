/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands before the functions that limit what a process may have: of addresses Kymo gives back what it does not need, and the
 * trace is told (core/process/addresses.h).
 */
#include "inject/limits.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/process/addresses.h"

#define EXPORT __attribute__((visibility("default")))

static int (*next_prlimit)(pid_t pid, enum __rlimit_resource what, const struct rlimit *to,
			   struct rlimit *old);

/* While looking up is allowed; before, by who comes early. */
__attribute__((constructor(102))) static void find_prlimit(void)
{
	void *symbol = dlsym(RTLD_NEXT, "prlimit");

	memcpy(&next_prlimit, &symbol, sizeof(symbol));
}

static int limit(pid_t pid, enum __rlimit_resource what, const struct rlimit *to,
		 struct rlimit *old)
{
	int result;

	if (!next_prlimit)
		find_prlimit();
	if (!next_prlimit) {
		errno = ENOSYS;
		return -1;
	}
	result = next_prlimit(pid, what, to, old);
	if (result == 0 && to && what == RLIMIT_AS && (pid == 0 || pid == getpid()))
		limits_look();
	return result;
}

void limits_look(void)
{
	struct rlimit now;

	if (getrlimit(RLIMIT_AS, &now) == 0 && now.rlim_cur != RLIM_INFINITY)
		kymo_process_limits_addresses(now.rlim_cur);
}

EXPORT int prlimit(pid_t pid, enum __rlimit_resource what, const struct rlimit *to,
		   struct rlimit *old)
{
	return limit(pid, what, to, old);
}

EXPORT int setrlimit(__rlimit_resource_t what, const struct rlimit *to)
{
	return limit(0, (enum __rlimit_resource)what, to, NULL);
}

/* On the machines that Kymo is made for both are the same. */
_Static_assert(sizeof(struct rlimit) == sizeof(struct rlimit64), "limits have 64 bits");

EXPORT int prlimit64(pid_t pid, enum __rlimit_resource what, const struct rlimit64 *to,
		     struct rlimit64 *old)
{
	return limit(pid, what, (const struct rlimit *)to, (struct rlimit *)old);
}

EXPORT int setrlimit64(__rlimit_resource_t what, const struct rlimit64 *to)
{
	return limit(0, (enum __rlimit_resource)what, (const struct rlimit *)to, NULL);
}
