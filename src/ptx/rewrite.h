/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PTX rewritten so that one kernel of it counts how often each of its blocks is executed, and records the addresses of
 * its accesses, and when blocks begin. It finds its context by a variable, so that its parameters stay as they are: docs/kernel-lines.md.
 */
#ifndef PTX_REWRITE_H
#define PTX_REWRITE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

struct ptx_request {
	const char *text; /* PTX */
	size_t length;
	const char *kernel; /* its name in it */
	bool addresses,
		times; /* record them; times: when blocks and regions begin, and kernels end */
};

/*
 * The numbers of records that are no accesses, whose are those of sites from 0: of a block that begins (or'ed to its number), of a mark
 * of a region, of a thread that leaves the kernel.
 */
#define PTX_RECORD_BLOCK  0x80000000u
#define PTX_RECORD_REGION 0xc0000000u
#define PTX_RECORD_END    0xffffffffu

/* The result as text: docs/kernel-lines.md; a kernel that is not rewritten is refused in it. False: there was no memory. */
bool ptx_rewrite(const struct ptx_request *q, struct text *out);
/* The result of one that is not. */
bool ptx_refuse(const char *kernel, const char *why, struct text *out);

#endif
