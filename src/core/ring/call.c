/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that cannot take the straight path of core/capture.h, because of who wants them or where they are made; what of
 * their records is out of the ordinary; and frames that longjmp or an exception left behind.
 */
#include "base/assert.h"
#include "core/context/context.h"
#include "core/define/define.h"
#include "core/process/process.h"
#include "core/ring/ring.h"
#include "core/tally/tally.h"
#include "core/tool/tool.h"
#include "core/activity/submission.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

/* ---- entering and leaving ---- */

/* What few want and every call would have to ask for. */
static void enter_features(struct cap_thread *t, struct cap_frame *f)
{
	uint32_t extra = atomic_load_explicit(&cap_slow_features, memory_order_relaxed);

	if ((extra & CAP_SLOW_STACKS) && core_stack_wanted(f->op->wire))
		f->stack = core_stack_here(t, f->caller);
	if ((extra & CAP_SLOW_RETIREMENT) &&
	    (atomic_load_explicit(&f->callbacks, memory_order_relaxed) ||
	     atomic_load_explicit(&f->buffers, memory_order_relaxed)))
		f->retire = CORE_RETIRE_WANTED;
}

/* The frames below the present call, if there are any. False: too many. */
static bool nest(struct cap_thread *t, const void *sp)
{
	uint32_t depth = atomic_load_explicit(&t->depth, memory_order_relaxed);

	if (depth && (const char *)t->frames[depth - 1].sp <= (const char *)sp)
		cap_unwind(t, sp);
	if (atomic_load_explicit(&t->depth, memory_order_relaxed) < CAP_FRAMES)
		return true;
	cap_count_untraced("core", "calls nested deeper than 256");
	return false;
}

/* The thread, where it may enter a call; NULL: it may not. */
static struct cap_thread *enter_thread(uint64_t buffers, const void *sp)
{
	struct cap_thread *t = cap_thread_current;

	if (!t || t->magic != CAP_THREAD_MAGIC) {
		t = core_thread_for_call(buffers);
		if (!t)
			return NULL;
	}
	if ((t->guard && !cap_guard_left(t, sp)) || !nest(t, sp))
		return NULL;
	return t;
}

struct cap_frame *cap_enter_slow(struct cap_op *op, const void *caller, const void *sp)
{
	uint64_t buffers = atomic_load_explicit(&op->buffers, memory_order_relaxed);
	struct cap_thread *t;
	struct cap_frame *f;
	uint32_t depth, site;

	if (!buffers && !atomic_load_explicit(&op->callbacks, memory_order_relaxed)) {
		if (atomic_load_explicit(&op->left_out, memory_order_relaxed))
			cap_left_out(op);
		if (!atomic_load_explicit(&op->keep, memory_order_relaxed))
			return NULL;
	}
	t = enter_thread(buffers, sp);
	if (!t)
		return NULL;
	depth = atomic_load_explicit(&t->depth, memory_order_relaxed);
	f = &t->frames[depth];
	site = cap_site(t, caller);
	if (t->next_id >= t->id_limit)
		cap_ids_sample(t, f);
	cap_read_lock(t); /* from here on a signal's handler leaves the place alone */
	f->id = cap_take_id(t);
	f->parent = t->current;
	t->current = f->id;
	f->end = 0;
	f->scope = t->scope;
	f->sp = sp;
	atomic_store_explicit(&f->op, op, memory_order_relaxed);
	f->site = site;
	f->caller = caller;
	f->stack = 0;
	f->status = 0;
	f->has_status = f->told = false;
	f->plan = CAP_PLAN_LOOK;
	atomic_store_explicit(&f->callbacks,
			      atomic_load_explicit(&op->callbacks, memory_order_acquire),
			      memory_order_relaxed);
	f->entered = atomic_load_explicit(&op->buffers, memory_order_acquire);
	atomic_store_explicit(&f->buffers, f->entered, memory_order_relaxed);
	atomic_store_explicit(&t->depth, depth + 1, memory_order_release);
	cap_read_unlock(t);
	if (atomic_load_explicit(&cap_slow_features, memory_order_relaxed))
		enter_features(t, f);
	f->start = tick_now();
	cap_shared_push(t, depth, f->id, f->start, op->wire, f->site);
	return f;
}

void cap_leave_elsewhere(void)
{
	cap_thread_attach();
}

/* ---- records that are not the ordinary one ---- */

uint64_t cap_external_asked(struct cap_thread *t, const struct cap_frame *f, unsigned buffer)
{
	const struct core_subscribers *subscribers =
		atomic_load_explicit(&f->callbacks, memory_order_relaxed);
	size_t at = (size_t)(f - t->frames);

	for (uint32_t i = 0; subscribers->requests && i < subscribers->count; i++)
		if (subscribers->entries[i].request &&
		    subscribers->entries[i].buffer == (int)buffer && t->words &&
		    t->words[at].room > i)
			return t->words[at].words[i];
	return atomic_load_explicit(&t->external[buffer], memory_order_relaxed);
}

static void event_of(const struct cap_frame *f, struct cap_thread *t, unsigned buffer,
		     struct wire_event *v)
{
	*v = (struct wire_event){
		.id = f->id,
		.parent = f->parent,
		.start = f->start,
		.end = f->end,
		.external = atomic_load_explicit(&t->external[buffer], memory_order_relaxed),
		.scope = f->scope,
		.status = f->status,
		.has_status = f->has_status,
		.unwound = (f->plan & CAP_PLAN_UNWOUND) != 0,
		.op = f->op->wire,
		.site = f->site,
		.stack = f->stack,
	};
	if (f >= t->frames && f < t->frames + CAP_FRAMES &&
	    atomic_load_explicit(&f->callbacks, memory_order_relaxed))
		v->external = cap_external_asked(t, f, buffer);
}

static void record_bare_in(struct cap_thread *t, struct cap_frame *f, unsigned buffer)
{
	struct core_buffer *b = &core_buffers[buffer];
	struct wire_ring *r;
	struct wire_event v;
	struct wire_enc e;

	if (b->desc.tally) {
		core_tally_call(t, b, f);
		return;
	}
	r = cap_ring(t, 1ull << buffer);
	if (!r)
		return;
	event_of(f, t, buffer, &v);
	v.no_fields = true;
	wire_begin(&e, r, &v, 0);
	wire_end(&e, r);
	cap_count_record(t);
}

static void record_bare(struct cap_thread *t, struct cap_frame *f)
{
	for (uint64_t left = atomic_load(&f->buffers); left; left &= left - 1)
		record_bare_in(t, f, (unsigned)__builtin_ctzll(left));
}

/* As record_bare_in(), of a call that took the straight path: 37 instructions fewer of 490. */
static __attribute__((noinline)) void record_bare_straight(struct cap_thread *t,
							   const struct cap_frame *f)
{
	unsigned buffer = f->plan & CAP_PLAN_BUFFER;
	struct wire_ring *r = cap_ring(t, 1ull << buffer);
	struct wire_event v = {
		.id = f->id,
		.parent = f->parent,
		.start = f->start,
		.end = f->end,
		.external = atomic_load_explicit(&t->external[buffer], memory_order_relaxed),
		.scope = f->scope,
		.status = f->status,
		.has_status = f->has_status,
		.no_fields = true,
		.op = f->op->wire,
		.site = f->site,
	};
	struct wire_enc e;

	if (!r)
		return;
	wire_begin(&e, r, &v, 0);
	cap_commit_straight(t, &e);
}

void cap_record_bare(struct cap_frame *f)
{
	struct cap_thread *t = cap_thread_current;

	if (!t) /* no memory for the state of a thread that a fiber came to */
		return;
	if (f->plan & CAP_PLAN_TALLY)
		core_tally_call(t, &core_buffers[f->plan & CAP_PLAN_BUFFER], f);
	else if (f->plan & CAP_PLAN_STRAIGHT)
		record_bare_straight(t, f);
	else
		record_bare(t, f);
}

unsigned cap_args_many(uint64_t buffers)
{
	unsigned most = 0;

	for (uint64_t left = buffers; left; left &= left - 1) {
		unsigned level = cap_args_of[__builtin_ctzll(left)];

		most = level > most ? level : most;
	}
	return most;
}

/* Of several buffers those stay in the frame that have room and want the arguments. */
struct wire_ring *core_ring_many(struct cap_thread *t, struct cap_frame *f, bool call)
{
	uint64_t buffers = atomic_load(&f->buffers);
	struct wire_ring *first = NULL;

	for (uint64_t left = buffers; left; left &= left - 1) {
		unsigned b = (unsigned)__builtin_ctzll(left);
		struct wire_ring *r = NULL;

		if (call && cap_args_of[b] == 0)
			record_bare_in(t, f, b);
		else
			r = cap_ring(t, 1ull << b);
		if (!r)
			buffers &= ~(1ull << b);
		first = first ? first : r;
	}
	atomic_store_explicit(&f->buffers, buffers, memory_order_relaxed);
	return first;
}

bool cap_record_slow(struct cap_frame *f, struct wire_enc *e, unsigned fields)
{
	uint64_t buffers = atomic_load(&f->buffers);
	struct cap_thread *t = cap_thread_current;
	struct wire_ring *r =
		buffers & (buffers - 1) ? core_ring_many(t, f, true) : cap_ring(t, buffers);
	struct wire_event v;

	if (!r)
		return false;
	event_of(f, t, (unsigned)(r - t->rings), &v);
	wire_begin(e, r, &v, fields);
	return true;
}

/* External id of an activity's record in `buffer`. */
static void activity_external(const struct cap_frame *f, unsigned buffer, struct wire_event *v)
{
	if (f->submission && f->submission->buffer_external)
		v->external = f->submission->buffer_external[buffer];
	else if (!f->owns_submission) /* else it is what this thread has pushed */
		v->external = 0;
}

void cap_commit_slow(struct cap_frame *f, struct wire_enc *e, struct wire_ring *from)
{
	struct cap_thread *t = cap_thread_current;
	const uint8_t *fields = e->ext + wire_wide_bytes(e);
	size_t bytes = (size_t)(e->p - fields);
	unsigned count = e->wide > 1 ? KYMO_FIELDS_MAX : e->wide ? 24 : 8;
	uint64_t left = atomic_load(&f->buffers) & ~(1ull << (from - t->rings));

	for (; left; left &= left - 1) {
		unsigned b = (unsigned)__builtin_ctzll(left);
		struct wire_ring *r = cap_ring(t, left);
		struct wire_event v;
		struct wire_enc more;

		if (!r)
			continue;
		event_of(f, t, b, &v);
		if (f < t->frames || f >= t->frames + CAP_FRAMES) {
			activity_external(f, b, &v);
			cap_note_early(r, f->op, v.start);
		}
		wire_begin(&more, r, &v, count);
		if ((size_t)(more.p - more.start) + bytes > WIRE_RECORD_MAX) {
			record_bare_in(t, f, b); /* optional items made it too long */
			continue;
		}
		memcpy(more.p, fields, bytes);
		more.p += bytes;
		more.classes = e->classes;
		more.classes_hi = e->classes_hi;
		wire_end(&more, r);
		cap_count_record(t);
	}
}

/* ---- frames left behind ---- */

/* Only a stack pointer of the same stack says anything: signal stacks and coroutines differ. */
bool cap_same_stack(const void *a, const void *b)
{
	return core_stack_end(a) && core_stack_end(b);
}

static _Thread_local const char *low, *high;

/*
 * The C library reads a file for the main thread's. A handler that left it by siglongjmp() would crash in what the C library
 * does then about locks of the file.
 */
static void find_stack(void)
{
	pthread_attr_t attr;
	uint64_t before;
	void *base;
	size_t size;

	core_signals_block(&before);
	high = (const char *)1;
	if (pthread_getattr_np(pthread_self(), &attr) == 0) {
		if (pthread_attr_getstack(&attr, &base, &size) == 0) {
			low = base;
			high = low + size;
		}
		pthread_attr_destroy(&attr);
	}
	core_signals_restore(&before);
}

bool core_stack_known(void)
{
	return high != NULL;
}

const void *core_stack_end(const void *sp)
{
	if (!high)
		find_stack();
	return (const char *)sp >= low && (const char *)sp < high ? high : NULL;
}

/* The innermost call will not return: tools that saw it enter see it exit. */
static void close_frame(struct cap_thread *t, struct cap_frame *f)
{
	if (!f->end) { /* else it was left while a tool was told of its exit */
		f->end = tick_now();
		t->current = f->parent;
		if (atomic_load(&f->callbacks) && f->told)
			cap_callbacks(f, NULL, CAP_EXIT);
		f->plan = CAP_PLAN_LOOK | CAP_PLAN_UNWOUND;
		record_bare(t, f);
	}
	t->current = f->parent;
	if (f->retire)
		cap_retire(f);
	atomic_store(&t->depth, (uint32_t)(f - t->frames));
}

void core_frame_left(struct cap_thread *t)
{
	close_frame(t, &t->frames[atomic_load(&t->depth) - 1]);
}

void cap_unwind(struct cap_thread *t, const void *sp)
{
	int saved = errno;

	while (atomic_load(&t->depth)) {
		struct cap_frame *f = &t->frames[atomic_load(&t->depth) - 1];

		if ((const char *)f->sp > (const char *)sp || !cap_same_stack(f->sp, sp))
			break;
		close_frame(t, f);
	}
	errno = saved;
}

void cap_left_inside(struct cap_thread *t, const struct cap_frame *f)
{
	int saved = errno;

	while (atomic_load(&t->depth) > (uint32_t)(f - t->frames) + 1)
		close_frame(t, &t->frames[atomic_load(&t->depth) - 1]);
	errno = saved;
}

void cap_unwound(struct cap_frame *f)
{
	struct cap_thread *t = cap_thread_current;

	if (!t || !cap_frame_lives(t, f))
		return;
	cap_left_inside(t, f);
	f->entered = core_frame_entered(f);
	f->plan = CAP_PLAN_LOOK | CAP_PLAN_UNWOUND;
}

void core_unwind_all(struct cap_thread *t)
{
	while (atomic_load(&t->depth))
		close_frame(t, &t->frames[atomic_load(&t->depth) - 1]);
}
