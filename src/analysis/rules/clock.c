/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a host keeps to a clock: then it lets a device idle by intent. */
#include <stdlib.h>

#include "analysis/rules/support.h"

#define LEAST_TICKS 30     /* fewer may be in time by chance */
#define JITTER_NS   1000.0 /* no sleep ends more precisely; without any, nothing can be told */
#define IN_TIME                                                                                    \
	0.75 /* delays by themselves give a half; those that add up, a fifteenth of their number */

/* When the host went on after each gap, ns from the first. NULL: no memory. */
static double *list_ticks(const struct diagnosis *d, const struct gaps *gaps, gap_fn *is,
			  uint32_t *count)
{
	double *ticks = calloc((size_t)gaps->count + 1, sizeof(*ticks));
	int64_t first = 0;

	*count = 0;
	for (uint32_t i = 0; ticks && i < gaps->count; i++) {
		int64_t now;

		if (!is(d, &gaps->at[i]))
			continue;
		now = d->tl->calls[gaps->at[i].submit].start;
		first = *count ? first : now;
		ticks[(*count)++] = (double)(now - first);
	}
	return ticks;
}

/* Sum of squares of what they are apart from even ones, by the line that fits best. */
static double apart_from_even(const double *ticks, uint32_t count)
{
	double middle = (count - 1) / 2.0, mean = 0, slope = 0, squares = 0, apart = 0;

	for (uint32_t i = 0; i < count; i++) {
		mean += ticks[i] / count;
		slope += (i - middle) * ticks[i];
		squares += (i - middle) * (i - middle);
	}
	slope /= squares;
	for (uint32_t i = 0; i < count; i++) {
		double x = ticks[i] - mean - slope * (i - middle);

		apart += x * x;
	}
	return apart;
}

static double apart_from_each_other(const double *ticks, uint32_t count)
{
	double each = ticks[count - 1] / (count - 1), apart = 0;

	for (uint32_t i = 1; i < count; i++) {
		double x = ticks[i] - ticks[i - 1] - each;

		apart += x * x;
	}
	return apart;
}

/*
 * Who keeps to a clock is late by some time now and then, but makes up for it: how far begins are from even ones
 * does not grow. Who does not is later and later, or earlier: each delay adds to those before.
 */
bool gaps_keep_to_a_clock(struct diagnosis *d, uint32_t device, gap_fn *is)
{
	uint32_t count;
	double *ticks = list_ticks(d, &d->gaps[device], is, &count);
	bool keeps = false;

	d->failed |= !ticks;
	if (ticks && count >= LEAST_TICKS) {
		double each = apart_from_each_other(ticks, count);

		keeps = each > JITTER_NS * JITTER_NS * count &&
			apart_from_even(ticks, count) <= IN_TIME * each;
	}
	free(ticks);
	return keeps;
}
