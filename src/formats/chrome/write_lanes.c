/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of devices for the work of all their queues. Viewers draw slices of one row that overlap as if one
 * had called the other, so that each piece of work goes to the first row where it overlaps nothing. Work
 * comes in no order of time: what a row holds is kept, 16 bytes a piece.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bulk.h"
#include "base/vec.h"
#include "formats/chrome/write.h"

/* Where [start, end] belongs in a row by time. */
static uint32_t place_of(const struct chrome_lane *l, int64_t start, int64_t end)
{
	uint32_t low = 0, high = l->count;

	/* Mostly behind all. */
	if (!l->count || l->at[l->count - 1].start <= start)
		low = l->count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (l->at[middle].start < start ||
		    (l->at[middle].start == start && l->at[middle].end <= end))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Neighbours may touch. */
static bool overlaps(const struct chrome_work *x, int64_t start, int64_t end)
{
	return x->start < end && start < x->end;
}

static bool fits(const struct chrome_lane *l, uint32_t place, int64_t start, int64_t end)
{
	return (place == 0 || !overlaps(&l->at[place - 1], start, end)) &&
	       (place == l->count || !overlaps(&l->at[place], start, end));
}

static bool insert(struct chrome_lane *l, uint32_t place, int64_t start, int64_t end)
{
	if (!bulk_reserve(&l->at, &l->room, l->count, 1))
		return false;
	memmove(l->at + place + 1, l->at + place, (l->count - place) * sizeof(*l->at));
	l->at[place] = (struct chrome_work){start, end};
	l->count++;
	return true;
}

static bool add_lane(struct chrome_writer *w, uint32_t agent, struct chrome_lanes *lanes)
{
	char name[40] = "all queues";

	if (!vec_reserve(&lanes->at, &lanes->room, lanes->count, 1))
		return false;
	lanes->at[lanes->count++] = (struct chrome_lane){NULL, 0, 0};
	if (lanes->count > 1)
		snprintf(name, sizeof(name), "all queues (%u)", lanes->count);
	chrome_name_row(w, chrome_device_pid(w, agent), lanes->count - 1, name);
	return true;
}

bool chrome_lane(struct chrome_writer *w, uint32_t agent, int64_t start, int64_t end,
		 uint32_t *lane)
{
	struct chrome_lanes *lanes = &w->lanes[w->devices[agent] - 1];

	for (*lane = 0; *lane < lanes->count; ++*lane) {
		struct chrome_lane *l = &lanes->at[*lane];
		uint32_t place = place_of(l, start, end);

		if (fits(l, place, start, end))
			return insert(l, place, start, end);
	}
	return add_lane(w, agent, lanes) && insert(&lanes->at[*lane], 0, start, end);
}

void chrome_lanes_free(struct chrome_writer *w)
{
	for (uint32_t i = 0; w->lanes && i < w->device_count; i++) {
		for (uint32_t k = 0; k < w->lanes[i].count; k++)
			bulk_free(w->lanes[i].at[k].at);
		free(w->lanes[i].at);
	}
	free(w->lanes);
}
