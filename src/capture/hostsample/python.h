/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of CPython (3.11 to 3.13), read where it keeps them. They stand in a stack in place of those of
 * its evaluation loop.
 *
 * Invariants: python_take() may be called in a signal handler, of a thread about itself: it takes no lock, and reads with care
 * (base/careful.h) what may be anything. What a frame says is believed when its code object is one.
 */
#ifndef CAPTURE_HOSTSAMPLE_PYTHON_H
#define CAPTURE_HOSTSAMPLE_PYTHON_H

#include <stdbool.h>
#include <stdint.h>

#include "record/fields.h"

enum { PYTHON_FRAMES = 128 };

/* Of a thread, the innermost first. */
struct python_stack {
	uint32_t count;
	bool whole;
	struct python_frame {
		uint64_t
			code; /* object; bit 0: it is the outermost of those that one evaluation loop runs */
		uint64_t instruction;
	} frames[PYTHON_FRAMES];
};

/* The process has an interpreter whose frames can be read. */
bool python_look(void);
void python_take(struct python_stack *out);

/*
 * Puts them into a stack of `count` entries, at most `most`, in place of the entries of evaluation loops. How many it has then.
 * By the sampler's thread, soon after they were taken.
 */
uint32_t python_merge(const struct python_stack *p, uint64_t *addresses, uint32_t count,
		      uint32_t most, enum stack_end end);

#endif
