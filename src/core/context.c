/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts and their services: what tools configure. */
#include "core/internal.h"

#include <stdlib.h>
#include <string.h>

struct core_context core_contexts[CORE_CONTEXTS];

/* Handles are (generation << 8 | index + 1): stale and foreign ones are recognised. */
static struct core_context *context_of(kymo_context_t h)
{
	uint32_t i = (uint32_t)(h.handle & 0xff) - 1;

	if (i >= CORE_CONTEXTS || !core_contexts[i].used ||
	    core_contexts[i].generation != (uint32_t)(h.handle >> 8))
		return NULL;
	return &core_contexts[i];
}

static kymo_context_t handle_of(const struct core_context *c)
{
	return (kymo_context_t){(uint64_t)c->generation << 8 |
				(uint64_t)(c - core_contexts + 1)};
}

/* Takes `configure` and finds the context; on failure nothing is held. */
static kymo_status_t lock_context(kymo_context_t h, struct core_context **out)
{
	if (!core_init())
		return KYMO_ERROR_UNSUPPORTED;
	pthread_mutex_lock(&core_live->configure);
	*out = context_of(h);
	if (*out)
		return KYMO_OK;
	pthread_mutex_unlock(&core_live->configure);
	return h.handle ? KYMO_ERROR_NOT_FOUND : KYMO_ERROR_INVALID_ARGUMENT;
}

static void unlock(void)
{
	pthread_mutex_unlock(&core_live->configure);
}

kymo_status_t kymo_context_create(kymo_context_t *out)
{
	static uint32_t generations;
	kymo_status_t status = KYMO_ERROR_LIMIT;

	if (!out)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (!core_init())
		return KYMO_ERROR_UNSUPPORTED;
	pthread_mutex_lock(&core_live->configure);
	for (uint32_t i = 0; i < CORE_CONTEXTS; i++) {
		struct core_context *c = &core_contexts[i];

		if (c->used)
			continue;
		memset(c, 0, sizeof(*c));
		c->used = true;
		c->generation = ++generations;
		*out = handle_of(c);
		status = KYMO_OK;
		break;
	}
	unlock();
	return status;
}

static kymo_status_t set_active(kymo_context_t h, bool active)
{
	struct core_context *c;
	kymo_status_t status = lock_context(h, &c);
	bool changed;

	if (status != KYMO_OK)
		return status;
	changed = c->active != active;
	c->active = active;
	if (changed)
		core_masks_update();
	unlock();
	if (changed)
		core_wanted_notify();
	return KYMO_OK;
}

kymo_status_t kymo_context_start(kymo_context_t context)
{
	core_tools_discover();
	return set_active(context, true);
}

kymo_status_t kymo_context_stop(kymo_context_t context)
{
	return set_active(context, false);
}

kymo_status_t kymo_context_is_active(kymo_context_t context, bool *active)
{
	struct core_context *c;
	kymo_status_t status;

	if (!active)
		return KYMO_ERROR_INVALID_ARGUMENT;
	status = lock_context(context, &c);
	if (status == KYMO_OK) {
		*active = c->active;
		unlock();
	}
	return status;
}

/* Without a chunk every record takes the slow path, which looks at `paused`: the fast one need not. */
kymo_status_t kymo_context_pause_thread(kymo_context_t context, bool pause)
{
	struct core_context *c;
	kymo_status_t status = lock_context(context, &c);
	struct core_buffer *b;
	struct cap_thread *t;

	if (status != KYMO_OK)
		return status;
	b = c->buffer;
	unlock();
	t = b ? cap_thread_attach() : NULL;
	if (!t)
		return b ? KYMO_ERROR_NO_MEMORY : KYMO_ERROR_STATE;
	if (pause && b->ready)
		core_ring_close(b, &t->rings[b->index]);
	t->paused = pause ? t->paused | 1u << b->index : t->paused & ~(1u << b->index);
	return KYMO_OK;
}

/* Its delivery callback, or that of a buffer with the same pool, would wait for itself. */
static kymo_status_t not_inside(kymo_context_t context)
{
	struct core_context *c;
	kymo_status_t status = lock_context(context, &c);
	bool inside;

	if (status != KYMO_OK)
		return status;
	inside = core_deliver_inside(c->buffer);
	unlock();
	return inside ? KYMO_ERROR_BUSY : KYMO_OK;
}

kymo_status_t kymo_context_destroy(kymo_context_t context)
{
	struct core_context *c;
	kymo_status_t status = not_inside(context);
	struct core_buffer *b;

	if (status == KYMO_OK)
		status = set_active(context, false);
	if (status == KYMO_OK)
		status = lock_context(context, &c);
	if (status != KYMO_OK)
		return status;
	b = c->buffer;
	for (uint32_t i = 0; i < c->service_count; i++)
		free(c->services[i].domain);
	c->service_count = 0;
	c->used = false;
	c->buffer = NULL;
	unlock();
	core_wanted_notify();
	if (b)
		core_buffer_release(b);
	return KYMO_OK;
}

/* ---- services ---- */

struct core_buffer *core_buffer_of(kymo_buffer_t h)
{
	uint32_t i = (uint32_t)(h.handle & 0xff) - 1;

	if (i >= CAP_BUFFERS || !core_buffers[i].used ||
	    core_buffers[i].generation != (uint32_t)(h.handle >> 8))
		return NULL;
	return &core_buffers[i];
}

static kymo_status_t copy_selection(const kymo_selection_t *from, struct core_service *to)
{
	if (!from)
		return KYMO_OK;
	if (from->size < sizeof(*from))
		return KYMO_ERROR_INCOMPATIBLE;
	to->selection = *from;
	if (from->domain) {
		to->domain = strdup(from->domain);
		if (!to->domain)
			return KYMO_ERROR_NO_MEMORY;
	}
	return KYMO_OK;
}

/* Adds `service` to the context and puts it into force if the context is started. */
static kymo_status_t add_service(kymo_context_t context, const kymo_selection_t *selection,
				 struct core_service *service)
{
	struct core_context *c;
	kymo_status_t status = lock_context(context, &c);

	if (status != KYMO_OK)
		return status;
	status = c->service_count == CORE_SERVICES ? KYMO_ERROR_LIMIT
						   : copy_selection(selection, service);
	if (status == KYMO_OK) {
		c->services[c->service_count++] = *service;
		if (c->active)
			core_masks_update();
	}
	unlock();
	if (status == KYMO_OK)
		core_wanted_notify();
	return status;
}

kymo_status_t kymo_callback_service(kymo_context_t context, const kymo_selection_t *selection,
				    kymo_callback_fn callback, void *data)
{
	struct core_service service = {.kind = SERVICE_CALLBACK, .callback = callback, .data = data};

	if (!callback)
		return KYMO_ERROR_INVALID_ARGUMENT;
	return add_service(context, selection, &service);
}

kymo_status_t kymo_stack_service(kymo_context_t context, const kymo_selection_t *selection)
{
	struct core_service service = {.kind = SERVICE_STACK};

	return add_service(context, selection, &service);
}

kymo_status_t kymo_buffer_service(kymo_context_t context, const kymo_selection_t *selection,
				  kymo_buffer_t buffer)
{
	struct core_service service = {.kind = SERVICE_BUFFER};
	struct core_buffer *b = core_buffer_of(buffer);
	struct core_context *c = context_of(context);

	if (!b || !c || c->buffer != b)
		return KYMO_ERROR_NOT_FOUND;
	return add_service(context, selection, &service);
}

static bool selects(const struct core_service *s, const struct cap_domain *d, uint32_t op)
{
	const kymo_domain_desc_t *desc = d->info->desc;

	if (s->domain && strcmp(s->domain, desc->name) != 0)
		return false;
	return !s->selection.select || s->selection.select(desc, op, s->selection.data);
}

unsigned core_context_wants(const struct core_context *c, const struct cap_domain *d, uint32_t op)
{
	unsigned wants = 0;

	for (uint32_t i = 0; i < c->service_count; i++)
		if (selects(&c->services[i], d, op))
			wants |= c->services[i].kind;
	return wants;
}

/* ---- buffers of contexts ---- */

static struct core_buffer *buffer_free_slot(void)
{
	for (uint32_t i = 0; i < CAP_BUFFERS; i++) {
		if (!core_buffers[i].used && !core_ring_held(i)) {
			core_buffers[i].index = (uint8_t)i;
			return &core_buffers[i];
		}
	}
	return NULL;
}

/* A thread has one set of tallies. */
static bool tally_exists(void)
{
	for (uint32_t i = 0; i < CAP_BUFFERS; i++)
		if (core_buffers[i].used && core_buffers[i].desc.tally)
			return true;
	return false;
}

static kymo_status_t buffer_setup(struct core_context *c, const kymo_buffer_desc_t *desc,
				  kymo_buffer_t *out)
{
	static uint32_t generations;
	struct core_buffer *b = c->buffer || (desc->tally && tally_exists()) ? NULL
									      : buffer_free_slot();
	uint32_t context = (uint32_t)(c - core_contexts);
	const size_t rest = offsetof(struct core_buffer, ready);
	uint8_t index;

	if (!b)
		return c->buffer ? KYMO_ERROR_EXISTS : KYMO_ERROR_LIMIT;
	index = b->index;
	memset((uint8_t *)b + rest, 0, sizeof(*b) - rest);
	b->index = index;
	b->generation = ++generations;
	b->context = (uint8_t)context;
	b->desc = *desc;
	if (!b->desc.bytes)
		b->desc.bytes = CORE_BUFFER_BYTES;
	if (!b->desc.block_ns)
		b->desc.block_ns = 10000000;
	if (!b->desc.policy)
		b->desc.policy = KYMO_POLICY_BLOCK;
	b->used = true;
	c->buffer = b;
	cap_buffer_of[context] = index;
	cap_args_of[context] = (uint8_t)desc->arguments;
	out->handle = (uint64_t)b->generation << 8 | (uint64_t)(index + 1u);
	return KYMO_OK;
}

kymo_status_t kymo_buffer_create(kymo_context_t context, const kymo_buffer_desc_t *desc,
				 kymo_buffer_t *out)
{
	kymo_buffer_desc_t full = {0}; /* an older tool knows less of it */
	struct core_context *c;
	kymo_status_t status;

	if (!desc || !out)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (desc->size < offsetof(kymo_buffer_desc_t, watermark))
		return KYMO_ERROR_INCOMPATIBLE;
	memcpy(&full, desc, desc->size < sizeof(full) ? desc->size : sizeof(full));
	status = core_buffer_check(&full);
	if (status == KYMO_OK)
		status = lock_context(context, &c);
	if (status != KYMO_OK)
		return status;
	status = c->active ? KYMO_ERROR_STATE : core_buffer_check_pool(&full);
	if (status == KYMO_OK)
		status = buffer_setup(c, &full, out);
	unlock();
	return status;
}

kymo_status_t kymo_buffer_lost(kymo_buffer_t buffer, uint64_t *lost)
{
	struct core_buffer *b = core_buffer_of(buffer);

	if (!lost)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (!b)
		return KYMO_ERROR_NOT_FOUND;
	*lost = b->pool ? atomic_load(&b->pool->lost_records) : 0;
	return KYMO_OK;
}

kymo_status_t kymo_drain(kymo_context_t context, uint64_t timeout_ns)
{
	uint64_t rate = tick_rate() / 1000;
	struct core_context *c;
	struct core_buffer *b;
	kymo_status_t status = lock_context(context, &c);

	if (status != KYMO_OK)
		return status;
	b = c->buffer;
	unlock();
	if (core_deliver_inside(b))
		return KYMO_ERROR_BUSY;
	core_domains_flush(tick_now() + timeout_ns / 1000000 * rate);
	return b && b->ready ? core_buffer_drain(b, timeout_ns) : KYMO_OK;
}

/* ---- external ids ---- */

#define EXTERNAL_DEPTH 32u

struct external_stack {
	uint64_t values[64][EXTERNAL_DEPTH];
	uint8_t depth[64];
};

static _Thread_local struct external_stack *externals;
static pthread_key_t externals_key;
static pthread_once_t externals_once = PTHREAD_ONCE_INIT;

static void externals_key_make(void)
{
	pthread_key_create(&externals_key, free);
}

static struct external_stack *externals_get(void)
{
	if (!externals) {
		pthread_once(&externals_once, externals_key_make);
		externals = calloc(1, sizeof(*externals));
		pthread_setspecific(externals_key, externals);
	}
	return externals;
}

static kymo_status_t external_prepare(kymo_context_t context, uint32_t *index,
				      struct cap_thread **t)
{
	struct core_context *c;
	kymo_status_t status = core_init() ? KYMO_OK : KYMO_ERROR_UNSUPPORTED;

	if (status != KYMO_OK)
		return status;
	c = context_of(context);
	if (!c)
		return KYMO_ERROR_NOT_FOUND;
	*index = (uint32_t)(c - core_contexts);
	*t = cap_thread_attach();
	return *t && externals_get() ? KYMO_OK : KYMO_ERROR_NO_MEMORY;
}

kymo_status_t kymo_external_push(kymo_context_t context, uint64_t value)
{
	struct cap_thread *t;
	uint32_t c;
	kymo_status_t status = external_prepare(context, &c, &t);

	if (status != KYMO_OK)
		return status;
	if (externals->depth[c] == EXTERNAL_DEPTH)
		return KYMO_ERROR_LIMIT;
	externals->values[c][externals->depth[c]++] = t->external[c];
	t->external[c] = value;
	return KYMO_OK;
}

kymo_status_t kymo_external_pop(kymo_context_t context, uint64_t *value)
{
	struct cap_thread *t;
	uint32_t c;
	kymo_status_t status = external_prepare(context, &c, &t);

	if (status != KYMO_OK)
		return status;
	if (externals->depth[c] == 0)
		return KYMO_ERROR_STATE;
	if (value)
		*value = t->external[c];
	t->external[c] = externals->values[c][--externals->depth[c]];
	return KYMO_OK;
}
