/* SPDX-License-Identifier: Apache-2.0 */
/* The legacy default stream waits for all others, and they for it: a copy and a kernel on it and another run one after the other though neither asks for that. See transfers.c. */
#include "analysis/rules/transfers.h"

static void find_of_device(struct diagnosis *d, uint32_t device)
{
	struct transfers found = {0};
	struct finding *f;

	transfers_find(d, device, TRANSFER_DEFAULT, &found);
	f = transfers_tell(d, &found, "copies held by the default stream");
	if (f)
		text_add(&f->advice, "use streams made with cudaStreamNonBlocking, or "
				     "--default-stream per-thread");
}

const struct rule rule_false_dependency = {
	.id = "false-dependency",
	.what = "copies and kernels in different queues wait for each other as one is in the "
		"default stream",
	.threshold = 0.02,
	.repeats = true,
	.why = "a few copies at the beginning and end of a program are no matter",
	.cost = "of each copy the part beside which no kernel ran, at most the kernels after it",
	.find_of_device = find_of_device,
};
