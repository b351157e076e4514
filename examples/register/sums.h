/* SPDX-License-Identifier: Apache-2.0 */
/* A small runtime that tools can see into: it adds numbers. */
#ifndef SUMS_H
#define SUMS_H

#include <stdint.h>

int sums_open(const char *name, uint64_t *out);
int sums_add(uint64_t sum, double value, int32_t times);
double sums_read(uint64_t sum);
int sums_close(uint64_t sum);

#endif
