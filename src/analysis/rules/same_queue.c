/* SPDX-License-Identifier: Apache-2.0 */
/* A copy and a kernel that does not need it are in one queue, which does one thing after the other: see transfers.c. */
#include "analysis/rules/transfers.h"

static void find_of_device(struct diagnosis *d, uint32_t device)
{
	struct transfers found = {0};
	struct finding *f;

	transfers_find(d, device, TRANSFER_SAME_QUEUE, &found);
	f = transfers_tell(d, &found, "copies in the queue of kernels");
	if (f)
		text_add(&f->advice, "use a queue for copies and two buffers, with an event where "
				     "a kernel needs a copy");
}

const struct rule rule_same_queue = {
	.id = "same-queue",
	.what = "copies wait for kernels, and kernels for copies, as they are in one queue",
	.threshold = 0.02,
	.repeats = true,
	.why = "a few copies at the beginning and end of a program are no matter",
	.cost = "of each copy the part beside which no kernel ran, at most the kernels after it",
	.find_of_device = find_of_device,
};
