/* SPDX-License-Identifier: Apache-2.0 */
/* Answers from the tables of the program's objects; the runtime is not asked. */
#include "capture/opencl/answer.h"

#include "capture/opencl/memory.h"
#include "capture/opencl/queue.h"

_Static_assert((int)KYMO_MEMORY_PINNED == (int)MEMORY_HOST_PINNED &&
		       (int)KYMO_MEMORY_SHARED == (int)MEMORY_SHARED,
	       "kinds of memory are those of records");

_Thread_local cl_command_queue ocl_last_queue __attribute__((tls_model("initial-exec")));

static bool queue(uint64_t handle, bool given, kymo_queue_info_t *out)
{
	const void *of = given ? (const void *)(uintptr_t)handle : ocl_last_queue;
	const struct ocl_queue *q = of ? (struct ocl_queue *)ocl_find(OCL_QUEUE, of) : NULL;

	if (!q)
		return false;
	out->queue = q->object.id;
	out->agent = q->agent;
	out->context = q->context;
	out->handle = (uintptr_t)q->object.handle;
	return true;
}

static void fill(kymo_pointer_t *out, uint8_t kind, uint64_t base, uint64_t bytes, uint32_t id)
{
	out->kind = (kymo_memory_kind_t)kind;
	out->base = base;
	out->bytes = bytes;
	out->allocation = id;
}

static bool pointer(const void *address, kymo_pointer_t *out)
{
	struct cap_memory r = ocl_range_of(address);
	const struct ocl_mem *m;

	if (r.bytes) {
		fill(out, r.kind, r.address, r.bytes, r.id);
		out->agent = r.agent;
		out->context = r.context;
		return true;
	}
	m = (struct ocl_mem *)ocl_find(OCL_MEM, address);
	if (!m)
		return false;
	fill(out, m->memory, (uintptr_t)m->object.handle, m->bytes, m->object.id);
	out->agent = m->agent;
	out->context = m->context;
	return true;
}

const struct cap_answers ocl_answers = {
	.queue_type = "cl_command_queue",
	.queue = queue,
	.pointer = pointer,
};
