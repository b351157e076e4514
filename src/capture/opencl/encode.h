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

/*
 * Every wrapper is there twice, from one text: `straight` is a constant. The one that the program calls has no more than
 * the straight path of core/capture.h, and hands what cannot take it to the other, which can do all.
 */
static inline __attribute__((always_inline)) struct cap_frame *
ocl_enter(struct cap_op *op, const void *site, const void *sp, bool straight)
{
	return straight ? cap_enter_straight(op, site, sp) : cap_enter_at(op, site, sp);
}

static inline __attribute__((always_inline)) struct cap_thread *ocl_leave(struct cap_frame *f,
									  bool straight)
{
	if (straight)
		return cap_leave_straight(f);
	cap_leave(f);
	return NULL;
}

static inline unsigned ocl_args(const struct cap_frame *f, bool straight)
{
	return straight ? cap_args_straight(f) : cap_args(f);
}

/* Begins the record of a call at the level of arguments that is wanted. */
static inline __attribute__((always_inline)) bool ocl_begin(struct cap_thread *t,
							    struct cap_frame *f, struct wire_enc *e,
							    unsigned fields, bool straight)
{
	if (!straight && !f->buffers)
		return false;
	if ((straight && cap_unlikely(!t)) || cap_unlikely(ocl_args(f, straight) == 0)) {
		cap_record_bare(f);
		return false;
	}
	return straight ? cap_record_straight(t, f, e, fields) : cap_record(f, e, fields);
}

static inline __attribute__((always_inline)) void
ocl_commit(struct cap_thread *t, struct cap_frame *f, struct wire_enc *e, bool straight)
{
	if (straight)
		cap_commit_straight(t, e);
	else
		cap_commit(f, e);
}

static inline __attribute__((always_inline)) void ocl_done(struct cap_thread *t,
							   struct cap_frame *f, bool straight)
{
	if (straight && cap_likely(t != NULL))
		cap_done_straight(t, f);
	else
		cap_done(f);
}

#endif
