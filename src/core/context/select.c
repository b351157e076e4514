/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ops the services of contexts cover. `select` of a tool is asked with no lock held, by one
 * thread at a time, so that it may do what brings new domains: those are asked about next. Who
 * registers a domain waits for its turn, because its calls are to be seen from the first.
 */
#include "base/futex.h"
#include "base/locks.h"
#include "core/context/context.h"
#include "base/vec.h"
#include "core/process/process.h"
#include "core/ring/ring.h"
#include "core/tool/tool.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOOK_NS 10000000u

static _Atomic uint32_t asker; /* thread whose turn it is, 0: nobody's; futex word */
static const struct core_context *_Atomic asked; /* whose `select` it asks just now */

/* Where `select` is running on this thread. */
static _Thread_local const void *selecting;

/* ---- turns ---- */

static bool gone(uint32_t tid)
{
	int saved = errno;
	bool yes = syscall(SYS_tgkill, getpid(), tid, 0) != 0 && errno == ESRCH;

	errno = saved;
	return yes;
}

/* Of a thread that ended in a `select` it is taken away. */
static void turn_take(void)
{
	uint32_t self = (uint32_t)syscall(SYS_gettid), other = 0;

	while (!atomic_compare_exchange_strong(&asker, &other, self)) {
		if (gone(other) && atomic_compare_exchange_strong(&asker, &other, self))
			break;
		futex_wait(&asker, other, LOOK_NS);
		other = 0;
	}
}

static void turn_end(void)
{
	atomic_store(&asked, NULL);
	atomic_store(&asker, 0);
	futex_wake(&asker, 1);
}

void core_select_fork_child(void)
{
	atomic_store(&asked, NULL);
	atomic_store(&asker, 0);
}

bool core_select_runs(const struct core_context *c)
{
	return atomic_load(&asked) == c && !core_selecting() && !gone(atomic_load(&asker));
}

bool core_selecting(void)
{
	const void *sp = cap_sp();

	if (!selecting)
		return false;
	if ((const char *)sp <= (const char *)selecting || !cap_same_stack(sp, selecting))
		return true;
	selecting = NULL;
	turn_end();
	cap_note(2, "core", "a tool left `select` by longjmp");
	return false;
}

/* ---- questions ---- */

struct question {
	struct core_context *context;
	uint32_t generation, service, domain;
	kymo_selection_t selection;
	uint64_t bits[65536 / 64]; /* of the domain's ops: the answers */
	bool found;
};

bool core_service_room(struct core_service *s)
{
	uint32_t count = atomic_load(&core_domain_count);
	const struct cap_domain *last = &core_domains[count - 1];
	uint32_t words = (last->base + last->desc->op_count + 63u) / 64u;

	return vec_reserve_zero(&s->ops, &s->words, 0, words);
}

static void set(struct core_service *s, const struct cap_domain *d, uint32_t op)
{
	uint32_t wire = d->base + op;

	if (wire / 64 < s->words) /* else there was no memory: the service misses it */
		s->ops[wire / 64] |= 1ull << wire % 64;
}

/* True: `select` has to be asked about the domain. What needs no question is answered here. */
static bool advance(struct core_service *s) REQUIRES(core_live->configure)
{
	uint32_t count = atomic_load(&core_domain_count);

	kymo_assert_held(&core_live->configure);
	if (s->domains < count)
		core_service_room(s);
	while (s->domains < count) {
		const struct cap_domain *d = &core_domains[s->domains++];
		const kymo_domain_desc_t *desc = d->desc;

		if (s->domain && strcmp(s->domain, desc->name) != 0)
			continue;
		if (s->selection.select)
			return true;
		for (uint32_t op = 0; op < desc->op_count; op++)
			set(s, d, op);
	}
	return false;
}

static void next_of(struct core_context *c, void *data) REQUIRES(core_live->configure)
{
	struct question *q = data;

	for (uint32_t i = 0; i < c->service_count && !q->found; i++) {
		struct core_service *s = &c->services[i];

		if (!advance(s))
			continue;
		q->found = true;
		q->context = c;
		q->generation = atomic_load(&c->generation);
		q->service = i;
		q->domain = s->domains - 1; /* asked once, whatever comes of it */
		q->selection = s->selection;
	}
}

static bool ask_one(const struct question *q, uint32_t op)
{
	const kymo_domain_desc_t *desc = core_domains[q->domain].desc;
	struct cap_thread *t = cap_thread_current;
	const void *outer = core_tool_enter(q->context->owner);
	bool yes;

	t = t && t->magic == CAP_THREAD_MAGIC ? t : NULL;
	if (t)
		t->guard++;
	selecting = &yes;
	yes = (uint8_t)core_contained(CORE_FUNCTION(q->selection.select), CORE_ARGUMENT(desc), op,
				      CORE_ARGUMENT(q->selection.data));
	selecting = NULL;
	if (t && t->magic == CAP_THREAD_MAGIC && t->guard)
		t->guard--;
	core_tool_enter(outer);
	return yes;
}

static void ask(struct question *q)
{
	uint32_t count = core_domains[q->domain].desc->op_count;

	for (uint32_t op = 0; op < count; op++)
		if (ask_one(q, op))
			q->bits[op / 64] |= 1ull << op % 64;
}

/* The context may be gone by now. Caller holds `configure`. */
static void answer(const struct question *q) REQUIRES(core_live->configure)
{
	const struct cap_domain *d = &core_domains[q->domain];

	kymo_assert_held(&core_live->configure);
	if (atomic_load(&q->context->generation) != q->generation ||
	    q->service >= q->context->service_count)
		return;
	for (uint32_t op = 0; op < d->desc->op_count; op++)
		if (q->bits[op / 64] >> op % 64 & 1)
			set(&q->context->services[q->service], d, op);
}

/* False: there is nothing to ask. */
static bool ask_next(void)
{
	static struct question q; /* of whose turn it is */

	q.found = false;
	pthread_mutex_lock(&core_live->configure);
	core_contexts_each(next_of, &q);
	if (q.found)
		atomic_store(&asked, q.context);
	pthread_mutex_unlock(&core_live->configure);
	if (!q.found)
		return false;
	memset(q.bits, 0, sizeof(q.bits));
	ask(&q);
	if (!core_usable())
		return false;
	pthread_mutex_lock(&core_live->configure);
	answer(&q);
	atomic_store(&asked, NULL);
	pthread_mutex_unlock(&core_live->configure);
	return true;
}

void core_services_cover(void)
{
	bool any = false;

	if (core_selecting()) /* who asks goes on to what has come */
		return;
	turn_take();
	while (ask_next())
		any = true;
	if (any) { /* also what was registered meanwhile */
		pthread_mutex_lock(&core_live->configure);
		core_masks_update();
		pthread_mutex_unlock(&core_live->configure);
	}
	turn_end();
}
