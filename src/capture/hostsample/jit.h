/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of generated code, as its makers leave them: lines of /tmp/perf-PID.map, and jitdump files, which say when a function
 * was loaded. Both are read as they grow, when a sample has met code of no object; what was met has its name in the trace.
 * By the sampler's thread alone.
 */
#ifndef CAPTURE_HOSTSAMPLE_JIT_H
#define CAPTURE_HOSTSAMPLE_JIT_H

#include <stdint.h>

/*
 * What stands for the function that had its code at `pc` at a time (CLOCK_MONOTONIC_RAW), see cap_sample_place(); 0: none that
 * is known.
 */
uint64_t jit_place(uint64_t pc, uint64_t time);
/* Files are those of the process. */
void jit_fork_child(void);

#endif
