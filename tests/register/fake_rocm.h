/* SPDX-License-Identifier: Apache-2.0 */
/* What the fake for ROCm's runtimes offers to the tests. */
#ifndef FAKE_ROCM_H
#define FAKE_ROCM_H

#include <stdint.h>

#define FAKE_NO_LIBRARY  99  /* the register library is not there */
#define FAKE_HIP_ENTRIES 520 /* more than the model knows */

int fake_register(const char *name, void **tables, uint64_t count, uint64_t *id);
int fake_register_hip(uint64_t *id);
int fake_register_roctx(uint64_t *id);
int fake_register_hsa(uint64_t *id);

/* Entries of "hip", "core", "control", "name" (ROCTx), "hsa_core", "hsa_amd". */
void **fake_entries(const char *table);
/* What the last function got. */
const uint64_t *fake_last(void);

/* Places in the published table. */
#define FAKE_HIP_LAUNCH 214 /* hipLaunchKernel */
#define FAKE_HIP_MALLOC 215 /* hipMalloc */

#endif
