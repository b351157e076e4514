/* SPDX-License-Identifier: Apache-2.0 */
/* Records as events; docs/xspace.md has the table. */
#include <stdio.h>
#include <string.h>

#include "formats/xspace/writer.h"
#include "record/fields.h"
#include "record/value.h"
#include "stream/names.h"

/* What flows of launches are numbered by: direction, call, category. */
enum { FLOW_IN = 1, FLOW_OUT = 2, FLOW_LAUNCH = 9 };

static const char *domain_of(const struct xspace_writer *w, uint32_t op)
{
	return w->t->domains[w->t->ops[op].domain].name;
}

static kymo_status_t status_of(const struct xspace_writer *w)
{
	return w->failed ? KYMO_ERROR_NO_MEMORY : w->error ? KYMO_ERROR_SYSTEM : KYMO_OK;
}

static void begin_thread(struct xspace_writer *w, struct event *e, const struct rec *r,
			 const char *name, size_t length)
{
	xevent_begin(w, e, plane_of_process(w, r->process), line_of(w, LINE_THREAD, r->thread),
		     name, length, r, r->start, r->end);
	if (r->external)
		xevent_unsigned(e, "external_id", r->external);
}

static void put_flow(struct event *e, const struct rec *r, uint64_t call, uint64_t direction)
{
	uint64_t number = call_number(e->w, r->process, call) & ((UINT64_C(1) << 56) - 1);

	xevent_unsigned(e, "flow", direction | number << 2 | (uint64_t)FLOW_LAUNCH << 58);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static kymo_status_t put_call(struct xspace_writer *w, const struct rec *r, bool open)
{
	const char *name = w->t->ops[r->op].name;
	struct event e;

	if (w->o.device_only)
		return KYMO_OK;
	begin_thread(w, &e, r, name, strlen(name));
	xevent_unsigned(&e, "correlation_id", call_number(w, r->process, r->id));
	xevent_word(&e, "domain", domain_of(w, r->op));
	if (!r->ok)
		xevent_signed(&e, "status", r->status);
	if (open)
		xevent_unsigned(&e, "left_open", 1);
	if (w->t->ops[r->op].flags & KYMO_OP_SUBMITS)
		put_flow(&e, r, r->id, FLOW_OUT);
	xevent_fields(&e, r);
	xevent_end(&e);
	return status_of(w);
}

static kymo_status_t call(struct stream_sink *s, const struct rec *r)
{
	return put_call(xspace_writer_of(s), r, false);
}

static kymo_status_t open_call(struct stream_sink *s, const struct t_open_call *c)
{
	struct xspace_writer *w = xspace_writer_of(s);
	int64_t end = w->t->end > c->start ? w->t->end : c->start;
	const struct rec r = {.process = w->t->threads[c->thread].process,
			      .thread = c->thread,
			      .op = c->op,
			      .ok = true,
			      .id = c->id,
			      .start = c->start,
			      .end = end};

	return put_call(w, &r, true);
}

/* Builds and the like: what its thread did. */
static kymo_status_t other(struct stream_sink *s, const struct rec *r)
{
	struct xspace_writer *w = xspace_writer_of(s);
	const char *name = w->t->ops[r->op].name;
	struct event e;

	if (w->o.device_only)
		return KYMO_OK;
	begin_thread(w, &e, r, name, strlen(name));
	xevent_word(&e, "activity", domain_of(w, r->op));
	xevent_fields(&e, r);
	xevent_end(&e);
	return status_of(w);
}

/* ---- device work ----------------------------------------------------------------------------- */

static void begin_work(struct xspace_writer *w, struct event *e, const struct rec *r,
		       const struct rec_device *d, uint32_t agent, uint32_t queue, enum work work,
		       const char *name)
{
	uint32_t line = queue   ? line_of(w, LINE_QUEUE, queue)
			: agent ? line_of(w, LINE_AGENT, agent)
				: line_of(w, LINE_THREAD, r->thread);

	xevent_begin(w, e, plane_of_agent(w, r->process, agent), line, name, strlen(name), r,
		     d->start, d->end);
	e->item.device = true;
	w->lines[line].works |= 1u << work;
	if (agent)
		xevent_unsigned(e, "device_id", device_number(w, agent));
	if (w->t->processes_count > 2)
		xevent_unsigned(e, "process_id", w->t->processes[r->process].pid);
	if (d->correlation) {
		xevent_unsigned(e, "correlation_id", call_number(w, r->process, d->correlation));
		put_flow(e, r, d->correlation, FLOW_IN);
	}
	if (d->queued && d->queued < d->start)
		xevent_signed(e, "queued_before_ns", d->start - d->queued);
	if (d->submitted && d->submitted < d->start)
		xevent_signed(e, "submitted_before_ns", d->start - d->submitted);
	if (d->status)
		xevent_signed(e, "status", d->status);
	if (r->external)
		xevent_unsigned(e, "external_id", r->external);
}

static void put_offset(struct event *e, const struct rec_dispatch *r)
{
	char text[80];
	int n = snprintf(text, sizeof(text), "%llu,%llu,%llu", (unsigned long long)r->offset[0],
			 (unsigned long long)r->offset[1], (unsigned long long)r->offset[2]);

	if (r->offset[0] || r->offset[1] || r->offset[2])
		xevent_text(e, "offset", text, (size_t)n);
}

/* Grids are of groups; what is no whole number of them, or has no known groups, is said beside it. */
static void put_kernel(struct event *e, const struct rec_dispatch *r)
{
	uint64_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1}, all[3] = {1, 1, 1};
	const struct rec_launch *l = &r->launch;
	struct occupancy held;
	bool whole = true;
	char text[360];
	int n;

	for (unsigned i = 0; i < 3 && i < r->dims; i++) {
		all[i] = r->global[i];
		block[i] = r->local[i] ? r->local[i] : 1;
		whole &= r->local[i] && all[i] % block[i] == 0;
		grid[i] = all[i] / block[i] + (all[i] % block[i] != 0);
	}
	n = snprintf(text, sizeof(text),
		     "regs:%llu static_shared:%llu dynamic_shared:%llu grid:%llu,%llu,%llu "
		     "block:%llu,%llu,%llu",
		     (unsigned long long)l->registers, (unsigned long long)l->static_shared,
		     (unsigned long long)l->dynamic_shared, (unsigned long long)grid[0],
		     (unsigned long long)grid[1], (unsigned long long)grid[2],
		     (unsigned long long)block[0], (unsigned long long)block[1],
		     (unsigned long long)block[2]);
	if (r->agent && occupancy_of(&e->w->occupancy, &e->w->limits[r->agent], r, &held)) {
		n += snprintf(text + n, sizeof(text) - (size_t)n, " occ_pct:%g", held.percent);
		xevent_real(e, "theoretical_occupancy_pct", held.percent);
		xevent_signed(e, "occupancy_min_grid_size", held.blocks);
		xevent_signed(e, "occupancy_suggested_block_size", held.block);
	}
	xevent_text(e, "kernel_details", text, (size_t)n);
	put_offset(e, r);
	if (whole)
		return;
	n = snprintf(text, sizeof(text), "%llu,%llu,%llu of %llu,%llu,%llu",
		     (unsigned long long)all[0], (unsigned long long)all[1],
		     (unsigned long long)all[2], (unsigned long long)r->local[0],
		     (unsigned long long)r->local[1], (unsigned long long)r->local[2]);
	xevent_text(e, "work_items", text, (size_t)n);
}

static kymo_status_t dispatch(struct stream_sink *s, const struct rec_dispatch *r)
{
	struct xspace_writer *w = xspace_writer_of(s);
	struct event e;

	if (!device_timed(&r->device)) {
		unplaced_leave(&w->unplaced, "kernels without device times", 1, 1);
		return KYMO_OK;
	}
	begin_work(w, &e, &r->base, &r->device, r->agent, r->queue, WORK_KERNEL,
		   w->t->kernels[r->kernel].name);
	put_kernel(&e, r);
	xevent_unsigned(&e, "dimensions", r->dims);
	if (r->launch.local_memory)
		xevent_unsigned(&e, "local_memory", r->launch.local_memory);
	if (r->launch.graph)
		xevent_unsigned(&e, "cuda_graph_id", r->launch.graph);
	if (r->launch.graph_node)
		xevent_unsigned(&e, "cuda_graph_node_id", r->launch.graph_node);
	xevent_end(&e);
	return status_of(w);
}

/* As CUPTI's users call them. */
static const char *kind_name(uint32_t kind, bool device)
{
	static const char *const names[] = {[MEMORY_HOST_PAGEABLE] = "pageable",
					    [MEMORY_HOST_PINNED] = "pinned",
					    [MEMORY_DEVICE] = "device",
					    [MEMORY_MANAGED] = "managed",
					    [MEMORY_SHARED] = "shared"};

	if (kind && kind < sizeof(names) / sizeof(*names))
		return names[kind];
	return device ? "device" : "unknown";
}

static enum work direction(const struct rec_copy *r)
{
	bool from = r->source_agent || r->source_kind == MEMORY_DEVICE;
	bool to = r->destination_agent || r->destination_kind == MEMORY_DEVICE;

	if (from && to)
		return r->source_agent && r->destination_agent &&
				       r->source_agent != r->destination_agent
			       ? WORK_P2P
			       : WORK_D2D;
	return from ? WORK_D2H : to ? WORK_H2D : WORK_H2H;
}

static void put_copy(struct event *e, const struct rec_copy *r, bool fills)
{
	struct xspace_writer *w = e->w;
	const char *to = kind_name(r->destination_kind, r->destination_agent);
	char text[160];
	int n;

	if (fills) {
		n = snprintf(text, sizeof(text), "kind:%s num_bytes:%llu async:%d", to,
			     (unsigned long long)r->bytes, !r->blocking);
		xevent_text(e, "Memset_details", text, (size_t)n);
		return;
	}
	n = snprintf(text, sizeof(text), "kind_src:%s kind_dst:%s size:%llu dest:%llu async:%d",
		     kind_name(r->source_kind, r->source_agent), to, (unsigned long long)r->bytes,
		     (unsigned long long)(r->destination_agent
						  ? device_number(w, r->destination_agent)
						  : 0),
		     !r->blocking);
	xevent_text(e, "memcpy_details", text, (size_t)n);
	xevent_word(e, "copy", w->t->ops[r->base.op].name);
	if (r->source_agent)
		xevent_unsigned(e, "source_device", device_number(w, r->source_agent));
	if (r->destination_agent)
		xevent_unsigned(e, "destination_device", device_number(w, r->destination_agent));
}

static kymo_status_t copy(struct stream_sink *s, const struct rec_copy *r)
{
	static const char *const names[WORKS] = {
		[WORK_H2D] = "MemcpyH2D", [WORK_D2H] = "MemcpyD2H", [WORK_D2D] = "MemcpyD2D",
		[WORK_P2P] = "MemcpyP2P", [WORK_H2H] = "MemcpyH2H", [WORK_MEMSET] = "Memset"};
	struct xspace_writer *w = xspace_writer_of(s);
	uint32_t op = w->t->ops[r->base.op].number;
	enum work work = op == COPY_OP_FILL   ? WORK_MEMSET
			 : op <= COPY_OP_COPY ? direction(r)
					      : WORK_OTHER;
	struct event e;

	if (!device_timed(&r->device)) {
		unplaced_leave(&w->unplaced, "copies without device times", 1, 1);
		return KYMO_OK;
	}
	begin_work(w, &e, &r->base, &r->device, copy_agent(w->t, r), r->queue, work,
		   names[work] ? names[work] : w->t->ops[r->base.op].name);
	put_copy(&e, r, op == COPY_OP_FILL);
	if (r->graph)
		xevent_unsigned(&e, "cuda_graph_id", r->graph);
	if (r->graph_node)
		xevent_unsigned(&e, "cuda_graph_node_id", r->graph_node);
	if (r->address)
		xevent_unsigned(&e, "address", r->address);
	if (r->faults)
		xevent_unsigned(&e, "faults", r->faults);
	xevent_end(&e);
	return status_of(w);
}

/* ---- memory, waits --------------------------------------------------------------------------- */

static kymo_status_t allocation(struct stream_sink *s, const struct rec_allocation *r)
{
	struct xspace_writer *w = xspace_writer_of(s);
	bool frees = w->t->ops[r->base.op].number == ALLOCATION_OP_FREE;
	const char *name = frees ? "MemFree" : "MemAlloc";
	struct event e;
	char text[80];
	int n;

	if (w->o.device_only)
		return KYMO_OK;
	begin_thread(w, &e, &r->base, name, strlen(name));
	n = snprintf(text, sizeof(text), "kind:%s num_bytes:%llu", kind_name(r->kind, r->agent),
		     (unsigned long long)r->bytes);
	xevent_text(&e, frees ? "MemFree_details" : "memalloc_details", text, (size_t)n);
	if (r->agent)
		xevent_unsigned(&e, "device_id", device_number(w, r->agent));
	if (r->what)
		xevent_word(&e, "what", name_allocation_what(r->what));
	xevent_unsigned(&e, "address", r->address);
	xevent_unsigned(&e, "allocation", r->allocation);
	if (r->parent)
		xevent_unsigned(&e, "parent_allocation", r->parent);
	xevent_end(&e);
	return status_of(w);
}

static kymo_status_t sync_record(struct stream_sink *s, const struct rec_sync *r)
{
	struct xspace_writer *w = xspace_writer_of(s);
	const char *op = w->t->ops[r->base.op].name;
	uint32_t agent = r->queue ? w->t->queues[r->queue].agent : 0;
	struct event e;
	char name[80];
	int n = snprintf(name, sizeof(name), "wait: %s", op);

	if (w->o.device_only)
		return KYMO_OK;
	begin_thread(w, &e, &r->base, name, (size_t)n);
	xevent_word(&e, "sync", op);
	if (r->queue)
		xevent_unsigned(&e, "stream", r->queue); /* the line's id */
	if (agent)
		xevent_unsigned(&e, "device_id", device_number(w, agent));
	if (r->count)
		xevent_unsigned(&e, "events", r->count);
	if (r->event)
		xevent_unsigned(&e, "event", r->event);
	xevent_end(&e);
	return status_of(w);
}

/* ---- ranges, messages, counters -------------------------------------------------------------- */

static kymo_status_t marker(struct stream_sink *s, const struct rec_marker *r)
{
	struct xspace_writer *w = xspace_writer_of(s);
	uint32_t number = w->t->ops[r->base.op].number;
	bool range = number == MARKER_OP_RANGE || number == MARKER_OP_MARK;
	bool control = number == MARKER_OP_PAUSE || number == MARKER_OP_RESUME;
	const char *name = control ? w->t->ops[r->base.op].name : r->text;
	struct rec own = r->base;
	struct event e;

	scopes_add(w, r);
	if (w->o.device_only)
		return KYMO_OK;
	own.scope = r->scope ? r->scope : r->base.scope;
	xevent_begin(w, &e, plane_of_process(w, own.process),
		     range || control ? line_of(w, LINE_THREAD, own.thread)
				      : line_of(w, LINE_RANGES, own.process),
		     name, control ? strlen(name) : r->text_length, &own, own.start, own.end);
	if (own.external)
		xevent_unsigned(&e, "external_id", own.external);
	xevent_word(&e, "domain", w->t->strings[r->domain].text);
	if (!r->scope)
		xevent_unsigned(&e, "mark", 1);
	if (r->category)
		xevent_word(&e, "category", w->t->strings[r->category].text);
	if (r->color)
		xevent_unsigned(&e, "color", r->color);
	if (r->left_open)
		xevent_unsigned(&e, "left_open", 1);
	xevent_payload(&e, r);
	xevent_end(&e);
	return status_of(w);
}

static void put_request(struct event *e, const struct rec_comm *r)
{
	if (r->request)
		xevent_unsigned(e, "request", r->request);
	if (r->partitions)
		xevent_unsigned(e, "partitions", r->partitions);
	if (r->completed_by)
		xevent_unsigned(e, "completed_by",
				call_number(e->w, r->base.process, r->completed_by));
	if (r->probe)
		xevent_unsigned(e, "probe", call_number(e->w, r->base.process, r->probe));
}

static kymo_status_t comm(struct stream_sink *s, const struct rec_comm *r)
{
	struct xspace_writer *w = xspace_writer_of(s);
	const char *name = w->t->ops[r->base.op].name;
	struct event e;

	if (w->o.device_only)
		return KYMO_OK;
	xevent_begin(w, &e, plane_of_process(w, r->base.process),
		     line_of(w, LINE_MESSAGES, r->base.process), name, strlen(name), &r->base,
		     r->base.start, r->base.end);
	xevent_unsigned(&e, "sent", r->sent);
	xevent_unsigned(&e, "received", r->received);
	if (r->correlation)
		xevent_unsigned(&e, "call", call_number(w, r->base.process, r->correlation));
	if (r->peer >= 0)
		xevent_signed(&e, "peer", r->peer);
	if (r->tag >= 0)
		xevent_signed(&e, "tag", r->tag);
	if (r->communicator)
		xevent_word(&e, "communicator", w->t->communicators[r->communicator].name);
	if (r->datatype)
		xevent_word(&e, "datatype", w->t->strings[r->datatype].text);
	put_request(&e, r);
	xevent_end(&e);
	return status_of(w);
}

/* An event of a counter has its value under its own name. */
static kymo_status_t counter(struct stream_sink *s, const struct rec_counter *r)
{
	struct xspace_writer *w = xspace_writer_of(s);
	const struct t_counter *k = &w->t->counters[r->counter];
	uint32_t agent = r->agent ? r->agent : k->agent;
	struct event e;
	char name[240];
	int n;

	if (w->o.device_only && !agent)
		return KYMO_OK;
	n = snprintf(name, sizeof(name), "%.120s%s%.40s", k->name, *k->unit ? ", " : "", k->unit);
	if (r->instance)
		n += snprintf(name + n, sizeof(name) - (size_t)n, " [%llu]",
			      (unsigned long long)r->instance);
	xevent_begin(w, &e, plane_of_agent(w, r->base.process, agent),
		     agent ? line_of(w, LINE_DEVICE_COUNTERS, agent)
			   : line_of(w, LINE_COUNTERS, r->base.process),
		     name, (size_t)n, &r->base, r->base.end, r->base.end);
	xevent_real(&e, name, r->value);
	xevent_end(&e);
	return status_of(w);
}

/* ---- what has no event ----------------------------------------------------------------------- */

static kymo_status_t loss(struct stream_sink *s, const struct rec_loss *r)
{
	struct xspace_writer *w = xspace_writer_of(s);
	struct text *warnings = &file_of_process(w, r->process)->warnings;
	char count[40] = "an unknown number of", text[160];
	int n;

	if (r->count)
		snprintf(count, sizeof(count), "%llu", (unsigned long long)r->count);
	n = snprintf(text, sizeof(text), "process %u, thread %u: %s records were lost",
		     w->t->processes[r->process].pid, w->t->threads[r->thread].tid, count);
	pack_head(warnings, 3, (uint64_t)n);
	text_add_bytes(warnings, text, (size_t)n);
	return status_of(w);
}

static kymo_status_t unfinished(struct stream_sink *s, const struct t_unfinished *u)
{
	unplaced_leave(&xspace_writer_of(s)->unplaced, "commands never seen to finish",
		       u->unlisted ? u->unlisted : 1, 1);
	return KYMO_OK;
}

static kymo_status_t sample(struct stream_sink *s, const struct rec_sample *r)
{
	unplaced_record(&xspace_writer_of(s)->unplaced, xspace_writer_of(s)->t, &r->base);
	return KYMO_OK;
}

static kymo_status_t device_sample(struct stream_sink *s, const struct rec_device_sample *r)
{
	unplaced_record(&xspace_writer_of(s)->unplaced, xspace_writer_of(s)->t, &r->base);
	return KYMO_OK;
}

void records_set(struct stream_sink *s)
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
