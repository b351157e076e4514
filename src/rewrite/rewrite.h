/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenCL C programs, rewritten so that their kernels count what they do, or record the addresses that they access. The kernels get one
 * more parameter, the context: docs/kernel-lines.md.
 */
#ifndef REWRITE_REWRITE_H
#define REWRITE_REWRITE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "rewrite/clang.h"

/* Bits, as the names of `kymo rewrite --mode` are numbered. */
enum rewrite_mode {
	REWRITE_COUNT = 0,
	REWRITE_ADDRESS = 1, /* records of accesses */
	REWRITE_BLOCK = 2,   /* records of blocks, regions and ends */
	REWRITE_BOTH = 3,
};

struct rewrite_request {
	enum rewrite_mode mode;
	const char *source;
	size_t length;
	const char *standard;   /* "CL1.2", or NULL: as `options` say, else 1.2 */
	const char *options;    /* of clBuildProgram(), or NULL */
	const char *extensions; /* CL_DEVICE_EXTENSIONS, or NULL: all that clang knows */
	const char *functions;  /* regular expression of kernels' names, or NULL: all */
};

enum { REWRITE_WHY = 512 };

/* The result as text: docs/kernel-lines.md. False: it failed, `why` says why. */
bool rewrite_program(const struct rewrite_request *q, struct text *out, char why[REWRITE_WHY]);

#endif
