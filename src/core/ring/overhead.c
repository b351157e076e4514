/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What recording costs the program, as a number that every trace carries. It is measured in the
 * program itself, in the caches that the program leaves: of every few hundred calls of a thread one is
 * timed from its entry to the runtime's function and from there to its return. What is long and rare
 * (collecting, definitions, chunks that change, waiting for room) is timed each time, and taken out of
 * the samples around it. The sums are kept where the drain sees them, so that a killed process has
 * them too. For records that are not calls the cost of one is measured when recording begins, and what
 * the loading of Kymo took is reckoned from the pages it touched. Kymo's own threads cost processor
 * time, which is counted whole.
 */
#include "core/process/life.h"
#include "core/ring/ring.h"
#include "core/activity/submission.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BATCH      64u
#define BATCHES    16u
#define EVERY_MOST 256u  /* of so many calls one is timed, in the long run */
#define SAMPLE_MAX 20000 /* ns: what took longer was interrupted */

static _Atomic uint64_t costs[CAP_COSTS]; /* ticks */

/* ---- sums -------------------------------------------------------------------------------------- */

/* Ticks that were timed by this thread are no part of its samples. */
static void timed(uint64_t ticks)
{
	struct cap_thread *t = cap_thread_current;

	if (t && t->magic == CAP_THREAD_MAGIC)
		t->cost.timed += ticks;
}

static _Atomic uint64_t *shown_at(struct shm_header *h, enum cap_cost_of what)
{
	switch (what) {
	case CAP_COST_PROGRAM:
		return &h->overhead_ticks;
	case CAP_COST_WAITING:
		return &h->waiting_ticks;
	case CAP_COST_BESIDE:
		return &h->beside_ticks;
	default:
		return &h->loading_ticks;
	}
}

/* To where the drain sees them: all, while it does not know what is said once. */
static void show(enum cap_cost_of what)
{
	struct core_pool *pool = core_shared_pool();
	uint64_t loading = core_cost(CAP_COST_LOADING);

	if (!pool)
		return;
	atomic_store_explicit(shown_at(pool->shm, what), core_cost(what), memory_order_relaxed);
	if (cap_likely(atomic_load_explicit(&pool->shm->loading_ticks, memory_order_relaxed) ==
		       loading))
		return;
	for (unsigned i = 0; i < CAP_COSTS; i++)
		atomic_store_explicit(shown_at(pool->shm, i), core_cost(i), memory_order_relaxed);
}

uint64_t core_cost(enum cap_cost_of what)
{
	return atomic_load_explicit(&costs[what], memory_order_relaxed);
}

void cap_cost(enum cap_cost_of what, uint64_t ticks)
{
	if (what != CAP_COST_BESIDE)
		timed(ticks);
	atomic_fetch_add_explicit(&costs[what], ticks, memory_order_relaxed);
	show(what);
}

static uint64_t timed_so_far(void)
{
	const struct cap_thread *t = cap_thread_current;

	return t && t->magic == CAP_THREAD_MAGIC ? t->cost.timed : 0;
}

void cap_timed_begin_at(struct cap_timed *c, uint64_t start)
{
	c->timed = timed_so_far();
	c->start = start;
}

void cap_timed_begin(struct cap_timed *c)
{
	cap_timed_begin_at(c, tick_now());
}

void cap_timed_own(uint64_t ticks)
{
	timed(ticks);
}

void cap_timed_end(const struct cap_timed *c, uint64_t most)
{
	uint64_t ticks = tick_now() - c->start, inside = timed_so_far() - c->timed;

	ticks = ticks > inside ? ticks - inside : 0;
	if (!core_life_here()) /* else its processor time is counted, all of it */
		cap_cost(CAP_COST_PROGRAM, ticks < most ? ticks : most);
}

/* Of a clock that counts nanoseconds. */
uint64_t core_ns_ticks(uint64_t ns)
{
	if (tick_source_chosen == TICK_MONOTONIC_RAW)
		return ns;
	return (uint64_t)((double)ns / 1e9 * (double)tick_rate());
}

/*
 * Beginnings and ends: by the processor's time, as they wait for others. What was timed meanwhile, by
 * whatever thread, is not counted twice.
 */
void core_spent_begin(struct cap_timed *c)
{
	c->timed = core_cost(CAP_COST_PROGRAM);
	c->start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

void core_spent_end(const struct cap_timed *c)
{
	uint64_t ticks = core_ns_ticks(clock_ns(CLOCK_THREAD_CPUTIME_ID) - c->start);
	uint64_t inside = core_cost(CAP_COST_PROGRAM) - c->timed;

	if (ticks > inside && !core_life_here())
		cap_cost(CAP_COST_PROGRAM, ticks - inside);
}

/* ---- samples ----------------------------------------------------------------------------------- */

/* Many at the beginning, so that a program of a few hundred calls has its share. */
static uint32_t every(const struct cap_thread *t)
{
	return t->cost.steps < 128 ? 4 : EVERY_MOST;
}

/* Up to the next sample; random, so that no loop of the program is in step with it. */
uint32_t core_overhead_step(struct cap_thread *t)
{
	uint64_t x = t->cost.random ? t->cost.random : (uint64_t)t->tid * 0x9e3779b97f4a7c15ull | 1;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	t->cost.random = x;
	t->cost.weight = every(t);
	t->cost.steps++;
	return 1 + (uint32_t)(x >> 32) % (2 * t->cost.weight - 1);
}

static struct wire_line *cost_line(struct cap_thread *t)
{
	struct core_pool *pool = core_shared_pool();
	struct wire_line *l = t->cost.line;

	if (!pool)
		return NULL;
	if (l && core_line_in(pool, l))
		return l;
	l = core_line_new(WIRE_LINE_COST);
	if (!l)
		return NULL;
	l->cost.thread = t->index;
	atomic_store_explicit(&l->state, 1, memory_order_release);
	return t->cost.line = l;
}

void core_overhead_sample(struct cap_thread *t, struct cap_frame *f)
{
	if (!cost_line(t))
		return;
	t->cost.before = t->cost.timed;
	t->cost.sampled = t->cost.weight;
	f->retire = CORE_RETIRE_SAMPLED;
}

/*
 * From the entry to the first tick of the call, and from its second to here: of the two reads of the
 * clock the entry has one, and this one stands for the other.
 */
void core_overhead_sampled(struct cap_frame *f)
{
	struct cap_thread *t = cap_thread_current;
	uint64_t now = tick_now(), ticks, inside;
	struct wire_cost *c;
	double x;

	if (!t || t->magic != CAP_THREAD_MAGIC || !t->cost.line || t->cost.id != f->id)
		return;
	c = &t->cost.line->cost;
	ticks = f->start - t->cost.tick + (now - f->end);
	inside = t->cost.timed - t->cost.before;
	ticks = ticks > inside ? ticks - inside : 0;
	if (core_tick_span(ticks) > SAMPLE_MAX) {
		c->refused++;
		c->refused_calls += t->cost.sampled;
		return;
	}
	x = (double)ticks * t->cost.sampled;
	c->samples++;
	c->calls += t->cost.sampled;
	c->ticks += ticks * t->cost.sampled;
	c->squares += x * x;
}

/* ---- what a record costs ----------------------------------------------------------------------- */

/* A record of four fields, as a wrapper writes it, into memory of our own. */
static void record(struct cap_thread *t, struct cap_op *op, struct wire_ring *r)
{
	struct cap_frame *f = &t->frames[0];
	struct wire_event v = {0};
	struct wire_enc e;

	f->id = cap_take_id(t);
	f->site = cap_site(t, record);
	atomic_store_explicit(&f->op, op, memory_order_relaxed);
	f->start = tick_now();
	f->end = tick_now();
	v.id = f->id;
	v.start = f->start;
	v.end = f->end;
	v.site = f->site;
	wire_begin(&e, r, &v, 4);
	wire_pointer(&e, 0, t);
	wire_unsigned(&e, 1, 1);
	wire_unsigned(&e, 2, 4096);
	wire_pointer(&e, 3, NULL);
	wire_end(&e, r);
}

/* Ticks of the fastest batch. */
static uint64_t fastest(struct cap_thread *t, struct wire_chunk *chunk)
{
	struct cap_op op = {.callbacks = NULL};
	uint64_t best = UINT64_MAX;

	t->sites[cap_site_slot((uintptr_t)record)].address = (uintptr_t)record;
	for (unsigned b = 0; b < BATCHES; b++) {
		struct wire_ring r = {.cur = (uint8_t *)(chunk + 1), .chunk = chunk};
		uint64_t start = tick_now(), ticks;

		r.last_tick = start;
		for (unsigned i = 0; i < BATCH; i++)
			record(t, &op, &r);
		ticks = tick_now() - start;
		best = ticks < best ? ticks : best;
	}
	return best;
}

/* ---- loading ----------------------------------------------------------------------------------- */

#define PAGE       4096u
#define FRESH      8   /* pages that are touched to measure what one takes */
#define READ_PAGES 25  /* that are read of a library: headers, symbols, code */
#define COPIED     1.5 /* times a fresh page: a page of a file, which is copied and relocated */

/* Pages that the loader touched of Kymo's libraries. */
static int add_pages(struct dl_phdr_info *info, size_t size, void *data)
{
	const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
	uint64_t *pages = data;

	(void)size;
	if (!slash || strncmp(slash, "/libkymo", 8) != 0)
		return 0;
	*pages += READ_PAGES;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && p->p_flags & PF_W)
			*pages += p->p_filesz / PAGE + 1;
	}
	return 0;
}

/* Ticks; the median of several, as the first finds page tables missing and any may be interrupted. */
static uint64_t page_cost(void)
{
	char *m = mmap(NULL, FRESH * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);
	uint64_t took[FRESH];

	if (m == MAP_FAILED)
		return 0;
	for (unsigned i = 0; i < FRESH; i++) {
		uint64_t start = tick_now(), ticks;
		unsigned at = i;

		((volatile char *)m)[i * PAGE] = 1;
		ticks = tick_now() - start;
		for (; at > 0 && took[at - 1] > ticks; at--)
			took[at] = took[at - 1];
		took[at] = ticks;
	}
	munmap(m, FRESH * PAGE);
	return took[FRESH / 2];
}

/*
 * Kymo's libraries were loaded before anything here could look at a clock. What that took is told
 * by the pages that it touched: loading is page faults above all.
 */
void core_overhead_loading(void)
{
	uint64_t pages = 0;

	dl_iterate_phdr(add_pages, &pages);
	cap_cost(CAP_COST_LOADING, (uint64_t)(COPIED * (double)(pages * page_cost())));
}

/* ---- what is told ------------------------------------------------------------------------------ */

void core_overhead_define(void)
{
	size_t bytes = sizeof(struct wire_chunk) + BATCH * 64 + WIRE_RECORD_MAX + WIRE_SLACK;
	static uint64_t batch;
	struct cap_thread *t = aligned_alloc(_Alignof(struct cap_thread), sizeof(*t));
	struct wire_chunk *chunk = calloc(1, bytes);
	struct wire_def d;

	if (t && chunk && !batch) {
		memset(t, 0, sizeof(*t));
		batch = fastest(t, chunk);
	}
	free(t);
	free(chunk);
	wire_def_init(&d, DEF_OVERHEAD);
	wire_def_u64(&d, batch * 1000 / BATCH);
	wire_def_u64(&d, core_cost(CAP_COST_PROGRAM));
	wire_def_u64(&d, core_cost(CAP_COST_LOADING));
	cap_define(&d);
}

void core_overhead_anew(void)
{
	for (unsigned i = 0; i < CAP_COSTS; i++)
		atomic_store(&costs[i], 0);
}
