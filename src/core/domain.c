/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Domains and the masks that say who wants which op. Masks are recomputed whole whenever a
 * context, a service or a domain changes; traced calls only ever load them.
 */
#include "core/internal.h"

#include <string.h>

struct cap_domain core_domains[CORE_DOMAINS];
_Atomic uint32_t core_domain_count;
_Atomic uint32_t cap_activities;
static uint16_t next_wire_op = 1;

static const struct {
	const char *domain;
	uint32_t bit;
} activity_bits[] = {
	{"dispatch", CAP_ACTIVITY_DISPATCH},
	{"copy", CAP_ACTIVITY_COPY},
	{"allocation", CAP_ACTIVITY_ALLOCATION},
	{"sync", CAP_ACTIVITY_SYNC},
	{"code_object", CAP_ACTIVITY_CODE_OBJECT},
};

static uint32_t activity_bit(const struct cap_domain *d)
{
	for (size_t i = 0; i < sizeof(activity_bits) / sizeof(activity_bits[0]); i++)
		if (d->builtin && strcmp(d->info->desc->name, activity_bits[i].domain) == 0)
			return activity_bits[i].bit;
	return 0;
}

/* Some domain of a runtime is there, so records may come. */
static bool runtime_present(void)
{
	for (uint32_t i = 0; i < core_domain_count; i++)
		if (!core_domains[i].builtin)
			return true;
	return false;
}

static _Atomic uint64_t stack_bits[65536 / 64]; /* by wire op */

bool core_stack_wanted(uint16_t wire)
{
	return atomic_load_explicit(&stack_bits[wire / 64], memory_order_relaxed) >> wire % 64 & 1;
}

static void stack_update(uint16_t wire, bool wanted)
{
	uint64_t bit = 1ull << wire % 64;

	if (wanted == core_stack_wanted(wire))
		return;
	atomic_fetch_xor(&stack_bits[wire / 64], bit);
	atomic_fetch_add(&cap_stack_ops, wanted ? 1 : UINT64_MAX);
}

static void op_masks(const struct cap_domain *d, uint32_t op, uint64_t *callbacks,
		     uint64_t *buffers)
{
	bool stack = false;

	*callbacks = *buffers = 0;
	for (uint32_t c = 0; c < CORE_CONTEXTS; c++) {
		struct core_context *ctx = &core_contexts[c];
		unsigned wants;

		if (!ctx->used || !ctx->active)
			continue;
		wants = core_context_wants(ctx, d, op);
		if (wants & SERVICE_CALLBACK)
			*callbacks |= 1ull << c;
		if ((wants & SERVICE_BUFFER) && ctx->buffer && ctx->buffer->ready)
			*buffers |= 1ull << c;
		stack |= (wants & SERVICE_STACK) != 0;
	}
	stack_update((uint16_t)(d->base + op), stack);
}

static void slot_update(const struct cap_domain *d, struct cap_slot *s)
{
	struct cap_op *op = &d->info->ops[s->op];
	bool wanted = atomic_load(&op->callbacks) || atomic_load(&op->buffers) ||
		      atomic_load(&op->keep);

	if (s->next)
		atomic_store(&s->target, wanted ? s->wrapper : s->next);
}

static void buffers_ensure(void)
{
	if (!runtime_present())
		return;
	for (uint32_t c = 0; c < CORE_CONTEXTS; c++)
		if (core_contexts[c].used && core_contexts[c].active && core_contexts[c].buffer)
			core_buffer_ensure(core_contexts[c].buffer);
}

static void domain_masks(const struct cap_domain *d, uint32_t *activities)
{
	for (uint32_t op = 0; op < d->info->desc->op_count; op++) {
		uint64_t callbacks, buffers;

		op_masks(d, op, &callbacks, &buffers);
		atomic_store(&d->info->ops[op].callbacks, callbacks);
		atomic_store(&d->info->ops[op].buffers, buffers);
		if (callbacks | buffers)
			*activities |= activity_bit(d);
	}
	for (uint32_t i = 0; i < d->info->slot_count; i++)
		slot_update(d, &d->info->slots[i]);
}

void core_masks_update(void)
{
	uint32_t activities = 0;

	buffers_ensure();
	for (uint32_t i = 0; i < core_domain_count; i++)
		domain_masks(&core_domains[i], &activities);
	atomic_store(&cap_activities, activities);
}

void core_wanted_notify(void)
{
	core_deliver_threads_start();
	for (uint32_t i = 0; i < atomic_load(&core_domain_count); i++)
		if (core_domains[i].info->wanted)
			core_domains[i].info->wanted(atomic_load(&cap_activities));
}

void core_domains_flush(uint64_t deadline)
{
	for (uint32_t i = 0; i < atomic_load(&core_domain_count); i++)
		if (core_domains[i].info->flush)
			core_domains[i].info->flush(deadline);
}

void core_domains_fork_child(void)
{
	for (uint32_t i = 0; i < atomic_load(&core_domain_count); i++)
		if (core_domains[i].info->fork_child)
			core_domains[i].info->fork_child();
}

static bool description_valid(const struct cap_domain_info *info)
{
	const kymo_domain_desc_t *d = info ? info->desc : NULL;

	if (!d || d->size < sizeof(*d) || !d->name || !d->ops || !info->ops)
		return false;
	for (uint32_t i = 0; i < d->op_count; i++)
		if (!d->ops[i].name || d->ops[i].field_count > KYMO_FIELDS_MAX)
			return false;
	return d->op_count != 0 && d->op_count < 0xffffu - next_wire_op;
}

/* Caller holds `configure`. */
static kymo_status_t add(const struct cap_domain_info *info, bool builtin, struct cap_domain **out)
{
	uint32_t n = atomic_load(&core_domain_count);
	struct cap_domain *d = &core_domains[n];

	if (!description_valid(info))
		return KYMO_ERROR_INVALID_ARGUMENT;
	for (uint32_t i = 0; i < n; i++)
		if (strcmp(core_domains[i].info->desc->name, info->desc->name) == 0)
			return KYMO_ERROR_EXISTS;
	if (n == CORE_DOMAINS)
		return KYMO_ERROR_LIMIT;
	*d = (struct cap_domain){info, n + 1, next_wire_op, builtin};
	next_wire_op = (uint16_t)(next_wire_op + info->desc->op_count);
	for (uint32_t i = 0; i < info->desc->op_count; i++) {
		info->ops[i].wire = (uint16_t)(d->base + i);
		info->ops[i].number = (uint16_t)i;
	}
	core_domain_define(d);
	atomic_store(&core_domain_count, n + 1);
	*out = d;
	return KYMO_OK;
}

kymo_status_t core_domain_add_builtin(const struct cap_domain_info *info)
{
	struct cap_domain *d;

	return add(info, true, &d);
}

kymo_status_t cap_domain_register(const struct cap_domain_info *info, struct cap_domain **out)
{
	kymo_status_t status;

	if (!out)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (!core_init())
		return KYMO_ERROR_UNSUPPORTED;
	core_tools_discover();
	pthread_mutex_lock(&core_live->configure);
	status = add(info, false, out);
	if (status == KYMO_OK)
		core_masks_update();
	pthread_mutex_unlock(&core_live->configure);
	if (status == KYMO_OK)
		core_wanted_notify();
	return status;
}

void cap_slots_update(struct cap_domain *d)
{
	pthread_mutex_lock(&core_live->configure);
	for (uint32_t i = 0; i < d->info->slot_count; i++)
		slot_update(d, &d->info->slots[i]);
	pthread_mutex_unlock(&core_live->configure);
}

void cap_keep(struct cap_domain *d, uint32_t op, bool on)
{
	pthread_mutex_lock(&core_live->configure);
	atomic_store(&d->info->ops[op].keep, on);
	for (uint32_t i = 0; i < d->info->slot_count; i++)
		if (d->info->slots[i].op == op)
			slot_update(d, &d->info->slots[i]);
	pthread_mutex_unlock(&core_live->configure);
}

const struct cap_domain *core_domain_of(uint16_t wire)
{
	for (uint32_t i = 0; i < atomic_load(&core_domain_count); i++) {
		const struct cap_domain *d = &core_domains[i];

		if (wire >= d->base && wire - d->base < (int)d->info->desc->op_count)
			return d;
	}
	return NULL;
}

/* ---- reflection ---- */

kymo_status_t kymo_domains(kymo_domain_fn callback, void *data)
{
	kymo_status_t status = KYMO_OK;

	if (!callback)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (!core_init())
		return KYMO_ERROR_UNSUPPORTED;
	for (uint32_t i = 0; status == KYMO_OK && i < atomic_load(&core_domain_count); i++)
		status = callback(core_domains[i].info->desc, data);
	return status;
}

kymo_status_t kymo_domain_find(const char *name, const kymo_domain_desc_t **out)
{
	if (!name || !out)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (!core_init())
		return KYMO_ERROR_UNSUPPORTED;
	for (uint32_t i = 0; i < atomic_load(&core_domain_count); i++) {
		if (strcmp(core_domains[i].info->desc->name, name) == 0) {
			*out = core_domains[i].info->desc;
			return KYMO_OK;
		}
	}
	return KYMO_ERROR_NOT_FOUND;
}
