/* SPDX-License-Identifier: Apache-2.0 */
/* Who wants lines of kernels, and their records; see lines.h. */
#include "core/counter/lines.h"

#include <errno.h>
#include <pthread.h>

#include "core/context/context.h"
#include "core/counter/counter.h"
#include "core/counter/handler.h"
#include "core/tool/tool.h"
#include "lanes/lanes.h"

#define SERVICES 16u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* services are added and let go */
static struct service {
	_Atomic bool used, active;
	kymo_context_t context;
	kymo_kernel_line_desc_t desc;
} services[SERVICES];
_Atomic uint32_t cap_lines_services;
static _Atomic uint64_t contexts; /* that are started, by the bits of their buffers */
static _Atomic uint32_t changes;  /* not followed yet */

static struct cap_op ops[KERNEL_LINE_OPS];

CAP_KNOWN_DOMAIN(kernel_line, packed_describe(RECORD_PACKED, RECORD_DOMAIN_kernel_line));

/* ---- following contexts ---- */

static void service_update(struct service *s, uint64_t *bits)
{
	bool active = false;

	if (!atomic_load(&s->used))
		return;
	if (kymo_context_is_active(s->context, &active) != KYMO_OK)
		atomic_store(&s->used, false); /* the context is gone, and its service with it */
	if (active)
		*bits |= core_context_buffer_bit(s->context);
	if (active == atomic_exchange(&s->active, active))
		return;
	if (active) {
		atomic_fetch_add(&cap_counting_kernels, 1);
		atomic_fetch_add(&cap_lines_services, 1);
	} else {
		atomic_fetch_sub(&cap_counting_kernels, 1);
		atomic_fetch_sub(&cap_lines_services, 1);
	}
}

static void follow(uint32_t activities)
{
	int saved = errno;
	uint32_t seen = 1;

	if (atomic_fetch_add(&changes, 1) != 0)
		return;
	do {
		uint64_t bits = 0;

		for (uint32_t i = 0; i < SERVICES; i++)
			service_update(&services[i], &bits);
		atomic_store(&contexts, bits);
	} while (!atomic_compare_exchange_strong(&changes, &seen, 0));
	errno = saved;
}

/* Those who count kernels begin anew at 0 as well; see counter_kernels_fork_child(). */
static void fork_child(void)
{
	pthread_mutex_init(&lock, NULL);
	counter_handlers_fork_child();
	for (uint32_t i = 0; i < SERVICES; i++)
		atomic_store(&services[i].active, false);
	atomic_store(&cap_lines_services, 0);
	atomic_store(&changes, 0);
	follow(0);
}

static const struct cap_domain_info info = {RECORD_DESCRIPTION(kernel_line), .ops = ops,
					    .wanted = follow, .fork_child = fork_child};

/* Not before somebody wants it: others need no buffer for it. */
static kymo_status_t domain_ready(void)
{
	static _Atomic bool ready;
	kymo_status_t status = counter_domain_ready();

	return status == KYMO_OK ? core_domain_ready(&info, &ready) : status;
}

kymo_status_t kymo_kernel_line_service(kymo_context_t context, const kymo_kernel_line_desc_t *desc)
{
	kymo_status_t status;
	uint32_t i = 0;
	bool active;

	if (!desc)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (desc->size < sizeof(*desc) || !core_size_known(desc, sizeof(*desc)))
		return core_refuse_size();
	status = kymo_context_is_active(context, &active);
	if (status == KYMO_OK)
		status = domain_ready();
	if (status != KYMO_OK)
		return status;
	follow(0); /* services of contexts that are gone let go */
	pthread_mutex_lock(&lock);
	while (i < SERVICES && atomic_load(&services[i].used))
		i++;
	if (i < SERVICES) {
		services[i].context = context;
		services[i].desc = *desc;
		atomic_store(&services[i].used, true);
	}
	pthread_mutex_unlock(&lock);
	if (i == SERVICES)
		return KYMO_ERROR_LIMIT;
	follow(0);
	return KYMO_OK;
}

bool cap_lines_chosen(const kymo_counter_launch_t *launch)
{
	bool yes = false;

	for (uint32_t i = 0; i < SERVICES && !yes; i++) {
		const struct service *s = &services[i];

		if (!atomic_load(&s->active))
			continue;
		cap_guard_enter();
		yes = !s->desc.filter || s->desc.filter(launch, s->desc.data);
		cap_guard_leave();
	}
	return yes;
}

void counter_lines_each(void (*fn)(const kymo_kernel_line_desc_t *desc, void *data), void *data)
{
	for (uint32_t i = 0; i < SERVICES; i++)
		if (atomic_load(&services[i].active))
			fn(&services[i].desc, data);
}

/* ---- definitions ---- */

uint32_t cap_place_define(const struct cap_place *p)
{
	uint32_t id = cap_new_id(DEF_PLACE);
	struct wire_def d;

	wire_def_init(&d, DEF_PLACE);
	wire_def_u64(&d, id);
	wire_def_u64(&d, p->program);
	wire_def_string(&d, p->function);
	wire_def_string(&d, p->what);
	wire_def_string(&d, p->kind);
	wire_def_u64(&d, p->block);
	wire_def_u64(&d, p->times);
	wire_def_u64(&d, p->bytes);
	wire_def_string(&d, p->file);
	wire_def_u64(&d, p->line);
	wire_def_u64(&d, p->column);
	cap_define(&d);
	return id;
}

static void total_define(uint32_t id, const char *name, const char *unit, const char *description)
{
	struct wire_def d;

	wire_def_init(&d, DEF_COUNTER);
	wire_def_u64(&d, id);
	wire_def_string(&d, name);
	wire_def_string(&d, unit);
	wire_def_string(&d, description);
	wire_def_string(&d, "instrument");
	wire_def_u64(&d, 0);
	wire_def_u64(&d, 0);
	wire_def_string(&d, "");
	cap_define(&d);
}

/* With the first launch that is written; launches are written one at a time. */
static void totals_define(uint32_t ids[CAP_LINE_TOTAL_COUNT])
{
	static const char *const words[][3] = {
#define WORDS(K, name, unit, description) {name, unit, description},
		CAP_LINE_TOTALS(WORDS)
#undef WORDS
	};

	if (ids[0])
		return;
	for (uint32_t i = CAP_LINE_TOTAL_COUNT; i-- > 0;) {
		ids[i] = cap_new_id(DEF_COUNTER);
		total_define(ids[i], words[i][0], words[i][1], words[i][2]);
	}
}

/* ---- records ---- */

static void write_block(const struct cap_line_counts *c, struct cap_op *op, uint32_t i)
{
	uint64_t now = tick_now();
	struct cap_frame f;
	struct wire_enc e;

	if (!c->blocks[i] || !cap_activity_begin(&f, &e, op, NULL, now, now, KERNEL_LINE_FIELDS))
		return;
	wire_unsigned(&e, KERNEL_LINE_CORRELATION, c->launch->correlation);
	wire_unsigned(&e, KERNEL_LINE_AGENT, c->launch->agent);
	wire_unsigned(&e, KERNEL_LINE_KERNEL, c->launch->kernel);
	wire_unsigned(&e, KERNEL_LINE_PLACE, c->blocks[i]);
	wire_unsigned(&e, KERNEL_LINE_COUNT, c->counts[i]);
	wire_unsigned(&e, KERNEL_LINE_INSTEAD, c->instead);
	cap_activity_commit(&f, &e);
}

static struct cap_op op_of(unsigned number)
{
	struct cap_op own = {
		.wire = ops[number].wire, .number = number, .domain = ops[number].domain};

	atomic_store(&own.buffers, atomic_load(&ops[number].buffers) & atomic_load(&contexts));
	return own;
}

void cap_lines_write_access(const struct cap_launch *launch, uint32_t place,
			    const kymo_lanes_profile_t *p, const struct lanes_count *n)
{
	struct cap_op op = op_of(KERNEL_LINE_OP_ACCESS);
	uint64_t now = tick_now();
	struct cap_frame f;
	struct wire_enc e;

	if (!cap_activity_begin(&f, &e, &op, NULL, now, now, KERNEL_ACCESS_FIELDS))
		return;
	wire_unsigned(&e, KERNEL_ACCESS_CORRELATION, launch->correlation);
	wire_unsigned(&e, KERNEL_ACCESS_AGENT, launch->agent);
	wire_unsigned(&e, KERNEL_ACCESS_KERNEL, launch->kernel);
	wire_unsigned(&e, KERNEL_ACCESS_PLACE, place);
	wire_unsigned(&e, KERNEL_ACCESS_ACCESSES, n->accesses);
	wire_unsigned(&e, KERNEL_ACCESS_WARPS, n->warps);
	wire_unsigned(&e, KERNEL_ACCESS_LANES, n->lanes);
	wire_unsigned(&e, KERNEL_ACCESS_NEEDED, n->needed);
	wire_unsigned(&e, KERNEL_ACCESS_USED, n->used);
	wire_unsigned(&e, KERNEL_ACCESS_MISALIGNED, n->misaligned);
	wire_unsigned(&e, KERNEL_ACCESS_WARP, p->warp);
	cap_activity_commit(&f, &e);
}

void cap_lines_write_instruction(const struct cap_launch *launch,
				 const struct cap_line_instruction *i, uint32_t warp, bool instead)
{
	struct cap_op op = op_of(KERNEL_LINE_OP_INSTRUCTION);
	uint64_t now = tick_now();
	struct cap_frame f;
	struct wire_enc e;

	if (!cap_activity_begin(&f, &e, &op, NULL, now, now, KERNEL_INSTRUCTION_FIELDS))
		return;
	wire_unsigned(&e, KERNEL_INSTRUCTION_CORRELATION, launch->correlation);
	wire_unsigned(&e, KERNEL_INSTRUCTION_AGENT, launch->agent);
	wire_unsigned(&e, KERNEL_INSTRUCTION_KERNEL, launch->kernel);
	wire_unsigned(&e, KERNEL_INSTRUCTION_CODE, i->code);
	wire_unsigned(&e, KERNEL_INSTRUCTION_WARPS, i->warps);
	wire_unsigned(&e, KERNEL_INSTRUCTION_ITEMS, i->items);
	wire_unsigned(&e, KERNEL_INSTRUCTION_ACCESS, i->access);
	wire_unsigned(&e, KERNEL_INSTRUCTION_SPACE, i->space);
	wire_unsigned(&e, KERNEL_INSTRUCTION_BYTES, i->bytes);
	wire_unsigned(&e, KERNEL_INSTRUCTION_ACCESSES, i->accesses);
	wire_unsigned(&e, KERNEL_INSTRUCTION_SECTORS_NEEDED, i->sectors_needed);
	wire_unsigned(&e, KERNEL_INSTRUCTION_SECTORS_USED, i->sectors_used);
	wire_unsigned(&e, KERNEL_INSTRUCTION_ROUNDS_NEEDED, i->rounds_needed);
	wire_unsigned(&e, KERNEL_INSTRUCTION_ROUNDS_USED, i->rounds_used);
	wire_unsigned(&e, KERNEL_INSTRUCTION_UNIFORM, i->uniform);
	wire_unsigned(&e, KERNEL_INSTRUCTION_DIVERGENT, i->divergent);
	wire_unsigned(&e, KERNEL_INSTRUCTION_WARP, warp);
	wire_unsigned(&e, KERNEL_INSTRUCTION_INSTEAD, instead);
	cap_activity_commit(&f, &e);
}

void cap_lines_write_report(const struct cap_launch *launch, uint32_t blob)
{
	struct cap_op op = op_of(KERNEL_LINE_OP_REPORT);
	uint64_t now = tick_now();
	struct cap_frame f;
	struct wire_enc e;

	if (!cap_activity_begin(&f, &e, &op, NULL, now, now, KERNEL_REPORT_FIELDS))
		return;
	wire_unsigned(&e, KERNEL_REPORT_CORRELATION, launch->correlation);
	wire_unsigned(&e, KERNEL_REPORT_AGENT, launch->agent);
	wire_unsigned(&e, KERNEL_REPORT_KERNEL, launch->kernel);
	wire_unsigned(&e, KERNEL_REPORT_REPORT, blob);
	cap_activity_commit(&f, &e);
}

void cap_lines_write(const struct cap_line_counts *c)
{
	static uint32_t ids
		[CAP_LINE_TOTAL_COUNT]; /* by launches, of which the gate lets through one at a time */
	const uint64_t bits = atomic_load(&contexts);
	struct cap_op op = op_of(KERNEL_LINE_OP_BLOCK);
	const struct counter_event e = {.op = KYMO_COUNTER_OP_DISPATCH,
					.agent = c->launch->agent,
					.kernel = c->launch->kernel,
					.correlation = c->launch->correlation,
					.start = c->start,
					.end = c->end};

	for (uint32_t i = 0; i < c->count; i++)
		write_block(c, &op, i);
	totals_define(ids);
	for (uint32_t i = 0; i < CAP_LINE_TOTAL_COUNT; i++)
		if (c->totals[i] == c->totals[i]) /* it is known */
			counter_write(&e, bits, ids[i], c->totals[i]);
}
