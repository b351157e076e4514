/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as records, in the order of their ends; see reader.h. */
#include <string.h>

#include "base/hash.h"
#include "formats/rocprofv3/reader.h"

static kymo_status_t deliver_call(struct rp_reader *r, struct stream_sink *sink,
				  const struct assembly_item *i, const struct rp_row *row)
{
	struct rec c = assembly_base(&r->all, i);

	c.op = row->op;
	c.id = i->key;
	c.external = row->external;
	if (row->has_status) {
		c.status = (int32_t)row->status;
		c.ok = !row->status;
	}
	if (row->values) {
		make_fields_begin(&r->fields, &r->t->ops[c.op]);
		make_text(&r->fields, (const char *)(row + 1), row->values);
		c.wire = make_fields_end(&r->fields);
	}
	return sink->call(sink, &c);
}

static kymo_status_t deliver_marker(struct rp_reader *r, struct stream_sink *sink,
				    const struct assembly_item *i, const struct rp_row *row)
{
	static const uint32_t ops[] = {[ASSEMBLY_RANGE] = MARKER_OP_RANGE,
				       [ASSEMBLY_PROCESS_RANGE] = MARKER_OP_PROCESS_RANGE,
				       [ASSEMBLY_MARK] = MARKER_OP_MARK};
	struct rec_marker m = {.base = assembly_base(&r->all, i),
			       .scope = i->kind == ASSEMBLY_MARK ? 0 : i->number,
			       .name = row->name};

	m.text = r->t->strings[m.name].text;
	m.text_length = r->t->strings[m.name].length;
	m.starter = i->kind == ASSEMBLY_PROCESS_RANGE ? i->thread : 0;
	m.base.op = make_activity(&r->model, RECORD_DOMAIN_marker, ops[i->kind]);
	return sink->marker(sink, &m);
}

/* The call may not have been recorded: its number is what ties the records of its work. */
static uint64_t call_of(const struct rp_reader *r, const struct assembly_item *i)
{
	const struct assembly_item *call = assembly_call(&r->all, i);

	return call ? call->key : i->key;
}

static struct rec_device device_of(const struct rp_reader *r, const struct assembly_item *i)
{
	struct rec_device d = assembly_device(&r->all, i);

	d.correlation = call_of(r, i);
	return d;
}

static kymo_status_t deliver_kernel(struct rp_reader *r, struct stream_sink *sink,
				    const struct assembly_item *i, const struct rp_row *row)
{
	struct rec_dispatch d = {.base = assembly_base(&r->all, i),
				 .device = device_of(r, i),
				 .agent = row->agent_index,
				 .queue = row->queue_index,
				 .kernel = row->kernel_index,
				 .launch.registers = row->registers,
				 .launch.static_shared = row->shared,
				 .launch.local_memory = row->scratch};

	d.base.external = row->external;
	d.dims = row->grid[2] > 1 ? 3 : row->grid[1] > 1 ? 2 : 1;
	for (uint32_t k = 0; k < d.dims; k++) {
		d.global[k] = row->grid[k];
		d.local[k] = row->group[k];
	}
	d.base.op = make_activity(&r->model, RECORD_DOMAIN_dispatch,
				  rec_launch_is_set(&d.launch) ? DISPATCH_OP_LAUNCH
							       : DISPATCH_OP_KERNEL);
	return sink->dispatch(sink, &d);
}

static kymo_status_t deliver_copy(struct rp_reader *r, struct stream_sink *sink,
				  const struct assembly_item *i, const struct rp_row *row)
{
	const char *direction = keyed_string(&r->keyed, row->name);
	bool from_host = strstr(direction, "HOST_TO") != NULL;
	bool to_host = strstr(direction, "TO_HOST") != NULL;
	struct rec_copy c = {.base = assembly_base(&r->all, i),
			     .device = device_of(r, i),
			     .bytes = row->bytes,
			     .queue = row->queue_index,
			     .source_agent = row->from_index,
			     .destination_agent = row->agent_index,
			     .source_kind = from_host ? MEMORY_UNKNOWN : MEMORY_DEVICE,
			     .destination_kind = to_host ? MEMORY_UNKNOWN : MEMORY_DEVICE};

	c.base.external = row->external;
	c.base.op = make_activity(&r->model, RECORD_DOMAIN_copy,
				  from_host == to_host ? COPY_OP_COPY
				  : from_host          ? COPY_OP_WRITE
						       : COPY_OP_READ);
	return sink->copy(sink, &c);
}

/* An address is an allocation's until it is freed. */
static kymo_status_t deliver_memory(struct rp_reader *r, struct stream_sink *sink,
				    const struct assembly_item *i, const struct rp_row *row)
{
	const char *op = keyed_string(&r->keyed, row->name);
	bool frees = strstr(op, "FREE") != NULL;
	uint64_t key = hash_mix(hash_u64(i->process), row->address);
	uint64_t known = frees ? map_remove(&r->live, key) : 0;
	struct rec_allocation a = {.base = assembly_base(&r->all, i),
				   .correlation = call_of(r, i),
				   .agent = row->agent_index,
				   .kind = row->agent_index ? MEMORY_DEVICE : MEMORY_UNKNOWN,
				   .what = strstr(op, "VMEM") ? ALLOCATION_PHYSICAL
							      : ALLOCATION_BUFFER,
				   .bytes = row->bytes,
				   .address = row->address,
				   .allocation = known ? known : ++r->allocations};

	if (!frees && !map_set(&r->live, key, a.allocation))
		return KYMO_ERROR_NO_MEMORY;
	a.base.external = row->external;
	a.base.op = make_activity(&r->model, RECORD_DOMAIN_allocation,
				  frees ? ALLOCATION_OP_FREE : ALLOCATION_OP_ALLOCATE);
	return sink->allocation(sink, &a);
}

static kymo_status_t deliver_counter(struct rp_reader *r, struct stream_sink *sink,
				     const struct assembly_item *i, const struct rp_row *row)
{
	struct rec_counter c = {.base = assembly_base(&r->all, i),
				.correlation = call_of(r, i),
				.counter = row->counter_index,
				.value = row->value,
				.agent = row->agent_index,
				.kernel = row->kernel_index};

	c.base.op = make_activity(&r->model, RECORD_DOMAIN_counter, COUNTER_OP_DISPATCH);
	return sink->counter(sink, &c);
}

static kymo_status_t deliver(void *data, struct stream_sink *sink, const struct assembly_item *i)
{
	struct rp_reader *r = data;
	const struct rp_row *row = rp_row_of(r, i);

	if (row->left_out)
		return KYMO_OK;
	switch (row->what) {
	case ROW_CALL:
		return deliver_call(r, sink, i, row);
	case ROW_MARKER:
		return deliver_marker(r, sink, i, row);
	case ROW_KERNEL:
		return deliver_kernel(r, sink, i, row);
	case ROW_COPY:
		return deliver_copy(r, sink, i, row);
	case ROW_MEMORY:
		return deliver_memory(r, sink, i, row);
	default:
		return deliver_counter(r, sink, i, row);
	}
}

kymo_status_t rp_deliver(struct rp_reader *r, struct stream_sink *sink)
{
	return assembly_hand_on(&r->all, r->t, sink, deliver, r, r->o->progress,
				r->o->progress_data);
}
