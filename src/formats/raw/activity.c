/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Activity records become typed: fields are found by name in the trace's own schema, so that a
 * trace of another version, with fields more or fewer, reads as well.
 */
#include <string.h>

#include "formats/raw/internal.h"

/* Where a field's value goes. */
enum slot {
	SLOT_NONE,
	SLOT_CORRELATION, SLOT_AGENT, SLOT_QUEUE, SLOT_KERNEL, SLOT_CONTEXT,
	SLOT_START, SLOT_DURATION, SLOT_QUEUED_BEFORE, SLOT_SUBMITTED_BEFORE,
	SLOT_DIMS,
	SLOT_GLOBAL_X, SLOT_GLOBAL_Y, SLOT_GLOBAL_Z,
	SLOT_LOCAL_X, SLOT_LOCAL_Y, SLOT_LOCAL_Z,
	SLOT_OFFSET_X, SLOT_OFFSET_Y, SLOT_OFFSET_Z,
	SLOT_STATUS, SLOT_UNTIMED, SLOT_SUBMIT_TICK,
	SLOT_SOURCE_AGENT, SLOT_DESTINATION_AGENT, SLOT_BYTES,
	SLOT_SOURCE_KIND, SLOT_DESTINATION_KIND, SLOT_BLOCKING,
	SLOT_COMPLETED_BY, SLOT_COMMUNICATOR, SLOT_PEER, SLOT_TAG, SLOT_SENT, SLOT_RECEIVED,
	SLOT_DATATYPE, SLOT_REQUEST, SLOT_STATE,
	SLOT_KIND, SLOT_WHAT, SLOT_ADDRESS, SLOT_ID, SLOT_PARENT, SLOT_COUNT,
	SLOT_REGISTERS, SLOT_STATIC_SHARED, SLOT_DYNAMIC_SHARED, SLOT_LOCAL_MEMORY, SLOT_GRAPH,
	SLOT_GRAPH_NODE, SLOT_CAUSE, SLOT_EVENT,
	SLOT_CLUSTER, SLOT_CLUSTER_Y, SLOT_CLUSTER_Z, /* one field, an array */
	SLOTS
};

static const char *const slot_names[SLOTS] = {
	[SLOT_CORRELATION] = "correlation", [SLOT_AGENT] = "agent", [SLOT_QUEUE] = "queue",
	[SLOT_KERNEL] = "kernel", [SLOT_CONTEXT] = "context", [SLOT_START] = "start",
	[SLOT_DURATION] = "duration", [SLOT_QUEUED_BEFORE] = "queued_before",
	[SLOT_SUBMITTED_BEFORE] = "submitted_before", [SLOT_DIMS] = "dims",
	[SLOT_GLOBAL_X] = "global_x", [SLOT_GLOBAL_Y] = "global_y", [SLOT_GLOBAL_Z] = "global_z",
	[SLOT_LOCAL_X] = "local_x", [SLOT_LOCAL_Y] = "local_y", [SLOT_LOCAL_Z] = "local_z",
	[SLOT_OFFSET_X] = "offset_x", [SLOT_OFFSET_Y] = "offset_y", [SLOT_OFFSET_Z] = "offset_z",
	[SLOT_STATUS] = "status", [SLOT_UNTIMED] = "untimed", [SLOT_SUBMIT_TICK] = "submit_tick",
	[SLOT_SOURCE_AGENT] = "source_agent", [SLOT_DESTINATION_AGENT] = "destination_agent",
	[SLOT_BYTES] = "bytes", [SLOT_SOURCE_KIND] = "source_kind",
	[SLOT_DESTINATION_KIND] = "destination_kind", [SLOT_BLOCKING] = "blocking",
	[SLOT_COMPLETED_BY] = "completed_by", [SLOT_COMMUNICATOR] = "communicator",
	[SLOT_PEER] = "peer", [SLOT_TAG] = "tag", [SLOT_SENT] = "sent", [SLOT_RECEIVED] = "received",
	[SLOT_DATATYPE] = "datatype", [SLOT_REQUEST] = "request", [SLOT_STATE] = "state",
	[SLOT_KIND] = "kind", [SLOT_WHAT] = "what", [SLOT_ADDRESS] = "address", [SLOT_ID] = "id",
	[SLOT_PARENT] = "parent", [SLOT_COUNT] = "count",
	[SLOT_REGISTERS] = "registers", [SLOT_STATIC_SHARED] = "static_shared",
	[SLOT_DYNAMIC_SHARED] = "dynamic_shared", [SLOT_LOCAL_MEMORY] = "local_memory",
	[SLOT_GRAPH] = "graph", [SLOT_GRAPH_NODE] = "graph_node", [SLOT_CAUSE] = "cause",
	[SLOT_EVENT] = "event",
	[SLOT_CLUSTER] = "cluster", [SLOT_CLUSTER_Y] = "", [SLOT_CLUSTER_Z] = "",
};

enum raw_kind raw_kind_of_domain(const char *name)
{
	static const struct {
		const char *name;
		enum raw_kind kind;
	} kinds[] = {{"dispatch", RAW_KIND_DISPATCH},     {"copy", RAW_KIND_COPY},
		     {"allocation", RAW_KIND_ALLOCATION}, {"sync", RAW_KIND_SYNC},
		     {"code_object", RAW_KIND_OTHER},     {"comm", RAW_KIND_COMM},
		     {"marker", RAW_KIND_MARKER},
		     {"counter", RAW_KIND_COUNTER},
		     {"telemetry", RAW_KIND_COUNTER},
		     {"sample", RAW_KIND_SAMPLE},
		     {"device_sample", RAW_KIND_DEVICE_SAMPLE}};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kinds[i].name, name) == 0)
			return kinds[i].kind;
	}
	return RAW_KIND_CALL;
}

static uint8_t slot_of(const char *name)
{
	for (unsigned i = 1; i < SLOTS; i++) {
		if (strcmp(slot_names[i], name) == 0)
			return (uint8_t)i;
	}
	return SLOT_NONE;
}

const uint8_t *raw_slots(struct trace *t, enum raw_kind kind, const struct t_op *op)
{
	uint8_t *slots;

	if (kind == RAW_KIND_CALL || kind == RAW_KIND_OTHER || kind == RAW_KIND_NONE ||
	    kind == RAW_KIND_MARKER || kind == RAW_KIND_COUNTER || kind == RAW_KIND_SAMPLE ||
	    kind == RAW_KIND_DEVICE_SAMPLE || kind == RAW_KIND_PUBLISHED)
		return NULL;
	slots = trace_alloc(t, op->field_count + 1u);
	for (uint32_t i = 0; slots && i < op->field_count; i++) {
		uint8_t k = op->fields[i].kind;
		bool number = k != KYMO_KIND_STRING && k != KYMO_KIND_BYTES && k != KYMO_KIND_ARRAY;

		slots[i] = slot_of(op->fields[i].name);
		if (number == (slots[i] == SLOT_CLUSTER))
			slots[i] = SLOT_NONE;
	}
	return slots;
}

/* All fields of an activity at their places. */
struct values {
	uint64_t v[SLOTS];
};

static void collect(const struct t_op *op, const struct raw_op *ro, const struct wire_record *w,
		    struct values *out)
{
	struct wire_cursor cursor;
	struct wire_value v;

	memset(out, 0, sizeof(*out));
	wire_cursor_init(&cursor, w);
	for (uint32_t i = 0; i < op->field_count; i++) {
		const struct t_field *f = &op->fields[i];

		if (!wire_field(&cursor, f->kind, f->element, f->size, &v))
			return;
		if (ro->slots[i] != SLOT_CLUSTER)
			out->v[ro->slots[i]] = v.u;
		else if (v.present && v.count == 3)
			for (uint32_t k = 0; k < 3; k++)
				out->v[SLOT_CLUSTER + k] = wire_element(&v, f->element, f->size, k);
	}
	out->v[SLOT_NONE] = 0;
}

const struct device_map *raw_clock_map(const struct raw_process *p, uint32_t clock)
{
	const struct trace *t = p->rt->trace;

	if (clock == 0 || clock < p->first_clock || clock >= t->clocks_count ||
	    t->clocks[clock].process != p->process)
		return NULL;
	return &p->clocks[clock - p->first_clock];
}

static void device_times(struct raw_chunk *c, const struct values *v, uint32_t agent,
			 struct rec_device *out)
{
	const struct raw_process *p = c->source;
	const struct device_map *map =
		raw_clock_map(p, p->rt->trace->agents[agent].clock);
	uint64_t start = v->v[SLOT_START];

	memset(out, 0, sizeof(*out));
	out->untimed = (uint32_t)v->v[SLOT_UNTIMED];
	out->status = (int32_t)v->v[SLOT_STATUS];
	out->correlation = v->v[SLOT_CORRELATION];
	if (v->v[SLOT_SUBMIT_TICK])
		out->submit = raw_chunk_ns(c, v->v[SLOT_SUBMIT_TICK]);
	if (out->untimed || start == 0)
		return;
	out->start = map ? device_map_ns(map, (int64_t)start) : raw_node_ns(p, (int64_t)start);
	out->end = (int64_t)((uint64_t)out->start + v->v[SLOT_DURATION]);
	out->queued = (int64_t)((uint64_t)out->start - v->v[SLOT_QUEUED_BEFORE]);
	out->submitted = (int64_t)((uint64_t)out->start - v->v[SLOT_SUBMITTED_BEFORE]);
	if (map && map->error_ns >= 0 && out->submit)
		out->causal_violation = (double)out->start + map->error_ns + p->ticks.error_ns <
					(double)out->submit;
}

static void to_dispatch(struct raw_chunk *c, const struct values *v, struct rec_dispatch *out)
{
	const struct raw_process *p = c->source;

	out->agent = idmap_get(&p->agents, v->v[SLOT_AGENT]);
	out->queue = idmap_get(&p->queues, v->v[SLOT_QUEUE]);
	out->kernel = idmap_get(&p->kernels, v->v[SLOT_KERNEL]);
	if (!out->agent)
		out->agent = p->rt->trace->queues[out->queue].agent;
	out->dims = (uint32_t)v->v[SLOT_DIMS];
	memcpy(out->global, &v->v[SLOT_GLOBAL_X], sizeof(out->global));
	memcpy(out->local, &v->v[SLOT_LOCAL_X], sizeof(out->local));
	memcpy(out->offset, &v->v[SLOT_OFFSET_X], sizeof(out->offset));
	out->launch = (struct rec_launch){
		.registers = v->v[SLOT_REGISTERS],
		.static_shared = v->v[SLOT_STATIC_SHARED],
		.dynamic_shared = v->v[SLOT_DYNAMIC_SHARED],
		.local_memory = v->v[SLOT_LOCAL_MEMORY],
		.cluster = {(uint32_t)v->v[SLOT_CLUSTER], (uint32_t)v->v[SLOT_CLUSTER_Y],
			    (uint32_t)v->v[SLOT_CLUSTER_Z]},
		.graph = v->v[SLOT_GRAPH],
		.graph_node = v->v[SLOT_GRAPH_NODE],
	};
	device_times(c, v, out->agent, &out->device);
}

static void to_copy(struct raw_chunk *c, const struct values *v, struct rec_copy *out)
{
	const struct raw_process *p = c->source;
	uint32_t agent;

	out->queue = idmap_get(&p->queues, v->v[SLOT_QUEUE]);
	out->source_agent = idmap_get(&p->agents, v->v[SLOT_SOURCE_AGENT]);
	out->destination_agent = idmap_get(&p->agents, v->v[SLOT_DESTINATION_AGENT]);
	out->source_kind = (uint8_t)v->v[SLOT_SOURCE_KIND];
	out->destination_kind = (uint8_t)v->v[SLOT_DESTINATION_KIND];
	out->blocking = v->v[SLOT_BLOCKING] != 0;
	out->graph = v->v[SLOT_GRAPH];
	out->graph_node = v->v[SLOT_GRAPH_NODE];
	out->address = v->v[SLOT_ADDRESS];
	out->faults = v->v[SLOT_COUNT];
	out->cause = (uint32_t)v->v[SLOT_CAUSE];
	out->bytes = v->v[SLOT_BYTES];
	agent = p->rt->trace->queues[out->queue].agent;
	if (!agent)
		agent = out->source_agent ? out->source_agent : out->destination_agent;
	device_times(c, v, agent, &out->device);
}

static void to_allocation(struct raw_chunk *c, const struct values *v, struct rec_allocation *out)
{
	const struct raw_process *p = c->source;

	out->correlation = v->v[SLOT_CORRELATION];
	out->bytes = v->v[SLOT_BYTES];
	out->address = v->v[SLOT_ADDRESS];
	out->allocation = v->v[SLOT_ID];
	out->parent = v->v[SLOT_PARENT];
	out->agent = idmap_get(&p->agents, v->v[SLOT_AGENT]);
	out->context = idmap_get(&p->contexts, v->v[SLOT_CONTEXT]);
	out->kind = (uint8_t)v->v[SLOT_KIND];
	out->what = (uint8_t)v->v[SLOT_WHAT];
}

static void to_sync(struct raw_chunk *c, const struct values *v, struct rec_sync *out)
{
	out->correlation = v->v[SLOT_CORRELATION];
	out->count = v->v[SLOT_COUNT];
	out->event = v->v[SLOT_EVENT];
	out->queue = idmap_get(&c->source->queues, v->v[SLOT_QUEUE]);
}

static void to_comm(struct raw_chunk *c, const struct values *v, struct rec_comm *out)
{
	const struct raw_process *p = c->source;

	out->correlation = v->v[SLOT_CORRELATION];
	out->completed_by = v->v[SLOT_COMPLETED_BY];
	out->request = v->v[SLOT_REQUEST];
	out->communicator = idmap_get(&p->communicators, v->v[SLOT_COMMUNICATOR]);
	out->datatype = idmap_get(&p->strings, v->v[SLOT_DATATYPE]);
	out->peer = (int32_t)v->v[SLOT_PEER];
	out->tag = (int32_t)v->v[SLOT_TAG];
	out->sent = v->v[SLOT_SENT];
	out->received = v->v[SLOT_RECEIVED];
	out->state = (uint8_t)v->v[SLOT_STATE];
}

void raw_decode_activity(struct raw_chunk *c, const struct wire_record *w, const struct raw_op *op,
			 union raw_any *out)
{
	const struct trace *t = c->source->rt->trace;
	struct values v;

	if (op->kind == RAW_KIND_MARKER) {
		raw_decode_marker(c, w, &t->ops[op->op], &out->marker);
		return;
	}
	if (op->kind == RAW_KIND_PUBLISHED)
		raw_decode_published(c, w, &t->ops[op->op], &out->rec);
	else if (op->kind == RAW_KIND_COUNTER)
		raw_decode_counter(c, w, &t->ops[op->op], &out->counter);
	else if (op->kind == RAW_KIND_SAMPLE)
		raw_decode_sample(c, w, &t->ops[op->op], &out->sample);
	else if (op->kind == RAW_KIND_DEVICE_SAMPLE)
		raw_decode_device_sample(c, w, &t->ops[op->op], &out->device_sample);
	if (op->kind == RAW_KIND_OTHER || op->kind == RAW_KIND_NONE || !op->slots)
		return;
	collect(&t->ops[op->op], op, w, &v);
	if (op->kind == RAW_KIND_DISPATCH)
		to_dispatch(c, &v, &out->dispatch);
	else if (op->kind == RAW_KIND_COPY)
		to_copy(c, &v, &out->copy);
	else if (op->kind == RAW_KIND_ALLOCATION)
		to_allocation(c, &v, &out->allocation);
	else if (op->kind == RAW_KIND_COMM)
		to_comm(c, &v, &out->comm);
	else if (op->kind == RAW_KIND_SYNC)
		to_sync(c, &v, &out->sync);
}

int64_t raw_key(enum raw_kind kind, const union raw_any *any)
{
	if (kind == RAW_KIND_DISPATCH && any->dispatch.device.start)
		return any->dispatch.device.start;
	if (kind == RAW_KIND_COPY && any->copy.device.start)
		return any->copy.device.start;
	return any->rec.start;
}

kymo_status_t raw_deliver(struct stream_sink *s, enum raw_kind kind, const union raw_any *any)
{
	switch (kind) {
	case RAW_KIND_DISPATCH:
		return s->dispatch(s, &any->dispatch);
	case RAW_KIND_COPY:
		return s->copy(s, &any->copy);
	case RAW_KIND_ALLOCATION:
		return s->allocation(s, &any->allocation);
	case RAW_KIND_SYNC:
		return s->sync(s, &any->sync);
	case RAW_KIND_MARKER:
		return s->marker(s, &any->marker);
	case RAW_KIND_COUNTER:
		return s->counter(s, &any->counter);
	case RAW_KIND_SAMPLE:
		return s->sample(s, &any->sample);
	case RAW_KIND_DEVICE_SAMPLE:
		return s->device_sample(s, &any->device_sample);
	case RAW_KIND_COMM:
		return s->comm(s, &any->comm);
	case RAW_KIND_OTHER:
		return s->other(s, &any->rec);
	default:
		return s->call(s, &any->rec);
	}
}
