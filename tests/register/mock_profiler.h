/* SPDX-License-Identifier: Apache-2.0 */
/* What the stand-in for AMD's profiler offers to the tests. */
#ifndef MOCK_PROFILER_H
#define MOCK_PROFILER_H

#include <stdint.h>

int rocprofiler_set_api_table(const char *name, uint64_t version, uint64_t instance, void **tables,
			      uint64_t count);
int mock_profiler_tables(void);
int mock_profiler_mallocs(void);
/* Runs once inside the next hand-over. */
void mock_profiler_nested(void (*function)(void));
void mock_profiler_refuse(int on);

#endif
