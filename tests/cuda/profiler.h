/* SPDX-License-Identifier: Apache-2.0 */
/* A profiler of a program's own; see profiler.c. */
#ifndef TESTS_CUDA_PROFILER_H
#define TESTS_CUDA_PROFILER_H

#include <stdbool.h>
#include <stdint.h>

/* `library`: where to look CUPTI's functions up; NULL: as linked. `callbacks`: subscribes, too. */
void profiler_begin(void *library, bool callbacks);
/* Prints what it was told. */
void profiler_end(void);

#endif
