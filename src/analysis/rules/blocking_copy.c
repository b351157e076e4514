/* SPDX-License-Identifier: Apache-2.0 */
/* The host waits for a copy, and only then submits a kernel that does not need it: see transfers.c. */
#include "analysis/rules/transfers.h"

static void find_of_device(struct diagnosis *d, uint32_t device)
{
	struct transfers found = {0};
	struct finding *f;

	transfers_find(d, device, TRANSFER_BLOCKING, &found);
	f = transfers_tell(d, &found, "copies the host waits for");
	if (f)
		text_add(&f->advice, "do not wait: use the non-blocking copy, two buffers and a "
				     "second queue, and wait where the data is used");
}

const struct rule rule_blocking_copy = {
	.id = "blocking-copy",
	.what = "the host waits for copies that could run beside kernels",
	.threshold = 0.02,
	.repeats = true,
	.why = "a few copies at the beginning and end of a program are no matter",
	.cost = "of each copy the part beside which no kernel ran, at most the kernels after it, "
		"and the gap behind it",
	.find_of_device = find_of_device,
};
