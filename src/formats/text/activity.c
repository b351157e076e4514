/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of device work, memory, waits and losses. */
#include <stdio.h>

#include "formats/text/text.h"
#include "record/value.h"
#include "stream/payload.h"
#include "stream/reference.h"

static void add(struct text_writer *w, const char *before, uint64_t v)
{
	output_text(&w->out, before);
	output_unsigned(&w->out, v);
}

static void text_key(struct output *o, const char *name)
{
	output_char(o, ' ');
	output_text(o, name);
	output_char(o, '=');
}

static inline void text_key_unsigned(struct output *o, const char *name, uint64_t v)
{
	text_key(o, name);
	output_unsigned(o, v);
}

static inline void text_key_hex(struct output *o, const char *name, uint64_t v)
{
	text_key(o, name);
	output_hex(o, v);
}

static inline void text_key_text(struct output *o, const char *name, const char *v)
{
	text_key(o, name);
	output_name(o, v);
}

#include "record/show_text.inc"

static kymo_status_t end_line(struct text_writer *w)
{
	output_char(&w->out, '\n');
	return output_status(&w->out);
}

/* Records that are not calls come between the lines of calls that are open. */
static void before_line(struct text_writer *w, int64_t time)
{
	if (w->o.entry_exit)
		text_flush_exits(w, time);
}

static int64_t minus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

/* By device time where there is one. */
static void begin_device(struct text_writer *w, const struct rec *r, const struct rec_device *d,
			 uint32_t queue)
{
	const char *place = queue ? w->queue_names[queue] : w->thread_names[r->thread];

	before_line(w, device_timed(d) ? d->start : r->start);
	if (device_timed(d))
		text_begin_line(w, d->start, minus(d->end, d->start), place);
	else
		text_begin_line(w, r->start, INT64_MIN, place);
	output_name(&w->out, w->op_names[r->op]);
}

static void add_before(struct text_writer *w, const char *label, int64_t ns)
{
	output_text(&w->out, label);
	if (ns)
		output_char(&w->out, '-');
	output_duration(&w->out, ns, 0);
}

static void end_device(struct text_writer *w, const struct rec_device *d)
{
	if (device_timed(d)) {
		add_before(w, " queued=", minus(d->start, d->queued));
		add_before(w, " submitted=", minus(d->start, d->submitted));
	} else {
		output_text(&w->out, " [no device time: ");
		output_text(&w->out, name_untimed(d->untimed));
		output_char(&w->out, ']');
	}
	add(w, " call=", d->correlation);
	if (d->status) {
		output_text(&w->out, " status=");
		output_signed(&w->out, d->status);
	}
	if (d->causal_violation) {
		output_text(&w->out, " [starts before its call by ");
		output_duration(&w->out, minus(d->submit, d->start), 0);
		output_char(&w->out, ']');
	}
}

static void size(struct text_writer *w, const char *name, const uint64_t v[3], uint32_t dims)
{
	output_text(&w->out, name);
	for (uint32_t i = 0; i < dims && i < 3; i++)
		add(w, i ? "x" : "", v[i]);
}

static void add_if(struct text_writer *w, const char *label, uint64_t v)
{
	if (v)
		add(w, label, v);
}

static void launch(struct text_writer *w, const struct rec_launch *l)
{
	const uint64_t cluster[3] = {l->cluster[0], l->cluster[1], l->cluster[2]};

	add_if(w, " registers=", l->registers);
	add_if(w, " static_shared=", l->static_shared);
	add_if(w, " dynamic_shared=", l->dynamic_shared);
	add_if(w, " local_memory=", l->local_memory);
	if (cluster[0])
		size(w, " cluster=", cluster, 3);
	add_if(w, " graph=", l->graph);
	add_if(w, " node=", l->graph_node);
}

kymo_status_t text_dispatch(struct stream_sink *s, const struct rec_dispatch *r)
{
	struct text_writer *w = text_writer_of(s);

	begin_device(w, &r->base, &r->device, r->queue);
	output_char(&w->out, ' ');
	output_name(&w->out, w->t->kernels[r->kernel].name);
	size(w, " global=", r->global, r->dims);
	if (r->local[0])
		size(w, " local=", r->local, r->dims);
	if (r->offset[0] | r->offset[1] | r->offset[2])
		size(w, " offset=", r->offset, r->dims);
	launch(w, &r->launch);
	show_dispatch(&w->out, w->t, r);
	end_device(w, &r->device);
	return end_line(w);
}

static void memory(struct text_writer *w, uint32_t kind, uint32_t agent)
{
	output_text(&w->out, name_memory_kind(kind));
	if (agent) {
		output_char(&w->out, '(');
		output_name(&w->out, w->t->agents[agent].label);
		output_char(&w->out, ')');
	}
}

kymo_status_t text_copy(struct stream_sink *s, const struct rec_copy *r)
{
	struct text_writer *w = text_writer_of(s);

	begin_device(w, &r->base, &r->device, r->queue);
	add(w, " ", r->bytes);
	output_text(&w->out, " bytes ");
	memory(w, r->source_kind, r->source_agent);
	output_text(&w->out, " -> ");
	memory(w, r->destination_kind, r->destination_agent);
	if (r->blocking)
		output_text(&w->out, " blocking");
	add_if(w, " faults=", r->faults);
	add_if(w, " graph=", r->graph);
	add_if(w, " node=", r->graph_node);
	show_copy(&w->out, w->t, r);
	end_device(w, &r->device);
	return end_line(w);
}

kymo_status_t text_allocation(struct stream_sink *s, const struct rec_allocation *r)
{
	struct text_writer *w = text_writer_of(s);

	if (w->o.device_only)
		return KYMO_OK;
	before_line(w, r->base.start);
	text_begin_line(w, r->base.start, INT64_MIN, w->thread_names[r->base.thread]);
	output_name(&w->out, w->op_names[r->base.op]);
	output_char(&w->out, ' ');
	output_text(&w->out, name_allocation_what(r->what));
	add(w, " ", r->bytes);
	output_text(&w->out, " bytes ");
	memory(w, r->kind, r->agent);
	output_text(&w->out, " at ");
	output_hex(&w->out, r->address);
	add(w, " allocation=", r->allocation);
	if (r->parent)
		add(w, " parent=", r->parent);
	if (r->correlation)
		add(w, " call=", r->correlation);
	show_allocation(&w->out, w->t, r);
	return end_line(w);
}

kymo_status_t text_sync(struct stream_sink *s, const struct rec_sync *r)
{
	struct text_writer *w = text_writer_of(s);

	if (w->o.device_only)
		return KYMO_OK;
	before_line(w, r->base.start);
	text_begin_line(w, r->base.start, minus(r->base.end, r->base.start),
			w->thread_names[r->base.thread]);
	output_name(&w->out, w->op_names[r->base.op]);
	if (r->queue) {
		output_char(&w->out, ' ');
		output_name(&w->out, w->queue_names[r->queue]);
	}
	if (r->count)
		add(w, " events=", r->count);
	if (r->event) {
		output_text(&w->out, " event=");
		output_hex(&w->out, r->event);
	}
	add(w, " call=", r->correlation);
	show_sync(&w->out, w->t, r);
	return end_line(w);
}

static void labelled(struct text_writer *w, const char *label, uint32_t string)
{
	if (!string)
		return;
	output_text(&w->out, label);
	output_name(&w->out, w->t->strings[string].text);
}

kymo_status_t text_marker(struct stream_sink *s, const struct rec_marker *r)
{
	struct text_writer *w = text_writer_of(s);
	bool instant = !r->scope;

	if (w->o.device_only)
		return KYMO_OK;
	before_line(w, r->base.start);
	text_begin_line(w, r->base.start, instant ? INT64_MIN : minus(r->base.end, r->base.start),
			w->thread_names[r->base.thread]);
	output_name(&w->out, w->op_names[r->base.op]);
	output_char(&w->out, ' ');
	output_json_bytes(&w->out, r->text, r->text_length);
	labelled(w, " domain=", r->domain);
	labelled(w, " category=", r->category);
	if (r->color) {
		output_text(&w->out, " color=");
		output_hex(&w->out, r->color);
	}
	if (r->payload_bytes) {
		output_text(&w->out, " {");
		payload_text(&w->out, r);
		output_char(&w->out, '}');
	}
	if (r->scope) {
		output_text(&w->out, " scope=");
		output_signed(&w->out, r->scope);
	}
	if (r->base.scope) {
		output_text(&w->out, " in=");
		output_signed(&w->out, r->base.scope);
	}
	if (r->starter && r->starter != r->base.thread) {
		output_text(&w->out, " started by ");
		output_name(&w->out, w->thread_names[r->starter]);
	}
	if (r->left_open)
		output_text(&w->out, " [left open]");
	show_marker(&w->out, w->t, r);
	return end_line(w);
}

static void put_signed(struct text_writer *w, const char *label, int64_t value)
{
	output_text(&w->out, label);
	output_signed(&w->out, value);
}

kymo_status_t text_comm(struct stream_sink *s, const struct rec_comm *r)
{
	static const char *const states[] = {"", " [cancelled]", " [freed]", " [never completed]"};
	struct text_writer *w = text_writer_of(s);
	const struct t_communicator *c = &w->t->communicators[r->communicator];

	if (w->o.device_only)
		return KYMO_OK;
	before_line(w, r->base.start);
	text_begin_line(w, r->base.start, minus(r->base.end, r->base.start),
			w->thread_names[r->base.thread]);
	output_name(&w->out, w->op_names[r->base.op]);
	if (r->peer >= 0)
		put_signed(w, " peer=", r->peer);
	if (r->tag >= 0)
		put_signed(w, " tag=", r->tag);
	add(w, " sent=", r->sent);
	add(w, " received=", r->received);
	labelled(w, " type=", r->datatype);
	if (r->communicator) {
		add(w, " on=#", c->id);
		output_char(&w->out, ' ');
		output_name(&w->out, c->name);
		add(w, " of ", c->size);
	}
	if (r->request)
		add(w, " request=", r->request);
	add(w, " call=", r->correlation);
	if (r->completed_by)
		add(w, " completed by=", r->completed_by);
	output_text(&w->out, r->state < 4 ? states[r->state] : "");
	show_comm(&w->out, w->t, r);
	return end_line(w);
}

kymo_status_t text_other(struct stream_sink *s, const struct rec *r)
{
	struct text_writer *w = text_writer_of(s);

	if (w->o.device_only)
		return KYMO_OK;
	before_line(w, r->start);
	text_begin_line(w, r->start, minus(r->end, r->start), w->thread_names[r->thread]);
	output_name(&w->out, w->op_names[r->op]);
	output_char(&w->out, '(');
	text_arguments(w, r, true, true);
	output_char(&w->out, ')');
	text_status(w, r);
	return end_line(w);
}

kymo_status_t text_loss(struct stream_sink *s, const struct rec_loss *r)
{
	struct text_writer *w = text_writer_of(s);

	before_line(w, r->before);
	text_begin_line(w, r->before, INT64_MIN, r->thread ? w->thread_names[r->thread] : "");
	output_text(&w->out, "*** ");
	if (r->count)
		output_unsigned(&w->out, r->count);
	else
		output_text(&w->out, "an unknown number of");
	output_text(&w->out, r->count == 1 ? " record" : " records");
	if (!r->thread) { /* by a thread that is not known */
		output_text(&w->out, " of process ");
		output_unsigned(&w->out, w->t->processes[r->process].pid);
	}
	output_text(&w->out, " lost since ");
	output_seconds(&w->out, minus(r->after, w->t->origin), 0);
	return end_line(w);
}

static kymo_status_t unlisted(struct text_writer *w, const struct t_unfinished *u)
{
	output_text(&w->out, "*** ");
	output_unsigned(&w->out, u->unlisted);
	output_text(&w->out, " more commands of process ");
	output_unsigned(&w->out, w->t->processes[u->process].pid);
	output_text(&w->out, " were never seen to finish");
	return end_line(w);
}

kymo_status_t text_unfinished(struct stream_sink *s, const struct t_unfinished *u)
{
	struct text_writer *w = text_writer_of(s);

	before_line(w, u->submit);
	if (u->unlisted)
		return unlisted(w, u);
	text_begin_line(w, u->submit, INT64_MIN,
			u->queue ? w->queue_names[u->queue] : w->thread_names[u->thread]);
	output_text(&w->out, w->op_names[u->op]);
	if (u->kernel) {
		output_char(&w->out, ' ');
		output_name(&w->out, w->t->kernels[u->kernel].name);
	}
	if (u->bytes)
		add(w, " bytes=", u->bytes);
	add(w, " call=", u->id);
	output_text(&w->out, " [submitted by ");
	output_text(&w->out, w->thread_names[u->thread]);
	output_text(&w->out, ", never seen to finish]");
	return end_line(w);
}

kymo_status_t text_open_call(struct stream_sink *s, const struct t_open_call *c)
{
	struct text_writer *w = text_writer_of(s);
	const struct t_process *p = &w->t->processes[w->t->threads[c->thread].process];
	char how[64];

	if (w->o.device_only)
		return KYMO_OK;
	before_line(w, c->start);
	text_begin_line(w, c->start, INT64_MIN, w->thread_names[c->thread]);
	output_name(&w->out, w->op_names[c->op]);
	output_text(&w->out,
		    p->recording ? "(...) is open: " : "(...) was open when the process ended: ");
	output_text(&w->out, name_process_end(p, how, sizeof(how)));
	return end_line(w);
}
