/* SPDX-License-Identifier: Apache-2.0 */
/* What records keep in a page, so that it is small enough: see page.h. */
#include <math.h>
#include <stdlib.h>

#include "page/page.h"

enum {
	FINE = 6,    /* times are cut to 64 ns, or to the error of the trace's clocks, ... */
	COARSE = 10, /* ... before more is left out, and to a microsecond before slices are */
	TRIES = 5
};

/* The largest power of two of ns that is no more than what the times are known to. */
static unsigned known_to(const struct page *p)
{
	struct summary_told told;
	unsigned shift = FINE;

	summary_tell_quality(p->summary, &told);
	while (shift < COARSE && (double)((uint64_t)1 << (shift + 1)) <= told.clock_error_ns)
		shift++;
	summary_told_release(&told);
	return shift;
}

/* Plan number `n`, from the one that keeps most on; false: there is no further one. */
static bool plan_of(unsigned n, unsigned known, struct page_plan *plan)
{
	bool links = n <= known;

	*plan = (struct page_plan){.shift = links ? n : n - 1, .links = links, .most = UINT64_MAX};
	return plan->shift <= COARSE;
}

static uint64_t slices_of(const struct page_data *d, uint64_t most)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < d->row_count; i++)
		sum += d->rows[i].slices->count < most ? d->rows[i].slices->count : most;
	return sum;
}

/* How many of a row may be there, of `all` slices together. */
static uint64_t most_of_row(const struct page_data *d, uint64_t all)
{
	uint64_t low = 1, high = UINT32_MAX;

	while (low < high) {
		uint64_t middle = low + (high - low + 1) / 2;

		if (slices_of(d, middle) <= all)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/*
 * The first plan, from number *n on, whose slices seem to have `room` bytes at most; where none has, the last one with
 * the longest slices. False: no memory.
 */
static bool choose(struct page *p, double room, unsigned known, unsigned *n)
{
	unsigned last = *n, high;
	double bytes;

	while (plan_of(last + 1, known, &p->plan))
		last++;
	for (high = last; *n < high;) { /* each is smaller than the one before */
		unsigned middle = *n + (high - *n) / 2;

		plan_of(middle, known, &p->plan);
		bytes = page_encode_estimate(&p->encoded, &p->data, &p->plan);
		if (bytes < 0)
			return false;
		if (bytes <= room)
			high = middle;
		else
			*n = middle + 1;
	}
	plan_of(*n, known, &p->plan);
	if (*n < last)
		return true;
	bytes = page_encode_estimate(&p->encoded, &p->data, &p->plan);
	if (bytes > room) /* in shorter blocks a slice takes somewhat more */
		p->plan.most =
			most_of_row(&p->data, (uint64_t)(0.9 * room / bytes *
							 (double)slices_of(&p->data, UINT64_MAX)));
	return bytes >= 0;
}

/* Bytes of slices that there is room for beside all else, which is there now. */
static double room_of(const struct page *p)
{
	uint64_t size = page_size(p);

	return size < p->size ? 0.74 * (double)(p->size - size) : 0;
}

kymo_status_t page_fit(struct page *p, void (*progress)(void *data, double done),
		       void *progress_data)
{
	unsigned known = known_to(p), n = 0;
	kymo_status_t status = page_encode_levels(&p->encoded, &p->data);
	double room;

	if (!p->size) { /* whoever serves it has the trace */
		p->plan = (struct page_plan){.links = true, .ids = true, .most = UINT64_MAX};
		return status == KYMO_OK ? page_encode_slices(&p->encoded, &p->data, &p->plan,
							      progress, progress_data)
					 : status;
	}
	room = status == KYMO_OK ? room_of(p) : 0;
	for (unsigned i = 0; i < TRIES && status == KYMO_OK; i++) {
		uint64_t size;

		if (!choose(p, room, known, &n))
			return KYMO_ERROR_NO_MEMORY;
		status = page_encode_slices(&p->encoded, &p->data, &p->plan, progress,
					    progress_data);
		if (status != KYMO_OK)
			break;
		size = page_size(p);
		if (!size)
			return KYMO_ERROR_NO_MEMORY;
		if (size <= p->size)
			break;
		room -= 0.76 * (double)(size - p->size) + 0.02 * room; /* what was too much */
		room = room > 0 ? room : 0;
	}
	return status;
}
