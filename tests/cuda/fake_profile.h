/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fake's part that samples and counts kernels. FAKE_REFUSE_PROFILE is the result with which it
 * refuses to begin; 0: none.
 */
#ifndef TESTS_CUDA_FAKE_PROFILE_H
#define TESTS_CUDA_FAKE_PROFILE_H

#include "fake.h"

/* Loads the fake's only binary: lines of "hot.cu", or none. Its checksum is 77, or 78. */
void fake_module(bool lines);
/*
 * The device met an instruction of the binary with this checksum. Line 100 + offset / 16. Nothing
 * comes of it while the context is not sampled.
 */
void fake_pc(void *context, uint64_t crc, const char *function, uint64_t offset, const char *reason,
	     uint32_t samples, uint32_t idle, uint32_t correlation);
/* Of the next that is fetched. */
void fake_pc_dropped(uint64_t samples);
/* The device's buffer is full for good. */
void fake_pc_full(void);
/* The period and the mode it was told, 0: the context is not sampled. */
unsigned fake_pc_period(void);
unsigned fake_pc_mode(void);

/* ---- fake_range.c ---- */

/* A stream is captured from then to then. */
void fake_capture(bool on);
/* A graph runs. */
void fake_graph(void);
/* A kernel of so many warps ran in the context. */
void fake_range(void *context, double warps);
/* How often it was started. */
unsigned fake_range_starts(void);
/* Whether the range profiler holds a context. */
bool fake_range_on(void);
/* The profiler's interface was initialised. */
bool fake_profiler_ready(void);

/* ---- fake_sass.c ---- */

/*
 * A kernel of so many warps runs: hot, of one load whose items read 32 sectors, or cold, of atomics (fake_sass.c says of what
 * instructions). With FAKE_SASS_MISSING set the chip does not have the metrics whose names have that; with FAKE_SASS_TOLD it prints which
 * devices are let go.
 */
void fake_sass(void *context, uint64_t crc, const char *function, uint64_t warps);
/* How many launches were patched. */
unsigned fake_sass_patched(void);

#endif
