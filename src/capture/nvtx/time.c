/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clocks of deferred events. Known ones are read beside the node's whenever they are used; one
 * of the program's own is tied to it by its timer, or by the points that the program tells.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "capture/nvtx/nvtx.h"

#define AGAIN_NS 100000000u /* clocks run evenly for so long */

enum { TYPE_NONE = 0, TYPE_TOOL = 1, TYPE_TSC = 10, TYPE_MONOTONIC_RAW = 15, TYPES = 53 };

/* A clock that is read here: a timestamp type, or the timer of a time domain. */
struct nvtx_clock {
	clockid_t system; /* where there is no timer */
	bool ticks;
	int64_t (*timer)(void);
	int64_t (*timer_with)(void *data);
	void *data;
	kymo_clock_t clock;    /* 0: not made */
	_Atomic uint64_t read; /* node time of the last reading; being made: UINT64_MAX */
};

/* A time domain of the program. */
struct time_domain {
	uint64_t id, scope, type;
	const struct nvtx_domain *domain;
	struct nvtx_clock own;
	struct time_domain *next;
};

static struct time_domain *_Atomic domains; /* prepended to, never freed */

/* ---- readings ---- */

static bool readable(const struct nvtx_clock *c)
{
	return c->timer || c->timer_with || c->ticks || c->system;
}

static uint64_t read_clock(const struct nvtx_clock *c)
{
	if (c->timer)
		return (uint64_t)c->timer();
	if (c->timer_with)
		return (uint64_t)c->timer_with(c->data);
	return c->ticks ? tick_now() : clock_ns(c->system - 1);
}

static void take_reading(struct nvtx_clock *c)
{
	uint64_t before = kymo_time(), value = read_clock(c);

	kymo_clock_sync(c->clock, before, value, kymo_time(), KYMO_SYNC_SAMPLED);
}

/* Reads it again when the last reading is old. One thread at a time; others need not wait. */
static void follow(struct nvtx_clock *c)
{
	uint64_t last = atomic_load(&c->read), now = kymo_time();

	if (!readable(c) || last == UINT64_MAX || (last && now - last < AGAIN_NS) ||
	    !atomic_compare_exchange_strong(&c->read, &last, UINT64_MAX))
		return;
	take_reading(c);
	atomic_store(&c->read, now);
}

/* ---- timestamp types ---- */

/* system: 1 + clockid_t, for 0 is CLOCK_REALTIME. */
static struct nvtx_clock types[TYPES] = {
	[TYPE_TSC] = {.ticks = true},           [12] = {.system = 1 + CLOCK_REALTIME},
	[13] = {.system = 1 + CLOCK_REALTIME},  [14] = {.system = 1 + CLOCK_MONOTONIC},
	[16] = {.system = 1 + CLOCK_MONOTONIC}, [17] = {.system = 1 + CLOCK_BOOTTIME},
	[50] = {.system = 1 + CLOCK_MONOTONIC}, [51] = {.system = 1 + CLOCK_REALTIME},
	[52] = {.system = 1 + CLOCK_REALTIME},
};

static uint64_t ns_per_1000(uint64_t rate)
{
	uint64_t ns = rate ? 1000000000000u / rate : 1000;

	return ns ? ns : 1;
}

static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

static void fork_child(void)
{
	pthread_mutex_init(&making, NULL);
}

__attribute__((constructor)) static void prepare(void)
{
	pthread_atfork(NULL, NULL, fork_child);
}

static kymo_clock_t clock_of_type(uint64_t type)
{
	struct nvtx_clock *c = &types[type];
	kymo_clock_t made;

	pthread_mutex_lock(&making);
	if (!c->clock.handle)
		kymo_clock_create(c->ticks ? "CPU counter" : "system clock", "host",
				  c->ticks ? ns_per_1000(tick_rate()) : 1000, &c->clock);
	made = c->clock;
	pthread_mutex_unlock(&making);
	follow(c);
	return made;
}

static bool known_type(uint64_t type)
{
	return type < TYPES && readable(&types[type]) &&
	       (type != TYPE_TSC || tick_source_chosen != TICK_MONOTONIC_RAW);
}

static bool is_node_time(uint64_t type)
{
	return type == TYPE_NONE || type == TYPE_TOOL || type == TYPE_MONOTONIC_RAW;
}

/* ---- time domains ---- */

uint64_t nvtx_time_semantics(const struct nvtx_semantics *list)
{
	for (unsigned i = 0; list && i < 8; i++, list = list->next)
		if (list->id == NVTX_SEMANTICS_TIME && list->size >= sizeof(*list))
			return list->time_domain;
	return 0;
}

static struct time_domain *find_time_domain(const struct nvtx_domain *d, uint64_t id)
{
	struct time_domain *t = atomic_load(&domains);

	while (t && (t->id != id || (id < NVTX_ID_DYNAMIC && t->domain != d)))
		t = t->next;
	return t;
}

uint64_t nvtx_time_domain_register(void *domain, const struct nvtx_time_domain *given)
{
	int saved = errno;
	struct time_domain *t = given ? calloc(1, sizeof(*t)) : NULL;

	errno = saved;
	if (!t)
		return 0;
	t->domain = nvtx_domain(domain);
	t->scope = given->scope;
	t->type = given->type;
	t->id = given->id >= NVTX_ID_STATIC ? given->id : nvtx_new_id();
	if (!known_type(t->type) && (t->type == TYPE_NONE || !is_node_time(t->type)) &&
	    kymo_clock_create("NVTX time domain", "program",
			      ns_per_1000(given->resolution > 0 ? (uint64_t)given->resolution : 0),
			      &t->own.clock) != KYMO_OK) {
		free(t);
		return 0;
	}
	t->next = atomic_load(&domains);
	while (!atomic_compare_exchange_weak(&domains, &t->next, t))
		;
	return t->id;
}

uint64_t nvtx_time_domain_of(void *domain, uint64_t scope)
{
	const struct nvtx_domain *d = nvtx_domain(domain);

	for (const struct time_domain *t = atomic_load(&domains); scope && t; t = t->next)
		if (t->domain == d && t->scope == scope)
			return t->id;
	return 0;
}

kymo_clock_t nvtx_clock(const struct nvtx_domain *domain, uint64_t id)
{
	struct time_domain *t = id >= NVTX_ID_STATIC ? find_time_domain(domain, id) : NULL;
	uint64_t type = t ? t->type : id;

	if (t && t->own.clock.handle) {
		follow(&t->own);
		return t->own.clock;
	}
	return known_type(type) ? clock_of_type(type) : (kymo_clock_t){0};
}

void nvtx_timer(void *domain, uint64_t id, uint64_t flags, int64_t (*timer)(void))
{
	struct time_domain *t = find_time_domain(nvtx_domain(domain), id);

	if (!t || !timer || !t->own.clock.handle)
		return;
	t->own.timer = timer;
	follow(&t->own);
}

void nvtx_timer_with(void *domain, uint64_t id, uint64_t flags, int64_t (*timer)(void *),
		     void *data)
{
	struct time_domain *t = find_time_domain(nvtx_domain(domain), id);

	if (!t || !timer || !t->own.clock.handle)
		return;
	t->own.data = data;
	t->own.timer_with = timer;
	follow(&t->own);
}

/* One of the two must be a clock that is known here. */
void nvtx_time_point(void *domain, uint64_t a, uint64_t b, int64_t at_a, int64_t at_b)
{
	const struct nvtx_domain *d = nvtx_domain(domain);
	struct time_domain *ta = find_time_domain(d, a), *tb = find_time_domain(d, b);
	bool own_a = ta && ta->own.clock.handle, own_b = tb && tb->own.clock.handle;
	uint64_t host;

	if (own_a == own_b)
		return;
	host = own_a ? marker_host_time(nvtx_clock(d, b), (uint64_t)at_b)
		     : marker_host_time(nvtx_clock(d, a), (uint64_t)at_a);
	kymo_clock_sync(own_a ? ta->own.clock : tb->own.clock, host,
			(uint64_t)(own_a ? at_a : at_b), host, KYMO_SYNC_BOUNDED);
}

void nvtx_time_points(void *domain, uint64_t a, uint64_t b, const struct nvtx_time_pair *points,
		      size_t count)
{
	for (size_t i = 0; points && i < count && i < NVTX_ENTRIES_MAX; i++)
		nvtx_time_point(domain, a, b, points[i].source, points[i].destination);
}

/* Two points of the line. */
void nvtx_time_factor(void *domain, uint64_t a, uint64_t b, double slope, int64_t at_a,
		      int64_t at_b)
{
	const int64_t far = 1000000000;

	nvtx_time_point(domain, a, b, at_a, at_b);
	if (slope > 1e-6 && slope < 1e6 && at_a < INT64_MAX - far)
		nvtx_time_point(domain, a, b, at_a + far,
				(int64_t)((uint64_t)at_b + (uint64_t)(slope * (double)far)));
}
