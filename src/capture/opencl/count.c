/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches that are counted. The device is idle before, and the launch waits for the kernel; where it is
 * repeated, all but the last run without the program's wait list and event, so that what the program
 * sees is the last one alone. Nothing waits for what only the program can bring about.
 */
#include "capture/opencl/count.h"
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
	if (!finish_all())
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
	bool ran;

	cap_pass_begin(c);
	result = enqueue(l, last, event);
	ran = result == CL_SUCCESS && *event && ocl_next.clWaitForEvents(1, event) == CL_SUCCESS &&
	      status_of(*event) == CL_COMPLETE;
	cap_pass_end(c, ran);
	if (own)
		ocl_next.clReleaseEvent(own);
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

static cl_int run_alone(struct cap_counted_launch *c, const struct ocl_launch *l,
			const struct ocl_queue *q)
{
	struct ocl_kept *kept = NULL;
	const char *reason = alone(l);
	cl_int result;

	if (reason) {
		cap_launch_refuse(c, reason);
		return enqueue(l, true, l->event);
	}
	if (c->passes > 1) {
		kept = ocl_keep(l->queue, q->context_handle, l->kernel, &reason);
		if (!kept)
			cap_launch_first_only(c, reason);
	}
	result = run_all(c, l, kept);
	ocl_kept_free(kept);
	return result;
}

cl_int ocl_count_launch(const struct cap_frame *f, const struct ocl_launch *l)
{
	struct ocl_queue *q = ocl_queue_get(l->queue);
	struct cap_counted_launch c;
	const struct cap_launch launch = {.agent = q ? q->agent : 0,
					  .queue = q ? q->object.id : 0,
					  .kernel = ocl_kernel_id(l->kernel),
					  .correlation = f->id};
	enum ocl_gate gate;
	cl_int result;

	ocl_count_begin();
	if (q && q->processor && !ocl_in_callback && cap_launch_counted(&c, &launch)) {
		result = run_alone(&c, l, q);
		cap_launch_end(&c);
		return result;
	}
	if (!q || !q->processor || ocl_in_callback)
		cap_launch_passed(&launch);
	if (q && (!q->processor || ocl_in_callback))
		cap_launch_not_counted(
			ocl_in_callback ? "they were launched in an event callback, which may "
					  "not wait"
					: "their device is no processor of the host");
	gate = ocl_gate_enter(false);
	result = enqueue(l, true, l->event);
	ocl_gate_leave(gate);
	return result;
}
