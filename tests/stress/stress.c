/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything at once: threads that make traced calls, submit work and finish that of others, name
 * what they do by external ids, begin and end, while tools come and go and make, start, change,
 * drain and destroy contexts. What a tool was given is freed the moment kymo_context_destroy() or
 * kymo_tool_detach() returns, so a sanitizer sees any call that comes later; and so does the test.
 *
 * stress SECONDS THREADS: exit status 0, or 1 and what went wrong.
 */
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <kymo/kymo.h>

#include "core/activity/activity.h"
#include "core/capture.h"

#define CONTEXTS 64
#define TOOLS    4
#define MANAGERS 4
#define ALIVE    0x600dc0deu
#define DEAD     0xdeadbeefu

static _Atomic bool stop;
static _Atomic uint64_t wrong, calls, told, delivered, requested, filtered, created, attached,
	work_done;

#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x) && atomic_fetch_add(&wrong, 1) < 10)                                      \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x);                    \
	} while (0)

static uint32_t random_of(uint64_t *state, uint32_t below)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33) % below;
}

/* ---- a runtime: call, outer (calls call), submit (work that any thread completes) ---- */

enum { OP_CALL, OP_OUTER, OP_SUBMIT, OPS };

static const kymo_field_t fields[] = {{"n", "uint64_t", NULL, KYMO_KIND_UNSIGNED, 0, 8, 0}};
static const kymo_op_desc_t descs[OPS] = {{"call", fields, 1, 0, NULL, 0},
					  {"outer", fields, 1, 0, NULL, 0},
					  {"submit", fields, 1, 0, NULL, 0}};
static const kymo_domain_desc_t desc = {sizeof(desc), "stress", "Stress", 1, OPS, descs};
static struct cap_op ops[OPS];
static struct cap_domain *domain;
static const struct cap_domain_info info = {.desc = &desc, .ops = ops};

#define PENDING 256
static struct {
	pthread_mutex_t lock;
	struct cap_submission list[PENDING];
	uint32_t count;
} pending = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void record(struct cap_frame *f, uint64_t n)
{
	struct wire_enc e;

	cap_leave(f);
	cap_status(f, 0, 0);
	if (f->callbacks)
		cap_callbacks(f, NULL, CAP_EXIT);
	if (f->buffers && cap_record(f, &e, 1)) {
		wire_unsigned(&e, 0, n);
		cap_commit(f, &e);
	}
	cap_done(f);
}

static __attribute__((noinline)) void call(uint64_t n)
{
	struct cap_frame *f = cap_enter(&ops[OP_CALL], __builtin_return_address(0));

	atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
	if (!f)
		return;
	if (f->callbacks)
		cap_callbacks(f, NULL, CAP_ENTER);
	record(f, n);
}

static __attribute__((noinline)) void outer(uint64_t n)
{
	struct cap_frame *f = cap_enter(&ops[OP_OUTER], __builtin_return_address(0));

	if (f && f->callbacks)
		cap_callbacks(f, NULL, CAP_ENTER);
	call(n);
	call(n + 1);
	if (f)
		record(f, n);
}

static void complete(struct cap_submission *o)
{
	uint64_t now = tick_now();
	struct cap_frame f;
	struct wire_enc e;

	if (cap_activity_begin(&f, &e, &core_sync_ops[0], o, now - 1, now, SYNC_FIELDS)) {
		wire_unsigned(&e, SYNC_CORRELATION, o->call);
		for (unsigned i = 1; i < SYNC_FIELDS; i++)
			wire_unsigned(&e, i, 0);
		cap_activity_commit(&f, &e);
	}
	cap_submission_end(o);
	atomic_fetch_add_explicit(&work_done, 1, memory_order_relaxed);
}

static void collect(uint32_t most)
{
	struct cap_submission o;
	bool any = true;

	while (any && most--) {
		pthread_mutex_lock(&pending.lock);
		any = pending.count > 0;
		if (any)
			o = pending.list[--pending.count];
		pthread_mutex_unlock(&pending.lock);
		if (any)
			complete(&o);
	}
}

static __attribute__((noinline)) void submit(uint64_t n)
{
	struct cap_frame *f = cap_enter(&ops[OP_SUBMIT], __builtin_return_address(0));
	struct cap_subject subject = {.bytes = n};
	struct cap_submission o;
	bool room;

	if (f && f->callbacks)
		cap_callbacks(f, NULL, CAP_ENTER);
	if (cap_submission_take(&o, f, &core_sync_ops[0], &subject)) {
		pthread_mutex_lock(&pending.lock);
		room = pending.count < PENDING;
		if (room)
			pending.list[pending.count++] = o;
		pthread_mutex_unlock(&pending.lock);
		if (!room)
			complete(&o);
	}
	if (f)
		record(f, n);
}

/* ---- tools ---- */

struct given { /* to functions of tools, as `data`; freed when the context is gone */
	_Atomic uint32_t magic;
	_Atomic uint64_t enters, exits;
};

static struct given *given_new(void)
{
	struct given *g = calloc(1, sizeof(*g));

	atomic_store(&g->magic, ALIVE);
	return g;
}

static void given_free(struct given *g)
{
	atomic_store(&g->magic, DEAD);
	free(g);
}

static void seen(kymo_context_t context, const kymo_callback_record_t *r, void *data)
{
	struct given *g = data;

	CHECK(atomic_load(&g->magic) == ALIVE);
	atomic_fetch_add_explicit(&told, 1, memory_order_relaxed);
	if (r->phase == KYMO_PHASE_ENTER) {
		CHECK(*r->user == 0);
		*r->user = context.handle ^ r->correlation;
		atomic_fetch_add(&g->enters, 1);
	} else if (r->phase == KYMO_PHASE_EXIT) {
		CHECK(*r->user == (context.handle ^ r->correlation));
		atomic_fetch_add(&g->exits, 1);
	}
	if ((r->correlation & 63) == 0)
		call(1); /* must run untraced */
}

static uint64_t ask(kymo_context_t context, const kymo_callback_record_t *r, void *data)
{
	struct given *g = data;

	CHECK(atomic_load(&g->magic) == ALIVE);
	atomic_fetch_add_explicit(&requested, 1, memory_order_relaxed);
	return r->correlation;
}

static bool accept(const kymo_work_t *work, void *data)
{
	struct given *g = data;

	CHECK(atomic_load(&g->magic) == ALIVE);
	atomic_fetch_add_explicit(&filtered, 1, memory_order_relaxed);
	return work->bytes & 1;
}

static void deliver(kymo_buffer_t buffer, const kymo_record_t *r, void *data)
{
	struct given *g = data;

	CHECK(atomic_load(&g->magic) == ALIVE);
	CHECK(r->start <= r->end);
	atomic_fetch_add_explicit(&delivered, 1, memory_order_relaxed);
	if ((r->correlation & 255) == 0)
		call(2);
}

static bool odd(const kymo_domain_desc_t *d, uint32_t op, void *data)
{
	CHECK(atomic_load(&((struct given *)data)->magic) == ALIVE);
	return op & 1;
}

/* What a context wants is a matter of chance. */
static void equip(kymo_context_t c, struct given *g, uint64_t *state)
{
	kymo_buffer_desc_t d = {.size = sizeof(d),
				.bytes = 1 << 20,
				.deliver = deliver,
				.data = g,
				.policy = KYMO_POLICY_DROP};
	kymo_selection_t s = {.size = sizeof(s), .data = g};
	uint32_t what = random_of(state, 64);
	kymo_buffer_t b;

	if (what & 1)
		s.select = odd;
	if (what & 2)
		s.filter = accept;
	if (what & 4)
		CHECK(kymo_external_request_service(c, &s, ask, g) == KYMO_OK);
	if (what & 8 || !(what & 16))
		CHECK(kymo_callback_service(c, &s, seen, g) == KYMO_OK);
	if (what & 16 && kymo_buffer_create(c, &d, &b) == KYMO_OK)
		CHECK(kymo_buffer_service(c, &s, b) == KYMO_OK);
}

/* ---- contexts that managers make ---- */

static struct slot {
	pthread_mutex_t lock;
	_Atomic uint64_t handle;
	struct given *given;
} slots[CONTEXTS];

static void slot_change(struct slot *s, uint64_t *state)
{
	kymo_context_t c = {atomic_load(&s->handle)};
	struct given *g = s->given;

	if (!c.handle) {
		CHECK(kymo_context_create(&c) == KYMO_OK);
		s->given = given_new();
		equip(c, s->given, state);
		atomic_store(&s->handle, c.handle);
		atomic_fetch_add(&created, 1);
	}
	switch (random_of(state, 5)) {
	case 0:
		CHECK(kymo_context_stop(c) == KYMO_OK);
		break;
	case 1:
		kymo_drain(c, 1000000);
		break;
	case 2:
		if (g) {
			atomic_store(&s->handle, 0);
			CHECK(kymo_context_destroy(c) == KYMO_OK);
			CHECK(atomic_load(&g->exits) <= atomic_load(&g->enters));
			given_free(g);
			s->given = NULL;
		}
		break;
	default:
		CHECK(kymo_context_start(c) == KYMO_OK);
	}
}

/* ---- tools that come and go ---- */

static struct tool {
	kymo_tool_t tool;
	struct given *given;
	uint64_t state;
} tools[TOOLS];

static kymo_status_t initialize(void *data)
{
	struct tool *t = data;
	kymo_context_t c;

	t->given = given_new();
	for (int i = 0; i < 2; i++) {
		if (kymo_context_create(&c) != KYMO_OK)
			return KYMO_ERROR_STATE;
		equip(c, t->given, &t->state);
		kymo_context_start(c);
	}
	return KYMO_OK;
}

static void finalize(void *data)
{
}

#define CONFIGURE(n)                                                                               \
	static const kymo_tool_t *configure##n(uint32_t version, const char *library,              \
					       uint32_t priority)                                  \
	{                                                                                          \
		return &tools[n].tool;                                                             \
	}
CONFIGURE(0)
CONFIGURE(1)
CONFIGURE(2)
CONFIGURE(3)
static const kymo_configure_fn configures[TOOLS] = {configure0, configure1, configure2, configure3};

static void tool_change(uint32_t n)
{
	tools[n].tool =
		(kymo_tool_t){sizeof(kymo_tool_t), "stress", initialize, finalize, NULL, &tools[n]};
	CHECK(kymo_force_configure(configures[n]) == KYMO_OK);
	atomic_fetch_add(&attached, 1);
	sched_yield();
	CHECK(kymo_tool_detach(&tools[n].tool) == KYMO_OK);
	given_free(tools[n].given);
}

static void *manage(void *arg)
{
	uint64_t state = 77 + (uintptr_t)arg;

	while (!atomic_load(&stop)) {
		struct slot *s = &slots[random_of(&state, CONTEXTS)];

		pthread_mutex_lock(&s->lock);
		slot_change(s, &state);
		pthread_mutex_unlock(&s->lock);
		if (random_of(&state, 16) == 0)
			tool_change((uint32_t)(uintptr_t)arg);
	}
	return NULL;
}

/* ---- the program ---- */

static void name_work(uint64_t *state)
{
	kymo_context_t c = {atomic_load(&slots[random_of(state, CONTEXTS)].handle)};
	uint32_t thread = 1 + random_of(state, 80);

	if (!c.handle)
		return;
	switch (random_of(state, 16)) {
	case 0:
		kymo_external_push_thread(c, thread, 5);
		break;
	case 1:
		kymo_external_pop_thread(c, thread, NULL);
		break;
	case 2:
		kymo_context_pause_thread(c, random_of(state, 2));
		break;
	case 3:
	case 4:
	case 5:
	case 6:
	case 7:
		kymo_external_push(c, *state);
		break;
	default:
		kymo_external_pop(c, NULL);
	}
}

static void *some_work(void *arg)
{
	uint64_t state = (uintptr_t)arg;

	for (int i = 0; i < 2000 && !atomic_load(&stop); i++) {
		uint32_t what = random_of(&state, 16);
		int64_t scope;

		if (what < 8)
			call(state);
		else if (what < 10)
			outer(state);
		else if (what < 12)
			submit(state >> 7);
		else if (what < 13)
			collect(8);
		else if (what < 14 && kymo_scope_push(&scope) == KYMO_OK)
			call(3), kymo_scope_pop();
		else
			name_work(&state);
	}
	return NULL;
}

/* Threads of the program come and go. */
static void *keep_working(void *arg)
{
	uintptr_t seed = (uintptr_t)arg;

	while (!atomic_load(&stop)) {
		pthread_t t;

		CHECK(pthread_create(&t, NULL, some_work, (void *)(seed += 977)) == 0);
		pthread_join(t, NULL);
	}
	return NULL;
}

static size_t in_use(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

static void destroy_all(void)
{
	for (int i = 0; i < CONTEXTS; i++) {
		kymo_context_t c = {atomic_load(&slots[i].handle)};

		if (!c.handle)
			continue;
		CHECK(kymo_context_destroy(c) == KYMO_OK);
		given_free(slots[i].given);
		slots[i].given = NULL;
		atomic_store(&slots[i].handle, 0);
	}
	collect(UINT32_MAX);
}

static void round_of(unsigned milliseconds, unsigned workers)
{
	pthread_t managers[MANAGERS], threads[256];

	atomic_store(&stop, false);
	for (uintptr_t i = 0; i < MANAGERS; i++)
		CHECK(pthread_create(&managers[i], NULL, manage, (void *)i) == 0);
	for (uintptr_t i = 0; i < workers; i++)
		CHECK(pthread_create(&threads[i], NULL, keep_working, (void *)(i * 7919 + 1)) == 0);
	usleep(milliseconds * 1000); /* how long the test lasts; nothing is waited for by it */
	atomic_store(&stop, true);
	for (uintptr_t i = 0; i < MANAGERS; i++)
		pthread_join(managers[i], NULL);
	for (uintptr_t i = 0; i < workers; i++)
		pthread_join(threads[i], NULL);
	destroy_all();
}

int main(int argc, char **argv)
{
	unsigned milliseconds = (unsigned)((argc > 1 ? atof(argv[1]) : 4) * 1000);
	unsigned workers = argc > 2 ? (unsigned)atoi(argv[2]) : 64;
	size_t before, after;

	if (workers > 256 || cap_domain_register(&info, &domain) != KYMO_OK)
		return 2;
	for (int i = 0; i < CONTEXTS; i++)
		pthread_mutex_init(&slots[i].lock, NULL);
	round_of(milliseconds / 2, workers);
	before = in_use();
	for (int i = 0; i < 2; i++)
		round_of(milliseconds / 4, workers);
	after = in_use();
	printf("%lu calls, %lu told, %lu delivered, %lu asked, %lu filtered, %lu works, %lu "
	       "contexts, "
	       "%lu tools; heap %zu then %zu\n",
	       (unsigned long)calls, (unsigned long)told, (unsigned long)delivered,
	       (unsigned long)requested, (unsigned long)filtered, (unsigned long)work_done,
	       (unsigned long)created, (unsigned long)attached, before, after);
	CHECK(told && delivered && requested && filtered && work_done && attached);
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
	CHECK(after < before + (8u << 20));
#endif
	return atomic_load(&wrong) ? 1 : 0;
}
