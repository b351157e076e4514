/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts and their services: what tools configure. */
#include "core/context/context.h"
#include "base/locks.h"
#include "base/vec.h"
#include "core/define/define.h"
#include "core/deliver/deliver.h"
#include "core/process/process.h"
#include "core/ring/ring.h"
#include "core/tool/tool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PIECE        64u
#define LET_GO_TRIES 500 /* a millisecond each */
#define CALLS_NS     2000000000u

/* Pieces of the table; what a piece holds never moves. */
static struct core_context *_Atomic pieces[CORE_CONTEXTS / PIECE];
static uint32_t contexts_used GUARDED_BY(core_live->configure);         /* under `configure` */
static struct core_context *free_list GUARDED_BY(core_live->configure); /* likewise */

/* ---- handles: generation << 32 | index + 1 ---- */

struct core_context *core_context_of(kymo_context_t h)
{
	uint32_t i = (uint32_t)h.handle - 1, generation = (uint32_t)(h.handle >> 32);
	struct core_context *piece;

	if (i >= CORE_CONTEXTS || !generation)
		return NULL;
	piece = atomic_load_explicit(&pieces[i / PIECE], memory_order_acquire);
	if (!piece ||
	    atomic_load_explicit(&piece[i % PIECE].generation, memory_order_acquire) != generation)
		return NULL;
	return &piece[i % PIECE];
}

static kymo_context_t handle_of(const struct core_context *c)
{
	return (kymo_context_t){(uint64_t)atomic_load(&c->generation) << 32 | (c->index + 1u)};
}

void core_contexts_each(void (*fn)(struct core_context *c, void *data), void *data)
{
	for (uint32_t i = 0; i < contexts_used; i++) {
		struct core_context *c = &atomic_load(&pieces[i / PIECE])[i % PIECE];

		if (atomic_load(&c->generation))
			fn(c, data);
	}
}

/* Takes `configure` and finds the context; on failure nothing is held. */
static kymo_status_t lock_context(kymo_context_t h, struct core_context **out) UNCHECKED_LOCKS
{
	kymo_status_t status = core_changeable();

	if (status != KYMO_OK)
		return status;
	if (core_selecting())
		return KYMO_ERROR_STATE;
	pthread_mutex_lock(&core_live->configure);
	*out = core_context_of(h);
	if (*out)
		return KYMO_OK;
	pthread_mutex_unlock(&core_live->configure);
	return core_not_found(h.handle);
}

static void unlock(void) RELEASES(core_live->configure)
{
	pthread_mutex_unlock(&core_live->configure);
}

/* Caller holds `configure`. */
static struct core_context *context_take(void) REQUIRES(core_live->configure)
{
	struct core_context *c = free_list, *piece;
	uint32_t i = contexts_used;

	kymo_assert_held(&core_live->configure);
	if (c) {
		free_list = c->next_free;
		return c;
	}
	if (i == CORE_CONTEXTS)
		return NULL;
	piece = atomic_load(&pieces[i / PIECE]);
	if (!piece) {
		piece = calloc(PIECE, sizeof(*piece));
		if (!piece)
			return NULL;
		atomic_store(&pieces[i / PIECE], piece);
	}
	contexts_used++;
	piece[i % PIECE].index = i;
	return &piece[i % PIECE];
}

kymo_status_t kymo_context_create(kymo_context_t *out)
{
	static uint32_t generations;
	kymo_status_t status = core_changeable();
	struct core_context *c;

	if (!out)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (status != KYMO_OK)
		return status;
	if (core_selecting())
		return KYMO_ERROR_STATE;
	pthread_mutex_lock(&core_live->configure);
	c = context_take();
	if (c) {
		c->active = c->paused = false;
		c->service_count = 0;
		c->buffer = NULL;
		atomic_store(&c->buffer_index, -1);
		c->owner = core_tool_current();
		c->told = 0;
		atomic_store(&c->over, false);
		generations += generations == UINT32_MAX ? 2 : 1;
		atomic_store(&c->generation, generations);
		*out = handle_of(c);
	}
	pthread_mutex_unlock(&core_live->configure);
	return c ? KYMO_OK : KYMO_ERROR_LIMIT;
}

/* Services from number `first` on. Caller holds `configure`. */
static void services_wait(struct core_context *c, uint32_t first, bool wait)
	REQUIRES(core_live->configure)
{
	kymo_assert_held(&core_live->configure);
	for (uint32_t i = first; i < c->service_count; i++)
		c->services[i].waits = wait;
}

/*
 * What is there is told before anything that refers to it: until that is done the services in
 * question take objects alone, those that come meanwhile. `starts` is what it was when they began
 * to wait.
 */
static void tell_and_open(kymo_context_t h, uint32_t first, uint32_t starts)
{
	struct core_context *c = core_context_of(h);
	struct core_buffer *b;

	core_wanted_notify();
	core_objects_replay(c);
	if (lock_context(h, &c) != KYMO_OK)
		return;
	kymo_assert_held(&core_live->configure);
	b = c->buffer;
	if (b && b->ready && core_buffer_private(b))
		core_buffer_hand_over(b); /* before other threads can hand over anything newer */
	if (c->starts == starts) {
		services_wait(c, first, false);
		core_masks_update();
	}
	unlock();
	core_wanted_notify();
}

static kymo_status_t set_active(kymo_context_t h, bool active)
{
	struct core_context *c;
	kymo_status_t status = lock_context(h, &c);
	bool changed, objects;
	uint32_t starts;

	if (status != KYMO_OK)
		return status;
	kymo_assert_held(&core_live->configure);
	changed = c->active != active;
	objects = changed && active && core_objects_selected(c);
	starts = c->starts += changed;
	if (active)
		atomic_store(&c->over, false);
	c->active = active;
	c->told = 0;   /* what comes while it is stopped it is not told of */
	if (changed) { /* what is started while its tool is set up records with the process */
		core_define_recording(c->buffer, active && !c->paused,
				      core_tool_initializing() ? 0 : tick_now());
		services_wait(c, 0, objects);
		core_masks_update();
	}
	unlock();
	if (objects)
		tell_and_open(h, 0, starts);
	else if (changed)
		core_wanted_notify();
	return KYMO_OK;
}

kymo_status_t kymo_context_start(kymo_context_t context)
{
	if (core_runtime_present()) /* else when one comes: not in programs that have nothing to do
				       with it */
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
	if (status != KYMO_OK)
		return status;
	kymo_assert_held(&core_live->configure);
	*active = c->active;
	unlock();
	return KYMO_OK;
}

/* Backends stay as they are for what is recorded: they are ready when it goes on. */
kymo_status_t kymo_context_pause(kymo_context_t context, bool pause)
{
	struct core_context *c;
	kymo_status_t status = lock_context(context, &c);
	bool changed;

	if (status != KYMO_OK)
		return status;
	kymo_assert_held(&core_live->configure);
	changed = c->buffer && c->paused != pause;
	status = c->buffer ? KYMO_OK : KYMO_ERROR_STATE;
	if (changed) {
		c->paused = pause;
		if (c->active)
			core_define_recording(c->buffer, !pause, tick_now());
		core_masks_update();
	}
	unlock();
	if (changed)
		core_wanted_notify();
	return status;
}

/* Without room every record takes the slow path, which looks at `paused`: the fast one need not. */
kymo_status_t kymo_context_pause_thread(kymo_context_t context, bool pause)
{
	struct core_context *c;
	kymo_status_t status = lock_context(context, &c);
	struct core_buffer *b;
	struct cap_thread *t;
	uint64_t bit;

	if (status != KYMO_OK)
		return status;
	kymo_assert_held(&core_live->configure);
	b = c->buffer;
	unlock();
	t = b ? cap_thread_attach() : NULL;
	if (!t)
		return b ? KYMO_ERROR_NO_MEMORY : KYMO_ERROR_STATE;
	cap_read_lock(t);
	if (core_context_of(context) == c) {
		bit = 1ull << b->index;
		if (pause)
			core_ring_hide(&t->rings[b->index]);
		if (pause)
			atomic_fetch_or(&t->paused, bit);
		else
			atomic_fetch_and(&t->paused, ~bit);
	}
	cap_read_unlock(t);
	return KYMO_OK;
}

/* ---- the end of a context ---- */

static void services_free(struct core_context *c)
{
	for (uint32_t i = 0; i < c->service_count; i++) {
		free(c->services[i].domain);
		free(c->services[i].ops);
	}
	c->service_count = 0;
}

/* Its delivery callback, or that of a buffer with the same pool, would wait for itself. */
static kymo_status_t not_inside(kymo_context_t context)
{
	struct core_context *c;
	kymo_status_t status = lock_context(context, &c);
	bool inside;

	if (status != KYMO_OK)
		return status;
	kymo_assert_held(&core_live->configure);
	inside = core_deliver_inside(c->buffer);
	unlock();
	return inside ? KYMO_ERROR_BUSY : KYMO_OK;
}

/*
 * Whoever reads a shared buffer is told that nothing comes any more once nobody can be writing into it: threads that are
 * just recording a call, and Kymo's that listens to the reader. Both take but a moment. A call whose end no runtime
 * tells (CUPTI, when nobody listens any more) is not waited for: it stays open in the recording.
 */
static void let_buffer_go(struct core_buffer *b)
{
	const struct timespec nap = {0, 1000000};
	bool waits = true;

	for (int i = 0; i < LET_GO_TRIES && waits; i++) {
		if (i)
			nanosleep(&nap, NULL);
		pthread_mutex_lock(&core_live->configure);
		core_buffers_sweep();
		waits = b->used && b->retired;
		if (waits && i + 1 == LET_GO_TRIES && b->pool)
			core_buffer_leave(b);
		pthread_mutex_unlock(&core_live->configure);
	}
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
	kymo_assert_held(&core_live->configure);
	b = c->buffer;
	c->buffer = NULL;
	services_free(c);
	atomic_store(&c->generation, 0); /* from here on nobody finds it, or calls it */
	core_masks_update();
	unlock();
	core_wanted_notify();
	core_callbacks_wait(c, 0);
	if (b)
		core_buffer_release(b);
	pthread_mutex_lock(&core_live->configure);
	c->next_free = free_list;
	free_list = c;
	core_subscribers_sweep();
	core_buffers_sweep();
	unlock();
	if (b && !core_buffer_private(b))
		let_buffer_go(b);
	return KYMO_OK;
}

struct owned {
	const void *owner;
	kymo_context_t found;
};

static void find_owned(struct core_context *c, void *data)
{
	struct owned *o = data;

	if (c->owner == o->owner)
		o->found = handle_of(c);
}

static void find_inside(struct core_context *c, void *data)
{
	struct owned *o = data;

	if (c->owner == o->owner && core_deliver_inside(c->buffer))
		o->found = handle_of(c);
}

bool core_contexts_inside(const void *owner)
{
	struct owned o = {.owner = owner};

	pthread_mutex_lock(&core_live->configure);
	core_contexts_each(find_inside, &o);
	pthread_mutex_unlock(&core_live->configure);
	return o.found.handle != 0;
}

void core_contexts_destroy_of(const void *owner)
{
	struct owned o = {.owner = owner};

	do {
		o.found.handle = 0;
		pthread_mutex_lock(&core_live->configure);
		core_contexts_each(find_owned, &o);
		pthread_mutex_unlock(&core_live->configure);
	} while (o.found.handle && kymo_context_destroy(o.found) == KYMO_OK);
}

struct stopping {
	const void *owner;
	struct core_context **list;
	uint32_t count, room;
};

static void stop_owned(struct core_context *c, void *data)
{
	struct stopping *s = data;

	if (c->owner != s->owner || !c->active)
		return;
	c->active = false;
	atomic_store(&c->over, true);
	if (vec_reserve(&s->list, &s->room, s->count, 1))
		s->list[s->count++] = c; /* else stopped, but not waited for */
}

#define STOP_WAIT_NS 2000000000u

void core_contexts_stop_of(const void *owner)
{
	struct stopping s = {.owner = owner};

	pthread_mutex_lock(&core_live->configure);
	core_contexts_each(stop_owned, &s);
	core_masks_update();
	pthread_mutex_unlock(&core_live->configure);
	core_wanted_notify();
	for (uint32_t i = 0; i < s.count; i++)
		core_callbacks_wait(s.list[i], STOP_WAIT_NS);
	free(s.list);
}

/* ---- services ---- */

struct core_buffer *core_buffer_of(kymo_buffer_t h)
{
	uint32_t i = (uint32_t)(h.handle & 0xff) - 1;

	if (i >= CAP_BUFFERS || !core_buffers[i].used || core_buffers[i].retired ||
	    core_buffers[i].generation != (uint32_t)(h.handle >> 8))
		return NULL;
	return &core_buffers[i];
}

static kymo_status_t copy_selection(const kymo_selection_t *from, struct core_service *to)
{
	if (!from)
		return KYMO_OK;
	if (!core_size_fits(from, offsetof(kymo_selection_t, filter)) ||
	    !core_size_known(from, sizeof(*from)))
		return core_refuse_size();
	core_take(&to->selection, sizeof(to->selection), from);
	if (to->selection.phases & ~(uint32_t)(KYMO_PHASE_ENTER | KYMO_PHASE_EXIT))
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (from->domain) {
		to->domain = strdup(from->domain);
		if (!to->domain)
			return KYMO_ERROR_NO_MEMORY;
	}
	return KYMO_OK;
}

/* Caller holds `configure`. */
static kymo_status_t service_append(struct core_context *c, const kymo_selection_t *selection,
				    struct core_service *service) REQUIRES(core_live->configure)
{
	kymo_status_t status = copy_selection(selection, service);

	kymo_assert_held(&core_live->configure);
	if (status != KYMO_OK)
		return status;
	if (!vec_reserve(&c->services, &c->service_room, c->service_count, 1) ||
	    !core_service_room(service)) {
		free(service->domain);
		return KYMO_ERROR_NO_MEMORY;
	}
	c->services[c->service_count++] = *service;
	return KYMO_OK;
}

/* Its ops are known now. */
static void service_begin(kymo_context_t context, uint32_t index)
{
	struct core_context *c;
	bool objects;
	uint32_t starts;

	if (lock_context(context, &c) != KYMO_OK)
		return;
	kymo_assert_held(&core_live->configure);
	objects = c->active && core_objects_selected(c);
	starts = c->starts;
	services_wait(c, index, objects);
	if (c->active)
		core_masks_update();
	unlock();
	if (objects)
		tell_and_open(context, index, starts);
	else
		core_wanted_notify();
}

/* Adds `service` to the context and puts it into force if the context is started. */
static kymo_status_t add_service(kymo_context_t context, const kymo_selection_t *selection,
				 struct core_service *service, kymo_buffer_t *buffer)
{
	struct core_context *c;
	kymo_status_t status = lock_context(context, &c);
	uint32_t index;

	if (status != KYMO_OK)
		return status;
	kymo_assert_held(&core_live->configure);
	index = c->service_count;
	service->waits = true;
	if (buffer && (!c->buffer || c->buffer != core_buffer_of(*buffer)))
		status = core_not_found(buffer->handle);
	if (status == KYMO_OK)
		status = service_append(c, selection, service);
	unlock();
	if (status != KYMO_OK)
		return status;
	core_services_cover();
	service_begin(context, index);
	return KYMO_OK;
}

kymo_status_t kymo_callback_service(kymo_context_t context, const kymo_selection_t *selection,
				    kymo_callback_fn callback, void *data)
{
	struct core_service service = {
		.kind = SERVICE_CALLBACK, .callback = callback, .data = data};

	if (!callback)
		return KYMO_ERROR_INVALID_ARGUMENT;
	return add_service(context, selection, &service, NULL);
}

kymo_status_t kymo_external_request_service(kymo_context_t context,
					    const kymo_selection_t *selection,
					    kymo_external_request_fn request, void *data)
{
	struct core_service service = {.kind = SERVICE_REQUEST, .request = request, .data = data};

	if (!request)
		return KYMO_ERROR_INVALID_ARGUMENT;
	return add_service(context, selection, &service, NULL);
}

kymo_status_t kymo_stack_service(kymo_context_t context, const kymo_selection_t *selection)
{
	struct core_service service = {.kind = SERVICE_STACK};

	core_stacks_keep();
	return add_service(context, selection, &service, NULL);
}

kymo_status_t kymo_count_service(kymo_context_t context, const kymo_selection_t *selection)
{
	struct core_service service = {.kind = SERVICE_COUNT};

	return add_service(context, selection, &service, NULL);
}

kymo_status_t kymo_exclusion_service(kymo_context_t context, const kymo_selection_t *selection)
{
	struct core_service service = {.kind = SERVICE_EXCLUSION};

	return add_service(context, selection, &service, NULL);
}

kymo_status_t kymo_buffer_service(kymo_context_t context, const kymo_selection_t *selection,
				  kymo_buffer_t buffer)
{
	struct core_service service = {.kind = SERVICE_BUFFER};

	return add_service(context, selection, &service, &buffer);
}

struct question {
	uint16_t wire;
	bool yes;
};

static void ask_context(struct core_context *c, void *data)
{
	struct question *q = data;

	for (uint32_t i = 0; i < c->service_count && !q->yes; i++)
		q->yes = core_service_selects(&c->services[i], q->wire);
}

bool core_wanted_by_any(const struct cap_domain *d, uint32_t op) REQUIRES(core_live->configure)
{
	struct question q = {.wire = (uint16_t)(d->base + op)};

	core_contexts_each(ask_context, &q);
	return q.yes;
}

/* ---- buffers of contexts ---- */

static struct core_buffer *buffer_free_slot(void) REQUIRES(core_live->configure)
{
	kymo_assert_held(&core_live->configure);
	core_buffers_sweep();
	for (uint32_t i = 0; i < CAP_BUFFERS; i++) {
		if (!core_buffers[i].used) {
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
				  kymo_buffer_t *out) REQUIRES(core_live->configure)
{
	static uint32_t generations;
	struct core_buffer *b =
		c->buffer || (desc->tally && tally_exists()) ? NULL : buffer_free_slot();
	const size_t rest = offsetof(struct core_buffer, ready);
	uint8_t index;

	if (!b)
		return c->buffer ? KYMO_ERROR_EXISTS : KYMO_ERROR_LIMIT;
	index = b->index;
	memset((uint8_t *)b + rest, 0, sizeof(*b) - rest);
	b->index = index;
	b->generation = ++generations & 0xffffffu;
	b->context = c;
	b->born = atomic_fetch_add(&core_epoch, 1) + 1;
	b->desc = *desc;
	if (!b->desc.bytes)
		b->desc.bytes = CORE_BUFFER_BYTES;
	if (b->desc.bytes > CORE_BUFFER_MOST)
		b->desc.bytes = CORE_BUFFER_MOST;
	if (!b->desc.block_ns)
		b->desc.block_ns = 10000000;
	if (!b->desc.policy)
		b->desc.policy = KYMO_POLICY_BLOCK;
	b->used = true;
	c->buffer = b;
	cap_args_of[index] = (uint8_t)desc->arguments;
	atomic_fetch_or(&core_buffers_open, 1ull << index);
	atomic_store(&c->buffer_index, index);
	core_span_reset(index);
	core_externals_mirror(c, index);
	if (desc->threads_paused)
		core_rings_pause(index);
	core_buffer_share_early(b);
	out->handle = (uint64_t)b->generation << 8 | (uint64_t)(index + 1u);
	return KYMO_OK;
}

kymo_status_t kymo_buffer_create(kymo_context_t context, const kymo_buffer_desc_t *desc,
				 kymo_buffer_t *out)
{
	kymo_buffer_desc_t full;
	struct core_context *c;
	kymo_status_t status;

	if (!desc || !out)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (!core_size_fits(desc, offsetof(kymo_buffer_desc_t, watermark)) ||
	    !core_size_known(desc, sizeof(*desc)))
		return core_refuse_size();
	core_take(&full, sizeof(full), desc);
	status = core_buffer_check(&full);
	if (status == KYMO_OK)
		status = lock_context(context, &c);
	if (status != KYMO_OK)
		return status;
	kymo_assert_held(&core_live->configure);
	status = c->active ? KYMO_ERROR_STATE : core_buffer_check_pool(&full);
	if (status == KYMO_OK)
		status = buffer_setup(c, &full, out);
	unlock();
	return status;
}

kymo_status_t kymo_buffer_lost(kymo_buffer_t buffer, uint64_t *lost)
{
	struct core_buffer *b;

	if (!lost)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (!core_init())
		return KYMO_ERROR_UNSUPPORTED;
	if (core_selecting())
		return KYMO_ERROR_STATE;
	pthread_mutex_lock(&core_live->configure);
	b = core_buffer_of(buffer);
	if (b)
		*lost = b->pool ? atomic_load(&b->pool->shm->lost_records) : 0;
	pthread_mutex_unlock(&core_live->configure);
	return b ? KYMO_OK : core_not_found(buffer.handle);
}

/*
 * What it has stopped to record may yet submit work: calls that began before. They are waited for as their work is, but
 * for no longer than they take as a rule.
 */
static void calls_return(const struct core_buffer *b, uint64_t *timeout_ns)
{
	const uint64_t most = *timeout_ns < CALLS_NS ? *timeout_ns : CALLS_NS;
	const uint64_t begun = clock_ns(CLOCK_MONOTONIC);
	const struct timespec nap = {0, 100000};
	uint64_t spent = 0;

	while (spent < most && core_calls_submit(1ull << b->index)) {
		nanosleep(&nap, NULL);
		spent = clock_ns(CLOCK_MONOTONIC) - begun;
	}
	*timeout_ns -= spent < *timeout_ns ? spent : *timeout_ns;
}

kymo_status_t kymo_drain(kymo_context_t context, uint64_t timeout_ns)
{
	const uint64_t year =
		31536000000000000u; /* nobody waits longer, and sums do not overflow */
	uint64_t rate = tick_rate() / 1000;
	struct core_context *c;
	struct core_buffer *b;
	kymo_status_t status = lock_context(context, &c);
	bool rests;

	if (status != KYMO_OK)
		return status;
	kymo_assert_held(&core_live->configure);
	rests = !c->active || c->paused;
	timeout_ns = timeout_ns < year ? timeout_ns : year;
	b = c->buffer;
	status = core_deliver_inside(b) ? KYMO_ERROR_BUSY : KYMO_OK;
	if (b && status == KYMO_OK)
		atomic_fetch_add(&b->users, 1);
	unlock();
	if (status != KYMO_OK)
		return status;
	if (b && rests)
		calls_return(b, &timeout_ns);
	core_domains_flush(tick_now() + timeout_ns / 1000000 * rate);
	if (b && b->ready)
		status = core_buffer_drain(b, timeout_ns);
	if (b)
		atomic_fetch_sub(&b->users, 1);
	return status;
}
