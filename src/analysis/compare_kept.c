/* SPDX-License-Identifier: Apache-2.0 */
/* Times of an item of a run, and intervals in which a device was busy: bounded, see compare.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/compare.h"
#include "base/vec.h"

/* ---- times ------------------------------------------------------------------------------------- */

/* Every second one goes, and of those to come as well: what is left is spread over the run evenly. */
static void thin_out(struct kept *k)
{
	for (uint32_t i = 0; i < k->count / 2; i++)
		k->times[i] = k->times[2 * i];
	k->count /= 2;
	k->stride *= 2;
}

void kept_add(struct compare *c, struct run_item *r, int64_t start, uint64_t ns)
{
	struct kept *k = r->kept;

	r->count++;
	r->total += ns;
	if (!k) {
		k = r->kept = calloc(1, sizeof(*k));
		if (!k) {
			c->failed = true;
			return;
		}
		k->stride = 1;
	}
	if (k->seen++ & (k->stride - 1))
		return;
	if (k->count == COMPARE_KEPT)
		thin_out(k);
	if ((k->seen - 1) & (k->stride - 1))
		return;
	if (!vec_reserve(&k->times, &k->room, k->count, 1)) {
		c->failed = true;
		return;
	}
	k->times[k->count++] = (struct kept_time){start, ns};
}

static int compare_starts(const void *x, const void *y)
{
	const struct kept_time *a = x, *b = y;

	return (a->start > b->start) - (a->start < b->start);
}

/* Records of several threads, and of devices, are not in order of time. */
static void order_times(struct kept *k)
{
	for (uint32_t i = 1; i < k->count; i++) {
		if (k->times[i].start < k->times[i - 1].start) {
			qsort(k->times, k->count, sizeof(*k->times), compare_starts);
			return;
		}
	}
}

/* The n-th of `x` in order of size; what is before it is not greater (quickselect, middle of three). */
static uint64_t nth(uint64_t *x, uint32_t count, uint32_t n)
{
	uint32_t low = 0, high = count - 1;

	while (low < high) {
		uint64_t a = x[low], b = x[low + (high - low) / 2], d = x[high];
		uint64_t pivot = a < b ? (b < d ? b : a < d ? d : a) : (a < d ? a : b < d ? d : b);
		uint32_t i = low, k = high;

		while (i <= k) {
			while (x[i] < pivot)
				i++;
			while (x[k] > pivot)
				k--;
			if (i <= k) {
				uint64_t swap = x[i];

				x[i++] = x[k];
				x[k] = swap;
				if (!k)
					break;
				k--;
			}
		}
		if (n <= k)
			high = k;
		else if (n >= i)
			low = i;
		else
			break;
	}
	return x[n];
}

static double median_of(uint64_t *x, uint32_t count)
{
	uint64_t upper = nth(x, count, count / 2), lower = 0;

	if (count % 2)
		return (double)upper;
	for (uint32_t i = 0; i < count / 2; i++)
		lower = x[i] > lower ? x[i] : lower;
	return ((double)lower + (double)upper) / 2;
}

static void copy_times(const struct kept *k, uint32_t from, uint32_t to, uint64_t *out)
{
	for (uint32_t i = from; i < to; i++)
		out[i - from] = k->times[i].ns;
}

/* Standard deviation of the logarithms of single calls, from their quartiles: few calls apart move it not. */
static double spread_of(const struct kept *k, uint64_t *scratch)
{
	double low, high;

	copy_times(k, 0, k->count, scratch);
	low = (double)nth(scratch, k->count, k->count / 4);
	high = (double)nth(scratch, k->count, k->count - 1 - k->count / 4);
	return (log(fmax(high, 0.5)) - log(fmax(low, 0.5))) / 1.349;
}

/*
 * How parts of a run, one after the other, differ: what is slow to change makes runs differ, too. And how
 * calls do: of those that take either 3 or 30 us one run may have more of these, the next of those.
 */
static void find_noise(const struct kept *k, struct run_item *r, uint64_t *scratch)
{
	double centre[COMPARE_BLOCKS], mean[COMPARE_BLOCKS], spread;

	r->noise_centre = r->noise_mean = -1;
	if (k->count < COMPARE_CALLS)
		return;
	for (uint32_t i = 0; i < COMPARE_BLOCKS; i++) {
		uint32_t from = (uint32_t)((uint64_t)k->count * i / COMPARE_BLOCKS);
		uint32_t to = (uint32_t)((uint64_t)k->count * (i + 1) / COMPARE_BLOCKS);
		double sum = 0;

		copy_times(k, from, to, scratch);
		for (uint32_t n = 0; n < to - from; n++)
			sum += (double)scratch[n];
		mean[i] = log(fmax(sum / (to - from), 0.5));
		centre[i] = log(fmax(median_of(scratch, to - from), 0.5));
	}
	spread = spread_of(k, scratch);
	spread *= spread;
	r->noise_centre = (float)sqrt(stats_variance(centre, COMPARE_BLOCKS) + spread);
	r->noise_mean = (float)sqrt(stats_variance(mean, COMPARE_BLOCKS) + spread);
}

void kept_settle(struct compare *c, struct run_item *r)
{
	struct kept *k = r->kept;
	uint64_t *scratch;

	r->noise_centre = r->noise_mean = -1;
	if (!k)
		return;
	scratch = malloc((k->count ? k->count : 1) * sizeof(*scratch));
	if (scratch && k->count) {
		order_times(k);
		find_noise(k, r, scratch);
		copy_times(k, 0, k->count, scratch);
		r->centre = median_of(scratch, k->count);
	}
	c->failed |= !scratch;
	free(scratch);
	free(k->times);
	free(k);
	r->kept = NULL;
}

/* ---- intervals --------------------------------------------------------------------------------- */

static int compare_intervals(const void *x, const void *y)
{
	const struct busy_interval *a = x, *b = y;

	return (a->start > b->start) - (a->start < b->start);
}

/* Adds up the first `n` in order of time. */
static void add_up(struct busy *b, uint32_t n)
{
	if (!b->count)
		return;
	qsort(b->intervals, b->count, sizeof(*b->intervals), compare_intervals);
	for (uint32_t i = 0; i < n; i++) {
		struct busy_interval v = b->intervals[i];

		if (b->any && v.start < b->until)
			v.start = b->until;
		if (v.end > v.start) {
			b->sum += (uint64_t)(v.end - v.start);
			b->until = v.end;
			b->any = true;
		}
	}
	memmove(b->intervals, b->intervals + n, (b->count - n) * sizeof(*b->intervals));
	b->count -= n;
}

bool busy_add(struct busy *b, int64_t start, int64_t end)
{
	if (end <= start)
		return true;
	if (b->count == COMPARE_BUSY)
		add_up(b, b->count / 2);
	if (!vec_reserve(&b->intervals, &b->room, b->count, 1))
		return false;
	/* What is added up may have a gap here, which nobody knows any longer. */
	b->late += b->any && end < b->until;
	b->intervals[b->count++] = (struct busy_interval){start, end};
	return true;
}

uint64_t busy_sum(struct busy *b)
{
	add_up(b, b->count);
	return b->sum;
}

void busy_release(struct busy *b)
{
	free(b->intervals);
	*b = (struct busy){0};
}
