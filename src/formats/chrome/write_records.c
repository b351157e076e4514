/* SPDX-License-Identifier: Apache-2.0 */
/* Records as events; docs/chrome.md has the table. */
#include <errno.h>
#include <stdio.h>

#include "base/bulk.h"
#include "formats/chrome/write.h"
#include "record/fields.h"
#include "record/value.h"
#include "stream/names.h"
#include "stream/payload.h"

/* ---- rows and ids ---------------------------------------------------------------------------- */

static uint32_t pid_of(const struct chrome_writer *w, const struct rec *r)
{
	return w->pids[r->process];
}

static uint32_t tid_of(const struct chrome_writer *w, const struct rec *r)
{
	return w->t->threads[r->thread].tid;
}

static const char *domain_of(const struct chrome_writer *w, uint32_t op)
{
	return w->t->domains[w->t->ops[op].domain].name;
}

/* In several processes calls have the same numbers. */
static void put_flow_id(struct chrome_writer *w, uint32_t process, uint64_t call)
{
	char id[48];

	output_text(&w->out, ",\"id\":");
	if (w->t->processes_count > 2) {
		snprintf(id, sizeof(id), "\"%u.%llu\"", w->pids[process], (unsigned long long)call);
		output_text(&w->out, id);
	} else {
		output_unsigned(&w->out, call);
	}
}

static void put_common(struct chrome_writer *w, const struct rec *r, uint64_t call)
{
	if (call)
		out_unsigned(w, "correlation", call);
	if (r->external)
		out_unsigned(w, "External id", r->external);
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Categories that viewers know; docs/chrome.md. */
static void category_of_call(const struct chrome_writer *w, uint32_t op, char out[64])
{
	const char *domain = domain_of(w, op);

	if (strcmp(domain, "cuda") == 0)
		snprintf(out, 64, "cuda_driver");
	else if (strcmp(domain, "cuda_runtime") == 0 ||
		 (strcmp(domain, "hip") == 0 && strncmp(w->t->ops[op].name, "hip", 3) == 0))
		snprintf(out, 64, "cuda_runtime");
	else
		snprintf(out, 64, "%.40s_runtime", domain);
}

static void put_call(struct chrome_writer *w, const struct rec *r, char phase)
{
	const char *name = w->t->ops[r->op].name;
	char category[64];

	category_of_call(w, r->op, category);
	out_begin(w, phase, category, name, strlen(name), pid_of(w, r), tid_of(w, r), r->start);
	if (phase == 'X')
		out_duration(w, r->end - r->start);
	out_args(w);
	put_common(w, r, r->id);
	if (!r->ok) {
		out_key(w, "status");
		output_signed(&w->out, r->status);
	}
	out_fields(w, r);
	out_end(w, true);
	if (!(w->t->ops[r->op].flags & KYMO_OP_SUBMITS))
		return;
	out_begin(w, 's', "ac2g", "ac2g", 4, pid_of(w, r), tid_of(w, r), r->start);
	put_flow_id(w, r->process, r->id);
	out_end(w, false);
}

static kymo_status_t call(struct stream_sink *s, const struct rec *r)
{
	struct chrome_writer *w = chrome_writer_of(s);

	if (!w->o.device_only)
		put_call(w, r, 'X');
	return output_status(&w->out);
}

static kymo_status_t open_call(struct stream_sink *s, const struct t_open_call *c)
{
	struct chrome_writer *w = chrome_writer_of(s);
	const struct rec r = {.process = w->t->threads[c->thread].process,
			      .thread = c->thread,
			      .op = c->op,
			      .ok = true,
			      .id = c->id,
			      .start = c->start};

	if (!w->o.device_only)
		put_call(w, &r, 'B');
	return output_status(&w->out);
}

/* Builds and the like: what its thread did. */
static kymo_status_t other(struct stream_sink *s, const struct rec *r)
{
	struct chrome_writer *w = chrome_writer_of(s);
	const char *name = w->t->ops[r->op].name;

	if (w->o.device_only)
		return KYMO_OK;
	out_begin(w, 'X', domain_of(w, r->op), name, strlen(name), pid_of(w, r), tid_of(w, r),
		  r->start);
	out_duration(w, r->end - r->start);
	out_args(w);
	out_fields(w, r);
	out_end(w, true);
	return output_status(&w->out);
}

/* ---- device work ----------------------------------------------------------------------------- */

/* In the row of a device: of which process. Where there is one alone nobody asks. */
static void put_process(struct chrome_writer *w, const struct rec *r)
{
	if (w->t->processes_count > 2)
		out_unsigned(w, "kymo process", pid_of(w, r));
}

static void begin_work(struct chrome_writer *w, const struct rec *r, const struct rec_device *d,
		       uint32_t agent, uint32_t queue, const char *category, const char *name)
{
	uint32_t pid = agent ? chrome_device_pid(w, agent) : pid_of(w, r);
	bool timed = device_timed(d) && d->end >= d->start;
	uint32_t tid = queue;

	if (w->lanes && agent) {
		tid = 0;
		if (timed && !chrome_lane(w, agent, d->start, d->end, &tid))
			w->out.error = ENOMEM;
	}
	if (d->correlation && timed) {
		out_begin(w, 'f', "ac2g", "ac2g", 4, pid, tid, d->start);
		put_flow_id(w, r->process, d->correlation);
		output_text(&w->out, ",\"bp\":\"e\"");
		out_end(w, false);
	}
	out_begin(w, timed ? 'X' : 'i', timed ? category : "untimed", name, strlen(name), pid, tid,
		  timed       ? d->start
		  : d->submit ? d->submit
			      : r->start);
	if (timed)
		out_duration(w, d->end - d->start);
	out_args(w);
	if (agent)
		out_unsigned(w, "device", w->devices[agent] - 1);
	if (queue)
		out_unsigned(w, "stream", queue);
	put_common(w, r, d->correlation);
	put_process(w, r);
	if (!timed)
		out_text(w, "untimed", name_untimed(d->untimed));
	if (d->status) {
		out_key(w, "status");
		output_signed(&w->out, d->status);
	}
}

static void put_three(struct chrome_writer *w, const char *name, const uint64_t v[3])
{
	out_key(w, name);
	output_char(&w->out, '[');
	for (unsigned i = 0; i < 3; i++) {
		if (i)
			output_char(&w->out, ',');
		output_unsigned(&w->out, v[i]);
	}
	output_char(&w->out, ']');
}

/* Blocks of work items; what is no whole number of them is said beside it. */
static void put_grid(struct chrome_writer *w, const struct rec_dispatch *r)
{
	uint64_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1}, global[3] = {1, 1, 1};
	bool whole = true;

	for (unsigned i = 0; i < 3 && i < r->dims; i++) {
		global[i] = r->global[i];
		block[i] = r->local[i] ? r->local[i] : 1;
		whole &= r->local[i] && global[i] % block[i] == 0;
		grid[i] = global[i] / block[i] + (global[i] % block[i] != 0);
	}
	put_three(w, "grid", grid);
	put_three(w, "block", block);
	if (!whole)
		put_three(w, "global", global);
	if (r->offset[0] || r->offset[1] || r->offset[2])
		put_three(w, "offset", r->offset);
}

static void put_launch(struct chrome_writer *w, const struct rec_launch *l)
{
	out_unsigned(w, "registers per thread", l->registers);
	out_unsigned(w, "shared memory", l->static_shared + l->dynamic_shared);
	if (l->static_shared)
		out_unsigned(w, "static shared memory", l->static_shared);
	if (l->dynamic_shared)
		out_unsigned(w, "dynamic shared memory", l->dynamic_shared);
	if (l->cluster[0])
		put_three(w, "cluster",
			  (const uint64_t[]){l->cluster[0], l->cluster[1], l->cluster[2]});
	if (l->local_memory)
		out_unsigned(w, "local memory", l->local_memory);
	if (l->graph)
		out_unsigned(w, "graph id", l->graph);
	if (l->graph_node)
		out_unsigned(w, "graph node id", l->graph_node);
}

static void put_real(struct chrome_writer *w, double v)
{
	char value[40];

	snprintf(value, sizeof(value), "%.17g", v);
	output_text(&w->out, v - v == 0 ? value : "null");
}

static void put_value(void *data, const struct kernel_value *v)
{
	struct chrome_writer *w = data;
	char name[256];

	kernel_value_name(w->t, v, name, sizeof(name));
	out_key(w, name);
	put_real(w, v->value);
}

static void put_dispatch(struct chrome_writer *w, const struct rec_dispatch *r)
{
	begin_work(w, &r->base, &r->device, r->agent, r->queue, "kernel",
		   w->t->kernels[r->kernel].name);
	put_grid(w, r);
	if (rec_launch_is_set(&r->launch))
		put_launch(w, &r->launch);
	kernel_values_each(&w->values, r, put_value, w);
	out_end(w, true);
}

void chrome_write_held(struct chrome_writer *w)
{
	for (uint32_t i = 0; i < w->held.count; i++)
		put_dispatch(w, &w->held.at[i]);
}

static kymo_status_t dispatch(struct stream_sink *s, const struct rec_dispatch *r)
{
	struct chrome_writer *w = chrome_writer_of(s);

	if (!w->holds) {
		put_dispatch(w, r);
		return output_status(&w->out);
	}
	if (!bulk_reserve(&w->held.at, &w->held.room, w->held.count, 1))
		return KYMO_ERROR_NO_MEMORY;
	w->held.at[w->held.count++] = *r;
	return output_status(&w->out);
}

static const char *kind_name(uint8_t kind, bool device)
{
	switch (kind) {
	case MEMORY_HOST_PAGEABLE:
		return "Pageable";
	case MEMORY_HOST_PINNED:
		return "Pinned";
	case MEMORY_MANAGED:
		return "Managed";
	case MEMORY_DEVICE:
		return "Device";
	default:
		return device ? "Device" : "Host";
	}
}

/* "Memcpy HtoD (Pinned -> Device)", "Memset (Device)". */
static void name_copy(const struct rec_copy *r, const char *op, char out[96])
{
	const char *from = kind_name(r->source_kind, r->source_agent),
		   *to = kind_name(r->destination_kind, r->destination_agent);

	if (strcmp(op, "fill") == 0)
		snprintf(out, 96, "Memset (%s)", to);
	else
		snprintf(out, 96, "Memcpy %cto%c (%s -> %s)", r->source_agent ? 'D' : 'H',
			 r->destination_agent ? 'D' : 'H', from, to);
}

/* What copies of unified memory have, and those of graphs. */
static void put_copy_rest(struct chrome_writer *w, const struct rec_copy *r)
{
	if (r->blocking)
		out_unsigned(w, "blocking", 1);
	if (r->graph)
		out_unsigned(w, "graph id", r->graph);
	if (r->graph_node)
		out_unsigned(w, "graph node id", r->graph_node);
	if (r->address)
		out_unsigned(w, "Addr", r->address);
	if (r->cause)
		out_text(w, "cause", name_migration_cause(r->cause));
	if (r->faults)
		out_unsigned(w, "faults", r->faults);
}

static kymo_status_t copy(struct stream_sink *s, const struct rec_copy *r)
{
	struct chrome_writer *w = chrome_writer_of(s);
	uint32_t agent = r->queue ? w->t->queues[r->queue].agent : 0;
	const char *op = w->t->ops[r->base.op].name;
	char name[96];

	agent = agent ? agent : r->destination_agent ? r->destination_agent : r->source_agent;
	name_copy(r, op, name);
	begin_work(w, &r->base, &r->device, agent, r->queue,
		   strcmp(op, "fill") == 0 ? "gpu_memset" : "gpu_memcpy", name);
	out_unsigned(w, "bytes", r->bytes);
	out_text(w, "op", op);
	if (r->source_agent && r->destination_agent && r->source_agent != r->destination_agent) {
		out_unsigned(w, "fromDevice", w->devices[r->source_agent] - 1);
		out_unsigned(w, "toDevice", w->devices[r->destination_agent] - 1);
	}
	put_copy_rest(w, r);
	out_end(w, true);
	return output_status(&w->out);
}

/* Where nothing tells the device it is said to be none: rows of devices have numbers. */
static kymo_status_t sync_record(struct stream_sink *s, const struct rec_sync *r)
{
	struct chrome_writer *w = chrome_writer_of(s);
	/* The host waits: in a row of work it would look like some. */
	uint32_t agent = r->queue && !w->lanes ? w->t->queues[r->queue].agent : 0;
	const char *op = w->t->ops[r->base.op].name;

	if (w->o.device_only)
		return KYMO_OK;
	out_begin(w, 'X', "cuda_sync", op, strlen(op),
		  agent ? chrome_device_pid(w, agent) : pid_of(w, &r->base),
		  agent ? r->queue : tid_of(w, &r->base), r->base.start);
	out_duration(w, r->base.end - r->base.start);
	out_args(w);
	out_key(w, "device");
	output_signed(&w->out, agent ? (int64_t)w->devices[agent] - 1 : -1);
	out_key(w, "stream");
	output_signed(&w->out, agent ? (int64_t)r->queue : -1);
	out_text(w, "op", op);
	put_common(w, &r->base, r->correlation);
	put_process(w, &r->base);
	if (r->count)
		out_unsigned(w, "events", r->count);
	if (r->event)
		out_unsigned(w, "wait_on_cuda_event_id", r->event);
	out_end(w, true);
	return output_status(&w->out);
}

static kymo_status_t allocation(struct stream_sink *s, const struct rec_allocation *r)
{
	struct chrome_writer *w = chrome_writer_of(s);
	bool free = w->t->ops[r->base.op].number == ALLOCATION_OP_FREE;

	if (w->o.device_only)
		return KYMO_OK;
	out_begin(w, 'i', "cpu_instant_event", "[memory]", 8, pid_of(w, &r->base),
		  tid_of(w, &r->base), r->base.start);
	output_text(&w->out, ",\"s\":\"t\"");
	out_args(w);
	out_unsigned(w, "Addr", r->address);
	out_key(w, "Bytes");
	output_signed(&w->out, free ? -(int64_t)r->bytes : (int64_t)r->bytes);
	out_unsigned(w, "Device Type", r->agent != 0);
	out_key(w, "Device Id");
	output_signed(&w->out, r->agent ? (int64_t)w->devices[r->agent] - 1 : -1);
	out_text(w, "op", free ? "free" : "allocate");
	out_text(w, "what", name_allocation_what(r->what));
	out_text(w, "memory", name_memory_kind(r->kind));
	if (r->allocation)
		out_unsigned(w, "allocation", r->allocation);
	if (r->parent)
		out_unsigned(w, "parent", r->parent);
	if (r->correlation)
		out_unsigned(w, "correlation", r->correlation);
	out_end(w, true);
	return output_status(&w->out);
}

/* ---- ranges, marks, messages, counters ------------------------------------------------------- */

static const char *category_of_marker(const struct chrome_writer *w, const struct rec_marker *r)
{
	const char *domain = w->t->strings[r->domain].text;

	if (strcmp(domain, "python") == 0)
		return "python_function";
	return strcmp(domain, "torch") == 0 && r->category ? w->t->strings[r->category].text
							   : domain;
}

static void put_payload(struct chrome_writer *w, const struct rec_marker *r)
{
	struct payload_value v;
	struct payload p;
	char number[40];

	payload_init(&p, r);
	while (payload_next(&p, &v)) {
		if (v.type == KYMO_PAYLOAD_BYTES)
			continue;
		if (w->later_arg)
			output_char(&w->out, ',');
		w->later_arg = true;
		output_json_bytes(&w->out, v.key, v.key_length);
		output_char(&w->out, ':');
		if (v.type == KYMO_PAYLOAD_STRING) {
			output_json_bytes(&w->out, (const char *)v.data, v.stored);
			continue;
		}
		snprintf(number, sizeof(number), "%.17g", v.d);
		if (v.type == KYMO_PAYLOAD_INT64)
			output_signed(&w->out, v.i);
		else if (v.type == KYMO_PAYLOAD_UINT64)
			output_unsigned(&w->out, v.u);
		else
			output_text(&w->out, v.d - v.d == 0 ? number : "null");
	}
}

/* What viewers have no members for. */
static void put_looks(struct chrome_writer *w, const struct rec_marker *r)
{
	if (r->color)
		out_unsigned(w, "color", r->color);
	if (r->domain)
		out_text(w, "domain", w->t->strings[r->domain].text);
	if (r->category)
		out_text(w, "category", w->t->strings[r->category].text);
	if (r->left_open)
		out_unsigned(w, "left open", 1);
}

static void put_async(struct chrome_writer *w, char phase, const char *category, const char *name,
		      size_t n, const struct rec *r, uint32_t thread, uint64_t id)
{
	out_begin(w, phase, category, name, n, pid_of(w, r), w->t->threads[thread].tid,
		  phase == 'b' ? r->start : r->end);
	output_text(&w->out, ",\"id\":\"");
	output_hex(&w->out, id);
	output_char(&w->out, '"');
}

static kymo_status_t marker(struct stream_sink *s, const struct rec_marker *r)
{
	struct chrome_writer *w = chrome_writer_of(s);
	const char *category = category_of_marker(w, r);
	uint32_t number = w->t->ops[r->base.op].number;
	bool range = number == MARKER_OP_RANGE;

	if (w->o.device_only)
		return KYMO_OK;
	if (r->scope && !range)
		put_async(w, 'b', category, r->text, r->text_length, &r->base,
			  r->starter ? r->starter : r->base.thread, (uint64_t)r->scope);
	else
		out_begin(w, range ? 'X' : 'i', category, r->text, r->text_length,
			  pid_of(w, &r->base), tid_of(w, &r->base), r->base.start);
	if (range)
		out_duration(w, r->base.end - r->base.start);
	else if (!r->scope)
		output_text(&w->out, ",\"s\":\"t\"");
	out_args(w);
	put_common(w, &r->base, 0);
	put_looks(w, r);
	put_payload(w, r);
	out_end(w, true);
	if (!r->scope || range)
		return output_status(&w->out);
	put_async(w, 'e', category, r->text, r->text_length, &r->base,
		  r->starter ? r->starter : r->base.thread, (uint64_t)r->scope);
	out_end(w, false);
	return output_status(&w->out);
}

static void put_comm_rest(struct chrome_writer *w, const struct rec_comm *r)
{
	const struct t_communicator *c = &w->t->communicators[r->communicator];

	if (r->communicator)
		out_text(w, "communicator", c->name);
	if (r->communicator)
		out_unsigned(w, "communicator id", c->id);
	if (r->state)
		out_text(w, "state", record_value_name(RECORD_SET_comm_state, r->state));
	if (r->datatype)
		out_text(w, "datatype", w->t->strings[r->datatype].text);
	if (r->completed_by)
		out_unsigned(w, "completed by", r->completed_by);
	if (r->request)
		out_unsigned(w, "request", r->request);
	if (r->partitions)
		out_unsigned(w, "partitions", r->partitions);
	if (r->probe)
		out_unsigned(w, "probe", r->probe);
	if (r->match)
		out_unsigned(w, "match", r->match);
}

/* A message may go on beside what its thread does. */
static kymo_status_t comm(struct stream_sink *s, const struct rec_comm *r)
{
	struct chrome_writer *w = chrome_writer_of(s);
	const char *name = w->t->ops[r->base.op].name;
	uint64_t id = w->messages++;

	if (w->o.device_only)
		return KYMO_OK;
	put_async(w, 'b', "comm", name, strlen(name), &r->base, r->base.thread, id);
	out_args(w);
	put_common(w, &r->base, r->correlation);
	out_unsigned(w, "sent", r->sent);
	out_unsigned(w, "received", r->received);
	if (r->peer >= 0)
		out_unsigned(w, "peer", (uint64_t)r->peer);
	if (r->tag >= 0)
		out_unsigned(w, "tag", (uint64_t)r->tag);
	put_comm_rest(w, r);
	out_end(w, true);
	put_async(w, 'e', "comm", name, strlen(name), &r->base, r->base.thread, id);
	out_end(w, false);
	return output_status(&w->out);
}

static kymo_status_t counter(struct stream_sink *s, const struct rec_counter *r)
{
	struct chrome_writer *w = chrome_writer_of(s);
	const struct t_counter *k = &w->t->counters[r->counter];
	uint32_t agent = r->agent ? r->agent : k->agent;
	char name[200];
	bool apart = false;

	if (!kernel_values_add(&w->values, w->t, r))
		return KYMO_ERROR_NO_MEMORY;

	if (w->o.device_only && !agent)
		return KYMO_OK;
	snprintf(name, sizeof(name), "%.120s%s%.40s", k->name, *k->unit ? ", " : "", k->unit);
	if (agent && !chrome_name_counter(w, r, agent, name, &apart))
		return KYMO_ERROR_NO_MEMORY;
	out_begin(w, 'C', NULL, name, strlen(name),
		  agent ? chrome_device_pid(w, agent) : pid_of(w, &r->base),
		  agent ? 0 : tid_of(w, &r->base), r->base.end);
	if (apart) {
		output_text(&w->out, ",\"id\":");
		output_unsigned(&w->out, r->counter);
	}
	out_args(w);
	if (r->instance) {
		snprintf(name, sizeof(name), "%llu", (unsigned long long)r->instance);
		out_key(w, name);
	} else {
		out_key(w, "value");
	}
	put_real(w, r->value);
	out_end(w, true);
	return output_status(&w->out);
}

/* ---- what is not drawn ----------------------------------------------------------------------- */

static kymo_status_t loss(struct stream_sink *s, const struct rec_loss *r)
{
	struct chrome_writer *w = chrome_writer_of(s);

	out_begin(w, 'i', "loss", "records lost", 12, w->pids[r->process],
		  w->t->threads[r->thread].tid, r->after ? r->after : r->before);
	output_text(&w->out, ",\"s\":\"t\"");
	out_args(w);
	if (r->count)
		out_unsigned(w, "count", r->count);
	out_end(w, true);
	return output_status(&w->out);
}

static kymo_status_t unfinished(struct stream_sink *s, const struct t_unfinished *u)
{
	struct chrome_writer *w = chrome_writer_of(s);
	const struct rec base = {.process = u->process, .thread = u->thread, .op = u->op};
	const struct rec_device d = {
		.untimed = UNTIMED_LOST, .correlation = u->id, .submit = u->submit};
	const char *name = u->kernel ? w->t->kernels[u->kernel].name : w->t->ops[u->op].name;

	if (u->unlisted)
		return KYMO_OK;
	begin_work(w, &base, &d, u->agent, u->queue, "", name);
	out_unsigned(w, "unfinished", 1);
	out_text(w, "op", w->t->ops[u->op].name);
	if (u->bytes)
		out_unsigned(w, "bytes", u->bytes);
	out_end(w, true);
	return output_status(&w->out);
}

/* ---- samples --------------------------------------------------------------------------------- */

static void put_frames(struct chrome_writer *w, const struct symbol *y)
{
	char name[1024];

	if (y->caller) {
		put_frames(w, y->caller);
		output_char(&w->out, ',');
	}
	output_json(&w->out, y->function && (!y->file || y->caller)
				     ? symbol_frame(y, name, sizeof(name))
				     : symbol_text(y, name, sizeof(name)));
}

/* Frames from the outermost in, as the format has them; one that is not known by its address. */
static void put_stack(struct chrome_writer *w, uint32_t stack, uint64_t pc)
{
	uint32_t count;
	const uint32_t *sites = symbols_stack(w->names, stack, SYMBOLS_TIME, &count);

	output_text(&w->out, ",\"stack\":[");
	for (uint32_t i = count; i-- > 0;) {
		put_frames(w, symbols_site(w->names, sites[i]));
		output_text(&w->out, i ? "," : "");
	}
	if (!count) {
		output_char(&w->out, '"');
		output_hex(&w->out, pc);
		output_char(&w->out, '"');
	}
	output_char(&w->out, ']');
}

static kymo_status_t sample(struct stream_sink *s, const struct rec_sample *r)
{
	struct chrome_writer *w = chrome_writer_of(s);
	const char *name = r->lost ? "samples lost" : "sample";

	if (w->o.device_only)
		return KYMO_OK;
	out_begin(w, r->lost ? 'i' : 'P', "sample", name, strlen(name), pid_of(w, &r->base),
		  tid_of(w, &r->base), r->base.start);
	if (!r->lost)
		put_stack(w, r->base.stack, r->pc);
	out_args(w);
	put_common(w, &r->base, r->correlation);
	if (r->lost)
		out_unsigned(w, "count", r->lost);
	out_unsigned(w, "cpu", r->cpu);
	out_key(w, "weight");
	output_signed(&w->out, r->weight);
	out_unsigned(w, "pc", r->pc);
	if (r->kernel)
		out_unsigned(w, "kernel", 1);
	out_end(w, true);
	return output_status(&w->out);
}

/* In the row of the device: of what line of a kernel, and why it waited. */
static kymo_status_t device_sample(struct stream_sink *s, const struct rec_device_sample *r)
{
	struct chrome_writer *w = chrome_writer_of(s);
	const struct t_code *code = &w->t->codes[r->code];
	const char *name = *code->function ? code->function : "samples";

	out_begin(w, 'i', "device_sample", name, strlen(name),
		  r->agent ? chrome_device_pid(w, r->agent) : pid_of(w, &r->base), 0,
		  r->base.start);
	output_text(&w->out, ",\"s\":\"t\"");
	out_args(w);
	put_common(w, &r->base, r->correlation);
	out_unsigned(w, "kymo process", pid_of(w, &r->base));
	out_text(w, "reason", w->t->strings[r->reason].text);
	out_unsigned(w, "samples", r->samples);
	out_unsigned(w, "idle", r->idle);
	out_unsigned(w, "cycles", r->cycles);
	out_unsigned(w, "offset", code->offset);
	out_text(w, "file", code->file);
	out_unsigned(w, "line", code->line);
	if (r->lost)
		out_unsigned(w, "lost", r->lost);
	if (r->full)
		out_unsigned(w, "full", r->full);
	out_end(w, true);
	return output_status(&w->out);
}

void chrome_set_records(struct stream_sink *s)
{
	s->call = call;
	s->dispatch = dispatch;
	s->copy = copy;
	s->allocation = allocation;
	s->sync = sync_record;
	s->marker = marker;
	s->comm = comm;
	s->counter = counter;
	s->sample = sample;
	s->device_sample = device_sample;
	s->other = other;
	s->loss = loss;
	s->open_call = open_call;
	s->unfinished = unfinished;
}
