/* SPDX-License-Identifier: Apache-2.0 */
/* What some emulators do: accept the request to wipe memory in children, and not do it. */
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int madvise(void *address, size_t length, int advice)
{
	if (advice == MADV_WIPEONFORK)
		return 0;
	return (int)syscall(SYS_madvise, address, length, advice);
}
