/* SPDX-License-Identifier: Apache-2.0 */
/* Answers for tools; see <kymo/answer.h>. What only a runtime's backend knows, it is asked for. */
#include "core/tool/answer.h"

#include <string.h>

#include "core/context/context.h"
#include "core/ring/ring.h"
#include "core/tool/tool.h"

/* ---- the call in progress ---- */

/* The innermost frame that no longjmp has left behind, or NULL. */
static const struct cap_frame *innermost(const struct cap_thread *t, const void *sp)
{
	uint32_t depth = t && t->magic == CAP_THREAD_MAGIC ? atomic_load(&t->depth) : 0;

	while (depth && (const char *)t->frames[depth - 1].sp <= (const char *)sp &&
	       cap_same_stack(t->frames[depth - 1].sp, sp))
		depth--;
	return depth ? &t->frames[depth - 1] : NULL;
}

kymo_status_t kymo_current_call(kymo_call_info_t *out)
{
	const struct cap_thread *t = cap_thread_current;
	const struct cap_frame *f;

	if (!out)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (out->size < sizeof(*out))
		return KYMO_ERROR_INCOMPATIBLE;
	f = innermost(t, cap_sp());
	if (!f)
		return KYMO_ERROR_NOT_FOUND;
	*out = (kymo_call_info_t){.size = sizeof(*out),
				  .domain = core_domains[f->op->domain].desc,
				  .op = f->op->number,
				  .thread = t->index,
				  .correlation = f->id,
				  .parent = f->parent,
				  .start = tick_ns(f->start),
				  .scope = f->scope,
				  .call_site = f->caller};
	return KYMO_OK;
}

/* ---- queue and device ---- */

static const struct cap_domain *domain_of(const char *name)
{
	for (uint32_t i = 0; i < atomic_load(&core_domain_count); i++)
		if (strcmp(core_domains[i].desc->name, name) == 0)
			return &core_domains[i];
	return NULL;
}

/* The queue that the call is about whose callback runs on this thread. */
static bool queue_of_call(const struct cap_domain *d, uint64_t *handle)
{
	const struct core_callback_info *told = core_callback_current();
	kymo_callback_record_t r = {.size = sizeof(r), .domain = d->desc, .internal = told};
	kymo_value_t v = {.size = sizeof(v)};
	const char *type = d->info->answers->queue_type;
	const kymo_op_desc_t *op;

	if (!told || told->domain->info != d->info || !told->args || !type)
		return false;
	r.op = told->op;
	op = &d->desc->ops[told->op];
	for (uint32_t i = 0; i < op->field_count; i++) {
		if (op->fields[i].kind != KYMO_KIND_HANDLE || !op->fields[i].type ||
		    strcmp(op->fields[i].type, type) != 0)
			continue;
		v.size = sizeof(v);
		if (kymo_callback_value(&r, i, &v) != KYMO_OK || !v.present || !v.u)
			continue;
		*handle = v.u;
		return true;
	}
	return false;
}

static kymo_status_t queue_now(const struct cap_domain *d, kymo_queue_info_t *out)
{
	uint64_t handle = 0;
	bool given;

	if (!d)
		return KYMO_ERROR_NOT_FOUND;
	if (!d->info->answers || !d->info->answers->queue)
		return KYMO_ERROR_UNSUPPORTED;
	given = queue_of_call(d, &handle);
	*out = (kymo_queue_info_t){.size = sizeof(*out)};
	return d->info->answers->queue(handle, given, out) ? KYMO_OK : KYMO_ERROR_NOT_FOUND;
}

kymo_status_t kymo_current_queue(const char *domain, kymo_queue_info_t *out)
{
	kymo_queue_info_t found;
	kymo_status_t status;

	if (!domain || !out)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (out->size < sizeof(*out))
		return KYMO_ERROR_INCOMPATIBLE;
	status = queue_now(domain_of(domain), &found);
	if (status == KYMO_OK)
		*out = found;
	return status;
}

kymo_status_t kymo_current_agent(const char *domain, uint32_t *agent)
{
	const struct cap_domain *d;
	kymo_queue_info_t queue;
	kymo_status_t status;

	if (!domain || !agent)
		return KYMO_ERROR_INVALID_ARGUMENT;
	d = domain_of(domain);
	if (d && d->info->answers && d->info->answers->agent)
		return d->info->answers->agent(agent) ? KYMO_OK : KYMO_ERROR_NOT_FOUND;
	status = queue_now(d, &queue);
	if (status == KYMO_OK)
		*agent = queue.agent;
	return status;
}

/* ---- pointers ---- */

kymo_status_t kymo_pointer_info(const void *address, kymo_pointer_t *out)
{
	kymo_pointer_t p = {.size = sizeof(p)};

	if (!address || !out)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (out->size < sizeof(*out))
		return KYMO_ERROR_INCOMPATIBLE;
	for (uint32_t i = 0; i < atomic_load(&core_domain_count) && !p.domain; i++) {
		const struct cap_domain_info *info = core_domains[i].info;

		if (info->answers && info->answers->pointer && info->answers->pointer(address, &p))
			p.domain = core_domains[i].desc;
	}
	if (!p.domain)
		p = (kymo_pointer_t){.size = sizeof(p),
				     .kind = KYMO_MEMORY_PAGEABLE,
				     .base = (uint64_t)(uintptr_t)address};
	*out = p;
	return KYMO_OK;
}
