/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Domains and the masks that say who wants which op. Masks are recomputed whole whenever a
 * context, a service or a domain changes; traced calls only ever load them.
 */
#include "core/context/context.h"
#include "base/locks.h"
#include "base/vec.h"
#include "core/define/define.h"
#include "core/deliver/deliver.h"
#include "core/process/process.h"
#include "core/ring/ring.h"
#include "core/tally/tally.h"
#include "core/tool/tool.h"
#include "record/fields.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct cap_domain core_domains[CORE_DOMAINS];
_Atomic uint32_t core_domain_count;
_Atomic uint32_t cap_activities, cap_activities_resting;
struct core_span core_spans[CAP_BUFFERS];
static uint16_t next_wire_op = 1;
static uint16_t domain_by_wire[65536]; /* index of the domain */
static _Atomic bool untraced;          /* some runtime is there that is not */

/* Some domain of a runtime is there, so records may come; or there is something to say of one. */
bool core_runtime_present(void)
{
	if (atomic_load(&untraced))
		return true;
	for (uint32_t i = 0; i < atomic_load(&core_domain_count); i++)
		if (!core_domains[i].builtin)
			return true;
	return false;
}

static _Atomic uint64_t stack_bits[65536 / 64]; /* by wire op */

bool core_stack_wanted(uint16_t wire)
{
	return atomic_load_explicit(&stack_bits[wire / 64], memory_order_relaxed) >> wire % 64 & 1;
}

static void stack_update(uint16_t wire, bool wanted, bool *any)
{
	uint64_t bit = 1ull << wire % 64;

	*any |= wanted;
	if (wanted != core_stack_wanted(wire))
		atomic_fetch_xor(&stack_bits[wire / 64], bit);
}

/* ---- what the services of started contexts want, gathered once for all ops ---- */

#define WANTS 128u /* services for which no memory has to be found */

/* CAP_ACTIVITY_* bits: of contexts that are started; of those that rest, for the work of calls that began before. */
struct wanted_work {
	uint32_t now, resting;
};

struct wants {
	struct want {
		struct core_context *context;
		const struct core_service *service;
	} * list, *more; /* `more`: the list where it had to be allocated */
	uint32_t count, room;
	struct core_subscriber *entries; /* room for one of each */
	uint64_t paused;                 /* buffers of contexts that are */
};

static bool want_add(struct wants *w, struct core_context *c, const struct core_service *s)
{
	if (w->count == w->room) {
		bool first = !w->more;

		if (!vec_reserve(&w->more, &w->room, w->count, 1))
			return false;
		if (first && w->count)
			memcpy(w->more, w->list, w->count * sizeof(*w->more));
		w->list = w->more;
	}
	w->list[w->count++] = (struct want){c, s};
	return true;
}

static void gather(struct core_context *c, void *data)
{
	struct wants *w = data;

	if (c->paused && c->buffer)
		w->paused |= 1ull << c->buffer->index;
	for (uint32_t i = 0; c->active && i < c->service_count; i++)
		if (!want_add(w, c, &c->services[i]))
			return;
}

/* What those that are stopped would record. */
static void gather_stopped(struct core_context *c, void *data)
{
	for (uint32_t i = 0; !c->active && i < c->service_count; i++)
		if (c->services[i].kind == SERVICE_BUFFER && !want_add(data, c, &c->services[i]))
			return;
}

static void entry_of(const struct want *w, struct core_subscriber *e)
{
	const struct core_service *s = w->service;

	memset(e, 0, sizeof(*e));
	e->context = w->context;
	e->generation = atomic_load(&w->context->generation);
	e->buffer = (int16_t)atomic_load(&w->context->buffer_index);
	e->callback = s->callback;
	e->request = s->request;
	e->records = s->kind == SERVICE_BUFFER;
	e->filter = s->selection.filter;
	e->data = s->data;
	e->filter_data = s->selection.data;
	e->phases = s->selection.phases && s->callback ? s->selection.phases
						       : KYMO_PHASE_ENTER | KYMO_PHASE_EXIT;
}

/* Requests come before the callbacks of their context: those are told the answer. */
static uint32_t entry_add(struct core_subscriber *entries, uint32_t count,
			  const struct core_subscriber *e)
{
	uint32_t at = count;

	while (e->request && at && entries[at - 1].context == e->context &&
	       !entries[at - 1].request)
		at--;
	memmove(&entries[at + 1], &entries[at], (count - at) * sizeof(*entries));
	entries[at] = *e;
	return count + 1;
}

/* Some service of the buffer takes all work of the op: the filters of others do not matter. */
static bool unfiltered(const struct wants *w, uint16_t wire, const struct core_context *c)
{
	for (uint32_t i = 0; i < w->count; i++)
		if (w->list[i].context == c && w->list[i].service->kind == SERVICE_BUFFER &&
		    !w->list[i].service->selection.filter &&
		    core_service_selects(w->list[i].service, wire))
			return true;
	return false;
}

static const struct core_subscribers *op_wants(const struct cap_domain *d, uint32_t op,
					       const struct wants *w, uint64_t *buffers)
	REQUIRES(core_live->configure)
{
	uint16_t wire = (uint16_t)(d->base + op);
	uint32_t count = 0;

	*buffers = 0;
	for (uint32_t i = 0; i < w->count; i++) {
		const struct core_service *s = w->list[i].service;
		const struct core_buffer *b = w->list[i].context->buffer;
		struct core_subscriber e;

		if (!core_service_selects(s, wire))
			continue;
		if (s->waits && !(d->desc->ops[op].flags & KYMO_OP_OBJECT))
			continue;
		if ((s->kind & (SERVICE_STACK | SERVICE_COUNT | SERVICE_EXCLUSION)) ||
		    (s->kind == SERVICE_BUFFER && !(b && b->ready)))
			continue;
		entry_of(&w->list[i], &e);
		if (!d->activity)
			e.filter = NULL;
		if (s->kind == SERVICE_BUFFER)
			*buffers |= 1ull << b->index;
		if (s->kind != SERVICE_BUFFER ||
		    (e.filter && !unfiltered(w, wire, w->list[i].context)))
			count = entry_add(w->entries, count, &e);
	}
	return core_subscribers_get(w->entries, count);
}

static bool wants_kind(const struct wants *w, enum core_service_kind kind, uint16_t wire)
{
	for (uint32_t i = 0; i < w->count; i++)
		if (w->list[i].service->kind == kind &&
		    core_service_selects(w->list[i].service, wire))
			return true;
	return false;
}

/* Not those of a context that is paused. */
static bool wants_count(const struct wants *w, uint16_t wire)
{
	for (uint32_t i = 0; i < w->count; i++)
		if (w->list[i].service->kind == SERVICE_COUNT && !w->list[i].context->paused &&
		    core_service_selects(w->list[i].service, wire))
			return true;
	return false;
}

/* Buffers of the contexts that want no messages of calls of the op. */
static uint64_t excluded_from(const struct wants *w, uint16_t wire)
{
	uint64_t buffers = 0;

	for (uint32_t i = 0; i < w->count; i++) {
		const struct core_buffer *b = w->list[i].context->buffer;

		if (w->list[i].service->kind == SERVICE_EXCLUSION && b &&
		    core_service_selects(w->list[i].service, wire))
			buffers |= 1ull << b->index;
	}
	return buffers;
}

static void slot_update(const struct cap_domain *d, struct cap_slot *s)
{
	struct cap_op *op = &d->info->ops[s->op];
	bool wanted = atomic_load(&op->callbacks) || atomic_load(&op->buffers) ||
		      atomic_load(&op->keep) || atomic_load(&op->left_out);

	if (s->next)
		atomic_store(&s->target, wanted ? s->wrapper : s->next);
}

static void ensure(struct core_context *c, void *data) REQUIRES(core_live->configure)
{
	if (c->active && c->buffer)
		core_buffer_ensure(c->buffer);
}

static void buffers_ensure(void) REQUIRES(core_live->configure)
{
	kymo_assert_held(&core_live->configure);
	if (core_runtime_present())
		core_contexts_each(ensure, NULL);
}

/* Before `buffers` loses a bit, and after it has got one: core_op_wanted() finds it in one of the two, with its filter. */
static void rest_begins(struct cap_op *op, uint64_t resting, const struct core_subscribers *filters)
{
	if (filters)
		atomic_store(&op->resting_filters, filters);
	atomic_fetch_or(&op->resting, resting);
}

static void rest_ends(struct cap_op *op, uint64_t resting, const struct core_subscribers *filters)
{
	atomic_store(&op->resting, resting);
	atomic_store(&op->resting_filters, filters);
}

static void domain_masks(const struct cap_domain *d, const struct wants *w,
			 const struct wants *stopped, struct wanted_work *work, bool *stacks)
	REQUIRES(core_live->configure)
{
	for (uint32_t op = 0; op < d->desc->op_count; op++) {
		const struct core_subscribers *subscribers, *filters;
		uint64_t buffers, resting;

		subscribers = op_wants(d, op, w, &buffers);
		filters = op_wants(d, op, stopped, &resting);
		resting |= buffers & w->paused;
		rest_begins(&d->info->ops[op], resting, filters);
		stack_update((uint16_t)(d->base + op),
			     wants_kind(w, SERVICE_STACK, (uint16_t)(d->base + op)), stacks);
		atomic_store(&d->info->ops[op].left_out,
			     !buffers && core_shared_pool() &&
				     wants_count(w, (uint16_t)(d->base + op)));
		atomic_store(&d->info->ops[op].excluded,
			     excluded_from(w, (uint16_t)(d->base + op)));
		atomic_store(&d->info->ops[op].plan, CAP_PLAN_LOOK);
		atomic_store(&d->info->ops[op].callbacks, subscribers);
		/* Who is in both at once is not taken for nobody. */
		atomic_fetch_or(&d->info->ops[op].paused, buffers & w->paused);
		atomic_store(&d->info->ops[op].buffers, buffers & ~w->paused);
		atomic_store(&d->info->ops[op].paused, buffers & w->paused);
		rest_ends(&d->info->ops[op], resting, filters);
		if (subscribers || buffers)
			work->now |= d->activity;
		if (resting)
			work->resting |= d->activity;
	}
	for (uint32_t i = 0; i < d->info->slot_count; i++)
		slot_update(d, &d->info->slots[i]);
}

/* Of calls, in mode summary; device work and the like is recorded unless that is counted, too. */
static bool tallied(const struct cap_op *op, unsigned buffer)
{
	const kymo_op_desc_t *desc = &core_domains[op->domain].desc->ops[op->number];

	return core_buffers[buffer].desc.tally &&
	       (!(desc->flags & KYMO_OP_ACTIVITY) || atomic_load(&core_tally_works));
}

static uint32_t plan_of(const struct cap_op *op) REQUIRES(core_live->configure)
{
	uint64_t buffers = atomic_load(&op->buffers);
	unsigned buffer;

	if (!buffers && !atomic_load(&op->callbacks))
		return atomic_load(&op->left_out) ? CAP_PLAN_LEFT_OUT : CAP_PLAN_NOTHING;
	if (!buffers || (buffers & (buffers - 1)) || atomic_load(&op->callbacks) ||
	    atomic_load(&cap_slow_features) || !tick_is_counter())
		return CAP_PLAN_LOOK;
	buffer = (unsigned)__builtin_ctzll(buffers);
	return CAP_PLAN_STRAIGHT | buffer | (uint32_t)cap_args_of[buffer] << CAP_PLAN_LEVEL_SHIFT |
	       (tallied(op, buffer) ? CAP_PLAN_TALLY : 0u);
}

static void domain_plans(const struct cap_domain *d) REQUIRES(core_live->configure)
{
	for (uint32_t op = 0; op < d->desc->op_count; op++)
		atomic_store(&d->info->ops[op].plan, plan_of(&d->info->ops[op]));
}

const struct core_subscribers *core_subscribers_of(struct core_context *c, const struct cap_op *op,
						   uint64_t *buffers)
{
	struct core_subscriber entries[c->service_count + 1];
	struct wants w = {.entries = entries};
	const struct core_subscribers *subscribers;

	gather(c, &w);
	subscribers = op_wants(&core_domains[op->domain], op->number, &w, buffers);
	*buffers &= ~w.paused;
	free(w.more);
	return subscribers;
}

static void span_update(struct core_context *c, void *unused)
{
	struct core_span *s = c->buffer ? &core_spans[c->buffer->index] : NULL;
	bool on = c->active && !c->paused;

	if (!s || on == (atomic_load(&s->until) == UINT64_MAX))
		return;
	if (on)
		atomic_store(&s->since, tick_now());
	atomic_store(&s->until, on ? UINT64_MAX : tick_now());
}

/* It wants nothing yet: no call can have begun in it. */
void core_span_reset(uint32_t buffer)
{
	atomic_store(&core_spans[buffer].until, 0);
}

uint64_t core_op_wanted(const struct cap_op *op)
{
	/* One that goes from there to here between the two is found by the second look. */
	return atomic_load_explicit(&op->buffers, memory_order_acquire) |
	       atomic_load_explicit(&op->resting, memory_order_acquire) |
	       atomic_load_explicit(&op->buffers, memory_order_acquire);
}

static bool recorded_at(uint32_t buffer, uint64_t tick)
{
	const struct core_span *s = &core_spans[buffer];

	return tick >= atomic_load(&s->since) && tick < atomic_load(&s->until);
}

uint64_t core_call_buffers(const struct cap_frame *f, uint64_t buffers)
{
	uint64_t in = core_frame_entered(f) & buffers;
	uint64_t left = buffers & ~in & ~(f->op ? core_op_wanted(f->op) : 0);

	for (; left; left &= left - 1)
		if (recorded_at((uint32_t)__builtin_ctzll(left), f->start))
			in |= left & -left;
	return in;
}

void core_masks_update(void)
{
	/* Memory that is there: who cannot update the masks records nothing. Under `configure`. */
	static struct want list[WANTS], stopped_list[WANTS];
	static struct core_subscriber entries[WANTS + 1];
	struct wants w = {.list = list, .room = WANTS, .entries = entries};
	struct wants stopped = {.list = stopped_list, .room = WANTS};
	struct wanted_work work = {0};
	uint32_t most;
	bool stacks = false;

	buffers_ensure();
	core_contexts_each(span_update, NULL);
	core_contexts_each(gather, &w);
	core_contexts_each(gather_stopped, &stopped);
	most = w.count > stopped.count ? w.count : stopped.count;
	if (most > WANTS)
		w.entries = calloc(most + 1, sizeof(*w.entries));
	stopped.entries = w.entries;
	if (w.entries)
		core_subscribers_update();
	for (uint32_t i = 0; w.entries && i < atomic_load(&core_domain_count); i++)
		domain_masks(&core_domains[i], &w, &stopped, &work, &stacks);
	if (w.entries)
		core_subscribers_sweep();
	if (w.entries != entries)
		free(w.entries);
	free(w.more);
	free(stopped.more);
	atomic_store(&cap_activities_resting, work.resting);
	atomic_store(&cap_activities, work.now);
	atomic_store(&cap_slow_features,
		     (stacks ? CAP_SLOW_STACKS : 0u) |
			     (work.now & CAP_ACTIVITY_RETIREMENT ? CAP_SLOW_RETIREMENT : 0u));
	for (uint32_t i = 0; w.entries && i < atomic_load(&core_domain_count); i++)
		domain_plans(&core_domains[i]);
}

void core_wanted_notify(void)
{
	core_deliver_threads_start();
	core_steer_start();
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

_Atomic bool cap_ending;

void core_domains_end(void)
{
	cap_guard_enter();
	atomic_store(&cap_ending, true);
	for (uint32_t i = 0; i < atomic_load(&core_domain_count); i++)
		if (core_domains[i].info->late)
			core_domains[i].info->flush(tick_now());
	cap_guard_leave();
}

void core_domains_fork_child(void)
{
	atomic_store(&cap_ending, false);
	for (uint32_t i = 0; i < atomic_load(&core_domain_count); i++)
		if (core_domains[i].info->fork_child)
			core_domains[i].info->fork_child();
}

bool core_domains_follow(void)
{
	for (uint32_t i = 0; i < atomic_load(&core_domain_count); i++)
		if (core_domains[i].info->follows && core_domains[i].info->follows())
			return true;
	return false;
}

void core_domains_rest(bool rests)
{
	for (uint32_t i = 0; i < atomic_load(&core_domain_count); i++)
		if (core_domains[i].info->rest)
			core_domains[i].info->rest(rests);
}

static bool description_valid(const kymo_domain_desc_t *d)
{
	if (d->size < sizeof(*d) || !d->name || !d->ops)
		return false;
	for (uint32_t i = 0; i < d->op_count; i++)
		if (!d->ops[i].name || d->ops[i].field_count > KYMO_FIELDS_MAX)
			return false;
	return d->op_count != 0 && d->op_count < 0xffffu - next_wire_op;
}

/* Caller holds `configure`. */
static kymo_status_t add(const struct cap_domain_info *info, bool builtin, uint32_t activity,
			 struct cap_domain **out) REQUIRES(core_live->configure)
{
	uint32_t n = atomic_load(&core_domain_count);
	struct cap_domain *d = &core_domains[n];
	const kymo_domain_desc_t *desc;

	if (!info || !info->ops || (!info->desc && !info->packed))
		return KYMO_ERROR_INVALID_ARGUMENT;
	desc = info->desc ? info->desc : packed_describe(info->packed, info->domain);
	if (!desc)
		return KYMO_ERROR_NO_MEMORY;
	if (!description_valid(desc))
		return KYMO_ERROR_INVALID_ARGUMENT;
	for (uint32_t i = 0; i < n; i++)
		if (strcmp(core_domains[i].desc->name, desc->name) == 0)
			return KYMO_ERROR_EXISTS;
	if (n == CORE_DOMAINS)
		return KYMO_ERROR_LIMIT;
	*d = (struct cap_domain){info, desc, n + 1, next_wire_op, builtin, activity};
	kymo_assert(next_wire_op + desc->op_count < 0xffffu); /* numbers are given once */
	next_wire_op = (uint16_t)(next_wire_op + desc->op_count);
	for (uint32_t i = 0; i < desc->op_count; i++) {
		info->ops[i].wire = (uint16_t)(d->base + i);
		info->ops[i].number = (uint16_t)i;
		info->ops[i].domain = (uint16_t)n;
		info->ops[i].in_place =
			!(desc->ops[i].flags & KYMO_OP_TIMED) && !record_elsewhere(desc->name);
		domain_by_wire[d->base + i] = (uint16_t)n;
	}
	core_domain_define(d);
	atomic_store(&core_domain_count, n + 1);
	*out = d;
	return KYMO_OK;
}

kymo_status_t core_domain_add_builtin(const struct cap_domain_info *info,
				      uint32_t activity) UNCHECKED_LOCKS
{
	struct cap_domain *d;

	return add(info, true, activity, &d);
}

static kymo_status_t domain_register(const struct cap_domain_info *info, struct cap_domain **out)
{
	kymo_status_t status;
	bool first;

	if (!out)
		return KYMO_ERROR_INVALID_ARGUMENT;
	cap_load();
	if (!core_init())
		return KYMO_ERROR_UNSUPPORTED;
	core_tools_discover();
	core_steer_catch_up();
	pthread_mutex_lock(&core_live->configure);
	first = !core_runtime_present();
	status = add(info, false, 0, out);
	pthread_mutex_unlock(&core_live->configure);
	if (status != KYMO_OK)
		return status;
	core_services_cover();
	pthread_mutex_lock(&core_live->configure);
	core_masks_update();
	pthread_mutex_unlock(&core_live->configure);
	core_wanted_notify();
	if (first) /* buffers that were made now have not heard of threads */
		core_objects_replay(NULL);
	core_objects_runtime(*out);
	core_ending_start(info);
	return KYMO_OK;
}

void cap_runtime_seen(void)
{
	bool first;

	if (!core_init())
		return;
	core_tools_discover();
	core_steer_catch_up();
	pthread_mutex_lock(&core_live->configure);
	first = !core_runtime_present();
	atomic_store(&untraced, true);
	if (first)
		core_masks_update();
	pthread_mutex_unlock(&core_live->configure);
	if (!first)
		return;
	core_wanted_notify();
	core_objects_replay(NULL);
}

kymo_status_t cap_domain_register(const struct cap_domain_info *info, struct cap_domain **out)
{
	struct cap_timed spent;
	kymo_status_t status;

	core_spent_begin(&spent);
	status = domain_register(info, out);
	core_spent_end(&spent);
	return status;
}

kymo_status_t core_domain_ready(const struct cap_domain_info *info, _Atomic bool *ready)
{
	struct cap_domain *d;
	kymo_status_t status;

	if (atomic_load(ready))
		return KYMO_OK;
	status = cap_domain_register(info, &d);
	if (status != KYMO_OK && status != KYMO_ERROR_EXISTS)
		return status;
	atomic_store(ready, true);
	return KYMO_OK;
}

void cap_slots_update(struct cap_domain *d)
{
	pthread_mutex_lock(&core_live->configure);
	for (uint32_t i = 0; i < d->info->slot_count; i++)
		slot_update(d, &d->info->slots[i]);
	pthread_mutex_unlock(&core_live->configure);
}

void cap_require_wrapper(struct cap_domain *d, uint32_t op, bool on)
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
	const struct cap_domain *d = &core_domains[domain_by_wire[wire]];

	return wire >= d->base && wire - d->base < (int)d->desc->op_count ? d : NULL;
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
		status = callback(core_domains[i].desc, data);
	return status;
}

/* Where CAP_KNOWN_DOMAIN() puts them; absent where there is none. */
extern cap_known_fn *const __start_kymo_known[] __attribute__((weak));
extern cap_known_fn *const __stop_kymo_known[] __attribute__((weak));

kymo_status_t kymo_domains_known(kymo_domain_fn callback, void *data)
{
	kymo_status_t status = kymo_domains(callback, data);
	const kymo_domain_desc_t *registered;

	for (cap_known_fn *const *k = __start_kymo_known;
	     status == KYMO_OK && k < __stop_kymo_known; k++) {
		const kymo_domain_desc_t *d = (*k)();

		if (d && kymo_domain_find(d->name, &registered) != KYMO_OK)
			status = callback(d, data);
	}
	return status;
}

kymo_status_t kymo_domain_find(const char *name, const kymo_domain_desc_t **out)
{
	if (!name || !out)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (!core_init())
		return KYMO_ERROR_UNSUPPORTED;
	for (uint32_t i = 0; i < atomic_load(&core_domain_count); i++) {
		if (strcmp(core_domains[i].desc->name, name) == 0) {
			*out = core_domains[i].desc;
			return KYMO_OK;
		}
	}
	return KYMO_ERROR_NOT_FOUND;
}
