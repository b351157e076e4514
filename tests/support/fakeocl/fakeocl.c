/* SPDX-License-Identifier: Apache-2.0 */
/* The fake runtime: reference counts, property queries and an event list for each queue. */
#include "fakeocl.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define OBJECTS   4096
#define CALLBACKS 4

struct object {
	const void *dispatch; /* as every handle of OpenCL begins */
	enum fake_kind kind;
	_Atomic unsigned references;
	struct object *context, *device, *queue, *parent;
	struct object *next; /* free list, or event that was enqueued before */
	cl_ulong properties, size;
	char name[64];
	/* events */
	cl_int status;
	bool user;
	cl_ulong queued, ended;
	unsigned callbacks;
	struct {
		void (*function)(cl_event, cl_int, void *);
		void *data;
	} callback[CALLBACKS];
	/* contexts */
	void (*destroyed)(cl_context, void *);
	void *destroyed_data;
};

struct fake_behaviour fake;

static const void *dispatch; /* that handles lead to */
static struct object *free_objects[FAKE_KINDS];
static _Atomic unsigned alive[FAKE_KINDS];
static _Atomic cl_ulong device_clock = 1000;
static struct object device = {.kind = FAKE_DEVICE, .references = 1, .name = "fake device"};
static struct object sub_device = {
	.kind = FAKE_DEVICE, .references = 0, .name = "fake part", .parent = &device};
static _Thread_local struct object *mine; /* events of threads with complete_at_once */

cl_ulong fake_clock(void)
{
	return atomic_fetch_add_explicit(&device_clock, 10, memory_order_relaxed);
}

void fake_dispatch(const cl_icd_dispatch *to)
{
	dispatch = device.dispatch = sub_device.dispatch = to;
}

void fake_reset(void)
{
	memset(&fake, 0, sizeof(fake));
}

cl_device_id fake_device(void)
{
	return (cl_device_id)&device;
}

unsigned fake_alive(enum fake_kind kind)
{
	return alive[kind];
}

unsigned fake_references(const void *handle)
{
	return ((const struct object *)handle)->references;
}

/* The object freed last is used first: handles are reused at once. */
static struct object *make(enum fake_kind kind)
{
	struct object **list =
		kind == FAKE_EVENT && fake.complete_at_once ? &mine : &free_objects[kind];
	struct object *o = *list;

	if (o)
		*list = o->next;
	else
		o = malloc(sizeof(*o));
	memset(o, 0, sizeof(*o));
	o->dispatch = dispatch;
	o->kind = kind;
	o->references = 1;
	atomic_fetch_add_explicit(&alive[kind], 1, memory_order_relaxed);
	return o;
}

static void drop(struct object *o)
{
	struct object **list;

	if (!o || atomic_fetch_sub(&o->references, 1) != 1 || o->kind == FAKE_DEVICE)
		return;
	atomic_fetch_sub_explicit(&alive[o->kind], 1, memory_order_relaxed);
	if (o->destroyed)
		o->destroyed((cl_context)o, o->destroyed_data);
	if (o->kind != FAKE_EVENT || o->queue)
		drop(o->kind == FAKE_EVENT ? o->queue : o->context);
	if (o->kind == FAKE_MEM)
		drop(o->parent);
	list = o->kind == FAKE_EVENT && fake.complete_at_once ? &mine : &free_objects[o->kind];
	o->next = *list;
	*list = o;
}

static struct object *hold(struct object *o)
{
	if (o)
		o->references++;
	return o;
}

static bool is(const void *handle, enum fake_kind kind)
{
	return handle && ((const struct object *)handle)->kind == kind;
}

/* ---- queries ---- */

static cl_int give(const void *value, size_t size, size_t room, void *out, size_t *size_ret)
{
	if (out && room < size)
		return CL_INVALID_VALUE;
	if (out)
		memcpy(out, value, size);
	if (size_ret)
		*size_ret = size;
	return CL_SUCCESS;
}

#define GIVE(value) give(&(value), sizeof(value), size, out, size_ret)
#define QUERY       size_t size, void *out, size_t *size_ret

static cl_int get_platform_info(cl_platform_id p, cl_platform_info what, QUERY)
{
	return give("fake", 5, size, out, size_ret);
}

static cl_int give_versions(QUERY)
{
	const cl_name_version list[] = {{CL_MAKE_VERSION(1, 0, 0), "cl_khr_fp64"},
					{fake.buffers, "cl_khr_command_buffer"},
					{fake.buffers, "cl_khr_command_buffer_mutable_dispatch"}};

	return give(list, sizeof(list), size, out, size_ret);
}

static cl_int get_device_info(cl_device_id d, cl_device_info what, QUERY)
{
	struct object *o = (struct object *)d;
	cl_device_type type = fake.processor ? CL_DEVICE_TYPE_CPU : CL_DEVICE_TYPE_GPU;
	cl_uint units = 4;

	if (!is(d, FAKE_DEVICE))
		return CL_INVALID_DEVICE;
	switch (what) {
	case CL_DEVICE_TYPE:
		return GIVE(type);
	case CL_DEVICE_MAX_COMPUTE_UNITS:
		return GIVE(units);
	case CL_DEVICE_NAME:
		return give(o->name, strlen(o->name) + 1, size, out, size_ret);
	case CL_DEVICE_PARENT_DEVICE:
		return GIVE(o->parent);
	case CL_DEVICE_VENDOR:
		return give("a \"vendor\"", 11, size, out, size_ret);
	case CL_DEVICE_EXTENSIONS:
		return give("cl_khr_pci_bus_info cl_khr_device_uuid", 39, size, out, size_ret);
	case CL_DEVICE_EXTENSIONS_WITH_VERSION:
		return fake.buffers ? give_versions(size, out, size_ret) : CL_INVALID_VALUE;
	case CL_DEVICE_COMMAND_BUFFER_SUPPORTED_QUEUE_PROPERTIES_KHR:
		return fake.plain_buffers ? give(&(cl_ulong){0}, 8, size, out, size_ret)
					  : CL_INVALID_VALUE;
	case 0x410F: /* CL_DEVICE_PCI_BUS_INFO_KHR; no machine has this address */
		return give((cl_uint[]){0xfffe, 0x3b, 0x1f, 7}, 16, size, out, size_ret);
	case 0x106A: /* CL_DEVICE_UUID_KHR */
		return give("\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20", 16, size, out, size_ret);
	default:
		return CL_INVALID_VALUE;
	}
}

static cl_int get_context_info(cl_context c, cl_context_info what, QUERY)
{
	struct object *o = (struct object *)c;

	return what == CL_CONTEXT_DEVICES ? GIVE(o->device) : CL_INVALID_VALUE;
}

static cl_int get_queue_info(cl_command_queue q, cl_command_queue_info what, QUERY)
{
	struct object *o = (struct object *)q;

	if (!is(q, FAKE_QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	switch (what) {
	case CL_QUEUE_CONTEXT:
		return GIVE(o->context);
	case CL_QUEUE_DEVICE:
		return GIVE(o->device);
	case CL_QUEUE_PROPERTIES:
		return GIVE(o->properties);
	case CL_QUEUE_PROPERTIES_ARRAY: /* always as if created with a list */
		return give((cl_queue_properties[]){CL_QUEUE_PROPERTIES, o->properties, 0},
			    3 * sizeof(cl_queue_properties), size, out, size_ret);
	default:
		return CL_INVALID_VALUE;
	}
}

static cl_int get_mem_info(cl_mem m, cl_mem_info what, QUERY)
{
	struct object *o = (struct object *)m;
	size_t bytes = o->size;

	switch (what) {
	case CL_MEM_SIZE:
		return GIVE(bytes);
	case CL_MEM_FLAGS:
		return GIVE(o->properties);
	case CL_MEM_CONTEXT:
		return GIVE(o->context);
	default:
		return CL_INVALID_VALUE;
	}
}

static cl_int get_image_info(cl_mem m, cl_image_info what, QUERY)
{
	size_t element = 4;

	return what == CL_IMAGE_ELEMENT_SIZE ? GIVE(element) : CL_INVALID_VALUE;
}

static cl_int get_program_info(cl_program p, cl_program_info what, QUERY)
{
	struct object *o = (struct object *)p;

	if (what == CL_PROGRAM_CONTEXT)
		return GIVE(o->context);
	if (what == CL_PROGRAM_DEVICES)
		return GIVE(o->context->device);
	return CL_INVALID_VALUE;
}

static cl_int get_build_info(cl_program p, cl_device_id d, cl_program_build_info what, QUERY)
{
	cl_build_status status = fake.fail_build ? CL_BUILD_ERROR : CL_BUILD_SUCCESS;

	if (what == CL_PROGRAM_BUILD_STATUS)
		return GIVE(status);
	if (what == CL_PROGRAM_BUILD_LOG)
		return give("it is wrong", 12, size, out, size_ret);
	return CL_INVALID_VALUE;
}

static cl_int get_kernel_info(cl_kernel k, cl_kernel_info what, QUERY)
{
	struct object *o = (struct object *)k;

	if (what == CL_KERNEL_FUNCTION_NAME)
		return give(o->name, strlen(o->name) + 1, size, out, size_ret);
	return what == CL_KERNEL_PROGRAM ? GIVE(o->parent) : CL_INVALID_VALUE;
}

static cl_int get_event_info(cl_event e, cl_event_info what, QUERY)
{
	struct object *o = (struct object *)e;

	fake.queries++;
	if (!is(e, FAKE_EVENT))
		return CL_INVALID_EVENT;
	if (what == CL_EVENT_COMMAND_EXECUTION_STATUS)
		return GIVE(o->status);
	return what == CL_EVENT_COMMAND_QUEUE ? GIVE(o->queue) : CL_INVALID_VALUE;
}

static cl_int get_profiling_info(cl_event e, cl_profiling_info what, QUERY)
{
	struct object *o = (struct object *)e;
	cl_ulong value = o->queued + (what - CL_PROFILING_COMMAND_QUEUED) * 100;

	fake.queries++;
	if (!o->queue || !(o->queue->properties & CL_QUEUE_PROFILING_ENABLE) ||
	    o->status != CL_COMPLETE || fake.refuse_times)
		return CL_PROFILING_INFO_NOT_AVAILABLE;
	if (what < CL_PROFILING_COMMAND_QUEUED || what > CL_PROFILING_COMMAND_END)
		return CL_INVALID_VALUE;
	return GIVE(value);
}

static cl_int get_timer(cl_device_id d, cl_ulong *on_device, cl_ulong *on_host)
{
	if (!fake.offer_timer)
		return CL_INVALID_OPERATION;
	*on_device = *on_host = fake_clock();
	return CL_SUCCESS;
}

/* ---- devices, contexts, queues ---- */

static cl_int get_device_ids(cl_platform_id p, cl_device_type type, cl_uint n, cl_device_id *out,
			     cl_uint *count)
{
	if (out && n)
		out[0] = fake_device();
	if (count)
		*count = 1;
	return CL_SUCCESS;
}

static cl_int create_sub_devices(cl_device_id d, const cl_device_partition_property *p, cl_uint n,
				 cl_device_id *out, cl_uint *count)
{
	sub_device.references = 1;
	if (out && n)
		out[0] = (cl_device_id)&sub_device;
	if (count)
		*count = 1;
	return CL_SUCCESS;
}

static cl_context create_context(const cl_context_properties *p, cl_uint n, const cl_device_id *d,
				 void (*notify)(const char *, const void *, size_t, void *),
				 void *data, cl_int *error)
{
	struct object *o = make(FAKE_CONTEXT);

	o->device = (struct object *)d[0];
	*error = CL_SUCCESS;
	return (cl_context)o;
}

static cl_int set_context_destructor(cl_context c, void (*f)(cl_context, void *), void *data)
{
	((struct object *)c)->destroyed = f;
	((struct object *)c)->destroyed_data = data;
	return CL_SUCCESS;
}

static cl_command_queue create_queue(cl_context c, cl_device_id d, cl_command_queue_properties p,
				     cl_int *error)
{
	struct object *o;

	if (fake.refuse_profiling && (p & CL_QUEUE_PROFILING_ENABLE)) {
		*error = CL_INVALID_QUEUE_PROPERTIES;
		return NULL;
	}
	o = make(FAKE_QUEUE);
	o->context = hold((struct object *)c);
	o->device = (struct object *)d;
	o->properties = p;
	*error = CL_SUCCESS;
	return (cl_command_queue)o;
}

static cl_command_queue create_queue_list(cl_context c, cl_device_id d,
					  const cl_queue_properties *p, cl_int *error)
{
	cl_command_queue_properties properties = 0;

	for (; p && p[0]; p += 2)
		properties |= p[0] == CL_QUEUE_PROPERTIES ? p[1] : 0;
	return create_queue(c, d, properties, error);
}

/* ---- memory, programs, kernels ---- */

static cl_mem create_buffer(cl_context c, cl_mem_flags flags, size_t size, void *host,
			    cl_int *error)
{
	struct object *o = make(FAKE_MEM);

	o->context = hold((struct object *)c);
	o->properties = flags;
	o->size = size;
	*error = CL_SUCCESS;
	return (cl_mem)o;
}

static cl_mem create_sub_buffer(cl_mem m, cl_mem_flags flags, cl_buffer_create_type type,
				const void *info, cl_int *error)
{
	struct object *parent = (struct object *)m;
	const cl_buffer_region *region = info;
	cl_mem sub = create_buffer((cl_context)parent->context, flags, region->size, NULL, error);

	((struct object *)sub)->parent = hold(parent);
	return sub;
}

static cl_program create_program(cl_context c, cl_uint n, const char **strings,
				 const size_t *lengths, cl_int *error)
{
	struct object *o = make(FAKE_PROGRAM);

	o->context = hold((struct object *)c);
	*error = CL_SUCCESS;
	return (cl_program)o;
}

static cl_int build_program(cl_program p, cl_uint n, const cl_device_id *d, const char *options,
			    void (*notify)(cl_program, void *), void *data)
{
	if (notify)
		notify(p, data);
	return notify ? CL_SUCCESS : fake.fail_build;
}

static cl_kernel create_kernel(cl_program p, const char *name, cl_int *error)
{
	struct object *o = make(FAKE_KERNEL);

	o->parent = (struct object *)p;
	strncpy(o->name, name, sizeof(o->name) - 1);
	*error = CL_SUCCESS;
	return (cl_kernel)o;
}

static cl_int set_kernel_arg(cl_kernel k, cl_uint index, size_t size, const void *value)
{
	return is(k, FAKE_KERNEL) ? CL_SUCCESS : CL_INVALID_KERNEL;
}

/* ---- commands ---- */

static cl_int enqueue(cl_command_queue q, cl_event *event)
{
	struct object *queue = (struct object *)q, *e;
	cl_int error = fake.fail_enqueue;

	if (error || !is(q, FAKE_QUEUE)) {
		fake.fail_enqueue = 0;
		return error ? error : CL_INVALID_COMMAND_QUEUE;
	}
	if (!event && fake.complete_at_once)
		return CL_SUCCESS;
	e = make(FAKE_EVENT);
	e->queue = hold(queue);
	e->status = fake.complete_at_once ? CL_COMPLETE : CL_QUEUED;
	e->queued = fake_clock();
	if (event)
		*event = (cl_event)e;
	if (fake.complete_at_once)
		return CL_SUCCESS;
	hold(e); /* until it is complete */
	e->parent = queue->parent;
	queue->parent = e;
	if (!event)
		drop(e);
	return CL_SUCCESS;
}

cl_int fake_enqueue(cl_command_queue queue, cl_event *event)
{
	return enqueue(queue, event);
}

cl_mem fake_mem(cl_context context, cl_mem_flags flags, size_t size)
{
	cl_int error;

	return create_buffer(context, flags, size, NULL, &error);
}

bool fake_profiles(cl_command_queue queue)
{
	return ((struct object *)queue)->properties & CL_QUEUE_PROFILING_ENABLE;
}

static void *extension_of(cl_platform_id platform, const char *name)
{
	return fake_extension(name);
}

static void leave(struct object *e)
{
	struct object **at = &e->queue->parent;

	while (*at && *at != e)
		at = &(*at)->parent;
	if (*at)
		*at = e->parent;
	e->parent = NULL;
}

void fake_complete(cl_event event, cl_int status)
{
	struct object *e = (struct object *)event;

	e->status = status;
	for (unsigned i = 0; i < e->callbacks; i++)
		e->callback[i].function(event, status, e->callback[i].data);
	e->callbacks = 0;
	if (e->user)
		return;
	leave(e);
	drop(e);
}

cl_event fake_event(cl_command_queue queue, unsigned last)
{
	struct object *e = ((struct object *)queue)->parent;

	while (e && last--)
		e = e->parent;
	return (cl_event)e;
}

static cl_int finish(cl_command_queue q)
{
	struct object *queue = (struct object *)q;

	if (!is(q, FAKE_QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	while (queue->parent)
		fake_complete((cl_event)queue->parent, CL_COMPLETE);
	return CL_SUCCESS;
}

static cl_int flush(cl_command_queue q)
{
	return is(q, FAKE_QUEUE) ? CL_SUCCESS : CL_INVALID_COMMAND_QUEUE;
}

/* In order, what was enqueued before is complete as well. */
static void complete_until(struct object *e)
{
	bool in_order =
		e->queue && !(e->queue->properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);

	while (in_order && e->parent)
		complete_until(e->parent);
	fake_complete((cl_event)e, CL_COMPLETE);
}

static cl_int wait_for_events(cl_uint n, const cl_event *events)
{
	for (cl_uint i = 0; i < n; i++)
		if (((struct object *)events[i])->status > CL_COMPLETE)
			complete_until((struct object *)events[i]);
	return CL_SUCCESS;
}

static cl_int set_event_callback(cl_event event, cl_int type,
				 void (*function)(cl_event, cl_int, void *), void *data)
{
	struct object *e = (struct object *)event;

	if (e->status <= CL_COMPLETE) {
		function(event, e->status, data);
		return CL_SUCCESS;
	}
	if (e->callbacks == CALLBACKS)
		return CL_OUT_OF_RESOURCES;
	e->callback[e->callbacks].function = function;
	e->callback[e->callbacks++].data = data;
	return CL_SUCCESS;
}

static cl_event create_user_event(cl_context c, cl_int *error)
{
	struct object *e = make(FAKE_EVENT);

	e->user = true;
	e->status = CL_SUBMITTED;
	*error = CL_SUCCESS;
	return (cl_event)e;
}

static cl_int set_user_event_status(cl_event e, cl_int status)
{
	fake_complete(e, status);
	return CL_SUCCESS;
}

#define WAIT cl_uint n, const cl_event *list, cl_event *event

static cl_int enqueue_kernel(cl_command_queue q, cl_kernel k, cl_uint dims, const size_t *offset,
			     const size_t *global, const size_t *local, WAIT)
{
	return enqueue(q, event);
}

static cl_int enqueue_native(cl_command_queue q, void (*f)(void *), void *a, size_t bytes,
			     cl_uint mems, const cl_mem *m, const void **at, WAIT)
{
	return enqueue(q, event);
}

static cl_int enqueue_read(cl_command_queue q, cl_mem m, cl_bool blocking, size_t offset,
			   size_t size, void *p, WAIT)
{
	cl_int error = enqueue(q, event);

	if (blocking && error == CL_SUCCESS && !fake.complete_at_once)
		finish(q);
	return error;
}

static cl_int enqueue_write(cl_command_queue q, cl_mem m, cl_bool blocking, size_t offset,
			    size_t size, const void *p, WAIT)
{
	return enqueue_read(q, m, blocking, offset, size, NULL, n, list, event);
}

static void *enqueue_map(cl_command_queue q, cl_mem m, cl_bool blocking, cl_map_flags flags,
			 size_t offset, size_t size, WAIT, cl_int *error)
{
	static char memory[64];

	*error = enqueue_read(q, m, blocking, offset, size, NULL, n, list, event);
	return *error ? NULL : memory;
}

static cl_int enqueue_unmap(cl_command_queue q, cl_mem m, void *p, WAIT)
{
	return enqueue(q, event);
}

/* ---- references ---- */

#define REFERENCES(name, type, code)                                                               \
	static cl_int retain_##name(type o)                                                        \
	{                                                                                          \
		hold((struct object *)o);                                                          \
		return o ? CL_SUCCESS : code;                                                      \
	}                                                                                          \
	static cl_int release_##name(type o)                                                       \
	{                                                                                          \
		drop((struct object *)o);                                                          \
		return o ? CL_SUCCESS : code;                                                      \
	}

REFERENCES(device, cl_device_id, CL_INVALID_DEVICE)
REFERENCES(context, cl_context, CL_INVALID_CONTEXT)
REFERENCES(queue, cl_command_queue, CL_INVALID_COMMAND_QUEUE)
REFERENCES(mem, cl_mem, CL_INVALID_MEM_OBJECT)
REFERENCES(program, cl_program, CL_INVALID_PROGRAM)
REFERENCES(kernel, cl_kernel, CL_INVALID_KERNEL)
REFERENCES(event, cl_event, CL_INVALID_EVENT)

static const cl_icd_dispatch table = {
	.clGetPlatformInfo = get_platform_info,
	.clGetExtensionFunctionAddressForPlatform = extension_of,
	.clGetDeviceIDs = get_device_ids,
	.clGetDeviceInfo = get_device_info,
	.clCreateSubDevices = create_sub_devices,
	.clRetainDevice = retain_device,
	.clReleaseDevice = release_device,
	.clCreateContext = create_context,
	.clRetainContext = retain_context,
	.clReleaseContext = release_context,
	.clGetContextInfo = get_context_info,
	.clSetContextDestructorCallback = set_context_destructor,
	.clCreateCommandQueue = create_queue,
	.clCreateCommandQueueWithProperties = create_queue_list,
	.clRetainCommandQueue = retain_queue,
	.clReleaseCommandQueue = release_queue,
	.clGetCommandQueueInfo = get_queue_info,
	.clCreateBuffer = create_buffer,
	.clCreateSubBuffer = create_sub_buffer,
	.clRetainMemObject = retain_mem,
	.clReleaseMemObject = release_mem,
	.clGetMemObjectInfo = get_mem_info,
	.clGetImageInfo = get_image_info,
	.clCreateProgramWithSource = create_program,
	.clRetainProgram = retain_program,
	.clReleaseProgram = release_program,
	.clBuildProgram = build_program,
	.clGetProgramInfo = get_program_info,
	.clGetProgramBuildInfo = get_build_info,
	.clCreateKernel = create_kernel,
	.clRetainKernel = retain_kernel,
	.clReleaseKernel = release_kernel,
	.clGetKernelInfo = get_kernel_info,
	.clSetKernelArg = set_kernel_arg,
	.clWaitForEvents = wait_for_events,
	.clGetEventInfo = get_event_info,
	.clCreateUserEvent = create_user_event,
	.clSetUserEventStatus = set_user_event_status,
	.clRetainEvent = retain_event,
	.clReleaseEvent = release_event,
	.clSetEventCallback = set_event_callback,
	.clGetEventProfilingInfo = get_profiling_info,
	.clGetDeviceAndHostTimer = get_timer,
	.clFlush = flush,
	.clFinish = finish,
	.clEnqueueNDRangeKernel = enqueue_kernel,
	.clEnqueueNativeKernel = enqueue_native,
	.clEnqueueReadBuffer = enqueue_read,
	.clEnqueueWriteBuffer = enqueue_write,
	.clEnqueueMapBuffer = enqueue_map,
	.clEnqueueUnmapMemObject = enqueue_unmap,
};

const cl_icd_dispatch *fake_table(void)
{
	return &table;
}
