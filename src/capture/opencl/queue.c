/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues: created so that their commands can be timed, and shown to the program as if they had been
 * created as it asked.
 */
#include "capture/opencl/queue.h"

#include <string.h>

#include "opencl_hooks.h"

/* ---- objects ---- */

static void queue_define(const struct ocl_queue *q, cl_command_queue_properties properties)
{
	struct wire_def d;
	uint64_t flags = 0;

	flags |= q->in_order ? 0 : QUEUE_OUT_OF_ORDER;
	flags |= q->forced ? QUEUE_PROFILING_FORCED : 0;
	flags |= properties & CL_QUEUE_ON_DEVICE ? QUEUE_ON_DEVICE : 0;
	wire_def_init(&d, DEF_QUEUE);
	wire_def_u64(&d, q->object.id);
	wire_def_string(&d, "opencl");
	wire_def_u64(&d, (uintptr_t)q->object.handle);
	wire_def_u64(&d, q->agent);
	wire_def_u64(&d, q->context);
	wire_def_u64(&d,
		     q->forced ? properties & ~(uint64_t)CL_QUEUE_PROFILING_ENABLE : properties);
	wire_def_u64(&d, flags);
	wire_def_u64(&d, tick_now());
	wire_def_string(&d, "");
	cap_define(&d);
}

static bool queue_info(cl_command_queue queue, cl_command_queue_info what, void *out, size_t size)
{
	return ocl_next.clGetCommandQueueInfo(queue, what, size, out, NULL) == CL_SUCCESS;
}

/* Fills in what the runtime says about a queue. False: no such queue, or no memory. */
static struct ocl_queue *queue_new(cl_command_queue queue, bool forced,
				   cl_command_queue_properties *properties)
{
	cl_device_id device = NULL;
	cl_context context = NULL;
	struct ocl_context *c;
	struct ocl_device *a;
	struct ocl_queue *q;

	*properties = 0;
	if (!queue_info(queue, CL_QUEUE_DEVICE, &device, sizeof(device)) ||
	    !queue_info(queue, CL_QUEUE_CONTEXT, &context, sizeof(context)))
		return NULL;
	queue_info(queue, CL_QUEUE_PROPERTIES, properties, sizeof(*properties));
	c = ocl_context_get(context);
	a = ocl_device_get(device);
	q = ocl_object_new(OCL_QUEUE);
	if (!q)
		return NULL;
	q->object.handle = queue;
	q->object.id = cap_new_id(DEF_QUEUE);
	q->agent = a ? a->object.id : 0;
	q->clock = a ? a->clock : NULL;
	q->processor = a && a->processor;
	q->context = c ? c->object.id : 0;
	q->context_handle = context;
	q->in_order = !(*properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	q->profiled = (*properties & CL_QUEUE_PROFILING_ENABLE) != 0;
	q->forced = forced && q->profiled;
	q->on_device_default = (*properties & CL_QUEUE_ON_DEVICE_DEFAULT) != 0;
	ocl_lock(&q->lock);
	q->closed = false;
	ocl_unlock(&q->lock);
	ocl_collect_at_exit();
	return q;
}

struct ocl_queue *ocl_queue_learn(cl_command_queue queue)
{
	cl_command_queue_properties properties;
	struct ocl_queue *q, *old;

	if (!queue)
		return NULL;
	q = queue_new(queue, false, &properties);
	if (!q)
		return NULL;
	queue_define(q, properties);
	old = (struct ocl_queue *)ocl_insert(OCL_QUEUE, &q->object, false);
	return old ? old : q;
}

/* `asked` is the property list the program gave, or NULL. */
static void queue_created(cl_command_queue queue, bool forced, const cl_queue_properties *asked)
{
	struct ocl_queue *q = (struct ocl_queue *)ocl_find(OCL_QUEUE, queue), *old;
	cl_command_queue_properties properties;

	if (!queue)
		return;
	if (q && q->on_device_default) { /* creating the default again gives the one there is */
		ocl_retain(OCL_QUEUE, queue);
		return;
	}
	q = queue_new(queue, forced, &properties);
	if (!q)
		return;
	q->has_asked = asked != NULL;
	while (asked && q->asked_count + 1 < OCL_ASKED_MAX && asked[q->asked_count])
		q->asked_count += 2;
	if (asked)
		memcpy(q->asked, asked, q->asked_count++ * sizeof(asked[0]));
	queue_define(q, properties);
	if (q->forced) {
		ocl_mask(OCL_OP_clGetCommandQueueInfo);
		ocl_mask(OCL_OP_clGetEventProfilingInfo);
		ocl_mask(OCL_OP_clSetCommandQueueProperty);
	}
	old = (struct ocl_queue *)ocl_insert(OCL_QUEUE, &q->object, true);
	if (old) {
		ocl_collect_close(old);
		ocl_object_free(OCL_QUEUE, &old->object);
	}
}

/* ---- creation ---- */

static bool may_force(cl_device_id device)
{
	const struct ocl_device *a = cap_wants(OCL_DEVICE_WORK) ? ocl_device_get(device) : NULL;

	return a && !a->leave_queues;
}

cl_command_queue ocl_call_clCreateCommandQueue(struct cap_frame *f,
					       ocl_pfn_clCreateCommandQueue next,
					       cl_context context, cl_device_id device,
					       cl_command_queue_properties properties,
					       cl_int *errcode_ret)
{
	bool force = !(properties & CL_QUEUE_PROFILING_ENABLE) && may_force(device);
	cl_command_queue queue = NULL;

	if (force)
		queue = next(context, device, properties | CL_QUEUE_PROFILING_ENABLE, errcode_ret);
	force = queue != NULL;
	if (!queue)
		queue = next(context, device, properties, errcode_ret);
	queue_created(queue, force, NULL);
	return queue;
}

/*
 * The list with profiling switched on; false: it is on already, it is a queue on the device, or
 * the list is longer than any that makes sense.
 */
static bool forced_list(const cl_queue_properties *asked, cl_queue_properties *out)
{
	unsigned n = 0, at = OCL_ASKED_MAX;

	for (; asked && asked[n]; n += 2) {
		if (n + 4 >= OCL_ASKED_MAX)
			return false;
		out[n] = asked[n];
		out[n + 1] = asked[n + 1];
		if (asked[n] == CL_QUEUE_PROPERTIES)
			at = n + 1;
	}
	if (at == OCL_ASKED_MAX) {
		out[n] = CL_QUEUE_PROPERTIES;
		out[n + 1] = 0;
		at = n + 1;
		n += 2;
	}
	if (out[at] & (CL_QUEUE_PROFILING_ENABLE | CL_QUEUE_ON_DEVICE))
		return false;
	out[at] |= CL_QUEUE_PROFILING_ENABLE;
	out[n] = 0;
	return true;
}

cl_command_queue ocl_call_clCreateCommandQueueWithProperties(
	struct cap_frame *f, ocl_pfn_clCreateCommandQueueWithProperties next, cl_context context,
	cl_device_id device, const cl_queue_properties *properties, cl_int *errcode_ret)
{
	cl_queue_properties list[OCL_ASKED_MAX];
	cl_command_queue queue = NULL;
	bool forced;

	if (may_force(device) && forced_list(properties, list))
		queue = next(context, device, list, errcode_ret);
	forced = queue != NULL;
	if (!queue)
		queue = next(context, device, properties, errcode_ret);
	queue_created(queue, forced, properties);
	return queue;
}

cl_command_queue ocl_call_clCreateCommandQueueWithPropertiesKHR(
	struct cap_frame *f, ocl_pfn_clCreateCommandQueueWithPropertiesKHR next, cl_context context,
	cl_device_id device, const cl_queue_properties_khr *properties, cl_int *errcode_ret)
{
	return ocl_call_clCreateCommandQueueWithProperties(
		f, (ocl_pfn_clCreateCommandQueueWithProperties)next, context, device, properties,
		errcode_ret);
}

void ocl_pre_clRetainCommandQueue(struct cap_frame *f, cl_command_queue command_queue)
{
	ocl_retain(OCL_QUEUE, command_queue);
}

void ocl_pre_clReleaseCommandQueue(struct cap_frame *f, cl_command_queue command_queue)
{
	struct ocl_queue *q = (struct ocl_queue *)ocl_release(OCL_QUEUE, command_queue);

	if (!q)
		return;
	ocl_collect_close(q);
	ocl_object_free(OCL_QUEUE, &q->object);
}

/* ---- what the program may see ---- */

/*
 * Runtimes differ in what they keep of a list that is only its end (a zero, or nothing). A queue
 * made just as the program asked for tells; it is needed for this question alone.
 */
static cl_int empty_list(cl_command_queue queue, size_t size, void *value, size_t *size_ret)
{
	const cl_queue_properties none = 0;
	cl_context context;
	cl_device_id device;
	cl_command_queue twin = NULL;
	cl_int result;

	result = ocl_next.clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof(context), &context,
						NULL);
	if (result == CL_SUCCESS)
		result = ocl_next.clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof(device),
							&device, NULL);
	if (result == CL_SUCCESS)
		twin = ocl_next.clCreateCommandQueueWithProperties(context, device, &none, &result);
	if (!twin)
		return result;
	result = ocl_next.clGetCommandQueueInfo(twin, CL_QUEUE_PROPERTIES_ARRAY, size, value,
						size_ret);
	ocl_next.clReleaseCommandQueue(twin);
	return result;
}

/* As the runtime would answer, with the list that the program gave. */
static cl_int asked_list(const struct ocl_queue *q, size_t size, void *value, size_t *size_ret)
{
	size_t bytes = q->asked_count * sizeof(q->asked[0]);

	if (value && size < bytes)
		return CL_INVALID_VALUE;
	if (value)
		memcpy(value, q->asked, bytes);
	if (size_ret)
		*size_ret = bytes;
	return CL_SUCCESS;
}

cl_int ocl_call_clGetCommandQueueInfo(struct cap_frame *f, ocl_pfn_clGetCommandQueueInfo next,
				      cl_command_queue command_queue,
				      cl_command_queue_info param_name, size_t param_value_size,
				      void *param_value, size_t *param_value_size_ret)
{
	struct ocl_queue *q = (struct ocl_queue *)ocl_find(OCL_QUEUE, command_queue);
	cl_int result;

	if (q && q->forced && param_name == CL_QUEUE_PROPERTIES_ARRAY) {
		if (q->asked_count == 1 && ocl_next.clCreateCommandQueueWithProperties)
			return empty_list(command_queue, param_value_size, param_value,
					  param_value_size_ret);
		result = next(command_queue, param_name, 0, NULL, NULL);
		return result != CL_SUCCESS
			       ? result
			       : asked_list(q, param_value_size, param_value, param_value_size_ret);
	}
	result = next(command_queue, param_name, param_value_size, param_value,
		      param_value_size_ret);
	if (q && q->forced && param_name == CL_QUEUE_PROPERTIES && result == CL_SUCCESS &&
	    param_value)
		*(cl_command_queue_properties *)param_value &=
			~(cl_command_queue_properties)CL_QUEUE_PROFILING_ENABLE;
	return result;
}

cl_int ocl_call_clGetEventProfilingInfo(struct cap_frame *f, ocl_pfn_clGetEventProfilingInfo next,
					cl_event event, cl_profiling_info param_name,
					size_t param_value_size, void *param_value,
					size_t *param_value_size_ret)
{
	struct ocl_queue *q = ocl_queue_of_event(event);

	if (q && q->forced)
		return CL_PROFILING_INFO_NOT_AVAILABLE;
	return next(event, param_name, param_value_size, param_value, param_value_size_ret);
}

/*
 * A program of OpenCL 1.0 that switches profiling of a queue itself: once it is on it is no longer
 * our doing, and off only hides it again.
 */
cl_int ocl_call_clSetCommandQueueProperty(struct cap_frame *f,
					  ocl_pfn_clSetCommandQueueProperty next,
					  cl_command_queue command_queue,
					  cl_command_queue_properties properties, cl_bool enable,
					  cl_command_queue_properties *old_properties)
{
	const cl_command_queue_properties profiling = CL_QUEUE_PROFILING_ENABLE;
	struct ocl_queue *q = (struct ocl_queue *)ocl_find(OCL_QUEUE, command_queue);
	bool hidden = q && q->forced;
	cl_int result;

	if (hidden && !enable)
		properties &= ~profiling;
	result = next(command_queue, properties, enable, old_properties);
	if (hidden && result == CL_SUCCESS && old_properties)
		*old_properties &= ~profiling;
	if (hidden && enable && result == CL_SUCCESS && (properties & profiling))
		q->forced = false;
	return result;
}
