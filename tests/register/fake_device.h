/* SPDX-License-Identifier: Apache-2.0 */
/* What the fake for HIP and HSA offers to its probe. */
#ifndef FAKE_DEVICE_H
#define FAKE_DEVICE_H

#include <stdint.h>

struct fake_dim3 {
	uint32_t x, y, z;
};

/* A "kernel" of the fake: runs on the host. */
typedef void (*fake_kernel)(uint64_t items, void **args);

/* Registers HSA's, HIP's and the compiler's tables. 0: done. */
int fake_device_register(void);
/* Entries of "hip", "hip_compiler", "hsa_core", "hsa_amd". */
void **fake_device_entries(const char *table);
/* Who calls HSA for hipMallocManaged: some other library than HIP's. */
typedef int (*fake_allocate)(uint64_t pool, uint64_t size, uint32_t flags, void **ptr);
void fake_device_between(int (*between)(fake_allocate, uint64_t size, void **ptr));
/* Called once, when memory is free and the call that freed it has not returned; it is given out next. */
void fake_device_after_release(void (*function)(void));

#endif
