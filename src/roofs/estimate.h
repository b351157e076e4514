/* SPDX-License-Identifier: Apache-2.0 */
/* From experiments to a value and the interval that it lies in. */
#ifndef ROOFS_ESTIMATE_H
#define ROOFS_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

struct estimate {
	double value, interval; /* mean of those that count, and 1.96 of its standard errors */
	uint32_t used, dropped;
};

enum { ESTIMATE_LEAST = 5 /* experiments, to say anything of their spread */ };

/*
 * What disturbs an experiment makes it slower and never faster: the better half (the larger values; `least`: the smaller
 * ones) tells what is usual. Those farther from its median than three standard deviations (as 1.4826 median deviations
 * of that half tell) do not count. Sorts. False: there are too few.
 */
bool estimate_of(double *values, uint32_t count, bool least, struct estimate *out);

#endif
