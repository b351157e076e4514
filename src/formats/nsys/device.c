/* SPDX-License-Identifier: Apache-2.0 */
/* Work of devices, their memory and waits for them as records; see reader.h. */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "formats/nsys/columns.h"
#include "formats/nsys/reader.h"
#include "record/fields.h"

/* ---- where it was ------------------------------------------------------------------------------ */

static uint32_t agent_of(struct reader *r, const struct assembly_item *i, const struct dbrow *row)
{
	return dbrow_has(row, C_WORK_DEVICE)
		       ? nsys_agent(r, i->process, nsys_number(r, row, C_WORK_DEVICE))
		       : 0;
}

static uint32_t queue_of(struct reader *r, const struct assembly_item *i, const struct dbrow *row)
{
	if (!dbrow_has(row, C_WORK_STREAM))
		return 0;
	return nsys_queue(r, i->process, agent_of(r, i, row), nsys_number(r, row, C_WORK_CONTEXT),
			  nsys_number(r, row, C_WORK_STREAM));
}

static uint32_t graph_name(struct reader *r, const struct dbrow *row)
{
	char name[48];
	int n = snprintf(name, sizeof(name), "CUDA graph %lld",
			 (long long)nsys_number(r, row, C_GRAPH_ID));

	return keyed_text(&r->keyed, name, (size_t)n);
}

static uint32_t kernel_of(struct reader *r, const struct assembly_item *i, const struct dbrow *row)
{
	uint32_t name, mangled;

	if (i->source == T_GRAPH)
		return keyed_kernel(&r->keyed, i->process, graph_name(r, row), 0, "cuda");
	name = nsys_text(r, nsys_number(r, row, C_KERNEL_NAME));
	mangled = dbrow_has(row, C_KERNEL_MANGLED)
			  ? nsys_text(r, nsys_number(r, row, C_KERNEL_MANGLED))
			  : 0;
	if (!name)
		name = nsys_text(r, nsys_number(r, row, C_KERNEL_SHORT));
	name = name ? name : mangled;
	return keyed_kernel(&r->keyed, i->process, name, 0, "cuda");
}

/* An end of a copy: the host, another device, or where the copy was. */
static uint32_t end_of(struct reader *r, const struct assembly_item *i, const struct dbrow *row,
		       unsigned column, bool host)
{
	if (host)
		return 0;
	if (dbrow_has(row, column))
		return nsys_agent(r, i->process, nsys_number(r, row, column));
	return agent_of(r, i, row);
}

static bool from_host(uint32_t way)
{
	return way == COPY_KIND_HTOD || way == COPY_KIND_HTOA || way == COPY_KIND_HTOH ||
	       way == COPY_KIND_UVM_HTOD;
}

static bool to_host(uint32_t way)
{
	return way == COPY_KIND_DTOH || way == COPY_KIND_ATOH || way == COPY_KIND_HTOH ||
	       way == COPY_KIND_UVM_DTOH;
}

static uint32_t way_of(const struct reader *r, const struct dbrow *row)
{
	return nsys_enum(r, T_ENUM_COPY, dbrow_number(row, C_COPY_WAY, NULL));
}

void nsys_define_work(struct reader *r)
{
	struct dbwalk *walks = nsys_walks(r);
	struct source_row x;

	r->failed |= !walks;
	for (uint32_t n = 0; n < r->all.count && !r->failed; n++) {
		const struct assembly_item *i = &r->all.items[n], *call;

		if (i->kind != ASSEMBLY_WORK || !nsys_row(r, walks, i, &x))
			continue;
		queue_of(r, i, &x.row);
		agent_of(r, i, &x.row);
		if (i->source == T_KERNEL || i->source == T_GRAPH)
			kernel_of(r, i, &x.row);
		if (i->source == T_COPY) {
			end_of(r, i, &x.row, C_COPY_FROM, from_host(way_of(r, &x.row)));
			end_of(r, i, &x.row, C_COPY_TO, to_host(way_of(r, &x.row)));
		}
		call = assembly_call(&r->all, i);
		if (call && i->source <= T_FILL)
			r->t->ops[call->number].flags |= KYMO_OP_SUBMITS;
	}
	nsys_walks_end(r, walks);
}

/* ---- kernels ----------------------------------------------------------------------------------- */

static uint64_t size_at(struct reader *r, const struct dbrow *row, unsigned column)
{
	int64_t v = nsys_number(r, row, column);

	if (v >= 0 && v <= INT64_C(1) << 48)
		return (uint64_t)v;
	unplaced_add(&r->left_out, "numbers out of range", 1);
	return 0;
}

static kymo_status_t deliver_kernel(struct reader *r, struct stream_sink *sink,
				    const struct assembly_item *i, const struct dbrow *row)
{
	struct rec_dispatch d = {.base = assembly_base(&r->all, i),
				 .device = assembly_device(&r->all, i),
				 .agent = agent_of(r, i, row),
				 .queue = queue_of(r, i, row),
				 .kernel = kernel_of(r, i, row),
				 .dims = 3};
	bool kernel = i->source == T_KERNEL;

	for (unsigned k = 0; k < 3 && kernel; k++) {
		uint64_t grid = size_at(r, row, C_KERNEL_GRID + k) & UINT32_MAX;

		d.local[k] = size_at(r, row, C_KERNEL_BLOCK + k) & UINT32_MAX;
		d.global[k] = grid * (d.local[k] ? d.local[k] : 1);
	}
	if (kernel)
		d.launch = (struct rec_launch){.registers = size_at(r, row, C_KERNEL_REGISTERS),
					       .static_shared = size_at(r, row, C_KERNEL_STATIC),
					       .dynamic_shared = size_at(r, row, C_KERNEL_DYNAMIC),
					       .local_memory = size_at(r, row, C_KERNEL_LOCAL)};
	else
		d.launch.graph = size_at(r, row, C_GRAPH_EXEC);
	if (kernel)
		d.launch.graph = size_at(r, row, C_KERNEL_GRAPH);
	for (unsigned k = 0; k < 3 && kernel; k++)
		d.launch.cluster[k] = (uint32_t)size_at(r, row, C_KERNEL_CLUSTER + k);
	d.launch.graph_node = (uint64_t)nsys_number(r, row, C_WORK_NODE);
	d.base.op = make_activity(&r->model, RECORD_DOMAIN_dispatch,
				  rec_launch_is_set(&d.launch) ? DISPATCH_OP_LAUNCH
							       : DISPATCH_OP_KERNEL);
	return sink->dispatch(sink, &d);
}

/* ---- copies ------------------------------------------------------------------------------------ */

static uint8_t memory_kind(const struct reader *r, const struct dbrow *row, unsigned column)
{
	static const uint8_t kinds[] = {MEMORY_HOST_PAGEABLE, MEMORY_HOST_PINNED, MEMORY_DEVICE,
					MEMORY_DEVICE,        MEMORY_MANAGED,     MEMORY_DEVICE,
					MEMORY_MANAGED};
	uint32_t kind = dbrow_has(row, column)
				? nsys_enum(r, T_ENUM_MEMORY, dbrow_number(row, column, NULL))
				: UINT32_MAX;

	return kind < sizeof(kinds) ? kinds[kind] : MEMORY_UNKNOWN;
}

static uint32_t copy_op(uint32_t way)
{
	return way >= COPY_KIND_UVM_HTOD && way <= COPY_KIND_UVM_DTOD ? COPY_OP_MIGRATE
	       : from_host(way) && !to_host(way)                      ? COPY_OP_WRITE
	       : to_host(way) && !from_host(way)                      ? COPY_OP_READ
								      : COPY_OP_COPY;
}

static uint32_t cause_of(struct reader *r, const struct dbrow *row)
{
	int64_t cause = nsys_number(r, row, C_COPY_CAUSE);

	return cause > 0 && cause <= MIGRATION_ACCESS_COUNTERS ? (uint32_t)cause
							       : MIGRATION_UNKNOWN;
}

static kymo_status_t deliver_copy(struct reader *r, struct stream_sink *sink,
				  const struct assembly_item *i, const struct dbrow *row)
{
	uint32_t way = way_of(r, row);
	struct rec_copy c = {.base = assembly_base(&r->all, i),
			     .device = assembly_device(&r->all, i),
			     .queue = queue_of(r, i, row),
			     .source_agent = end_of(r, i, row, C_COPY_FROM, from_host(way)),
			     .destination_agent = end_of(r, i, row, C_COPY_TO, to_host(way)),
			     .bytes = size_at(r, row, C_COPY_BYTES),
			     .source_kind = memory_kind(r, row, C_COPY_FROM_KIND),
			     .destination_kind = memory_kind(r, row, C_COPY_TO_KIND),
			     .graph_node = (uint64_t)nsys_number(r, row, C_WORK_NODE),
			     .address = (uint64_t)nsys_number(r, row, C_COPY_ADDRESS)};

	if (copy_op(way) == COPY_OP_MIGRATE)
		c.cause = cause_of(r, row);
	if (way == UINT32_MAX)
		unplaced_add(&r->left_out, "directions of copies that are not known", 1);
	c.base.op = make_activity(&r->model, RECORD_DOMAIN_copy, copy_op(way));
	return sink->copy(sink, &c);
}

static kymo_status_t deliver_fill(struct reader *r, struct stream_sink *sink,
				  const struct assembly_item *i, const struct dbrow *row)
{
	struct rec_copy c = {.base = assembly_base(&r->all, i),
			     .device = assembly_device(&r->all, i),
			     .queue = queue_of(r, i, row),
			     .source_agent = agent_of(r, i, row),
			     .destination_agent = agent_of(r, i, row),
			     .bytes = size_at(r, row, C_FILL_BYTES),
			     .destination_kind = memory_kind(r, row, C_FILL_KIND),
			     .graph_node = (uint64_t)nsys_number(r, row, C_WORK_NODE)};

	c.base.op = make_activity(&r->model, RECORD_DOMAIN_copy, COPY_OP_FILL);
	return sink->copy(sink, &c);
}

/* A processor, or a device, touched pages of unified memory that were elsewhere. */
static kymo_status_t deliver_fault(struct reader *r, struct stream_sink *sink,
				   const struct assembly_item *i, const struct dbrow *row)
{
	struct rec_copy c = {.base = assembly_base(&r->all, i),
			     .device = assembly_device(&r->all, i),
			     .source_agent = agent_of(r, i, row),
			     .source_kind = MEMORY_MANAGED,
			     .destination_kind = MEMORY_MANAGED,
			     .address = (uint64_t)nsys_number(r, row, C_FAULT_ADDRESS),
			     .faults = 1};

	if (i->source == T_GPU_FAULT)
		c.faults = size_at(r, row, C_FAULT_COUNT);
	c.base.op = make_activity(&r->model, RECORD_DOMAIN_copy, COPY_OP_FAULT);
	return sink->copy(sink, &c);
}

/* ---- waits and memory -------------------------------------------------------------------------- */

static kymo_status_t deliver_sync(struct reader *r, struct stream_sink *sink,
				  const struct assembly_item *i, const struct dbrow *row)
{
	uint32_t type = nsys_enum(r, T_ENUM_SYNC, nsys_number(r, row, C_SYNC_TYPE));
	const struct assembly_item *call = assembly_call(&r->all, i);
	bool event = type == WAIT_EVENT || type == WAIT_QUEUE_EVENT;
	struct rec_sync y = {.base = assembly_base(&r->all, i),
			     .correlation = call ? call->key : 0,
			     .queue = type == WAIT_CONTEXT ? 0 : queue_of(r, i, row),
			     .count = event,
			     .event = event ? (uint64_t)nsys_number(r, row, C_SYNC_EVENT) : 0};

	y.base.op = make_activity(&r->model, RECORD_DOMAIN_sync,
				  type == WAIT_EVENT         ? SYNC_OP_EVENTS
				  : type == WAIT_QUEUE_EVENT ? SYNC_OP_BARRIER
				  : type == WAIT_STREAM      ? SYNC_OP_QUEUE
							     : SYNC_OP_DEVICE);
	return sink->sync(sink, &y);
}

static kymo_status_t deliver_event(struct reader *r, struct stream_sink *sink,
				   const struct assembly_item *i, const struct dbrow *row)
{
	const struct assembly_item *call = assembly_call(&r->all, i);
	struct rec_sync y = {.base = assembly_base(&r->all, i),
			     .correlation = call ? call->key : 0,
			     .queue = queue_of(r, i, row),
			     .count = 1,
			     .event = (uint64_t)nsys_number(r, row, C_EVENT_ID)};

	y.base.op = make_activity(&r->model, RECORD_DOMAIN_sync, SYNC_OP_EVENT_RECORD);
	return sink->sync(sink, &y);
}

static bool follow_lifetime(struct reader *r, struct rec_allocation *a, bool gone)
{
	uint64_t key = hash_mix(hash_u64(a->base.process), a->address);
	uint64_t known = gone ? map_remove(&r->live, key) : 0;

	a->allocation = known ? known : ++r->allocations;
	return gone || map_set(&r->live, key, a->allocation);
}

static kymo_status_t deliver_usage(struct reader *r, struct stream_sink *sink,
				   const struct assembly_item *i, const struct dbrow *row)
{
	const struct assembly_item *call = assembly_call(&r->all, i);
	uint32_t what = nsys_enum(r, T_ENUM_USAGE, nsys_number(r, row, C_USAGE_WHAT));
	struct rec_allocation a = {.base = assembly_base(&r->all, i),
				   .correlation = call ? call->key : 0,
				   .agent = agent_of(r, i, row),
				   .kind = memory_kind(r, row, C_USAGE_KIND),
				   .what = ALLOCATION_BUFFER,
				   .bytes = size_at(r, row, C_USAGE_BYTES),
				   .address = (uint64_t)nsys_number(r, row, C_USAGE_ADDRESS)};

	if (what == UINT32_MAX) {
		unplaced_lose(&r->left_out, "memory events of other types", 1);
		return KYMO_OK;
	}
	if (a.kind == MEMORY_HOST_PAGEABLE || a.kind == MEMORY_HOST_PINNED)
		a.agent = 0;
	a.base.op = make_activity(&r->model, RECORD_DOMAIN_allocation,
				  what == USAGE_FREE ? ALLOCATION_OP_FREE : ALLOCATION_OP_ALLOCATE);
	if (!follow_lifetime(r, &a, what == USAGE_FREE))
		return KYMO_ERROR_NO_MEMORY;
	return sink->allocation(sink, &a);
}

kymo_status_t nsys_deliver_work(struct reader *r, struct stream_sink *sink,
				const struct assembly_item *i, const struct dbrow *row)
{
	switch (i->source) {
	case T_KERNEL:
	case T_GRAPH:
		return deliver_kernel(r, sink, i, row);
	case T_COPY:
		return deliver_copy(r, sink, i, row);
	case T_FILL:
		return deliver_fill(r, sink, i, row);
	case T_SYNC:
		return deliver_sync(r, sink, i, row);
	case T_EVENT:
		return deliver_event(r, sink, i, row);
	case T_CPU_FAULT:
	case T_GPU_FAULT:
		return deliver_fault(r, sink, i, row);
	default:
		return deliver_usage(r, sink, i, row);
	}
}
