/* SPDX-License-Identifier: Apache-2.0 */
/* Records of what a call did at once, the same for every backend: memory, waits. */
#include "core/activity/activity.h"
#include "core/activity/ordinary.h"
#include "core/tally/count.h"

void cap_allocation_record(const struct cap_frame *f, uint64_t call, unsigned op,
			   const struct cap_allocation *a)
{
	const struct cap_subject subject = {
		.agent = a->agent, .memory = {a->id, a->parent}, .bytes = a->bytes};
	const uint64_t now = tick_now();
	struct cap_frame activity;
	struct cap_submission o;
	struct wire_enc e;

	if (!cap_submission_take(&o, f, &core_allocation_ops[op], &subject))
		return;
	if (cap_counts(&o) && cap_count_allocation(&o, op == ALLOCATION_OP_ALLOCATE, a))
		return;
	o.call = call ? call : o.call;
	if (cap_activity_begin(&activity, &e, &core_allocation_ops[op], &o, now, now,
			       ALLOCATION_FIELDS)) {
		wire_unsigned(&e, ALLOCATION_CORRELATION, o.call);
		wire_unsigned(&e, ALLOCATION_AGENT, a->agent);
		wire_unsigned(&e, ALLOCATION_CONTEXT, a->context);
		wire_unsigned(&e, ALLOCATION_KIND, a->kind);
		wire_unsigned(&e, ALLOCATION_WHAT, a->what);
		wire_unsigned(&e, ALLOCATION_BYTES, a->bytes);
		wire_pointer(&e, ALLOCATION_ADDRESS, (const void *)(uintptr_t)a->address);
		wire_unsigned(&e, ALLOCATION_ID, a->id);
		wire_unsigned(&e, ALLOCATION_PARENT, a->parent);
		cap_activity_commit(&activity, &e);
	}
	cap_submission_end(&o);
}

/* What happens on a queue takes no time of the host. */
static bool host_waits(unsigned op)
{
	return op < SYNC_OP_BARRIER || op == SYNC_OP_DEVICE;
}

static inline __attribute__((always_inline)) void
sync_fields(struct wire_enc *e, uint64_t call, uint32_t queue, uint32_t count, const void *event)
{
	wire_unsigned(e, SYNC_CORRELATION, call);
	wire_unsigned(e, SYNC_QUEUE, queue);
	wire_unsigned(e, SYNC_COUNT, count);
	wire_pointer(e, SYNC_EVENT, event);
}

static bool sync_count(const struct cap_frame *f, const struct cap_submission *o, unsigned op,
		       uint32_t queue)
{
	const struct cap_counted c = {.kind = WIRE_TALLY_SYNC,
				      .key = {[WIRE_KEY_SYNC_QUEUE] = queue},
				      .duration = host_waits(op) ? f->end - f->start : 0};

	return cap_count(o, &core_sync_ops[op], &c);
}

/* Of a submission that was taken. */
static void sync_write(const struct cap_frame *f, struct cap_submission *o, unsigned op,
		       uint32_t queue, uint32_t count, const void *event)
{
	struct cap_frame activity;
	struct wire_enc e;

	if (cap_activity_begin(&activity, &e, &core_sync_ops[op], o,
			       host_waits(op) ? f->start : f->end, f->end, SYNC_FIELDS)) {
		sync_fields(&e, o->call, queue, count, event);
		cap_activity_commit(&activity, &e);
	}
	cap_submission_end(o);
}

void cap_sync_record(const struct cap_frame *f, uint64_t call, unsigned op, uint32_t queue,
		     uint32_t count, const void *event)
{
	const struct cap_subject subject = {.queue = queue};
	struct cap_submission o;
	struct wire_enc e;

	if (cap_likely(cap_submission_ordinary(&o, f, &core_sync_ops[op]))) {
		if (cap_likely(cap_activity_ordinary(&e, &core_sync_ops[op], &o,
						     host_waits(op) ? f->start : f->end, f->end,
						     SYNC_FIELDS))) {
			sync_fields(&e, call ? call : o.call, queue, count, event);
			cap_activity_end(&e);
			return;
		}
		if (cap_counts(&o) && sync_count(f, &o, op, queue))
			return;
	}
	if (!cap_submission_take(&o, f, &core_sync_ops[op], &subject))
		return;
	o.call = call ? call : o.call;
	sync_write(f, &o, op, queue, count, event);
}
