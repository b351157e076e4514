/* SPDX-License-Identifier: Apache-2.0 */
/* Times without a processor; see switches.h. */
#include "capture/hostsample/switches.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/vec.h"
#include "capture/hostsample/waiting.h"
#include "core/sample/sample.h"

#define LOOKS_A_ROUND 64u      /* at threads that wait; the others come in the next */
#define LOOK_NS       1000000u /* after so long */

struct change {
	uint64_t time;
	uint32_t tid, cpu;
	uint32_t order; /* among those of one moment */
	enum switch_kind kind;
	uint32_t stack;
	bool whole; /* the stack */
};

struct off {
	uint32_t tid, cpu;
	uint64_t since;
	uint64_t looked; /* when; 0: not yet */
	bool preempted;
	struct waiting waits; /* where it was looked */
	uint32_t stack;       /* with which it left; 0: the kernel did not say */
	bool whole;
};

static struct change *changes; /* not dealt with yet */
static uint32_t change_count, change_room;
static struct off *off; /* threads without a processor now */
static uint32_t off_count, off_room;
static struct map places; /* by tid: in `off`, plus 1 */
static struct map stacks; /* by tid: with which it leaves next; WHOLE beside it */
#define WHOLE (1ull << 32)

static void note(struct change c)
{
	if (!vec_reserve(&changes, &change_room, change_count, 1)) {
		switches_lost();
		return;
	}
	c.order = change_count;
	changes[change_count++] = c;
}

void switches_note(enum switch_kind kind, uint32_t tid, uint64_t time, uint32_t cpu)
{
	note((struct change){.time = time, .tid = tid, .cpu = cpu, .kind = kind});
}

void switches_stack(uint32_t tid, uint64_t time, uint32_t stack, bool whole)
{
	note((struct change){
		.time = time, .tid = tid, .kind = SWITCH_STACK, .stack = stack, .whole = whole});
}

static void remove_at(uint32_t i)
{
	map_remove(&places, off[i].tid);
	off[i] = off[--off_count];
	if (i < off_count)
		map_set(&places, off[i].tid, i + 1);
}

/* The kernel's where it is whole, for it had the registers; else what was seen when it was looked. */
static uint32_t stack_of(const struct off *o, bool looked)
{
	uint32_t seen = 0;

	if (looked && !(o->stack && o->whole))
		seen = sample_stack(o->waits.addresses, o->waits.count, o->waits.end);
	return seen ? seen : o->stack;
}

/* It looked what the thread waits for only if it was away already and not back yet. */
static void tell(const struct off *o, uint64_t end, uint32_t cpu)
{
	bool known = o->looked > o->since && o->looked < end;
	struct cap_off_cpu_time t = {.tid = o->tid,
				     .cpu_before = o->cpu,
				     .cpu_after = cpu,
				     .start = o->since,
				     .end = end,
				     .kind = o->preempted ? CAP_OFF_CPU_PREEMPTED
							  : CAP_OFF_CPU_WAIT};

	if (end < o->since)
		return;
	t.stack = stack_of(o, known);
	if (known) {
		t.kind = o->waits.kind;
		t.call = o->waits.call;
		t.path = o->waits.path;
		t.object = o->waits.object;
		t.pc = o->waits.pc;
	}
	cap_off_cpu(&t);
}

static void leave(const struct change *c)
{
	uint64_t at = map_get(&places, c->tid), stack = map_get(&stacks, c->tid);
	struct off *o = at ? &off[at - 1] : NULL;

	if (stack)
		map_remove(&stacks, c->tid);
	if (!o && (!vec_reserve(&off, &off_room, off_count, 1) ||
		   !map_set(&places, c->tid, off_count + 1)))
		return;
	o = o ? o : &off[off_count++];
	*o = (struct off){.tid = c->tid,
			  .cpu = c->cpu,
			  .since = c->time,
			  .preempted = c->kind == SWITCH_OUT_PREEMPTED,
			  .stack = (uint32_t)stack,
			  .whole = (stack & WHOLE) != 0};
}

/* A thread that begins, or was away when recording began, comes without having left. */
static void come(const struct change *c)
{
	uint64_t at = map_get(&places, c->tid);

	if (!at)
		return;
	tell(&off[at - 1], c->time, c->cpu);
	remove_at((uint32_t)at - 1);
}

static void end_thread(const struct change *c)
{
	uint64_t at = map_get(&places, c->tid);

	if (at)
		remove_at((uint32_t)at - 1);
	cap_sample_thread_ended(c->tid);
}

static void follow(const struct change *c)
{
	switch (c->kind) {
	case SWITCH_IN:
		come(c);
		break;
	case SWITCH_STACK:
		map_set(&stacks, c->tid, c->stack | (c->whole ? WHOLE : 0));
		break;
	case SWITCH_THREAD_ENDED:
		end_thread(c);
		break;
	default:
		leave(c);
	}
}

static int by_time(const void *x, const void *y)
{
	const struct change *a = x, *b = y;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static void look(void)
{
	unsigned looks = 0;

	for (uint32_t i = 0; i < off_count && looks < LOOKS_A_ROUND; i++) {
		struct off *o = &off[i];
		uint64_t now;

		if (o->preempted || o->looked ||
		    (now = clock_ns(CLOCK_MONOTONIC_RAW)) < o->since + LOOK_NS)
			continue;
		if (waiting_look(o->tid, &o->waits))
			o->looked = clock_ns(CLOCK_MONOTONIC_RAW);
		looks++;
	}
}

void switches_round(uint64_t until)
{
	uint32_t n = 0;

	if (change_count)
		qsort(changes, change_count, sizeof(*changes), by_time);
	while (n < change_count && changes[n].time < until)
		follow(&changes[n++]);
	if (n)
		memmove(changes, changes + n, (change_count - n) * sizeof(*changes));
	change_count -= n;
	for (uint32_t i = 0; i < change_count; i++)
		changes[i].order = i;
	look();
}

static void forget(void)
{
	map_clear(&places);
	map_clear(&stacks);
	off_count = 0;
}

void switches_lost(void)
{
	forget();
}

void switches_flush(void)
{
	uint64_t now;

	switches_round(UINT64_MAX);
	now = clock_ns(CLOCK_MONOTONIC_RAW);
	for (uint32_t i = 0; i < off_count; i++) {
		tell(&off[i], now, off[i].cpu);
		off[i].since = now;
		off[i].looked = 0;
	}
}

void switches_end(void)
{
	forget();
	change_count = 0;
}
void switches_fork_child(void)
{
	switches_end();
}
