/* SPDX-License-Identifier: Apache-2.0 */
/* Somebody else's preloaded library: it stands before pwrite64() and says at the end how often it was called. */
#include <dlfcn.h>
#include <stdio.h>
#include <sys/types.h>

static unsigned long calls;

#include <unistd.h>

__attribute__((visibility("default"))) ssize_t pwrite64(int fd, const void *data, size_t size,
							off64_t offset)
{
	__typeof__(&pwrite64) next = (__typeof__(&pwrite64))dlsym(RTLD_NEXT, "pwrite64");

	calls++;
	return next(fd, data, size, offset);
}

__attribute__((destructor)) static void tell(void)
{
	fprintf(stderr, "preloaded: %lu\n", calls);
}
