/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels and copies of the modes Serial and OpenMP: the host runs them while the call lasts, so its clock times
 * them. What other modes do their own backends record.
 */
#include <stdatomic.h>

#include "capture/occa/occa.h"
#include "core/activity/activity.h"
#include "core/activity/ordinary.h"
#include "core/tally/count.h"

/* ---- devices ---- */

static _Atomic uint32_t host_clock;

static uint32_t clock_of_host(void)
{
	uint32_t id = atomic_load(&host_clock), none = 0;

	if (id)
		return id;
	id = cap_host_clock_define("OCCA on the processor");
	return atomic_compare_exchange_strong(&host_clock, &none, id) ? id : none;
}

uint32_t occa_host_agent(const char *name)
{
	uint32_t id = cap_new_id(DEF_AGENT);
	struct wire_def d;

	wire_def_init(&d, DEF_AGENT);
	wire_def_u64(&d, id);
	wire_def_string(&d, "cpu");
	wire_def_string(&d, name);
	wire_def_string(&d, "");
	wire_def_string(&d, "");
	wire_def_string(&d, "occa");
	wire_def_u64(&d, 0);
	wire_def_u64(&d, 0);
	wire_def_string(&d, "{}");
	wire_def_u64(&d, clock_of_host());
	wire_def_bytes(&d, "", 0);
	wire_def_string(&d, "OCCA");
	cap_define(&d);
	return id;
}

/* What is over is recorded; the clock is read once more. */
void occa_flush(uint64_t deadline)
{
	uint32_t id = atomic_load(&host_clock);

	if (id)
		cap_host_clock_sync(id);
}

struct occa_span occa_span_begin(void)
{
	return (struct occa_span){tick_now(), clock_ns(CLOCK_MONOTONIC_RAW)};
}

/* ---- kernels ---- */

static inline void put_dispatch(struct wire_enc *e, const struct cap_submission *o,
				const struct cap_subject *at, const struct occa_span *s,
				uint64_t duration)
{
	wire_unsigned(e, DISPATCH_CORRELATION, o->call);
	wire_unsigned(e, DISPATCH_AGENT, at->agent);
	wire_unsigned(e, DISPATCH_QUEUE, at->queue);
	wire_unsigned(e, DISPATCH_KERNEL, at->kernel);
	wire_unsigned(e, DISPATCH_START, s->ns);
	wire_unsigned(e, DISPATCH_DURATION, duration);
	wire_unsigned(e, DISPATCH_SUBMIT_TICK, s->tick);
}

static void dispatch(struct cap_submission *o, const struct cap_subject *at,
		     const struct occa_span *s, uint64_t duration)
{
	struct cap_op *op = &core_dispatch_ops[DISPATCH_OP_KERNEL];
	uint64_t end = tick_now();
	struct cap_frame f;
	struct wire_enc e;

	if (cap_likely(cap_activity_ordinary(&e, op, o, end, end, DISPATCH_FIELDS))) {
		put_dispatch(&e, o, at, s, duration);
		cap_activity_end(&e);
	} else if (cap_activity_begin(&f, &e, op, o, end, end, DISPATCH_FIELDS)) {
		put_dispatch(&e, o, at, s, duration);
		cap_activity_commit(&f, &e);
	}
}

void occa_host_ran(const struct occa_kernel *k, const struct occa_span *s)
{
	const struct cap_op *op = &core_dispatch_ops[DISPATCH_OP_KERNEL];
	uint64_t duration = clock_ns(CLOCK_MONOTONIC_RAW) - s->ns;
	const struct cap_frame *f = occa_thread()->in.frame;
	const struct cap_subject at = {.agent = k->device->agent,
				       .queue = atomic_load(&k->device->current)->queue,
				       .kernel = k->id};
	const struct cap_counted c =
		cap_counted_kernel(at.agent, at.queue, at.kernel, duration, 0, false);
	struct cap_submission o;

	if (!(f && cap_submission_ordinary(&o, f, op)) && !cap_submission_take(&o, f, op, &at))
		return;
	if (!cap_counts(&o) || !cap_count(&o, op, &c))
		dispatch(&o, &at, s, duration);
	cap_submission_end(&o);
}

/* ---- copies ---- */

static void copy(struct cap_submission *o, struct cap_op *op, const struct cap_counted *c,
		 const struct occa_span *s)
{
	uint64_t end = tick_now();
	struct cap_frame f;
	struct wire_enc e;

	if (!cap_activity_begin(&f, &e, op, o, end, end, COPY_FIELDS))
		return;
	wire_unsigned(&e, COPY_CORRELATION, o->call);
	wire_unsigned(&e, COPY_QUEUE, c->key[WIRE_KEY_COPY_QUEUE]);
	wire_unsigned(&e, COPY_SOURCE_AGENT, c->key[WIRE_KEY_COPY_SOURCE_AGENT]);
	wire_unsigned(&e, COPY_DESTINATION_AGENT, c->key[WIRE_KEY_COPY_DESTINATION_AGENT]);
	wire_unsigned(&e, COPY_BYTES, c->bytes);
	wire_unsigned(&e, COPY_SOURCE_KIND, MEMORY_HOST_PAGEABLE);
	wire_unsigned(&e, COPY_DESTINATION_KIND, MEMORY_HOST_PAGEABLE);
	wire_unsigned(&e, COPY_START, s->ns);
	wire_unsigned(&e, COPY_DURATION, c->duration);
	wire_unsigned(&e, COPY_BLOCKING, 1);
	wire_unsigned(&e, COPY_SUBMIT_TICK, s->tick);
	cap_activity_commit(&f, &e);
}

void occa_host_copied(enum occa_copy which, uint64_t bytes, const struct occa_span *s)
{
	static const uint8_t ops[] = {[OCCA_COPY_WRITE] = COPY_OP_WRITE,
				      [OCCA_COPY_READ] = COPY_OP_READ,
				      [OCCA_COPY_WITHIN] = COPY_OP_COPY};
	uint64_t duration = clock_ns(CLOCK_MONOTONIC_RAW) - s->ns;
	const struct occa_device *d = occa_thread()->in.device;
	struct cap_op *op = &core_copy_ops[ops[which]];
	const uint32_t queue = atomic_load(&d->current)->queue;
	const struct cap_counted c = {
		.kind = WIRE_TALLY_COPY,
		.key = {[WIRE_KEY_COPY_QUEUE] = queue,
			[WIRE_KEY_COPY_SOURCE_AGENT] = which == OCCA_COPY_WRITE ? 0 : d->agent,
			[WIRE_KEY_COPY_DESTINATION_AGENT] = which == OCCA_COPY_READ ? 0 : d->agent,
			[WIRE_KEY_COPY_KINDS] =
				cap_counted_kinds(MEMORY_HOST_PAGEABLE, MEMORY_HOST_PAGEABLE)},
		.bytes = bytes,
		.duration = duration};
	const struct cap_subject at = {.agent = d->agent, .queue = queue, .bytes = bytes};
	struct cap_submission o;

	if (!cap_submission_take(&o, occa_thread()->in.frame, op, &at))
		return;
	if (!cap_counts(&o) || !cap_count(&o, op, &c))
		copy(&o, op, &c, s);
	cap_submission_end(&o);
}
