/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a fuzz target as what it wants: numbers and texts, one after the other. Behind the end everything is 0 and
 * empty. A number is a byte, below INPUT_NUMBER itself; INPUT_NUMBER: one of 8 bytes follows; INPUT_MOST: the largest.
 */
#ifndef TESTS_FUZZ_INPUT_H
#define TESTS_FUZZ_INPUT_H

#include <stdint.h>
#include <string.h>

enum { INPUT_NUMBER = 254, INPUT_MOST = 255 };

struct input {
	const uint8_t *p, *end;
};

static inline size_t input_left(const struct input *in)
{
	return (size_t)(in->end - in->p);
}

/* A little-endian number of `n` bytes. */
static inline uint64_t input_bytes(struct input *in, size_t n)
{
	uint64_t v = 0;

	n = n < input_left(in) ? n : input_left(in);
	memcpy(&v, in->p, n);
	in->p += n;
	return v;
}

static inline uint64_t input_number_from(struct input *in, uint64_t first)
{
	return first == INPUT_NUMBER ? input_bytes(in, 8)
	       : first == INPUT_MOST ? UINT64_MAX
				     : first;
}

static inline uint64_t input_number(struct input *in)
{
	return input_number_from(in, input_bytes(in, 1));
}

/* `length` bytes, or those that are left, whose number is *length then. Borrowed. */
static inline const uint8_t *input_text(struct input *in, size_t *length)
{
	const uint8_t *s = in->p;

	*length = *length < input_left(in) ? *length : input_left(in);
	in->p += *length;
	return s;
}

#endif
