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
#include "core/marker/marker.h"
#include "wire/value.h"

#define STRING_CAP 256u

/*
 * The driver's callback may run higher on the stack than the runtime's, whose frame then looks as
 * if it had been left by longjmp. Within this distance it is still there: both are in one call.
 */
#define STACK_SLACK 65536

/* In the word of a call that has no frame: cuda_call_open() was called. */
#define OPEN   1
#define PASSED 2 /* by the runtime, and nobody records it, nor what it submits */

/* The number of the latter, while this thread is in one; in the upper half how often CUPTI was left before. */
static _Thread_local uint64_t passed __attribute__((tls_model("initial-exec")));
static _Atomic uint32_t age;

/* What is looked at of a function when it is called, in one place. */
struct function {
	struct cap_op *cap; /* NULL: not in the model */
	const struct cuda_place *places;
	uint16_t op;
	uint16_t flags; /* KYMO_OP_* */
	uint8_t fields;
	uint8_t role; /* enum cuda_role_kind */
	bool status;
};

static struct functions {
	struct function *list; /* by CUPTI's number */
	uint32_t count;
} functions[CUDA_APIS];

static void function_init(struct function *x, const struct cuda_model *m, uint32_t op)
{
	const kymo_op_desc_t *desc = &m->desc->ops[op];

	*x = (struct function){.cap = &m->caps[op],
			       .places = cuda_places(m, op),
			       .op = (uint16_t)op,
			       .flags = desc->flags,
			       .fields = (uint8_t)desc->field_count,
			       .role = m->roles[op].role,
			       .status = desc->status_set != NULL};
}

void cuda_calls_init(void)
{
	for (int api = 0; api < CUDA_APIS; api++) {
		const struct cuda_model *m = &cuda_models[api];
		struct function *list = calloc(m->last_cbid + 1, sizeof(*list));

		for (uint32_t op = 0; list && op < m->desc->op_count; op++)
			function_init(&list[m->cbids[op]], m, op);
		functions[api] = (struct functions){list, list ? m->last_cbid + 1 : 0};
	}
}

static inline const struct function *function_of(enum cuda_api api, uint32_t cbid)
{
	const struct functions *all = &functions[api];

	if (cap_unlikely(cbid >= all->count || !all->list[cbid].cap))
		return NULL;
	return &all->list[cbid];
}

bool cuda_op_of(enum cuda_api api, uint32_t cbid, uint32_t *op)
{
	const struct function *x = function_of(api, cbid);

	*op = x ? x->op : 0;
	return x != NULL;
}

bool cuda_is_call(const struct cap_op *op)
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
	const char *at = params + p->in.at;

	*value = 0;
	if (p->how == CUDA_AFTER && !after)
		return false;
	if (p->how != CUDA_PLAIN) {
		void *target;

		memcpy(&target, at, sizeof(target));
		if (!target)
			return false;
		at = (const char *)target + p->in.behind;
	}
	*value = wire_load(at, p->in.size, p->kind == KYMO_KIND_SIGNED);
	return true;
}

/*
 * A value that lies in the structure of arguments itself is read as eight bytes: that is on the caller's
 * stack, so that what follows a narrow one may be read with it, which is quicker than to look how wide it is.
 */
bool cuda_argument(const void *params, const struct cuda_place *p, uint64_t *value)
{
	if (cap_unlikely(p->how != CUDA_PLAIN))
		return value_of(params, p, false, value);
	*value = wire_word(params, &p->in);
	return true;
}

/* Of one call. */
struct given {
	const void *params;
	const struct cuda_place *places;
	bool ok, full;
};

static __attribute__((noinline)) struct wire_stop
other_field(uint8_t *p, uint8_t *limit, uint64_t base, unsigned i, const void *data)
{
	const struct given *g = data;
	const struct cuda_place *x = &g->places[i];
	uint64_t value;

	if (!value_of(g->params, x, g->ok, &value))
		return (struct wire_stop){p, 0};
	return wire_put_found(p, limit, base, &x->in, x->kind, value, g->full ? STRING_CAP : 0);
}

/* `t`: as cap_leave_straight() returned it, of a call that took the straight path. */
static inline __attribute__((always_inline)) void record(struct cap_thread *t, struct cap_frame *f,
							 const struct function *x,
							 const void *params, const bool straight)
{
	const unsigned level = straight ? cap_args_straight(f) : cap_args(f);
	const struct given g = {params, x->places, !f->has_status, level > 1};
	struct wire_enc e;

	if (cap_unlikely(level == 0)) {
		cap_record_bare(f);
		return;
	}
	if (!(straight ? cap_record_straight(t, f, &e, x->fields)
		       : cap_record_slow(f, &e, x->fields)))
		return;
	wire_put_places(&e, params ? x->fields : 0, params, &x->places->in, sizeof(*x->places),
			other_field, &g);
	if (straight)
		cap_commit_straight(t, &e);
	else
		cap_commit(f, &e);
}

static __attribute__((noinline, cold)) void tools(struct cap_frame *f, const struct function *x,
						  const void *params, enum cap_phase phase)
{
	const bool ok = phase == CAP_EXIT && !f->has_status;
	kymo_table_args_t args;

	args.size = offsetof(kymo_table_args_t, value) + x->fields * sizeof(uint64_t);
	for (unsigned i = 0; i < x->fields; i++) {
		args.value[i] = 0;
		if (params)
			value_of(params, &x->places[i], ok, &args.value[i]);
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
	    cuda_is_call(outer->op))
		outer->sp = sp + 1;
}

bool cuda_call_passed(uint32_t correlation)
{
	return correlation && passed == ((uint64_t)atomic_load(&age) << 32 | correlation);
}

void cuda_calls_forget(void)
{
	atomic_fetch_add(&age, 1);
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

	for (; f > t->frames && cuda_is_call(f[-1].op); f--)
		if (recorded(&f[-1]))
			first = &f[-1];
	return first;
}

/* After a call that has a role. */
static __attribute__((noinline)) void effects(const struct cuda_role *r, const struct cap_frame *f,
					      const struct cupti_callback *data)
{
	const struct cap_frame *first = outermost(f);

	const bool inside = f > cap_thread_current->frames && cuda_is_call(f[-1].op);

	if (r->role == CUDA_ROLE_FUNCTION) {
		if (!inside) /* the runtime gets handles too, inside its own calls */
			cuda_driver_suspected();
		return;
	}
	if (r->role == CUDA_ROLE_START || r->role == CUDA_ROLE_STOP) {
		if (!inside) /* once, where the runtime's calls the driver's */
			marker_control(r->role == CUDA_ROLE_STOP ? KYMO_PAUSE_ALL
								 : KYMO_RESUME_ALL);
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
static bool inner_launch(uint32_t op, const struct cupti_callback *data)
{
	const struct cap_thread *t = cap_thread_current;
	const struct cuda_model *runtime = &cuda_models[CUDA_RUNTIME];
	const struct cap_frame *outer;

	if (t && t->magic == CAP_THREAD_MAGIC && t->depth) {
		outer = &t->frames[t->depth - 1];
		if (outer->op >= runtime->caps &&
		    outer->op < runtime->caps + runtime->desc->op_count &&
		    (recorded(outer) || atomic_load(&outer->op->keep)))
			return true;
	}
	/* The call around it began in a pause, which is over. */
	if (!cuda_call_passed(data->correlation))
		cuda_driver_used(op);
	return false;
}

static bool heard(const struct cap_op *op)
{
	return atomic_load_explicit(&op->buffers, memory_order_relaxed) ||
	       atomic_load_explicit(&op->callbacks, memory_order_relaxed);
}

/* Nobody records a call of the op, nor what it submits: who wants that is paused. */
static bool unheard(const struct cap_op *op)
{
	return !heard(op) && !heard(&core_dispatch_ops[DISPATCH_OP_LAUNCH]) &&
	       !heard(&core_copy_ops[COPY_OP_READ]) && !heard(&core_copy_ops[COPY_OP_WRITE]) &&
	       !heard(&core_copy_ops[COPY_OP_COPY]) && !heard(&core_copy_ops[COPY_OP_FILL]);
}

static __attribute__((noinline)) void open_frameless(enum cuda_api api, const struct function *x,
						     const struct cupti_callback *data)
{
	*data->data = OPEN;
	cuda_call_open(api, x->op);
}

static __attribute__((noinline)) void close_frameless(enum cuda_api api, const struct function *x,
						      const struct cupti_callback *data)
{
	const uint64_t word = *data->data;

	if (word != OPEN && word != PASSED) /* nobody listened as it began */
		return;
	if (word == PASSED)
		passed = 0;
	*data->data = 0;
	cuda_call_close(api, x->op);
}

/* Such a call, as cheaply as can be. What of the driver the program uses itself shows in pauses, too. */
static __attribute__((noinline)) void pass(enum cuda_api api, const struct function *x,
					   const struct cupti_callback *data)
{
	open_frameless(api, x, data);
	if (api == CUDA_DRIVER && x->role == CUDA_ROLE_LAUNCH &&
	    !atomic_load_explicit(&cuda_inner_launches, memory_order_relaxed)) {
		if (cuda_call_passed(data->correlation)) {
			cuda_driver_inner_launch();
			return;
		}
		cuda_driver_used(x->op);
	}
	cuda_submission_none(data->correlation);
	if (api == CUDA_RUNTIME) {
		passed = (uint64_t)atomic_load(&age) << 32 | data->correlation;
		*data->data = PASSED;
	}
}

static __attribute__((noinline)) void enter(enum cuda_api api, const struct function *x,
					    const struct cupti_callback *data, const void *sp)
{
	const bool submits = x->flags & KYMO_OP_SUBMITS;
	struct cap_frame *f;

	if (cap_unlikely(submits && unheard(x->cap))) {
		pass(api, x, data);
		return;
	}
	if (x->role == CUDA_ROLE_LAUNCH && api == CUDA_DRIVER &&
	    !atomic_load_explicit(&cuda_inner_launches, memory_order_relaxed) &&
	    inner_launch(x->op, data)) {
		open_frameless(api, x, data);
		cuda_driver_inner_launch();
		return;
	}
	if (submits)
		cuda_submission_expect(data->correlation);
	keep_outer(sp);
	f = cap_enter_at(x->cap, NULL, sp);
	if (!f) {
		open_frameless(api, x, data);
		return;
	}
	*data->data = (uintptr_t)f;
	if (!(f->plan & CAP_PLAN_STRAIGHT))
		cuda_call_listen(api, x->op);
	if (cap_unlikely(f->callbacks))
		tools(f, x, data->params, CAP_ENTER);
	if (submits) /* tools have said their external ids */
		submit(&cuda_models[api], x->op, f, data);
}

/* The frame that the entry left, if it is one that is open on this thread. */
static inline struct cap_frame *frame_of(const struct cap_op *op, uint64_t word)
{
	struct cap_thread *t = cap_thread_current;
	struct cap_frame *f = (struct cap_frame *)(uintptr_t)word;
	uintptr_t at;

	if (cap_unlikely(!t || t->magic != CAP_THREAD_MAGIC))
		return NULL;
	at = (uintptr_t)word - (uintptr_t)t->frames;
	if (at % sizeof(struct cap_frame) ||
	    at / sizeof(struct cap_frame) >= atomic_load_explicit(&t->depth, memory_order_relaxed))
		return NULL;
	return f->op == op ? f : NULL;
}

/* The same for both paths: `straight` is a constant. */
static inline __attribute__((always_inline)) void end(enum cuda_api api, const struct function *x,
						      struct cap_frame *f,
						      const struct cupti_callback *data,
						      const bool straight)
{
	struct cap_thread *t = NULL;

	if (straight)
		t = cap_leave_straight(f);
	else
		cap_leave(f);
	if (x->status && data->result) {
		int32_t status;

		memcpy(&status, data->result, sizeof(status));
		cap_status(f, status, 0);
		if (cap_unlikely(status != 0 && (x->flags & KYMO_OP_SUBMITS)))
			cuda_submission_failed(data->correlation);
	}
	if ((x->flags & KYMO_OP_SUBMITS) && !f->has_status)
		cuda_flight_put(api, x->op, f, data);
	if (!straight && cap_unlikely(f->callbacks))
		tools(f, x, data->params, CAP_EXIT);
	if (straight ? t != NULL : f->buffers != 0)
		record(t, f, x, data->params, straight);
	if (cap_unlikely(x->role != CUDA_ROLE_NONE && x->role != CUDA_ROLE_LAUNCH))
		effects(&cuda_models[api].roles[x->op], f, data);
	if (straight && cap_likely(t != NULL))
		cap_done_straight(t, f);
	else
		cap_done(f);
}

static __attribute__((noinline)) void leave_any(enum cuda_api api, const struct function *x,
						struct cap_frame *f,
						const struct cupti_callback *data)
{
	end(api, x, f, data, false);
}

static __attribute__((noinline)) void leave(enum cuda_api api, const struct function *x,
					    const struct cupti_callback *data)
{
	struct cap_frame *f = frame_of(x->cap, *data->data);

	if (cap_unlikely(!f)) {
		close_frameless(api, x, data);
		return;
	}
	if (cap_likely(f->plan & CAP_PLAN_STRAIGHT))
		end(api, x, f, data, true);
	else
		leave_any(api, x, f, data);
}

void cuda_call(enum cuda_api api, uint32_t cbid, const struct cupti_callback *data, const void *sp)
{
	const struct function *x = function_of(api, cbid);

	if (cap_unlikely(!x))
		return;
	if (data->site == CUPTI_ENTER)
		enter(api, x, data, sp);
	else
		leave(api, x, data);
}
