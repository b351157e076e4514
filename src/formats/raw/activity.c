/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Activity records become typed: fields are found by name in the trace's own schema, so that a
 * trace of another version, with fields more or fewer, reads as well.
 */
#include <string.h>

#include "formats/raw/internal.h"

enum raw_kind raw_kind_of_domain(const char *name)
{
	static const struct {
		const char *name;
		enum raw_kind kind;
	} kinds[] = {
#define KIND(name, K) {name, RAW_KIND_##K},
		RECORD_DOMAINS(KIND)
#undef KIND
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kinds[i].name, name) == 0)
			return kinds[i].kind;
	}
	return RAW_KIND_CALL;
}

/* Kinds of values that are read alike: numbers, and each of the others by itself. */
static unsigned class_of(uint8_t kind)
{
	switch (kind) {
	case KYMO_KIND_STRING:
	case KYMO_KIND_BYTES:
	case KYMO_KIND_ARRAY:
	case KYMO_KIND_FLOAT:
		return kind;
	default:
		return 0;
	}
}

const uint8_t *raw_slots(struct trace *t, enum raw_kind kind, const struct t_op *op)
{
	unsigned count;
	const struct raw_slot *known = raw_slots_of(kind, &count);
	uint8_t *slots = known ? trace_alloc(t, op->field_count + 1u) : NULL;

	for (uint32_t i = 0; slots && i < op->field_count; i++) {
		slots[i] = 0;
		for (unsigned k = 0; k < count; k++)
			if (strcmp(known[k].name, op->fields[i].name) == 0 &&
			    class_of(known[k].kind) == class_of(op->fields[i].kind))
				slots[i] = (uint8_t)(k + 1);
	}
	return slots;
}

const struct device_map *raw_clock_map(const struct raw_process *p, uint32_t clock)
{
	const struct trace *t = p->rt->trace;

	if (clock == 0 || clock < p->first_clock || clock >= t->clocks_count ||
	    t->clocks[clock].process != p->process)
		return NULL;
	return &p->clocks[clock - p->first_clock];
}

static void device_times(struct raw_chunk *c, const struct record_rest *v, uint32_t agent,
			 struct rec_device *out)
{
	const struct raw_process *p = c->source;
	const struct device_map *map = raw_clock_map(p, p->rt->trace->agents[agent].clock);

	out->untimed = (uint32_t)v->untimed;
	out->status = (int32_t)v->status;
	out->correlation = v->correlation;
	if (v->submit_tick)
		out->submit = raw_chunk_ns(c, v->submit_tick);
	if (out->untimed || v->start == 0)
		return;
	out->start =
		map ? device_map_ns(map, (int64_t)v->start) : raw_node_ns(p, (int64_t)v->start);
	out->end = (int64_t)((uint64_t)out->start + v->duration);
	out->queued = (int64_t)((uint64_t)out->start - v->queued_before);
	out->submitted = (int64_t)((uint64_t)out->start - v->submitted_before);
	if (map && map->error_ns >= 0 && out->submit)
		out->causal_violation = (double)out->start + map->error_ns + p->ticks.error_ns <
					(double)out->submit;
}

void raw_finish_dispatch(struct raw_chunk *c, const struct record_rest *v, struct rec_dispatch *out)
{
	if (!out->agent)
		out->agent = c->source->rt->trace->queues[out->queue].agent;
	device_times(c, v, out->agent, &out->device);
}

void raw_finish_copy(struct raw_chunk *c, const struct record_rest *v, struct rec_copy *out)
{
	device_times(c, v, copy_agent(c->source->rt->trace, out), &out->device);
}

void raw_decode_activity(struct raw_chunk *c, const struct wire_record *w, const struct raw_op *op,
			 uint32_t fields, union raw_any *out)
{
	if (op->published)
		raw_decode_published(c, w, &c->source->rt->trace->ops[op->op], &out->rec);
	if (op->slots)
		raw_decode(c, w, op, fields, out);
}

uint8_t raw_placed(const char *domain, const struct t_op *op)
{
	uint32_t placed = 0;

	if (raw_op_is_published(op))
		return (uint8_t)op->field_count;
	for (uint32_t f = 0; f < op->field_count; f++)
		placed = record_says_when(domain, op->fields[f].name) ? f + 1 : placed;
	return (uint8_t)placed;
}

int64_t raw_key(enum raw_kind kind, const union raw_any *any)
{
	if (kind == RAW_KIND_DISPATCH && device_timed(&any->dispatch.device))
		return any->dispatch.device.start;
	if (kind == RAW_KIND_COPY && device_timed(&any->copy.device))
		return any->copy.device.start;
	return any->rec.start;
}

kymo_status_t raw_deliver(struct stream_sink *s, enum raw_kind kind, const union raw_any *any)
{
	switch (kind) {
#define DELIVER(K, name, type)                                                                     \
	case RAW_KIND_##K:                                                                         \
		return s->name(s, &any->name);
		RECORD_KINDS(DELIVER)
#undef DELIVER
	case RAW_KIND_OTHER:
		return s->other(s, &any->rec);
	default:
		return s->call(s, &any->rec);
	}
}
