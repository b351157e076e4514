/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens before and after a traced function where it cannot take the straight path (straight.c):
 * frame, callbacks of tools, record, traffic. MPI
 * functions that are called inside others are the implementation's own affair (or its Fortran
 * binding's, or another tool's) and pass through.
 */
#include <string.h>

#include <kymo/register.h>

#include "capture/mpi/backend.h"
#include "capture/mpi/host.h"
#include "core/marker/marker.h"

#define ELEMENTS   16u /* of an array that a record holds */
#define STRING_CAP 256u

struct cap_op mpi_ops[MPI_OP_COUNT];

/* The thread's innermost live frame is one of ours. Frames that longjmp left behind are closed. */
static bool inside(struct cap_thread *t, const void *sp)
{
	const struct cap_op *op;

	if (t->magic != CAP_THREAD_MAGIC || t->depth == 0)
		return false;
	if ((const char *)t->frames[t->depth - 1].sp <= (const char *)sp)
		cap_unwind(t, sp);
	if (t->depth == 0)
		return false;
	op = t->frames[t->depth - 1].op;
	return op >= mpi_ops && op < mpi_ops + MPI_OP_COUNT;
}

/* ---- values --------------------------------------------------------------------------------- */

static uint64_t scalar(const struct mpi_call *c, const struct mpi_arg *a, unsigned i, bool ok)
{
	if (a->how == MPI_ARG_DEREF)
		return ok ? mpi_deref(c->v[i], a->size) : 0;
	if (a->how == MPI_ARG_DEREF_HANDLE && i == 0)
		return mpi_first_handle(c, ok);
	if (a->how == MPI_ARG_DEREF_HANDLE)
		return ok && c->v[i] ? mpi_handle_at(c->v[i], 0) : 0;
	if (a->how == MPI_ARG_STRING_OUT && !ok)
		return 0;
	return c->v[i];
}

static bool at_root(const struct mpi_call *c, const struct mpi_info *info)
{
	const struct mpi_comm *comm = mpi_comm_of(MPI_OBJECT_COMM, mpi_arg(c, info, MPI_ROLE_COMM));
	int64_t root = (int64_t)mpi_arg(c, info, MPI_ROLE_ROOT);

	return comm && root == (comm->remote ? mpi_module->root : comm->rank);
}

/* Elements of an array argument that may be read. */
static size_t elements(const struct mpi_call *c, const struct mpi_info *info,
		       const struct mpi_arg *a)
{
	const struct mpi_comm *comm;
	int64_t n;

	if (a->when == MPI_AT_ROOT && !at_root(c, info))
		return 0;
	if (a->when == MPI_NOT_IN_PLACE &&
	    mpi_arg(c, info, MPI_ROLE_SENDBUF) == mpi_module->in_place)
		return 0;
	if (a->count != MPI_COUNT_OF_COMM) {
		n = (int64_t)c->v[a->count];
		return n > 0 ? (size_t)n : 0;
	}
	comm = mpi_comm_of(MPI_OBJECT_COMM, mpi_arg(c, info, MPI_ROLE_COMM));
	return comm && comm->local ? (comm->remote ? comm->remote : comm->local)->count : 0;
}

void mpi_put_handles(struct wire_enc *e, unsigned i, const struct mpi_call *c, uint64_t at,
		     size_t n)
{
	uint64_t wide[ELEMENTS];

	if (n <= c->count) {
		wire_array(e, i, c->saved, n, 8, ELEMENTS);
		return;
	}
	for (uint32_t k = 0; k < n && k < ELEMENTS; k++)
		wide[k] = k < c->count ? c->saved[k] : mpi_handle_at(at, k);
	wire_array(e, i, wide, n, 8, ELEMENTS);
}

static void put_argument(struct wire_enc *e, unsigned i, const struct mpi_call *c,
			 const struct mpi_info *info, const kymo_field_t *field, unsigned level,
			 bool ok)
{
	const struct mpi_arg *a = &info->args[i];
	uint64_t v;
	size_t n;

	switch ((enum mpi_how)a->how) {
	case MPI_ARG_INTS:
	case MPI_ARG_HANDLES:
		n = level > 1 && ok && c->v[i] > 1 ? elements(c, info, a) : 0;
		if (n && a->how == MPI_ARG_INTS)
			wire_array(e, i, (const void *)(uintptr_t)c->v[i], n, a->size, ELEMENTS);
		else if (n)
			mpi_put_handles(e, i, c, c->v[i], n);
		return;
	case MPI_ARG_STRING:
	case MPI_ARG_STRING_OUT:
		if (level > 1)
			wire_string(e, i, (const char *)(uintptr_t)scalar(c, a, i, ok), STRING_CAP);
		return;
	default:
		break;
	}
	v = a->how == MPI_ARG_VALUE ? c->v[i] : scalar(c, a, i, ok);
	if (field->kind == KYMO_KIND_SIGNED)
		wire_signed(e, i, (int64_t)v, field->size);
	else if (field->kind == KYMO_KIND_FLOAT)
		wire_unsigned(e, i, v);
	else
		wire_pointer(e, i, (const void *)(uintptr_t)v);
}

struct wire_enc mpi_put_arguments(struct wire_enc e, const struct mpi_call *c,
				  const struct mpi_info *info, unsigned level, bool ok)
{
	const kymo_field_t *fields = mpi_descs[c->op].fields;

	for (unsigned i = 0; i < info->fields; i++)
		put_argument(&e, i, c, info, &fields[i], level, ok);
	return e;
}

static void record_call(const struct mpi_call *c, const struct mpi_info *info, bool ok)
{
	struct cap_frame *f = c->frame;
	unsigned level = cap_args(f);
	struct wire_enc e;

	if (level == 0) {
		cap_record_bare(f);
		return;
	}
	if (!cap_record(f, &e, info->fields))
		return;
	e = mpi_put_arguments(e, c, info, level, ok);
	cap_commit(f, &e);
}

static __attribute__((noinline, cold)) void
callbacks(const struct mpi_call *c, const struct mpi_info *info, bool ok, enum cap_phase phase)
{
	kymo_table_args_t args;

	args.size = offsetof(kymo_table_args_t, value) + info->fields * sizeof(uint64_t);
	for (unsigned i = 0; i < info->fields; i++)
		args.value[i] = scalar(c, &info->args[i], i, ok && phase == CAP_EXIT);
	cap_callbacks(c->frame, &args, phase);
}

/* ---- enter and leave ------------------------------------------------------------------------ */

/* The program's own call site where a Fortran binding lies between. */
static __attribute__((noinline)) const void *site_of(const void *caller)
{
	const void **fortran;

	for (uint32_t i = 0; i < mpi_bindings.count; i++) {
		if ((uintptr_t)caller - mpi_bindings.low[i] >=
		    mpi_bindings.high[i] - mpi_bindings.low[i])
			continue;
		fortran = mpi_bindings.caller();
		caller = *fortran ? *fortran : caller;
		*fortran = NULL;
		break;
	}
	return caller;
}

/*
 * A call that is seen for the clocks' sake alone: nobody wants it, nor its messages. It needs no
 * frame and no times; leave_call() finds none.
 */
static bool quiet(uint32_t op, const struct mpi_info *info)
{
	return mpi_collective(info) &&
	       !atomic_load_explicit(&mpi_ops[op].buffers, memory_order_relaxed) &&
	       !atomic_load_explicit(&mpi_ops[op].callbacks, memory_order_relaxed) &&
	       !atomic_load_explicit(&mpi_moves[op], memory_order_relaxed);
}

bool mpi_enter_any(struct mpi_call *c, uint32_t op, const void *caller, const void *sp)
{
	const struct mpi_info *info = &mpi_infos[op];
	struct cap_thread *t = cap_thread_current;
	struct cap_frame *f;

	if (cap_unlikely(t && t->depth) && inside(t, sp))
		return false;
	if (cap_unlikely(quiet(op, info))) {
		c->frame = NULL;
		return !t || !t->guard;
	}
	if (info->group == MPI_CLASS_INIT)
		mpi_job_before_init();
	else if (info->group == MPI_CLASS_CONTROL && (int)c->v[0] == 1)
		marker_control(KYMO_RESUME_ALL);
	if (cap_unlikely(mpi_bindings.count))
		caller = site_of(caller);
	f = cap_enter_at(&mpi_ops[op], caller, sp);
	if (info->group == MPI_CLASS_FINALIZE)
		mpi_job_before_finalize(f);
	if (!f)
		return false;
	c->frame = f;
	if (info->group != MPI_CLASS_NONE)
		mpi_traffic_before(c, info);
	if (cap_unlikely(f->callbacks != NULL))
		callbacks(c, info, false, CAP_ENTER);
	return true;
}

void mpi_leave_rest(struct mpi_call *c, const struct mpi_info *info, int result, bool ok)
{
	struct cap_frame *f = c->frame;

	if (cap_unlikely(!ok))
		cap_status(f, mpi_host_alive() ? mpi_module->error_class(result) : result, 0);
	if (cap_unlikely(f->callbacks != NULL))
		callbacks(c, info, ok, CAP_EXIT);
	if (cap_likely(f->buffers != 0))
		record_call(c, info, ok);
	if (info->group != MPI_CLASS_NONE)
		mpi_traffic_after(c, info, ok);
	cap_done(f);
	if (ok && mpi_collective(info))
		mpi_job_after_collective(c, info);
}

void mpi_leave_any(struct mpi_call *c, const struct mpi_info *info, int result)
{
	bool ok = !info->status || result == 0;

	if (!c->frame) {
		if (ok)
			mpi_job_after_collective(c, info);
		return;
	}
	cap_leave(c->frame);
	mpi_leave_rest(c, info, result, ok);
}
