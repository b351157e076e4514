/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PTX rewritten so that one kernel of it counts how often each of its blocks is executed, and records the addresses of
 * its accesses. It finds its context by a variable, so that its parameters stay as they are: docs/kernel-lines.md.
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
	bool addresses;
};

/* The result as text: docs/kernel-lines.md; a kernel that is not rewritten is refused in it. False: there was no memory. */
bool ptx_rewrite(const struct ptx_request *q, struct text *out);
/* The result of one that is not. */
bool ptx_refuse(const char *kernel, const char *why, struct text *out);

#endif
