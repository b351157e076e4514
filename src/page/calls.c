/* SPDX-License-Identifier: Apache-2.0 */
/* Where calls are drawn, by their ids: see data.h. */
#include "page/data.h"

#include <stdlib.h>
#include <string.h>

#include "stream/large.h"

bool page_note_call(struct page_data *d, const struct rec *r, uint32_t row, uint32_t index)
{
	struct page_calls *c = &d->calls[r->process];

	if (!large_reserve(&c->at, &c->room, c->count))
		return false;
	c->mixed |= c->count && c->at[c->count - 1].id > r->id;
	c->at[c->count++] = (struct page_call){r->id, row, index};
	return true;
}

/* One byte of the ids after the other: they are dense, so that few bytes differ. */
static bool sort(struct page_calls *c)
{
	struct page_call *other = large_new(c->count * sizeof(*other));
	uint64_t differ = 0;

	if (!other)
		return false;
	for (uint32_t i = 1; i < c->count; i++)
		differ |= c->at[i].id ^ c->at[0].id;
	for (unsigned shift = 0; shift < 64; shift += 8) {
		uint32_t next[257] = {0};
		struct page_call *swap = c->at;

		if (!(differ >> shift & 0xff))
			continue;
		for (uint32_t i = 0; i < c->count; i++)
			next[(c->at[i].id >> shift & 0xff) + 1]++;
		for (unsigned k = 1; k < 256; k++)
			next[k] += next[k - 1];
		for (uint32_t i = 0; i < c->count; i++)
			other[next[c->at[i].id >> shift & 0xff]++] = c->at[i];
		c->at = other;
		other = swap;
	}
	large_free(other);
	c->room = c->count;
	return true;
}

/* Those that nothing refers to are not needed. */
bool page_calls_finish(struct page_data *d)
{
	for (uint32_t i = 0; i < d->process_count; i++) {
		struct page_calls *c = &d->calls[i];

		if (!c->wanted) {
			large_free(c->at);
			*c = (struct page_calls){0};
		} else if (c->mixed && !sort(c)) {
			return false;
		}
	}
	return true;
}

const struct page_call *page_data_call(const struct page_data *d, uint32_t process, uint64_t id)
{
	const struct page_calls *c = process < d->process_count ? &d->calls[process] : NULL;
	uint32_t low = 0, high = c ? c->count : 0;

	/* Mostly each id is there once, and none is missing. */
	if (high && id >= c->at[0].id && id - c->at[0].id < high &&
	    c->at[id - c->at[0].id].id == id)
		return &c->at[id - c->at[0].id];
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (c->at[middle].id == id)
			return &c->at[middle];
		if (c->at[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}
