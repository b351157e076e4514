/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device work and counters. Both need the order of times that the stream does not have (work is
 * collected late, and "submitted" lies before "started"), so both go through a spool.
 *
 * Times are drawn as the device gave them. What cannot be drawn (an end before the start, a start
 * before the clock's zero, no times at all) becomes an instant that says so.
 */
#include "formats/perfetto/writer.h"

#include <stdio.h>
#include <string.h>

#include "record/fields.h"
#include "record/value.h"
#include "stream/names.h"
#include "stream/reference.h"

struct work {
	struct spool_key key; /* time: device start, or the submission of what has no times */
	uint32_t track;
	bool is_copy, unfinished, pause;
	uint32_t path; /* of scopes */
	union {
		struct rec rec;
		struct rec_dispatch dispatch;
		struct rec_copy copy;
	};
};

static const struct rec_device *device_of(const struct work *w)
{
	return w->is_copy ? &w->copy.device : &w->dispatch.device;
}

struct point {
	struct spool_key key;
	int64_t delta;
	double value; /* of TRACK_OF_VALUE */
	uint32_t set, index;
};

static kymo_status_t add_point(struct perfetto *p, enum track_owner set, uint32_t index,
			       int64_t time, int64_t delta)
{
	struct point point = {.key.time = time, .delta = delta, .set = set, .index = index};

	p->parts.expected += POINT_BYTES;

	return spool_add(&p->points, &point);
}

kymo_status_t device_point(struct perfetto *p, enum track_owner set, uint32_t index, int64_t time,
			   double value)
{
	struct point point = {.key.time = time, .value = value, .set = set, .index = index};

	p->parts.expected += POINT_BYTES;

	return spool_add(&p->points, &point);
}

/* Outstanding work: up when the program queued it, down when the device was done. */
static kymo_status_t count_outstanding(struct perfetto *p, const struct rec_device *d,
				       uint32_t queue)
{
	int64_t from = d->queued ? d->queued : d->submitted ? d->submitted : d->start;
	kymo_status_t status;

	if (!queue || queue >= p->trace->queues_count || !device_timed(d))
		return KYMO_OK;
	status = add_point(p, TRACK_OF_QUEUE, queue, from, 1);
	return status ? status : add_point(p, TRACK_OF_QUEUE, queue, d->end, -1);
}

/* Of the queue; of the device where that has a row for all of its queues. */
static uint32_t row_of(const struct perfetto *p, uint32_t process, uint32_t agent, uint32_t queue)
{
	if (p->by_device && !agent && queue && queue < p->trace->queues_count)
		agent = p->trace->queues[queue].agent;
	return track_of_queue(p, process, agent, p->by_device && agent ? 0 : queue);
}

/* Where it is drawn; the record itself has been copied. */
static kymo_status_t add_work(struct perfetto *p, struct work *w, uint32_t agent, uint32_t queue)
{
	struct rec_device *d = w->is_copy ? &w->copy.device : &w->dispatch.device;
	kymo_status_t status;

	if (!d->correlation)
		p->parts.expected += p->packet.bare ? WORK_BYTES_BARE : WORK_BYTES;
	w->path = around_work(&p->around, &w->rec, device_call(d));
	w->rec.wire = NULL; /* is gone when the work is written */
	w->track = row_of(p, w->rec.process, agent, queue);
	if (device_timed(d)) {
		w->key.time = d->start;
	} else {
		w->key.time = d->submit ? d->submit : w->rec.start;
		d->untimed = d->untimed ? d->untimed : UNTIMED_QUERY;
	}
	status = spool_add(&p->work, w);
	return status ? status : count_outstanding(p, d, queue);
}

kymo_status_t device_dispatch(struct perfetto *p, const struct rec_dispatch *r)
{
	struct work w = {.dispatch = *r};

	w.dispatch.kernel = r->kernel < p->trace->kernels_count ? r->kernel : 0;
	w.dispatch.dims = r->dims > 3 ? 3 : r->dims ? r->dims : 1;
	return add_work(p, &w, r->agent, r->queue);
}

kymo_status_t device_copy(struct perfetto *p, const struct rec_copy *r)
{
	struct work w = {.is_copy = true, .copy = *r};

	return add_work(p, &w, copy_agent(p->trace, r), r->queue);
}

/* An instant, where it was submitted: when it began nobody knows. */
kymo_status_t device_unfinished(struct perfetto *p, const struct t_unfinished *u)
{
	struct work w = {.key.time = u->submit,
			 .track = row_of(p, u->process, u->agent, u->queue),
			 .unfinished = true};
	const struct rec base = {.process = u->process, .op = u->op};
	const struct rec_device device = {.untimed = UNTIMED_LOST, .correlation = u->id};

	w.is_copy = strcmp(p->trace->domains[p->trace->ops[u->op].domain].name, "copy") == 0;
	if (w.is_copy)
		w.copy = (struct rec_copy){.base = base, .device = device, .bytes = u->bytes};
	else
		w.dispatch = (struct rec_dispatch){
			.base = base, .device = device, .kernel = u->kernel, .dims = 1};
	return spool_add(&p->work, &w);
}

kymo_status_t device_pause(struct perfetto *p, const struct t_pause *pause)
{
	struct work w = {.key.time = pause->start,
			 .track = track_of_pauses(p, pause->process),
			 .pause = true};

	w.rec = (struct rec){.process = pause->process};
	w.dispatch.device = (struct rec_device){.start = pause->start, .end = pause->end};
	return spool_add(&p->work, &w);
}

/* What a record adds to the memory in use; sub-buffers take none of their own. */
static int64_t memory_delta(struct perfetto *p, const struct rec_allocation *r, bool gone)
{
	uint64_t id = r->allocation ? (uint64_t)r->base.process << 48 ^ r->allocation : 0;

	if (r->parent)
		return 0;
	if (gone)
		return -(int64_t)(id ? live_take(&p->live, id, r->bytes) : r->bytes);
	if (id && r->bytes)
		live_put(&p->live, id, r->bytes);
	return (int64_t)r->bytes;
}

/* Frees may not say it. */
static uint32_t memory_kind(struct perfetto *p, const struct rec_allocation *r, bool gone)
{
	uint64_t id = r->allocation ? (uint64_t)r->base.process << 48 ^ r->allocation : 0;
	uint64_t kind = r->kind;

	if (id && gone)
		kind = live_take(&p->kinds, id, kind);
	else if (id)
		live_put(&p->kinds, id, kind);
	return kind < MEMORY_KINDS ? (uint32_t)kind : 0;
}

kymo_status_t device_allocation(struct perfetto *p, const struct rec_allocation *r)
{
	bool gone = p->trace->ops[r->base.op].number == ALLOCATION_OP_FREE;
	int64_t time = gone ? r->base.start : r->base.end;
	int64_t delta = memory_delta(p, r, gone);
	kymo_status_t status = KYMO_OK;

	if (!delta)
		return KYMO_OK;
	if (r->agent && r->agent < p->trace->agents_count) {
		uint32_t kind = memory_kind(p, r, gone);

		p->kinds_seen[r->agent] |= (uint16_t)(1u << kind);
		status = add_point(p, TRACK_OF_AGENT, r->agent, time, delta);
		if (!status)
			status = add_point(p, TRACK_OF_KIND, r->agent * MEMORY_KINDS + kind, time,
					   delta);
	}
	if (!status && r->context && r->context < p->trace->contexts_count)
		status = add_point(p, TRACK_OF_CONTEXT, r->context, time, delta);
	return status;
}

#include "record/show_perfetto.inc"

/* ---- writing ------------------------------------------------------------------------------ */

static void annotate_size(struct packet *k, const char *name, const uint64_t size[3], unsigned dims)
{
	Pf__DebugAnnotation *a = packet_annotation(k, name);
	size_t i, n = a ? packet_array(k, a, dims) : 0;

	for (i = 0; i < n; i++)
		packet_set_uint(a->array_values[i], size[i]);
}

static void annotate_number(struct packet *k, const char *name, uint64_t v)
{
	if (v)
		packet_add_uint(k, name, v);
}

static void annotate_launch(struct packet *k, const struct rec_launch *l)
{
	const uint64_t cluster[3] = {l->cluster[0], l->cluster[1], l->cluster[2]};

	annotate_number(k, "registers", l->registers);
	annotate_number(k, "static_shared_bytes", l->static_shared);
	annotate_number(k, "dynamic_shared_bytes", l->dynamic_shared);
	annotate_number(k, "local_memory_bytes", l->local_memory);
	if (cluster[0])
		annotate_size(k, "cluster", cluster, 3);
	annotate_number(k, "graph", l->graph);
	annotate_number(k, "graph_node", l->graph_node);
}

/* How many groups there are in each dimension; the last may be smaller. */
static void annotate_groups(struct packet *k, const struct rec_dispatch *r)
{
	uint64_t groups[3] = {1, 1, 1};

	for (unsigned i = 0; i < r->dims; i++) {
		uint64_t local = r->local[i] ? r->local[i] : 1;

		groups[i] = r->global[i] / local + (r->global[i] % local != 0);
	}
	annotate_size(k, "groups", groups, r->dims);
}

static void annotate_dispatch(struct perfetto *p, const struct rec_dispatch *r)
{
	struct packet *k = &p->packet;

	annotate_size(k, "global", r->global, r->dims);
	if (r->local[0]) {
		annotate_size(k, "local", r->local, r->dims);
		annotate_groups(k, r);
	}
	if (r->offset[0] | r->offset[1] | r->offset[2])
		annotate_size(k, "offset", r->offset, r->dims);
	annotate_launch(k, &r->launch);
	show_dispatch(k, p->trace, r);
}

static void annotate_end(struct perfetto *p, const char *name, uint32_t agent, uint8_t kind)
{
	static const char *const kinds[] = {NULL,      "pageable", "pinned", "device memory",
					    "managed", "shared"};
	const char *what = kind < sizeof(kinds) / sizeof(*kinds) ? kinds[kind] : NULL;
	char place[200] = "host", *text = packet_room(&p->packet, 256);

	if (!text)
		return;
	if (agent && agent < p->trace->agents_count)
		agent_name(p, agent, place, sizeof(place));
	snprintf(text, 256, "%s%s%s%s", place, what ? " (" : "", what ? what : "", what ? ")" : "");
	packet_add_text(&p->packet, name, text);
}

/* Of what is copied: mapping may move nothing. */
static void annotate_rate(struct packet *k, const struct rec_copy *r)
{
	Pf__DebugAnnotation *a = packet_annotation(k, "bytes_per_second");

	if (a)
		packet_set_double(a, (double)r->bytes * 1e9 /
					     (double)(r->device.end - r->device.start));
}

static void annotate_copy(struct perfetto *p, const struct rec_copy *r)
{
	uint32_t op = p->trace->ops[r->base.op].number;
	bool moves = op != COPY_OP_MAP && op != COPY_OP_UNMAP;

	packet_add_uint(&p->packet, "bytes", r->bytes);
	if (!r->device.untimed && r->device.end > r->device.start && moves)
		annotate_rate(&p->packet, r);
	annotate_end(p, "source", r->source_agent, r->source_kind);
	annotate_end(p, "destination", r->destination_agent, r->destination_kind);
	if (r->blocking)
		packet_add_bool(&p->packet, "blocking", true);
	show_copy(&p->packet, p->trace, r);
}

static void annotate_times(struct packet *k, const struct work *w)
{
	const struct rec_device *d = device_of(w);

	if (w->unfinished) {
		packet_category(k, PERFETTO_UNFINISHED); /* also where there are no annotations */
		packet_add_text(k, "end", "never seen to finish");
		return;
	}
	if (d->untimed) {
		packet_add_text(k, "untimed", name_untimed(d->untimed));
		return;
	}
	if (d->queued)
		packet_add_int(k, "queued_to_start_ns", d->start - d->queued);
	if (d->submitted)
		packet_add_int(k, "submitted_to_start_ns", d->start - d->submitted);
	if (d->causal_violation) {
		packet_add_text(k, "causal_violation", "starts before it was submitted");
		packet_category(k, "causal_violation");
	}
}

static void annotate_status(struct perfetto *p, const struct work *w)
{
	int32_t status = device_of(w)->status;
	const char *name;

	if (!status)
		return;
	name = rec_status_name(&p->trace->ops[w->rec.op], status);
	if (name)
		packet_add_text(&p->packet, "error", name);
	else
		packet_add_int(&p->packet, "error", status);
	packet_category(&p->packet, "error");
}

/* Why it cannot be a slice, or NULL. */
static const char *undrawable(const struct rec_device *d)
{
	if (d->start < 0)
		return "starts before the zero of the clock";
	return d->end < d->start ? "ends before it starts" : NULL;
}

static void begin_work(struct perfetto *p, const struct work *w)
{
	Pf__TrackEvent__Type type = PF__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN;
	const struct rec_device *d = device_of(w);
	const char *problem = d->untimed ? NULL : undrawable(d);
	uint64_t uuid = 0;

	if (!d->untimed && !problem) {
		uuid = lane_open(p, &p->device, w->track, d->start, d->end, false);
		problem = uuid ? NULL : "too many at once to draw";
	}
	if (!uuid) {
		uuid = w->track + 1;
		type = PF__TRACK_EVENT__TYPE__TYPE_INSTANT;
	}
	packet_begin(&p->packet, &p->device, type, w->key.time < 0 ? 0 : w->key.time, uuid);
	if (problem) {
		packet_add_text(&p->packet, "not_drawn", problem);
		packet_add_int(&p->packet, "start_ns", d->start);
		packet_add_int(&p->packet, "duration_ns", d->end - d->start);
	}
}

/* What was counted while the kernel ran. */
struct counted {
	struct perfetto *p;
	uint64_t shown, left_out;
};

static void annotate_value(void *data, const struct kernel_value *v)
{
	enum { MOST = 32 }; /* a packet has room for so many, beside what else it has */
	struct counted *c = data;
	char *name = c->shown < MOST ? packet_room(&c->p->packet, 256) : NULL;
	Pf__DebugAnnotation *a;

	if (name)
		kernel_value_name(c->p->trace, v, name, 256);
	a = name ? packet_annotation(&c->p->packet, name) : NULL;
	if (a)
		packet_set_double(a, v->value);
	c->shown += a != NULL;
	c->left_out += !a;
}

static void annotate_counters(struct perfetto *p, const struct rec_dispatch *r)
{
	struct counted c = {.p = p};

	kernel_values_each(&p->kernel_values, r, annotate_value, &c);
	if (c.left_out)
		packet_add_uint(&p->packet, "counters that are not here", c.left_out);
}

static void annotate_queue(struct perfetto *p, uint32_t queue)
{
	char *text = queue && queue < p->trace->queues_count ? packet_room(&p->packet, 256) : NULL;

	if (!text)
		return;
	queue_name(p, queue, text, 256);
	packet_add_text(&p->packet, "queue", text);
}

static void write_pause(struct perfetto *p, const struct work *w)
{
	begin_work(p, w);
	packet_name(&p->packet, "recording paused");
	packet_category(&p->packet, "note");
	slice_end_of_begin(p);
}

static void annotate_work(struct perfetto *p, const struct work *w)
{
	struct packet *k = &p->packet;

	if (w->is_copy)
		annotate_copy(p, &w->copy);
	else
		annotate_dispatch(p, &w->dispatch);
	if (!w->is_copy && !w->unfinished)
		annotate_counters(p, &w->dispatch);
	if (p->by_device)
		annotate_queue(p, w->is_copy ? w->copy.queue : w->dispatch.queue);
	packet_add_uint(k, "correlation", device_of(w)->correlation);
	if (w->rec.external)
		packet_add_uint(k, "external", w->rec.external);
	annotate_scope(p, w->rec.scope, w->path);
}

static void write_work(struct perfetto *p, const struct work *w)
{
	const struct trace *t = p->trace;
	const struct t_op *op = &t->ops[w->rec.op];
	const char *name = w->is_copy ? op->name : t->kernels[w->dispatch.kernel].name;
	uint64_t correlation = device_of(w)->correlation;
	struct packet *k = &p->packet;

	timeline_reach(p, &p->device, w->key.time);
	if (w->pause) {
		write_pause(p, w);
		return;
	}
	begin_work(p, w);
	packet_name(k, name ? name : "(unknown kernel)");
	packet_category(k, t->domains[op->domain].name);
	if (!k->bare)
		annotate_work(p, w);
	annotate_times(k, w);
	annotate_status(p, w);
	if (correlation)
		packet_flow(k, flow_id(w->rec.process, correlation));
	slice_end_of_begin(p);
}

static kymo_status_t finish_work(struct perfetto *p)
{
	const void *item;
	kymo_status_t status = spool_rewind(&p->work);

	parts_rewind(p);
	for (;;) {
		if (!status)
			status = spool_next(&p->work, &item);
		if (status || !item)
			break;
		write_work(p, item);
		status = p->file.status;
	}
	timeline_reach(p, &p->device, INT64_MAX);
	return status;
}

static void write_value(struct perfetto *p, uint32_t series, int64_t time)
{
	packet_begin(&p->packet, &p->counter, PF__TRACK_EVENT__TYPE__TYPE_COUNTER,
		     time < 0 ? 0 : time, values_track(p, series));
	packet_counter_real(&p->packet, p->series.list[series].value);
	packet_end(&p->packet);
}

static void write_count(struct perfetto *p, enum track_owner set, uint32_t index, int64_t time)
{
	const struct counter *c = track_counter(p, set, index);

	packet_begin(&p->packet, &p->counter, PF__TRACK_EVENT__TYPE__TYPE_COUNTER,
		     time < 0 ? 0 : time, c->uuid);
	packet_counter(&p->packet, c->value);
	packet_end(&p->packet);
}

/* At the begin of a part of the output: what all counters were at. */
static void repeat_values(struct perfetto *p, int64_t time)
{
	const struct trace *t = p->trace;
	const uint32_t sizes[TRACK_OWNERS] = {t->queues_count, t->agents_count, t->contexts_count,
					      t->agents_count * MEMORY_KINDS};

	parts_use(p, &p->counter);
	for (uint32_t set = 0; set < TRACK_OWNERS; set++)
		for (uint32_t i = 0; i < sizes[set]; i++)
			if (p->counters[set][i].uuid)
				write_count(p, set, i, time);
	for (uint32_t i = 0; i < p->series.count; i++)
		if (p->series.list[i].uuid)
			write_value(p, i, time);
}

static void reach_point(struct perfetto *p, int64_t time)
{
	int64_t border;

	while ((border = parts_end(p)) <= time && !p->file.status) {
		p->parts.now++;
		if (parts_made(p) || parts_end(p) > time)
			repeat_values(p, border);
	}
	parts_use(p, &p->counter);
}

/* Of one kind alone, it is that of all. */
static bool is_drawn(const struct perfetto *p, const struct point *point)
{
	uint32_t kinds =
		point->set == TRACK_OF_KIND ? p->kinds_seen[point->index / MEMORY_KINDS] : 0;

	return point->set != TRACK_OF_KIND || (kinds & (kinds - 1)) != 0;
}

static void write_point(struct perfetto *p, const struct point *point)
{
	if (!is_drawn(p, point))
		return;
	reach_point(p, point->key.time);
	if (point->set == TRACK_OF_VALUE) {
		p->series.list[point->index].value = point->value;
		write_value(p, point->index, point->key.time);
		return;
	}
	p->counters[point->set][point->index].value += point->delta;
	write_count(p, (enum track_owner)point->set, point->index, point->key.time);
}

static kymo_status_t finish_points(struct perfetto *p)
{
	const void *item;
	kymo_status_t status = spool_rewind(&p->points);

	parts_rewind(p);
	for (;;) {
		if (!status)
			status = spool_next(&p->points, &item);
		if (status || !item)
			break;
		write_point(p, item);
		status = p->file.status;
	}
	if (!status && p->points.added)
		reach_point(p, parts_last(p));
	return status;
}

kymo_status_t device_init(struct perfetto *p, const char *directory)
{
	kymo_status_t status = spool_init(&p->work, sizeof(struct work), 4u << 20, directory);

	return status ? status : spool_init(&p->points, sizeof(struct point), 2u << 20, directory);
}

kymo_status_t device_finish(struct perfetto *p)
{
	kymo_status_t status = finish_work(p);

	return status ? status : finish_points(p);
}
