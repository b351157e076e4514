/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records that tools and runtimes published: when and where they were is in the last fields, on a
 * clock of the publisher's or in node time. They become calls of their own tracks.
 */
#include "formats/raw/internal.h"

bool raw_op_is_published(const struct t_op *op)
{
	return op->flags & KYMO_OP_TIMED && op->field_count >= T_TIMED_FIELDS;
}

static void place_published(struct raw_chunk *c, const struct wire_value *v, const struct t_op *op,
			    struct rec *out)
{
	const struct raw_process *p = c->source;
	uint32_t clock = map_get(&p->clock_ids, v[TIMED_CLOCK].u);
	const struct device_map *map = raw_clock_map(p, clock);
	int64_t start = v[TIMED_START].i, end = (int64_t)(v[TIMED_START].u + v[TIMED_DURATION].u);
	uint32_t track = v[TIMED_TRACK].u ? map_get(&p->threads, v[TIMED_TRACK].u) : 0;

	out->start = map ? device_map_ns(map, start) : raw_node_ns(p, start);
	out->end = map ? device_map_ns(map, end) : raw_node_ns(p, end);
	out->parent = v[TIMED_PARENT].u;
	out->status = (int32_t)v[TIMED_STATUS].i;
	out->ok = out->status == op->status_ok;
	if (track)
		out->thread = track;
}

void raw_decode_published(struct raw_chunk *c, const struct wire_record *w, const struct t_op *op,
			  struct rec *out)
{
	uint32_t own = op->field_count - T_TIMED_FIELDS;
	struct wire_value v[T_TIMED_FIELDS], skip;
	struct wire_cursor cursor;

	wire_cursor_init(&cursor, w);
	for (uint32_t i = 0; i < op->field_count; i++) {
		const struct t_field *f = &op->fields[i];

		if (!wire_field(&cursor, f->kind, f->element, f->size,
				i < own ? &skip : &v[i - own]))
			return;
	}
	place_published(c, v, op, out);
}
