/* SPDX-License-Identifier: Apache-2.0 */
/* Whether AMD devices are asked by AMD-SMI, or by ROCm-SMI, which came before it. */
#ifndef TELEMETRY_AMD_SMI_H
#define TELEMETRY_AMD_SMI_H

#include <stdbool.h>

/* It is there, of a version that is known, and has a device. Any thread; the first one tries. */
bool amd_smi_works(void);

#endif
