/* SPDX-License-Identifier: Apache-2.0 */
/* The activity domain "counter", and writing its records. */
#include "core/context/context.h"
#include "core/counter/counter.h"
#include "core/publish/publish.h"

static struct cap_op counter_ops[COUNTER_OPS];

_Static_assert((int)COUNTER_OP_PUBLISHED == (int)KYMO_COUNTER_OP_PUBLISHED,
	       "ops as tools know them");
CAP_KNOWN_DOMAIN(counter, packed_describe(RECORD_PACKED, RECORD_DOMAIN_counter));

static const struct cap_domain_info info = {
	RECORD_DESCRIPTION(counter),       .ops = counter_ops,
	.wanted = counters_follow,         .flush = counters_flush,
	.fork_child = counters_fork_child,
};

/* Not before a service wants it: a program that counts nothing needs no buffer for it. */
kymo_status_t counter_domain_ready(void)
{
	static _Atomic bool ready;

	return core_domain_ready(&info, &ready);
}

struct cap_op *counter_published_op(void)
{
	return counter_domain_ready() == KYMO_OK ? &counter_ops[KYMO_COUNTER_OP_PUBLISHED] : NULL;
}

/* What a context counts goes into its own buffer alone, whoever else wants records of counters. */
void counter_buffers_look(struct core_counter_service *s)
{
	uint64_t own = core_context_buffer_bit(s->context);

	for (unsigned op = 0; op < COUNTER_OPS; op++)
		atomic_store(&s->buffers[op], atomic_load(&counter_ops[op].buffers) & own);
}

static struct cap_op op_of(const struct core_counter_service *s, kymo_counter_op_t op)
{
	struct cap_op own = {.wire = counter_ops[op].wire,
			     .number = counter_ops[op].number,
			     .domain = counter_ops[op].domain};

	atomic_store(&own.buffers, atomic_load(&s->buffers[op]));
	return own;
}

static void write_value(struct cap_op *op, const struct counter_event *e, uint32_t definition,
			uint64_t instance, double value)
{
	uint64_t now = tick_now();
	struct cap_frame f;
	struct wire_enc enc;

	if (!cap_activity_begin(&f, &enc, op, NULL, now, now, COUNTER_FIELDS))
		return;
	wire_unsigned(&enc, COUNTER_CORRELATION, e->correlation);
	wire_unsigned(&enc, COUNTER_COUNTER, definition);
	wire_unsigned(&enc, COUNTER_INSTANCE, instance);
	wire_double(&enc, COUNTER_VALUE, value);
	wire_unsigned(&enc, COUNTER_OP, e->call_op);
	wire_unsigned(&enc, COUNTER_THREAD, e->thread);
	wire_unsigned(&enc, COUNTER_AGENT, e->agent);
	wire_unsigned(&enc, COUNTER_DURATION, e->end - e->start);
	wire_unsigned(&enc, COUNTER_KERNEL, e->kernel);
	cap_activity_commit(&f, &enc);
}

void counter_write(const struct counter_event *e, uint64_t buffers, uint32_t definition,
		   double value)
{
	const struct cap_op *from = &counter_ops[e->op];
	struct cap_op own = {.wire = from->wire, .number = from->number, .domain = from->domain};

	atomic_store(&own.buffers, atomic_load(&from->buffers) & buffers);
	if (atomic_load(&own.buffers))
		write_value(&own, e, definition, 0, value);
}

static void write_values(const struct core_counter_service *s, const struct counter_event *e,
			 const double *out)
{
	struct cap_op op = op_of(s, e->op);

	if (!atomic_load(&op.buffers))
		return;
	for (uint32_t i = 0; i < s->set->choice_count; i++) {
		const struct choice *c = &s->set->choices[i];

		if (e->choices && !(e->choices >> i & 1))
			continue;
		for (uint32_t k = 0; k < c->outputs; k++)
			write_value(&op, e, c->definition, k, out[c->out + k]);
	}
}

void counter_deliver(const struct core_counter_service *s, const struct counter_event *e,
		     const double *out)
{
	kymo_counter_values_t v = {
		.size = sizeof(v),
		.op = e->op,
		.thread = e->thread,
		.agent = e->agent,
		.correlation = e->correlation,
		.scope = e->scope,
		.start = e->start,
		.end = e->end,
		.values = out,
		.count = s->set->outputs,
		.kernel = e->kernel,
	};

	write_values(s, e, out);
	if (!s->callback)
		return;
	cap_guard_enter();
	s->callback(s->context, &v, s->data);
	cap_guard_leave();
}
