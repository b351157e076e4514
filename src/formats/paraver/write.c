/* SPDX-License-Identifier: Apache-2.0 */
/* The Paraver format: records to states, events and messages; paraver.h says what is written. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/temporary.h"
#include "base/vec.h"
#include "formats/paraver/paraver.h"

static struct paraver *self(struct stream_sink *s)
{
	return (struct paraver *)(void *)s;
}

static kymo_status_t outcome(const struct paraver *w, bool fine)
{
	return fine ? output_status(&w->body) : KYMO_ERROR_NO_MEMORY;
}

/* ---- what begins and ends -------------------------------------------------------------------- */

/* The value that the type goes back to at `end`: that of the event around it. */
static uint64_t around(const struct row *r, uint32_t type, int64_t end)
{
	for (uint32_t i = r->depth; i-- > 0;)
		if (r->open[i].type == type && r->open[i].end >= end)
			return r->open[i].value;
	return 0;
}

static bool interval(struct paraver *w, struct row *r, const struct object *object, int64_t start,
		     int64_t end, uint32_t type, uint64_t value)
{
	uint64_t back;

	end = end > start ? end : start;
	lines_until(w, start);
	while (r->depth && r->open[r->depth - 1].end <= start)
		r->depth--;
	back = around(r, type, end);
	if (!vec_reserve(&r->open, &r->room, r->depth, 1))
		return false;
	r->open[r->depth++] = (struct nested){end, type, value};
	return lines_interval(w, object, start, end, type, value, back);
}

static kymo_status_t on_call(struct stream_sink *s, const struct rec *r)
{
	struct paraver *w = self(s);
	const struct t_op *op = &w->t->ops[r->op];

	if (w->o.device_only)
		return KYMO_OK;
	unplaced_add(&w->unplaced, "statuses of calls that failed", !r->ok);
	unplaced_add(&w->unplaced, "call sites", r->site != 0);
	w->domains_used[op->domain] = 1;
	return outcome(w, interval(w, &w->thread_rows[r->thread], &w->threads[r->thread], r->start,
				   r->end, TYPE_CALLS + op->domain, op->number + 1u));
}

static bool is_range(const struct paraver *w, const struct rec_marker *r)
{
	uint32_t n = w->t->ops[r->base.op].number;

	return n == MARKER_OP_RANGE || n == MARKER_OP_PROCESS_RANGE ||
	       n == MARKER_OP_SUBMITTED_RANGE;
}

static kymo_status_t on_marker(struct stream_sink *s, const struct rec_marker *r)
{
	struct paraver *w = self(s);
	const struct object *object = &w->threads[r->base.thread];
	uint64_t name;

	if (w->o.device_only)
		return KYMO_OK;
	unplaced_add(&w->unplaced, "payloads of annotations", r->payload_bytes != 0);
	name = legend_name(w, r->text ? r->text : "", r->text ? r->text_length : 0);
	if (!name)
		return KYMO_ERROR_NO_MEMORY;
	if (is_range(w, r))
		return outcome(w, interval(w, &w->thread_rows[r->base.thread], object,
					   r->base.start, r->base.end, TYPE_RANGE, name));
	lines_until(w, r->base.start);
	return outcome(w, lines_event(w, object, r->base.start, TYPE_MARK, name));
}

/* ---- devices --------------------------------------------------------------------------------- */

/* Work that overlaps what was there before it colours what is left. */
static void state(struct paraver *w, uint32_t queue, const struct rec_device *d, unsigned what)
{
	struct row *r = &w->queue_rows[queue];
	int64_t begin = d->start > r->busy_until ? d->start : r->busy_until;

	if (begin == d->start && d->end > begin)
		lines_state(w, &w->queues[queue], begin, d->end, what);
	r->busy_until = d->end > r->busy_until ? d->end : r->busy_until;
}

static bool device_work(struct paraver *w, uint32_t queue, const struct rec_device *d,
			uint32_t type, uint64_t value)
{
	if (!w->queues[queue].task || !device_timed(d)) {
		unplaced_add(&w->unplaced, "device work without device times or queue", 1);
		return true;
	}
	state(w, queue, d, type == TYPE_KERNEL ? STATE_RUNNING : STATE_TRANSFER);
	return interval(w, &w->queue_rows[queue], &w->queues[queue], d->start, d->end, type, value);
}

static kymo_status_t on_dispatch(struct stream_sink *s, const struct rec_dispatch *r)
{
	struct paraver *w = self(s);

	unplaced_add(&w->unplaced, "sizes of launches", 1);
	return outcome(w, device_work(w, r->queue, &r->device, TYPE_KERNEL, r->kernel));
}

static kymo_status_t on_copy(struct stream_sink *s, const struct rec_copy *r)
{
	struct paraver *w = self(s);
	bool fine =
		device_work(w, r->queue, &r->device, TYPE_COPY, w->t->ops[r->base.op].number + 1u);

	if (fine && w->queues[r->queue].task && device_timed(&r->device))
		fine = lines_event(w, &w->queues[r->queue], r->device.start, TYPE_COPY_BYTES,
				   r->bytes);
	return outcome(w, fine);
}

/* ---- what happens at a moment ---------------------------------------------------------------- */

static kymo_status_t on_allocation(struct stream_sink *s, const struct rec_allocation *r)
{
	struct paraver *w = self(s);
	bool frees = w->t->ops[r->base.op].number == ALLOCATION_OP_FREE;

	if (w->o.device_only)
		return KYMO_OK;
	lines_until(w, r->base.start);
	return outcome(w, lines_event(w, &w->threads[r->base.thread], r->base.start,
				      frees ? TYPE_FREED : TYPE_ALLOCATED, r->bytes));
}

static kymo_status_t on_counter(struct stream_sink *s, const struct rec_counter *r)
{
	struct paraver *w = self(s);

	if (!(r->value >= 0 && r->value < 0x1p63) || r->counter >= w->t->counters_count) {
		unplaced_add(&w->unplaced, "values of counters that are no numbers from 0 up", 1);
		return KYMO_OK;
	}
	unplaced_add(&w->unplaced, "fractions of values of counters",
		     r->value != (double)(uint64_t)r->value);
	w->counters_used[r->counter] = 1;
	lines_until(w, r->base.start);
	return outcome(w, lines_event(w, &w->threads[r->base.thread], r->base.start,
				      TYPE_COUNTERS + r->counter, (uint64_t)r->value));
}

/* ---- messages -------------------------------------------------------------------------------- */

static struct message *message_of(struct paraver *w, uint64_t match)
{
	uint64_t at = map_remove(&w->halves, match);

	if (at)
		return &w->messages[at - 1];
	if (!vec_reserve(&w->messages, &w->message_room, w->message_count, 1) ||
	    !map_set(&w->halves, match, w->message_count + 1u))
		return NULL;
	w->messages[w->message_count] = (struct message){.sequence = w->message_count};
	return &w->messages[w->message_count++];
}

static kymo_status_t on_comm(struct stream_sink *s, const struct rec_comm *r)
{
	struct paraver *w = self(s);
	bool sends = w->t->ops[r->base.op].number == COMM_OP_SEND;
	struct message *m;

	if (w->o.device_only)
		return KYMO_OK;
	if (!r->match) {
		unplaced_add(&w->unplaced, "transfers that are no message from one to another", 1);
		return KYMO_OK;
	}
	m = message_of(w, r->match);
	if (!m)
		return KYMO_ERROR_NO_MEMORY;
	if (sends) {
		m->sender = &w->threads[r->base.thread];
		m->sent = r->base.start;
		m->bytes = r->sent;
		m->tag = r->tag;
	} else {
		m->receiver = &w->threads[r->base.thread];
		m->received = r->base.end;
		w->end = r->base.end > w->end ? r->base.end : w->end;
	}
	return KYMO_OK;
}

static kymo_status_t on_other(struct stream_sink *s, const struct rec *r)
{
	unplaced_record(&self(s)->unplaced, self(s)->t, r);
	return KYMO_OK;
}

static kymo_status_t on_open_call(struct stream_sink *s, const struct t_open_call *c)
{
	(void)c;
	unplaced_add(&self(s)->unplaced, "calls that never returned", 1);
	return KYMO_OK;
}

static kymo_status_t on_unfinished(struct stream_sink *s, const struct t_unfinished *u)
{
	unplaced_add(&self(s)->unplaced, "pieces of device work that never finished",
		     u->unlisted ? u->unlisted : 1);
	return KYMO_OK;
}

static kymo_status_t on_loss(struct stream_sink *s, const struct rec_loss *r)
{
	(void)r;
	unplaced_add(&self(s)->unplaced, "notes of where records were lost", 1);
	return KYMO_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

kymo_status_t open_part(const struct paraver *w, struct output *o, const char *suffix)
{
	char path[4200];

	snprintf(path, sizeof(path), "%s/trace.%s", w->o.output, suffix);
	return output_open(o, path, w->o.force, w->o.log);
}

static kymo_status_t on_begin(struct stream_sink *s, const struct trace *t)
{
	struct paraver *w = self(s);

	w->t = t;
	w->written = w->end = t->origin;
	w->domains_used = calloc(t->domains_count + 1u, 1);
	w->counters_used = calloc(t->counters_count + 1u, 1);
	if (!w->domains_used || !w->counters_used || !places_make(w))
		return KYMO_ERROR_NO_MEMORY;
	return KYMO_OK;
}

static kymo_status_t put_trace(struct paraver *w)
{
	struct output o;
	kymo_status_t status = output_close(&w->body, w->o.log);

	if (status != KYMO_OK)
		return status;
	status = open_part(w, &o, "prv");
	if (status != KYMO_OK)
		return status;
	places_header(w, &o);
	lines_copy(w, &o, w->body_path);
	return output_close(&o, w->o.log);
}

static kymo_status_t on_end(struct stream_sink *s, const struct trace *t)
{
	struct paraver *w = self(s);
	kymo_status_t status;

	w->end = t->end > w->end ? t->end : w->end;
	lines_until(w, INT64_MAX);
	status = put_trace(w);
	if (status == KYMO_OK)
		status = legend_write(w);
	if (status == KYMO_OK)
		status = places_write_names(w);
	unplaced_tell(&w->unplaced, w->o.log, "Paraver has no place for");
	return status;
}

static void paraver_free(struct stream_sink *s)
{
	struct paraver *w = self(s);

	if (!s)
		return;
	output_close(&w->body, w->o.log);
	unlink(w->body_path);
	temporary_done(w->body_path);
	free(w->body_path);
	places_free(w);
	for (uint32_t i = 0; i < w->name_count; i++)
		free(w->names[i]);
	free(w->names);
	free(w->ahead);
	free(w->messages);
	free(w->domains_used);
	free(w->counters_used);
	map_release(&w->halves);
	map_release(&w->texts);
	free(w);
}

/* Lines lie in a file of their own until the header can be written. */
static kymo_status_t open_body(struct paraver *w)
{
	kymo_status_t status = output_folder(w->o.output, w->o.force, w->o.log);

	if (status != KYMO_OK)
		return status;
	if (asprintf(&w->body_path, "%s/trace.lines", w->o.output) < 0) {
		w->body_path = NULL;
		return KYMO_ERROR_NO_MEMORY;
	}
	status = output_open(&w->body, w->body_path, true, w->o.log);
	if (status == KYMO_OK)
		temporary_add(w->body_path);
	return status;
}

static kymo_status_t paraver_write(const struct format_options *o, struct stream_sink **sink)
{
	struct paraver *w = calloc(1, sizeof(*w));
	kymo_status_t status;

	*sink = NULL;
	if (!w)
		return KYMO_ERROR_NO_MEMORY;
	w->o = *o;
	status = open_body(w);
	if (status != KYMO_OK) {
		free(w->body_path);
		free(w);
		return status;
	}
	w->sink = (struct stream_sink){.begin = on_begin,
				       .call = on_call,
				       .dispatch = on_dispatch,
				       .copy = on_copy,
				       .allocation = on_allocation,
				       .marker = on_marker,
				       .comm = on_comm,
				       .counter = on_counter,
				       .other = on_other,
				       .loss = on_loss,
				       .open_call = on_open_call,
				       .unfinished = on_unfinished,
				       .end = on_end,
				       .matches = true};
	stream_sink_complete(&w->sink);
	*sink = &w->sink;
	return KYMO_OK;
}

extern const struct format format_paraver;
const struct format format_paraver = {
	.name = "paraver",
	.summary = "a directory with trace.prv, .pcf and .row, for Paraver and BSC's tools",
	.suffix = "",
	.needs_order = true,
	.write = paraver_write,
	.sink_free = paraver_free,
};
