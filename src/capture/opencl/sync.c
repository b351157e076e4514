/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host waiting, polling and being called back: records of the waits, and the moments at which
 * finished work is collected. All of it happens after the call was recorded, so that the time
 * recorded for it is the program's own.
 */
#include <stdlib.h>

#include "capture/opencl/answer.h"
#include "capture/opencl/count.h"
#include "capture/opencl/queue.h"

#include "opencl_hooks.h"

/* Id of a queue for a record; 0 where no sync is wanted. */
static uint32_t queue_id(cl_command_queue queue)
{
	struct ocl_queue *q = cap_call_wants(CAP_ACTIVITY_SYNC) ? ocl_queue_get(queue) : NULL;

	return q ? q->object.id : 0;
}

/* ---- waits ---- */

OCL_HOT void ocl_post_clFinish(struct cap_frame *f, cl_command_queue command_queue, cl_int result)
{
	struct ocl_queue *q = result == CL_SUCCESS ? ocl_queue_get(command_queue) : NULL;
	uint64_t now = f->end;

	if (!q)
		return;
	ocl_last_queue = command_queue;
	if (cap_call_wants(CAP_ACTIVITY_SYNC))
		cap_sync_record(f, 0, SYNC_OP_QUEUE, q->object.id, 0, NULL);
	/* All of it, else what is done would pass for unfinished. */
	ocl_collect_at(q, OCL_COMPLETE, UINT32_MAX, now);
	ocl_collect_old(now);
}

void ocl_post_clFlush(struct cap_frame *f, cl_command_queue command_queue, cl_int result)
{
	struct ocl_queue *q = (struct ocl_queue *)ocl_find(OCL_QUEUE, command_queue);

	if (!q)
		return;
	ocl_last_queue = command_queue;
	ocl_collect(q, OCL_LOOK, OCL_COLLECT_FEW);
}

/* Once for each queue that the events are of, if those of one queue are together. */
static void events_collect(cl_uint count, const cl_event *events)
{
	struct ocl_queue *last = NULL;

	for (cl_uint i = 0; i < count; i++) {
		struct ocl_queue *q = ocl_queue_of_event(events[i]);

		if (q && q != last)
			ocl_collect(q, OCL_COMPLETE, OCL_COLLECT_MANY);
		last = q;
	}
}

void ocl_post_clWaitForEvents(struct cap_frame *f, cl_uint num_events, const cl_event *event_list,
			      cl_int result)
{
	uint64_t now = f->end;
	struct ocl_queue *q;

	/* Anything else than these says that nothing was waited for. */
	if (result != CL_SUCCESS && result != CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
		return;
	if (cap_call_wants(CAP_ACTIVITY_SYNC)) {
		q = num_events == 1 ? ocl_queue_of_event(event_list[0]) : NULL;
		cap_sync_record(f, 0, SYNC_OP_EVENTS, q ? q->object.id : 0, num_events, NULL);
	}
	events_collect(num_events, event_list);
	ocl_collect_old(now);
}

/* ---- polls and callbacks ---- */

void ocl_post_clGetEventInfo(struct cap_frame *f, cl_event event, cl_event_info param_name,
			     size_t param_value_size, void *param_value,
			     size_t *param_value_size_ret, cl_int result)
{
	struct ocl_queue *q;

	if (param_name != CL_EVENT_COMMAND_EXECUTION_STATUS || result != CL_SUCCESS ||
	    !param_value || *(cl_int *)param_value > CL_COMPLETE)
		return;
	q = ocl_queue_of_event(event);
	if (q)
		ocl_collect(q, OCL_COMPLETE, OCL_COLLECT_FEW);
}

/* The program's event callback, behind ours. */
struct callback {
	void (*function)(cl_event event, cl_int status, void *data);
	void *data;
};

static void CL_CALLBACK event_callback(cl_event event, cl_int status, void *data)
{
	struct callback c = *(struct callback *)data;
	struct ocl_queue *q;

	free(data);
	if (status <= CL_COMPLETE && !atomic_load(&ocl_ended)) {
		q = ocl_queue_of_event(event);
		if (q)
			ocl_collect(q, OCL_LOOK, OCL_COLLECT_FEW);
	}
	ocl_in_callback++;
	c.function(event, status, c.data);
	ocl_in_callback--;
}

cl_int ocl_call_clSetEventCallback(struct cap_frame *f, ocl_pfn_clSetEventCallback next,
				   cl_event event, cl_int command_exec_callback_type,
				   void (*pfn_notify)(cl_event event, cl_int event_command_status,
						      void *user_data),
				   void *user_data)
{
	struct callback *c;
	cl_int result;

	if (!pfn_notify || (command_exec_callback_type != CL_COMPLETE && !cap_counts_kernels()) ||
	    (!cap_wants(OCL_DEVICE_WORK) && !cap_counts_kernels()))
		return next(event, command_exec_callback_type, pfn_notify, user_data);
	c = malloc(sizeof(*c));
	if (!c)
		return next(event, command_exec_callback_type, pfn_notify, user_data);
	*c = (struct callback){pfn_notify, user_data};
	result = next(event, command_exec_callback_type, event_callback, c);
	if (result != CL_SUCCESS)
		free(c);
	return result;
}

/* ---- on the queue ---- */

static void queue_side(const struct cap_frame *f, unsigned op, cl_command_queue queue,
		       cl_uint events, cl_int result)
{
	if (result == CL_SUCCESS && cap_call_wants(CAP_ACTIVITY_SYNC))
		cap_sync_record(f, 0, op, queue_id(queue), events, NULL);
}

void ocl_post_clEnqueueMarker(struct cap_frame *f, cl_command_queue command_queue, cl_event *event,
			      cl_int result)
{
	queue_side(f, SYNC_OP_MARKER, command_queue, 0, result);
}

void ocl_post_clEnqueueMarkerWithWaitList(struct cap_frame *f, cl_command_queue command_queue,
					  cl_uint num_events_in_wait_list,
					  const cl_event *event_wait_list, cl_event *event,
					  cl_int result)
{
	queue_side(f, SYNC_OP_MARKER, command_queue, num_events_in_wait_list, result);
}

void ocl_post_clEnqueueBarrier(struct cap_frame *f, cl_command_queue command_queue, cl_int result)
{
	queue_side(f, SYNC_OP_BARRIER, command_queue, 0, result);
}

void ocl_post_clEnqueueBarrierWithWaitList(struct cap_frame *f, cl_command_queue command_queue,
					   cl_uint num_events_in_wait_list,
					   const cl_event *event_wait_list, cl_event *event,
					   cl_int result)
{
	queue_side(f, SYNC_OP_BARRIER, command_queue, num_events_in_wait_list, result);
}

void ocl_post_clEnqueueWaitForEvents(struct cap_frame *f, cl_command_queue command_queue,
				     cl_uint num_events, const cl_event *event_list, cl_int result)
{
	queue_side(f, SYNC_OP_BARRIER, command_queue, num_events, result);
}

/* Memory shared with another API, and semaphores: what the queue does with `count` of them. */
#define QUEUE_SIDE(name, op, count, parameters)                                                    \
	void ocl_post_##name(struct cap_frame *f, cl_command_queue command_queue,                  \
			     PARAMETERS parameters, cl_uint num_events_in_wait_list,               \
			     const cl_event *event_wait_list, cl_event *event, cl_int result)      \
	{                                                                                          \
		queue_side(f, op, command_queue, count, result);                                   \
	}
#define PARAMETERS(...) __VA_ARGS__
#define OBJECTS         (cl_uint num_objects, const cl_mem *mem_objects)
#define MEM_OBJECTS     (cl_uint num_mem_objects, const cl_mem *mem_objects)
#define SEMAPHORES                                                                                 \
	(cl_uint num_sema_objects, const cl_semaphore_khr *sema_objects,                           \
	 const cl_semaphore_payload_khr *sema_payload_list)

QUEUE_SIDE(clEnqueueAcquireGLObjects, SYNC_OP_ACQUIRE, num_objects, OBJECTS)
QUEUE_SIDE(clEnqueueReleaseGLObjects, SYNC_OP_RELEASE, num_objects, OBJECTS)
QUEUE_SIDE(clEnqueueAcquireEGLObjectsKHR, SYNC_OP_ACQUIRE, num_objects, OBJECTS)
QUEUE_SIDE(clEnqueueReleaseEGLObjectsKHR, SYNC_OP_RELEASE, num_objects, OBJECTS)
QUEUE_SIDE(clEnqueueAcquireVA_APIMediaSurfacesINTEL, SYNC_OP_ACQUIRE, num_objects, OBJECTS)
QUEUE_SIDE(clEnqueueReleaseVA_APIMediaSurfacesINTEL, SYNC_OP_RELEASE, num_objects, OBJECTS)
QUEUE_SIDE(clEnqueueAcquireGrallocObjectsIMG, SYNC_OP_ACQUIRE, num_objects, OBJECTS)
QUEUE_SIDE(clEnqueueReleaseGrallocObjectsIMG, SYNC_OP_RELEASE, num_objects, OBJECTS)
QUEUE_SIDE(clEnqueueAcquireExternalMemObjectsKHR, SYNC_OP_ACQUIRE, num_mem_objects, MEM_OBJECTS)
QUEUE_SIDE(clEnqueueReleaseExternalMemObjectsKHR, SYNC_OP_RELEASE, num_mem_objects, MEM_OBJECTS)
QUEUE_SIDE(clEnqueueWaitSemaphoresKHR, SYNC_OP_SEMAPHORE_WAIT, num_sema_objects, SEMAPHORES)
QUEUE_SIDE(clEnqueueSignalSemaphoresKHR, SYNC_OP_SEMAPHORE_SIGNAL, num_sema_objects, SEMAPHORES)

void ocl_pre_clEnqueueWaitSemaphoresKHR(struct cap_frame *f, cl_command_queue command_queue,
					cl_uint num_sema_objects,
					const cl_semaphore_khr *sema_objects,
					const cl_semaphore_payload_khr *sema_payload_list,
					cl_uint num_events_in_wait_list,
					const cl_event *event_wait_list, cl_event *event)
{
	ocl_semaphores_wait();
}

void ocl_post_clCreateUserEvent(struct cap_frame *f, cl_context context, cl_int *errcode_ret,
				cl_event result)
{
	if (result)
		ocl_user_event(1);
}

void ocl_post_clSetUserEventStatus(struct cap_frame *f, cl_event event, cl_int execution_status,
				   cl_int result)
{
	if (result != CL_SUCCESS)
		return;
	ocl_user_event(-1);
	if (cap_call_wants(CAP_ACTIVITY_SYNC))
		cap_sync_record(f, 0, SYNC_OP_USER_EVENT, 0, 1, NULL);
}
