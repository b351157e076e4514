/* SPDX-License-Identifier: Apache-2.0 */
/* What happens before and after a call that waits for another thread, or ends such a wait. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include <kymo/register.h>
#include <kymo/tool.h>

#include "base/clock.h"
#include "capture/lock/lock.h"
#include "core/capture.h"
#include "core/process/handler.h"

static _Atomic uint64_t passed;
static bool started;
static double ns_per_tick;

void kymo_lock_passed(void)
{
	atomic_fetch_add_explicit(&passed, 1, memory_order_relaxed);
}

void lock_tell(void)
{
	uint64_t n = atomic_exchange(&passed, 0);

	if (n)
		cap_count_untraced_slow(
			"lock", "calls in signal handlers that came while Kymo recorded", n);
}

static void start(void)
{
	cap_load();
	cap_handlers_init();
	ns_per_tick = 1e9 / (double)tick_rate();
	started = lock_describe();
}

bool kymo_lock_start(bool *counter)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int saved = errno;

	pthread_once(&once, start);
	*counter = tick_is_counter();
	if (started)
		cap_thread_attach();
	errno = saved;
	return started;
}

static uint64_t word_of(const struct lock_call *c, unsigned field)
{
	switch (field) {
	case LOCK_OBJECT:
		return (uintptr_t)c->object;
	case LOCK_MUTEX:
		return (uintptr_t)c->mutex;
	case LOCK_HELD:
		return (uint64_t)((double)c->held * ns_per_tick);
	default:
		return c->thread;
	}
}

static __attribute__((noinline, cold)) void callbacks(const struct lock_call *c,
						      enum cap_phase phase)
{
	const uint8_t *fields = lock_fields_of(c->op);
	struct cap_op *cap;
	const unsigned count = lock_op(c->op, &cap)->field_count;
	kymo_table_args_t args = {.size = offsetof(kymo_table_args_t, value) +
					  count * sizeof(uint64_t)};

	for (unsigned i = 0; i < count; i++)
		args.value[i] = word_of(c, fields[i]);
	cap_callbacks(c->frame, &args, phase);
}

bool kymo_lock_enter(struct lock_call *c, const void *caller, const void *sp)
{
	struct cap_op *cap;

	lock_op(c->op, &cap);
	if (cap_unlikely(!cap_may_enter(cap, caller, sp))) {
		kymo_lock_passed();
		return false;
	}
	c->frame = cap_enter_at(cap, caller, sp);
	if (!c->frame)
		return false;
	if (cap_unlikely(c->frame->callbacks))
		callbacks(c, CAP_ENTER);
	return true;
}

/* What is not known is left out. */
static void encode(const struct lock_call *c, struct wire_enc *e, unsigned count)
{
	const uint8_t *fields = lock_fields_of(c->op);

	for (unsigned i = 0; i < count; i++) {
		const uint64_t v = word_of(c, fields[i]);

		if (fields[i] == LOCK_OBJECT || fields[i] == LOCK_MUTEX)
			wire_pointer(e, i, (const void *)(uintptr_t)v);
		else if (v)
			wire_unsigned(e, i, v);
	}
}

void kymo_lock_leave(struct lock_call *c, int error)
{
	struct cap_frame *f = c->frame;
	const int saved = errno;
	struct cap_op *cap;
	const unsigned count = lock_op(c->op, &cap)->field_count;
	struct wire_enc e;

	cap_leave(f);
	cap_status(f, error, 0);
	if (cap_unlikely(f->callbacks))
		callbacks(c, CAP_EXIT);
	if (f->buffers && cap_args(f) == 0) {
		cap_record_bare(f);
	} else if (f->buffers && cap_record(f, &e, count)) {
		encode(c, &e, count);
		cap_commit(f, &e);
	}
	cap_done(f);
	errno = saved;
}
