/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of device work, waits and memory. They are written when the submitting call is over. The
 * device's own times are not known; a wait's are, and so are those of allocations.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "capture/rocm/work.h"
#include "core/tally/count.h"

static bool count_copy(const struct cap_submission *o, const struct rocm_copy *c)
{
	const struct cap_counted counted = {
		.kind = WIRE_TALLY_COPY,
		.untimed = true,
		.key = {[WIRE_KEY_COPY_QUEUE] = c->queue,
			[WIRE_KEY_COPY_SOURCE_AGENT] = c->source_agent,
			[WIRE_KEY_COPY_DESTINATION_AGENT] = c->destination_agent,
			[WIRE_KEY_COPY_KINDS] =
				cap_counted_kinds(c->source_kind, c->destination_kind)},
		.bytes = c->bytes};

	return cap_count(o, &core_copy_ops[c->op], &counted);
}

void rocm_record_copy(const struct cap_frame *f, const struct rocm_copy *c)
{
	struct cap_op *op = &core_copy_ops[c->op];
	const struct cap_subject subject = {.agent = c->destination_agent ? c->destination_agent
									  : c->source_agent,
					    .queue = c->queue,
					    .memory = {c->source, c->destination},
					    .bytes = c->bytes};
	const uint64_t now = tick_now();
	struct cap_frame activity;
	struct cap_submission o;
	struct wire_enc e;

	if (!cap_submission_take(&o, f, op, &subject))
		return;
	cap_count_untimed();
	if (cap_counts(&o) && count_copy(&o, c))
		return;
	if (cap_activity_begin(&activity, &e, op, &o, now, now, COPY_FIELDS)) {
		wire_unsigned(&e, COPY_CORRELATION, o.call);
		wire_unsigned(&e, COPY_QUEUE, c->queue);
		wire_unsigned(&e, COPY_SOURCE_AGENT, c->source_agent);
		wire_unsigned(&e, COPY_DESTINATION_AGENT, c->destination_agent);
		wire_unsigned(&e, COPY_BYTES, c->bytes);
		wire_unsigned(&e, COPY_SOURCE_KIND, c->source_kind);
		wire_unsigned(&e, COPY_DESTINATION_KIND, c->destination_kind);
		wire_unsigned(&e, COPY_START, 0);
		wire_unsigned(&e, COPY_DURATION, 0);
		wire_unsigned(&e, COPY_QUEUED_BEFORE, 0);
		wire_unsigned(&e, COPY_SUBMITTED_BEFORE, 0);
		wire_unsigned(&e, COPY_BLOCKING, c->blocking);
		wire_signed(&e, COPY_STATUS, 0, 4);
		wire_unsigned(&e, COPY_UNTIMED, UNTIMED_NO_TIMER);
		wire_unsigned(&e, COPY_SUBMIT_TICK, f->start);
		wire_unsigned(&e, COPY_GRAPH, 0);
		wire_unsigned(&e, COPY_GRAPH_NODE, 0);
		wire_pointer(&e, COPY_ADDRESS, NULL);
		wire_unsigned(&e, COPY_CAUSE, 0);
		wire_unsigned(&e, COPY_COUNT, 0);
		cap_activity_commit(&activity, &e);
	}
	cap_submission_end(&o);
}

static bool count_launch(const struct cap_submission *o, const struct rocm_launch *l)
{
	const struct cap_counted c = cap_counted_kernel(l->agent, l->queue, l->kernel, 0, 0, true);

	return cap_count(o, &core_dispatch_ops[DISPATCH_OP_LAUNCH], &c);
}

static uint64_t dimensions(const struct rocm_launch *l)
{
	if (l->global[2] > 1)
		return 3;
	return l->global[1] > 1 ? 2 : 1;
}

void rocm_record_launch(const struct cap_frame *f, const struct rocm_launch *l)
{
	struct cap_op *op = &core_dispatch_ops[DISPATCH_OP_LAUNCH];
	const struct cap_subject subject = {
		.agent = l->agent, .queue = l->queue, .kernel = l->kernel};
	const uint64_t now = tick_now();
	struct cap_frame activity;
	struct cap_submission o;
	struct wire_enc e;

	if (!cap_submission_take(&o, f, op, &subject))
		return;
	cap_count_untimed();
	if (cap_counts(&o) && count_launch(&o, l))
		return;
	if (cap_activity_begin(&activity, &e, op, &o, now, now, LAUNCH_FIELDS)) {
		wire_unsigned(&e, LAUNCH_CORRELATION, o.call);
		wire_unsigned(&e, LAUNCH_AGENT, l->agent);
		wire_unsigned(&e, LAUNCH_QUEUE, l->queue);
		wire_unsigned(&e, LAUNCH_KERNEL, l->kernel);
		wire_unsigned(&e, LAUNCH_START, 0);
		wire_unsigned(&e, LAUNCH_DURATION, 0);
		wire_unsigned(&e, LAUNCH_QUEUED_BEFORE, 0);
		wire_unsigned(&e, LAUNCH_SUBMITTED_BEFORE, 0);
		wire_unsigned(&e, LAUNCH_DIMS, dimensions(l));
		for (unsigned i = 0; i < 3; i++)
			wire_unsigned(&e, LAUNCH_GLOBAL_X + i, l->global[i]);
		for (unsigned i = 0; i < 3; i++)
			wire_unsigned(&e, LAUNCH_LOCAL_X + i, l->local[i]);
		wire_unsigned(&e, LAUNCH_UNTIMED, UNTIMED_NO_TIMER);
		wire_unsigned(&e, LAUNCH_SUBMIT_TICK, f->start);
		wire_unsigned(&e, LAUNCH_REGISTERS, 0);
		wire_unsigned(&e, LAUNCH_STATIC_SHARED, 0);
		wire_unsigned(&e, LAUNCH_DYNAMIC_SHARED, l->shared);
		wire_unsigned(&e, LAUNCH_LOCAL_MEMORY, 0);
		wire_array(&e, LAUNCH_CLUSTER, NULL, 3, 4, 3);
		wire_unsigned(&e, LAUNCH_GRAPH, l->graph);
		wire_unsigned(&e, LAUNCH_GRAPH_NODE, 0);
		cap_activity_commit(&activity, &e);
	}
	cap_submission_end(&o);
}

/* ---- memory ---- */

static struct cap_memories memories = CAP_MEMORIES;

struct cap_memory rocm_memory_of(uint64_t address)
{
	return cap_memory_of(&memories, address);
}

void rocm_allocated(const struct cap_frame *f, struct cap_memory m)
{
	cap_memory_allocated(&memories, f, m);
}

void rocm_freed(const struct cap_frame *f, uint64_t address)
{
	cap_memory_freed(&memories, f, address);
}

static void before_fork(void)
{
	cap_memories_lock(&memories);
}

static void after_fork(void)
{
	cap_memories_unlock(&memories);
}

static void after_fork_in_child(void)
{
	cap_memories_fork_child(&memories);
}

void rocm_memory_prepare(void)
{
	pthread_atfork(before_fork, after_fork, after_fork_in_child);
}
