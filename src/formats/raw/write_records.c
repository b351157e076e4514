/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records into chunks, as a traced program would have written them. They may come in any order: a
 * chunk's base tick is never before the end of a record that lies in front of it, and `early` says how
 * much earlier its own began, so that readers find all that is in a window of time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/raw/internal.h"
#include "formats/raw/writer.h"

static struct raw_writer *writer(struct stream_sink *s)
{
	return (struct raw_writer *)(void *)s;
}

static kymo_status_t result(const struct raw_writer *w, bool ok)
{
	return ok && !w->failed ? KYMO_OK : KYMO_ERROR_SYSTEM;
}

/* ---- chunks ---------------------------------------------------------------------------------- */

bool raw_out_flush_thread(struct raw_writer *w, uint32_t process, uint32_t thread)
{
	struct raw_out_thread *t = &w->threads[thread];
	struct wire_chunk *h = t->ring.chunk;
	struct raw_block b = {.type = RAW_CHUNK,
			      .chunk_type = WIRE_CHUNK_RECORDS,
			      .thread = thread,
			      .last_tick = t->last};

	if (!h)
		return true;
	t->ring.chunk = NULL;
	t->ring.cur = NULL;
	b.seq = h->seq;
	b.first_tick = h->base_tick;
	b.flags = raw_early_flags(h->early);
	return raw_out_flush(w, &w->processes[process]) &&
	       raw_out_block(w, &w->processes[process], &b, h, h->committed);
}

static uint32_t process_of(const struct raw_writer *w, uint32_t thread)
{
	return thread < w->t->threads_count ? w->t->threads[thread].process
					    : thread - w->t->threads_count;
}

/* Of very many threads the one that has had its memory for longest gives it up. */
static bool take_memory(struct raw_writer *w, uint32_t thread)
{
	struct raw_out_thread *from;
	uint32_t oldest;

	if (w->open_count < RAW_WRITE_OPEN) {
		w->threads[thread].memory = malloc(RAW_WRITE_CHUNK + WIRE_SLACK);
		if (!w->threads[thread].memory)
			return raw_out_failed(w, w->directory, ENOMEM);
		w->open[w->open_count++] = thread;
		return true;
	}
	oldest = w->open[w->open_oldest];
	from = &w->threads[oldest];
	if (!raw_out_flush_thread(w, process_of(w, oldest), oldest))
		return false;
	w->threads[thread].memory = from->memory;
	from->memory = NULL;
	w->open[w->open_oldest] = thread;
	w->open_oldest = (w->open_oldest + 1) % RAW_WRITE_OPEN;
	return true;
}

static bool begin_chunk(struct raw_writer *w, uint32_t process, uint32_t thread, uint64_t now)
{
	struct raw_out_thread *t = &w->threads[thread];
	const struct trace *tr = w->t;
	struct wire_chunk *h;

	if (!t->memory && !take_memory(w, thread))
		return false;
	if (!t->records) {
		t->last = now;
		t->ring.next_id = 1;
	}
	h = (struct wire_chunk *)(void *)t->memory;
	*h = (struct wire_chunk){
		.magic = WIRE_CHUNK_MAGIC,
		.version = WIRE_VERSION,
		.header_size = sizeof(*h),
		.type = WIRE_CHUNK_RECORDS,
		.thread = thread,
		.tid = thread < tr->threads_count ? tr->threads[thread].tid : 0,
		.committed = sizeof(*h),
		.seq = t->ring.seq++,
		.base_tick = t->last,
		.next_id = t->ring.next_id,
		.scope = t->ring.scope,
		.external = t->ring.external,
		.lost = t->lost,
		.early = WIRE_EARLY_SAID,
	};
	t->lost = 0;
	t->ring.last_tick = t->last;
	t->ring.pointer_base = 0;
	t->ring.chunk = h;
	t->ring.cur = t->memory + sizeof(*h);
	t->ring.limit = t->memory + RAW_WRITE_CHUNK - WIRE_RECORD_MAX - WIRE_SLACK;
	return process != 0;
}

/* ---- fields ---------------------------------------------------------------------------------- */

/* Elements that are stored narrower than they are. */
static void put_widened(struct wire_enc *e, unsigned i, const struct t_field *f,
			const struct wire_value *v)
{
	uint64_t wide[WIRE_RECORD_MAX / sizeof(uint64_t)];
	uint32_t n =
		v->count < sizeof(wide) / sizeof(*wide) ? v->count : sizeof(wide) / sizeof(*wide);

	for (uint32_t k = 0; k < n; k++)
		wide[k] = wire_element(v, f->element, f->size, k);
	wire_array(e, i, wide, v->total, sizeof(*wide), n);
}

static void put_array(struct wire_enc *e, unsigned i, const struct t_field *f,
		      const struct wire_value *v)
{
	unsigned size = f->kind == KYMO_KIND_ARRAY ? f->size : 1;

	if (!v->present)
		return;
	if (v->width && v->width != size)
		put_widened(e, i, f, v);
	else
		wire_array(e, i, v->data ? v->data : (const uint8_t *)"", v->total, size, v->count);
}

static void put_value(struct wire_enc *e, unsigned i, const struct t_field *f,
		      const struct wire_value *v)
{
	switch (f->kind) {
	case KYMO_KIND_SIGNED:
		wire_signed(e, i, v->i, f->size);
		break;
	case KYMO_KIND_FLOAT:
		if (f->size == sizeof(float))
			wire_float(e, i, (float)v->f);
		else
			wire_double(e, i, v->f);
		break;
	case KYMO_KIND_POINTER:
	case KYMO_KIND_HANDLE:
		wire_pointer(e, i, (const void *)(uintptr_t)v->u);
		break;
	case KYMO_KIND_STRING:
	case KYMO_KIND_BYTES:
	case KYMO_KIND_ARRAY:
		put_array(e, i, f, v);
		break;
	case KYMO_KIND_ENUM:
		wire_signed(e, i, v->i, f->size);
		break;
	default:
		wire_unsigned(e, i, v->u);
	}
}

static uint64_t communicator_id(const struct raw_writer *w, uint64_t index)
{
	return index < w->t->communicators_count ? w->t->communicators[index].id : 0;
}

/* The fields that a record has of its own, as its op lists them. */
static void put_fields(struct raw_writer *w, struct wire_enc *e, const struct rec *r)
{
	const struct t_field *f;
	struct rec_fields fields;
	struct wire_value v = {0};
	unsigned i = 0;

	rec_fields_init(&fields, w->t, r);
	for (; rec_fields_next(&fields, &f, &v); i++) {
		if (f->reference == REFERENCE_STRING)
			raw_out_string(w, r->process, (uint32_t)v.u);
		if (f->reference == REFERENCE_COMMUNICATOR)
			v.u = communicator_id(w, v.u);
		if (f->reference == REFERENCE_OP)
			v.u = v.u < w->t->ops_count ? w->wire_ops[v.u] : 0;
		put_value(e, i, f, &v);
	}
}

static void put_timed(struct wire_enc *e, unsigned first, const struct rec *r)
{
	wire_unsigned(e, first + TIMED_PARENT, r->parent);
	wire_unsigned(e, first + TIMED_TRACK, 0);
	wire_unsigned(e, first + TIMED_CLOCK, 0);
	wire_unsigned(e, first + TIMED_START, (uint64_t)r->start);
	wire_unsigned(e, first + TIMED_DURATION, (uint64_t)r->end - (uint64_t)r->start);
	wire_signed(e, first + TIMED_STATUS, r->status, 4);
}

/* ---- records --------------------------------------------------------------------------------- */

static uint32_t fields_of(const struct raw_writer *w, const struct rec *r)
{
	const struct raw_out_op *op = &w->ops[r->op];

	return op->model ? op->model->field_count : w->t->ops[r->op].field_count;
}

static bool is_timed(const struct raw_writer *w, uint32_t op)
{
	return w->ops[op].model ? w->ops[op].model->flags & KYMO_OP_TIMED
				: raw_op_is_published(&w->t->ops[op]);
}

/* The record's chunk has room for it, and all that it refers to is defined. */
static struct raw_out_thread *prepare(struct raw_writer *w, const struct rec *r)
{
	uint32_t thread = raw_out_thread_of(w, r);
	struct raw_out_thread *t = &w->threads[thread];

	if (!raw_out_op(w, r->process, r->op))
		return NULL;
	if (t->ring.cur && t->ring.cur > t->ring.limit &&
	    !raw_out_flush_thread(w, r->process, thread))
		return NULL;
	if (!t->ring.cur && !begin_chunk(w, r->process, thread, (uint64_t)r->end))
		return NULL;
	return t;
}

static struct wire_event event_of(const struct raw_writer *w, const struct rec *r)
{
	const struct t_op *op = &w->t->ops[r->op];

	return (struct wire_event){
		.id = r->id,
		.parent = r->parent,
		.start = (uint64_t)r->start,
		.end = (uint64_t)r->end,
		.external = r->external,
		.scope = r->scope,
		.status = r->status,
		.has_status = r->status != op->status_ok,
		.unwound = r->unwound,
		.op = w->wire_ops[r->op],
		.site = r->site,
		.stack = r->stack,
	};
}

/*
 * `elsewhere`: its fields say when it was. `typed`, the whole record, is NULL where the schema of its op
 * is what it is written by.
 */
static bool put_record(struct raw_writer *w, const struct rec *r, enum raw_kind kind,
		       const void *typed, const struct record_rest *x, bool elsewhere)
{
	struct raw_out_thread *t = prepare(w, r);
	struct wire_event v = event_of(w, r);
	uint32_t fields = fields_of(w, r);
	struct wire_enc e;

	if (!t)
		return false;
	if (!v.id) /* of an activity: it comes after the call that was the last */
		v.id = t->ring.next_id;
	v.no_fields = !typed && !is_timed(w, r->op) && (!r->wire || r->wire->no_fields);
	if (elsewhere)
		wire_chunk_any_time(t->ring.chunk);
	else
		wire_chunk_early(t->ring.chunk, v.start);
	wire_begin(&e, &t->ring, &v, fields);
	if (typed)
		raw_encode(&e, kind, w->ops[r->op].number, typed, x, w->wire_ops);
	else if (!v.no_fields)
		put_fields(w, &e, r);
	if (is_timed(w, r->op))
		put_timed(&e, fields - T_TIMED_FIELDS, r);
	wire_end(&e, &t->ring);
	memset(e.p, 0,
	       (size_t)(t->ring.cur - e.p)); /* up to whole words: nothing that lay in memory */
	t->records++;
	t->last = v.end > t->last ? v.end : t->last;
	w->last_end = r->end > w->last_end ? r->end : w->last_end;
	return !w->failed;
}

static kymo_status_t on_rec(struct stream_sink *s, const struct rec *r)
{
	struct raw_writer *w = writer(s);

	return result(w, put_record(w, r, RAW_KIND_CALL, NULL, NULL, is_timed(w, r->op)));
}

/* Typed, where this version's model has the op; else as it is. */
static kymo_status_t put_typed(struct raw_writer *w, enum raw_kind kind, const struct rec *r,
			       const struct record_rest *x, bool elsewhere)
{
	if (w->ops[r->op].kind != kind)
		return on_rec(&w->sink, r);
	return result(w, put_record(w, r, kind, r, x, elsewhere || is_timed(w, r->op)));
}

static struct record_rest rest_of(const struct rec_device *d)
{
	struct record_rest x = {.correlation = d->correlation,
				.status = (uint64_t)(int64_t)d->status,
				.untimed = d->untimed,
				.submit_tick = (uint64_t)d->submit};

	if (!device_timed(d)) {
		x.untimed = x.untimed ? x.untimed : UNTIMED_NOT_REPORTED;
		return x;
	}
	x.start = (uint64_t)d->start;
	x.duration = (uint64_t)d->end - x.start;
	x.queued_before = d->queued ? x.start - (uint64_t)d->queued : 0;
	x.submitted_before = d->submitted ? x.start - (uint64_t)d->submitted : 0;
	return x;
}

static kymo_status_t on_dispatch(struct stream_sink *s, const struct rec_dispatch *r)
{
	const struct record_rest x = rest_of(&r->device);

	writer(s)->last_end =
		r->device.end > writer(s)->last_end ? r->device.end : writer(s)->last_end;
	return put_typed(writer(s), RAW_KIND_DISPATCH, &r->base, &x, true);
}

static kymo_status_t on_copy(struct stream_sink *s, const struct rec_copy *r)
{
	const struct record_rest x = rest_of(&r->device);

	writer(s)->last_end =
		r->device.end > writer(s)->last_end ? r->device.end : writer(s)->last_end;
	return put_typed(writer(s), RAW_KIND_COPY, &r->base, &x, true);
}

/* A name that has a number is not written again. */
static kymo_status_t on_marker(struct stream_sink *s, const struct rec_marker *r)
{
	const uint32_t strings[] = {r->name, r->domain, r->category};
	const struct record_rest x = {0};
	struct rec_marker own = *r;

	for (size_t i = 0; i < sizeof(strings) / sizeof(*strings); i++)
		if (!raw_out_string(writer(s), r->base.process, strings[i]))
			return KYMO_ERROR_SYSTEM;
	if (r->name) {
		own.text = NULL;
		own.text_length = 0;
	}
	return put_typed(writer(s), RAW_KIND_MARKER, &own.base, &x, false);
}

static kymo_status_t on_comm(struct stream_sink *s, const struct rec_comm *r)
{
	const struct record_rest x = {0};
	struct rec_comm own = *r;

	if (!raw_out_string(writer(s), r->base.process, r->datatype))
		return KYMO_ERROR_SYSTEM;
	own.communicator = (uint32_t)communicator_id(writer(s), r->communicator);
	return put_typed(writer(s), RAW_KIND_COMM, &own.base, &x, false);
}

static kymo_status_t on_counter(struct stream_sink *s, const struct rec_counter *r)
{
	const struct record_rest x = {0};

	if (r->call_op && !raw_out_op(writer(s), r->base.process, r->call_op))
		return KYMO_ERROR_SYSTEM;
	return put_typed(writer(s), RAW_KIND_COUNTER, &r->base, &x, false);
}

static kymo_status_t on_sample(struct stream_sink *s, const struct rec_sample *r)
{
	const struct record_rest x = {.time = (uint64_t)r->base.start};

	return put_typed(writer(s), RAW_KIND_SAMPLE, &r->base, &x, true);
}

static kymo_status_t on_heap(struct stream_sink *s, const struct rec_heap *r)
{
	const struct record_rest x = {.time = (uint64_t)r->base.start};

	return put_typed(writer(s), RAW_KIND_HEAP, &r->base, &x, true);
}

static kymo_status_t on_device_sample(struct stream_sink *s, const struct rec_device_sample *r)
{
	const struct record_rest x = {0};

	if (!raw_out_string(writer(s), r->base.process, r->reason))
		return KYMO_ERROR_SYSTEM;
	return put_typed(writer(s), RAW_KIND_DEVICE_SAMPLE, &r->base, &x, false);
}

static kymo_status_t on_kernel_line(struct stream_sink *s, const struct rec_kernel_line *r)
{
	const struct record_rest x = {0};

	return put_typed(writer(s), RAW_KIND_KERNEL_LINE, &r->base, &x, false);
}

static kymo_status_t on_allocation(struct stream_sink *s, const struct rec_allocation *r)
{
	const struct record_rest x = {0};

	return put_typed(writer(s), RAW_KIND_ALLOCATION, &r->base, &x, false);
}

static kymo_status_t on_sync(struct stream_sink *s, const struct rec_sync *r)
{
	const struct record_rest x = {0};

	return put_typed(writer(s), RAW_KIND_SYNC, &r->base, &x, false);
}

/* What a thread lost is told in front of what it recorded next. */
static kymo_status_t on_loss(struct stream_sink *s, const struct rec_loss *r)
{
	struct raw_writer *w = writer(s);
	uint32_t thread = r->thread ? r->thread : w->t->threads_count + r->process;

	if (!raw_out_flush_thread(w, r->process, thread))
		return KYMO_ERROR_SYSTEM;
	w->threads[thread].lost += r->count;
	w->threads[thread].ring.seq += r->count == 0; /* of a chunk that is missing nobody knows */
	return KYMO_OK;
}

void raw_out_sink(struct raw_writer *w)
{
	w->sink.call = on_rec;
	w->sink.other = on_rec;
	w->sink.dispatch = on_dispatch;
	w->sink.copy = on_copy;
	w->sink.allocation = on_allocation;
	w->sink.sync = on_sync;
	w->sink.marker = on_marker;
	w->sink.comm = on_comm;
	w->sink.counter = on_counter;
	w->sink.sample = on_sample;
	w->sink.heap = on_heap;
	w->sink.device_sample = on_device_sample;
	w->sink.kernel_line = on_kernel_line;
	w->sink.loss = on_loss;
}
