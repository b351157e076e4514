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

static void close_until(struct perfetto *p, struct packet_sequence *s, int64_t time)
{
	while (p->end_count && p->ends[0].time <= time) {
		struct pending_end e = heap_pop(p);
		struct lane *l = &p->tracks[e.track].lanes[e.lane];

		parts_use(p, s);
		l->depth--;
		l->from = e.time;
		free(l->open[l->depth].name);
		if (l->open[l->depth].flow)
			packet_slice_end_of_flow(&p->packet, s, e.time, l->uuid,
						 l->open[l->depth].flow);
		else
			packet_slice_end(&p->packet, s, e.time, l->uuid, false);
	}
}

static void describe(struct perfetto *p, uint32_t track, struct lane *l)
{
	if (l != p->tracks[track].lanes && l->described != p->parts.now + 1)
		track_describe_lane(p, track, l->uuid);
	l->described = p->parts.now + 1;
}

static void begin_again(struct perfetto *p, struct packet_sequence *s, int64_t time,
			const struct lane *l, const struct open_slice *o)
{
	struct packet *k = &p->packet;
	char *name;

	packet_begin(k, s, PF__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN, time, l->uuid);
	name = o->name ? packet_room(k, strlen(o->name) + 1) : NULL;
	packet_name(k, name ? strcpy(name, o->name) : "(continued)");
	if (o->category)
		packet_category(k, o->category);
	packet_add_bool(k, "continued", true);
	packet_add_int(k, "start_ns", o->start);
	if (o->end != INT64_MAX)
		packet_add_int(k, "duration_ns", o->end - o->start);
	packet_end(k);
}

/* Ends what is open on the sequence at the border of two parts, or begins it again behind it. */
static bool pass(struct perfetto *p, struct packet_sequence *s, int64_t border, bool again)
{
	bool any = false;

	for (uint32_t i = 0; i < p->track_count; i++) {
		for (uint32_t k = 0; k < p->tracks[i].lane_count; k++) {
			struct lane *l = &p->tracks[i].lanes[k];

			for (uint32_t n = 0; n < l->depth; n++) {
				const struct open_slice *o = &l->open[again ? n : l->depth - 1 - n];

				if (o->sequence != s)
					continue;
				any = true;
				parts_use(p, s);
				if (again)
					describe(p, i, l);
				if (again)
					begin_again(p, s, border, l, o);
				else
					packet_slice_end(&p->packet, s, border, l->uuid, true);
			}
		}
	}
	return any;
}

static int64_t last_end(const struct perfetto *p)
{
	int64_t last = INT64_MIN;

	for (uint32_t i = 0; i < p->end_count; i++)
		last = p->ends[i].time > last ? p->ends[i].time : last;
	return last;
}

void timeline_reach(struct perfetto *p, struct packet_sequence *s, int64_t time)
{
	bool all = time == INT64_MAX;
	int64_t border, until = all && p->parts.folder ? last_end(p) : time;

	if (!all)
		parts_full(p, s, time);
	while ((border = parts_end(p)) < until || (border == until && !all)) {
		close_until(p, s, border);
		if (pass(p, s, border, false)) {
			p->parts.now++;
			pass(p, s, border, true);
		} else {
			parts_skip(p, until);
		}
		if (p->file.status)
			return;
	}
	close_until(p, s, time);
	if (!all)
		parts_use(p, s);
}

static bool fits(const struct lane *l, int64_t start, int64_t end, bool nests)
{
	if (start < l->from)
		return false;
	return l->depth == 0 || (nests && end <= l->open[l->depth - 1].end);
}

static struct lane *add_lane(struct perfetto *p, uint32_t track)
{
	struct track *t = &p->tracks[track];
	struct lane *l;

	if (t->lane_count == LANES_MAX || !vec_reserve(&t->lanes, &t->lane_room, t->lane_count, 1))
		return NULL;
	l = &t->lanes[t->lane_count];
	*l = (struct lane){.from = INT64_MIN, .uuid = t->lane_count ? p->next_uuid++ : track + 1};
	t->lane_count++;
	return l;
}

static bool push_open(struct lane *l, const struct open_slice *o)
{
	if (!vec_reserve(&l->open, &l->room, l->depth, 1))
		return false;
	l->open[l->depth++] = *o;
	return true;
}

void slice_end_of_begin(struct perfetto *p)
{
	if (p->parts.folder && p->opened) {
		p->opened->name = p->packet.name_text ? strdup(p->packet.name_text) : NULL;
		p->opened->category = p->packet.category_text;
	}
	p->opened = NULL;
	packet_end(&p->packet);
}

uint64_t lane_open(struct perfetto *p, const struct packet_sequence *s, uint32_t track,
		   int64_t start, int64_t end, bool nests)
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
	if (!l || !push_open(l, &(struct open_slice){start, end, s, NULL, NULL, 0}))
		return 0;
	describe(p, track, l);
	if (end != INT64_MAX && !heap_push(p, end, track, (uint32_t)(l - t->lanes))) {
		l->depth--;
		return 0;
	}
	l->from = start;
	p->opened = &l->open[l->depth - 1];
	return l->uuid;
}
