/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the CSV files. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "formats/csv/csv.h"
#include "record/value.h"
#include "stream/names.h"
#include "stream/payload.h"
#include "stream/recorded.h"
#include "stream/reference.h"
#include "wire/defs.h"

#include "record/show_csv.inc"

static int64_t since(const struct csv_writer *w, int64_t ns)
{
	return ns ? (int64_t)((uint64_t)ns - (uint64_t)w->t->origin) : 0;
}

static void times(struct csv_writer *w, struct csv_out *o, int64_t start, int64_t end)
{
	csv_signed(o, since(w, start));
	csv_signed(o, since(w, end));
	csv_signed(o, (int64_t)((uint64_t)end - (uint64_t)start));
}

static void place(struct csv_writer *w, struct csv_out *o, uint32_t process, uint32_t thread)
{
	csv_unsigned(o, w->t->processes[process].pid);
	csv_unsigned(o, w->t->threads[thread].tid);
}

static void queue(struct csv_writer *w, struct csv_out *o, uint32_t i)
{
	const struct t_queue *q = &w->t->queues[i];

	csv_text(o, w->t->agents[q->agent].label);
	csv_text(o, q->label);
}

/* "name=value; ..." of what `result` selects: the result only, or all but it. */
static void values(struct csv_writer *w, struct csv_out *o, const struct rec *r, bool result)
{
	const struct t_field *f;
	struct rec_fields fields;
	struct wire_value v;
	struct text *text = &w->values;
	char value[1024];
	size_t length;

	text->length = 0;
	rec_fields_init(&fields, w->t, r);
	while (r->wire && rec_fields_next(&fields, &f, &v)) {
		if (((f->flags & KYMO_FIELD_RESULT) != 0) != result ||
		    (!r->ok && (f->flags & KYMO_FIELD_OUT)))
			continue;
		length = rec_value_text(w->t, f, &v, value, sizeof(value));
		if (length >= sizeof(value)) {
			length = sizeof(value) - 1;
			memcpy(value + length - 3, "...", 3);
		}
		if (!result) {
			text_add(text, text->length ? "; " : "");
			text_add(text, f->name);
			text_add(text, "=");
		}
		text_add_bytes(text, value, length);
	}
	csv_bytes(o, text->s, text->length);
}

static void result(struct csv_writer *w, struct csv_out *o, const struct rec *r)
{
	const struct t_op *op = &w->t->ops[r->op];

	for (uint32_t i = 0; i < op->field_count; i++)
		if (op->fields[i].flags & KYMO_FIELD_RESULT) {
			values(w, o, r, true);
			return;
		}
	csv_text(o, "");
}

/* Rendered once: many calls come from one place. */
static void site(struct csv_writer *w, struct csv_out *o, uint32_t i)
{
	char text[512];

	if (!i) {
		csv_text(o, "");
		return;
	}
	if (!w->sites[i])
		w->sites[i] = strdup(symbols_text(w->symbols, i, text, sizeof(text)));
	csv_text(o, w->sites[i] ? w->sites[i] : symbols_text(w->symbols, i, text, sizeof(text)));
}

static kymo_status_t call(struct stream_sink *s, const struct rec *r)
{
	struct csv_writer *w = csv_writer_of(s);
	struct csv_out *o = &w->out[CSV_CALLS];
	const struct t_op *op = &w->t->ops[r->op];
	const char *status = rec_status_name(op, r->status);

	if (w->o.device_only)
		return KYMO_OK;
	times(w, o, r->start, r->end);
	place(w, o, r->process, r->thread);
	csv_text(o, w->t->domains[op->domain].name);
	csv_text(o, op->name);
	csv_unsigned(o, r->id);
	csv_unsigned(o, r->parent);
	csv_signed(o, r->status);
	csv_text(o, status ? status : "");
	csv_unsigned(o, r->ok);
	csv_unsigned(o, r->unwound);
	csv_unsigned(o, r->external);
	csv_signed(o, r->scope);
	site(w, o, r->site);
	result(w, o, r);
	values(w, o, r, false);
	return csv_end_row(o);
}

/* A time that is not known, 0, is an empty cell. */
static void known_time(struct csv_writer *w, struct csv_out *o, int64_t ns)
{
	if (ns)
		csv_signed(o, since(w, ns));
	else
		csv_text(o, "");
}

/* Device times; work that has none has empty cells. */
static void device_times(struct csv_writer *w, struct csv_out *o, const struct rec *r,
			 const struct rec_device *d)
{
	if (device_timed(d))
		times(w, o, d->start, d->end);
	else
		for (int i = 0; i < 3; i++)
			csv_text(o, "");
	known_time(w, o, d->queued);
	known_time(w, o, d->submitted);
	place(w, o, r->process, r->thread);
}

static void device_end(struct csv_writer *w, struct csv_out *o, const struct rec *r,
		       const struct rec_device *d)
{
	csv_unsigned(o, d->correlation);
	known_time(w, o, d->submit);
	csv_signed(o, d->status);
	csv_text(o, device_timed(d) ? "" : name_untimed(d->untimed));
	csv_unsigned(o, d->causal_violation);
	csv_signed(o, since(w, r->start));
}

static kymo_status_t dispatch(struct stream_sink *s, const struct rec_dispatch *r)
{
	struct csv_writer *w = csv_writer_of(s);
	struct csv_out *o = &w->out[CSV_DISPATCHES];

	device_times(w, o, &r->base, &r->device);
	queue(w, o, r->queue);
	csv_text(o, w->t->kernels[r->kernel].name);
	for (int i = 0; i < 3; i++)
		csv_unsigned(o, r->global[i]);
	for (int i = 0; i < 3; i++)
		csv_unsigned(o, r->local[i]);
	csv_unsigned(o, r->launch.registers);
	csv_unsigned(o, r->launch.static_shared);
	csv_unsigned(o, r->launch.dynamic_shared);
	csv_unsigned(o, r->launch.local_memory);
	device_end(w, o, &r->base, &r->device);
	show_dispatch(o, w->t, r);
	return csv_end_row(o);
}

static kymo_status_t copy(struct stream_sink *s, const struct rec_copy *r)
{
	struct csv_writer *w = csv_writer_of(s);
	struct csv_out *o = &w->out[CSV_COPIES];

	device_times(w, o, &r->base, &r->device);
	csv_text(o, w->t->ops[r->base.op].name);
	csv_unsigned(o, r->bytes);
	queue(w, o, r->queue);
	csv_text(o, w->t->agents[r->source_agent].label);
	csv_text(o, name_memory_kind(r->source_kind));
	csv_text(o, w->t->agents[r->destination_agent].label);
	csv_text(o, name_memory_kind(r->destination_kind));
	csv_unsigned(o, r->blocking);
	device_end(w, o, &r->base, &r->device);
	show_copy(o, w->t, r);
	return csv_end_row(o);
}

static kymo_status_t allocation(struct stream_sink *s, const struct rec_allocation *r)
{
	struct csv_writer *w = csv_writer_of(s);
	struct csv_out *o = &w->out[CSV_ALLOCATIONS];

	if (w->o.device_only)
		return KYMO_OK;
	csv_signed(o, since(w, r->base.start));
	place(w, o, r->base.process, r->base.thread);
	csv_text(o, w->t->ops[r->base.op].name);
	csv_text(o, name_allocation_what(r->what));
	csv_text(o, name_memory_kind(r->kind));
	csv_unsigned(o, r->bytes);
	csv_hex(o, r->address);
	csv_unsigned(o, r->allocation);
	csv_unsigned(o, r->parent);
	csv_text(o, w->t->agents[r->agent].label);
	csv_unsigned(o, r->correlation);
	show_allocation(o, w->t, r);
	return csv_end_row(o);
}

static kymo_status_t sync(struct stream_sink *s, const struct rec_sync *r)
{
	struct csv_writer *w = csv_writer_of(s);
	struct csv_out *o = &w->out[CSV_SYNCS];

	if (w->o.device_only)
		return KYMO_OK;
	times(w, o, r->base.start, r->base.end);
	place(w, o, r->base.process, r->base.thread);
	csv_text(o, w->t->ops[r->base.op].name);
	queue(w, o, r->queue);
	csv_unsigned(o, r->count);
	csv_unsigned(o, r->correlation);
	if (r->event)
		csv_hex(o, r->event);
	else
		csv_text(o, "");
	show_sync(o, w->t, r);
	return csv_end_row(o);
}

static kymo_status_t marker(struct stream_sink *s, const struct rec_marker *r)
{
	struct csv_writer *w = csv_writer_of(s);
	struct csv_out *o = &w->out[CSV_MARKERS];
	char data[8192];
	struct output payload = {.fd = -1, .data = data, .size = sizeof(data)};

	if (w->o.device_only)
		return KYMO_OK;
	times(w, o, r->base.start, r->base.end);
	place(w, o, r->base.process, r->base.thread);
	csv_text(o, w->t->ops[r->base.op].name);
	csv_bytes(o, r->text, r->text_length);
	csv_text(o, w->t->strings[r->domain].text);
	csv_text(o, w->t->strings[r->category].text);
	csv_unsigned(o, r->color);
	csv_signed(o, r->scope);
	csv_signed(o, r->base.scope);
	csv_text(o, r->left_open ? "yes" : "no");
	if (r->payload_bytes)
		payload_json(&payload, r);
	csv_bytes(o, data, payload.used);
	show_marker(o, w->t, r);
	return csv_end_row(o);
}

/* What is not known is empty. */
static void rank_or_none(struct csv_out *o, int64_t number)
{
	if (number < 0)
		csv_text(o, "");
	else
		csv_signed(o, number);
}

static kymo_status_t comm(struct stream_sink *s, const struct rec_comm *r)
{
	static const char *const states[] = {"complete", "cancelled", "freed"};
	struct csv_writer *w = csv_writer_of(s);
	struct csv_out *o = &w->out[CSV_MESSAGES];
	const struct t_communicator *c = &w->t->communicators[r->communicator];
	uint32_t rank = w->t->processes[r->base.process].rank;

	if (w->o.device_only)
		return KYMO_OK;
	times(w, o, r->base.start, r->base.end);
	place(w, o, r->base.process, r->base.thread);
	csv_text(o, w->t->ops[r->base.op].name);
	rank_or_none(o, rank == UINT32_MAX ? -1 : (int64_t)rank);
	rank_or_none(o, r->peer);
	rank_or_none(o, r->tag);
	csv_unsigned(o, r->sent);
	csv_unsigned(o, r->received);
	csv_text(o, w->t->strings[r->datatype].text);
	csv_text(o, c->name ? c->name : "");
	csv_unsigned(o, c->size);
	if (r->request)
		csv_unsigned(o, r->request);
	else
		csv_text(o, "");
	csv_text(o, r->state < 3 ? states[r->state] : "never completed");
	csv_unsigned(o, r->correlation);
	csv_unsigned(o, r->completed_by);
	show_comm(o, w->t, r);
	return csv_end_row(o);
}

static kymo_status_t other(struct stream_sink *s, const struct rec *r)
{
	struct csv_writer *w = csv_writer_of(s);
	struct csv_out *o = &w->out[CSV_OTHERS];
	const struct t_op *op = &w->t->ops[r->op];

	if (w->o.device_only)
		return KYMO_OK;
	times(w, o, r->start, r->end);
	place(w, o, r->process, r->thread);
	csv_text(o, w->t->domains[op->domain].name);
	csv_text(o, op->name);
	values(w, o, r, false);
	return csv_end_row(o);
}

static kymo_status_t loss(struct stream_sink *s, const struct rec_loss *r)
{
	struct csv_writer *w = csv_writer_of(s);
	struct csv_out *o = &w->out[CSV_LOSSES];

	csv_signed(o, since(w, r->after));
	csv_signed(o, since(w, r->before));
	place(w, o, r->process, r->thread);
	if (r->count)
		csv_unsigned(o, r->count);
	else
		csv_text(o, "unknown");
	return csv_end_row(o);
}

static kymo_status_t open_call(struct stream_sink *s, const struct t_open_call *c)
{
	struct csv_writer *w = csv_writer_of(s);
	struct csv_out *o = &w->out[CSV_OPEN_CALLS];
	const struct t_op *op = &w->t->ops[c->op];

	csv_signed(o, since(w, c->start));
	place(w, o, w->t->threads[c->thread].process, c->thread);
	csv_text(o, w->t->domains[op->domain].name);
	csv_text(o, op->name);
	csv_unsigned(o, c->id);
	csv_unsigned(o, c->depth);
	return csv_end_row(o);
}

/* How many are not listed is with the processes. */
static kymo_status_t unfinished(struct stream_sink *s, const struct t_unfinished *u)
{
	struct csv_writer *w = csv_writer_of(s);
	struct csv_out *o = &w->out[CSV_UNFINISHED];

	if (u->unlisted)
		return KYMO_OK;
	csv_signed(o, since(w, u->submit));
	place(w, o, u->process, u->thread);
	csv_text(o, w->t->ops[u->op].name);
	csv_text(o, w->t->kernels[u->kernel].name);
	csv_unsigned(o, u->bytes);
	queue(w, o, u->queue);
	csv_unsigned(o, u->id);
	return csv_end_row(o);
}

void csv_set_records(struct stream_sink *s)
{
	s->call = call;
	s->dispatch = dispatch;
	s->copy = copy;
	s->allocation = allocation;
	s->sync = sync;
	s->marker = marker;
	s->comm = comm;
	s->other = other;
	s->loss = loss;
	s->matches = true;
	s->open_call = open_call;
	s->unfinished = unfinished;
}

/* ---- definitions --------------------------------------------------------------------------- */

static void bound(struct csv_out *o, double error_ns)
{
	char text[32];

	snprintf(text, sizeof(text), "%.0f", error_ns);
	csv_number(o, error_ns < 0 ? "" : text);
}

static void processes(struct csv_writer *w)
{
	struct csv_out *o = &w->out[CSV_PROCESSES];

	for (uint32_t i = 1; i < w->t->processes_count; i++) {
		const struct t_process *p = &w->t->processes[i];
		struct recorded r = recorded_of(w->t, i);
		char how[64];

		csv_unsigned(o, p->pid);
		csv_unsigned(o, p->ppid);
		if (p->rank == UINT32_MAX)
			csv_text(o, "");
		else
			csv_unsigned(o, p->rank);
		csv_text(o, p->hostname);
		csv_text(o, p->exe);
		csv_text(o, p->argv);
		csv_signed(o, since(w, p->start));
		csv_signed(o, p->start_realtime);
		csv_text(o, name_process_end(p, how, sizeof(how)));
		csv_unsigned(o, p->lost_records);
		csv_unsigned(o, p->overwritten_records);
		csv_unsigned(o, p->lost_definitions);
		csv_unsigned(o, p->damaged_blocks);
		csv_unsigned(o, p->untraced_calls);
		csv_unsigned(o, p->untimed);
		bound(o, p->clock_error_ns);
		csv_text(o, p->name ? p->name : "");
		csv_unsigned(o, p->unlisted);
		csv_signed(o, r.lived);
		csv_signed(o, r.ns);
		csv_unsigned(o, r.pauses);
		csv_text(o, p->filters ? p->filters : "");
		csv_end_row(o);
	}
}

static void threads(struct csv_writer *w)
{
	struct csv_out *o = &w->out[CSV_THREADS];

	for (uint32_t i = 1; i < w->t->threads_count; i++) {
		const struct t_thread *th = &w->t->threads[i];

		place(w, o, th->process, i);
		csv_text(o, th->name);
		csv_unsigned(o, th->main);
		csv_unsigned(o, th->lost);
		csv_end_row(o);
	}
}

static void agents(struct csv_writer *w)
{
	struct csv_out *o = &w->out[CSV_AGENTS];

	for (uint32_t i = 1; i < w->t->agents_count; i++) {
		const struct t_agent *a = &w->t->agents[i];

		csv_unsigned(o, w->t->processes[a->process].pid);
		csv_text(o, a->name);
		csv_text(o, a->type);
		csv_text(o, a->vendor);
		csv_text(o, a->driver);
		csv_text(o, a->platform);
		bound(o, w->t->clocks[a->clock].error_ns);
		csv_text(o, a->label);
		csv_end_row(o);
	}
}

static void queues(struct csv_writer *w)
{
	struct csv_out *o = &w->out[CSV_QUEUES];

	for (uint32_t i = 1; i < w->t->queues_count; i++) {
		const struct t_queue *q = &w->t->queues[i];
		const char *context = w->t->contexts[q->context].name;

		csv_unsigned(o, w->t->processes[q->process].pid);
		queue(w, o, i);
		csv_hex(o, q->handle);
		csv_unsigned(o, (q->flags & QUEUE_OUT_OF_ORDER) != 0);
		csv_unsigned(o, (q->flags & QUEUE_PROFILING_FORCED) != 0);
		csv_text(o, context ? context : "");
		csv_end_row(o);
	}
}

static void not_recorded(struct csv_writer *w)
{
	struct csv_out *o = &w->out[CSV_NOT_RECORDED];

	for (uint32_t i = 1; i < w->t->left_out_count; i++) {
		const struct t_left_out *l = &w->t->left_out[i];
		const struct t_op *op = &w->t->ops[l->op];

		place(w, o, l->process, l->thread);
		csv_text(o, w->t->domains[op->domain].name);
		csv_text(o, op->name);
		csv_unsigned(o, l->calls);
		csv_end_row(o);
	}
}

static void notes(struct csv_writer *w)
{
	struct csv_out *o = &w->out[CSV_NOTES];

	for (uint32_t i = 1; i < w->t->notes_count; i++) {
		const struct t_note *n = &w->t->notes[i];

		csv_signed(o, since(w, n->time));
		csv_unsigned(o, w->t->processes[n->process].pid);
		csv_unsigned(o, n->severity);
		csv_text(o, n->part);
		csv_text(o, n->text);
		csv_unsigned(o, n->count);
		csv_end_row(o);
	}
}

void csv_definitions(struct csv_writer *w)
{
	processes(w);
	threads(w);
	agents(w);
	queues(w);
	not_recorded(w);
	notes(w);
}
