/* SPDX-License-Identifier: Apache-2.0 */
/*
 * every_kind TRACE: writes a trace that has a record of each op of each kind, in each of two processes (ranks 0
 * and 1), with the writer that imports use. Devices of one name are two. Numbers that records hold of their own
 * are found nowhere else in the trace; each is told on standard output:
 *	KIND FIELD NUMBER
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "formats/raw/write.h"
#include "record/fields.h"
#include "stream/keyed.h"
#include "stream/payload.h"
#include "wire/defs.h"

enum { PROCESSES = 2, TIME = 1000000 };

struct producer {
	struct keyed k;
	struct trace *t;
	struct stream_sink *sink;
	struct make_activities model;
	struct make_fields fields;
	uint32_t call, published; /* ops */
	uint32_t process, thread, agent[2], queue[2], context, kernel, counter, communicator;
	uint32_t text, stack, code, place;
	uint64_t id;
	uint32_t next; /* number */
	int64_t now;
	bool failed;
};

/* A number that is only here. Those of the second process follow those of the first. */
static uint64_t number(struct producer *p, const char *kind, const char *field)
{
	uint64_t n = 700000 + 3 * (uint64_t)p->next++;

	printf("%s %s %" PRIu64 "\n", kind, field, n);
	return n;
}

static void done(struct producer *p, kymo_status_t status)
{
	p->failed |= status != KYMO_OK;
}

/* ---- definitions ----------------------------------------------------------------------------- */

static uint32_t define_process(struct producer *p, uint32_t i)
{
	uint32_t process = keyed_process(&p->k, i, 4000 + i);
	struct t_process *x = &p->t->processes[process];

	x->rank = i;
	x->ranks = PROCESSES;
	x->rank_by = "MPI";
	x->exe = "/usr/bin/every";
	x->argv = "every";
	x->hostname = "node1";
	x->job = "job-1";
	x->start = TIME;
	x->end = TIME + 1000000;
	x->realtime_offset = INT64_C(1700000000000000000);
	x->start_realtime = x->realtime_offset + x->start;
	return process;
}

static void define_devices(struct producer *p, uint32_t process)
{
	const struct t_agent agent = {.type = "gpu",
				      .name = "Accelerator",
				      .vendor = "",
				      .driver = "",
				      .domain = "opencl",
				      .platform = "",
				      .properties = ""};

	p->context = keyed_context(&p->k, process, 0xc0, "opencl");
	for (uint32_t i = 0; i < 2; i++) {
		p->agent[i] = keyed_agent(&p->k, process, 1 + i, &agent);
		p->queue[i] = keyed_queue(&p->k, &(struct t_queue){.process = process,
								   .agent = p->agent[i],
								   .context = p->context,
								   .handle = 0xf0 + i,
								   .domain = "opencl",
								   .name = ""});
	}
}

static uint32_t define_site(struct producer *p, uint32_t process)
{
	*trace_add(p->t, sites) = (struct t_site){.process = process,
						  .address = 0x401000,
						  .function = "work",
						  .file = "work.c",
						  .line = 7};
	return p->t->sites_count - 1;
}

static void define_stack(struct producer *p, uint32_t process)
{
	uint32_t *sites = trace_alloc(p->t, 2 * sizeof(*sites));

	for (unsigned i = 0; sites && i < 2; i++)
		sites[i] = define_site(p, process);
	*trace_add(p->t, stacks) =
		(struct t_stack){process, sites ? 2 : 0, sites, "copy too short"};
	p->stack = p->t->stacks_count - 1;
}

static void define_rest(struct producer *p, uint32_t process)
{
	static const struct t_ranks all = {.first = 0, .count = PROCESSES, .stride = 1};

	p->counter = keyed_counter(&p->k, 1,
				   &(struct t_counter){.process = process,
						       .agent = p->agent[0],
						       .name = "every-counter",
						       .unit = "",
						       .description = "",
						       .provider = "every",
						       .dimensions = ""});
	*trace_add(p->t, communicators) = (struct t_communicator){.process = process,
								  .kind = COMMUNICATOR_INTRA,
								  .id = 1,
								  .name = "every-world",
								  .size = PROCESSES,
								  .key = 1,
								  .own_rank = process,
								  .members = &all,
								  .member_runs = 1};
	p->communicator = p->t->communicators_count - 1;
	*trace_add(p->t, codes) = (struct t_code){.process = process,
						  .function = "every_kernel",
						  .file = "every.cl",
						  .line = 9,
						  .module = 5,
						  .offset = 16};
	p->code = p->t->codes_count - 1;
	*trace_add(p->t, places) = (struct t_place){.process = process,
						    .function = "every_kernel",
						    .what = "block",
						    .kind = "function",
						    .file = "/src/every.cl",
						    .line = 7,
						    .column = 3,
						    .times = 1};
	p->place = p->t->places_count - 1;
}

static bool begin(struct producer *p)
{
	static const struct make_field arguments[] = {{"size", KYMO_KIND_SIZE},
						      {"name", KYMO_KIND_STRING}};

	make_activities(p->t, &p->model);
	for (unsigned d = 0; d <= RECORD_DOMAIN_kernel_line; d++)
		make_activity(&p->model, (enum record_domain)d, 0);
	p->call = keyed_op(&p->k, "opencl", "clEveryCall", arguments, 2);
	p->text = keyed_text(&p->k, "every-text", strlen("every-text"));
	for (uint32_t i = 0; i < PROCESSES; i++)
		define_process(p, i);
	p->t->origin = TIME;
	p->t->end = TIME + 1000000;
	p->t->command = "every";
	return true;
}

/* What records of the process refer to. All must be there before the first. */
static void define(struct producer *p, uint32_t i)
{
	uint32_t process = keyed_process(&p->k, i, 0);

	keyed_thread(&p->k, 10 + i, process, 4000 + i);
	define_devices(p, process);
	keyed_kernel(&p->k, process, p->text, 0, "opencl");
	define_stack(p, process);
	define_rest(p, process);
	*trace_add(p->t, notes) = (struct t_note){.process = process,
						  .severity = 2,
						  .part = "every",
						  .text = "every-note",
						  .time = TIME,
						  .count = 1};
}

/* ---- records --------------------------------------------------------------------------------- */

/* Each lasts a number that is only here, and comes after the one before. */
static struct rec base(struct producer *p, enum record_domain domain, uint32_t op, const char *kind)
{
	int64_t start = p->now;

	p->now += 800000 * 2;
	return (struct rec){.process = p->process,
			    .thread = p->thread,
			    .op = make_activity(&p->model, domain, op),
			    .ok = true,
			    .start = start,
			    .end = start + (int64_t)number(p, kind, "duration")};
}

static struct rec_device device(struct producer *p, const struct rec *r)
{
	return (struct rec_device){.queued = r->start,
				   .submitted = r->start,
				   .start = r->start,
				   .end = r->end,
				   .correlation = p->id,
				   .submit = r->start};
}

static void put_call(struct producer *p)
{
	struct rec r = base(p, RECORD_DOMAIN_dispatch, 0, "call");

	r.op = p->call;
	r.id = ++p->id;
	r.site = 2 * p->process - 1;
	make_fields_begin(&p->fields, &p->t->ops[r.op]);
	make_number(&p->fields, number(p, "call", "size"));
	make_text(&p->fields, "every-argument", strlen("every-argument"));
	r.wire = make_fields_end(&p->fields);
	done(p, p->sink->call(p->sink, &r));
}

static void put_dispatches(struct producer *p)
{
	struct rec_dispatch r = {
		.agent = p->agent[0], .queue = p->queue[0], .kernel = p->kernel, .dims = 3};

	for (uint32_t op = 0; op < DISPATCH_OPS; op++) {
		const char *kind = op == DISPATCH_OP_LAUNCH ? "launch" : "kernel";

		r.base = base(p, RECORD_DOMAIN_dispatch, op, kind);
		r.device = device(p, &r.base);
		for (unsigned k = 0; k < 3; k++) {
			r.global[k] = number(p, kind, "global");
			r.local[k] = number(p, kind, "local");
			r.offset[k] = op == DISPATCH_OP_LAUNCH ? 0 : number(p, kind, "offset");
		}
		if (op == DISPATCH_OP_LAUNCH)
			r.launch = (struct rec_launch){
				.registers = number(p, kind, "registers"),
				.static_shared = number(p, kind, "static_shared"),
				.dynamic_shared = number(p, kind, "dynamic_shared"),
				.local_memory = number(p, kind, "local_memory"),
				.graph = number(p, kind, "graph"),
				.graph_node = number(p, kind, "graph_node")};
		done(p, p->sink->dispatch(p->sink, &r));
	}
}

static void put_copies(struct producer *p)
{
	for (uint32_t op = 0; op <= COPY_OP_FAULT; op++) {
		struct rec_copy r = {.base = base(p, RECORD_DOMAIN_copy, op, "copy"),
				     .queue = p->queue[1],
				     .source_agent = op == COPY_OP_WRITE ? 0 : p->agent[0],
				     .destination_agent = op == COPY_OP_READ ? 0 : p->agent[1],
				     .source_kind = MEMORY_DEVICE,
				     .destination_kind = MEMORY_DEVICE};

		r.device = device(p, &r.base);
		r.bytes = number(p, "copy", "bytes");
		r.graph = number(p, "copy", "graph");
		r.graph_node = number(p, "copy", "graph_node");
		if (op >= COPY_OP_MIGRATE) {
			r.address = number(p, "copy", "address");
			r.faults = number(p, "copy", "faults");
		}
		done(p, p->sink->copy(p->sink, &r));
	}
}

static void put_allocations(struct producer *p)
{
	struct rec_allocation r = {.correlation = p->id,
				   .agent = p->agent[0],
				   .context = p->context,
				   .kind = MEMORY_DEVICE,
				   .what = ALLOCATION_BUFFER,
				   .bytes = number(p, "allocation", "bytes"),
				   .address = number(p, "allocation", "address"),
				   .allocation = number(p, "allocation", "allocation"),
				   .parent = number(p, "allocation", "parent")};

	for (uint32_t op = ALLOCATION_OP_ALLOCATE; op <= ALLOCATION_OP_FREE; op++) {
		r.base = base(p, RECORD_DOMAIN_allocation, op, "allocation");
		r.base.end = r.base.start;
		done(p, p->sink->allocation(p->sink, &r));
	}
}

static void put_syncs(struct producer *p)
{
	for (uint32_t op = 0; op <= SYNC_OP_SEMAPHORE_SIGNAL; op++) {
		struct rec_sync r = {.base = base(p, RECORD_DOMAIN_sync, op, "sync"),
				     .correlation = p->id,
				     .queue = p->queue[0]};

		r.count = number(p, "sync", "count");
		r.event = number(p, "sync", "event");
		done(p, p->sink->sync(p->sink, &r));
	}
}

static void put_markers(struct producer *p)
{
	for (uint32_t op = MARKER_OP_MARK; op <= MARKER_OP_PROCESS_RANGE; op++) {
		struct rec_marker r = {.base = base(p, RECORD_DOMAIN_marker, op, "marker"),
				       .name = p->text,
				       .text = "every-text",
				       .text_length = (uint32_t)strlen("every-text"),
				       .starter = p->thread};

		if (op == MARKER_OP_MARK)
			r.base.end = r.base.start;
		else
			r.scope = op;
		r.color = 0xff000000u | (uint32_t)number(p, "marker", "color");
		done(p, p->sink->marker(p->sink, &r));
	}
}

static void put_messages(struct producer *p)
{
	for (uint32_t op = 0; op < COMM_OPS; op++) {
		struct rec_comm r = {.base = base(p, RECORD_DOMAIN_comm, op, "comm"),
				     .correlation = p->id,
				     .communicator = p->communicator,
				     .peer = op == COMM_OP_COLLECTIVE ? -1
					     : p->process == 1        ? 1
								      : 0};

		r.tag = (int32_t)number(p, "comm", "tag");
		r.sent = op == COMM_OP_RECEIVE ? 0 : number(p, "comm", "sent");
		r.received = op == COMM_OP_SEND ? 0 : number(p, "comm", "received");
		r.request = number(p, "comm", "request");
		r.partitions = (uint32_t)number(p, "comm", "partitions");
		r.completed_by = number(p, "comm", "completed_by");
		r.probe = op == COMM_OP_RECEIVE ? number(p, "comm", "probe") : 0;
		done(p, p->sink->comm(p->sink, &r));
	}
}

static void put_counters(struct producer *p)
{
	for (uint32_t op = 0; op < COUNTER_OPS; op++) {
		struct rec_counter r = {.base = base(p, RECORD_DOMAIN_counter, op, "counter"),
					.correlation = p->id,
					.counter = p->counter,
					.agent = p->agent[0],
					.kernel = op == COUNTER_OP_DISPATCH ? p->kernel : 0};

		r.value = (double)number(p, "counter", "value");
		done(p, p->sink->counter(p->sink, &r));
	}
}

static void put_samples(struct producer *p)
{
	struct rec_sample s = {.base = base(p, RECORD_DOMAIN_sample, SAMPLE_OP_PC, "sample"),
			       .correlation = p->id};
	struct rec_device_sample d = {
		.base = base(p, RECORD_DOMAIN_device_sample, DEVICE_SAMPLE_OP_PC, "device_sample"),
		.correlation = p->id,
		.agent = p->agent[0],
		.code = p->code,
		.reason = p->text};

	s.base.end = s.base.start;
	s.base.stack = p->stack;
	s.pc = 0x401000; /* its stack says the same */
	s.cpu = (uint32_t)number(p, "sample", "cpu");
	s.weight = (int64_t)number(p, "sample", "weight");
	done(p, p->sink->sample(p->sink, &s));
	d.base.end = d.base.start;
	d.samples = number(p, "device_sample", "samples");
	d.idle = number(p, "device_sample", "idle");
	d.cycles = number(p, "device_sample", "cycles");
	done(p, p->sink->device_sample(p->sink, &d));
}

static void put_kernel_line(struct producer *p)
{
	struct rec_kernel_line l = {
		.base = base(p, RECORD_DOMAIN_kernel_line, KERNEL_LINE_OP_BLOCK, "kernel_line"),
		.correlation = p->id,
		.agent = p->agent[0],
		.kernel = p->kernel,
		.place = p->place,
		.instead = true};

	l.base.end = l.base.start;
	l.count = number(p, "kernel_line", "count");
	done(p, p->sink->kernel_line(p->sink, &l));
}

/* A record of an op that has no struct: each field by its kind. */
static void put_other(struct producer *p, enum record_domain domain, const char *kind)
{
	struct rec r = base(p, domain, 0, kind);
	const struct t_op *op = &p->t->ops[r.op];

	make_fields_begin(&p->fields, op);
	for (uint32_t i = 0; i < op->field_count; i++) {
		const struct t_field *f = &op->fields[i];

		if (f->kind == KYMO_KIND_STRING)
			make_text(&p->fields, "every-text", strlen("every-text"));
		else if (f->reference || f->kind == KYMO_KIND_REF || f->kind == KYMO_KIND_BOOL)
			make_number(&p->fields, 0);
		else
			make_number(&p->fields, number(p, kind, f->name));
	}
	r.wire = make_fields_end(&p->fields);
	done(p, p->sink->other(p->sink, &r));
}

/* ---- what formats may have no place for ------------------------------------------------------- */

static void put_failed_call(struct producer *p)
{
	struct rec r = base(p, RECORD_DOMAIN_dispatch, 0, "call");

	r.op = p->call;
	r.id = ++p->id;
	r.ok = false;
	r.status = -5;
	r.external = number(p, "call", "external");
	done(p, p->sink->call(p->sink, &r));
}

/* A range with a value of its own, of a domain and a category. */
static void put_described(struct producer *p)
{
	struct text payload = {0};
	uint64_t value = number(p, "marker", "payload");
	struct rec_marker r = {.base = base(p, RECORD_DOMAIN_marker, MARKER_OP_RANGE, "marker"),
			       .scope = 9,
			       .name = p->text,
			       .text = "every-text",
			       .text_length = (uint32_t)strlen("every-text"),
			       .domain = p->text,
			       .category = p->text};

	text_add_bytes(&payload, "", 1); /* none were left out */
	payload_put(&payload, "every-key", strlen("every-key"), KYMO_PAYLOAD_UINT64, &value,
		    sizeof(value), sizeof(value));
	r.payload = (const uint8_t *)payload.s;
	r.payload_bytes = (uint32_t)payload.length;
	done(p, p->sink->marker(p->sink, &r));
	text_release(&payload);
}

static void put_untimed(struct producer *p)
{
	struct rec_dispatch d = {
		.agent = p->agent[0], .queue = p->queue[0], .kernel = p->kernel, .dims = 1};
	struct rec_copy c = {.queue = p->queue[0], .destination_agent = p->agent[0]};

	d.base = base(p, RECORD_DOMAIN_dispatch, DISPATCH_OP_KERNEL, "untimed");
	d.device = (struct rec_device){.untimed = UNTIMED_MODE, .submit = d.base.start};
	d.global[0] = number(p, "kernel", "global");
	done(p, p->sink->dispatch(p->sink, &d));
	c.base = base(p, RECORD_DOMAIN_copy, COPY_OP_WRITE, "untimed");
	c.device = (struct rec_device){.untimed = UNTIMED_MODE, .submit = c.base.start};
	c.bytes = number(p, "copy", "bytes");
	done(p, p->sink->copy(p->sink, &c));
}

static void put_values(struct producer *p)
{
	static const double values[] = {-3, 0.5};

	for (unsigned i = 0; i < 2; i++) {
		struct rec_counter r = {
			.base = base(p, RECORD_DOMAIN_counter, COUNTER_OP_CALL, "counter"),
			.counter = p->counter,
			.value = values[i]};

		done(p, p->sink->counter(p->sink, &r));
	}
}

static void put_lost(struct producer *p)
{
	struct rec_sample s = {.base = base(p, RECORD_DOMAIN_sample, SAMPLE_OP_LOST, "sample")};
	struct rec_device_sample d = {.base = base(p, RECORD_DOMAIN_device_sample,
						   DEVICE_SAMPLE_OP_LOST, "device_sample"),
				      .agent = p->agent[0]};

	s.base.end = s.base.start;
	s.lost = number(p, "sample", "lost");
	done(p, p->sink->sample(p->sink, &s));
	d.base.end = d.base.start;
	d.lost = number(p, "device_sample", "lost");
	d.full = number(p, "device_sample", "full");
	done(p, p->sink->device_sample(p->sink, &d));
}

static void put_all(struct producer *p, uint32_t process)
{
	p->process = process;
	p->thread = process;
	p->agent[0] = 2 * process - 1;
	p->agent[1] = 2 * process;
	p->queue[0] = 2 * process - 1;
	p->queue[1] = 2 * process;
	p->context = p->kernel = p->counter = p->communicator = p->stack = p->code = process;
	p->now = TIME + 1000;
	p->id = 0;
	put_call(p);
	put_dispatches(p);
	put_copies(p);
	put_allocations(p);
	put_syncs(p);
	put_markers(p);
	put_messages(p);
	put_counters(p);
	put_samples(p);
	put_kernel_line(p);
	put_other(p, RECORD_DOMAIN_code_object, "code_object");
	put_other(p, RECORD_DOMAIN_kernel_symbol, "kernel_symbol");
	put_other(p, RECORD_DOMAIN_stream, "stream");
	put_other(p, RECORD_DOMAIN_thread, "thread");
	put_other(p, RECORD_DOMAIN_runtime_init, "runtime_init");
	put_other(p, RECORD_DOMAIN_scope, "scope");
	put_other(p, RECORD_DOMAIN_retirement, "retirement");
	put_failed_call(p);
	put_described(p);
	put_untimed(p);
	put_values(p);
	put_lost(p);
}

/* ---- main ------------------------------------------------------------------------------------ */

static void on_message(struct stream_log *l, int severity, const char *text)
{
	fprintf(stderr, "%d %s\n", severity, text);
}

static void write_all(struct producer *p)
{
	p->failed |= !begin(p);
	for (uint32_t i = 0; i < PROCESSES; i++)
		define(p, i);
	p->failed |=
		!keyed_complete(&p->k, TIME, TIME + INT64_C(1000000000)) || !make_complete(p->t);
	stream_sink_complete(p->sink);
	done(p, p->sink->begin(p->sink, p->t));
	for (uint32_t i = 1; !p->failed && i <= PROCESSES; i++)
		put_all(p, i);
	done(p, p->sink->end(p->sink, p->t));
}

int main(int argc, char **argv)
{
	static struct producer p;
	struct stream_log log = {on_message};
	const struct raw_origin origin = {.file = "every", .format = "every"};

	if (argc != 2) {
		fprintf(stderr, "usage: every_kind TRACE\n");
		return 2;
	}
	p.t = trace_new();
	p.k.t = p.t;
	if (!p.t || raw_writer_new(argv[1], &origin, &log, &p.sink) != KYMO_OK)
		return 1;
	write_all(&p);
	raw_writer_free(p.sink);
	keyed_release(&p.k);
	trace_free(p.t);
	return p.failed;
}
