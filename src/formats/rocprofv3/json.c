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

/*
 * Numbers and their names are most of a row: room for all of them is made once. What is put at `p` returns where the
 * next comes; in line, where lengths of names are known.
 */
enum { ROW_MAX = 2048 };

static inline __attribute__((always_inline)) char *name(char *p, const char *s)
{
	size_t n = strlen(s);

	memcpy(p, s, n);
	return p + n;
}

static inline __attribute__((always_inline)) char *member(char *p, const char *s, uint64_t v)
{
	return output_digits(name(p, s), v);
}

static inline __attribute__((always_inline)) char *signed_member(char *p, const char *s, int64_t v)
{
	p = name(p, s);
	*p = '-';
	return output_digits(p + (v < 0), v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

static inline __attribute__((always_inline)) char *handle(char *p, const char *s, uint64_t v)
{
	return name(member(name(p, s), "{\"handle\":", v), "}");
}

/* The comma goes before all but the first. NULL: no memory. */
static char *begin(struct rp_writer *w, struct output *o)
{
	char *p = output_room(o, ROW_MAX);

	if (p)
		p = name(p, w->later ? ",\n{" : "\n{");
	w->later = true;
	return p;
}

static void end(struct output *o, const char *p)
{
	output_advance(o, (size_t)(p - (o->data + o->used)));
}

static char *head(char *p, uint32_t bytes, uint32_t kind, uint32_t op)
{
	p = member(p, "\"size\":", bytes);
	p = member(p, ",\"kind\":", kind);
	return member(p, ",\"operation\":", op);
}

static char *ids(char *p, uint64_t internal, uint64_t external)
{
	p = member(p, ",\"correlation_id\":{\"internal\":", internal);
	return name(member(p, ",\"external\":", external), "}");
}

static char *ids_within(char *p, uint64_t internal, uint64_t external, uint64_t up)
{
	p = member(p, ",\"correlation_id\":{\"internal\":", internal);
	p = member(p, ",\"external\":", external);
	return name(member(p, ",\"ancestor\":", up), "}");
}

static char *times(char *p, int64_t start, int64_t end)
{
	p = signed_member(p, ",\"start_timestamp\":", start);
	return signed_member(p, ",\"end_timestamp\":", end);
}

static char *thread(const struct rp_writer *w, char *p, uint32_t i)
{
	return member(p, ",\"thread_id\":", w->t->threads[i].tid);
}

static inline __attribute__((always_inline)) char *
sizes(char *p, const char *s, const struct rec_dispatch *r, const uint64_t *v)
{
	p = member(name(p, s), "{\"x\":", r->dims > 0 ? v[0] : 1);
	p = member(p, ",\"y\":", r->dims > 1 ? v[1] : 1);
	return name(member(p, ",\"z\":", r->dims > 2 ? v[2] : 1), "}");
}

static char *dispatch_info(const struct rp_writer *w, char *p, const struct rec_dispatch *r,
			   uint64_t number)
{
	p = member(p, ",\"dispatch_info\":{\"size\":", BYTES_DISPATCH_INFO);
	p = handle(p, ",\"agent_id\":", rp_agent_handle(w, r->agent));
	p = handle(p, ",\"queue_id\":", rp_queue(w, r->queue));
	p = member(p, ",\"kernel_id\":", w->numbers.kernels[r->kernel]);
	p = member(p, ",\"dispatch_id\":", number);
	p = member(p, ",\"private_segment_size\":", r->launch.local_memory);
	p = member(p,
		   ",\"group_segment_size\":", r->launch.static_shared + r->launch.dynamic_shared);
	p = sizes(p, ",\"workgroup_size\":", r, r->local);
	return name(sizes(p, ",\"grid_size\":", r, r->global), "}");
}

static void put_dispatch(struct rp_writer *w, struct output *o, const struct rec_dispatch *r,
			 uint64_t number)
{
	char *p = begin(w, o);

	if (!p)
		return;
	p = thread(w, head(p, BYTES_DISPATCH, KIND_KERNEL, 2), r->base.thread);
	p = ids(p, r->device.correlation, r->base.external);
	p = times(p, r->device.start, r->device.end);
	p = dispatch_info(w, p, r, number);
	end(o, name(handle(p, ",\"stream_id\":", rp_queue(w, r->queue)), "}"));
}

static void put_copy(struct rp_writer *w, struct output *o, const struct rec_copy *r,
		     uint32_t direction)
{
	char *p = begin(w, o);

	if (!p)
		return;
	p = thread(w, head(p, BYTES_COPY, KIND_COPY, direction), r->base.thread);
	p = ids(p, r->device.correlation, r->base.external);
	p = times(p, r->device.start, r->device.end);
	p = handle(p,
		   ",\"dst_agent_id\":", rp_agent_handle(w, rp_copy_agent(w, r, direction, true)));
	p = handle(p,
		   ",\"src_agent_id\":", rp_agent_handle(w, rp_copy_agent(w, r, direction, false)));
	p = member(p, ",\"bytes\":", r->bytes);
	end(o, name(handle(p, ",\"stream_id\":", rp_queue(w, r->queue)), "}"));
}

static void put_allocation(struct rp_writer *w, struct output *o, const struct rec_allocation *r,
			   uint32_t op)
{
	char *p = begin(w, o);

	if (!p)
		return;
	p = thread(w, head(p, BYTES_MEMORY, KIND_MEMORY, op), r->base.thread);
	p = ids_within(p, r->correlation, r->base.external, 0);
	p = times(p, r->base.start, r->base.end);
	p = handle(p, ",\"agent_id\":", op < 3 ? rp_agent_handle(w, r->agent) : 0);
	p += snprintf(p, 48, ",\"address\":\"0x%016" PRIx64 "\"", r->address);
	p = member(p, ",\"allocation_size\":", r->bytes);
	end(o, name(p, ",\"stream_id\":{\"handle\":0}}"));
}

/* The text is found by the number of the record. */
static void put_marker_text(struct rp_writer *w, const struct rp_marker *m)
{
	char *p = begin(w, m->out);

	if (!p)
		return;
	end(m->out, name(member(p, "\"key\":", m->id), ",\"value\":"));
	output_json_bytes(m->out, m->r->text, m->r->text_length);
	output_char(m->out, '}');
}

static void put_marker(struct rp_writer *w, const struct rp_marker *m)
{
	char *p = begin(w, m->out);

	if (!p)
		return;
	p = head(p, BYTES_API, m->kind, m->op);
	p = ids_within(p, m->id, m->r->base.external, m->r->base.parent);
	p = times(p, m->r->base.start, m->r->base.end);
	end(m->out, name(thread(w, p, m->r->base.thread), "}"));
}

/* What stands before the values of an op's arguments, each ended by a 0; made once. NULL: no memory. */
static const char *openings_of(struct rp_writer *w, uint32_t op)
{
	const struct t_op *p = &w->t->ops[op];
	struct text *x = &w->openings[op];

	if (x->s)
		return x->failed ? NULL : x->s;
	for (uint32_t i = 0; i < p->field_count; i++) {
		text_add(x, ",{\"type\":");
		text_add_json(x, p->fields[i].type ? p->fields[i].type : "");
		text_add(x, ",\"name\":");
		text_add_json(x, p->fields[i].name);
		text_add_bytes(x, ",\"value\":", sizeof(",\"value\":"));
	}
	return x->failed ? NULL : x->s;
}

/* Arguments as text, as the tool has those of HIP. */
static void arguments(struct rp_writer *w, struct output *o, const struct rec *r)
{
	const char *opening = openings_of(w, r->op);
	const struct t_field *field;
	struct wire_value value;
	struct rec_fields f;
	char text[1024];
	size_t skip = 1; /* the first comma */

	output_text(o, ",\"args\":[");
	rec_fields_init(&f, w->t, r);
	while (opening && rec_fields_next(&f, &field, &value)) {
		size_t n = rec_value_text(w->t, field, &value, text, sizeof(text));
		size_t length = strlen(opening);

		output_put(o, opening + skip, length - skip);
		output_json_bytes(o, text, n < sizeof(text) ? n : sizeof(text) - 1);
		output_char(o, '}');
		opening += length + 1;
		skip = 0;
	}
	if (w->openings[r->op].failed)
		o->error = o->error ? o->error : ENOMEM;
	output_text(o, "],\"retval\":{\"uint64_t_retval\":");
	output_signed(o, r->status);
	output_char(o, '}');
}

static void put_call(struct rp_writer *w, struct output *o, const struct rec *r)
{
	uint32_t kind = w->numbers.kinds[r->op];
	bool extended = kind == KIND_HIP || kind == KIND_HIP_COMPILER || kind >= KINDS;
	bool hip = kind == KIND_HIP || kind == KIND_HIP_COMPILER;
	char *p = begin(w, o);

	if (!p)
		return;
	p = head(p, hip ? BYTES_HIP : BYTES_API, kind, w->numbers.places[r->op]);
	p = ids_within(p, r->id, r->external, r->parent);
	p = times(p, r->start, r->end);
	end(o, thread(w, p, r->thread));
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
	char *p = begin(w, o);

	if (!p)
		return;
	p = member(p, "\"thread_id\":", w->t->threads[r->base.thread].tid);
	p = member(p, ",\"dispatch_data\":{\"size\":", BYTES_COUNTING);
	p = ids(p, r->device.correlation, r->base.external);
	p = times(p, r->device.start, r->device.end);
	p = dispatch_info(w, p, r, c->kept->number);
	end(o, name(p, "},\"records\":["));
	for (uint32_t i = 0; i < c->count && (p = output_room(o, ROW_MAX)) != NULL; i++) {
		p = name(p, i ? ",{" : "{");
		p = handle(p, "\"counter_id\":", w->numbers.counters[c->values[i].counter]);
		end(o, name(p, ",\"value\":"));
		rp_json_real(o, c->values[i].value);
		output_char(o, '}');
	}
	p = output_room(o, ROW_MAX);
	if (p)
		end(o, name(handle(p, "],\"stream_id\":", rp_queue(w, r->queue)), "}"));
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

const struct rp_form rp_json_texts = {.marker = put_marker_text};
