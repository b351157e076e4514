/* SPDX-License-Identifier: Apache-2.0 */
/* What the preloaded library tells of target regions that OMPT does not. */
#ifndef CAPTURE_OPENMP_OFFLOAD_H
#define CAPTURE_OPENMP_OFFLOAD_H

#include <stdint.h>

/*
 * No device took the region at `code`, launched at the tick `since`: the host computes it. Passed over
 * when its own callbacks have said so.
 */
void kymo_offload_failed(int64_t device, const void *code, uint64_t since);

#endif
