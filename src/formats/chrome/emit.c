/* SPDX-License-Identifier: Apache-2.0 */
/* Records from entries and details, in the order of their ends; see reader.h. */
#include <string.h>

#include "base/bulk.h"
#include "formats/chrome/values.h"
#include "record/fields.h"

struct emitter {
	struct reader *r;
	struct stream_sink *sink;
	struct make_fields fields;
	uint64_t lost; /* arguments that do not fit the operation's fields */
};

static struct rec base_of(const struct emitter *m, const struct entry *e, uint32_t process)
{
	const struct reader *r = m->r;

	return (struct rec){.process = process,
			    .thread = e->thread,
			    .ok = true,
			    .start = e->start + r->shift,
			    .end = e->end + r->shift};
}

/* The innermost range, and the innermost call, that it lies in. */
static void set_surroundings(const struct emitter *m, const struct entry *e, struct rec *base)
{
	const uint32_t around[] = {e->up, e->other};

	for (unsigned i = 0; i < 2; i++) {
		const struct entry *x = around[i] ? &m->r->entries[around[i] - 1] : NULL;

		if (x && x->kind == ENTRY_RANGE)
			base->scope = x->number;
		else if (x)
			base->parent = x->key;
	}
}

static struct rec host_base(const struct emitter *m, const struct entry *e)
{
	struct rec base = base_of(m, e, m->r->t->threads[e->thread].process);

	set_surroundings(m, e, &base);
	return base;
}

static kymo_status_t emit_call(struct emitter *m, const struct entry *e)
{
	const struct details *d = details_of(m->r, e);
	struct rec r = host_base(m, e);

	r.op = d->op;
	r.id = e->key;
	r.external = d->external;
	if (m->r->t->ops[d->op].field_count)
		r.wire = values_fields(&m->fields, &m->r->t->ops[d->op], details_bytes(m->r, e),
				       d->values, &m->lost);
	return m->sink->call(m->sink, &r);
}

static kymo_status_t emit_marker(struct emitter *m, const struct entry *e)
{
	const struct details *d = details_of(m->r, e);
	bool device = !e->thread;
	struct rec_marker r = {
		.base = device ? base_of(m, e, reader_process_of(m->r, device_of(m->r, e)))
			       : host_base(m, e),
		.scope = e->number,
		.name = d->name,
		.domain = d->domain,
		.category = d->category,
		.left_open = e->left_open,
		.text = m->r->t->strings[d->name].text,
		.text_length = m->r->t->strings[d->name].length,
		.payload = device ? NULL : details_bytes(m->r, e),
		.payload_bytes = device ? 0 : d->values};

	r.base.external = d->external;
	r.base.op = make_activity(&m->r->model, RECORD_DOMAIN_marker,
				  e->kind == ENTRY_MARK    ? MARKER_OP_MARK
				  : e->kind == ENTRY_RANGE ? MARKER_OP_RANGE
							   : MARKER_OP_PROCESS_RANGE);
	if (e->kind == ENTRY_PROCESS_RANGE)
		r.starter = e->thread;
	return m->sink->marker(m->sink, &r);
}

/* It goes on beside what its thread does, in the range of the call that began it. */
static kymo_status_t emit_message(struct emitter *m, const struct entry *e)
{
	struct reader *r = m->r;
	struct rec base = base_of(m, e, r->t->threads[e->thread].process), around = {0};
	uint64_t number = message_of(r, e)->correlation;
	uint32_t call = number ? reader_call(r, base.process, number) : 0;

	if (call)
		set_surroundings(m, &r->entries[call - 1], &around);
	base.scope = around.scope;
	return reader_emit_message(r, e, base, m->sink);
}

/* ---- device work ----------------------------------------------------------------------------- */

/* Queued when its call began, as Kymo takes it of CUDA. */
static struct rec_device times_of(const struct emitter *m, const struct entry *e)
{
	const struct entry *call = e->up ? &m->r->entries[e->up - 1] : NULL;
	uint8_t untimed = device_of(m->r, e)->untimed;
	int64_t queued = call && call->start < e->start ? call->start + m->r->shift : 0;

	if (untimed)
		return (struct rec_device){.untimed = untimed,
					   .correlation = call ? call->key : 0,
					   .submit = e->start + m->r->shift};
	return (struct rec_device){.start = e->start + m->r->shift,
				   .end = e->end + m->r->shift,
				   .queued = queued,
				   .submitted = queued,
				   .correlation = call ? call->key : 0,
				   .submit = call ? call->start + m->r->shift : 0,
				   .causal_violation = call && e->start < call->start};
}

/* It stands where its call stood. */
static struct rec device_base(const struct emitter *m, const struct entry *e,
			      const struct device_details *d)
{
	struct rec base = base_of(m, e, placed_of(m->r, e)->process);
	struct rec around = {0};

	if (e->up)
		set_surroundings(m, &m->r->entries[e->up - 1], &around);
	base.scope = around.scope;
	base.external = d->base.external;
	return base;
}

static kymo_status_t emit_dispatch(struct emitter *m, const struct entry *e)
{
	const struct device_details *d = device_of(m->r, e);
	const struct placed *p = placed_of(m->r, e);
	struct rec_dispatch r = {.base = device_base(m, e, d),
				 .device = times_of(m, e),
				 .agent = p->agent,
				 .queue = p->queue,
				 .kernel = p->kernel,
				 .dims = 3};

	for (unsigned i = 0; i < 3; i++) {
		r.local[i] = d->block[i];
		r.global[i] =
			d->global[i] ? d->global[i] : d->grid[i] * (d->block[i] ? d->block[i] : 1);
	}
	r.launch = (struct rec_launch){.registers = d->registers,
				       .static_shared = d->static_shared,
				       .dynamic_shared = d->shared,
				       .local_memory = d->local,
				       .graph = d->graph,
				       .graph_node = d->graph_node};
	r.base.op = make_activity(&m->r->model, RECORD_DOMAIN_dispatch,
				  d->launch ? DISPATCH_OP_LAUNCH : DISPATCH_OP_KERNEL);
	return m->sink->dispatch(m->sink, &r);
}

static kymo_status_t emit_copy(struct emitter *m, const struct entry *e)
{
	const struct device_details *d = device_of(m->r, e);
	const struct placed *p = placed_of(m->r, e);
	struct rec_copy r = {.base = device_base(m, e, d),
			     .device = times_of(m, e),
			     .queue = p->queue,
			     .source_agent = p->source_agent,
			     .destination_agent = p->destination_agent,
			     .bytes = p->bytes,
			     .source_kind = d->source_kind,
			     .destination_kind = d->destination_kind};

	r.base.op = make_activity(&m->r->model, RECORD_DOMAIN_copy, d->op);
	return m->sink->copy(m->sink, &r);
}

static kymo_status_t emit_sync(struct emitter *m, const struct entry *e)
{
	const struct device_details *d = device_of(m->r, e);
	const struct placed *p = placed_of(m->r, e);
	struct rec_sync r = {.base = device_base(m, e, d),
			     .correlation = e->up ? m->r->entries[e->up - 1].key : 0,
			     .queue = p->queue,
			     .count = d->count,
			     .event = d->address};

	r.base.op = make_activity(&m->r->model, RECORD_DOMAIN_sync, d->op);
	return m->sink->sync(m->sink, &r);
}

static kymo_status_t emit_memory(struct emitter *m, const struct entry *e)
{
	const struct device_details *d = device_of(m->r, e);
	const struct placed *p = placed_of(m->r, e);
	struct rec_allocation r = {.base = host_base(m, e),
				   .agent = p->agent,
				   .kind = d->source_kind,
				   .what = d->destination_kind,
				   .bytes = d->bytes,
				   .address = d->address,
				   .allocation = p->allocation};

	r.correlation = r.base.parent;
	r.base.op = make_activity(&m->r->model, RECORD_DOMAIN_allocation, d->op);
	return m->sink->allocation(m->sink, &r);
}

static kymo_status_t emit_counter(struct emitter *m, const struct entry *e)
{
	const struct details *d = details_of(m->r, e);
	const struct t_counter *c = &m->r->t->counters[d->counter];
	struct rec_counter r = {.base = base_of(m, e, c->process),
				.counter = d->counter,
				.agent = c->agent,
				.value = d->value};

	r.base.op = make_activity(&m->r->model, RECORD_DOMAIN_counter, COUNTER_OP_PUBLISHED);
	return m->sink->counter(m->sink, &r);
}

static kymo_status_t emit_sample(struct emitter *m, const struct entry *e)
{
	const struct details *d = details_of(m->r, e);
	struct rec_sample r = {.base = base_of(m, e, m->r->t->threads[e->thread].process),
			       .correlation = e->key,
			       .cpu = d->domain,
			       .pc = d->external,
			       .weight = (int64_t)d->value,
			       .kernel = d->category != 0};

	r.base.stack = d->name;
	r.base.op = make_activity(&m->r->model, RECORD_DOMAIN_sample, SAMPLE_OP_PC);
	return m->sink->sample(m->sink, &r);
}

static kymo_status_t emit(struct emitter *m, const struct entry *e)
{
	switch ((enum entry_kind)e->kind) {
	case ENTRY_CALL:
		return emit_call(m, e);
	case ENTRY_RANGE:
	case ENTRY_PROCESS_RANGE:
	case ENTRY_MARK:
		return emit_marker(m, e);
	case ENTRY_DISPATCH:
		return emit_dispatch(m, e);
	case ENTRY_COPY:
		return emit_copy(m, e);
	case ENTRY_SYNC:
		return emit_sync(m, e);
	case ENTRY_MEMORY:
		return emit_memory(m, e);
	case ENTRY_COUNTER:
		return emit_counter(m, e);
	case ENTRY_SAMPLE:
		return emit_sample(m, e);
	case ENTRY_MESSAGE:
		return emit_message(m, e);
	case ENTRY_OPEN_CALL:
		return m->sink->open_call(m->sink, &m->r->t->open_calls[e->number]);
	case ENTRY_UNFINISHED:
		return m->sink->unfinished(m->sink, &m->r->t->unfinished[e->number]);
	default:
		return KYMO_OK;
	}
}

kymo_status_t reader_emit(struct reader *r, struct stream_sink *sink)
{
	struct emitter m = {.r = r, .sink = sink};
	kymo_status_t status = sink->begin(sink, r->t);

	for (uint32_t i = 0; i < r->picked && status == KYMO_OK; i++) {
		status = emit(&m, &r->entries[r->order[i]]);
		if (i % 65536 == 0)
			bulk_rest();
		if (r->o->progress && i % 65536 == 0)
			r->o->progress(r->o->progress_data, 0.5 + 0.5 * i / r->picked);
	}
	if (m.lost)
		stream_warn(
			r->o->log,
			"%s: %llu arguments of calls are not taken: the operation's others have "
			"none of that name and kind",
			r->source.path, (unsigned long long)m.lost);
	if (status == KYMO_OK || status == KYMO_ERROR_LIMIT) {
		kymo_status_t end = sink->end(sink, r->t);

		status = status == KYMO_OK ? end : status;
	}
	return status;
}
