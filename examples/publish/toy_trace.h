/* SPDX-License-Identifier: Apache-2.0 */
/* What the toy accelerator tells of itself. */
#ifndef TOY_TRACE_H
#define TOY_TRACE_H

#include "toy.h"

enum toy_call { TOY_WRITE, TOY_READ, TOY_RUN, TOY_CALLS };

struct toy_work {
	enum toy_call call;
	const char *name; /* of the kernel */
	toy_kernel kernel;
	float *to;
	const float *from;
	size_t count;
	uint64_t submitted, start, end; /* the device's clock */
	uint64_t entered;               /* host time */
	uint64_t id;                    /* of the call */
};

/* The device's clock. */
uint64_t toy_clock(void);

void toy_trace_open(void);
void toy_trace_enter(struct toy_work *w);
void toy_trace_exit(struct toy_work *w);
void toy_trace_close(void);

#endif
