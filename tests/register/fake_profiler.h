/* SPDX-License-Identifier: Apache-2.0 */
/* What the fake for AMD's profiler offers to the tests. */
#ifndef FAKE_PROFILER_H
#define FAKE_PROFILER_H

#include <stdint.h>

int rocprofiler_set_api_table(const char *name, uint64_t version, uint64_t instance, void **tables,
			      uint64_t count);
int fake_profiler_tables(void);
int fake_profiler_mallocs(void);
/* Runs once inside the next hand-over. */
void fake_profiler_nested(void (*function)(void));
void fake_profiler_refuse(int on);

#endif
