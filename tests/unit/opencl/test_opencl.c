/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The OpenCL backend against a stand-in runtime: what is recorded when commands complete in odd
 * orders, fail, or outlive their queues; what the program is shown; and that nothing is kept alive
 * longer than the program keeps it.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <pthread.h>
#include <setjmp.h>
#include <cmocka.h>

#include <kymo/kymo.h>

#include "core/activity.h"
#include "core/capture.h"
#include "fakeocl.h"
#include "opencl_ops.h"

/* ---- a tool that keeps every record ---- */

struct record {
	const kymo_domain_desc_t *domain;
	const char *op;
	uint64_t id;
	uint64_t values[KYMO_FIELDS_MAX];
};

#define RECORDS_MAX 400000
static struct record *records;
static unsigned record_count;
static kymo_context_t context;
static kymo_buffer_t buffer;
static const cl_icd_dispatch *cl;

static void deliver(kymo_buffer_t b, const kymo_record_t *r, void *data)
{
	const kymo_op_desc_t *op = &r->domain->ops[r->op];
	struct record *out = &records[record_count];

	if (++record_count == RECORDS_MAX)
		abort();
	*out = (struct record){.domain = r->domain, .op = op->name, .id = r->correlation};
	for (uint32_t i = 0; i < op->field_count; i++) {
		kymo_value_t v = {.size = sizeof(v)};

		if (kymo_record_value(r, i, &v) == KYMO_OK && v.present)
			out->values[i] = v.u;
	}
}

static kymo_status_t tool_initialize(void *data)
{
	const kymo_selection_t all = {.size = sizeof(all)};
	const kymo_buffer_desc_t desc = {.size = sizeof(desc),
					 .bytes = 64u << 20,
					 .block_ns = 5000000000u,
					 .arguments = KYMO_ARGUMENTS_FULL,
					 .deliver = deliver};

	kymo_context_create(&context);
	kymo_buffer_create(context, &desc, &buffer);
	kymo_buffer_service(context, &all, buffer);
	return kymo_context_start(context);
}

static const kymo_tool_t *configure(uint32_t version, const char *library, uint32_t priority)
{
	static const kymo_tool_t tool = {
		.size = sizeof(tool), .name = "test", .initialize = tool_initialize};

	return &tool;
}

/* Delivers what is complete and forgets what was delivered before. */
static void drain_only(void)
{
	kymo_drain(context, 0);
	assert_int_equal(kymo_drain(context, 2000000000u), KYMO_OK);
}

static void forget(void)
{
	drain_only();
	record_count = 0;
}

static bool is_of(const struct record *r, const char *domain, const char *op)
{
	return strcmp(r->domain->name, domain) == 0 && (!op || strcmp(r->op, op) == 0);
}

/* The n-th record of a domain (and op, unless NULL) since forget(); NULL: there is none. */
static const struct record *record(const char *domain, const char *op, unsigned n)
{
	for (unsigned i = 0; i < record_count; i++)
		if (is_of(&records[i], domain, op) && n-- == 0)
			return &records[i];
	return NULL;
}

static unsigned count(const char *domain, const char *op)
{
	unsigned n = 0;

	for (unsigned i = 0; i < record_count; i++)
		n += is_of(&records[i], domain, op);
	return n;
}

static const struct record *dispatch(unsigned n)
{
	const struct record *r = record("dispatch", "kernel", n);

	if (!r)
		fail_msg("dispatch %u is missing, there are %u", n, count("dispatch", NULL));
	return r;
}

/* ---- a program ---- */

struct program {
	cl_context context;
	cl_command_queue queue;
	cl_program program;
	cl_kernel kernel;
};

static cl_command_queue queue_create(cl_context c, cl_command_queue_properties properties)
{
	const cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, properties, 0};
	cl_int error;
	cl_command_queue q = cl->clCreateCommandQueueWithProperties(c, fake_device(), list, &error);

	assert_int_equal(error, CL_SUCCESS);
	return q;
}

static struct program program_begin(cl_command_queue_properties properties)
{
	cl_device_id device = fake_device();
	const char *source = "kernel void k() {}";
	struct program p;
	cl_int error;

	p.context = cl->clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	p.queue = queue_create(p.context, properties);
	p.program = cl->clCreateProgramWithSource(p.context, 1, &source, NULL, &error);
	p.kernel = cl->clCreateKernel(p.program, "k", &error);
	forget();
	return p;
}

static cl_event enqueue(const struct program *p, bool with_event)
{
	const size_t global[2] = {64, 2}, local[2] = {8, 1};
	cl_event event = NULL;

	assert_int_equal(cl->clEnqueueNDRangeKernel(p->queue, p->kernel, 2, NULL, global, local, 0,
						    NULL, with_event ? &event : NULL),
			 CL_SUCCESS);
	return event;
}

static void program_end(const struct program *p)
{
	cl->clReleaseKernel(p->kernel);
	cl->clReleaseProgram(p->program);
	if (p->queue)
		cl->clReleaseCommandQueue(p->queue);
	cl->clReleaseContext(p->context);
}

static void nothing_alive(void)
{
	for (int kind = FAKE_CONTEXT; kind < FAKE_KINDS; kind++)
		if (fake_alive(kind))
			fail_msg("%u objects of kind %d are still alive", fake_alive(kind), kind);
}

static int reset(void **state)
{
	fake_reset();
	return 0;
}

/* ---- device work ---- */

static void finish_harvests_all(void **state)
{
	struct program p = program_begin(0);

	for (int i = 0; i < 3; i++)
		enqueue(&p, false);
	drain_only();
	assert_int_equal(count("dispatch", NULL), 0);
	assert_int_equal(fake_alive(FAKE_EVENT), 3);
	cl->clFinish(p.queue);
	assert_int_equal(fake_alive(FAKE_EVENT), 0);
	drain_only();
	assert_int_equal(count("dispatch", NULL), 3);
	for (unsigned i = 0; i < 3; i++) {
		const struct record *call = record("opencl", "clEnqueueNDRangeKernel", i);
		const struct record *d = dispatch(i);

		assert_int_equal(d->values[DISPATCH_CORRELATION], call->id);
		assert_int_equal(d->values[DISPATCH_DURATION], 100);
		assert_int_equal(d->values[DISPATCH_QUEUED_BEFORE], 200);
		assert_int_equal(d->values[DISPATCH_SUBMITTED_BEFORE], 100);
		assert_int_equal(d->values[DISPATCH_UNTIMED], UNTIMED_NO);
		assert_int_equal(d->values[DISPATCH_DIMS], 2);
		assert_int_equal(d->values[DISPATCH_GLOBAL_X], 64);
		assert_int_equal(d->values[DISPATCH_GLOBAL_Y], 2);
		assert_int_equal(d->values[DISPATCH_LOCAL_X], 8);
		assert_int_not_equal(d->values[DISPATCH_KERNEL], 0);
		assert_int_not_equal(d->values[DISPATCH_AGENT], 0);
		/* the program gave no event, and is not shown ours */
		assert_int_equal(call->values[8], 0);
	}
	assert_int_equal(count("sync", "queue"), 1);
	program_end(&p);
	nothing_alive();
}

static void out_of_order(void **state)
{
	struct program p = program_begin(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	uint64_t ids[3];

	for (int i = 0; i < 3; i++)
		enqueue(&p, false);
	fake_complete(fake_event(p.queue, 1), CL_COMPLETE);
	cl->clFlush(p.queue);
	drain_only();
	assert_int_equal(count("dispatch", NULL), 1);
	for (unsigned i = 0; i < 3; i++)
		ids[i] = record("opencl", "clEnqueueNDRangeKernel", i)->id;
	assert_int_equal(dispatch(0)->values[DISPATCH_CORRELATION], ids[1]);
	fake_complete(fake_event(p.queue, 0), CL_COMPLETE);
	cl->clFlush(p.queue);
	cl->clFinish(p.queue);
	drain_only();
	assert_int_equal(dispatch(1)->values[DISPATCH_CORRELATION], ids[2]);
	assert_int_equal(dispatch(2)->values[DISPATCH_CORRELATION], ids[0]);
	program_end(&p);
	nothing_alive();
}

static void an_in_order_queue_is_looked_at_from_its_head(void **state)
{
	struct program p = program_begin(0);
	unsigned before;

	for (int i = 0; i < 100; i++)
		enqueue(&p, false);
	before = fake.queries;
	cl->clFlush(p.queue);
	assert_int_equal(fake.queries - before, 1);
	cl->clFinish(p.queue);
	before = fake.queries;
	cl->clFinish(p.queue);
	assert_int_equal(fake.queries - before, 0);
	program_end(&p);
	nothing_alive();
}

static void events_of_the_program(void **state)
{
	struct program p = program_begin(0);
	cl_event kept, early;

	early = enqueue(&p, true);
	cl->clReleaseEvent(early);
	kept = enqueue(&p, true);
	cl->clWaitForEvents(1, &kept);
	drain_only();
	assert_int_equal(count("sync", "events"), 1);
	/* nobody but the program holds its event, and nobody the other */
	assert_int_equal(fake_references(kept), 1);
	assert_int_equal(fake_alive(FAKE_EVENT), 1);
	cl->clReleaseEvent(kept);
	drain_only();
	assert_int_equal(count("dispatch", NULL), 2);
	program_end(&p);
	nothing_alive();
}

static void polling_is_enough(void **state)
{
	struct program p = program_begin(0);
	cl_int status = CL_QUEUED;
	cl_event e = enqueue(&p, true);

	cl->clGetEventInfo(e, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL);
	assert_int_equal(fake_references(e), 3);
	fake_complete(e, CL_COMPLETE);
	cl->clGetEventInfo(e, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL);
	assert_int_equal(status, CL_COMPLETE);
	assert_int_equal(fake_references(e), 1);
	cl->clReleaseEvent(e);
	drain_only();
	assert_int_equal(count("dispatch", NULL), 1);
	program_end(&p);
	nothing_alive();
}

static void long_lists_are_harvested_while_enqueueing(void **state)
{
	struct program p = program_begin(0);

	for (int i = 0; i < 1000; i++) {
		enqueue(&p, false);
		if (i % 10 == 9)
			for (int k = 9; k >= 0; k--)
				fake_complete(fake_event(p.queue, (unsigned)k), CL_COMPLETE);
	}
	assert_true(fake_alive(FAKE_EVENT) < 600);
	cl->clFinish(p.queue);
	drain_only();
	assert_int_equal(count("dispatch", NULL), 1000);
	program_end(&p);
	nothing_alive();
}

static unsigned callbacks_seen;

static void event_seen(cl_event event, cl_int status, void *data)
{
	assert_int_equal(status, CL_COMPLETE);
	assert_ptr_equal(data, &callbacks_seen);
	assert_int_equal(fake_references(event), 2); /* the program's and the command's */
	callbacks_seen++;
}

static void event_callbacks(void **state)
{
	struct program p = program_begin(0);
	cl_event e = enqueue(&p, true);

	callbacks_seen = 0;
	cl->clSetEventCallback(e, CL_COMPLETE, event_seen, &callbacks_seen);
	fake_complete(e, CL_COMPLETE);
	assert_int_equal(callbacks_seen, 1);
	cl->clReleaseEvent(e);
	drain_only();
	assert_int_equal(count("dispatch", NULL), 1);
	program_end(&p);
	nothing_alive();
}

static unsigned contexts_destroyed;

static void context_destroyed(cl_context c, void *data)
{
	contexts_destroyed++;
}

/* The program never looks; its context must go when it lets go of it all the same. */
static void nothing_outlives_the_program(void **state)
{
	struct program p = program_begin(0);

	contexts_destroyed = 0;
	cl->clSetContextDestructorCallback(p.context, context_destroyed, NULL);
	cl->clReleaseEvent(enqueue(&p, true));
	enqueue(&p, false);
	fake_complete(fake_event(p.queue, 1), CL_COMPLETE);
	fake_complete(fake_event(p.queue, 0), CL_COMPLETE);
	program_end(&p);
	assert_int_equal(contexts_destroyed, 1);
	drain_only();
	assert_int_equal(count("dispatch", NULL), 2);
	nothing_alive();
}

static void work_outlives_its_queue(void **state)
{
	struct program p = program_begin(0);
	cl_event first, second;

	contexts_destroyed = 0;
	cl->clSetContextDestructorCallback(p.context, context_destroyed, NULL);
	enqueue(&p, false);
	enqueue(&p, false);
	second = fake_event(p.queue, 0);
	first = fake_event(p.queue, 1);
	program_end(&p);
	assert_int_equal(contexts_destroyed, 0);
	fake_complete(first, CL_COMPLETE);
	fake_complete(second, CL_COMPLETE);
	assert_int_equal(contexts_destroyed, 1);
	drain_only();
	assert_int_equal(count("dispatch", NULL), 2);
	nothing_alive();
}

static void failures(void **state)
{
	struct program p = program_begin(0);
	const size_t global = 1;

	fake.fail_enqueue = CL_OUT_OF_RESOURCES;
	assert_int_equal(cl->clEnqueueNDRangeKernel(p.queue, p.kernel, 1, NULL, &global, NULL, 0,
						    NULL, NULL),
			 CL_OUT_OF_RESOURCES);
	assert_int_equal(cl->clFinish(NULL), CL_INVALID_COMMAND_QUEUE);
	enqueue(&p, false);
	fake_complete(fake_event(p.queue, 0), -9999);
	fake.refuse_times = true;
	enqueue(&p, false);
	cl->clFinish(p.queue);
	drain_only();
	assert_int_equal(count("dispatch", NULL), 2);
	assert_int_equal((int32_t)dispatch(0)->values[DISPATCH_STATUS], -9999);
	assert_int_equal(dispatch(0)->values[DISPATCH_UNTIMED], UNTIMED_FAILED);
	assert_int_equal(dispatch(0)->values[DISPATCH_START], 0);
	assert_int_equal(dispatch(1)->values[DISPATCH_UNTIMED], UNTIMED_QUERY);
	assert_int_equal(count("sync", "queue"), 1);
	program_end(&p);
	nothing_alive();
}

/* ---- what the program is shown ---- */

static void profiling_is_hidden(void **state)
{
	struct program p = program_begin(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	cl_command_queue_properties properties = 0;
	cl_queue_properties list[8];
	cl_ulong time;
	size_t size;
	cl_event e = enqueue(&p, true);

	cl->clFinish(p.queue);
	cl->clGetCommandQueueInfo(p.queue, CL_QUEUE_PROPERTIES, sizeof(properties), &properties,
				  NULL);
	assert_int_equal(properties, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	assert_int_equal(cl->clGetCommandQueueInfo(p.queue, CL_QUEUE_PROPERTIES_ARRAY, sizeof(list),
						   list, &size),
			 CL_SUCCESS);
	assert_int_equal(size, 3 * sizeof(list[0]));
	assert_int_equal(list[1], CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	assert_int_equal(
		cl->clGetCommandQueueInfo(p.queue, CL_QUEUE_PROPERTIES_ARRAY, 8, list, NULL),
		CL_INVALID_VALUE);
	assert_int_equal(
		cl->clGetEventProfilingInfo(e, CL_PROFILING_COMMAND_END, sizeof(time), &time, NULL),
		CL_PROFILING_INFO_NOT_AVAILABLE);
	cl->clReleaseEvent(e);
	program_end(&p);

	p = program_begin(CL_QUEUE_PROFILING_ENABLE);
	e = enqueue(&p, true);
	cl->clFinish(p.queue);
	assert_int_equal(
		cl->clGetEventProfilingInfo(e, CL_PROFILING_COMMAND_END, sizeof(time), &time, NULL),
		CL_SUCCESS);
	cl->clReleaseEvent(e);
	program_end(&p);
	nothing_alive();
}

static void profiling_refused(void **state)
{
	struct program p;

	fake.refuse_profiling = true;
	p = program_begin(0);
	enqueue(&p, false);
	cl->clReleaseEvent(enqueue(&p, true));
	cl->clFinish(p.queue);
	drain_only();
	assert_int_equal(count("dispatch", NULL), 2);
	assert_int_equal(dispatch(0)->values[DISPATCH_UNTIMED], UNTIMED_NO_PROFILING);
	assert_int_equal(dispatch(1)->values[DISPATCH_UNTIMED], UNTIMED_NO_PROFILING);
	program_end(&p);
	nothing_alive();
}

/* ---- identity ---- */

static void handles_are_reused(void **state)
{
	struct program p = program_begin(0);
	cl_kernel first = p.kernel;
	cl_command_queue queue = p.queue;
	cl_int error;

	enqueue(&p, false);
	cl->clFinish(p.queue);
	cl->clRetainKernel(p.kernel);
	cl->clReleaseKernel(p.kernel);
	enqueue(&p, false);
	cl->clReleaseKernel(p.kernel);
	p.kernel = cl->clCreateKernel(p.program, "other", &error);
	assert_ptr_equal(p.kernel, first);
	cl->clFinish(p.queue);
	cl->clReleaseCommandQueue(p.queue);
	p.queue = queue_create(p.context, 0);
	assert_ptr_equal(p.queue, queue);
	enqueue(&p, false);
	cl->clFinish(p.queue);
	drain_only();
	assert_int_equal(dispatch(0)->values[DISPATCH_KERNEL],
			 dispatch(1)->values[DISPATCH_KERNEL]);
	assert_int_not_equal(dispatch(1)->values[DISPATCH_KERNEL],
			     dispatch(2)->values[DISPATCH_KERNEL]);
	assert_int_not_equal(dispatch(1)->values[DISPATCH_QUEUE],
			     dispatch(2)->values[DISPATCH_QUEUE]);
	program_end(&p);
	nothing_alive();
}

static void sub_devices_are_agents(void **state)
{
	struct program p = program_begin(0);
	cl_device_id part;
	cl_uint n;
	cl_int error;

	enqueue(&p, false);
	cl->clFinish(p.queue);
	cl->clReleaseCommandQueue(p.queue);
	cl->clCreateSubDevices(fake_device(), NULL, 1, &part, &n);
	p.queue = cl->clCreateCommandQueue(p.context, part, 0, &error);
	enqueue(&p, false);
	cl->clFinish(p.queue);
	cl->clReleaseDevice(part);
	drain_only();
	assert_int_not_equal(dispatch(0)->values[DISPATCH_AGENT],
			     dispatch(1)->values[DISPATCH_AGENT]);
	program_end(&p);
	nothing_alive();
}

/* A tool asks what device a record means: the agent of the machine, with OpenCL's handle on it. */
static void devices_join_agents(void **state)
{
	struct program p = program_begin(0);
	const kymo_agent_t *whole, *part_agent;
	cl_device_id part;
	cl_uint n;
	cl_int error;

	enqueue(&p, false);
	cl->clFinish(p.queue);
	cl->clReleaseCommandQueue(p.queue);
	cl->clCreateSubDevices(fake_device(), NULL, 1, &part, &n);
	p.queue = cl->clCreateCommandQueue(p.context, part, 0, &error);
	enqueue(&p, false);
	cl->clFinish(p.queue);
	drain_only();
	assert_int_equal(
		kymo_agent_find_record((uint32_t)dispatch(0)->values[DISPATCH_AGENT], &whole),
		KYMO_OK);
	assert_int_equal(
		kymo_agent_find_record((uint32_t)dispatch(1)->values[DISPATCH_AGENT], &part_agent),
		KYMO_OK);
	assert_int_equal(whole->pci->domain, 0xfffe);
	assert_int_equal(whole->pci->device, 0x1f);
	assert_int_equal(whole->pci->function, 7);
	assert_string_equal(whole->uuid, "0102030405060708090a0b0c0d0e0f10");
	assert_int_equal(whole->compute_units, 4);
	assert_string_equal(whole->handles[0]->domain, "opencl");
	assert_ptr_equal(whole->handles[0]->handle, (uintptr_t)fake_device());
	assert_null(whole->handles[1]);
	assert_int_equal(part_agent->parent, whole->id);
	assert_ptr_equal(part_agent->handles[0]->handle, (uintptr_t)part);
	cl->clReleaseDevice(part);
	assert_int_equal(kymo_agent_find(part_agent->id, &part_agent), KYMO_OK);
	assert_null(part_agent->handles[0]);
	program_end(&p);
	nothing_alive();
}

static void memory_lives(void **state)
{
	struct program p = program_begin(0);
	const cl_buffer_region region = {0, 100};
	const struct record *parent, *child;
	cl_mem buffer_, part;
	uint64_t others;
	cl_int error;

	buffer_ = cl->clCreateBuffer(p.context, CL_MEM_ALLOC_HOST_PTR, 1000, NULL, &error);
	others = cap_new_allocation(); /* of another runtime's memory */
	part = cl->clCreateSubBuffer(buffer_, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
	cl->clRetainMemObject(buffer_);
	cl->clReleaseMemObject(buffer_);
	cl->clReleaseMemObject(buffer_);
	drain_only();
	parent = record("allocation", "allocate", 0);
	child = record("allocation", "allocate", 1);
	assert_int_equal(parent->values[ALLOCATION_BYTES], 1000);
	assert_int_equal(parent->values[ALLOCATION_KIND], MEMORY_HOST_PINNED);
	assert_int_equal(child->values[ALLOCATION_WHAT], ALLOCATION_SUB_BUFFER);
	assert_int_equal(child->values[ALLOCATION_PARENT], parent->values[ALLOCATION_ID]);
	assert_in_range(others, parent->values[ALLOCATION_ID] + 1,
			child->values[ALLOCATION_ID] - 1);
	/* the sub-buffer keeps it */
	assert_int_equal(count("allocation", "free"), 0);
	cl->clReleaseMemObject(part);
	drain_only();
	assert_int_equal(record("allocation", "free", 0)->values[ALLOCATION_ID],
			 child->values[ALLOCATION_ID]);
	assert_int_equal(record("allocation", "free", 1)->values[ALLOCATION_ID],
			 parent->values[ALLOCATION_ID]);
	assert_int_equal(count("allocation", "free"), 2);
	program_end(&p);
	nothing_alive();
}

static void copies(void **state)
{
	struct program p = program_begin(0);
	const struct record *r;
	char host[64];
	cl_int error;
	cl_mem m = cl->clCreateBuffer(p.context, 0, 64, NULL, &error);
	void *mapped;

	cl->clEnqueueWriteBuffer(p.queue, m, CL_FALSE, 0, 40, host, 0, NULL, NULL);
	cl->clEnqueueReadBuffer(p.queue, m, CL_TRUE, 0, 50, host, 0, NULL, NULL);
	mapped = cl->clEnqueueMapBuffer(p.queue, m, CL_TRUE, CL_MAP_READ, 0, 60, 0, NULL, NULL,
					NULL);
	cl->clEnqueueUnmapMemObject(p.queue, m, mapped, 0, NULL, NULL);
	cl->clFinish(p.queue);
	drain_only();
	r = record("copy", "write", 0);
	assert_int_equal(r->values[COPY_BYTES], 40);
	assert_int_equal(r->values[COPY_SOURCE_AGENT], 0);
	assert_int_not_equal(r->values[COPY_DESTINATION_AGENT], 0);
	assert_int_equal(r->values[COPY_DESTINATION_KIND], MEMORY_DEVICE);
	assert_int_equal(r->values[COPY_SOURCE_KIND], MEMORY_HOST_PAGEABLE);
	r = record("copy", "read", 0);
	assert_int_equal(r->values[COPY_BYTES], 50);
	assert_int_equal(r->values[COPY_BLOCKING], 1);
	assert_int_equal(record("copy", "map", 0)->values[COPY_BYTES], 60);
	assert_int_equal(record("copy", "unmap", 0)->values[COPY_BYTES], 60);
	assert_int_equal(count("sync", "blocking"), 2);
	cl->clReleaseMemObject(m);
	program_end(&p);
	nothing_alive();
}

/* ---- command buffers ---- */

static struct {
	ocl_pfn_clCreateCommandBufferKHR create;
	ocl_pfn_clRetainCommandBufferKHR retain;
	ocl_pfn_clReleaseCommandBufferKHR release;
	ocl_pfn_clFinalizeCommandBufferKHR finalize;
	ocl_pfn_clEnqueueCommandBufferKHR enqueue;
	ocl_pfn_clCommandNDRangeKernelKHR kernel;
	ocl_pfn_clCommandCopyBufferKHR copy;
	ocl_older_clCommandCopyBufferKHR copy_older;
	ocl_pfn_clCommandFillBufferKHR fill;
	ocl_pfn_clUpdateMutableCommandsKHR update;
	ocl_older_clUpdateMutableCommandsKHR update_older;
	ocl_pfn_clRemapCommandBufferKHR remap;
} cb;

static void *by_name(const char *name)
{
	return cl->clGetExtensionFunctionAddressForPlatform((cl_platform_id)1, name);
}

static void command_buffers(cl_version version)
{
	fake.buffers = version;
	cb.create = (ocl_pfn_clCreateCommandBufferKHR)by_name("clCreateCommandBufferKHR");
	cb.retain = (ocl_pfn_clRetainCommandBufferKHR)by_name("clRetainCommandBufferKHR");
	cb.release = (ocl_pfn_clReleaseCommandBufferKHR)by_name("clReleaseCommandBufferKHR");
	cb.finalize = (ocl_pfn_clFinalizeCommandBufferKHR)by_name("clFinalizeCommandBufferKHR");
	cb.enqueue = (ocl_pfn_clEnqueueCommandBufferKHR)by_name("clEnqueueCommandBufferKHR");
	cb.kernel = (ocl_pfn_clCommandNDRangeKernelKHR)by_name("clCommandNDRangeKernelKHR");
	cb.copy = (ocl_pfn_clCommandCopyBufferKHR)by_name("clCommandCopyBufferKHR");
	cb.copy_older = (ocl_older_clCommandCopyBufferKHR)by_name("clCommandCopyBufferKHR");
	cb.fill = (ocl_pfn_clCommandFillBufferKHR)by_name("clCommandFillBufferKHR");
	cb.update = (ocl_pfn_clUpdateMutableCommandsKHR)by_name("clUpdateMutableCommandsKHR");
	cb.update_older =
		(ocl_older_clUpdateMutableCommandsKHR)by_name("clUpdateMutableCommandsKHR");
	cb.remap = (ocl_pfn_clRemapCommandBufferKHR)by_name("clRemapCommandBufferKHR");
	forget();
}

/* A buffer of a kernel (64 x 2 by 8 x 1) and a copy of 40 bytes, not final yet. */
static cl_command_buffer_khr buffer_of(const struct program *p, cl_uint queues,
				       const cl_command_queue *list, cl_mem m,
				       cl_mutable_command_khr *handle)
{
	const size_t global[2] = {64, 2}, local[2] = {8, 1};
	cl_command_queue last = queues > 1 ? list[queues - 1] : NULL;
	cl_sync_point_khr point;
	cl_int error;
	cl_command_buffer_khr b = cb.create(queues, list, NULL, &error);

	assert_int_equal(error, CL_SUCCESS);
	assert_int_equal(cb.kernel(b, NULL, NULL, p->kernel, 2, NULL, global, local, 0, NULL,
				   &point, handle),
			 CL_SUCCESS);
	if (fake.buffers < CL_MAKE_VERSION(0, 9, 5))
		error = cb.copy_older(b, last, m, m, 0, 0, 40, 1, &point, NULL, NULL);
	else
		error = cb.copy(b, last, NULL, m, m, 0, 0, 40, 1, &point, NULL, NULL);
	assert_int_equal(error, CL_SUCCESS);
	return b;
}

static void what_is_inside_a_command_buffer(void **state)
{
	const cl_version versions[] = {CL_MAKE_VERSION(0, 9, 4), CL_MAKE_VERSION(0, 9, 5)};
	struct program p = program_begin(0);
	const struct record *d;
	cl_int error;
	cl_mem m = cl->clCreateBuffer(p.context, 0, 64, NULL, &error);

	for (unsigned v = 0; v < 2; v++) {
		cl_command_buffer_khr b;
		uint64_t queue;

		command_buffers(versions[v]);
		b = buffer_of(&p, 1, &p.queue, m, NULL);
		assert_int_equal(cb.enqueue(0, NULL, b, 0, NULL, NULL), CL_INVALID_OPERATION);
		cb.finalize(b);
		for (unsigned i = 0; i < 2; i++)
			assert_int_equal(cb.enqueue(0, NULL, b, 0, NULL, NULL), CL_SUCCESS);
		assert_int_equal(fake_alive(FAKE_EVENT), 2);
		drain_only();
		assert_int_equal(count("dispatch", NULL) + count("copy", NULL), 0);
		cl->clFinish(p.queue);
		assert_int_equal(fake_alive(FAKE_EVENT), 0);
		drain_only();
		assert_int_equal(count("opencl", "clCommandCopyBufferKHR"), 1);
		assert_int_equal(count("dispatch", NULL), 4);
		assert_int_equal(count("copy", NULL), 2);
		for (unsigned i = 0; i < 2; i++) {
			const uint64_t call =
				record("opencl", "clEnqueueCommandBufferKHR", i + 1)->id;
			const struct record *whole = dispatch(2 * i), *k = dispatch(2 * i + 1);
			const struct record *c = record("copy", "copy", i);

			assert_int_equal(whole->values[DISPATCH_CORRELATION], call);
			assert_int_equal(whole->values[DISPATCH_UNTIMED], UNTIMED_NO);
			assert_int_equal(whole->values[DISPATCH_DURATION], 100);
			assert_int_equal(whole->values[DISPATCH_GLOBAL_X], 0);
			assert_int_equal(k->values[DISPATCH_CORRELATION], call);
			assert_int_equal(k->values[DISPATCH_UNTIMED], UNTIMED_IN_BUFFER);
			assert_int_equal(k->values[DISPATCH_START], 0);
			assert_int_not_equal(k->values[DISPATCH_KERNEL],
					     whole->values[DISPATCH_KERNEL]);
			assert_int_equal(k->values[DISPATCH_GLOBAL_Y], 2);
			assert_int_equal(k->values[DISPATCH_LOCAL_X], 8);
			queue = whole->values[DISPATCH_QUEUE];
			assert_int_not_equal(queue, 0);
			assert_int_equal(k->values[DISPATCH_QUEUE], queue);
			assert_int_equal(c->values[COPY_QUEUE], queue);
			assert_int_equal(c->values[COPY_BYTES], 40);
			assert_int_equal(c->values[COPY_SOURCE_KIND], MEMORY_DEVICE);
			assert_int_equal(c->values[COPY_UNTIMED], UNTIMED_IN_BUFFER);
		}
		d = record("opencl", "clEnqueueCommandBufferKHR", 0);
		assert_non_null(d);
		cb.release(b);
	}
	assert_int_equal(fake_command_buffers(), 0);
	cl->clReleaseMemObject(m);
	program_end(&p);
	nothing_alive();
}

/* What the newer headers have; see command_buffer.c for both. */
struct config {
	cl_mutable_command_khr command;
	cl_uint counts[3];
	cl_uint dims;
	const void *lists[3];
	const size_t *offset, *global, *local;
};

static void update_global(cl_command_buffer_khr b, cl_mutable_command_khr handle,
			  const size_t *global)
{
	struct {
		cl_uint type;
		const void *next;
		struct config config;
	} older = {1, NULL, {.command = handle, .global = global}};
	const struct {
		cl_uint type;
		const void *next;
		cl_uint count;
		const void *list;
	} base = {0, NULL, 1, &older};
	const void *configs[] = {&older.config};
	const cl_uint type = 0;
	cl_int error;

	if (fake.buffers < CL_MAKE_VERSION(0, 9, 2))
		error = cb.update_older(b, (const struct _cl_mutable_base_config_khr *)&base);
	else
		error = cb.update(b, 1, &type, configs);
	assert_int_equal(error, CL_SUCCESS);
}

static void commands_change_between_runs(void **state)
{
	const cl_version versions[] = {CL_MAKE_VERSION(0, 9, 0), CL_MAKE_VERSION(0, 9, 5)};
	struct program p = program_begin(0);
	const size_t global[2] = {128, 4};
	cl_int error;
	cl_mem m = cl->clCreateBuffer(p.context, 0, 64, NULL, &error);

	for (unsigned v = 0; v < 2; v++) {
		cl_mutable_command_khr handle = NULL, other;
		cl_command_buffer_khr b, mapped;

		command_buffers(versions[v]);
		b = buffer_of(&p, 1, &p.queue, m, &handle);
		cb.finalize(b);
		cb.enqueue(0, NULL, b, 0, NULL, NULL);
		update_global(b, handle, global); /* the first run is still pending */
		cb.enqueue(0, NULL, b, 0, NULL, NULL);
		mapped = cb.remap(b, CL_FALSE, 1, &p.queue, 1, &handle, &other, &error);
		assert_non_null(mapped);
		cb.release(b);
		update_global(mapped, other, (size_t[]){256, 1});
		cb.enqueue(0, NULL, mapped, 0, NULL, NULL);
		cl->clFinish(p.queue);
		drain_only();
		assert_int_equal(count("dispatch", NULL), 6);
		assert_int_equal(dispatch(1)->values[DISPATCH_GLOBAL_X], 64);
		assert_int_equal(dispatch(3)->values[DISPATCH_GLOBAL_X], 128);
		assert_int_equal(dispatch(3)->values[DISPATCH_GLOBAL_Y], 4);
		assert_int_equal(dispatch(3)->values[DISPATCH_LOCAL_X], 8);
		assert_int_equal(dispatch(5)->values[DISPATCH_GLOBAL_X], 256);
		assert_int_equal(count("copy", NULL), 3);
		cb.release(mapped);
	}
	cl->clReleaseMemObject(m);
	program_end(&p);
	nothing_alive();
}

static void command_buffers_over_queues(void **state)
{
	struct program p = program_begin(0);
	cl_command_queue more = queue_create(p.context, 0);
	cl_command_queue queues[2] = {p.queue, more}, swapped[2] = {more, p.queue};
	cl_int error;
	cl_mem m = cl->clCreateBuffer(p.context, 0, 64, NULL, &error);
	cl_command_buffer_khr b;
	cl_event event;

	command_buffers(CL_MAKE_VERSION(0, 9, 5));
	b = buffer_of(&p, 2, queues, m, NULL);
	cb.retain(b);
	cb.finalize(b);
	cb.release(b);
	assert_int_equal(cb.enqueue(0, NULL, b, 0, NULL, &event), CL_SUCCESS);
	assert_int_equal(cb.enqueue(2, swapped, b, 0, NULL, NULL), CL_SUCCESS);
	cl->clFinish(p.queue);
	drain_only();
	assert_int_equal(count("dispatch", NULL), 2);
	assert_int_equal(fake_references(event), 1); /* the program's */
	cl->clReleaseEvent(event);
	cl->clFinish(more);
	drain_only();
	assert_int_equal(count("dispatch", NULL), 4);
	assert_int_equal(dispatch(1)->values[DISPATCH_QUEUE], dispatch(0)->values[DISPATCH_QUEUE]);
	assert_int_not_equal(dispatch(2)->values[DISPATCH_QUEUE],
			     dispatch(0)->values[DISPATCH_QUEUE]);
	assert_int_equal(record("copy", NULL, 0)->values[COPY_QUEUE],
			 dispatch(2)->values[DISPATCH_QUEUE]);
	assert_int_equal(record("copy", NULL, 1)->values[COPY_QUEUE],
			 dispatch(0)->values[DISPATCH_QUEUE]);
	/* The queue goes while the buffer runs. */
	forget();
	cb.enqueue(2, swapped, b, 0, NULL, NULL);
	event = fake_event(more, 0);
	cl->clReleaseCommandQueue(more);
	fake_complete(event, -5);
	drain_only();
	assert_int_equal(count("dispatch", NULL), 2);
	assert_int_equal(dispatch(1)->values[DISPATCH_UNTIMED], UNTIMED_FAILED);
	assert_int_equal((int32_t)dispatch(1)->values[DISPATCH_STATUS], -5);
	cb.release(b);
	cl->clReleaseMemObject(m);
	program_end(&p);
	nothing_alive();
}

static void hostile_command_buffers(void **state)
{
	struct program p = program_begin(0);
	const cl_command_queue none = NULL;
	cl_command_buffer_khr b;
	cl_int error;

	command_buffers(CL_MAKE_VERSION(0, 9, 5));
	assert_null(cb.create(0, NULL, NULL, &error));
	assert_int_equal(error, CL_INVALID_VALUE);
	assert_null(cb.create(1, &none, NULL, NULL));
	assert_null(cb.create(UINT32_MAX, &p.queue, NULL, &error));
	assert_int_equal(cb.enqueue(0, NULL, NULL, 0, NULL, NULL), CL_INVALID_COMMAND_BUFFER_KHR);
	assert_int_equal(cb.enqueue(UINT32_MAX, NULL, NULL, 0, NULL, NULL),
			 CL_INVALID_COMMAND_BUFFER_KHR);
	assert_int_equal(cb.retain(NULL), CL_INVALID_COMMAND_BUFFER_KHR);
	assert_int_equal(cb.release(NULL), CL_INVALID_COMMAND_BUFFER_KHR);
	assert_int_equal(
		cb.kernel(NULL, NULL, NULL, p.kernel, 7, NULL, NULL, NULL, 0, NULL, NULL, NULL),
		CL_INVALID_COMMAND_BUFFER_KHR);
	assert_int_equal(cb.update(NULL, UINT32_MAX, NULL, NULL), CL_INVALID_COMMAND_BUFFER_KHR);
	assert_null(cb.remap(NULL, CL_TRUE, 0, NULL, 0, NULL, NULL, NULL));
	/* An empty one, and one given back; its handle means nothing any more. */
	b = cb.create(1, &p.queue, NULL, &error);
	assert_int_equal(cb.kernel(b, NULL, NULL, NULL, 1, NULL, NULL, NULL, 0, NULL, NULL, NULL),
			 CL_INVALID_KERNEL);
	cb.finalize(b);
	cb.enqueue(0, NULL, b, 0, NULL, NULL);
	cb.release(b);
	cl->clFinish(p.queue);
	drain_only();
	assert_int_equal(count("dispatch", NULL), 1);
	assert_int_equal(count("copy", NULL), 0);
	assert_int_equal(fake_command_buffers(), 0);
	program_end(&p);
	nothing_alive();
}

/* Of a driver that does not say what its extension is like, no function that has changed. */
static void what_cannot_be_known_is_left_alone(void **state)
{
	struct program p = program_begin(0);

	fake.buffers = 0;
	assert_ptr_equal(by_name("clCommandFillBufferKHR"),
			 fake_extension("clCommandFillBufferKHR"));
	assert_ptr_not_equal(by_name("clFinalizeCommandBufferKHR"),
			     fake_extension("clFinalizeCommandBufferKHR"));
	program_end(&p);
	nothing_alive();
}

/* Where command buffers need plain queues, ours are plain. */
static void queues_for_command_buffers(void **state)
{
	const cl_device_partition_property parts[] = {CL_DEVICE_PARTITION_EQUALLY, 2, 0};
	cl_command_queue q;
	cl_command_buffer_khr b;
	cl_device_id part;
	cl_context c;
	cl_int error;

	fake.plain_buffers = true;
	cl->clCreateSubDevices(fake_device(), parts, 1, &part, NULL);
	c = cl->clCreateContext(NULL, 1, &part, NULL, NULL, &error);
	q = cl->clCreateCommandQueue(c, part, 0, &error);
	command_buffers(CL_MAKE_VERSION(0, 9, 6));
	b = cb.create(1, &q, NULL, &error);
	assert_int_equal(error, CL_SUCCESS);
	cb.finalize(b);
	assert_int_equal(cb.enqueue(0, NULL, b, 0, NULL, NULL), CL_SUCCESS);
	cl->clFinish(q);
	drain_only();
	assert_int_equal(dispatch(0)->values[DISPATCH_UNTIMED], UNTIMED_NO_PROFILING);
	cb.release(b);
	cl->clReleaseCommandQueue(q);
	cl->clReleaseContext(c);
	cl->clReleaseDevice(part);
	nothing_alive();
}

static void build_notified(cl_program program, void *data)
{
	*(cl_program *)data = program;
}

static void builds(void **state)
{
	struct program p = program_begin(0);
	cl_program notified = NULL;

	cl->clBuildProgram(p.program, 0, NULL, "-O3", NULL, NULL);
	fake.fail_build = CL_BUILD_PROGRAM_FAILURE;
	cl->clBuildProgram(p.program, 0, NULL, NULL, NULL, NULL);
	cl->clBuildProgram(p.program, 0, NULL, NULL, build_notified, &notified);
	drain_only();
	assert_ptr_equal(notified, p.program);
	assert_int_equal(count("code_object", "build"), 3);
	assert_int_equal(record("code_object", "build", 0)->values[BUILD_STATUS], 0);
	assert_int_not_equal(record("code_object", "build", 0)->values[BUILD_OPTIONS], 0);
	assert_int_equal(record("code_object", "build", 0)->values[BUILD_LOG], 0);
	for (unsigned i = 1; i < 3; i++) {
		const struct record *r = record("code_object", "build", i);

		assert_int_equal((int32_t)r->values[BUILD_STATUS], CL_BUILD_PROGRAM_FAILURE);
		assert_int_not_equal(r->values[BUILD_LOG], 0);
		assert_int_not_equal(r->values[BUILD_AGENT], 0);
	}
	program_end(&p);
	nothing_alive();
}

/* ---- threads and processes ---- */

#define THREADS 8
#define KERNELS 4000

static void *enqueue_many(void *data)
{
	struct program p = *(struct program *)data;

	for (int i = 0; i < KERNELS; i++) {
		cl_event e = enqueue(&p, i % 2);

		if (e)
			cl->clReleaseEvent(e);
		if (i % 100 == 99)
			cl->clFinish(p.queue);
	}
	cl->clFinish(p.queue);
	return NULL;
}

/* Two threads share a queue. */
static void threads(void **state)
{
	struct program p = program_begin(0), of[THREADS];
	uint64_t agent = 0;
	pthread_t t[THREADS];
	uint64_t lost = 1;

	fake.complete_at_once = true;
	for (int i = 0; i < THREADS; i++) {
		of[i] = p;
		of[i].queue = i % 2 ? of[i - 1].queue : queue_create(p.context, 0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, enqueue_many, &of[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < THREADS; i += 2)
		cl->clReleaseCommandQueue(of[i].queue);
	drain_only();
	kymo_buffer_lost(buffer, &lost);
	assert_int_equal(lost, 0);
	assert_int_equal(count("dispatch", NULL), THREADS * KERNELS);
	for (unsigned i = 0; i < record_count; i++) {
		if (strcmp(records[i].domain->name, "dispatch") != 0)
			continue;
		agent = agent ? agent : records[i].values[DISPATCH_AGENT];
		assert_int_equal(records[i].values[DISPATCH_AGENT], agent);
		assert_int_not_equal(records[i].values[DISPATCH_CORRELATION], 0);
	}
	program_end(&p);
	nothing_alive();
}

static void a_child_forgets(void **state)
{
#ifdef __SANITIZE_THREAD__
	skip(); /* it does not follow threads into children */
#endif
	struct program p = program_begin(0);
	int status = -1;
	pid_t child;

	enqueue(&p, false);
	child = fork();
	if (child == 0) {
		record_count = 0;
		cl->clFinish(p.queue); /* what the parent enqueued is not the child's */
		enqueue(&p, false);
		cl->clFinish(p.queue);
		kymo_drain(context, 2000000000u);
		_exit((int)count("dispatch", NULL));
	}
	waitpid(child, &status, 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 1);
	cl->clFinish(p.queue);
	drain_only();
	assert_int_equal(count("dispatch", NULL), 1);
	program_end(&p);
	nothing_alive();
}

static void a_stopped_context_costs_the_program_nothing(void **state)
{
	struct program p = program_begin(0);

	enqueue(&p, false);
	kymo_context_stop(context);
	fake_complete(fake_event(p.queue, 0), CL_COMPLETE);
	enqueue(&p, false);
	cl->clFinish(p.queue);
	program_end(&p);
	kymo_context_start(context);
	nothing_alive();
}

static struct {
	unsigned count;
	bool present[4]; /* devices, *num_devices */
	uint64_t number[4], stored[4];
} asked;

static void ask(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
	kymo_value_t devices = {.size = sizeof(devices)}, number = devices;

	if (r->phase != KYMO_PHASE_EXIT ||
	    strcmp(r->domain->ops[r->op].name, "clGetDeviceIDs") != 0)
		return;
	assert_int_equal(kymo_callback_value(r, 3, &devices), KYMO_OK);
	assert_int_equal(kymo_callback_value(r, 4, &number), KYMO_OK);
	assert_string_equal(number.field->name, "*num_devices");
	asked.present[asked.count] = number.present;
	asked.number[asked.count] = number.u;
	asked.stored[asked.count++] = devices.present ? devices.count : UINT64_MAX;
}

/* Counted places are there where the program gave one, or an array that is filled by it. */
static void null_pointers_are_absent(void **state)
{
	const kymo_selection_t s = {.size = sizeof(s), .domain = "opencl"};
	cl_device_id device;
	kymo_context_t c;
	cl_uint n;

	assert_int_equal(kymo_context_create(&c), KYMO_OK);
	assert_int_equal(kymo_callback_service(c, &s, ask, NULL), KYMO_OK);
	assert_int_equal(kymo_context_start(c), KYMO_OK);
	cl->clGetDeviceIDs(NULL, CL_DEVICE_TYPE_ALL, 0, NULL, NULL);
	cl->clGetDeviceIDs(NULL, CL_DEVICE_TYPE_ALL, 0, NULL, &n);
	cl->clGetDeviceIDs(NULL, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
	assert_int_equal(kymo_context_destroy(c), KYMO_OK);
	assert_int_equal(asked.count, 3);
	assert_false(asked.present[0]);
	assert_true(asked.stored[0] == UINT64_MAX);
	assert_true(asked.present[1]);
	assert_int_equal(asked.number[1], n);
	assert_true(asked.stored[1] == UINT64_MAX);
	assert_true(asked.present[2]);
	assert_int_equal(asked.stored[2], 1);
}

static void one_door(void **state)
{
	const cl_icd_dispatch *second = NULL;
	cl_uint n = 0;

	assert_int_equal(clInitLayer(sizeof(*cl) / sizeof(void *), fake_table(), &n, &second),
			 CL_SUCCESS);
	assert_ptr_equal(second, fake_table());
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, reset)
	const struct CMUnitTest tests[] = {
		TEST(finish_harvests_all),
		TEST(out_of_order),
		TEST(an_in_order_queue_is_looked_at_from_its_head),
		TEST(events_of_the_program),
		TEST(polling_is_enough),
		TEST(long_lists_are_harvested_while_enqueueing),
		TEST(event_callbacks),
		TEST(nothing_outlives_the_program),
		TEST(work_outlives_its_queue),
		TEST(failures),
		TEST(profiling_is_hidden),
		TEST(profiling_refused),
		TEST(handles_are_reused),
		TEST(sub_devices_are_agents),
		TEST(devices_join_agents),
		TEST(memory_lives),
		TEST(copies),
		TEST(what_is_inside_a_command_buffer),
		TEST(commands_change_between_runs),
		TEST(command_buffers_over_queues),
		TEST(hostile_command_buffers),
		TEST(what_cannot_be_known_is_left_alone),
		TEST(queues_for_command_buffers),
		TEST(builds),
		TEST(threads),
		TEST(a_child_forgets),
		TEST(a_stopped_context_costs_the_program_nothing),
		TEST(null_pointers_are_absent),
		TEST(one_door),
	};
	cl_uint n;

	records = calloc(RECORDS_MAX, sizeof(*records));
	if (kymo_force_configure(configure) != KYMO_OK ||
	    clInitLayer(sizeof(*cl) / sizeof(void *), fake_table(), &n, &cl) != CL_SUCCESS)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
