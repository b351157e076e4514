/* SPDX-License-Identifier: Apache-2.0 */
/* What records keep in a page, so that it is small enough: see page.h. */
#include <math.h>
#include <stdlib.h>

#include "page/page.h"

enum {
	SHIFT_LEAST = 6, /* times may be cut to 64 ns, */
	SHIFT_MOST = 10, /* or to the error of the trace's clocks, but never by more than a microsecond */
	TRIES = 5
};

/* The largest power of two of ns that times may be cut to. */
static unsigned coarsest(const struct page *p)
{
	struct summary_told told;
	unsigned shift = SHIFT_LEAST;

	summary_tell_quality(p->summary, &told);
	while (shift < SHIFT_MOST && (double)((uint64_t)1 << (shift + 1)) <= told.clock_error_ns)
		shift++;
	summary_told_release(&told);
	return shift;
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

/* The first plan whose slices seem to have `room` bytes at most, from `plan` on. False: no memory. */
static bool choose(struct page *p, double room, unsigned shift_most)
{
	struct page_plan *plan = &p->plan;
	uint64_t all = slices_of(&p->data, UINT64_MAX);
	double bytes = 0;

	while (plan->most == UINT64_MAX) {
		bytes = page_encode_estimate(&p->encoded, &p->data, plan);
		if (bytes < 0)
			return false;
		if (bytes <= room)
			return true;
		if (plan->shift < shift_most)
			plan->shift++;
		else if (plan->links)
			plan->links = false;
		else
			break;
	}
	/* In shorter blocks a slice takes somewhat more. */
	plan->most = most_of_row(&p->data, (uint64_t)((double)all * 0.9 * room / fmax(bytes, 1)));
	return true;
}

kymo_status_t page_fit(struct page *p, void (*progress)(void *data, double done),
		       void *progress_data)
{
	unsigned shift_most = coarsest(p);
	double room = (double)p->size * 0.75 * 0.9; /* without base64, levels and head */
	kymo_status_t status = KYMO_OK;

	p->plan = (struct page_plan){.links = true, .most = UINT64_MAX};
	for (unsigned i = 0; i < TRIES; i++) {
		uint64_t slices, size;

		if (!choose(p, room, shift_most))
			return KYMO_ERROR_NO_MEMORY;
		status = page_encode(&p->encoded, &p->data, &p->plan, progress, progress_data);
		if (status != KYMO_OK)
			return status;
		size = page_size(p);
		if (size <= p->size)
			return size ? KYMO_OK : KYMO_ERROR_NO_MEMORY;
		slices = p->encoded.sections.bytes[SECTION_SLICES];
		if (p->plan.most == 1)
			break;
		/* So much must go. */
		room = fmin(room * 0.95, (double)slices - 0.76 * (double)(size - p->size));
		p->plan.most = UINT64_MAX;
		room = fmax(room, 0);
	}
	return KYMO_OK;
}
