/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI's activity records become ours. Times are those of the clock that CUPTI was given; what is
 * zero or ends before it starts is marked as not timed instead of being passed on.
 */
#include "capture/cuda/backend.h"
#include "core/tally/count.h"

/* Overheads that the program pays for being recorded; the others are its own or the driver's. */
enum {
	OVERHEAD_INSTRUMENTATION = 2,
	OVERHEAD_RESOURCE = 3,
	OVERHEAD_REQUEST = 7,
	OVERHEAD_UVM = 8
};

struct times {
	uint64_t start, duration, queued_before;
	enum untimed_reason untimed;
};

static struct times times_of(uint64_t start, uint64_t end, const struct cuda_submission *o)
{
	struct times t = {start, end - start, 0, UNTIMED_NO};
	uint64_t queued;

	if (start == 0 || end == 0)
		return (struct times){.untimed = UNTIMED_NOT_REPORTED};
	if (end < start)
		return (struct times){.untimed = UNTIMED_IMPOSSIBLE};
	if (o->start) {
		queued = cuda_clock_of_tick(o->start);
		t.queued_before = queued < start ? start - queued : 0;
	}
	return t;
}

static void count_untimed(const struct times *t)
{
	if (t->untimed != UNTIMED_NO)
		cap_count_untimed();
}

/* ---- kernels ---- */

static void dispatch_encode(struct wire_enc *e, const struct cupti_kernel *k,
			    const struct cuda_submission *o, const struct times *t)
{
	wire_unsigned(e, LAUNCH_CORRELATION, o->submission.call);
	wire_unsigned(e, LAUNCH_AGENT, cuda_agent(k->device));
	wire_unsigned(e, LAUNCH_QUEUE, cuda_queue(k->context, k->stream, k->device));
	wire_unsigned(e, LAUNCH_KERNEL, cuda_kernel(k->name));
	wire_unsigned(e, LAUNCH_START, t->start);
	wire_unsigned(e, LAUNCH_DURATION, t->duration);
	wire_unsigned(e, LAUNCH_QUEUED_BEFORE, t->queued_before);
	wire_unsigned(e, LAUNCH_SUBMITTED_BEFORE, t->queued_before);
	wire_unsigned(e, LAUNCH_DIMS, 3);
	for (unsigned i = 0; i < 3; i++)
		wire_unsigned(e, LAUNCH_GLOBAL_X + i,
			      (uint64_t)(uint32_t)k->grid[i] * (uint32_t)k->block[i]);
	for (unsigned i = 0; i < 3; i++)
		wire_unsigned(e, LAUNCH_LOCAL_X + i, (uint32_t)k->block[i]);
	wire_unsigned(e, LAUNCH_UNTIMED, t->untimed);
	wire_unsigned(e, LAUNCH_SUBMIT_TICK, o->start);
	wire_unsigned(e, LAUNCH_REGISTERS, k->registers);
	wire_unsigned(e, LAUNCH_STATIC_SHARED, (uint32_t)k->static_shared);
	wire_unsigned(e, LAUNCH_DYNAMIC_SHARED, (uint32_t)k->dynamic_shared);
	wire_unsigned(e, LAUNCH_LOCAL_MEMORY, k->local_thread);
	wire_array(e, LAUNCH_CLUSTER, k->cluster[0] ? k->cluster : NULL, 3, 4, 3);
	wire_unsigned(e, LAUNCH_GRAPH, k->graph);
	wire_unsigned(e, LAUNCH_GRAPH_NODE, k->graph_node);
}

static bool dispatch_count(const struct cupti_kernel *k, const struct cuda_submission *o,
			   const struct times *t)
{
	const struct cap_counted c = cap_counted_kernel(
		cuda_agent(k->device), cuda_queue(k->context, k->stream, k->device),
		cuda_kernel(k->name), t->duration, t->queued_before, t->untimed != UNTIMED_NO);

	return cap_count(&o->submission, &core_dispatch_ops[DISPATCH_OP_LAUNCH], &c);
}

static void kernel(const struct cupti_kernel *k)
{
	struct cap_op *op = &core_dispatch_ops[DISPATCH_OP_LAUNCH];
	uint64_t now = tick_now();
	struct cuda_submission o;
	struct cap_frame f;
	struct wire_enc e;
	struct times t;

	if (!cuda_submission_get(k->correlation, CUDA_WORK_LAUNCH, &o))
		cuda_driver_suspected();
	t = times_of(k->start, k->end, &o);
	cuda_flight_over(k->correlation, o.start, k->end != 0 || !atomic_load(&cuda_taking_all));
	count_untimed(&t);
	if (cap_counts(&o.submission) && dispatch_count(k, &o, &t))
		return;
	if (cap_activity_begin(&f, &e, op, &o.submission, now, now, LAUNCH_FIELDS)) {
		dispatch_encode(&e, k, &o, &t);
		cap_activity_commit(&f, &e);
	}
	cap_submission_end(&o.submission);
}

/* A whole graph as one, where that was asked for. */
static void graph(const struct cupti_graph *g)
{
	static const char name[] = "(CUDA graph)";
	const struct cupti_kernel k = {.start = g->start,
				       .end = g->end,
				       .device = g->device,
				       .context = g->context,
				       .stream = g->stream,
				       .correlation = g->correlation,
				       .name = name,
				       .graph = g->graph};

	kernel(&k);
}

/* ---- copies ---- */

struct copy {
	unsigned op;
	uint32_t context, stream, device, correlation, source, destination; /* agents */
	enum memory_kind source_kind, destination_kind;
	uint64_t bytes, start, end, graph, node, address, count;
	enum migration_cause cause;
	bool blocking, no_queue;
};

static enum memory_kind kind_of(unsigned cupti_kind)
{
	static const enum memory_kind kinds[] = {MEMORY_UNKNOWN,
						 MEMORY_HOST_PAGEABLE,
						 MEMORY_HOST_PINNED,
						 MEMORY_DEVICE,
						 MEMORY_DEVICE /* array */,
						 MEMORY_MANAGED,
						 MEMORY_DEVICE,
						 MEMORY_MANAGED};

	return cupti_kind < sizeof(kinds) / sizeof(kinds[0]) ? kinds[cupti_kind] : MEMORY_UNKNOWN;
}

static void copy_encode(struct wire_enc *e, const struct copy *c, const struct cuda_submission *o,
			const struct times *t)
{
	wire_unsigned(e, COPY_CORRELATION, o->submission.call);
	wire_unsigned(e, COPY_QUEUE,
		      c->no_queue ? 0 : cuda_queue(c->context, c->stream, c->device));
	wire_unsigned(e, COPY_SOURCE_AGENT, c->source);
	wire_unsigned(e, COPY_DESTINATION_AGENT, c->destination);
	wire_unsigned(e, COPY_BYTES, c->bytes);
	wire_unsigned(e, COPY_SOURCE_KIND, c->source_kind);
	wire_unsigned(e, COPY_DESTINATION_KIND, c->destination_kind);
	wire_unsigned(e, COPY_START, t->start);
	wire_unsigned(e, COPY_DURATION, t->duration);
	wire_unsigned(e, COPY_QUEUED_BEFORE, t->queued_before);
	wire_unsigned(e, COPY_SUBMITTED_BEFORE, t->queued_before);
	wire_unsigned(e, COPY_BLOCKING, c->blocking);
	wire_signed(e, COPY_STATUS, 0, 4);
	wire_unsigned(e, COPY_UNTIMED, t->untimed);
	wire_unsigned(e, COPY_SUBMIT_TICK, o->start);
	wire_unsigned(e, COPY_GRAPH, c->graph);
	wire_unsigned(e, COPY_GRAPH_NODE, c->node);
	wire_pointer(e, COPY_ADDRESS, (const void *)(uintptr_t)c->address);
	wire_unsigned(e, COPY_CAUSE, c->cause);
	wire_unsigned(e, COPY_COUNT, c->count);
}

static bool copy_count(const struct copy *c, const struct cuda_submission *o, const struct times *t)
{
	const struct cap_counted counted = {
		.kind = WIRE_TALLY_COPY,
		.untimed = t->untimed != UNTIMED_NO,
		.key = {[WIRE_KEY_COPY_QUEUE] =
				c->no_queue ? 0 : cuda_queue(c->context, c->stream, c->device),
			[WIRE_KEY_COPY_SOURCE_AGENT] = c->source,
			[WIRE_KEY_COPY_DESTINATION_AGENT] = c->destination,
			[WIRE_KEY_COPY_KINDS] =
				cap_counted_kinds(c->source_kind, c->destination_kind)},
		.bytes = c->bytes,
		.duration = t->duration,
		.wait = t->queued_before};

	return cap_count(&o->submission, &core_copy_ops[c->op], &counted);
}

static enum cuda_work work_of(unsigned op)
{
	return op == COPY_OP_READ    ? CUDA_WORK_READ
	       : op == COPY_OP_WRITE ? CUDA_WORK_WRITE
	       : op == COPY_OP_FILL  ? CUDA_WORK_FILL
				     : CUDA_WORK_COPY;
}

static void copy(const struct copy *c)
{
	uint64_t now = tick_now();
	struct cap_op *op = &core_copy_ops[c->op];
	struct cuda_submission o = {0};
	struct cap_frame f;
	struct wire_enc e;
	struct times t;

	if (c->correlation) {
		cuda_submission_get(c->correlation, work_of(c->op), &o);
		cuda_flight_over(c->correlation, o.start,
				 c->end != 0 || !atomic_load(&cuda_taking_all));
	} else { /* by the driver, of itself */
		cap_submission_take(&o.submission, NULL, op, NULL);
	}
	t = times_of(c->start, c->end, &o);
	count_untimed(&t);
	if (cap_counts(&o.submission) && copy_count(c, &o, &t))
		return;
	if (cap_activity_begin(&f, &e, op, &o.submission, now, now, COPY_FIELDS)) {
		copy_encode(&e, c, &o, &t);
		cap_activity_commit(&f, &e);
	}
	cap_submission_end(&o.submission);
}

static unsigned op_of(unsigned copy_kind)
{
	return copy_kind == CUPTI_HTOD || copy_kind == CUPTI_HTOA   ? COPY_OP_WRITE
	       : copy_kind == CUPTI_DTOH || copy_kind == CUPTI_ATOH ? COPY_OP_READ
								    : COPY_OP_COPY;
}

static void memcpy_record(const struct cupti_memcpy *m)
{
	const unsigned op = op_of(m->copy_kind);
	const uint32_t agent = cuda_agent(m->device);
	const bool host = m->copy_kind == CUPTI_HTOH;
	const struct copy c = {.op = op,
			       .context = m->context,
			       .stream = m->stream,
			       .device = m->device,
			       .correlation = m->correlation,
			       .source = op == COPY_OP_WRITE || host ? 0 : agent,
			       .destination = op == COPY_OP_READ || host ? 0 : agent,
			       .source_kind = kind_of(m->source_kind),
			       .destination_kind = kind_of(m->destination_kind),
			       .bytes = m->bytes,
			       .start = m->start,
			       .end = m->end,
			       .graph = m->graph,
			       .node = m->graph_node,
			       .blocking = !(m->flags & CUPTI_ASYNC)};

	copy(&c);
}

static void memcpy2_record(const struct cupti_memcpy2 *m)
{
	const struct copy c = {.op = COPY_OP_COPY,
			       .context = m->context,
			       .stream = m->stream,
			       .device = m->device,
			       .correlation = m->correlation,
			       .source = cuda_agent(m->source_device),
			       .destination = cuda_agent(m->destination_device),
			       .source_kind = kind_of(m->source_kind),
			       .destination_kind = kind_of(m->destination_kind),
			       .bytes = m->bytes,
			       .start = m->start,
			       .end = m->end,
			       .graph = m->graph,
			       .node = m->graph_node,
			       .blocking = !(m->flags & CUPTI_ASYNC)};

	copy(&c);
}

static void memset_record(const struct cupti_memset *m)
{
	const struct copy c = {.op = COPY_OP_FILL,
			       .context = m->context,
			       .stream = m->stream,
			       .device = m->device,
			       .correlation = m->correlation,
			       .source = cuda_agent(m->device),
			       .destination = cuda_agent(m->device),
			       .destination_kind = kind_of(m->memory_kind),
			       .bytes = m->bytes,
			       .start = m->start,
			       .end = m->end,
			       .graph = m->graph,
			       .node = m->graph_node,
			       .blocking = !(m->flags & CUPTI_ASYNC)};

	copy(&c);
}

/* ---- unified memory ---- */

static uint32_t counter_agent(uint32_t device)
{
	return device == CUPTI_CPU ? 0 : cuda_agent(device);
}

static void counter(const struct cupti_memory_counter *m)
{
	struct copy c = {.no_queue = true,
			 .address = m->address,
			 .start = m->start,
			 .end = m->end,
			 .source_kind = MEMORY_MANAGED,
			 .destination_kind = MEMORY_MANAGED};

	switch (m->counter) {
	case CUPTI_COUNTER_HTOD:
	case CUPTI_COUNTER_DTOH:
	case CUPTI_COUNTER_DTOD:
		c.op = COPY_OP_MIGRATE;
		c.bytes = m->value;
		c.cause = m->flags <= MIGRATION_ACCESS_COUNTERS ? (enum migration_cause)m->flags
								: MIGRATION_UNKNOWN;
		break;
	case CUPTI_COUNTER_CPU_FAULTS:
		c.op = COPY_OP_FAULT;
		c.count = m->value;
		c.end = c.end ? c.end : c.start; /* a point in time */
		break;
	case CUPTI_COUNTER_GPU_FAULTS:
		c.op = COPY_OP_FAULT;
		c.count = m->value;
		break;
	default:
		return;
	}
	if (m->counter != CUPTI_COUNTER_HTOD && m->counter != CUPTI_COUNTER_CPU_FAULTS)
		c.source = counter_agent(m->source);
	if (m->counter == CUPTI_COUNTER_HTOD || m->counter == CUPTI_COUNTER_DTOD)
		c.destination = counter_agent(m->destination);
	copy(&c);
}

/* ---- the rest ---- */

static void overhead(const struct cupti_overhead *o)
{
	const uint32_t what = o->overhead >> 16;

	cuda_driver_overhead(what, o->start, o->end);
	if (o->end > o->start && (what == OVERHEAD_INSTRUMENTATION || what == OVERHEAD_RESOURCE ||
				  what == OVERHEAD_REQUEST || what == OVERHEAD_UVM))
		cap_cost(CAP_COST_PROGRAM,
			 (uint64_t)((double)(o->end - o->start) * (double)tick_rate() / 1e9));
}

static void context(const struct cupti_context *c)
{
	cuda_device_context(c->context, c->device, NULL);
}

void cuda_record(const struct cupti_record *r)
{
	switch ((enum cupti_kind)r->kind) {
	case CUPTI_KERNEL:
	case CUPTI_CONCURRENT_KERNEL:
		kernel((const struct cupti_kernel *)r);
		break;
	case CUPTI_MEMCPY:
		memcpy_record((const struct cupti_memcpy *)r);
		break;
	case CUPTI_MEMCPY2:
		memcpy2_record((const struct cupti_memcpy2 *)r);
		break;
	case CUPTI_MEMSET:
		memset_record((const struct cupti_memset *)r);
		break;
	case CUPTI_UNIFIED_MEMORY_COUNTER:
		counter((const struct cupti_memory_counter *)r);
		break;
	case CUPTI_GRAPH_TRACE:
		graph((const struct cupti_graph *)r);
		break;
	case CUPTI_DEVICE:
		cuda_agent_describe((const struct cupti_device *)r);
		break;
	case CUPTI_CONTEXT:
		context((const struct cupti_context *)r);
		break;
	case CUPTI_OVERHEAD:
		overhead((const struct cupti_overhead *)r);
		break;
	case CUPTI_JIT:
		cuda_jit_record((const struct cupti_jit *)r);
		break;
	case CUPTI_MEMORY_POOL:
		cuda_pool_record((const struct cupti_pool *)r);
		break;
	}
}
