/* SPDX-License-Identifier: Apache-2.0 */
/* What happens before and after a call of libfabric. */
#include <kymo/register.h>
#include <kymo/tool.h>

#include "capture/libfabric/libfabric.h"
#include "wire/value.h"

static __attribute__((noinline, cold)) void
callbacks(const struct fabric_call *c, const kymo_op_desc_t *op, enum cap_phase phase)
{
	kymo_table_args_t args = {.size = offsetof(kymo_table_args_t, value) +
					  op->field_count * sizeof(uint64_t)};

	for (unsigned i = 0; i < op->field_count; i++)
		args.value[i] = c->values[i];
	cap_callbacks(c->frame, &args, phase);
}

/* Calls of libfabric that the thread is in. */
static _Thread_local unsigned depth __attribute__((tls_model("initial-exec")));

void fabric_enter(struct fabric_call *c, const void *caller, const void *sp)
{
	struct cap_op *cap;
	const kymo_op_desc_t *op = fabric_op(c->op, &cap);

	c->nested = depth++ > 0;
	if (c->nested)
		return;
	c->frame = cap_enter_at(cap, caller, sp);
	if (c->frame && cap_unlikely(c->frame->callbacks))
		callbacks(c, op, CAP_ENTER);
}

void fabric_leave(struct fabric_call *c, int64_t status)
{
	struct cap_frame *f = c->frame;
	struct cap_op *cap;
	const kymo_op_desc_t *op = fabric_op(c->op, &cap);
	struct wire_enc e;

	if (!f)
		return;
	cap_leave(f);
	cap_status(f, status < 0 ? (int32_t)status : 0, 0);
	if (cap_unlikely(f->callbacks))
		callbacks(c, op, CAP_EXIT);
	if (f->buffers && cap_args(f) == 0) {
		cap_record_bare(f);
	} else if (f->buffers && cap_record(f, &e, op->field_count)) {
		for (unsigned i = 0; i < op->field_count; i++)
			wire_value(&e, i, op->fields[i].kind, op->fields[i].size, c->values[i], 0);
		cap_commit(f, &e);
	}
}

void fabric_done(struct fabric_call *c)
{
	depth--;
	if (c->frame)
		cap_done(c->frame);
}
