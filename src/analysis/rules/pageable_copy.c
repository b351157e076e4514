/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies from or to memory that the device cannot reach: the runtime copies them through memory of its own,
 * more slowly, and the host waits meanwhile. See transfers.c.
 */
#include "analysis/rules/transfers.h"
#include "base/plain.h"

static void find_of_device(struct diagnosis *d, uint32_t device)
{
	struct transfers found = {0};
	struct finding *f;
	char rate[UNITS_TEXT];

	transfers_find(d, device, TRANSFER_PAGEABLE, &found);
	f = transfers_tell(d, &found, "copies of pageable memory");
	if (!f)
		return;
	plain_addf(&f->evidence, "reckoned with pinned copies of %s, %s\n",
		   units_rate((double)found.rate * 1000, rate),
		   found.rate_assumed ? "2.5 times as fast: the trace has none to compare with"
				      : "as those of the trace");
	text_add(&f->advice, "use pinned memory (cudaHostAlloc, cudaHostRegister, "
			     "CL_MEM_ALLOC_HOST_PTR), and copy asynchronously");
}

const struct rule rule_pageable_copy = {
	.id = "pageable-copy",
	.what = "copies of pageable memory: slow, and the host waits for them",
	.threshold = 0.02,
	.repeats = true,
	.why = "a few copies at the beginning and end of a program are no matter",
	.cost = "what the copies take longer than pinned ones, and what of these could run beside "
		"kernels of other queues",
	.find_of_device = find_of_device,
};
