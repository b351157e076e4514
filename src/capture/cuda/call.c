/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of the driver and the runtime, as CUPTI reports their entry and exit. Unlike a wrapper of
 * ours the two are separate calls of a function: the frame goes from one to the other in the word
 * that CUPTI keeps for each call.
 */
#include <stdlib.h>
#include <string.h>

#include <kymo/register.h>

#include "capture/cuda/backend.h"
#include "wire/value.h"

#define STRING_CAP 256u

/*
 * The driver's callback may run higher on the stack than the runtime's, whose frame then looks as
 * if it had been left by longjmp. Within this distance it is still there: both are in one call.
 */
#define STACK_SLACK 65536

#define TRIAL 256u /* launches after which it shows what of the driver the program uses itself */

static uint16_t *ops_of[CUDA_APIS]; /* by CUPTI's number, plus one; 0: none */

void cuda_calls_init(void)
{
	for (int api = 0; api < CUDA_APIS; api++) {
		const struct cuda_model *m = &cuda_models[api];

		ops_of[api] = calloc(m->last_cbid + 1, sizeof(uint16_t));
		for (uint32_t op = 0; ops_of[api] && op < m->desc->op_count; op++)
			ops_of[api][m->cbids[op]] = (uint16_t)(op + 1);
	}
}

bool cuda_op_of(enum cuda_api api, uint32_t cbid, uint32_t *op)
{
	if (!ops_of[api] || cbid > cuda_models[api].last_cbid || !ops_of[api][cbid])
		return false;
	*op = ops_of[api][cbid] - 1u;
	return true;
}

static bool is_ours(const struct cap_op *op)
{
	for (int api = 0; api < CUDA_APIS; api++)
		if (op >= cuda_models[api].caps &&
		    op < cuda_models[api].caps + cuda_models[api].desc->op_count)
			return true;
	return false;
}

/* ---- arguments ---- */

/* False: there is none. `after`: the call is over and succeeded. */
static bool value_of(const char *params, const struct cuda_place *p, bool after, uint64_t *value)
{
	const char *at = params + p->offset;

	*value = 0;
	if (p->how == CUDA_AFTER && !after)
		return false;
	if (p->how != CUDA_PLAIN) {
		void *target;

		memcpy(&target, at, sizeof(target));
		if (!target)
			return false;
		at = (const char *)target + p->inner;
	}
	*value = wire_load(at, p->size, p->kind == KYMO_KIND_SIGNED);
	return true;
}

/*
 * A value that lies in the structure of arguments itself. That is on the caller's stack, so that what
 * follows a narrow one may be read with it, which is quicker than to look how wide it is.
 */
static inline uint64_t plain_value(const char *at, const struct cuda_place *p)
{
	const unsigned above = 64u - 8u * p->size;
	uint64_t v;

	memcpy(&v, at, sizeof(v));
	return v << above >> above;
}

bool cuda_argument(const void *params, const struct cuda_place *p, uint64_t *value)
{
	if (cap_unlikely(p->how != CUDA_PLAIN))
		return value_of(params, p, false, value);
	*value = plain_value((const char *)params + p->offset, p);
	return true;
}

static inline bool is_address(const struct cuda_place *p)
{
	return p->kind == KYMO_KIND_POINTER || p->kind == KYMO_KIND_HANDLE;
}

static void field(struct wire_enc *e, unsigned i, const struct cuda_place *p, const char *params,
		  bool ok, bool full)
{
	uint64_t value;

	if (cap_likely(p->how == CUDA_PLAIN && p->kind != KYMO_KIND_STRING)) {
		value = plain_value(params + p->offset, p);
		if (is_address(p))
			wire_pointer(e, i, (const void *)(uintptr_t)value);
		else
			wire_unsigned(e, i,
				      value); /* signed ones are stored as their low bytes, too */
	} else if (value_of(params, p, ok, &value)) {
		wire_value(e, i, p->kind, p->size, value, full ? STRING_CAP : 0);
	}
}

static void record(struct cap_frame *f, const kymo_op_desc_t *desc, const struct cuda_place *places,
		   const void *params)
{
	const unsigned level = cap_args(f);
	const bool ok = !f->has_status;
	struct wire_enc e;

	if (level == 0) {
		cap_record_bare(f);
		return;
	}
	if (!cap_record(f, &e, desc->field_count))
		return;
	for (unsigned i = 0; params && i < desc->field_count; i++)
		field(&e, i, &places[i], params, ok, level > 1);
	cap_commit(f, &e);
}

static __attribute__((noinline, cold)) void tools(struct cap_frame *f, const kymo_op_desc_t *desc,
						  const struct cuda_place *places,
						  const void *params, enum cap_phase phase)
{
	const bool ok = phase == CAP_EXIT && !f->has_status;
	kymo_table_args_t args;

	args.size = offsetof(kymo_table_args_t, value) + desc->field_count * sizeof(uint64_t);
	for (unsigned i = 0; i < desc->field_count; i++) {
		args.value[i] = 0;
		if (params)
			value_of(params, &places[i], ok, &args.value[i]);
	}
	cap_callbacks(f, &args, phase);
}

/* ---- entry and exit ---- */

/* See STACK_SLACK. */
static inline void keep_outer(const char *sp)
{
	struct cap_thread *t = cap_thread_current;
	struct cap_frame *outer;

	if (!t || t->magic != CAP_THREAD_MAGIC || t->depth == 0)
		return;
	outer = &t->frames[t->depth - 1];
	if ((const char *)outer->sp <= sp && sp - (const char *)outer->sp < STACK_SLACK &&
	    is_ours(outer->op))
		outer->sp = sp + 1;
}

static bool recorded(const struct cap_frame *f)
{
	return f->buffers || f->callbacks;
}

/* The call that users know of: the outermost of ours around this one that is recorded, or 0. */
static const struct cap_frame *outermost(const struct cap_frame *f)
{
	const struct cap_thread *t = cap_thread_current;
	const struct cap_frame *first = recorded(f) ? f : NULL;

	for (; f > t->frames && is_ours(f[-1].op); f--)
		if (recorded(&f[-1]))
			first = &f[-1];
	return first;
}

/* After a call that has a role. */
static __attribute__((noinline)) void effects(const struct cuda_role *r, const struct cap_frame *f,
					      const struct cupti_callback *data)
{
	const struct cap_frame *first = outermost(f);

	if (r->role == CUDA_ROLE_FUNCTION) {
		/* The runtime gets handles too, inside its own calls. */
		if (f == cap_thread_current->frames || !is_ours(f[-1].op))
			cuda_driver_suspected();
		return;
	}
	cuda_effect(r, f, first ? first->id : 0, data);
}

/* What the filters of tools are told of work that is about to be submitted. */
static __attribute__((noinline, cold)) void subject_of(const struct cuda_model *m, uint32_t op,
						       const struct cupti_callback *data,
						       struct cap_subject *s)
{
	const kymo_op_desc_t *desc = &m->desc->ops[op];
	uint64_t value;

	if (data->symbol)
		s->kernel = cuda_kernel(data->symbol);
	if (data->context_id)
		s->agent = cuda_agent(cuda_device_of(data->context_id));
	for (unsigned i = 0; data->params && i < desc->field_count; i++) {
		const kymo_field_t *f = &desc->fields[i];

		if (strcmp(f->type, "CUstream") != 0 && strcmp(f->type, "cudaStream_t") != 0)
			continue;
		if (value_of(data->params, &cuda_places(m, op)[i], false, &value))
			s->queue = cuda_queue_of(data->context, data->context_id,
						 (void *)(uintptr_t)value);
	}
}

static bool anyone_asks(void)
{
	return atomic_load_explicit(&core_dispatch_ops[DISPATCH_OP_LAUNCH].callbacks,
				    memory_order_relaxed) ||
	       atomic_load_explicit(&core_copy_ops[COPY_OP_READ].callbacks, memory_order_relaxed) ||
	       atomic_load_explicit(&core_copy_ops[COPY_OP_WRITE].callbacks,
				    memory_order_relaxed) ||
	       atomic_load_explicit(&core_copy_ops[COPY_OP_COPY].callbacks, memory_order_relaxed) ||
	       atomic_load_explicit(&core_copy_ops[COPY_OP_FILL].callbacks, memory_order_relaxed);
}

/* Work is about to be submitted: what its records are to know of this moment. */
static void submit(const struct cuda_model *m, uint32_t op, const struct cap_frame *f,
		   const struct cupti_callback *data)
{
	const struct cap_frame *first = outermost(f);
	struct cap_subject subject = {0};

	if (cap_unlikely(anyone_asks()))
		subject_of(m, op, data, &subject);
	cuda_submission_put(data->correlation, first ? first : f,
			    m->roles[op].role == CUDA_ROLE_LAUNCH, &subject);
}

/*
 * A launch by the driver inside one by the runtime, which is recorded: it tells nothing new. After a
 * while only those functions are listened to that the program uses itself.
 */
static bool inner_launch(uint32_t op)
{
	static _Atomic uint32_t inner;
	const struct cap_thread *t = cap_thread_current;
	const struct cuda_model *runtime = &cuda_models[CUDA_RUNTIME];
	const struct cap_frame *outer;

	if (t && t->magic == CAP_THREAD_MAGIC && t->depth) {
		outer = &t->frames[t->depth - 1];
		if (outer->op >= runtime->caps &&
		    outer->op < runtime->caps + runtime->desc->op_count && recorded(outer)) {
			if (atomic_fetch_add_explicit(&inner, 1, memory_order_relaxed) == TRIAL)
				cuda_driver_trial_over();
			return true;
		}
	}
	cuda_driver_used(op);
	return false;
}

static void enter(const struct cuda_model *m, uint32_t op, const struct cupti_callback *data,
		  const void *sp)
{
	const kymo_op_desc_t *desc = &m->desc->ops[op];
	struct cap_frame *f;

	if (m->roles[op].role == CUDA_ROLE_LAUNCH && m == &cuda_models[CUDA_DRIVER] &&
	    !atomic_load_explicit(&cuda_inner_launches, memory_order_relaxed) && inner_launch(op)) {
		*data->data = 0;
		return;
	}
	if (desc->flags & KYMO_OP_SUBMITS)
		cuda_submission_expect(data->correlation);
	keep_outer(sp);
	f = cap_enter_at(&m->caps[op], NULL, sp);
	*data->data = (uintptr_t)f;
	if (!f)
		return;
	if (cap_unlikely(f->callbacks))
		tools(f, desc, cuda_places(m, op), data->params, CAP_ENTER);
	if (desc->flags & KYMO_OP_SUBMITS) /* tools have said their external ids */
		submit(m, op, f, data);
}

/* The frame that the entry left, if it is one that is open on this thread. */
static struct cap_frame *frame_of(const struct cap_op *op, uint64_t word)
{
	struct cap_thread *t = cap_thread_current;
	uintptr_t at = (uintptr_t)word;

	if (!t || t->magic != CAP_THREAD_MAGIC || at < (uintptr_t)t->frames ||
	    at >= (uintptr_t)&t->frames[t->depth] ||
	    (at - (uintptr_t)t->frames) % sizeof(struct cap_frame))
		return NULL;
	return ((struct cap_frame *)at)->op == op ? (struct cap_frame *)at : NULL;
}

static void leave(const struct cuda_model *m, uint32_t op, const struct cupti_callback *data)
{
	const kymo_op_desc_t *desc = &m->desc->ops[op];
	struct cap_frame *f = frame_of(&m->caps[op], *data->data);

	if (!f)
		return;
	cap_leave(f);
	if (desc->status_set && data->result) {
		int32_t status;

		memcpy(&status, data->result, sizeof(status));
		cap_status(f, status, 0);
		if (cap_unlikely(status != 0 && (desc->flags & KYMO_OP_SUBMITS)))
			cuda_submission_failed(data->correlation);
	}
	if ((desc->flags & KYMO_OP_SUBMITS) && !f->has_status)
		cuda_flight_put(m == &cuda_models[CUDA_DRIVER] ? CUDA_DRIVER : CUDA_RUNTIME, op, f,
				data);
	if (cap_unlikely(f->callbacks))
		tools(f, desc, cuda_places(m, op), data->params, CAP_EXIT);
	if (cap_likely(f->buffers))
		record(f, desc, cuda_places(m, op), data->params);
	if (cap_unlikely(m->roles[op].role != CUDA_ROLE_NONE &&
			 m->roles[op].role != CUDA_ROLE_LAUNCH))
		effects(&m->roles[op], f, data);
	cap_done(f);
}

void cuda_call(enum cuda_api api, uint32_t cbid, const struct cupti_callback *data, const void *sp)
{
	uint32_t op;

	if (!cuda_op_of(api, cbid, &op))
		return;
	if (data->site == CUPTI_ENTER)
		enter(&cuda_models[api], op, data, sp);
	else
		leave(&cuda_models[api], op, data);
}
