/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches that are counted. The device is idle before, and the launch waits for the kernel; where it is
 * repeated, all but the last run without the program's wait list and event, so that what the program
 * sees is the last one alone. Nothing waits for what only the program can bring about.
 */
#include "capture/opencl/count.h"
#include "capture/opencl/arguments.h"
#include "capture/opencl/instrument.h"
#include "capture/opencl/program.h"
#include "capture/opencl/queue.h"
#include "capture/opencl/replay.h"

#include "opencl_ops.h"

#define QUEUES_MAX 128u /* alone() and docs/counters.md name it */

_Thread_local unsigned ocl_in_callback __attribute__((tls_model("initial-exec")));
static _Atomic int user_events; /* that wait for the program to set them */
static _Atomic bool semaphores; /* queues have waited for some */

/* ---- what is followed ---- */

void ocl_count_begin(void)
{
	static const uint16_t ops[] = {
		OCL_OP_clSetKernelArg,
		OCL_OP_clSetKernelArgSVMPointer,
		OCL_OP_clSetKernelArgSVMPointerARM,
		OCL_OP_clSetKernelArgMemPointerINTEL,
		OCL_OP_clSetKernelExecInfo,
		OCL_OP_clSetKernelExecInfoARM,
		OCL_OP_clSetEventCallback,
	};

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		ocl_mask(ops[i]);
}

void ocl_user_event(int change)
{
	atomic_fetch_add(&user_events, change);
}

void ocl_semaphores_wait(void)
{
	atomic_store(&semaphores, true);
}

void ocl_count_fork_child(void)
{
	atomic_store(&user_events, 0);
	atomic_store(&semaphores, false);
}

/* ---- until nothing else runs ---- */

struct queues {
	cl_command_queue at[QUEUES_MAX];
	uint32_t count;
	bool more; /* there are others */
};

/* Under the table's lock: the handle is alive, and is kept alive. */
static void take_queue(struct ocl_object *o, void *data)
{
	struct queues *all = data;
	cl_command_queue queue = (cl_command_queue)o->handle;

	if (((struct ocl_queue *)o)->on_device_default)
		return;
	all->more |= all->count == QUEUES_MAX;
	if (!all->more && ocl_next.clRetainCommandQueue(queue) == CL_SUCCESS)
		all->at[all->count++] = queue;
}

/* False: there are more queues than are waited for. */
static bool finish_all(void)
{
	struct queues all = {.count = 0};

	ocl_each(OCL_QUEUE, take_queue, &all);
	for (uint32_t i = 0; i < all.count; i++) {
		if (!all.more)
			ocl_next.clFinish(all.at[i]);
		ocl_next.clReleaseCommandQueue(all.at[i]);
	}
	return !all.more;
}

static cl_int status_of(cl_event event)
{
	cl_int status = CL_QUEUED;

	if (ocl_next.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status),
				    &status, NULL) != CL_SUCCESS)
		return CL_QUEUED;
	return status;
}

/* Why the device cannot be had alone; NULL: it is idle, and the kernel may begin. */
static const char *alone(const struct ocl_launch *l)
{
	uint64_t before;
	bool finished;

	if (atomic_load(&user_events) > 0)
		return "the program had user events that it had not completed: what waits for them "
		       "cannot be waited for";
	if (atomic_load(&semaphores))
		return "the program's queues had waited for semaphores: what waits for them cannot "
		       "be waited for";
	for (cl_uint i = 0; l->wait_list && i < l->waits; i++) {
		cl_command_type type = 0;

		ocl_next.clGetEventInfo(l->wait_list[i], CL_EVENT_COMMAND_TYPE, sizeof(type), &type,
					NULL);
		if (type == CL_COMMAND_USER && status_of(l->wait_list[i]) > CL_COMPLETE)
			return "they wait for an event that only the program completes";
	}
	before = tick_now(); /* what the program had enqueued is its own */
	finished = finish_all();
	cap_timed_own(tick_now() - before);
	if (!finished)
		return "the program had more than 128 queues, which are not all waited for";
	for (cl_uint i = 0; l->wait_list && i < l->waits; i++)
		if (status_of(l->wait_list[i]) != CL_COMPLETE)
			return "they wait for events that failed, or that are no command's of a "
			       "queue";
	return NULL;
}

/* ---- running ---- */

/* As the program launches it, or without its wait list. */
static cl_int enqueue(const struct ocl_launch *l, bool as_program, cl_event *event)
{
	return l->next(l->queue, l->kernel, l->dims, l->offset, l->global, l->local,
		       as_program ? l->waits : 0, as_program ? l->wait_list : NULL, event);
}

static cl_int run(struct cap_counted_launch *c, const struct ocl_launch *l, bool last)
{
	cl_event own = NULL, *event = last && l->event ? l->event : &own;
	cl_int result;
	uint64_t began;
	bool ran;

	cap_pass_begin(c);
	began = tick_now();
	result = enqueue(l, last, event);
	ran = result == CL_SUCCESS && *event && ocl_next.clWaitForEvents(1, event) == CL_SUCCESS &&
	      status_of(*event) == CL_COMPLETE;
	if (last)
		cap_timed_own(tick_now() - began);
	cap_pass_end(c, ran);
	if (own)
		ocl_next.clReleaseEvent(own);
	return result;
}

/* The program's launch, in the middle of what is overhead. */
static cl_int run_itself(const struct ocl_launch *l)
{
	const uint64_t began = tick_now();
	cl_int result = enqueue(l, true, l->event);

	cap_timed_own(tick_now() - began);
	return result;
}

/* It ran, and cannot be made to run again: what the program gets is the event of a command that does nothing. */
static cl_int instead(const struct ocl_launch *l)
{
	return l->event && ocl_next.clEnqueueMarkerWithWaitList
		       ? ocl_next.clEnqueueMarkerWithWaitList(l->queue, 0, NULL, l->event)
		       : CL_SUCCESS;
}

static cl_int run_all(struct cap_counted_launch *c, const struct ocl_launch *l,
		      const struct ocl_kept *kept)
{
	for (;;) {
		bool last = c->at + 1 == c->passes;
		cl_int result = run(c, l, last);

		if (last || result != CL_SUCCESS)
			return result;
		if (!ocl_kept_restore(kept)) {
			cap_launch_refuse(c, "what the kernel had written could not be put back");
			return instead(l);
		}
	}
}

/* Whether it ran in the place of the program's kernel, which is not to run any more. */
static bool run_lines(struct cap_counted_launch *c, const struct ocl_launch *l,
		      struct ocl_twin *twin, const struct ocl_kept *kept, const char *lost)
{
	const char *why = lost;
	uint64_t accesses = 0;
	uint64_t began;
	bool ran;

	if (!kept && c->passes) {
		ocl_not_instrumented(l->kernel, why); /* counters are to be those of the kernel */
		return false;
	}
	began = tick_now();
	ran = ocl_twin_run(twin, &c->launch, l, !kept, &accesses, &why);
	if (!kept) /* what of that the program's kernel would have taken is not known */
		cap_timed_own(tick_now() - began);
	if (!ran) {
		ocl_not_instrumented(l->kernel, why);
		return false;
	}
	if (!kept) {
		if (twin->records)
			ocl_accesses_not_recorded(l->kernel, lost);
		return true;
	}
	why = accesses ? ocl_accesses_run(twin, &c->launch, l, kept, accesses) : NULL;
	if (why)
		ocl_accesses_not_recorded(l->kernel, why);
	else if (accesses && twin->counted.copies)
		ocl_copies_not_recorded(l->kernel);
	if (ocl_kept_restore(kept))
		return false;
	ocl_not_instrumented(l->kernel, "what the kernel had written could not be put back");
	return false;
}

static cl_int run_alone(struct cap_counted_launch *c, const struct ocl_launch *l,
			const struct ocl_queue *q, struct ocl_twin *twin)
{
	struct ocl_kept *kept = NULL;
	const char *reason = alone(l), *lost = NULL;
	cl_int result = CL_SUCCESS;

	if (reason) {
		cap_launch_refuse(c, reason);
		if (twin)
			ocl_not_instrumented(l->kernel, reason);
		return run_itself(l);
	}
	if (c->passes > 1 || twin) {
		kept = ocl_keep(l->queue, q->context_handle, l->kernel, &lost);
		if (!kept && c->passes > 1)
			cap_launch_first_only(c, lost);
	}
	if (!twin || !run_lines(c, l, twin, kept, lost))
		result = c->passes ? run_all(c, l, kept) : run_itself(l);
	ocl_kept_free(kept);
	return result;
}

/* How the launch is told; its name is looked up once. */
static struct cap_launch describe(const struct cap_frame *f, const struct ocl_launch *l,
				  const struct ocl_queue *q)
{
	const struct cap_launch launch = {.agent = q ? q->agent : 0,
					  .queue = q ? q->object.id : 0,
					  .kernel = ocl_kernel_id(l->kernel),
					  .correlation = f->id,
					  .name = ocl_kernel_name(l->kernel),
					  .processor = q && q->processor};

	return launch;
}

/* The twin of a launch of which lines are wanted, NULL: none; it may take long to make it, so nobody waits yet. */
static struct ocl_twin *prepare(struct cap_counted_launch *c, const struct ocl_launch *l)
{
	struct cap_timed cost;
	struct ocl_twin *twin;
	const char *why;

	if (!c->lines)
		return NULL;
	cap_timed_begin(&cost);
	twin = ocl_twin_get(l, cap_accesses_wanted(), &why);
	if (twin)
		ocl_kernel_is(l->kernel, twin->changes);
	else
		ocl_not_instrumented(l->kernel, why);
	c->lines = twin != NULL;
	cap_timed_end(&cost, UINT64_MAX);
	return twin;
}

static cl_int enqueue_beside(const struct ocl_launch *l)
{
	enum ocl_gate gate = ocl_gate_enter(false);
	cl_int result = enqueue(l, true, l->event);

	ocl_gate_leave(gate);
	return result;
}

cl_int ocl_count_launch(const struct cap_frame *f, const struct ocl_launch *l)
{
	struct ocl_queue *q = ocl_queue_get(l->queue);
	struct cap_counted_launch c;
	struct cap_launch launch;
	struct ocl_twin *twin;
	cl_int result;

	ocl_count_begin();
	launch = describe(f, l, q);
	if (!q || ocl_in_callback || !l->global) { /* without a size it runs nothing */
		cap_launch_passed(&launch);
		if (q && ocl_in_callback)
			cap_launch_not_counted("they were launched in an event callback, which may "
					       "not wait");
		return enqueue_beside(l);
	}
	if (!cap_launch_chosen(&c, &launch))
		return enqueue_beside(l);
	twin = prepare(&c, l);
	if (cap_launch_hold(&c)) {
		result = run_alone(&c, l, q, twin);
		cap_launch_end(&c);
	} else {
		if (twin)
			ocl_not_instrumented(l->kernel, "others enqueued work all the time");
		result = enqueue_beside(l);
	}
	if (twin)
		ocl_twin_put(twin);
	return result;
}
