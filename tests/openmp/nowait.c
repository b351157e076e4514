/* SPDX-License-Identifier: Apache-2.0 */
/* A launch as compilers before clang 19 make it for nowait; where no device is, the host is told to do it. */
#include <stdint.h>
#include <stdio.h>

int __tgt_target_kernel_nowait(void *location, int64_t device, int32_t teams, int32_t threads,
			       void *kernel, void *arguments, int32_t waits, void *wait_list,
			       int32_t others, void *other_list);

int main(void)
{
	static uint32_t arguments[64] = {3}; /* their version, and none */
	static char kernel;
	int on_device =
		__tgt_target_kernel_nowait(NULL, 0, 1, 1, &kernel, arguments, 0, NULL, 0, NULL);

	puts(on_device == 0 ? "on a device" : "on the host");
	return 0;
}
