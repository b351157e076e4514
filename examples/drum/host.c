/* SPDX-License-Identifier: Apache-2.0 */
/* The host's part of a strip, on all threads that OpenMP gives, and what is measured there. */
#include "drum.h"

#include <math.h>
#include <omp.h>

int host_threads(void)
{
	return omp_get_max_threads();
}

void host_vibrate(const struct part *p)
{
	const int width = p->width;

#pragma omp parallel for schedule(static)
	for (int y = 1; y <= p->rows; y++) {
		const float *now = row(p->now, p, y);
		float *next = row(p->next, p, y);

		for (int x = 1; x < width - 1; x++) {
			float around =
				(now[x - 1] + now[x + 1]) + (now[x - width] + now[x + width]);

			next[x] = 2.0f * now[x] - next[x] + RATE * (around - 4.0f * now[x]);
		}
	}
}

double host_largest(const struct part *p)
{
	double largest = 0;

#pragma omp parallel for reduction(max : largest)
	for (int y = 1; y <= p->rows; y++)
		for (int x = 1; x < p->width - 1; x++)
			largest = fmax(largest, fabs((double)row(p->now, p, y)[x]));
	return largest;
}

double host_error(const struct part *p, int first, int size, double amplitude)
{
	const double step = acos(-1) / (size + 1);
	double error = 0;

#pragma omp parallel for reduction(max : error)
	for (int y = 1; y <= p->rows; y++) {
		double height = amplitude * sin(step * (first + y - 1));

		for (int x = 1; x < p->width - 1; x++) {
			double e = fabs((double)row(p->now, p, y)[x] - height * sin(step * x));

			error = e <= error ? error : e; /* also what is no number is an error */
		}
	}
	return error;
}
