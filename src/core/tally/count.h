/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counting a kernel where kernels are counted (cap_tally_work()), by those who have many: without its
 * record, which would be encoded only to be read again.
 */
#ifndef CORE_TALLY_COUNT_H
#define CORE_TALLY_COUNT_H

#include "core/capture.h"

/* Of a kernel that is complete and has times of its device. */
struct cap_counted_kernel {
	uint32_t agent, queue, kernel;
	uint64_t duration, wait; /* ns; `wait`: since it was queued */
};

/* False: its submission says that there is more to be done than to count it; nothing was done. */
bool cap_count_kernel(const struct cap_submission *o, const struct cap_counted_kernel *k);

#endif
