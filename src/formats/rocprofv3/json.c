/* SPDX-License-Identifier: Apache-2.0 */
/* Records of rocprofv3's JSON document, with the members and in the order that its tool has; see rocprofv3.h. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "formats/rocprofv3/document.h"

/* What the tool's records are in bytes: readers ignore it, and want it. */
enum {
	BYTES_API = 64,
	BYTES_HIP = 176,
	BYTES_COPY = 96,
	BYTES_MEMORY = 88,
	BYTES_DISPATCH = 184,
	BYTES_DISPATCH_INFO = 128,
	BYTES_COUNTING = 168
};

/* The comma goes before all but the first. */
static void begin(struct output *o, const struct strand *p)
{
	output_text(o, strand_is_empty(p) ? "\n{" : ",\n{");
}

static const struct strand *part_of(const struct output *o)
{
	return (const struct strand *)(const void *)o;
}

static void member(struct output *o, const char *name, uint64_t v)
{
	output_text(o, name);
	output_unsigned(o, v);
}

static void handle(struct output *o, const char *name, uint64_t v)
{
	output_text(o, name);
	member(o, "{\"handle\":", v);
	output_char(o, '}');
}

static void head(struct output *o, uint32_t bytes, uint32_t kind, uint32_t op)
{
	begin(o, part_of(o));
	member(o, "\"size\":", bytes);
	member(o, ",\"kind\":", kind);
	member(o, ",\"operation\":", op);
}

static void ids(struct output *o, uint64_t internal, uint64_t external, bool ancestor, uint64_t up)
{
	member(o, ",\"correlation_id\":{\"internal\":", internal);
	member(o, ",\"external\":", external);
	if (ancestor)
		member(o, ",\"ancestor\":", up);
	output_char(o, '}');
}

static void times(struct output *o, int64_t start, int64_t end)
{
	output_text(o, ",\"start_timestamp\":");
	output_signed(o, start);
	output_text(o, ",\"end_timestamp\":");
	output_signed(o, end);
}

static void thread(const struct rp_writer *w, struct output *o, uint32_t i)
{
	member(o, ",\"thread_id\":", w->t->threads[i].tid);
}

static void sizes(struct output *o, const char *name, const struct rec_dispatch *r,
		  const uint64_t *v)
{
	output_text(o, name);
	member(o, "{\"x\":", r->dims > 0 ? v[0] : 1);
	member(o, ",\"y\":", r->dims > 1 ? v[1] : 1);
	member(o, ",\"z\":", r->dims > 2 ? v[2] : 1);
	output_char(o, '}');
}

static void dispatch_info(const struct rp_writer *w, struct output *o, const struct rec_dispatch *r,
			  uint64_t number)
{
	member(o, ",\"dispatch_info\":{\"size\":", BYTES_DISPATCH_INFO);
	handle(o, ",\"agent_id\":", rp_agent_handle(w, r->agent));
	handle(o, ",\"queue_id\":", rp_queue(w, r->queue));
	member(o, ",\"kernel_id\":", w->numbers.kernels[r->kernel]);
	member(o, ",\"dispatch_id\":", number);
	member(o, ",\"private_segment_size\":", r->launch.local_memory);
	member(o, ",\"group_segment_size\":", r->launch.static_shared + r->launch.dynamic_shared);
	sizes(o, ",\"workgroup_size\":", r, r->local);
	sizes(o, ",\"grid_size\":", r, r->global);
	output_char(o, '}');
}

static void put_dispatch(struct rp_writer *w, struct output *o, const struct rec_dispatch *r,
			 uint64_t number)
{
	head(o, BYTES_DISPATCH, KIND_KERNEL, 2);
	thread(w, o, r->base.thread);
	ids(o, r->device.correlation, r->base.external, false, 0);
	times(o, r->device.start, r->device.end);
	dispatch_info(w, o, r, number);
	handle(o, ",\"stream_id\":", rp_queue(w, r->queue));
	output_char(o, '}');
}

static void put_copy(struct rp_writer *w, struct output *o, const struct rec_copy *r,
		     uint32_t direction)
{
	head(o, BYTES_COPY, KIND_COPY, direction);
	thread(w, o, r->base.thread);
	ids(o, r->device.correlation, r->base.external, false, 0);
	times(o, r->device.start, r->device.end);
	handle(o, ",\"dst_agent_id\":", rp_agent_handle(w, rp_copy_agent(w, r, direction, true)));
	handle(o, ",\"src_agent_id\":", rp_agent_handle(w, rp_copy_agent(w, r, direction, false)));
	member(o, ",\"bytes\":", r->bytes);
	handle(o, ",\"stream_id\":", rp_queue(w, r->queue));
	output_char(o, '}');
}

static void put_allocation(struct rp_writer *w, struct output *o, const struct rec_allocation *r,
			   uint32_t op)
{
	char address[48];

	head(o, BYTES_MEMORY, KIND_MEMORY, op);
	thread(w, o, r->base.thread);
	ids(o, r->correlation, r->base.external, true, 0);
	times(o, r->base.start, r->base.end);
	handle(o, ",\"agent_id\":", op < 3 ? rp_agent_handle(w, r->agent) : 0);
	snprintf(address, sizeof(address), ",\"address\":\"0x%016" PRIx64 "\"", r->address);
	output_text(o, address);
	member(o, ",\"allocation_size\":", r->bytes);
	output_text(o, ",\"stream_id\":{\"handle\":0}}");
}

/* The text is found by the number of the record. */
static void put_marker(struct rp_writer *w, const struct rp_marker *m)
{
	struct output *texts = rp_out(w, m->r->base.process, LIST_MARKER_TEXTS), *o = m->out;

	if (!texts) {
		o->error = o->error ? o->error : ENOMEM;
		return;
	}
	begin(texts, part_of(texts));
	member(texts, "\"key\":", m->id);
	output_text(texts, ",\"value\":");
	output_json_bytes(texts, m->r->text, m->r->text_length);
	output_char(texts, '}');
	head(o, BYTES_API, m->kind, m->op);
	ids(o, m->id, m->r->base.external, true, m->r->base.parent);
	times(o, m->r->base.start, m->r->base.end);
	thread(w, o, m->r->base.thread);
	output_char(o, '}');
}

/* Arguments as text, as the tool has those of HIP. */
static void arguments(const struct rp_writer *w, struct output *o, const struct rec *r)
{
	const struct t_field *field;
	struct wire_value value;
	struct rec_fields f;
	char text[1024];
	bool later = false;

	output_text(o, ",\"args\":[");
	rec_fields_init(&f, w->t, r);
	while (rec_fields_next(&f, &field, &value)) {
		size_t n = rec_value_text(w->t, field, &value, text, sizeof(text));

		output_text(o, later ? ",{\"type\":" : "{\"type\":");
		output_json(o, field->type ? field->type : "");
		output_text(o, ",\"name\":");
		output_json(o, field->name);
		output_text(o, ",\"value\":");
		output_json_bytes(o, text, n < sizeof(text) ? n : sizeof(text) - 1);
		output_char(o, '}');
		later = true;
	}
	output_text(o, "],\"retval\":{\"uint64_t_retval\":");
	output_signed(o, r->status);
	output_char(o, '}');
}

static void put_call(struct rp_writer *w, struct output *o, const struct rec *r)
{
	uint32_t kind = w->numbers.kinds[r->op];
	bool extended = kind == KIND_HIP || kind == KIND_HIP_COMPILER || kind >= KINDS;

	head(o, kind == KIND_HIP || kind == KIND_HIP_COMPILER ? BYTES_HIP : BYTES_API, kind,
	     w->numbers.places[r->op]);
	ids(o, r->id, r->external, true, r->parent);
	times(o, r->start, r->end);
	thread(w, o, r->thread);
	if (extended)
		arguments(w, o, r);
	output_text(o, extended ? ",\"stream_id\":{\"handle\":0}}" : "}");
}

void rp_json_real(struct output *o, double v)
{
	char digits[40];

	snprintf(digits, sizeof(digits), "%.17g", v);
	output_text(o, isfinite(v) ? digits : "0");
}

static void put_counters(struct rp_writer *w, struct output *o, const struct rp_counted *c)
{
	const struct rec_dispatch *r = &c->kept->dispatch;

	begin(o, part_of(o));
	member(o, "\"thread_id\":", w->t->threads[r->base.thread].tid);
	member(o, ",\"dispatch_data\":{\"size\":", BYTES_COUNTING);
	ids(o, r->device.correlation, r->base.external, false, 0);
	times(o, r->device.start, r->device.end);
	dispatch_info(w, o, r, c->kept->number);
	output_text(o, "},\"records\":[");
	for (uint32_t i = 0; i < c->count; i++) {
		output_text(o, i ? ",{" : "{");
		handle(o, "\"counter_id\":", w->numbers.counters[c->values[i].counter]);
		output_text(o, ",\"value\":");
		rp_json_real(o, c->values[i].value);
		output_char(o, '}');
	}
	output_char(o, ']');
	handle(o, ",\"stream_id\":", rp_queue(w, r->queue));
	output_char(o, '}');
}

const struct rp_form rp_json = {
	.missing = "rocprofv3's JSON has no place for",
	.sizes = true,
	.arguments = true,
	.dispatch = put_dispatch,
	.copy = put_copy,
	.allocation = put_allocation,
	.marker = put_marker,
	.call = put_call,
	.counters = put_counters,
	.finish = rp_json_finish,
};
