/* SPDX-License-Identifier: Apache-2.0 */
/* What the stand-in for ROCm's runtimes offers to the tests. */
#ifndef MOCK_ROCM_H
#define MOCK_ROCM_H

#include <stdint.h>

#define MOCK_NO_LIBRARY  99 /* the register library is not there */
#define MOCK_HIP_ENTRIES 520 /* more than the model knows */

int mock_register(const char *name, void **tables, uint64_t count, uint64_t *id);
int mock_register_hip(uint64_t *id);
int mock_register_roctx(uint64_t *id);
int mock_register_hsa(uint64_t *id);

/* Entries of "hip", "core", "control", "name" (ROCTx), "hsa_core", "hsa_amd". */
void **mock_entries(const char *table);
/* What the last function got. */
const uint64_t *mock_last(void);

/* Places in the published table. */
#define MOCK_HIP_LAUNCH 214 /* hipLaunchKernel */
#define MOCK_HIP_MALLOC 215 /* hipMalloc */

#endif
