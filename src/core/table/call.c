/* SPDX-License-Identifier: Apache-2.0 */
/* What happens before and after a traced entry of a table is called. */
#include <string.h>

#include "core/table/table.h"
#include "wire/value.h"

#define STRING_CAP 256u

static inline const char *pointer_at(const char *at)
{
	void *pointer;

	memcpy(&pointer, at, sizeof(pointer));
	return pointer;
}

static inline const void *place_of(const struct table_call *c, const struct table_field *f)
{
	const char *at = (const char *)c + f->in.at;

	if (cap_unlikely(f->indirect))
		at = pointer_at(at) + f->offset;
	if (!f->deref)
		return at;
	at = pointer_at(at);
	return at ? at + f->behind : NULL;
}

static inline __attribute__((always_inline)) bool
find(const struct table_call *call, const struct table_field *field, bool ok, uint64_t *value)
{
	const void *at = field->out && !ok ? NULL : place_of(call, field);

	*value = at ? wire_load(at, field->size, field->kind == KYMO_KIND_SIGNED) : 0;
	return at != NULL;
}

bool table_value(const struct table_call *call, const struct table_field *field, bool ok,
		 uint64_t *value)
{
	return find(call, field, ok, value);
}

static __attribute__((noinline, cold)) void callbacks(const struct table_call *c,
						      enum cap_phase phase)
{
	const struct table_op *op = c->slot->op;
	const bool ok = phase == CAP_EXIT && !c->frame->has_status;
	kymo_table_args_t args;

	args.size = offsetof(kymo_table_args_t, value) + op->field_count * sizeof(uint64_t);
	for (unsigned i = 0; i < op->field_count; i++) {
		args.value[i] = 0;
		if (phase == CAP_EXIT || !op->fields[i].after)
			table_value(c, &op->fields[i], ok, &args.value[i]);
	}
	cap_callbacks(c->frame, &args, phase);
}

static __attribute__((noinline)) void enter_any(struct table_call *call, const void *sp)
{
	struct cap_frame *f = cap_enter_slow(call->slot->cap, call->caller, sp);

	call->frame = f;
	if (f && cap_unlikely(f->callbacks))
		callbacks(call, CAP_ENTER);
}

void table_enter(struct table_call *call)
{
	struct cap_op *op = call->slot->cap;

	kymo_assert((const char *)call + TABLE_STACK_AT == (const char *)call->stack);
	call->frame = cap_enter_straight(op, call->caller, cap_sp());
	if (cap_unlikely(!call->frame && !cap_passes(op)))
		enter_any(call, cap_sp());
}

/* Of one call. */
struct given {
	const struct table_call *call;
	const struct table_field *fields;
	bool ok, full;
};

/* What does not lie in the wrapper's frame itself. */
static __attribute__((noinline)) struct wire_stop
other_field(uint8_t *p, uint8_t *limit, uint64_t base, unsigned i, const void *data)
{
	const struct given *g = data;
	const struct table_field *f = &g->fields[i];
	uint64_t value;

	if (!find(g->call, f, g->ok, &value))
		return (struct wire_stop){p, 0};
	return wire_put_found(p, limit, base, &f->in, f->kind, value, g->full ? STRING_CAP : 0);
}

/* `t`: as cap_leave_straight() returned it, of a call that took the straight path, which is a constant. */
static inline __attribute__((always_inline)) void
record(struct cap_thread *t, const struct table_call *c, struct cap_frame *f, const bool straight)
{
	const struct table_op *op = c->slot->op;
	const unsigned level = straight ? cap_args_straight(f) : cap_args(f);
	const struct given g = {c, op->fields, !f->has_status, level > 1};
	struct wire_enc e;

	if (cap_unlikely(level == 0)) {
		cap_record_bare(f);
		return;
	}
	if (!(straight ? cap_record_straight(t, f, &e, op->field_count)
		       : cap_record_slow(f, &e, op->field_count)))
		return;
	wire_put_places(&e, op->field_count, c, &op->fields->in, sizeof(*op->fields), other_field,
			&g);
	if (straight)
		cap_commit_straight(t, &e);
	else
		cap_commit(f, &e);
}

/* After it was left; also of a frame that is another thread's by now, where fibers move. */
static __attribute__((noinline)) void finish_any(struct table_call *call)
{
	const struct table_op *op = call->slot->op;
	struct cap_frame *f = call->frame;

	if (op->status)
		cap_status(f, (int32_t)call->result[0], op->status_ok);
	if (cap_unlikely(f->callbacks))
		callbacks(call, CAP_EXIT);
	if (cap_likely(f->buffers))
		record(NULL, call, f, false);
	if (op->after)
		op->after(call);
	cap_done(f);
}

static __attribute__((noinline)) void leave_any(struct table_call *call)
{
	cap_leave(call->frame);
	finish_any(call);
}

void table_leave(struct table_call *call)
{
	const struct table_op *op = call->slot->op;
	struct cap_frame *f = call->frame;
	struct cap_thread *t;

	if (cap_unlikely(!f))
		return;
	if (cap_unlikely(!(f->plan & CAP_PLAN_STRAIGHT))) {
		leave_any(call);
		return;
	}
	t = cap_leave_straight(f);
	if (cap_unlikely(!t)) {
		finish_any(call);
		return;
	}
	if (op->status)
		cap_status(f, (int32_t)call->result[0], op->status_ok);
	record(t, call, f, true);
	if (op->after)
		op->after(call);
	cap_done_straight(t, f);
}

/* The words that callbacks were given, as the record has them. */
void table_encode(const struct table_op *op, const void *args, bool ok, struct wire_enc *e)
{
	const kymo_table_args_t *a = args;

	for (unsigned i = 0; i < op->field_count; i++)
		if (ok || !op->fields[i].after)
			wire_value(e, i, op->fields[i].kind, op->fields[i].size, a->value[i],
				   STRING_CAP);
}
