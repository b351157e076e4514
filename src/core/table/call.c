/* SPDX-License-Identifier: Apache-2.0 */
/* What happens before and after a traced entry of a table is called. */
#include <string.h>

#include "core/table/table.h"
#include "wire/value.h"

#define STRING_CAP 256u

static const char *pointer_at(const char *at)
{
	void *pointer;

	memcpy(&pointer, at, sizeof(pointer));
	return pointer;
}

static const void *place_of(const struct table_call *c, const struct table_field *f)
{
	const char *at = NULL;

	switch ((enum table_place)f->place) {
	case TABLE_GP:
		at = (const char *)&c->gp[f->index];
		break;
	case TABLE_FP:
		at = (const char *)c->fp[f->index];
		break;
	case TABLE_STACK:
		at = (const char *)&c->stack[f->index];
		break;
	case TABLE_RESULT:
		at = (const char *)c->result;
		break;
	case TABLE_FP_RESULT:
		at = (const char *)c->fp_result[0];
		break;
	}
	if (f->indirect)
		at = pointer_at(at);
	at += f->offset;
	if (f->deref)
		at = pointer_at(at);
	return at && f->deref ? at + f->behind : at;
}

bool table_value(const struct table_call *call, const struct table_field *field, bool ok,
		 uint64_t *value)
{
	const void *at = field->out && !ok ? NULL : place_of(call, field);

	*value = at ? wire_load(at, field->size, field->kind == KYMO_KIND_SIGNED) : 0;
	return at != NULL;
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

void table_enter(struct table_call *call)
{
	struct cap_frame *f = cap_enter(call->slot->cap, call->caller);

	call->frame = f;
	if (f && cap_unlikely(f->callbacks))
		callbacks(call, CAP_ENTER);
}

static inline void encode(struct wire_enc *e, unsigned i, const struct table_field *f, uint64_t v,
			  bool full)
{
	wire_value(e, i, f->kind, f->size, v, full ? STRING_CAP : 0);
}

static void record(const struct table_call *c)
{
	const struct table_op *op = c->slot->op;
	struct cap_frame *f = c->frame;
	const unsigned level = cap_args(f);
	const bool ok = !f->has_status;
	struct wire_enc e;
	uint64_t value;

	if (level == 0) {
		cap_record_bare(f);
		return;
	}
	if (!cap_record(f, &e, op->field_count))
		return;
	for (unsigned i = 0; i < op->field_count; i++)
		if (table_value(c, &op->fields[i], ok, &value))
			encode(&e, i, &op->fields[i], value, level > 1);
	cap_commit(f, &e);
}

void table_leave(struct table_call *call)
{
	const struct table_op *op = call->slot->op;
	struct cap_frame *f = call->frame;

	if (!f)
		return;
	cap_leave(f);
	if (op->status)
		cap_status(f, (int32_t)call->result[0], op->status_ok);
	if (cap_unlikely(f->callbacks))
		callbacks(call, CAP_EXIT);
	if (cap_likely(f->buffers))
		record(call);
	if (op->after)
		op->after(call);
	cap_done(f);
}

/* The words that callbacks were given, as the record has them. */
void table_encode(const struct table_op *op, const void *args, bool ok, struct wire_enc *e)
{
	const kymo_table_args_t *a = args;

	for (unsigned i = 0; i < op->field_count; i++)
		if (ok || !op->fields[i].after)
			encode(e, i, &op->fields[i], a->value[i], true);
}
