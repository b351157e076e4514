/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens before and after a call of the C library's that moves data. Calls may come from signals' handlers, whose
 * thread may be in the middle of anything: then only what takes no lock and no memory is done, or the call is counted.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include <kymo/register.h>
#include <kymo/tool.h>

#include "capture/posix/posix.h"
#include "core/capture.h"
#include "core/marker/marker.h"
#include "core/process/handler.h"

static _Atomic uint64_t passed;

void kymo_posix_passed(void)
{
	atomic_fetch_add_explicit(&passed, 1, memory_order_relaxed);
}

void posix_tell(void)
{
	static _Atomic bool told_rings;
	uint64_t n = atomic_exchange(&passed, 0);

	if (!told_rings && posix_rings()) {
		told_rings = true;
		cap_note(2, "posix",
			 "the program has io_uring: what it reads and writes by that is not "
			 "recorded");
	}
	if (n)
		cap_count_untraced_slow(
			"posix", "calls in signal handlers that came while Kymo recorded", n);
}

static bool started;

static void start(void)
{
	cap_load();
	cap_handlers_init();
	started = posix_describe();
}

bool kymo_posix_start(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int saved = errno;

	pthread_once(&once, start);
	if (started)
		cap_thread_attach();
	errno = saved;
	return started;
}

static __attribute__((noinline, cold)) void callbacks(const struct posix_call *c,
						      enum cap_phase phase);

bool kymo_posix_enter(struct posix_call *c, const void *caller, const void *sp)
{
	struct cap_op *cap;

	posix_op(c->op, &cap);
	if (cap_unlikely(!cap_may_enter(cap, caller, sp))) {
		kymo_posix_passed();
		return false;
	}
	c->frame = cap_enter_at(cap, caller, sp);
	if (!c->frame)
		return false;
	if (cap_unlikely(c->frame->callbacks))
		callbacks(c, CAP_ENTER);
	return true;
}

/* What it is told with is the new descriptor's. */
static bool is_new(unsigned op)
{
	return op <= POSIX_CREAT || op == POSIX_ACCEPT || op == POSIX_ACCEPT4;
}

/* What was opened has its name now. */
static void name_files(struct posix_call *c, int error)
{
	const struct marker_name *name;

	if (c->named)
		return;
	/* A path that the system could read can be read here. */
	if (c->path && error && error != EFAULT && !cap_in_handler(cap_sp())) {
		name = marker_name(c->path);
		c->file = name ? name->id : 0;
		return;
	}
	c->file = posix_file(is_new(c->op) ? c->other : c->fd,
			     c->op == POSIX_ACCEPT || c->op == POSIX_ACCEPT4);
	if (c->op == POSIX_SENDFILE || c->op == POSIX_COPY_FILE_RANGE || c->op == POSIX_SPLICE)
		c->to = kymo_posix_file(c->other);
}

static uint64_t word_of(const struct posix_call *c, unsigned field)
{
	switch (field) {
	case POSIX_FD:
		return (uint64_t)(int64_t)c->fd;
	case POSIX_FILE:
		return c->file;
	case POSIX_TO:
		return c->to;
	case POSIX_SIZE:
		return c->size;
	case POSIX_MOVED:
		return c->moved;
	case POSIX_OFFSET:
		return (uint64_t)c->offset;
	case POSIX_FLAGS:
		return c->flags;
	case POSIX_NEW:
		return (uint64_t)(int64_t)c->other;
	default:
		return c->address;
	}
}

static void callbacks(const struct posix_call *c, enum cap_phase phase)
{
	const uint8_t *fields = posix_fields_of(c->op);
	struct cap_op *cap;
	const unsigned count = posix_op(c->op, &cap)->field_count;
	kymo_table_args_t args = {.size = offsetof(kymo_table_args_t, value) +
					  count * sizeof(uint64_t)};

	for (unsigned i = 0; i < count; i++)
		args.value[i] = word_of(c, fields[i]);
	cap_callbacks(c->frame, &args, phase);
}

static void encode(const struct posix_call *c, struct wire_enc *e, unsigned count, bool failed)
{
	const uint8_t *fields = posix_fields_of(c->op);

	for (unsigned i = 0; i < count; i++) {
		const uint64_t v = word_of(c, fields[i]);

		switch (fields[i]) {
		case POSIX_ADDRESS:
			wire_pointer(e, i, (const void *)(uintptr_t)v);
			break;
		case POSIX_FD:
			wire_signed(e, i, (int64_t)v, 4);
			break;
		case POSIX_OFFSET:
			wire_signed(e, i, (int64_t)v, 8);
			break;
		case POSIX_NEW:
			if (!failed)
				wire_signed(e, i, (int64_t)v, 4);
			break;
		case POSIX_MOVED:
			if (!failed)
				wire_unsigned(e, i, v);
			break;
		default:
			wire_unsigned(e, i, v);
		}
	}
}

static void record(struct posix_call *c, struct cap_frame *f, unsigned count, bool failed)
{
	struct wire_enc e;

	if (f->buffers && cap_args(f) == 0) {
		cap_record_bare(f);
	} else if (f->buffers && cap_record(f, &e, count)) {
		encode(c, &e, count, failed);
		cap_commit(f, &e);
	}
}

void kymo_posix_leave(struct posix_call *c, int error)
{
	struct cap_frame *f = c->frame;
	const int saved = errno;
	struct cap_op *cap;
	const unsigned count = posix_op(c->op, &cap)->field_count;

	cap_leave(f);
	cap_status(f, error, 0);
	name_files(c, error);
	if (cap_unlikely(f->callbacks))
		callbacks(c, CAP_EXIT);
	record(c, f, count, error != 0);
	cap_done(f);
	errno = saved;
}
