/* SPDX-License-Identifier: Apache-2.0 */
/* What the counting tool offers to the tests. */
#ifndef TOOL_COUNT_H
#define TOOL_COUNT_H

#include <stdint.h>

/* Calls seen of an op; UINT64_MAX: some entered and did not exit. */
uint64_t tool_count(const char *domain, const char *op);
/* Sum of the first argument. */
uint64_t tool_sum(const char *domain, const char *op);

#endif
