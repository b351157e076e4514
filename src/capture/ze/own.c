/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What mode full does to time commands that would not be timed: the program's events get
 * timestamps, unless other processes see them, and commands without an event one of Kymo's own. In
 * that mode only, because each of them makes the device write a timestamp. Kymo's own come in
 * pools, one or more for each device context, and go with it.
 */
#include <stdlib.h>
#include <string.h>

#include "capture/ze/ze.h"

#define POOL_EVENTS 64u

enum {
	POOL_DESC = 0x10,
	EVENT_DESC = 0x11,
	HOST_VISIBLE = 1,
	IPC = 2,
	TIMESTAMPS = 4,
	MAPPED_TIMESTAMPS = 8
};

struct pool_desc {
	uint32_t stype;
	const void *next;
	uint32_t flags, count;
};

struct event_desc {
	uint32_t stype;
	const void *next;
	uint32_t index, signal, wait;
};

struct own_pool {
	struct own_pool *next;
	void *context, *handle;
	uint32_t used;
	struct ze_event *events[POOL_EVENTS];
};

static struct own_pool *pools; /* guarded by `collect` */
static struct ze_event *spare; /* guarded by `objects` */
static struct cap_op *_Atomic ops;
static _Thread_local struct ze_event *given __attribute__((tls_model("initial-exec")));

/* Mode full is what records queries too. */
bool ze_full(void)
{
	const struct cap_op *o = atomic_load(&ops);

	if (!o)
		return false;
	o += ZE_OP_zeEventQueryStatus;
	return atomic_load(&o->callbacks) || atomic_load(&o->buffers);
}

void ze_own_free(struct ze_event *e)
{
	if (!e->own || e->work)
		return;
	e->next = spare;
	spare = e;
}

static struct ze_event *take_spare(const void *context)
{
	struct ze_event **at = &spare, *e;

	ze_objects_lock();
	while (*at && (*at)->context != context)
		at = &(*at)->next;
	e = *at;
	if (e)
		*at = e->next;
	ze_objects_unlock();
	return e;
}

static struct own_pool *pool_new(void *context)
{
	const struct pool_desc desc = {POOL_DESC, NULL, HOST_VISIBLE | TIMESTAMPS, POOL_EVENTS};
	uint32_t (*create)(void *, const struct pool_desc *, uint32_t, void *, void **);
	struct own_pool *p = calloc(1, sizeof(*p));

	memcpy(&create, &ze_next[ZE_OP_zeEventPoolCreate], sizeof(create));
	if (!p || !create || create(context, &desc, 0, NULL, &p->handle) != 0) {
		free(p);
		return NULL;
	}
	p->context = context;
	p->next = pools;
	pools = p;
	return p;
}

/* With `collect` locked. */
static struct ze_event *event_new(void *context)
{
	uint32_t (*create)(void *, const struct event_desc *, void **);
	struct event_desc desc = {EVENT_DESC, NULL, 0, 0, 4 /* host */};
	struct own_pool *p = pools;
	struct ze_event *e;

	while (p && (p->context != context || p->used == POOL_EVENTS))
		p = p->next;
	if (!p)
		p = pool_new(context);
	e = p ? calloc(1, sizeof(*e)) : NULL;
	if (!e)
		return NULL;
	desc.index = p->used;
	desc.signal = 4;
	memcpy(&create, &ze_next[ZE_OP_zeEventCreate], sizeof(create));
	if (!create || create(p->handle, &desc, &e->object.handle) != 0) {
		free(e);
		return NULL;
	}
	e->own = true;
	e->context = context;
	p->events[p->used++] = e;
	return e;
}

void *ze_signal(void *list, void *event)
{
	const struct ze_list *l;
	struct ze_event *e;
	void *context;

	given = NULL;
	if (event || ze_ended() || !cap_wants(CAP_ACTIVITY_DISPATCH | CAP_ACTIVITY_COPY) ||
	    !ze_full())
		return event;
	ze_objects_lock();
	l = ze_find(ZE_LIST, list);
	context = l ? l->context : NULL;
	ze_objects_unlock();
	if (!context)
		return event;
	e = take_spare(context);
	if (!e) {
		ze_collect_lock();
		cap_guard_enter();
		e = event_new(context);
		cap_guard_leave();
		ze_collect_unlock();
	}
	given = e;
	return e ? e->object.handle : event;
}

void ze_signal_done(uint32_t result)
{
	if (!given || result == 0)
		return;
	ze_objects_lock();
	ze_own_free(given);
	ze_objects_unlock();
	given = NULL;
}

struct ze_event *ze_signal_taken(void)
{
	struct ze_event *e = given;

	given = NULL;
	return e;
}

static void pool_free(struct own_pool *p)
{
	uint32_t (*destroy)(void *), (*destroy_pool)(void *);

	memcpy(&destroy, &ze_next[ZE_OP_zeEventDestroy], sizeof(destroy));
	memcpy(&destroy_pool, &ze_next[ZE_OP_zeEventPoolDestroy], sizeof(destroy_pool));
	for (uint32_t i = 0; i < p->used; i++) {
		destroy(p->events[i]->object.handle);
		free(p->events[i]);
	}
	destroy_pool(p->handle);
	free(p);
}

void ze_own_release(void *context)
{
	struct own_pool **at = &pools, *p;

	while (take_spare(context))
		;
	cap_guard_enter();
	while ((p = *at) != NULL) {
		if (p->context != context) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		pool_free(p);
	}
	cap_guard_leave();
}

/* ---- the program's pools ---- */

static _Thread_local struct {
	struct pool_desc desc;
	bool done;
} forced __attribute__((tls_model("initial-exec")));

/* Descriptions that go on (in `next`) may not bear it. */
void *ze_forced(const void *desc)
{
	const struct pool_desc *d = desc;

	forced.done = false;
	if (!d || d->stype != POOL_DESC || d->next || ze_ended() ||
	    d->flags & (IPC | TIMESTAMPS | MAPPED_TIMESTAMPS) ||
	    !cap_wants(CAP_ACTIVITY_DISPATCH | CAP_ACTIVITY_COPY) || !ze_full())
		return NULL;
	forced.desc = *d;
	forced.desc.flags |= TIMESTAMPS;
	return &forced.desc;
}

bool ze_forced_done(uint32_t result)
{
	static atomic_flag noted = ATOMIC_FLAG_INIT;

	forced.done = result == 0;
	if (forced.done && !atomic_flag_test_and_set(&noted))
		cap_note(1, ZE_DOMAIN,
			 "mode full: events have kernel timestamps that the program did "
			 "not ask for, and commands without an event have one");
	return forced.done;
}

bool ze_forced_taken(void)
{
	bool taken = forced.done;

	forced.done = false;
	return taken;
}

/* Nothing is made before there is a device context: its making tells where the ops are. */
void ze_after_zeContextCreate(const struct table_call *call)
{
	atomic_store(&ops, call->slot->cap - call->slot->cap->number);
}
