/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the generated wrappers need to encode arguments: nothing is read beyond what the API
 * promises to be readable.
 */
#ifndef CAPTURE_OPENCL_ENCODE_H
#define CAPTURE_OPENCL_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#include "core/capture.h"

#define OCL_LIST_MAX 1024u /* a list without an end is not followed further */

static inline size_t ocl_min(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* A count above what can be is a mistake of the program: nothing says how long its array is. */
static inline size_t ocl_valid(size_t count, size_t most)
{
	return count <= most ? count : 0;
}

/*
 * Elements before the zero that ends a list of keys (step 1) or of pairs of key and value (step 2);
 * all such lists have 8-byte elements.
 */
static inline size_t ocl_list(const void *list, size_t step)
{
	const uint64_t *element = list;
	size_t n = 0;

	if (!list)
		return 0;
	while (n < OCL_LIST_MAX && element[n] != 0)
		n += step;
	return n;
}

/* Begins the record of a call at the level of arguments that is wanted. */
static inline __attribute__((always_inline)) bool ocl_begin(struct cap_frame *f, struct wire_enc *e,
							    unsigned fields)
{
	if (cap_unlikely(cap_args(f) == 0)) {
		cap_record_bare(f);
		return false;
	}
	return cap_record(f, e, fields);
}

#endif
