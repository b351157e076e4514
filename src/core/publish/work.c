/* SPDX-License-Identifier: Apache-2.0 */
/* Devices of publishers, and what ran on them: definitions and activities as any backend makes
 * them. */
#include "core/process/process.h"
#include "core/publish/publish.h"
#include "core/tool/tool.h"
#include "core/activity/activity.h"
#include "core/tally/count.h"
#include "topology/topology.h"

#include <pthread.h>
#include <stdlib.h>

#define AGENTS      1024u
#define QUEUES      65536u
#define QUEUE_BLOCK 256u

struct agent {
	uint32_t id;
	kymo_clock_t clock;
};

struct queue {
	uint32_t id;
	uint32_t agent; /* index */
};

static struct agent agents[AGENTS];
static struct queue *_Atomic queue_blocks[QUEUES / QUEUE_BLOCK];
static _Atomic uint32_t agent_count, queue_count;

/* ---- devices ---- */

static const struct agent *agent_of(uint32_t id)
{
	uint32_t count = atomic_load_explicit(&agent_count, memory_order_acquire);

	for (uint32_t i = 0; id && i < count; i++)
		if (agents[i].id == id)
			return &agents[i];
	return NULL;
}

/* Ids rise with the place, so that the last few are found at once and all of them by halves. */
static const struct queue *queue_of(uint32_t id)
{
	uint32_t lo = 0, hi = atomic_load_explicit(&queue_count, memory_order_acquire);

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		const struct queue *q = &queue_blocks[mid / QUEUE_BLOCK][mid % QUEUE_BLOCK];

		if (q->id == id)
			return q;
		if (q->id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

/* False: too many. */
static bool agent_keep(uint32_t id, kymo_clock_t clock)
{
	uint32_t n;

	pthread_mutex_lock(&core_live->threads);
	n = atomic_load(&agent_count);
	if (n < AGENTS) {
		agents[n] = (struct agent){id, clock};
		atomic_store_explicit(&agent_count, n + 1, memory_order_release);
	}
	pthread_mutex_unlock(&core_live->threads);
	return n < AGENTS;
}

static void agent_define(const kymo_agent_publication_t *a, uint32_t id)
{
	struct core_agent_report r = CORE_AGENT_REPORT_INIT;
	struct wire_def d;

	wire_def_init(&d, DEF_AGENT);
	wire_def_u64(&d, id);
	wire_def_string(&d, kymo_agent_type_name(a->type));
	wire_def_string(&d, a->name);
	wire_def_string(&d, a->vendor);
	wire_def_string(&d, a->driver);
	wire_def_string(&d, a->domain);
	wire_def_u64(&d, a->handle);
	wire_def_u64(&d, a->parent);
	wire_def_string(&d, "{}");
	wire_def_u64(&d, publish_clock_id(a->clock));
	cap_define(&d);
	r.type = a->type;
	r.domain = a->domain;
	r.name = a->name;
	r.vendor = a->vendor;
	r.handle = a->handle;
	r.record = id;
	r.parent_record = a->parent;
	r.memory_bytes = a->memory_bytes;
	r.compute_units = a->compute_units;
	core_agent_report(&r, NULL);
}

kymo_status_t kymo_agent_publish(const kymo_agent_publication_t *agent, uint32_t *id)
{
	kymo_status_t status = core_changeable();
	uint32_t made;

	if (!agent || !id)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (agent->size < sizeof(*agent) || !core_size_known(agent, sizeof(*agent)))
		return core_refuse_size();
	if (!agent->name || !agent->domain || !kymo_agent_type_name(agent->type))
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (!publish_clock_known(agent->clock))
		return KYMO_ERROR_NOT_FOUND;
	if (status != KYMO_OK)
		return status;
	made = cap_new_id(DEF_AGENT);
	if (!agent_keep(made, agent->clock))
		return KYMO_ERROR_LIMIT;
	agent_define(agent, made);
	*id = made;
	return KYMO_OK;
}

/* Its id; 0: too many, or no memory. Made under the lock, so that ids rise with the place. */
static uint32_t queue_keep(uint32_t agent, kymo_status_t *status)
{
	struct queue *block;
	uint32_t n, id = 0;

	pthread_mutex_lock(&core_live->threads);
	n = atomic_load(&queue_count);
	block = n < QUEUES ? atomic_load(&queue_blocks[n / QUEUE_BLOCK]) : NULL;
	if (n < QUEUES && !block) {
		block = calloc(QUEUE_BLOCK, sizeof(*block));
		atomic_store(&queue_blocks[n / QUEUE_BLOCK], block);
	}
	if (block) {
		id = cap_new_id(DEF_QUEUE);
		block[n % QUEUE_BLOCK] = (struct queue){id, agent};
		atomic_store_explicit(&queue_count, n + 1, memory_order_release);
	}
	pthread_mutex_unlock(&core_live->threads);
	*status = id ? KYMO_OK : n < QUEUES ? KYMO_ERROR_NO_MEMORY : KYMO_ERROR_LIMIT;
	return id;
}

kymo_status_t kymo_queue_publish(const kymo_queue_publication_t *queue, uint32_t *id)
{
	kymo_status_t status = core_changeable();
	const kymo_agent_t *shown = NULL;
	const struct agent *a;
	struct wire_def d;
	uint32_t made;

	if (!queue || !id)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (queue->size < sizeof(*queue) || !core_size_known(queue, sizeof(*queue)))
		return core_refuse_size();
	a = agent_of(queue->agent);
	if (!a)
		return KYMO_ERROR_NOT_FOUND;
	if (status != KYMO_OK)
		return status;
	made = queue_keep((uint32_t)(a - agents), &status);
	if (!made)
		return status;
	wire_def_init(&d, DEF_QUEUE);
	wire_def_u64(&d, made);
	wire_def_string(&d,
			kymo_agent_find_record(queue->agent, &shown) == KYMO_OK && shown->handles[0]
				? shown->handles[0]->domain
				: "");
	wire_def_u64(&d, queue->handle);
	wire_def_u64(&d, queue->agent);
	wire_def_u64(&d, 0);
	wire_def_u64(&d, 0);
	wire_def_u64(&d, queue->out_of_order ? QUEUE_OUT_OF_ORDER : 0);
	wire_def_u64(&d, tick_now());
	wire_def_string(&d, queue->name);
	cap_define(&d);
	*id = made;
	return KYMO_OK;
}

kymo_status_t kymo_kernel_publish(const char *domain, const char *name, uint64_t handle,
				  uint32_t *id)
{
	kymo_status_t status = core_changeable();
	struct wire_def d;

	if (!domain || !name || !id)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (status != KYMO_OK)
		return status;
	*id = cap_new_id(DEF_KERNEL);
	wire_def_init(&d, DEF_KERNEL);
	wire_def_u64(&d, *id);
	wire_def_string(&d, domain);
	wire_def_string(&d, name);
	wire_def_u64(&d, 0);
	wire_def_u64(&d, handle);
	wire_def_u64(&d, tick_now());
	cap_define(&d);
	return KYMO_OK;
}

/* ---- work ---- */

/* Times on an agent's clock as activities hold them. */
struct times {
	uint64_t start, duration, queued_before, submitted_before;
};

static uint64_t before(kymo_clock_t clock, uint64_t start, uint64_t time)
{
	return time && publish_clock_ns(clock, time) < start ? start - publish_clock_ns(clock, time)
							     : 0;
}

/* False: they make no sense. */
static bool times_of(kymo_clock_t clock, uint64_t queued, uint64_t submitted, uint64_t start,
		     uint64_t end, struct times *out)
{
	if (start == 0 || end < start)
		return false;
	out->start = publish_clock_ns(clock, start);
	out->duration = publish_clock_ns(clock, end) - out->start;
	out->submitted_before = before(clock, out->start, submitted);
	out->queued_before = before(clock, out->start, queued);
	if (out->queued_before < out->submitted_before)
		out->queued_before = out->submitted_before;
	return true;
}

static void put_dispatch(struct wire_enc *e, const kymo_dispatch_publication_t *w, uint32_t agent,
			 const struct times *t)
{
	wire_unsigned(e, DISPATCH_CORRELATION, w->correlation);
	wire_unsigned(e, DISPATCH_AGENT, agent);
	wire_unsigned(e, DISPATCH_QUEUE, w->queue);
	wire_unsigned(e, DISPATCH_KERNEL, w->kernel);
	wire_unsigned(e, DISPATCH_START, t->start);
	wire_unsigned(e, DISPATCH_DURATION, t->duration);
	wire_unsigned(e, DISPATCH_QUEUED_BEFORE, t->queued_before);
	wire_unsigned(e, DISPATCH_SUBMITTED_BEFORE, t->submitted_before);
	wire_unsigned(e, DISPATCH_DIMS, w->dims);
	for (unsigned i = 0; i < 3; i++)
		wire_unsigned(e, DISPATCH_GLOBAL_X + i, w->global[i]);
	for (unsigned i = 0; i < 3; i++)
		wire_unsigned(e, DISPATCH_LOCAL_X + i, w->local[i]);
	for (unsigned i = 0; i < 3; i++)
		wire_unsigned(e, DISPATCH_OFFSET_X + i, w->offset[i]);
	wire_signed(e, DISPATCH_STATUS, w->status, 4);
	wire_unsigned(e, DISPATCH_UNTIMED, UNTIMED_NO);
	wire_unsigned(e, DISPATCH_SUBMIT_TICK, w->submitted_by ? publish_tick(w->submitted_by) : 0);
}

static bool count_dispatch(const struct cap_submission *o, const kymo_dispatch_publication_t *w,
			   uint32_t agent, const struct times *t)
{
	struct cap_counted c = cap_counted_kernel(agent, (uint32_t)w->queue, (uint32_t)w->kernel,
						  t->duration, t->queued_before, !t->start);

	c.error = w->status != 0;
	return cap_count(o, &core_dispatch_ops[DISPATCH_OP_KERNEL], &c);
}

kymo_status_t kymo_dispatch_publish(const kymo_dispatch_publication_t *w)
{
	kymo_status_t status = core_changeable();
	const struct queue *q;
	struct cap_subject subject = {0};
	struct cap_submission submission;
	struct cap_frame f;
	struct wire_enc e;
	struct times t;
	uint64_t now;

	if (!w)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (w->size < sizeof(*w) || !core_size_known(w, sizeof(*w)))
		return core_refuse_size();
	q = queue_of(w->queue);
	if (!q)
		return KYMO_ERROR_NOT_FOUND;
	if (w->dims > 3 ||
	    !times_of(agents[q->agent].clock, w->queued, w->submitted, w->start, w->end, &t))
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (status != KYMO_OK)
		return status;
	subject.agent = agents[q->agent].id;
	subject.queue = w->queue;
	subject.kernel = w->kernel;
	if (!cap_submission_take(&submission, NULL, &core_dispatch_ops[DISPATCH_OP_KERNEL],
				 &subject))
		return KYMO_OK;
	submission.call = w->correlation;
	if (cap_counts(&submission) && count_dispatch(&submission, w, subject.agent, &t))
		return KYMO_OK;
	now = tick_now();
	if (cap_activity_begin(&f, &e, &core_dispatch_ops[DISPATCH_OP_KERNEL], &submission, now,
			       now, DISPATCH_FIELDS)) {
		put_dispatch(&e, w, subject.agent, &t);
		cap_activity_commit(&f, &e);
	}
	cap_submission_end(&submission);
	return KYMO_OK;
}

static void put_copy(struct wire_enc *e, const kymo_copy_publication_t *w, const struct times *t)
{
	wire_unsigned(e, COPY_CORRELATION, w->correlation);
	wire_unsigned(e, COPY_QUEUE, w->queue);
	wire_unsigned(e, COPY_SOURCE_AGENT, w->source);
	wire_unsigned(e, COPY_DESTINATION_AGENT, w->destination);
	wire_unsigned(e, COPY_BYTES, w->bytes);
	wire_unsigned(e, COPY_SOURCE_KIND, (uint64_t)w->source_kind);
	wire_unsigned(e, COPY_DESTINATION_KIND, (uint64_t)w->destination_kind);
	wire_unsigned(e, COPY_START, t->start);
	wire_unsigned(e, COPY_DURATION, t->duration);
	wire_unsigned(e, COPY_QUEUED_BEFORE, t->queued_before);
	wire_unsigned(e, COPY_SUBMITTED_BEFORE, t->submitted_before);
	wire_unsigned(e, COPY_BLOCKING, w->blocking);
	wire_signed(e, COPY_STATUS, w->status, 4);
	wire_unsigned(e, COPY_UNTIMED, UNTIMED_NO);
	wire_unsigned(e, COPY_SUBMIT_TICK, w->submitted_by ? publish_tick(w->submitted_by) : 0);
}

static bool count_copy(const struct cap_submission *o, const kymo_copy_publication_t *w,
		       const struct times *t)
{
	const struct cap_counted c = {
		.kind = WIRE_TALLY_COPY,
		.error = w->status != 0,
		.untimed = !t->start,
		.key = {[WIRE_KEY_COPY_QUEUE] = (uint32_t)w->queue,
			[WIRE_KEY_COPY_SOURCE_AGENT] = (uint32_t)w->source,
			[WIRE_KEY_COPY_DESTINATION_AGENT] = (uint32_t)w->destination,
			[WIRE_KEY_COPY_KINDS] = cap_counted_kinds((uint32_t)w->source_kind,
								  (uint32_t)w->destination_kind)},
		.bytes = w->bytes,
		.duration = t->duration,
		.wait = t->queued_before};

	return cap_count(o, &core_copy_ops[w->op], &c);
}

kymo_status_t kymo_copy_publish(const kymo_copy_publication_t *w)
{
	kymo_status_t status = core_changeable();
	struct cap_subject subject = {0};
	struct cap_submission submission;
	const struct queue *q;
	struct cap_frame f;
	struct wire_enc e;
	struct times t;
	uint64_t now;

	if (!w)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (w->size < sizeof(*w) || !core_size_known(w, sizeof(*w)))
		return core_refuse_size();
	q = queue_of(w->queue);
	if (!q)
		return KYMO_ERROR_NOT_FOUND;
	if ((unsigned)w->op > KYMO_COPY_MIGRATE || (unsigned)w->source_kind > KYMO_MEMORY_SHARED ||
	    (unsigned)w->destination_kind > KYMO_MEMORY_SHARED ||
	    !times_of(agents[q->agent].clock, w->queued, w->submitted, w->start, w->end, &t))
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (status != KYMO_OK)
		return status;
	subject.agent = agents[q->agent].id;
	subject.queue = w->queue;
	subject.bytes = w->bytes;
	if (!cap_submission_take(&submission, NULL, &core_copy_ops[w->op], &subject))
		return KYMO_OK;
	submission.call = w->correlation;
	if (cap_counts(&submission) && count_copy(&submission, w, &t))
		return KYMO_OK;
	now = tick_now();
	if (cap_activity_begin(&f, &e, &core_copy_ops[w->op], &submission, now, now, COPY_FIELDS)) {
		put_copy(&e, w, &t);
		cap_activity_commit(&f, &e);
	}
	cap_submission_end(&submission);
	return KYMO_OK;
}
