/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The OpenCL backend against a fake runtime: what is recorded when commands complete in odd
 * orders, fail, or outlive their queues; what the program is shown; and that nothing is kept alive
 * longer than the program keeps it.
 */
#include "fixture.h"

/* ---- device work ---- */

static void finish_collects_all(void **state)
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

static void long_lists_are_collected_while_enqueueing(void **state)
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
	mapped = cl->clEnqueueMapBuffer(p.queue, m, CL_TRUE, CL_MAP_WRITE, 0, 30, 0, NULL, NULL,
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
	assert_int_equal(record("copy", "unmap", 0)->values[COPY_BYTES], 0); /* only read */
	assert_int_equal(record("copy", "unmap", 1)->values[COPY_BYTES], 30);
	assert_int_equal(count("sync", "blocking"), 3);
	cl->clReleaseMemObject(m);
	program_end(&p);
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
	const struct CMUnitTest tests[] = {
		TEST(finish_collects_all),
		TEST(out_of_order),
		TEST(an_in_order_queue_is_looked_at_from_its_head),
		TEST(events_of_the_program),
		TEST(polling_is_enough),
		TEST(long_lists_are_collected_while_enqueueing),
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
		TEST(builds),
		TEST(threads),
		TEST(a_child_forgets),
		TEST(a_stopped_context_costs_the_program_nothing),
		TEST(null_pointers_are_absent),
		TEST(one_door),
	};

	return fixture_begin() ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
