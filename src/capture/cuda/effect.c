/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What calls do besides being calls: memory obtained and given back, waits, events put into
 * streams, streams made, code loaded. Recorded on the program's thread when the call is over, where
 * the times are exact and the arguments at hand.
 */
#include <string.h>

#include "capture/cuda/backend.h"
#include "core/activity/lifetime.h"

/* ---- what was allocated ---- */

static struct cap_lifetimes allocations = CAP_LIFETIMES; /* by address */

/* There is no CUDA in a child. */
void cuda_effects_fork_child(void)
{
	cap_lifetimes_drop(&allocations);
}

/* ---- arguments ---- */

static uint64_t argument(const void *params, uint16_t offset, bool after, unsigned size)
{
	const void *at = (const char *)params + offset - 1;
	uint32_t narrow;
	void *target;
	uint64_t v;

	if (offset == 0)
		return 0;
	if (after) {
		memcpy(&target, at, sizeof(target));
		if (!target)
			return 0;
		at = target;
	}
	if (size == 4) {
		memcpy(&narrow, at, 4);
		return narrow;
	}
	memcpy(&v, at, 8);
	return v;
}

static uint64_t object(const struct cuda_role *r, const struct cupti_callback *d)
{
	const bool narrow = r->narrow && r->kind != MEMORY_HOST_PINNED;

	return argument(d->params, r->object, r->after_object, narrow ? 4 : 8);
}

static uint32_t queue(const struct cuda_role *r, const struct cupti_callback *d)
{
	if (!r->queue)
		return 0;
	return cuda_queue_of(d->context, d->context_id,
			     (void *)(uintptr_t)argument(d->params, r->queue, false, 8));
}

/* ---- records ---- */

static void allocation_record(const struct cap_frame *f, unsigned op, uint64_t call,
			      const struct cap_memory *a)
{
	const struct cap_allocation record = {a->address, a->bytes,   a->id,   0,
					      a->agent,   a->context, a->kind, a->what};

	cap_allocation_record(f, call, op, &record);
}

static void allocate(const struct cuda_role *r, const struct cap_frame *f, uint64_t call,
		     const struct cupti_callback *d)
{
	struct cap_memory a = {.born = f->end, .kind = r->kind, .what = r->what};
	const uint32_t device = cuda_device_of(d->context_id);

	a.address = object(r, d);
	if (a.address == 0)
		return;
	a.bytes = argument(d->params, r->bytes, r->after_bytes, r->narrow ? 4 : 8);
	if (r->role == CUDA_ROLE_ALLOCATE_PITCH)
		a.bytes *= argument(d->params, r->rows, false, r->narrow ? 4 : 8);
	a.id = cap_new_allocation();
	if (r->kind == MEMORY_DEVICE)
		a.agent = cuda_agent(device);
	if (d->context_id)
		a.context = cuda_device_context(d->context_id, device, d->context);
	cap_lifetime_begin(&allocations, a.address, &a);
	allocation_record(f, ALLOCATION_OP_ALLOCATE, call, &a);
	if (r->kind == MEMORY_MANAGED)
		cuda_managed_memory_seen();
}

static void record_free(const struct cuda_role *r, const struct cap_frame *f, uint64_t call,
			const struct cupti_callback *d)
{
	struct cap_memory a = {.address = object(r, d)};

	if (a.address == 0)
		return;
	cap_lifetime_end(&allocations, a.address, f->start, &a); /* else: nobody saw it begin */
	allocation_record(f, ALLOCATION_OP_FREE, call, &a);
}

static void sync(const struct cuda_role *r, const struct cap_frame *f, unsigned op, uint64_t call,
		 const struct cupti_callback *d)
{
	uint64_t event = object(r, d);

	uint32_t id;

	if (!cap_call_wants(CAP_ACTIVITY_SYNC)) /* asking for the queue may make a definition */
		return;
	id = queue(r, d);
	if (op == SYNC_OP_QUEUE)
		cuda_flight_queue_waited(id, f->start);
	else if (op == SYNC_OP_DEVICE)
		cuda_flight_context_waited(d->context_id, f->start);
	cap_sync_record(f, call, op, id, event != 0, (const void *)(uintptr_t)event);
}

static uint32_t program(const struct cupti_callback *d, uint64_t handle)
{
	uint32_t id = cap_new_id(DEF_PROGRAM), context = 0;
	struct wire_def def;

	if (d->context_id)
		context = cuda_device_context(d->context_id, cuda_device_of(d->context_id),
					      d->context);
	wire_def_init(&def, DEF_PROGRAM);
	wire_def_u64(&def, id);
	wire_def_string(&def, "cuda");
	wire_def_u64(&def, handle);
	wire_def_u64(&def, context);
	wire_def_string(&def, "binary");
	wire_def_u64(&def, 0);
	wire_def_u64(&def, tick_now());
	cap_define(&def);
	return id;
}

static void code_loaded(const struct cuda_role *r, const struct cap_frame *of, uint64_t call,
			const struct cupti_callback *d)
{
	uint32_t id = of->has_status ? 0 : program(d, object(r, d));
	struct cap_frame f;
	struct wire_enc e;

	if (!cap_activity_begin(&f, &e, &core_code_object_ops[CODE_OBJECT_OP_MODULE], NULL,
				of->start, of->end, BUILD_FIELDS))
		return;
	wire_unsigned(&e, BUILD_CORRELATION, call);
	wire_unsigned(&e, BUILD_PROGRAM, id);
	wire_unsigned(&e, BUILD_AGENT,
		      d->context_id ? cuda_agent(cuda_device_of(d->context_id)) : 0);
	wire_signed(&e, BUILD_STATUS, of->status, 4);
	wire_unsigned(&e, BUILD_OPTIONS, 0);
	wire_unsigned(&e, BUILD_LOG, 0);
	cap_activity_commit(&f, &e);
}

static void queue_made(const struct cuda_role *r, const struct cupti_callback *d)
{
	cuda_queue_made(d->context, d->context_id, (void *)(uintptr_t)object(r, d),
			(uint32_t)argument(d->params, r->bytes, false, 4),
			(int32_t)argument(d->params, r->rows, false, 4));
}

void cuda_effect(const struct cuda_role *r, const struct cap_frame *f, uint64_t call,
		 const struct cupti_callback *d)
{
	const bool ok = !f->has_status;

	if (r->role == CUDA_ROLE_LOAD)
		code_loaded(r, f, call, d);
	if (!ok || !(d->params || r->role == CUDA_ROLE_WAIT_DEVICE))
		return;
	switch ((enum cuda_role_kind)r->role) {
	case CUDA_ROLE_WAIT_QUEUE:
		sync(r, f, SYNC_OP_QUEUE, call, d);
		break;
	case CUDA_ROLE_WAIT_EVENT:
		sync(r, f, SYNC_OP_EVENTS, call, d);
		break;
	case CUDA_ROLE_WAIT_DEVICE:
		sync(r, f, SYNC_OP_DEVICE, call, d);
		break;
	case CUDA_ROLE_BARRIER:
		sync(r, f, SYNC_OP_BARRIER, call, d);
		break;
	case CUDA_ROLE_RECORD:
		sync(r, f, SYNC_OP_EVENT_RECORD, call, d);
		break;
	case CUDA_ROLE_ALLOCATE:
	case CUDA_ROLE_ALLOCATE_PITCH:
		allocate(r, f, call, d);
		break;
	case CUDA_ROLE_FREE:
		record_free(r, f, call, d);
		break;
	case CUDA_ROLE_QUEUE:
		queue_made(r, d);
		break;
	case CUDA_ROLE_CAPTURE:
	case CUDA_ROLE_CAPTURE_END:
		cuda_flight_capturing(r->role == CUDA_ROLE_CAPTURE);
		break;
	case CUDA_ROLE_QUEUE_END:
		cuda_flight_queue_ended();
		cuda_queue_ended(d->context_id,
				 (void *)(uintptr_t)argument(d->params, r->object, false, 8));
		break;
	case CUDA_ROLE_LOAD:
	case CUDA_ROLE_FUNCTION:
	case CUDA_ROLE_START:
	case CUDA_ROLE_STOP:
	case CUDA_ROLE_LAUNCH:
	case CUDA_ROLE_NONE:
		break;
	}
}
