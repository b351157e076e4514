/* SPDX-License-Identifier: Apache-2.0 */
/* The domain "lock": its calls, and what they are told with. */
#include "base/clock.h"
#include "capture/lock/lock.h"

enum { NONE, OBJECT, MUTEX, OWNER, WOKEN_BY, HELD, TIMED_OUT };
enum { SHAPE_OBJECT, SHAPE_OWNED, SHAPE_HELD, SHAPE_WAIT, SHAPE_WOKEN, SHAPES };

#define MEMBER(name) LIBC_MEMBER(struct lock_call, name)

static const struct libc_field fields[] = {
	[OBJECT] = {"object", "const void *", KYMO_KIND_POINTER, 8, 0, MEMBER(object), false},
	[MUTEX] = {"mutex", "const void *", KYMO_KIND_POINTER, 8, 0, MEMBER(mutex), false},
	[OWNER] = {"owner", "pid_t", KYMO_KIND_UNSIGNED, 4, 0, MEMBER(thread), true},
	[WOKEN_BY] = {"woken_by", "pid_t", KYMO_KIND_UNSIGNED, 4, KYMO_FIELD_OUT, MEMBER(thread),
		      true},
	[HELD] = {"held", "uint64_t", KYMO_KIND_TIME, 8, 0, MEMBER(held), true},
	[TIMED_OUT] = {"timed_out", "bool", KYMO_KIND_BOOL, 1, KYMO_FIELD_OUT, MEMBER(timed_out),
		       true},
};

static const uint8_t shapes[SHAPES][LIBC_FIELDS] = {
	[SHAPE_OBJECT] = {OBJECT},
	[SHAPE_OWNED] = {OBJECT, OWNER, TIMED_OUT},
	[SHAPE_HELD] = {OBJECT, HELD},
	[SHAPE_WAIT] = {OBJECT, MUTEX, WOKEN_BY, TIMED_OUT},
	[SHAPE_WOKEN] = {OBJECT, WOKEN_BY, TIMED_OUT},
};

static const struct libc_op rows[LOCK_OP_COUNT] = {
#define LOCK_OP(id, name, fields) {name, SHAPE_##fields, 0},
	LOCK_OPS(LOCK_OP)
#undef LOCK_OP
};

static double ns_per_tick;

static void finish(struct libc_call *call, int error)
{
	struct lock_call *c = (struct lock_call *)(void *)call;

	if (c->held)
		c->held = (uint64_t)((double)c->held * ns_per_tick);
}

LIBC_DOMAIN(lock, LOCK_OP_COUNT, .title = "Waits of threads for threads", .fields = fields,
	    .shapes = shapes, .rows = rows, .finish = finish);

struct libc_domain *kymo_lock_start(bool *counter)
{
	const bool started = libc_domain_start(&lock_domain);

	*counter = tick_is_counter();
	ns_per_tick = 1e9 / (double)tick_rate(); /* known from the library's start on */
	return started ? &lock_domain : NULL;
}
