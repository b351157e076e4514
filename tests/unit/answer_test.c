/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On a real OpenCL runtime: what a tool is answered instead of asking it, filters at record time,
 * and what becomes of calls that a tool makes all the same. Kymo is the loader's layer
 * (OPENCL_LAYERS).
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define CL_TARGET_OPENCL_VERSION 200
#include <CL/cl.h>

#include <kymo/kymo.h>

#include "opencl_args.h"

#define SECOND 1000000000ull
#define SIZE   4096u

static cl_device_id device;
static cl_context ocl;
static cl_command_queue queues[2];
static cl_kernel kernel;
static cl_mem mems[2];

/* ---- a tool ---- */

static kymo_context_t asking, filtered[5];
static _Atomic int ask_on, call_on;

static struct {
	uint64_t correlation, queue_handle, args_queue, args_global;
	uint32_t queue, agent;
	kymo_call_info_t call;
	kymo_status_t call_status, queue_status, agent_status, client_status;
	kymo_client_info_t client;
	kymo_pointer_t buffer, svm, heap;
	unsigned phases;
} told;
static void *svm;
static char *heap;
static unsigned inner_made, inner_failed;
static kymo_client_info_t delivery_client;
static _Atomic unsigned delivered[5], called[5], delivery_calls;

static void ask(const kymo_callback_record_t *r)
{
	const struct kymo_opencl_clEnqueueNDRangeKernel_args *args = r->args;
	kymo_queue_info_t queue = {.size = sizeof(queue)};

	told.phases++;
	told.correlation = r->correlation;
	told.call.size = sizeof(told.call);
	told.client.size = sizeof(told.client);
	told.buffer.size = told.svm.size = told.heap.size = sizeof(told.heap);
	told.call_status = kymo_current_call(&told.call);
	told.queue_status = kymo_current_queue("opencl", &queue);
	told.agent_status = kymo_current_agent("opencl", &told.agent);
	told.client_status = kymo_client_info(&told.client);
	told.queue = queue.queue;
	told.queue_handle = queue.handle;
	told.args_queue = (uintptr_t)args->command_queue;
	told.args_global = args->global_work_size[0];
	kymo_pointer_info(mems[0], &told.buffer);
	kymo_pointer_info(heap, &told.heap);
	if (svm)
		kymo_pointer_info((char *)svm + 100, &told.svm);
}

static void count_inner(cl_int error)
{
	inner_made++;
	inner_failed += error != CL_SUCCESS;
}

static void on_launch(kymo_context_t context, const kymo_callback_record_t *r, void *data)
{
	if (ask_on && r->phase == KYMO_PHASE_ENTER)
		ask(r);
	if (call_on && r->phase == KYMO_PHASE_EXIT) {
		cl_uint n = 0;

		count_inner(clFinish(queues[0]));
		count_inner(clGetPlatformIDs(0, NULL, &n));
		count_inner(clFlush(queues[1]));
	}
}

static bool select_launch(const kymo_domain_desc_t *domain, uint32_t op, void *data)
{
	return strcmp(domain->ops[op].name, "clEnqueueNDRangeKernel") == 0;
}

/* Every context counts what it is delivered, or called back about. */
static void deliver(kymo_buffer_t buffer, const kymo_record_t *r, void *data)
{
	unsigned which = (unsigned)(uintptr_t)data;

	delivered[which]++;
	delivery_client.size = sizeof(delivery_client);
	kymo_client_info(&delivery_client);
	if (call_on) {
		delivery_calls++;
		clFlush(queues[0]);
	}
}

static void complete(kymo_context_t context, const kymo_callback_record_t *r, void *data)
{
	called[((uintptr_t)data)]++;
}

static kymo_status_t initialize(void *data)
{
	kymo_selection_t launches = {
		.size = sizeof(launches), .domain = "opencl", .select = select_launch};

	for (int i = 0; i < 5; i++)
		kymo_context_create(&filtered[i]);
	kymo_context_create(&asking);
	kymo_callback_service(asking, &launches, on_launch, NULL);
	return kymo_context_start(asking);
}

static const kymo_tool_t tool = {.size = sizeof(tool), .name = "asker", .initialize = initialize};
static uint32_t own_priority;

static const kymo_tool_t *configure(uint32_t version, const char *library, uint32_t priority)
{
	own_priority = priority;
	return &tool;
}

/* ---- a program ---- */

static void ok(cl_int error)
{
	assert_int_equal(error, CL_SUCCESS);
}

static void launch(cl_command_queue queue, unsigned times)
{
	const size_t global = 64;

	for (unsigned i = 0; i < times; i++)
		ok(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
}

static void copy(cl_command_queue queue, cl_mem mem, unsigned times)
{
	for (unsigned i = 0; i < times; i++)
		ok(clEnqueueWriteBuffer(queue, mem, CL_TRUE, 0, SIZE, heap, 0, NULL, NULL));
}

static void finish(void)
{
	ok(clFinish(queues[0]));
	ok(clFinish(queues[1]));
}

static bool find_device(void)
{
	cl_platform_id platforms[16];
	cl_uint count = 0;

	if (clGetPlatformIDs(16, platforms, &count) != CL_SUCCESS)
		return false;
	for (cl_uint i = 0; i < count && !device; i++)
		clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &device, NULL);
	return device != NULL;
}

static int setup(void **state)
{
	const char *source = "kernel void k(global float *x) { x[get_global_id(0)] += 1; }";
	cl_program program;
	cl_int error;

	ocl = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	ok(error);
	for (int i = 0; i < 2; i++) {
		queues[i] = clCreateCommandQueueWithProperties(ocl, device, NULL, &error);
		ok(error);
		mems[i] = clCreateBuffer(ocl, CL_MEM_READ_WRITE, SIZE, NULL, &error);
		ok(error);
	}
	program = clCreateProgramWithSource(ocl, 1, &source, NULL, &error);
	ok(error);
	ok(clBuildProgram(program, 1, &device, NULL, NULL, NULL));
	kernel = clCreateKernel(program, "k", &error);
	ok(error);
	ok(clSetKernelArg(kernel, 0, sizeof(cl_mem), &mems[0]));
	svm = clSVMAlloc(ocl, CL_MEM_READ_WRITE, SIZE, 0);
	heap = calloc(1, SIZE);
	assert_non_null(heap);
	return 0;
}

/* ---- answers ---- */

static void test_answers(void **state)
{
	uint32_t first;

	ask_on = 1;
	launch(queues[1], 1);
	finish();
	first = told.queue;
	assert_int_equal(told.phases, 1);
	assert_int_equal(told.call_status, KYMO_OK);
	assert_int_equal(told.call.correlation, told.correlation);
	assert_string_equal(told.call.domain->ops[told.call.op].name, "clEnqueueNDRangeKernel");
	assert_int_equal(told.call.thread, kymo_thread_index());
	assert_int_equal(told.queue_status, KYMO_OK);
	assert_int_equal(told.queue_handle, (uintptr_t)queues[1]);
	assert_int_equal(told.args_queue, (uintptr_t)queues[1]);
	assert_int_equal(told.args_global, 64);
	assert_int_equal(told.agent_status, KYMO_OK);
	assert_int_not_equal(told.agent, 0);
	launch(queues[0], 1);
	finish();
	ask_on = 0;
	assert_int_equal(told.queue_handle, (uintptr_t)queues[0]);
	assert_int_not_equal(told.queue, first);
}

static void test_pointers(void **state)
{
	assert_string_equal(told.buffer.domain->name, "opencl");
	assert_int_equal(told.buffer.kind, KYMO_MEMORY_DEVICE);
	assert_int_equal(told.buffer.bytes, SIZE);
	assert_int_equal(told.buffer.agent, told.agent);
	assert_int_not_equal(told.buffer.allocation, 0);
	assert_null(told.heap.domain);
	assert_int_equal(told.heap.kind, KYMO_MEMORY_PAGEABLE);
	if (svm) {
		assert_int_equal(told.svm.kind, KYMO_MEMORY_SHARED);
		assert_int_equal(told.svm.base, (uintptr_t)svm);
		assert_int_equal(told.svm.bytes, SIZE);
	}
}

static void test_client(void **state)
{
	kymo_client_info_t c = {.size = sizeof(c)};

	assert_int_equal(told.client_status, KYMO_OK);
	assert_string_equal(told.client.name, "asker");
	assert_int_equal(told.client.priority, own_priority);
	assert_int_equal(told.client.tools, 1);
	assert_int_equal(kymo_client_info(&c), KYMO_ERROR_STATE);
}

static void *ask_elsewhere(void *arg)
{
	kymo_queue_info_t q = {.size = sizeof(q)};
	kymo_status_t *status = arg;

	*status = kymo_current_queue("opencl", &q);
	return NULL;
}

static void test_outside(void **state)
{
	kymo_queue_info_t q = {.size = sizeof(q)};
	kymo_call_info_t c = {.size = sizeof(c)};
	kymo_status_t elsewhere = KYMO_OK;
	kymo_pointer_t p = {.size = 4};
	cl_command_queue gone;
	pthread_t thread;
	cl_int error;

	assert_int_equal(kymo_current_call(&c), KYMO_ERROR_NOT_FOUND);
	assert_int_equal(kymo_current_queue("opencl", &q), KYMO_OK);
	assert_int_equal(q.handle, (uintptr_t)queues[0]); /* of the last launch */
	assert_int_equal(kymo_current_queue("nothing", &q), KYMO_ERROR_NOT_FOUND);
	assert_int_equal(kymo_current_queue("dispatch", &q), KYMO_ERROR_UNSUPPORTED);
	assert_int_equal(kymo_pointer_info(heap, &p), KYMO_ERROR_INCOMPATIBLE);
	assert_int_equal(pthread_create(&thread, NULL, ask_elsewhere, &elsewhere), 0);
	pthread_join(thread, NULL);
	assert_int_equal(elsewhere, KYMO_ERROR_NOT_FOUND);
	gone = clCreateCommandQueueWithProperties(ocl, device, NULL, &error);
	ok(error);
	launch(gone, 1);
	ok(clFinish(gone));
	ok(clReleaseCommandQueue(gone));
	assert_int_equal(kymo_current_queue("opencl", &q), KYMO_ERROR_NOT_FOUND);
}

/* ---- filters ---- */

struct wish {
	uint32_t queue, agent;
	uint64_t memory;
};
static struct wish wishes[5];

static bool wanted(const kymo_work_t *work, void *data)
{
	const struct wish *w = &wishes[(uintptr_t)data];

	return (!w->queue || work->queue == w->queue) && (!w->agent || work->agent == w->agent) &&
	       (!w->memory || work->memory[0] == w->memory || work->memory[1] == w->memory);
}

static void make(unsigned which, const char *domain, bool buffered)
{
	kymo_selection_t s = {.size = sizeof(s),
			      .domain = domain,
			      .filter = wanted,
			      .data = (void *)(uintptr_t)which};
	kymo_buffer_desc_t d = {
		.size = sizeof(d), .deliver = deliver, .data = (void *)(uintptr_t)which};
	kymo_buffer_t buffer;

	if (buffered) {
		assert_int_equal(kymo_buffer_create(filtered[which], &d, &buffer), KYMO_OK);
		assert_int_equal(kymo_buffer_service(filtered[which], &s, buffer), KYMO_OK);
	} else {
		assert_int_equal(kymo_callback_service(filtered[which], &s, complete,
						       (void *)(uintptr_t)which),
				 KYMO_OK);
	}
	assert_int_equal(kymo_context_start(filtered[which]), KYMO_OK);
}

/* The id that records carry, as the answers say it. */
static uint32_t queue_id(cl_command_queue queue)
{
	kymo_queue_info_t q = {.size = sizeof(q)};

	launch(queue, 1);
	assert_int_equal(kymo_current_queue("opencl", &q), KYMO_OK);
	assert_int_equal(q.handle, (uintptr_t)queue);
	return q.queue;
}

static uint64_t memory_id(cl_mem mem)
{
	kymo_pointer_t p = {.size = sizeof(p)};

	assert_int_equal(kymo_pointer_info(mem, &p), KYMO_OK);
	return p.allocation;
}

static void test_filters(void **state)
{
	uint32_t agent = told.agent;

	wishes[0].queue = queue_id(queues[0]);
	wishes[1].queue = queue_id(queues[1]);
	wishes[2].memory = memory_id(mems[1]);
	wishes[3].agent = agent;
	wishes[4].agent = agent + 1000;
	make(0, "dispatch", true);
	make(1, "dispatch", false);
	make(2, "copy", true);
	make(3, "dispatch", true);
	make(4, "dispatch", false);
	launch(queues[0], 3);
	launch(queues[1], 5);
	copy(queues[0], mems[0], 2);
	copy(queues[1], mems[1], 4);
	finish();
	for (int i = 0; i < 5; i++)
		assert_int_equal(kymo_drain(filtered[i], 5 * SECOND), KYMO_OK);
	assert_int_equal(delivered[0], 3);
	assert_int_equal(called[1], 5);
	assert_int_equal(delivered[2], 4);
	assert_int_equal(delivered[3], 8);
	assert_int_equal(called[4], 0);
	assert_string_equal(delivery_client.name, "asker");
	for (int i = 0; i < 5; i++) {
		bool buffered = i == 0 || i == 2;

		if (i != 3)
			assert_int_equal(kymo_context_destroy(filtered[i]), KYMO_OK);
		assert_int_equal(i == 3 || buffered || called[i] == (i == 1 ? 5u : 0u), true);
	}
}

/* ---- calls from callbacks ---- */

static unsigned watched;

static void watch(kymo_context_t context, const kymo_callback_record_t *r, void *data)
{
	watched += r->phase == KYMO_PHASE_ENTER;
}

static void test_inner_calls(void **state)
{
	kymo_selection_t all = {.size = sizeof(all), .domain = "opencl"};
	uint64_t before = kymo_inner_calls();
	kymo_context_t watching;
	unsigned records;

	/* Calls that nobody wants do not come by Kymo: here all are wanted. */
	assert_int_equal(kymo_context_create(&watching), KYMO_OK);
	assert_int_equal(kymo_callback_service(watching, &all, watch, NULL), KYMO_OK);
	assert_int_equal(kymo_context_start(watching), KYMO_OK);
	delivered[3] = 0;
	call_on = 1;
	launch(queues[0], 2);
	finish();
	assert_int_equal(kymo_drain(filtered[3], 5 * SECOND), KYMO_OK);
	call_on = 0;
	records = delivered[3];
	assert_int_equal(inner_made, 6);
	assert_int_equal(inner_failed, 0);
	assert_int_equal(records, 2);
	assert_int_equal(delivery_calls, 2);
	assert_int_equal(kymo_inner_calls() - before, inner_made + delivery_calls);
	assert_int_equal(watched, 4); /* the program's own */
	launch(queues[0], 1);
	finish();
	assert_int_equal(kymo_drain(filtered[3], 5 * SECOND), KYMO_OK);
	assert_int_equal(delivered[3], 3);
	assert_int_equal(kymo_inner_calls() - before, inner_made + delivery_calls);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers), cmocka_unit_test(test_pointers),
		cmocka_unit_test(test_client),  cmocka_unit_test(test_outside),
		cmocka_unit_test(test_filters), cmocka_unit_test(test_inner_calls),
	};

	if (kymo_force_configure(configure) != KYMO_OK)
		return 1;
	if (!find_device()) {
		printf("skipped: there is no OpenCL device\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, setup, NULL);
}
