/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes: an importer of slice begins and ends takes an end for that of the slice begun last on the
 * track. Intervals that overlap without nesting (kernels of an out-of-order queue, above all) would
 * be drawn as a stack that never was, and with each other's ends. So each goes to the first lane
 * where it fits; a lane more is only made for work that really overlaps.
 *
 * Equal times: an interval that begins where another ends is its neighbour, not its child; of two
 * that begin together the one that comes first is the outer one.
 */
#include "formats/perfetto/writer.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/vec.h"

#define LANES_MAX 1024u /* of a track; more at once is not drawable */

static bool heap_push(struct perfetto *p, int64_t time, uint32_t track, uint32_t lane)
{
	uint32_t at = p->end_count, up;

	if (!vec_reserve(&p->ends, &p->end_room, p->end_count, 1))
		return false;
	p->end_count++;
	for (; at && p->ends[(up = (at - 1) / 2)].time > time; at = up)
		p->ends[at] = p->ends[up];
	p->ends[at] = (struct pending_end){time, track, lane};
	return true;
}

static struct pending_end heap_pop(struct perfetto *p)
{
	struct pending_end top = p->ends[0], last = p->ends[--p->end_count];
	uint32_t at = 0, child;

	kymo_assert(p->end_count < p->end_room);
	while ((child = 2 * at + 1) < p->end_count) {
		if (child + 1 < p->end_count && p->ends[child + 1].time < p->ends[child].time)
			child++;
		if (last.time <= p->ends[child].time)
			break;
		p->ends[at] = p->ends[child];
		at = child;
	}
	p->ends[at] = last;
	return top;
}

void lanes_close(struct perfetto *p, struct packet_sequence *s, int64_t time)
{
	while (p->end_count && p->ends[0].time <= time) {
		struct pending_end e = heap_pop(p);
		struct lane *l = &p->tracks[e.track].lanes[e.lane];

		l->depth--;
		l->from = e.time;
		packet_slice_end(&p->packet, s, e.time, l->uuid);
	}
}

static bool fits(const struct lane *l, int64_t start, int64_t end, bool nests)
{
	if (start < l->from)
		return false;
	return l->depth == 0 || (nests && end <= l->ends[l->depth - 1]);
}

static struct lane *add_lane(struct perfetto *p, uint32_t track)
{
	struct track *t = &p->tracks[track];
	struct lane *l;

	if (t->lane_count == LANES_MAX || !vec_reserve(&t->lanes, &t->lane_room, t->lane_count, 1))
		return NULL;
	l = &t->lanes[t->lane_count];
	*l = (struct lane){.from = INT64_MIN, .uuid = t->lane_count ? p->next_uuid++ : track + 1};
	if (t->lane_count++)
		track_describe_lane(p, track, l->uuid);
	return l;
}

static bool push_end(struct lane *l, int64_t end)
{
	if (!vec_reserve(&l->ends, &l->room, l->depth, 1))
		return false;
	l->ends[l->depth++] = end;
	return true;
}

uint64_t lane_open(struct perfetto *p, uint32_t track, int64_t start, int64_t end, bool nests)
{
	struct track *t = &p->tracks[track];
	struct lane *l = NULL;
	uint32_t i;

	for (i = 0; i < t->lane_count && !l; i++) {
		if (fits(&t->lanes[i], start, end, nests))
			l = &t->lanes[i];
	}
	if (!l)
		l = add_lane(p, track);
	if (!l || !push_end(l, end))
		return 0;
	if (end != INT64_MAX && !heap_push(p, end, track, (uint32_t)(l - t->lanes))) {
		l->depth--;
		return 0;
	}
	l->from = start;
	return l->uuid;
}
