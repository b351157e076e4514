/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Perfetto writer: what goes in as records must come out as the same picture. The expected
 * numbers are computed from the input, never read off the output.
 *
 * Checked by hand against the published schema of Perfetto (protos/ of its repository; nothing of
 * it lies here), with the file that `test_perfetto FILE` leaves:
 *   protoc -I PERFETTO --decode=perfetto.protos.Trace \
 *          PERFETTO/protos/perfetto/trace/perfetto_trace.proto < FILE
 * must print no field as a bare number (a field the schema does not know), and
 *   protoc ... --encode=perfetto.protos.Trace
 * of that text must give a file of the same size.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/activity/activity.h"
#include "formats/perfetto/live.h"
#include "stream/spool.h"
#include "model.h"

extern const struct format format_perfetto;

static char path[] = "/tmp/kymo-perfetto-XXXXXX";

struct said {
	struct stream_log log;
	char text[512];
};

static void hear(struct stream_log *l, int severity, const char *text)
{
	snprintf(((struct said *)l)->text, sizeof(((struct said *)l)->text), "%s", text);
}

static struct said said = {.log.message = hear};

static struct stream_sink *open_writer(const char *to)
{
	struct format_options o = {.output = to, .force = true, .log = &said.log};
	struct stream_sink *s = NULL;

	assert_int_equal(format_perfetto.write(&o, &s), KYMO_OK);
	stream_sink_complete(s);
	assert_int_equal(s->begin(s, model_trace()), KYMO_OK);
	return s;
}

static struct drawn *finish(struct stream_sink *s)
{
	struct drawn *d;

	assert_int_equal(s->end(s, model_trace()), KYMO_OK);
	format_perfetto.sink_free(s);
	d = drawn_read(path);
	assert_non_null(d);
	assert_int_equal(d->broken, 0);
	return d;
}

static struct rec call(uint32_t op, uint32_t thread, uint64_t id, int64_t start, int64_t end)
{
	return (struct rec){.process = 1,
			    .thread = thread,
			    .op = op,
			    .id = id,
			    .ok = true,
			    .start = ORIGIN + start,
			    .end = ORIGIN + end};
}

static void put_call(struct stream_sink *s, uint32_t op, uint32_t thread, uint64_t id,
		     int64_t start, int64_t end)
{
	struct rec r = call(op, thread, id, start, end);

	assert_int_equal(s->call(s, &r), KYMO_OK);
}

static struct rec_dispatch dispatch(uint32_t queue, uint64_t correlation, int64_t start,
				    int64_t end)
{
	struct rec_dispatch r = {.base = call(OP_KERNEL, THREAD_MAIN, 0, end + 50, end + 50),
				 .agent = 1,
				 .queue = queue,
				 .kernel = KERNEL_A,
				 .dims = 2,
				 .global = {64, 32, 1},
				 .local = {8, 8, 1}};

	r.device = (struct rec_device){.queued = ORIGIN + start - 30,
				       .submitted = ORIGIN + start - 20,
				       .start = ORIGIN + start,
				       .end = ORIGIN + end,
				       .correlation = correlation,
				       .submit = ORIGIN + start - 40};
	return r;
}

static void put_dispatch(struct stream_sink *s, uint32_t queue, uint64_t correlation, int64_t start,
			 int64_t end)
{
	struct rec_dispatch r = dispatch(queue, correlation, start, end);

	assert_int_equal(s->dispatch(s, &r), KYMO_OK);
}

static const struct drawn_slice *by_name(const struct drawn *d, const struct drawn_slice *list,
					 size_t count, const char *name)
{
	size_t i;

	for (i = 0; i < count; i++) {
		if (!strcmp(drawn_name(d, &list[i]), name))
			return &list[i];
	}
	fail_msg("nothing is called \"%s\"", name);
	return NULL;
}

static const struct drawn_slice *slice_at(const struct drawn *d, int64_t start, int64_t end)
{
	size_t i;

	for (i = 0; i < d->slice_count; i++) {
		if (d->slices[i].start == ORIGIN + start && d->slices[i].end == ORIGIN + end)
			return &d->slices[i];
	}
	fail_msg("no slice from %lld to %lld", (long long)start, (long long)end);
	return NULL;
}

static int64_t total(const struct drawn *d, uint32_t sequence)
{
	int64_t sum = 0;
	size_t i;

	for (i = 0; i < d->slice_count; i++) {
		if (d->slices[i].sequence == sequence && d->slices[i].end != INT64_MAX)
			sum += d->slices[i].end - d->slices[i].start;
	}
	return sum;
}

/* ---- tests -------------------------------------------------------------------------------- */

static void test_empty(void **state)
{
	struct trace empty = {.path = "", .command = ""};
	struct format_options o = {.output = path, .force = true, .log = &said.log};
	struct stream_sink *s;
	struct drawn *d;

	assert_int_equal(format_perfetto.write(&o, &s), KYMO_OK);
	assert_int_equal(s->begin(s, &empty), KYMO_OK);
	assert_int_equal(s->end(s, &empty), KYMO_OK);
	format_perfetto.sink_free(s);
	d = drawn_read(path);
	assert_non_null(d);
	assert_int_equal(d->broken + d->slice_count + d->instant_count + d->point_count, 0);
	assert_true(d->trace->n_packet >= 1);
	assert_non_null(d->trace->packet[0]->clock_snapshot);
	drawn_free(d);
}

static void test_nesting(void **state)
{
	struct stream_sink *s = open_writer(path);
	struct drawn *d;

	put_call(s, OP_CREATE, THREAD_MAIN, 1, 100, 400);
	put_call(s, OP_CREATE, THREAD_MAIN, 2, 150, 250);
	put_call(s, OP_CREATE, THREAD_MAIN, 3, 200, 250); /* ends with its parent */
	put_call(s, OP_CREATE, THREAD_WORKER, 1, 220, 450);
	put_call(s, OP_CREATE, THREAD_MAIN, 4, 250, 300); /* begins where others end */
	put_call(s, OP_CREATE, THREAD_MAIN, 5, 300, 300); /* of no length */
	put_call(s, OP_CREATE, THREAD_MAIN, 6, 400, 410);
	put_call(s, OP_CREATE, THREAD_MAIN, 7, 405, 420); /* crosses: a lane of its own */
	d = finish(s);
	assert_int_equal(d->slice_count, 8);
	assert_int_equal(slice_at(d, 100, 400)->depth, 0);
	assert_int_equal(slice_at(d, 150, 250)->depth, 1);
	assert_int_equal(slice_at(d, 200, 250)->depth, 2);
	assert_int_equal(slice_at(d, 250, 300)->depth, 1);
	assert_int_equal(slice_at(d, 300, 300)->depth, 1);
	assert_int_equal(slice_at(d, 400, 410)->depth, 0);
	assert_int_equal(slice_at(d, 405, 420)->depth, 0);
	assert_int_not_equal(slice_at(d, 405, 420)->track, slice_at(d, 400, 410)->track);
	assert_int_equal(slice_at(d, 220, 450)->depth, 0);
	assert_int_equal(total(d, 1), 300 + 100 + 50 + 230 + 50 + 0 + 10 + 15);
	drawn_free(d);
}

static void test_unordered_input_keeps_the_picture(void **state)
{
	struct stream_sink *s = open_writer(path);
	struct drawn *d;

	put_call(s, OP_CREATE, THREAD_MAIN, 2, 200, 300);
	put_call(s, OP_CREATE, THREAD_MAIN, 1, 100, 400); /* late: the parent after the child */
	put_call(s, OP_CREATE, THREAD_MAIN, 3, 350, 360);
	put_call(s, OP_CREATE, THREAD_MAIN, 4, 500, 600);
	put_call(s, OP_CREATE, THREAD_MAIN, 5, 410, 420); /* late, fits nothing that is open */
	d = finish(s);
	slice_at(d, 200, 300);
	slice_at(d, 100, 400);
	slice_at(d, 350, 360);
	assert_int_equal(slice_at(d, 410, 420)->depth, 0);
	assert_int_not_equal(slice_at(d, 410, 420)->track, slice_at(d, 500, 600)->track);
	assert_int_equal(total(d, 1), 100 + 300 + 10 + 100 + 10);
	drawn_free(d);
}

static void test_open_call(void **state)
{
	struct stream_sink *s = open_writer(path);
	const struct drawn_slice *open;
	struct drawn *d;

	assert_int_equal(s->open_call(s, &model_trace()->open_calls[1]), KYMO_OK);
	put_call(s, OP_CREATE, THREAD_WORKER, 901, 600, 700);
	d = finish(s);
	assert_int_equal(d->slice_count, 2);
	open = &d->slices[0];
	assert_int_equal(open->start, ORIGIN + 500);
	assert_true(open->end == INT64_MAX);
	assert_string_equal(drawn_text(d, open, drawn_annotation(d, open, "end")),
			    "still open when the process ended");
	assert_int_equal(slice_at(d, 600, 700)->depth, 1);
	assert_int_equal(slice_at(d, 600, 700)->track, open->track);
	drawn_free(d);
}

/* A call as the program would have written it, decoded again. */
static void put_arguments(struct stream_sink *s)
{
	static _Alignas(8) uint8_t memory[4096];
	struct wire_chunk *chunk = (struct wire_chunk *)memory;
	struct wire_ring ring = {.cur = memory + sizeof(*chunk), .chunk = chunk, .next_id = 7};
	struct wire_event event = {.id = 7, .start = 10, .end = 20, .op = OP_ENQUEUE};
	struct rec r = call(OP_ENQUEUE, THREAD_MAIN, 7, 100, 200);
	uint64_t sizes[] = {1024, 512};
	struct wire_reader reader;
	struct wire_record record;
	struct wire_enc e;

	*chunk = (struct wire_chunk){.magic = WIRE_CHUNK_MAGIC,
				     .version = WIRE_VERSION,
				     .header_size = sizeof(*chunk),
				     .next_id = 7};
	wire_begin(&e, &ring, &event, 5);
	wire_pointer(&e, 0, (void *)0x7f0012345678);
	wire_unsigned(&e, 1, 2);
	wire_array(&e, 2, sizes, 2, 8, 16);
	wire_string(&e, 3, "caf\xc3\xa9 \xff end", 100);
	wire_signed(&e, 4, -5, 4);
	wire_end(&e, &ring);
	assert_true(wire_reader_init(&reader, memory, sizeof(memory)));
	assert_int_equal(wire_next(&reader, &record), 1);
	r.wire = &record;
	r.site = SITE_MAIN;
	r.stack = 1;
	r.status = -30;
	r.ok = false;
	assert_int_equal(s->call(s, &r), KYMO_OK);
}

static void test_arguments(void **state)
{
	struct stream_sink *s = open_writer(path);
	const struct drawn_slice *c;
	const Pf__DebugAnnotation *a;
	struct drawn *d;

	put_arguments(s);
	d = finish(s);
	c = slice_at(d, 100, 200);
	assert_string_equal(drawn_name(d, c), "clEnqueueNDRangeKernel");
	assert_true(drawn_has_category(d, c, "opencl"));
	assert_true(drawn_has_category(d, c, "error"));
	a = drawn_annotation(d, c, "command_queue");
	assert_non_null(a);
	assert_int_equal(a->pointer_value, 0x7f0012345678);
	a = drawn_annotation(d, c, "work_dim");
	assert_int_equal(a->value_case, PF__DEBUG_ANNOTATION__VALUE_UINT_VALUE);
	assert_int_equal(a->uint_value, 2);
	a = drawn_annotation(d, c, "global_work_size");
	assert_int_equal(a->n_array_values, 2);
	assert_int_equal(a->array_values[0]->uint_value, 1024);
	assert_int_equal(a->array_values[1]->uint_value, 512);
	a = drawn_annotation(d, c, "delta");
	assert_int_equal(a->int_value, -5);
	assert_string_equal(drawn_text(d, c, drawn_annotation(d, c, "text")),
			    "caf\xc3\xa9 \\xff end");
	assert_string_equal(drawn_text(d, c, drawn_annotation(d, c, "error")), "CL_INVALID_VALUE");
	assert_int_equal(c->event->source_location_iid, SITE_MAIN);
	assert_int_equal(c->event->callstack->n_frames, 2);
	assert_string_equal(c->event->callstack->frames[0]->function_name, "main");
	assert_string_equal(c->event->callstack->frames[1]->function_name, "inner");
	/* The writer's own encoder has the library's lengths. */
	assert_int_equal(d->bytes, protobuf_c_message_get_packed_size(&d->trace->base));
	drawn_free(d);
}

/* Collected in another order than executed, three at once. */
static void test_overlapping_kernels(void **state)
{
	struct stream_sink *s = open_writer(path);
	uint64_t tracks[3];
	struct drawn *d;
	size_t i;

	for (i = 1; i <= 4; i++)
		put_call(s, OP_ENQUEUE, THREAD_MAIN, i, 10 * (int64_t)i, 10 * (int64_t)i + 5);
	put_dispatch(s, QUEUE_FREE, 4, 1300, 1400);
	put_dispatch(s, QUEUE_FREE, 2, 1050, 1150);
	put_dispatch(s, QUEUE_FREE, 1, 1000, 1300);
	put_dispatch(s, QUEUE_FREE, 3, 1100, 1250);
	d = finish(s);
	assert_int_equal(total(d, 2), 300 + 100 + 150 + 100);
	for (i = 0; i < d->slice_count; i++)
		assert_int_equal(d->slices[i].depth, 0);
	tracks[0] = slice_at(d, 1000, 1300)->track;
	tracks[1] = slice_at(d, 1050, 1150)->track;
	tracks[2] = slice_at(d, 1100, 1250)->track;
	assert_true(tracks[0] != tracks[1] && tracks[1] != tracks[2] && tracks[0] != tracks[2]);
	assert_int_equal(slice_at(d, 1300, 1400)->track, tracks[0]);
	for (i = 1; i < 3; i++) {
		assert_string_equal(drawn_track(d, tracks[i])->name, "queue 1 (out of order)");
		assert_int_equal(drawn_track(d, tracks[i])->parent_uuid,
				 drawn_track(d, tracks[0])->parent_uuid);
	}
	assert_int_equal(d->flow_pairs, 4);
	drawn_free(d);
}

static void test_dispatch_details(void **state)
{
	struct stream_sink *s = open_writer(path);
	struct rec_dispatch r = dispatch(QUEUE_IN_ORDER, 77, 100, 300);
	const struct drawn_slice *k;
	struct drawn *d;

	r.device.causal_violation = true;
	r.device.queued = ORIGIN + 130; /* after its start: kept */
	r.launch = (struct rec_launch){.registers = 40,
				       .static_shared = 1024,
				       .dynamic_shared = 2048,
				       .cluster = {2, 1, 1}};
	assert_int_equal(s->dispatch(s, &r), KYMO_OK);
	d = finish(s);
	k = slice_at(d, 100, 300);
	assert_string_equal(drawn_name(d, k), "step");
	assert_int_equal(drawn_annotation(d, k, "global")->n_array_values, 2);
	assert_int_equal(drawn_annotation(d, k, "global")->array_values[0]->uint_value, 64);
	assert_int_equal(drawn_annotation(d, k, "local")->array_values[1]->uint_value, 8);
	assert_int_equal(drawn_annotation(d, k, "groups")->array_values[0]->uint_value, 8);
	assert_int_equal(drawn_annotation(d, k, "groups")->array_values[1]->uint_value, 4);
	assert_int_equal(drawn_annotation(d, k, "registers")->uint_value, 40);
	assert_int_equal(drawn_annotation(d, k, "static_shared_bytes")->uint_value, 1024);
	assert_int_equal(drawn_annotation(d, k, "dynamic_shared_bytes")->uint_value, 2048);
	assert_int_equal(drawn_annotation(d, k, "cluster")->array_values[0]->uint_value, 2);
	assert_int_equal(drawn_annotation(d, k, "queued_to_start_ns")->int_value, -30);
	assert_int_equal(drawn_annotation(d, k, "submitted_to_start_ns")->int_value, 20);
	assert_int_equal(drawn_annotation(d, k, "correlation")->uint_value, 77);
	assert_true(drawn_has_category(d, k, "causal_violation"));
	assert_true(drawn_has_category(d, k, "dispatch"));
	assert_string_equal(drawn_track(d, drawn_track(d, k->track)->parent_uuid)->name,
			    "gpu Device X");
	drawn_free(d);
}

static void test_impossible_times(void **state)
{
	struct stream_sink *s = open_writer(path);
	struct rec_dispatch backwards = dispatch(QUEUE_IN_ORDER, 1, 500, 400);
	struct rec_dispatch negative = dispatch(QUEUE_IN_ORDER, 2, 0, 0);
	struct rec_dispatch lost = dispatch(QUEUE_IN_ORDER, 3, 0, 0);
	const struct drawn_slice *i;
	struct drawn *d;

	backwards.kernel = KERNEL_B;
	negative.device.start = -1000;
	negative.device.end = 500;
	lost.device = (struct rec_device){
		.untimed = UNTIMED_LOST, .submit = ORIGIN + 20, .correlation = 3};
	assert_int_equal(s->dispatch(s, &lost), KYMO_OK);
	assert_int_equal(s->dispatch(s, &backwards), KYMO_OK);
	assert_int_equal(s->dispatch(s, &negative), KYMO_OK);
	d = finish(s);
	assert_int_equal(total(d, 2), 0);
	i = by_name(d, d->instants, d->instant_count, "reduce");
	assert_int_equal(i->start, ORIGIN + 500);
	assert_int_equal(drawn_annotation(d, i, "duration_ns")->int_value, -100);
	i = by_name(d, d->instants, d->instant_count, "step");
	assert_int_equal(i->start, 0);
	assert_int_equal(drawn_annotation(d, i, "start_ns")->int_value, -1000);
	assert_int_equal(drawn_annotation(d, i, "duration_ns")->int_value, 1500);
	drawn_free(d);
}

static void put_memory(struct stream_sink *s, uint32_t op, int64_t time, uint64_t bytes,
		       uint64_t id, uint64_t parent)
{
	struct rec_allocation r = {.base = call(op, THREAD_MAIN, 0, time, time),
				   .bytes = bytes,
				   .allocation = id,
				   .parent = parent,
				   .context = 1,
				   .agent = 1,
				   .what = parent ? ALLOCATION_SUB_BUFFER : ALLOCATION_BUFFER};

	assert_int_equal(s->allocation(s, &r), KYMO_OK);
}

static const struct drawn_slice *points_of(const struct drawn *d, const char *name, int64_t *last,
					   int64_t *peak, size_t *count)
{
	const struct drawn_slice *first = NULL;
	size_t i;

	*last = *peak = 0;
	*count = 0;
	for (i = 0; i < d->point_count; i++) {
		const struct drawn_slice *p = &d->points[i];

		if (strcmp(drawn_track(d, p->track)->name, name) != 0)
			continue;
		first = first ? first : p;
		*last = p->event->counter_value;
		*peak = *last > *peak ? *last : *peak;
		++*count;
	}
	return first;
}

/* The n-th packet with a sample, or the interned data that has a stack. */
static const Pf__TracePacket *sample_packet(const struct drawn *d, bool stack, unsigned n)
{
	for (size_t i = 0; i < d->trace->n_packet; i++) {
		const Pf__TracePacket *p = d->trace->packet[i];
		bool found = stack ? p->interned_data && p->interned_data->n_callstacks
				   : p->perf_sample != NULL;

		if (found && n-- == 0)
			return p;
	}
	fail_msg("no such packet");
	return NULL;
}

static void test_samples(void **state)
{
	struct stream_sink *s = open_writer(path);
	struct rec_sample r = {.base = call(OP_NONE, THREAD_WORKER, 0, 100, 100), .cpu = 3};
	const Pf__PerfSample *x;
	struct drawn *d;

	r.base.stack = 1;
	assert_int_equal(s->sample(s, &r), KYMO_OK);
	r.base.start = r.base.end = ORIGIN + 200;
	r.base.thread = THREAD_MAIN;
	r.kernel = true;
	assert_int_equal(s->sample(s, &r), KYMO_OK);
	d = finish(s);
	x = sample_packet(d, false, 0)->perf_sample;
	assert_int_equal(x->pid, 4711);
	assert_int_equal(x->tid, 4712);
	assert_int_equal(x->cpu, 3);
	assert_int_equal(x->cpu_mode, 2); /* user */
	assert_int_equal(sample_packet(d, true, 0)->interned_data->callstacks[0]->iid,
			 x->callstack_iid);
	/* The outermost first; the numbers are those of the sites. */
	assert_int_equal(sample_packet(d, true, 0)->interned_data->callstacks[0]->n_frame_ids, 2);
	assert_int_equal(sample_packet(d, true, 0)->interned_data->callstacks[0]->frame_ids[0],
			 SITE_MAIN);
	assert_int_equal(sample_packet(d, true, 0)->interned_data->callstacks[0]->frame_ids[1],
			 SITE_INNER);
	x = sample_packet(d, false, 1)->perf_sample;
	assert_int_equal(x->tid, 4711);
	assert_int_equal(x->cpu_mode, 1); /* kernel */
	assert_int_equal(x->callstack_iid, 1);
	drawn_free(d);
}

/* A kernel that names no scope lies in that of its call, however late it comes. */
static void test_scopes_of_work(void **state)
{
	struct stream_sink *s = open_writer(path);
	struct rec_marker outer = {.base = call(OP_NONE, THREAD_MAIN, 0, 10, 400),
				   .scope = 5,
				   .text = "solve",
				   .text_length = 5};
	struct rec_marker inner = {.base = call(OP_NONE, THREAD_MAIN, 0, 20, 300),
				   .scope = 6,
				   .text = "stepping",
				   .text_length = 4};
	struct rec c = call(OP_ENQUEUE, THREAD_MAIN, 1, 100, 200);
	const struct drawn_slice *x;
	struct drawn *d;

	inner.base.scope = 5;
	c.scope = 6;
	assert_int_equal(s->marker(s, &outer), KYMO_OK);
	assert_int_equal(s->marker(s, &inner), KYMO_OK);
	assert_int_equal(s->call(s, &c), KYMO_OK);
	put_dispatch(s, QUEUE_FREE, 1, 5000, 6000);
	put_dispatch(s, QUEUE_FREE, 2, 7000, 8000); /* its call was not recorded */
	d = finish(s);
	x = slice_at(d, 100, 200);
	assert_string_equal(drawn_text(d, x, drawn_annotation(d, x, "scopes")), "solve/step");
	x = slice_at(d, 5000, 6000);
	assert_string_equal(drawn_text(d, x, drawn_annotation(d, x, "scopes")), "solve/step");
	x = slice_at(d, 7000, 8000);
	assert_null(drawn_annotation(d, x, "scopes"));
	drawn_free(d);
}

static void put_kind(struct stream_sink *s, uint32_t op, int64_t time, uint64_t bytes, uint64_t id,
		     uint8_t kind)
{
	struct rec_allocation r = {.base = call(op, THREAD_MAIN, 0, time, time),
				   .bytes = bytes,
				   .allocation = id,
				   .agent = 1,
				   .what = ALLOCATION_BUFFER,
				   .kind = kind};

	assert_int_equal(s->allocation(s, &r), KYMO_OK);
}

/* Of a device that has one kind of memory alone, there is nothing beside its sum. */
static void test_kinds_of_memory(void **state)
{
	struct stream_sink *s = open_writer(path);
	const struct drawn_slice *x;
	int64_t last, peak;
	struct drawn *d;
	size_t n;

	put_kind(s, OP_ALLOCATE, 100, 4096, 1, MEMORY_DEVICE);
	put_kind(s, OP_ALLOCATE, 200, 1000, 2, MEMORY_MANAGED);
	put_kind(s, OP_FREE, 300, 0, 1, MEMORY_UNKNOWN); /* says neither size nor kind */
	d = finish(s);
	points_of(d, "memory in use", &last, &peak, &n);
	assert_int_equal(last, 1000);
	assert_int_equal(peak, 5096);
	points_of(d, "memory in use (device)", &last, &peak, &n);
	assert_int_equal(last, 0);
	assert_int_equal(peak, 4096);
	assert_int_equal(n, 2);
	points_of(d, "memory in use (managed)", &last, &peak, &n);
	assert_int_equal(last, 1000);
	assert_int_equal(n, 1);
	drawn_free(d);
	s = open_writer(path);
	put_kind(s, OP_ALLOCATE, 100, 4096, 1, MEMORY_DEVICE);
	d = finish(s);
	x = by_name(d, d->instants, d->instant_count, "allocate");
	assert_int_equal(drawn_annotation(d, x, "bytes")->uint_value, 4096);
	assert_string_equal(drawn_text(d, x, drawn_annotation(d, x, "what")), "buffer");
	assert_string_equal(drawn_text(d, x, drawn_annotation(d, x, "memory")), "device");
	assert_string_equal(drawn_text(d, x, drawn_annotation(d, x, "device")), "gpu Device X");
	assert_null(points_of(d, "memory in use (device)", &last, &peak, &n));
	assert_non_null(points_of(d, "memory in use", &last, &peak, &n));
	drawn_free(d);
}

/* Beside the calls, so that they nest with none of these. */
static void test_pauses(void **state)
{
	struct format_options o = {.output = path, .force = true, .log = &said.log};
	struct t_pause pauses[] = {{.process = 1, .start = ORIGIN + 200, .end = ORIGIN + 700},
				   {.process = 1, .start = ORIGIN + 900, .end = ORIGIN + 900}};
	struct trace t = *model_trace();
	const struct drawn_slice *x;
	struct stream_sink *s;
	struct drawn *d;

	t.pauses = pauses;
	t.pauses_count = 2;
	assert_int_equal(format_perfetto.write(&o, &s), KYMO_OK);
	stream_sink_complete(s);
	assert_int_equal(s->begin(s, &t), KYMO_OK);
	put_call(s, OP_CREATE, THREAD_MAIN, 1, 100, 400);
	assert_int_equal(s->end(s, &t), KYMO_OK);
	format_perfetto.sink_free(s);
	d = drawn_read(path);
	assert_non_null(d);
	assert_int_equal(d->broken, 0);
	assert_int_equal(d->slice_count, 2);
	x = slice_at(d, 200, 700);
	assert_string_equal(drawn_name(d, x), "recording paused");
	assert_string_equal(drawn_track(d, x->track)->name, "recording");
	assert_int_equal(x->depth, 0);
	assert_int_not_equal(x->track, slice_at(d, 100, 400)->track);
	drawn_free(d);
}

static void test_counters(void **state)
{
	struct stream_sink *s = open_writer(path);
	int64_t last, peak;
	struct drawn *d;
	size_t n;

	put_memory(s, OP_FREE, 50, 777, 9, 0); /* from before the recording */
	put_memory(s, OP_ALLOCATE, 100, 4096, 1, 0);
	put_memory(s, OP_ALLOCATE, 200, 1000, 2, 0);
	put_memory(s, OP_ALLOCATE, 250, 500, 3, 1); /* inside its parent */
	put_memory(s, OP_FREE, 260, 500, 3, 1);
	put_memory(s, OP_FREE, 300, 0, 1, 0);       /* without its size */
	put_dispatch(s, QUEUE_FREE, 1, 1000, 1300); /* queued 970 */
	put_dispatch(s, QUEUE_FREE, 2, 1050, 1150); /* queued 1020 */
	put_dispatch(s, QUEUE_IN_ORDER, 3, 1050, 1150);
	put_memory(s, OP_FREE, 1400, 1000, 2, 0);
	d = finish(s);
	assert_non_null(points_of(d, "memory in use", &last, &peak, &n));
	assert_int_equal(last, 0);
	assert_int_equal(peak, 5096);
	assert_int_equal(n, 4);
	assert_non_null(points_of(d, "memory in use, context 1", &last, &peak, &n));
	assert_int_equal(last, 0);
	assert_int_equal(peak, 5096);
	assert_int_equal(points_of(d, "queue 1 outstanding", &last, &peak, &n)->start,
			 ORIGIN + 970);
	assert_int_equal(last, 0);
	assert_int_equal(peak, 2);
	assert_int_equal(n, 4);
	points_of(d, "queue 0 outstanding", &last, &peak, &n);
	assert_int_equal(peak, 1);
	assert_int_equal(last, 0);
	drawn_free(d);
}

/* A call that waits for a copy that fails, and records lost beside it. */
static void put_others(struct stream_sink *s)
{
	struct rec_copy copy = {.base = call(OP_READ, THREAD_MAIN, 0, 900, 900),
				.queue = 1,
				.source_agent = 1,
				.source_kind = MEMORY_DEVICE,
				.destination_kind = MEMORY_HOST_PAGEABLE,
				.bytes = 1 << 20,
				.blocking = true};
	struct rec_sync sync = {.base = call(OP_FINISH, THREAD_MAIN, 0, 110, 190),
				.correlation = 1,
				.queue = QUEUE_FREE};
	struct rec_loss loss = {1, THREAD_WORKER, 123, ORIGIN + 300, ORIGIN + 350};

	copy.device = (struct rec_device){.start = ORIGIN + 600,
					  .end = ORIGIN + 800,
					  .queued = ORIGIN + 500,
					  .correlation = 1,
					  .status = -30};
	put_call(s, OP_ENQUEUE, THREAD_MAIN, 1, 100, 200);
	assert_int_equal(s->sync(s, &sync), KYMO_OK);
	assert_int_equal(s->copy(s, &copy), KYMO_OK);
	assert_int_equal(s->loss(s, &loss), KYMO_OK);
}

static void test_copy_sync_loss_notes(void **state)
{
	struct stream_sink *s = open_writer(path);
	const struct drawn_slice *x;
	struct drawn *d;

	put_others(s);
	d = finish(s);
	x = slice_at(d, 600, 800);
	assert_string_equal(drawn_name(d, x), "read");
	assert_int_equal(drawn_annotation(d, x, "bytes")->uint_value, 1 << 20);
	assert_true(drawn_annotation(d, x, "bytes_per_second")->double_value ==
		    (double)(1 << 20) * 1e9 / 200);
	assert_string_equal(drawn_text(d, x, drawn_annotation(d, x, "source")),
			    "gpu Device X (device memory)");
	assert_string_equal(drawn_text(d, x, drawn_annotation(d, x, "destination")),
			    "host (pageable)");
	assert_string_equal(drawn_text(d, x, drawn_annotation(d, x, "error")), "CL_INVALID_VALUE");
	x = slice_at(d, 110, 190);
	assert_int_equal(x->depth, 1);
	assert_string_equal(drawn_text(d, x, drawn_annotation(d, x, "queue")),
			    "queue 1 (out of order)");
	x = by_name(d, d->instants, d->instant_count, "records lost");
	assert_int_equal(drawn_annotation(d, x, "count")->uint_value, 123);
	assert_string_equal(drawn_track(d, x->track)->thread->thread_name, "worker");
	x = by_name(d, d->instants, d->instant_count, "profiling was forced on");
	assert_int_equal(x->start, ORIGIN + 5);
	assert_string_equal(drawn_text(d, x, drawn_annotation(d, x, "severity")), "warning");
	assert_string_equal(drawn_text(d, x, drawn_annotation(d, x, "part")), "opencl");
	assert_int_equal(drawn_annotation(d, x, "count")->uint_value, 3);
	assert_string_equal(drawn_track(d, x->track)->process->process_name, "heat rank 3");
	drawn_free(d);
}

/* ---- pids ---------------------------------------------------------------------------------- */

static struct t_process of_node(const char *node, uint32_t rank)
{
	struct t_process p = model_trace()->processes[1];

	p.hostname = node;
	p.rank = rank;
	return p;
}

/* The descriptor of the n-th process or, `threads`, thread. */
static const Pf__TrackDescriptor *described(const struct drawn *d, bool threads, unsigned n)
{
	for (size_t i = 0; i < d->trace->n_packet; i++) {
		const Pf__TrackDescriptor *t = d->trace->packet[i]->track_descriptor;

		if (t && (threads ? t->thread != NULL : t->process != NULL) && n-- == 0)
			return t;
	}
	fail_msg("no such track");
	return NULL;
}

/* Two ranks have one pid on two nodes, two on one (in containers), one has become another by exec. */
static void test_one_pid_on_two_nodes(void **state)
{
	struct format_options o = {.output = path, .force = true, .log = &said.log};
	struct trace two = *model_trace();
	struct t_process processes[] = {two.processes[0], of_node("node7", 3), of_node("node8", 4),
					of_node("node8", 5), of_node("node7", 3)};
	struct t_thread threads[] = {two.threads[0], two.threads[1], two.threads[2], two.threads[1],
				     two.threads[2]};
	struct stream_sink *s = NULL;
	struct drawn *d;

	processes[1].how_ended = 3;
	threads[3].process = threads[4].process = 2;
	two.processes = processes;
	two.processes_count = 5;
	two.threads = threads;
	two.threads_count = 5;
	assert_int_equal(format_perfetto.write(&o, &s), KYMO_OK);
	stream_sink_complete(s);
	assert_int_equal(s->begin(s, &two), KYMO_OK);
	assert_int_equal(s->end(s, &two), KYMO_OK);
	format_perfetto.sink_free(s);
	d = drawn_read(path);
	assert_non_null(d);
	assert_int_equal(described(d, false, 0)->process->pid, 4711);
	assert_string_equal(described(d, false, 0)->process->process_name, "heat rank 3");
	assert_string_equal(described(d, false, 1)->process->process_name,
			    "heat rank 4 (pid 4711 on node8)");
	assert_string_equal(described(d, false, 2)->process->process_name,
			    "heat rank 5 (pid 4711 on node8)");
	assert_true(described(d, false, 1)->process->pid > 4194304); /* Linux has none of these */
	assert_true(described(d, false, 2)->process->pid > described(d, false, 1)->process->pid);
	assert_int_equal(described(d, false, 3)->process->pid, 4711);
	assert_int_equal(described(d, true, 0)->thread->pid, 4711);
	assert_int_equal(described(d, true, 0)->thread->tid, 4711);
	assert_int_equal(described(d, true, 2)->thread->pid, described(d, false, 1)->process->pid);
	assert_int_equal(described(d, true, 2)->thread->tid, described(d, false, 1)->process->pid);
	assert_int_equal(described(d, true, 3)->thread->pid, described(d, false, 1)->process->pid);
	assert_int_equal(described(d, true, 3)->thread->tid, 4712);
	drawn_free(d);
}

/* ---- streaming ---------------------------------------------------------------------------- */

static size_t resident(void)
{
	unsigned long size = 0, pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%lu %lu", &size, &pages), 2);
	fclose(f);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void put_many(struct stream_sink *s, uint64_t from, uint64_t to)
{
	uint64_t i;

	for (i = from; i < to; i++) {
		int64_t t = 1000 + (int64_t)i * 100;

		put_call(s, OP_ENQUEUE, THREAD_MAIN, i + 1, t, t + 60);
		put_call(s, OP_CREATE, THREAD_WORKER, i + 1, t + 10, t + 90);
		put_dispatch(s, QUEUE_FREE, i + 1, t + 500, t + 500 + 250);
	}
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Far more than the buffers hold, so that the spools are written, read back and merged. */
static void write_many(const char *to, uint64_t count, size_t *grown)
{
	struct stream_sink *s = open_writer(to);
	double begin = seconds(), took;
	size_t before;

	assert_int_equal(s->open_call(s, &model_trace()->open_calls[1]), KYMO_OK);
	put_many(s, 0, count / 4);
	before = resident();
	put_many(s, count / 4, count);
	assert_int_equal(s->end(s, model_trace()), KYMO_OK);
	*grown = resident() > before ? resident() - before : 0;
	format_perfetto.sink_free(s);
	took = seconds() - begin;
	print_message("%llu records: %.0f records/s\n", (unsigned long long)(3 * count),
		      3.0 * (double)count / took);
}

static void test_streams_in_constant_memory(void **state)
{
	const uint64_t count = 200000;
	size_t grown;

	write_many(path, count, &grown);
	print_message("memory grew by %zu KiB after the first quarter\n", grown >> 10);
#ifndef __SANITIZE_ADDRESS__ /* which keeps what was freed */
	/* The merges take at most 8 MiB each, and sorting a buffer as much again. */
	assert_true(grown < 20u << 20);
#endif
}

static void test_write_error_is_reported(void **state)
{
	struct format_options o = {.output = "/dev/full", .force = true, .log = &said.log};
	struct stream_sink *s;
	kymo_status_t status;

	if (access("/dev/full", W_OK))
		skip();
	assert_int_equal(format_perfetto.write(&o, &s), KYMO_OK);
	stream_sink_complete(s);
	s->begin(s, model_trace());
	status = s->end(s, model_trace());
	format_perfetto.sink_free(s);
	assert_int_equal(status, KYMO_ERROR_SYSTEM);
	assert_non_null(strstr(said.text, "/dev/full"));
	assert_int_equal(access("/dev/full", F_OK), 0); /* only files are removed */
}

static void test_existing_file_is_kept(void **state)
{
	struct format_options o = {.output = path, .log = &said.log};
	struct stream_sink *s = NULL;

	assert_int_equal(format_perfetto.write(&o, &s), KYMO_ERROR_EXISTS);
	assert_non_null(strstr(said.text, path));
	assert_int_equal(access(path, F_OK), 0);
}

static void test_unfinished_file_is_removed(void **state)
{
	struct stream_sink *s = open_writer(path);

	format_perfetto.sink_free(s);
	assert_int_equal(access(path, F_OK), -1);
	fclose(fopen(path, "w"));
}

/* Against the plainest model there is: an array. */
static void test_live_sizes(void **state)
{
	static uint64_t model[5000];
	struct live l = {0};
	uint64_t seed = 1, i, id;

	for (i = 0; i < 200000; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		id = (seed >> 33) % 5000;
		if (seed >> 63) {
			model[id] = i + 1;
			live_put(&l, id + 1, i + 1);
		} else {
			assert_int_equal(live_take(&l, id + 1, 99), model[id]);
			model[id] = 0;
		}
	}
	live_release(&l);
}

struct number {
	struct spool_key key;
	uint64_t value;
};

static void test_spool_sorts(void **state)
{
	const uint64_t count = 100000;
	struct spool s;
	const void *item = NULL;
	uint64_t i, sum = 0, seed = 1;
	int64_t last = INT64_MIN;

	assert_int_equal(spool_init(&s, sizeof(struct number), 64u << 10, "/tmp"), KYMO_OK);
	for (i = 0; i < count; i++) {
		struct number n = {.value = i};

		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		n.key.time = (int64_t)(seed >> 40) - (1 << 22); /* many equal, some negative */
		assert_int_equal(spool_add(&s, &n), KYMO_OK);
	}
	assert_int_equal(spool_rewind(&s), KYMO_OK);
	for (i = 0; i < count; i++) {
		assert_int_equal(spool_next(&s, &item), KYMO_OK);
		assert_non_null(item);
		assert_true(((const struct number *)item)->key.time >= last);
		last = ((const struct number *)item)->key.time;
		sum += ((const struct number *)item)->value;
	}
	assert_int_equal(spool_next(&s, &item), KYMO_OK);
	assert_null(item);
	assert_int_equal(sum, count * (count - 1) / 2);
	spool_release(&s);
}

/* Leaves a file with something of everything for the other checkers. */
static int write_sample(const char *to)
{
	struct stream_sink *s = open_writer(to);
	struct rec_dispatch backwards = dispatch(QUEUE_IN_ORDER, 30000, 500, 400);

	put_arguments(s);
	put_memory(s, OP_ALLOCATE, 210, 4096, 1, 0);
	put_memory(s, OP_FREE, 220, 4096, 1, 0);
	put_others(s);
	s->dispatch(s, &backwards);
	s->open_call(s, &model_trace()->open_calls[1]);
	put_many(s, 0, 20000);
	assert_int_equal(s->end(s, model_trace()), KYMO_OK);
	format_perfetto.sink_free(s);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_nesting),
		cmocka_unit_test(test_unordered_input_keeps_the_picture),
		cmocka_unit_test(test_open_call),
		cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_overlapping_kernels),
		cmocka_unit_test(test_dispatch_details),
		cmocka_unit_test(test_impossible_times),
		cmocka_unit_test(test_counters),
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_scopes_of_work),
		cmocka_unit_test(test_kinds_of_memory),
		cmocka_unit_test(test_pauses),
		cmocka_unit_test(test_copy_sync_loss_notes),
		cmocka_unit_test(test_one_pid_on_two_nodes),
		cmocka_unit_test(test_streams_in_constant_memory),
		cmocka_unit_test(test_write_error_is_reported),
		cmocka_unit_test(test_existing_file_is_kept),
		cmocka_unit_test(test_unfinished_file_is_removed),
		cmocka_unit_test(test_spool_sorts),
		cmocka_unit_test(test_live_sizes),
	};
	int failed;

	if (argc == 2)
		return write_sample(argv[1]);
	close(mkstemp(path));
	failed = cmocka_run_group_tests_name("perfetto", tests, NULL, NULL);
	unlink(path);
	return failed;
}
