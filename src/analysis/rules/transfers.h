/* SPDX-License-Identifier: Apache-2.0 */
/* Copies that could run beside kernels, and what prevents it: each reason is a rule. */
#ifndef ANALYSIS_RULES_TRANSFERS_H
#define ANALYSIS_RULES_TRANSFERS_H

#include "analysis/rules/support.h"

enum transfer_reason {
	TRANSFER_FREE,      /* nothing that is told: it overlaps, or depends */
	TRANSFER_PAGEABLE,  /* of memory that the device cannot reach */
	TRANSFER_BLOCKING,  /* the host waits for it before it submits the kernel */
	TRANSFER_DEFAULT,   /* one of the two is on a queue that waits for all others */
	TRANSFER_SAME_QUEUE /* both are in one queue */
};

struct transfers {
	struct places places;
	struct claims claims;
	uint64_t gain, number, bytes, ns,
		kernels;   /* ns: of copies; kernels: beside which they could run */
	uint64_t rate;     /* pageable: bytes in a ms that pinned memory was reckoned with */
	bool rate_assumed; /* no such copy in the trace */
};

/* Copies of device `device` that are held back for this reason. */
void transfers_find(struct diagnosis *d, uint32_t device, enum transfer_reason reason,
		    struct transfers *found);
/* The finding, or NULL; evidence and place are set. `what`: "pageable copies". Releases `found`. */
struct finding *transfers_tell(struct diagnosis *d, struct transfers *found, const char *title);

#endif
