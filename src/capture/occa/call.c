/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of a program into OCCA: which are the program's, who made them, and their records. */
#include <errno.h>
#include <execinfo.h>
#include <string.h>

#include <kymo/register.h>
#include <kymo/tool.h>

#include "base/careful.h"
#include "capture/occa/occa.h"
#include "wire/value.h"

void *(*occa_thread_room)(void);

/* ---- which call is the program's ---- */

/* A stack of a coroutine's may be gone. */
static bool there(const void *const *place, const void *what, const void *sp)
{
	const void *found;

	if ((uintptr_t)place < (uintptr_t)sp)
		return false;
	if (cap_same_stack(place, sp))
		return *place == what;
	return careful_copy(&found, place, sizeof(found)) == sizeof(found) && found == what;
}

bool occa_inside(const void *sp)
{
	const struct occa_inside *t = &occa_thread()->in;

	return t->place && there(t->place, t->caller, sp) &&
	       (!t->noted_place || there(t->noted_place, t->noted, sp));
}

/* The array of a launch is its last field: tools are not called back with it. */
static unsigned words_of(const kymo_op_desc_t *op)
{
	return op->field_count -
	       (op->field_count && op->fields[op->field_count - 1].kind == KYMO_KIND_ARRAY);
}

static void put_arguments(struct wire_enc *e, unsigned field, const struct occa_call *c)
{
	const struct occa_thread *t = occa_thread();

	if (c->kernel && t->arguments.kernel == c->kernel)
		wire_array(e, field, t->arguments.memory, t->arguments.count,
			   sizeof(t->arguments.memory[0]), OCCA_ARGUMENTS);
}

enum { FRAMES = 64 };

/* By its frames: that of occa_guarded() is among them, or there are more than are looked at. */
static __attribute__((noinline, cold)) bool inside_by_frames(void)
{
	void *frames[FRAMES];
	int saved = errno, n;
	bool found;

	cap_guard_enter();
	n = backtrace(frames, FRAMES);
	cap_guard_leave();
	found = n == FRAMES;
	for (int i = 0; i < n && !found; i++)
		found = (uintptr_t)frames[i] > (uintptr_t)occa_guarded &&
			(uintptr_t)frames[i] <= (uintptr_t)occa_guarded_end;
	errno = saved;
	return found;
}

/*
 * What longjmp has left may still be on the stack, as it was. Only launchers and the like call OCCA from elsewhere
 * inside of a call; that it is one of them is found out once for each place that does.
 */
static bool calls_itself(const void *caller, const void *sp)
{
	struct occa_thread *t = occa_thread();
	const void *by = caller;
	unsigned slot;

	if (!occa_inside(sp))
		return false;
	if (occa_of_library(caller)) {
		if (!t->noted.place)
			return true;
		by = t->noted.caller;
	}
	slot = (unsigned)(((uintptr_t)by * 0x9e3779b97f4a7c15ull) >> 62);
	if (t->inner[slot] != by && inside_by_frames())
		t->inner[slot] = by;
	return t->inner[slot] == by;
}

static __attribute__((noinline, cold)) void callbacks(const struct occa_call *c,
						      enum cap_phase phase)
{
	kymo_table_args_t args;
	struct cap_op *cap;
	const kymo_op_desc_t *op = occa_op(c->op, &cap);

	const unsigned words = words_of(op);

	args.size = offsetof(kymo_table_args_t, value) + words * sizeof(uint64_t);
	for (unsigned i = 0; i < words; i++)
		args.value[i] = c->values[i];
	cap_callbacks(c->frame, &args, phase);
}

static void enter(struct occa_call *c, const void *caller, const void *sp)
{
	struct cap_op *cap;

	occa_op(c->op, &cap);
	c->frame = cap_enter_at(cap, caller, sp);
	if (c->frame && cap_unlikely(c->frame->callbacks))
		callbacks(c, CAP_ENTER);
}

/* Code of the program, as far as it is known. */
static const void *program_of(struct occa_inside *in, const void *caller, const void *sp)
{
	struct occa_thread *t = occa_thread();

	if (!occa_of_library(caller) || !t->noted.place ||
	    !there(t->noted.place, t->noted.caller, sp))
		return caller;
	in->noted_place = t->noted.place;
	in->noted = t->noted.caller;
	t->noted.place = NULL;
	return in->noted;
}

/* OCCA frees it of its own: compilers differ in whether they call the function for that. */
static bool lets_go(const struct occa_inside *in, unsigned op, const void *caller)
{
	return (op == OCCA_OP_DEVICE_FREE || op == OCCA_OP_KERNEL_FREE ||
		op == OCCA_OP_STREAM_FREE) &&
	       occa_of_library(caller) &&
	       (!in->noted_place || OCCA_LETS_GO(occa_thread()->noted.function));
}

/* A call that longjmp has left ends now, and what lies in it. On another stack it may not have been left. */
static __attribute__((noinline, cold)) void left_before(const struct occa_inside *in,
							const void *sp)
{
	struct cap_thread *t = cap_thread_current;
	const struct cap_frame *f = in->frame;

	if (f && t && cap_same_stack(in->place, sp) && cap_frame_lives(t, f) && f->id == in->id &&
	    !f->end)
		cap_unwind(t, f->sp);
}

bool occa_begin(struct occa_call *c, unsigned op, const void *caller, const void *sp)
{
	struct occa_thread *t = occa_thread();
	struct occa_inside *in = &t->in;
	const void *by;

	if (in->place) {
		if (calls_itself(caller, sp))
			return false;
		left_before(in, sp);
	}
	*in = (struct occa_inside){.place = (const void *const *)sp - 1,
				   .caller = caller,
				   .by = caller,
				   .op = op,
				   .call = c};
	c->op = op;
	c->frame = NULL;
	if (op == OCCA_OP_NONE)
		return true;
	by = occa_site(program_of(in, caller, sp));
	if (!lets_go(in, op, caller))
		enter(c, by, sp);
	t->noted.place = NULL;
	in->by = by;
	in->frame = c->frame;
	in->id = c->frame ? c->frame->id : 0;
	return true;
}

static void record(struct occa_call *c)
{
	struct cap_frame *f = c->frame;
	struct cap_op *cap;
	const kymo_op_desc_t *op = occa_op(c->op, &cap);
	struct wire_enc e;

	cap_leave(f);
	cap_status(f, 0, 0);
	if (cap_unlikely(f->callbacks))
		callbacks(c, CAP_EXIT);
	if (f->buffers && cap_args(f) == 0) {
		cap_record_bare(f);
	} else if (f->buffers && cap_record(f, &e, op->field_count)) {
		const unsigned words = words_of(op);

		for (unsigned i = 0; i < words; i++)
			wire_value(&e, i, op->fields[i].kind, op->fields[i].size, c->values[i], 0);
		if (words < op->field_count)
			put_arguments(&e, words, c);
		cap_commit(f, &e);
	}
	cap_done(f);
}

void occa_end(struct occa_call *c)
{
	struct occa_thread *t = occa_thread();

	t->in.place = NULL;
	if (t->in.op != OCCA_OP_NONE)
		t->noted.place = NULL;
	if (c->frame)
		record(c);
}

void occa_left(void)
{
	struct occa_inside *in = &occa_thread()->in;

	if (!in->place)
		return;
	if (in->call->frame)
		cap_unwound(in->call->frame);
	occa_end(in->call);
}

void occa_point(struct occa_call *c, const void *caller, const void *sp)
{
	struct occa_inside *t = &occa_thread()->in, none = {0};
	const void *by = occa_inside(sp) ? t->by : occa_site(program_of(&none, caller, sp));

	enter(c, by, sp);
	if (c->frame)
		record(c);
}
