/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who takes part in transfers between host and devices: of each process and paradigm one window,
 * whose communicator holds the threads and queues in the order in which they turned up.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/vec.h"
#include "formats/otf2/otf2.h"

uint32_t window_of(struct otf2 *w, uint32_t process, OTF2_Paradigm paradigm)
{
	uint64_t key = (uint64_t)process << 8 | paradigm, place = map_get(&w->window_places, key);

	if (place)
		return (uint32_t)(place - 1);
	if (!vec_reserve(&w->windows, &w->window_room, w->window_count, 1) ||
	    !map_set(&w->window_places, key, w->window_count + 1u)) {
		archive_check(&w->archive, OTF2_ERROR_MEM_ALLOC_FAILED);
		return 0;
	}
	w->windows[w->window_count] = (struct window){.process = process, .paradigm = paradigm};
	return w->window_count++;
}

uint32_t window_rank(struct otf2 *w, uint32_t window, uint32_t location)
{
	struct window *x = &w->windows[window];
	uint64_t rank = map_get(&x->ranks, location + 1u);

	if (rank)
		return (uint32_t)(rank - 1);
	if (!vec_reserve(&x->members, &x->room, x->count, 1) ||
	    !map_set(&x->ranks, location + 1u, x->count + 1u)) {
		archive_check(&w->archive, OTF2_ERROR_MEM_ALLOC_FAILED);
		return 0;
	}
	x->members[x->count] = location;
	return x->count++;
}

/* All locations of a paradigm, window by window; each window's communicator takes its part. */
static void end_paradigm(struct otf2 *w, OTF2_Paradigm paradigm, struct numbers *n)
{
	struct archive *a = &w->archive;
	uint64_t *list, count = 0, first = 0;

	for (uint32_t i = 0; i < w->window_count; i++)
		count += w->windows[i].paradigm == paradigm ? w->windows[i].count : 0;
	list = malloc((count + 1) * sizeof(*list));
	if (!list) {
		archive_check(a, OTF2_ERROR_MEM_ALLOC_FAILED);
		return;
	}
	for (uint32_t i = 0; i < w->window_count; i++) {
		for (uint32_t j = 0; w->windows[i].paradigm == paradigm && j < w->windows[i].count;
		     j++)
			list[first++] = w->windows[i].members[j];
	}
	archive_check(a, OTF2_GlobalDefWriter_WriteGroup(
				 a->defs, n->group++, archive_string(a, "locations of transfers"),
				 OTF2_GROUP_TYPE_COMM_LOCATIONS, paradigm, OTF2_GROUP_FLAG_NONE,
				 (uint32_t)count, list));
	first = 0;
	for (uint32_t i = 0; i < w->window_count; i++) {
		const struct window *x = &w->windows[i];

		if (x->paradigm != paradigm)
			continue;
		for (uint32_t j = 0; j < x->count; j++)
			list[j] = first++;
		archive_check(a, OTF2_GlobalDefWriter_WriteGroup(
					 a->defs, n->group, archive_string(a, "transfers"),
					 OTF2_GROUP_TYPE_COMM_GROUP, paradigm, OTF2_GROUP_FLAG_NONE,
					 x->count, list));
		archive_check(a, OTF2_GlobalDefWriter_WriteComm(
					 a->defs, n->comm + i, archive_string(a, "transfers"),
					 n->group++, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE));
	}
	free(list);
}

/* Communicator and window have the number that they had in events. */
void windows_end(struct otf2 *w, struct numbers *n)
{
	struct archive *a = &w->archive;
	bool seen[256] = {false};

	for (uint32_t i = 0; i < w->window_count; i++) {
		OTF2_Paradigm p = w->windows[i].paradigm;

		if (!seen[p])
			end_paradigm(w, p, n);
		seen[p] = true;
	}
	for (uint32_t i = 0; i < w->window_count; i++)
		archive_check(a, OTF2_GlobalDefWriter_WriteRmaWin(
					 a->defs, n->window++, archive_string(a, "transfers"),
					 n->comm + i, OTF2_RMA_WIN_FLAG_NONE));
	n->comm += w->window_count;
}

void windows_release(struct otf2 *w)
{
	for (uint32_t i = 0; i < w->window_count; i++) {
		free(w->windows[i].members);
		map_release(&w->windows[i].ranks);
	}
	free(w->windows);
	map_release(&w->window_places);
}
