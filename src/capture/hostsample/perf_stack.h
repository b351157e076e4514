/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks of samples by perf events: the kernel copies a thread's registers and the inner part of its stack into each sample, and
 * who reads the ring finds the callers in the copy, by call frame information (core/unwind).
 */
#ifndef CAPTURE_HOSTSAMPLE_PERF_STACK_H
#define CAPTURE_HOSTSAMPLE_PERF_STACK_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/unwind/unwind.h"

#define PERF_STACK_MOST 65280u /* bytes of a stack: sizes of records have 16 bits */

/* Of this processor; else the kernel follows frame pointers. */
bool perf_stack_works(void);
/* How much of a stack is copied, for a ring of so many bytes to hold so many samples. */
uint32_t perf_stack_bytes(size_t ring, uint64_t samples);
void perf_stack_ask(struct perf_event_attr *attr, uint32_t bytes);
/* The stack of what a sample that was taken at `tick` has at its end; how many addresses there are, 0: none, of a thread of the kernel's. */
uint32_t perf_stack_take(const void *data, size_t size, uint64_t tick, uint64_t *out, uint32_t most,
			 enum stack_end *end);

#endif
