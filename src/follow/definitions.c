/* SPDX-License-Identifier: Apache-2.0 */
/* What a process defines, as far as sums need it. Definitions may come twice, and refer to later ones. */
#include <stdlib.h>
#include <string.h>

#include <kymo/schema.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/vec.h"
#include "follow/process.h"
#include "stream/demangle.h"
#include "wire/wire.h"

enum { NAME_MOST = 4096 };

/* Terminated, owned. */
static char *name_of(const struct wire_def *d, unsigned i)
{
	size_t length;
	const char *s = wire_def_text(d, i, &length);

	return strndup(s, length < NAME_MOST ? length : NAME_MOST);
}

/* ---- processes --------------------------------------------------------------------------------- */

static void set_rate(struct follow_process *p, double ns_per_tick)
{
	if (ns_per_tick > 0 && ns_per_tick < 1e6)
		p->ns_per_tick = ns_per_tick;
}

/* Two readings that are a second apart say more than the estimate of the process. */
void follow_calibrate(struct follow_process *p, const struct raw_tick_sync *s)
{
	if (!p->first_sync.before) {
		p->first_sync = *s;
		return;
	}
	if (s->before <= p->first_sync.before ||
	    s->monotonic_raw < p->first_sync.monotonic_raw + 500000000)
		return;
	set_rate(p, (double)(s->monotonic_raw - p->first_sync.monotonic_raw) /
			    (double)(s->before - p->first_sync.before));
}

static void define_process(struct follow_process *p, const struct wire_def *d)
{
	struct text words = {0};
	size_t length;
	const char *argv = wire_def_text(d, DEF_PROCESS_ARGV, &length);

	p->pid = wire_def_get(d, DEF_PROCESS_PID);
	p->tick_source = wire_def_get(d, DEF_PROCESS_TICK_SOURCE);
	p->tick_per_second = wire_def_get(d, DEF_PROCESS_TICK_RATE);
	p->start_tick = wire_def_get(d, DEF_PROCESS_START_TICK);
	p->aside |= wire_def_get(d, DEF_PROCESS_ROLE) == PROCESS_TELEMETRY;
	if (p->tick_source == TICK_MONOTONIC_RAW)
		set_rate(p, 1);
	else if (p->tick_per_second)
		set_rate(p, 1e9 / (double)p->tick_per_second);
	for (size_t i = 0; i < length && words.length < NAME_MOST;) {
		size_t n = strnlen(argv + i, length - i);

		text_add(&words, i ? " " : "");
		text_add_bytes(&words, argv + i, n);
		i += n + 1;
	}
	free(p->program);
	p->program = words.s;
}

/* ---- operations -------------------------------------------------------------------------------- */

static uint8_t what_is(const char *name, size_t length)
{
	static const char *const names[FIELDS] = {
		[FIELD_AGENT] = "agent",       [FIELD_QUEUE] = "queue", [FIELD_KERNEL] = "kernel",
		[FIELD_START] = "start",       [FIELD_BYTES] = "bytes", [FIELD_KIND] = "kind",
		[FIELD_DURATION] = "duration", [FIELD_ID] = "id",       [FIELD_PARENT] = "parent"};

	for (unsigned i = 0; i < FIELDS; i++)
		if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
			return (uint8_t)(i + 1);
	return 0;
}

/* u8 kind, u8 element, u8 size, u8 flags, u32 set id, u16 name length, name, u16 type length, type */
static void take_fields(struct follow_op *op, const struct wire_def *d)
{
	size_t length;
	const uint8_t *p = (const uint8_t *)wire_def_text(d, DEF_OP_FIELDS, &length);
	const uint8_t *end = p + length;
	uint64_t count = wire_def_get(d, DEF_OP_FIELD_COUNT);
	uint16_t n;

	op->field_count = 0;
	while (op->field_count < count && op->field_count < KYMO_FIELDS_MAX && end - p >= 10) {
		uint8_t i = op->field_count++;

		op->fields[i].kind = p[0];
		op->fields[i].element = p[1];
		op->fields[i].size = p[2];
		memcpy(&n, p + 8, 2);
		p += 10;
		if (end - p < n + 2)
			return;
		op->fields[i].what = what_is((const char *)p, n);
		p += n;
		memcpy(&n, p, 2);
		p += 2;
		if (end - p < n)
			return;
		p += n;
	}
}

static void define_op(struct follow *f, struct follow_process *p, const struct wire_def *d)
{
	uint64_t wire = wire_def_get(d, DEF_OP_WIRE);
	struct follow_op *op;

	if (wire > UINT16_MAX)
		return;
	if (!vec_reserve_zero(&p->ops, &p->op_room, wire, 1)) {
		f->failed = true;
		return;
	}
	op = &p->ops[wire];
	if (op->name) /* the same again */
		return;
	op->name = name_of(d, DEF_OP_NAME);
	op->domain = wire_def_get(d, DEF_OP_DOMAIN);
	op->flags = (uint32_t)wire_def_get(d, DEF_OP_FLAGS);
	take_fields(op, d);
}

static const char *direction_of(const char *op)
{
	static const struct {
		const char *op, *direction;
	} known[] = {{"read", "device to host"},
		     {"write", "host to device"},
		     {"copy", "device"},
		     {"migrate", "migration"}};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(op, known[i].op) == 0)
			return known[i].direction;
	return op;
}

static uint8_t kind_of(const struct follow_op *op, const char *domain)
{
	if (!(op->flags & KYMO_OP_ACTIVITY))
		return op->flags & (KYMO_OP_TIMED | KYMO_OP_OBJECT) ? FOLLOW_ASIDE : FOLLOW_CALL;
	if (strcmp(domain, "dispatch") == 0)
		return FOLLOW_DISPATCH;
	if (strcmp(domain, "copy") == 0)
		return FOLLOW_COPY;
	if (strcmp(domain, "allocation") == 0)
		return strcmp(op->name, "free") == 0 ? FOLLOW_FREE : FOLLOW_ALLOCATE;
	return FOLLOW_ASIDE;
}

void follow_resolve(struct follow *f, struct follow_process *p, struct follow_op *op)
{
	const char *domain = map_get_pointer(&p->domains, op->domain);

	if (!op->name || !domain)
		return;
	op->resolved = true;
	op->kind = kind_of(op, domain);
	if (op->kind == FOLLOW_CALL)
		op->row = follow_row(f, &f->calls, domain, op->name, strlen(op->name));
	if (op->kind == FOLLOW_COPY) {
		const char *direction = direction_of(op->name);

		op->row = follow_row(f, &f->copies, "", direction, strlen(direction));
	}
	if ((op->kind == FOLLOW_CALL || op->kind == FOLLOW_COPY) && !op->row)
		op->kind = FOLLOW_ASIDE;
}

/* ---- objects ----------------------------------------------------------------------------------- */

static void define_domain(struct follow *f, struct follow_process *p, const struct wire_def *d)
{
	uint64_t id = wire_def_get(d, DEF_DOMAIN_ID);
	char *name;

	if (map_get(&p->domains, id))
		return;
	name = name_of(d, DEF_DOMAIN_NAME);
	if (!name || !map_set_pointer(&p->domains, id, name)) {
		free(name);
		f->failed = true;
	}
}

static void define_agent(struct follow *f, struct follow_process *p, const struct wire_def *d)
{
	uint64_t id = wire_def_get(d, DEF_AGENT_ID);
	uint32_t device;

	if (map_get(&p->agents, id))
		return;
	device = follow_device(f, p, d);
	if (map_set(&p->agents, id, device + 1u))
		f->devices[device].users++;
	else
		f->failed = true;
}

static void define_queue(struct follow *f, struct follow_process *p, const struct wire_def *d)
{
	uint64_t agent = wire_def_get(d, DEF_QUEUE_AGENT);

	/* The agent may be defined later: its id is kept. No agent has the largest number. */
	if (agent != UINT64_MAX && !map_set(&p->queues, wire_def_get(d, DEF_QUEUE_ID), agent + 1))
		f->failed = true;
}

static void define_kernel(struct follow *f, struct follow_process *p, const struct wire_def *d)
{
	uint64_t id = wire_def_get(d, DEF_KERNEL_ID);
	size_t length;
	const char *name = wire_def_text(d, DEF_KERNEL_NAME, &length);
	struct text symbol = {0};
	char *written;
	uint32_t row;

	if (map_get(&p->kernels, id))
		return;
	text_add_bytes(&symbol, name, length);
	written = symbol.s ? demangle(symbol.s) : NULL; /* as the reader of a trace does */
	name = written ? written : symbol.s;
	length = name ? strlen(name) : 0;
	row = follow_row(f, &f->kernels, "", name, length < NAME_MOST ? length : NAME_MOST);
	free(written);
	text_release(&symbol);
	if (!row || !map_set(&p->kernels, id, row))
		f->failed = true;
}

static void define(struct follow *f, struct follow_process *p, const struct wire_def *d)
{
	switch (d->kind) {
	case DEF_PROCESS:
		define_process(p, d);
		break;
	case DEF_DOMAIN:
		define_domain(f, p, d);
		break;
	case DEF_OP:
		define_op(f, p, d);
		break;
	case DEF_AGENT:
		define_agent(f, p, d);
		break;
	case DEF_QUEUE:
		define_queue(f, p, d);
		break;
	case DEF_KERNEL:
		define_kernel(f, p, d);
		break;
	case DEF_RANK:
		p->rank = (int64_t)wire_def_get(d, DEF_RANK_RANK);
		break;
	default:
		break;
	}
}

void follow_define(struct follow *f, struct follow_process *p, const uint8_t *chunk, size_t from,
		   size_t end)
{
	const uint8_t *at = chunk + from;
	struct wire_def d;

	while (at < chunk + end && wire_def_read(&at, chunk + end, &d) > 0)
		define(f, p, &d);
}
