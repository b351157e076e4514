/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The straight path of core/capture.h through a traced function. Nearly all calls take it: one buffer wants
 * them, nobody is called back, they return no error. The arguments of functions that programs call often have
 * an encoder for each shape that they come in (gen_mpi.py); call.c has what can do all.
 */
#include "capture/mpi/backend.h"
#include "capture/mpi/host.h"

/* As many as argument number `count` says. */
static inline __attribute__((always_inline)) void
put_handles_of(struct wire_enc *e, unsigned i, const struct mpi_call *c, unsigned count)
{
	struct wire_enc some = *e; /* e itself stays in registers */

	if (c->v[i] <= 1 || (int64_t)c->v[count] <= 0)
		return;
	mpi_put_handles(&some, i, c, c->v[i], (size_t)c->v[count]);
	*e = some;
}

#include "mpi_shapes.h"

/* How many fields there are is a constant for the encoder, as far as it is interested. */
static inline __attribute__((always_inline)) bool begin(struct cap_thread *t, struct cap_frame *f,
							struct wire_enc *e, unsigned fields)
{
	if (cap_likely(fields <= 8))
		return cap_record_straight(t, f, e, 8);
	return cap_record_straight(t, f, e, 24);
}

static bool enter_call(struct mpi_call *c, uint32_t op, uint64_t *v, const void *caller,
		       const void *sp)
{
	const struct mpi_info *info = &mpi_infos[op];
	struct cap_thread *t = cap_thread_current;
	struct cap_frame *f = NULL;

	c->v = v;
	c->op = op;
	c->count = 0;
	c->handle = 0;
	c->saved = c->few;
	if (cap_likely(t && !t->depth && !mpi_bindings.count && !info->steers))
		f = cap_enter_straight(&mpi_ops[op], caller, sp);
	if (cap_unlikely(!f))
		return mpi_enter_any(c, op, caller, sp);
	c->frame = f;
	if (info->group != MPI_CLASS_NONE)
		mpi_traffic_before(c, info);
	return true;
}

/* All that is inline is inlined, however often: the encoder stays in registers. */
static __attribute__((flatten)) void leave_call(struct mpi_call *c, int result)
{
	const struct mpi_info *info = &mpi_infos[c->op];
	struct cap_frame *f = c->frame;
	struct cap_thread *t;
	struct wire_enc e;

	if (cap_unlikely(!f || !(f->plan & CAP_PLAN_STRAIGHT) || (result && info->status))) {
		mpi_leave_any(c, info, result);
		return;
	}
	t = cap_leave_straight(f);
	if (cap_unlikely(!t)) {
		mpi_leave_rest(c, info, result, true);
		return;
	}
	if (cap_args_straight(f) == 0) {
		cap_record_bare(f);
	} else if (cap_likely(begin(t, f, &e, info->fields))) {
		if (cap_unlikely(!put_shape(&e, c, cap_args_straight(f) > 1)))
			e = mpi_put_arguments(e, c, info, cap_args_straight(f), true);
		cap_commit_straight(t, &e);
	}
	if (info->group != MPI_CLASS_NONE)
		mpi_traffic_after(c, info, true);
	cap_done_straight(t, f);
	if (mpi_collective(info))
		mpi_job_after_collective(c, info);
}

const struct mpi_host mpi_host_functions = {enter_call, leave_call};
