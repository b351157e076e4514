/* SPDX-License-Identifier: Apache-2.0 */
/* From a stream of records to rows: see data.h. */
#include "page/data.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "formats/raw/internal.h"
#include "record/fields.h"
#include "stream/large.h"
#include "stream/recorded.h"
#include "stream/trace.h"

enum {
	STORE_MOST = 192 << 20, /* bytes of slices in memory */
	POINTS_MOST = 8 << 20
};

static struct page_data *of(struct stream_sink *s)
{
	return (struct page_data *)(void *)s;
}

/* Times of damaged files may be anything; what is too far away is not drawn. */
static int64_t since(const struct page_data *d, int64_t time)
{
	return (int64_t)((uint64_t)time - (uint64_t)d->origin);
}

static kymo_status_t check(const struct page_data *d, kymo_status_t status)
{
	return d->failed && status == KYMO_OK ? KYMO_ERROR_NO_MEMORY : status;
}

/* One record more; false: its process is not drawn. */
static bool take(struct page_data *d, uint32_t process)
{
	bool drawn = !d->draws || d->draws[process];

	d->records++;
	d->apart += !drawn;
	return drawn;
}

/* A process that is not drawn has a strip of what it does. */
static bool beside_drawn(struct page_data *d, uint32_t process, enum member_part part,
			 uint32_t thread, const struct page_slice *s)
{
	if (!d->draws || d->draws[process])
		return false;
	if (d->members)
		members_add(d->members, process, part, thread, s,
			    strcmp(d->ops[s->op].kind, "state") == 0);
	return true;
}

/* Device work and messages may be there, which refer to calls. */
static bool may_refer(const struct trace *t)
{
	for (uint32_t i = 1; i < t->ops_count; i++) {
		enum raw_kind kind = raw_kind_of_domain(t->domains[t->ops[i].domain].name);

		if (kind == RAW_KIND_DISPATCH || kind == RAW_KIND_COPY || kind == RAW_KIND_COMM)
			return true;
	}
	return false;
}

static kymo_status_t on_begin(struct stream_sink *s, const struct trace *t)
{
	struct page_data *d = of(s);

	d->t = t;
	d->origin = t->origin;
	d->process_count = t->processes_count;
	d->refers = may_refer(t);
	d->calls = calloc(t->processes_count + 1u, sizeof(*d->calls));
	d->of_op = calloc(t->ops_count + 1u, sizeof(*d->of_op));
	d->of_kernel = calloc(t->kernels_count + 1u, sizeof(*d->of_kernel));
	d->of_string = calloc(t->strings_count + 1u, sizeof(*d->of_string));
	d->messages = page_chain_new(&d->store, sizeof(struct page_message));
	if (!d->calls || !d->of_op || !d->of_kernel || !d->of_string || !d->messages ||
	    !page_tracks_init(d))
		return KYMO_ERROR_NO_MEMORY;
	return KYMO_OK;
}

/* An interval of a thread, or of a process. */
static kymo_status_t put_host(struct page_data *d, const struct rec *r, uint32_t op, bool beside,
			      uint32_t flags)
{
	struct page_slice s = {.start = since(d, r->start),
			       .end = since(d, r->end),
			       .id = r->id,
			       .op = op,
			       .flags = flags | (r->ok || r->status == 0 ? 0 : PAGE_FAILED)};
	uint32_t track, row, index;
	kymo_status_t status;

	if (beside_drawn(d, r->process, MEMBER_HOST, beside ? 0 : r->thread, &s))
		return check(d, KYMO_OK);
	track = page_track_of_thread(d, r->process, r->thread);
	if (track == UINT32_MAX)
		return KYMO_ERROR_NO_MEMORY;
	status = beside ? page_put_beside(d, track, &s, &row, &index)
			: page_put_nested(d, track, &s, &row, &index);
	if (status == KYMO_OK && row != UINT32_MAX && d->refers && r->id &&
	    !page_note_call(d, r, row, index))
		return KYMO_ERROR_NO_MEMORY;
	return check(d, status);
}

static kymo_status_t on_record(struct stream_sink *s, const struct rec *r)
{
	struct page_data *d = of(s);

	take(d, r->process);
	return put_host(d, r, page_op_of_record(d, r->op), false, 0);
}

static kymo_status_t on_marker(struct stream_sink *s, const struct rec_marker *r)
{
	struct page_data *d = of(s);
	struct rec base = r->base;

	take(d, base.process);
	if (r->starter)
		base.thread = 0; /* others may end it */
	base.ok = true;
	return put_host(d, &base, page_op_of_marker(d, r), r->starter != 0,
			r->left_open ? PAGE_CUT : 0);
}

/* The call that waits is there already, if it was recorded. */
static kymo_status_t on_sync(struct stream_sink *s, const struct rec_sync *r)
{
	struct page_data *d = of(s);

	if (!r->correlation)
		return on_record(s, &r->base);
	if (take(d, r->base.process))
		unplaced_add(&d->left,
			     "waits, barriers and events recorded, as their calls are there", 1);
	return KYMO_OK;
}

/* Device work of a queue. */
static kymo_status_t put_work(struct page_data *d, const struct rec *base,
			      const struct rec_device *device, uint32_t agent, uint32_t queue,
			      uint32_t op, uint64_t bytes)
{
	uint64_t call = device_call(device);
	bool linked = call && call != UINT64_MAX;
	struct page_slice s = {.start = since(d, device->start),
			       .end = since(d, device->end),
			       .id = linked ? call : 0,
			       .bytes = bytes,
			       .op = op,
			       .flags = (linked ? PAGE_LINKED : 0u) |
					(device->status ? PAGE_FAILED : 0u)};
	uint32_t track, row, index;
	bool drawn = take(d, base->process);

	if (!device_timed(device)) {
		if (drawn)
			unplaced_add(&d->left, "pieces of device work that have no device times",
				     1);
		return KYMO_OK;
	}
	if (beside_drawn(d, base->process, MEMBER_DEVICE, 0, &s))
		return check(d, KYMO_OK);
	d->calls[base->process].wanted |= linked;
	track = page_track_of_queue(d, base->process, agent, queue);
	if (track == UINT32_MAX)
		return KYMO_ERROR_NO_MEMORY;
	return check(d, page_put_beside(d, track, &s, &row, &index));
}

static kymo_status_t on_dispatch(struct stream_sink *s, const struct rec_dispatch *r)
{
	struct page_data *d = of(s);

	return put_work(d, &r->base, &r->device, r->agent, r->queue,
			page_op_of_work(d, r->base.op, r->kernel), 0);
}

static kymo_status_t on_copy(struct stream_sink *s, const struct rec_copy *r)
{
	struct page_data *d = of(s);

	return put_work(d, &r->base, &r->device, copy_agent(d->t, r), r->queue,
			page_op_of_work(d, r->base.op, 0), r->bytes);
}

/* ---- messages ---------------------------------------------------------------------------------- */

static kymo_status_t pair(struct page_data *d, const struct page_end *a, const struct page_end *b)
{
	const struct page_end *from = a->sends ? a : b, *to = a->sends ? b : a;
	struct page_message m = {.start = from->start,
				 .from = from->call,
				 .to = to->call,
				 .bytes = from->bytes ? from->bytes : to->bytes,
				 .from_process = from->process,
				 .to_process = to->process};

	return page_chain_add(&d->store, d->messages, &m, m.start, m.start);
}

static kymo_status_t match(struct page_data *d, uint64_t key, const struct page_end *e)
{
	uint64_t other = map_remove(&d->end_of, key);
	uint32_t place;

	if (other) {
		struct page_end *o = &d->ends[other - 1];
		kymo_status_t status = pair(d, o, e);

		o->call = d->end_free; /* a list of free places */
		d->end_free = (uint32_t)other;
		return status;
	}
	if (d->end_free) {
		place = d->end_free - 1;
		d->end_free = (uint32_t)d->ends[place].call;
	} else {
		if (!vec_reserve(&d->ends, &d->end_room, d->end_count, 1))
			return KYMO_ERROR_NO_MEMORY;
		place = d->end_count++;
	}
	d->ends[place] = *e;
	return map_set(&d->end_of, key, place + 1u) ? KYMO_OK : KYMO_ERROR_NO_MEMORY;
}

/* What is sent and received are arrows between calls; without calls, slices. */
static kymo_status_t on_comm(struct stream_sink *s, const struct rec_comm *r)
{
	struct page_data *d = of(s);
	uint32_t number = d->t->ops[r->base.op].number;
	struct page_end e = {.process = r->base.process,
			     .start = since(d, r->base.start),
			     .sends = number != COMM_OP_RECEIVE,
			     .bytes = r->sent > r->received ? r->sent : r->received};
	kymo_status_t status = KYMO_OK;

	d->calls[e.process].wanted |= r->match != 0;
	if (!take(d, e.process))
		return r->correlation
			       ? KYMO_OK
			       : put_host(d, &r->base, page_op_of_record(d, r->base.op), false, 0);
	e.call = e.sends || !r->completed_by ? r->correlation : r->completed_by;
	if (r->match)
		status = match(d, r->match, &e);
	if (status != KYMO_OK)
		return status;
	if (!r->correlation)
		return put_host(d, &r->base, page_op_of_record(d, r->base.op), false, 0);
	if (!r->match)
		unplaced_add(&d->left, "messages whose other end is not known", 1);
	return KYMO_OK;
}

/* ---- the rest ---------------------------------------------------------------------------------- */

static kymo_status_t on_counter(struct stream_sink *s, const struct rec_counter *r)
{
	return take(of(s), r->base.process) ? page_counter(of(s), r) : KYMO_OK;
}

static kymo_status_t on_allocation(struct stream_sink *s, const struct rec_allocation *r)
{
	take(of(s), r->base.process); /* the timeline has it */
	return KYMO_OK;
}

static kymo_status_t on_sample(struct stream_sink *s, const struct rec_sample *r)
{
	if (take(of(s), r->base.process))
		unplaced_add(&of(s)->left, "samples of call stacks", 1);
	return KYMO_OK;
}

static kymo_status_t on_device_sample(struct stream_sink *s, const struct rec_device_sample *r)
{
	if (take(of(s), r->base.process))
		unplaced_add(&of(s)->left, "samples of kernels", 1);
	return KYMO_OK;
}

static kymo_status_t on_kernel_line(struct stream_sink *s, const struct rec_kernel_line *r)
{
	if (take(of(s), r->base.process))
		unplaced_add(&of(s)->left, "counts of lines of kernels", 1);
	return KYMO_OK;
}

static kymo_status_t put_gap(struct page_data *d, uint32_t process, int64_t start, int64_t end,
			     const char *what, const char *kind)
{
	struct page_slice s = {.start = since(d, start),
			       .end = since(d, end),
			       .op = page_op(d, what, strlen(what), "kymo", kind)};
	uint32_t track = page_track_of_gaps(d, process), row, index;

	if (track == UINT32_MAX)
		return KYMO_ERROR_NO_MEMORY;
	s.start = s.start < 0 ? 0 : s.start; /* nothing is known from before */
	return check(d, page_put_beside(d, track, &s, &row, &index));
}

static kymo_status_t on_loss(struct stream_sink *s, const struct rec_loss *r)
{
	char what[80];

	if (of(s)->draws && !of(s)->draws[r->process])
		return KYMO_OK;
	if (r->count)
		snprintf(what, sizeof(what), "%" PRIu64 " record%s lost", r->count,
			 r->count == 1 ? "" : "s");
	else
		snprintf(what, sizeof(what), "records lost, whole chunks are missing");
	return put_gap(of(s), r->process, r->after, r->before > r->after ? r->before : r->after,
		       what, "loss");
}

static kymo_status_t on_open_call(struct stream_sink *s, const struct t_open_call *c)
{
	struct page_data *d = of(s);
	uint32_t process = d->t->threads[c->thread].process;
	struct rec r = {.process = process,
			.thread = c->thread,
			.op = c->op,
			.id = c->id,
			.ok = true,
			.start = c->start,
			.end = recorded_until(d->t, &d->t->processes[process])};

	r.end = r.end < r.start ? r.start : r.end;
	return put_host(d, &r, page_op_of_record(d, c->op), false, PAGE_CUT);
}

static kymo_status_t on_unfinished(struct stream_sink *s, const struct t_unfinished *u)
{
	unplaced_add(&of(s)->left, "pieces of device work that were never seen to finish",
		     u->unlisted ? u->unlisted : 1);
	return KYMO_OK;
}

static kymo_status_t on_end(struct stream_sink *s, const struct trace *t)
{
	struct page_data *d = of(s);
	kymo_status_t status = KYMO_OK;

	for (uint32_t i = 0; i < t->pauses_count && status == KYMO_OK; i++)
		if (t->pauses[i].end > t->pauses[i].start &&
		    (!d->draws || d->draws[t->pauses[i].process]))
			status = put_gap(d, t->pauses[i].process, t->pauses[i].start,
					 t->pauses[i].end, "recording paused", "pause");
	if (since(d, t->end) > (int64_t)d->length && since(d, t->end) <= (int64_t)COUNT_MAX)
		d->length = (uint64_t)since(d, t->end);
	return status;
}

/* ---- life -------------------------------------------------------------------------------------- */

kymo_status_t page_data_init(struct page_data *d, struct page_temporary where)
{
	kymo_status_t status;

	*d = (struct page_data){.log = where.log, .points.fd = -1, .store.fd = -1};
	d->sink = (struct stream_sink){.begin = on_begin,
				       .call = on_record,
				       .dispatch = on_dispatch,
				       .copy = on_copy,
				       .allocation = on_allocation,
				       .sync = on_sync,
				       .marker = on_marker,
				       .comm = on_comm,
				       .counter = on_counter,
				       .sample = on_sample,
				       .device_sample = on_device_sample,
				       .kernel_line = on_kernel_line,
				       .other = on_record,
				       .loss = on_loss,
				       .open_call = on_open_call,
				       .unfinished = on_unfinished,
				       .end = on_end,
				       .brief = true,
				       .matches = true};
	stream_sink_complete(&d->sink);
	status = page_store_init(&d->store, where, STORE_MOST);
	return status == KYMO_OK ? spool_init(&d->points, sizeof(struct page_reading), POINTS_MOST,
					      where.folder)
				 : status;
}

void page_data_counters_alone(struct page_data *d)
{
	d->sink = (struct stream_sink){
		.begin = on_begin, .counter = on_counter, .end = on_end, .brief = true};
	stream_sink_complete(&d->sink);
}

kymo_status_t page_data_finish(struct page_data *d, const struct timeline *tl)
{
	kymo_status_t status = tl ? page_memory(d, tl) : KYMO_OK;

	if (status == KYMO_OK && !page_calls_finish(d))
		status = KYMO_ERROR_NO_MEMORY;
	if (status == KYMO_OK)
		status = page_curves_finish(d);
	return status == KYMO_OK ? page_store_flush(&d->store) : status;
}

kymo_status_t page_data_again(struct page_data *d)
{
	kymo_status_t status;

	spool_release(&d->points);
	status = spool_init(&d->points, sizeof(struct page_reading), POINTS_MOST,
			    d->store.where.folder);
	if (status != KYMO_OK)
		return status;
	for (uint32_t i = 0; i < d->op_count; i++)
		d->ops[i].count = d->ops[i].busy = 0;
	for (uint32_t i = 0; i < d->row_count; i++) {
		d->rows[i].busy = 0;
		d->rows[i].last = 0;
	}
	for (uint32_t i = 0; i < d->track_count; i++)
		d->tracks[i].depth = 0;
	for (uint32_t i = 0; i < d->curve_count; i++) {
		struct page_curve *c = &d->curves[i];

		c->min = INFINITY;
		c->max = -INFINITY;
		c->sum = 0;
		c->readings = 0;
		free(c->apart);
		c->apart = NULL;
		c->read = c->known = 0;
	}
	for (uint32_t i = 0; i < d->process_count; i++)
		d->calls[i] = (struct page_calls){.at = d->calls[i].at, .room = d->calls[i].room};
	d->left = (struct unplaced){0};
	d->records = d->apart = 0;
	return page_store_empty(&d->store);
}

void page_data_release(struct page_data *d)
{
	for (uint32_t i = 0; i < d->name_count; i++)
		free(d->names[i]);
	for (uint32_t i = 0; i < d->curve_count; i++) {
		free(d->curves[i].name);
		free(d->curves[i].unit);
		free(d->curves[i].apart);
	}
	for (uint32_t i = 0; d->calls && i < d->process_count; i++)
		large_free(d->calls[i].at);
	free(d->names);
	free(d->ops);
	free(d->of_op);
	free(d->of_kernel);
	free(d->of_string);
	free(d->curves);
	free(d->calls);
	free(d->ends);
	map_release(&d->name_of);
	map_release(&d->op_of);
	map_release(&d->curve_of);
	map_release(&d->end_of);
	page_tracks_release(d);
	spool_release(&d->points);
	page_store_release(&d->store);
}
