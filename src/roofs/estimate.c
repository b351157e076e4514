/* SPDX-License-Identifier: Apache-2.0 */
/* See estimate.h. */
#include "roofs/estimate.h"

#include <math.h>
#include <stdlib.h>

#define Z95         1.96
#define MAD_TO_SD   1.4826 /* of a normal distribution */
#define OUTLIERS    3.0
#define NEVER_BELOW 1e-3 /* of the median: deviations that small are of the clock */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(const double *sorted, uint32_t n)
{
	return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

/* The smallest deviations of sorted values are beside the middle: they are merged from there outwards. */
static double median_deviation(const double *sorted, uint32_t n, double middle)
{
	uint32_t right = 0, left, taken = 0;
	double d = 0;

	while (right < n && sorted[right] < middle)
		right++;
	left = right;
	while (taken++ <= n / 2) {
		double below = left ? middle - sorted[left - 1] : INFINITY;
		double above = right < n ? sorted[right] - middle : INFINITY;

		d = fmin(below, above);
		if (below <= above)
			left--;
		else
			right++;
	}
	return d;
}

/* Mean and interval of those that are no farther from `middle` than `most`. */
static void take_near(const double *values, uint32_t count, double middle, double most,
		      struct estimate *out)
{
	double sum = 0, squares = 0;
	uint32_t used = 0;

	for (uint32_t i = 0; i < count; i++)
		if (fabs(values[i] - middle) <= most) {
			sum += values[i];
			used++;
		}
	out->value = sum / used;
	for (uint32_t i = 0; i < count; i++)
		if (fabs(values[i] - middle) <= most)
			squares += (values[i] - out->value) * (values[i] - out->value);
	out->interval = used > 1 ? Z95 * sqrt(squares / (used - 1) / used) : INFINITY;
	out->used = used;
	out->dropped = count - used;
}

bool estimate_of(double *values, uint32_t count, bool least, struct estimate *out)
{
	const uint32_t half = count - count / 2;
	const double *better = least ? values : values + count / 2;
	double middle, deviation;

	if (count < ESTIMATE_LEAST)
		return false;
	qsort(values, count, sizeof(*values), compare);
	middle = median(better, half);
	deviation = MAD_TO_SD * median_deviation(better, half, middle);
	take_near(values, count, middle, OUTLIERS * fmax(deviation, NEVER_BELOW * fabs(middle)),
		  out);
	return true;
}
