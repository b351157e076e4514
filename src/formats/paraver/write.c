/* SPDX-License-Identifier: Apache-2.0 */
/* The Paraver format: records to states, events and messages; paraver.h says what is written. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bulk.h"
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
	unplaced_add(&w->unplaced, "negative statuses", !r->ok && r->status < 0);
	unplaced_add(&w->unplaced, "call sites", r->site != 0);
	w->domains_used[op->domain] = 1;
	return outcome(w, interval(w, &w->thread_rows[r->thread], &w->threads[r->thread], r->start,
				   r->end, TYPE_CALLS + op->domain, op->number + 1u) &&
				  values_some(w, &w->threads[r->thread], r->start, VALUE_STATUS,
					      r->ok || r->status < 0 ? 0 : (uint64_t)r->status) &&
				  values_some(w, &w->threads[r->thread], r->start, VALUE_EXTERNAL,
					      r->external) &&
				  values_arguments(w, &w->threads[r->thread], r));
}

/* Waits and builds: as calls of their domain. */
static bool on_thread(struct paraver *w, const struct rec *r)
{
	const struct t_op *op = &w->t->ops[r->op];

	w->domains_used[op->domain] = 1;
	return interval(w, &w->thread_rows[r->thread], &w->threads[r->thread], r->start, r->end,
			TYPE_CALLS + op->domain, op->number + 1u);
}

static kymo_status_t on_sync(struct stream_sink *s, const struct rec_sync *r)
{
	struct paraver *w = self(s);
	const struct object *object = &w->threads[r->base.thread];

	if (w->o.device_only)
		return KYMO_OK;
	return outcome(w,
		       on_thread(w, &r->base) &&
			       values_some(w, object, r->base.start, VALUE_CALL, r->correlation) &&
			       values_some(w, object, r->base.start, VALUE_EVENTS, r->count) &&
			       values_some(w, object, r->base.start, VALUE_EVENT, r->event));
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
	unplaced_add(&w->unplaced, "domains and categories of annotations",
		     r->domain || r->category);
	name = legend_name(w, r->text ? r->text : "", r->text ? r->text_length : 0);
	if (!name)
		return KYMO_ERROR_NO_MEMORY;
	if (!values_some(w, object, r->base.start, VALUE_COLOR, r->color))
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
		unplaced_leave(&w->unplaced, "device work without device times or queue", 1, 1);
		return true;
	}
	state(w, queue, d, type == TYPE_KERNEL ? STATE_RUNNING : STATE_TRANSFER);
	return interval(w, &w->queue_rows[queue], &w->queues[queue], d->start, d->end, type, value);
}

static bool put_sizes(struct paraver *w, const struct rec_dispatch *r)
{
	const struct object *object = &w->queues[r->queue];
	const struct rec_launch *l = &r->launch;
	int64_t at = r->device.start;

	return values_three(w, object, at, VALUE_GLOBAL_X, r->global) &&
	       values_three(w, object, at, VALUE_LOCAL_X, r->local) &&
	       values_three(w, object, at, VALUE_OFFSET_X, r->offset) &&
	       values_some(w, object, at, VALUE_REGISTERS, l->registers) &&
	       values_some(w, object, at, VALUE_STATIC_SHARED, l->static_shared) &&
	       values_some(w, object, at, VALUE_DYNAMIC_SHARED, l->dynamic_shared) &&
	       values_some(w, object, at, VALUE_LOCAL_MEMORY, l->local_memory) &&
	       values_some(w, object, at, VALUE_GRAPH, l->graph) &&
	       values_some(w, object, at, VALUE_GRAPH_NODE, l->graph_node) &&
	       values_some(w, object, at, VALUE_CALL, r->device.correlation);
}

static kymo_status_t on_dispatch(struct stream_sink *s, const struct rec_dispatch *r)
{
	struct paraver *w = self(s);

	return outcome(w, device_work(w, r->queue, &r->device, TYPE_KERNEL, r->kernel) &&
				  (!device_timed(&r->device) || put_sizes(w, r)));
}

static bool put_copy_values(struct paraver *w, const struct rec_copy *r)
{
	const struct object *object = &w->queues[r->queue];
	int64_t at = r->device.start;

	return values_some(w, object, at, VALUE_ADDRESS, r->address) &&
	       values_some(w, object, at, VALUE_FAULTS, r->faults) &&
	       values_some(w, object, at, VALUE_GRAPH, r->graph) &&
	       values_some(w, object, at, VALUE_GRAPH_NODE, r->graph_node) &&
	       values_some(w, object, at, VALUE_CALL, r->device.correlation);
}

static kymo_status_t on_copy(struct stream_sink *s, const struct rec_copy *r)
{
	struct paraver *w = self(s);
	bool fine =
		device_work(w, r->queue, &r->device, TYPE_COPY, w->t->ops[r->base.op].number + 1u);

	if (fine && w->queues[r->queue].task && device_timed(&r->device))
		fine = lines_event(w, &w->queues[r->queue], r->device.start, TYPE_COPY_BYTES,
				   r->bytes) &&
		       put_copy_values(w, r);
	return outcome(w, fine);
}

/* ---- what happens at a moment ---------------------------------------------------------------- */

static kymo_status_t on_allocation(struct stream_sink *s, const struct rec_allocation *r)
{
	struct paraver *w = self(s);
	bool frees = w->t->ops[r->base.op].number == ALLOCATION_OP_FREE;
	const struct object *object = &w->threads[r->base.thread];

	if (w->o.device_only)
		return KYMO_OK;
	lines_until(w, r->base.start);
	return outcome(
		w, lines_event(w, object, r->base.start, frees ? TYPE_FREED : TYPE_ALLOCATED,
			       r->bytes) &&
			   values_some(w, object, r->base.start, VALUE_ADDRESS, r->address) &&
			   values_some(w, object, r->base.start, VALUE_ALLOCATION, r->allocation) &&
			   values_some(w, object, r->base.start, VALUE_PARENT, r->parent) &&
			   values_some(w, object, r->base.start, VALUE_CALL, r->correlation));
}

/* ---- samples --------------------------------------------------------------------------------- */

static kymo_status_t on_sample(struct stream_sink *s, const struct rec_sample *r)
{
	struct paraver *w = self(s);
	const struct object *object = &w->threads[r->base.thread];

	if (w->o.device_only)
		return KYMO_OK;
	unplaced_add(&w->unplaced, "stacks of samples", r->base.stack != 0);
	unplaced_leave(&w->unplaced, "samples that were lost", r->lost, r->lost != 0);
	if (r->lost)
		return KYMO_OK;
	w->samples_used = true;
	lines_until(w, r->base.start);
	return outcome(w,
		       lines_event(w, object, r->base.start, TYPE_SAMPLE, r->pc) &&
			       values_put(w, object, r->base.start, VALUE_PROCESSOR, r->cpu) &&
			       values_some(w, object, r->base.start, VALUE_WEIGHT,
					   r->weight > 0 ? (uint64_t)r->weight : 0) &&
			       values_some(w, object, r->base.start, VALUE_CALL, r->correlation));
}

/* On the thread that collected them: the format has places for queues, not for devices. */
static kymo_status_t on_device_sample(struct stream_sink *s, const struct rec_device_sample *r)
{
	struct paraver *w = self(s);
	const struct object *object = &w->threads[r->base.thread];
	int64_t at = r->base.start;
	uint64_t reason;

	unplaced_leave(&w->unplaced, "samples of kernels that were lost", r->lost, !r->code);
	if (!r->code)
		return KYMO_OK;
	reason = legend_name(w, w->t->strings[r->reason].text, w->t->strings[r->reason].length);
	if (!reason)
		return KYMO_ERROR_NO_MEMORY;
	w->lines_used = true;
	lines_until(w, at);
	return outcome(w, lines_event(w, object, at, TYPE_LINE, r->code) &&
				  lines_event(w, object, at, TYPE_REASON, reason) &&
				  values_some(w, object, at, VALUE_SAMPLES, r->samples) &&
				  values_some(w, object, at, VALUE_IDLE_SAMPLES, r->idle) &&
				  values_some(w, object, at, VALUE_CYCLES, r->cycles) &&
				  values_some(w, object, at, VALUE_CALL, r->correlation));
}

static kymo_status_t on_counter(struct stream_sink *s, const struct rec_counter *r)
{
	struct paraver *w = self(s);

	if (!(r->value >= 0 && r->value < 0x1p63) || r->counter >= w->t->counters_count) {
		unplaced_leave(&w->unplaced, "values of counters that are no numbers from 0 up", 1,
			       1);
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
	if (!bulk_reserve(&w->messages, &w->message_room, w->message_count, 1) ||
	    !bulk_map_set(&w->halves, match, w->message_count + 1u))
		return NULL;
	w->messages[w->message_count] = (struct message){.sequence = w->message_count};
	return &w->messages[w->message_count++];
}

static const char transfer_names[] = "communicators and types of transfers";

/* What a communication record has no place for. */
static bool put_request(struct paraver *w, const struct rec_comm *r)
{
	const struct object *object = &w->threads[r->base.thread];
	int64_t at = r->base.start;

	unplaced_add(&w->unplaced, transfer_names, r->communicator || r->datatype);
	return values_some(w, object, at, VALUE_REQUEST, r->request) &&
	       values_some(w, object, at, VALUE_PARTITIONS, r->partitions) &&
	       values_some(w, object, at, VALUE_COMPLETED_BY, r->completed_by) &&
	       values_some(w, object, at, VALUE_PROBE, r->probe) &&
	       values_some(w, object, at, VALUE_CALL, r->correlation);
}

/* What is no message from one to another: collectives, RMA, files, and what has no known other end. */
static bool put_transfer(struct paraver *w, const struct rec_comm *r)
{
	const struct object *object = &w->threads[r->base.thread];
	int64_t at = r->base.start;

	return on_thread(w, &r->base) &&
	       (r->peer < 0 || values_put(w, object, at, VALUE_PEER, (uint64_t)r->peer)) &&
	       (r->tag < 0 || values_put(w, object, at, VALUE_TAG, (uint64_t)r->tag)) &&
	       values_some(w, object, at, VALUE_SENT, r->sent) &&
	       values_some(w, object, at, VALUE_RECEIVED, r->received) && put_request(w, r);
}

static kymo_status_t on_comm(struct stream_sink *s, const struct rec_comm *r)
{
	struct paraver *w = self(s);
	bool sends = w->t->ops[r->base.op].number == COMM_OP_SEND;
	struct message *m;

	if (w->o.device_only)
		return KYMO_OK;
	if (!r->match)
		return outcome(w, put_transfer(w, r));
	m = message_of(w, r->match);
	if (!m || !put_request(w, r))
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
	return output_status(&w->body);
}

static kymo_status_t on_other(struct stream_sink *s, const struct rec *r)
{
	struct paraver *w = self(s);

	if (w->o.device_only)
		return KYMO_OK;
	return outcome(w, on_thread(w, r) && values_arguments(w, &w->threads[r->thread], r));
}

static kymo_status_t on_open_call(struct stream_sink *s, const struct t_open_call *c)
{
	(void)c;
	unplaced_leave(&self(s)->unplaced, "calls that never returned", 1, 1);
	return KYMO_OK;
}

static kymo_status_t on_unfinished(struct stream_sink *s, const struct t_unfinished *u)
{
	unplaced_leave(&self(s)->unplaced, "pieces of device work that never finished",
		       u->unlisted ? u->unlisted : 1, 1);
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
	bulk_free(w->messages);
	free(w->domains_used);
	free(w->counters_used);
	bulk_map_release(&w->halves);
	map_release(&w->texts);
	map_release(&w->arguments);
	free(w->argument_names);
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
				       .sync = on_sync,
				       .sample = on_sample,
				       .device_sample = on_device_sample,
				       .marker = on_marker,
				       .comm = on_comm,
				       .counter = on_counter,
				       .other = on_other,
				       .loss = on_loss,
				       .open_call = on_open_call,
				       .unfinished = on_unfinished,
				       .end = on_end,
				       .unplaced = &w->unplaced,
				       .matches = true};
	stream_sink_complete(&w->sink);
	*sink = &w->sink;
	return KYMO_OK;
}

#define STANDARD "BSC, Paraver: trace generation"
/* Values of events are whole numbers; texts are names of values that the legend lists ahead. */
static const struct format_kind kinds[] = {
	{"call", FORMAT_KEEPS_PART,
	 "arguments that are no whole numbers from 0 up; call sites; negative statuses",
	 STANDARD ", event record: value is a whole number, no text"},
	{"dispatch", FORMAT_KEEPS_PART, "device work without device times or queue",
	 STANDARD ", event record: it has a time and a thread"},
	{"copy", FORMAT_KEEPS_PART, "device work without device times or queue",
	 STANDARD ", event record: it has a time and a thread"},
	{"allocation", FORMAT_KEEPS_ALL, NULL, NULL},
	{"sync", FORMAT_KEEPS_ALL, NULL, NULL},
	{"marker", FORMAT_KEEPS_PART,
	 "payloads of annotations; domains and categories of annotations",
	 STANDARD ", event record: one name for a value"},
	{"comm", FORMAT_KEEPS_PART, "communicators and types of transfers",
	 STANDARD ", communication record: bytes and tag"},
	{"counter", FORMAT_KEEPS_PART,
	 "fractions of values of counters; values of counters that are no numbers from 0 up",
	 STANDARD ", event record: value is a whole number"},
	{"sample", FORMAT_KEEPS_PART, "stacks of samples; samples that were lost",
	 STANDARD ", event record: one value for a type at a time"},
	{"device_sample", FORMAT_KEEPS_PART, "samples of kernels that were lost",
	 STANDARD ", event record: what is lost has no time"},
	{"kernel_line", FORMAT_KEEPS_PART, "arguments that are no whole numbers from 0 up",
	 STANDARD ", event record"},
	{"code_object", FORMAT_KEEPS_PART, "arguments that are no whole numbers from 0 up",
	 STANDARD ", event record"},
	{"kernel_symbol", FORMAT_KEEPS_PART, "arguments that are no whole numbers from 0 up",
	 STANDARD ", event record"},
	{"stream", FORMAT_KEEPS_PART, "arguments that are no whole numbers from 0 up",
	 STANDARD ", event record"},
	{"thread", FORMAT_KEEPS_PART, "arguments that are no whole numbers from 0 up",
	 STANDARD ", event record"},
	{"runtime_init", FORMAT_KEEPS_PART, "arguments that are no whole numbers from 0 up",
	 STANDARD ", event record"},
	{"scope", FORMAT_KEEPS_PART, "arguments that are no whole numbers from 0 up",
	 STANDARD ", event record"},
	{"retirement", FORMAT_KEEPS_ALL, NULL, NULL},
	{0}};

extern const struct format format_paraver;
const struct format format_paraver = {
	.name = "paraver",
	.summary = "a directory with trace.prv, .pcf and .row, for Paraver and BSC's tools",
	.suffix = "",
	.needs_order = true,
	.kinds = kinds,
	.write = paraver_write,
	.sink_free = paraver_free,
};
