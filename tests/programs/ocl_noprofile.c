/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that does not ask for profiling and looks at what it got. A tracer that switches
 * profiling on must not show: neither in the properties of a queue, nor in the profiling
 * information of an event. Prints everything it sees, and fails if profiling is among it.
 */
#include "support.h"

#include <stdio.h>

static const char source[] = "kernel void nothing(void) { }\n";

static cl_context context;
static cl_device_id device;
static cl_kernel kernel;

static void show_properties(const char *how, cl_command_queue queue, bool profiled)
{
	cl_command_queue_properties properties = 0;
	cl_queue_properties list[8] = {0};
	size_t size = 0;

	CHECK(clGetCommandQueueInfo, queue, CL_QUEUE_PROPERTIES, sizeof(properties), &properties,
	      NULL);
	CHECK(clGetCommandQueueInfo, queue, CL_QUEUE_PROPERTIES_ARRAY, sizeof(list), list, &size);
	printf("%s: properties 0x%llx, array of %zu bytes:", how, (unsigned long long)properties,
	       size);
	for (size_t i = 0; i < size / sizeof(*list); i++)
		printf(" 0x%llx", (unsigned long long)list[i]);
	putchar('\n');
	expect("the profiling property", !!(properties & CL_QUEUE_PROFILING_ENABLE), profiled);
}

static void show_event(const char *how, cl_event event, bool profiled)
{
	static const cl_profiling_info infos[] = {
		CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
		CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END};

	for (size_t i = 0; i < sizeof(infos) / sizeof(*infos); i++) {
		cl_ulong before = 4711, value = before;
		cl_int error =
			CALL(clGetEventProfilingInfo, event, infos[i], sizeof(value), &value, NULL);

		printf("%s: profiling info 0x%x: error %d\n", how, infos[i], error);
		expect("the error", error, profiled ? CL_SUCCESS : CL_PROFILING_INFO_NOT_AVAILABLE);
		expect("a time was written", value != before, profiled);
		if (error)
			tally_error("clGetEventProfilingInfo", error);
	}
}

/* Uses and releases the queue. */
static void try_queue(const char *how, cl_command_queue queue, bool profiled)
{
	const size_t global = 1;
	cl_event event;

	if (!queue)
		fail("no queue from %s", how);
	show_properties(how, queue, profiled);
	CHECK(clEnqueueNDRangeKernel, queue, kernel, 1, NULL, &global, NULL, 0, NULL, &event);
	CHECK(clWaitForEvents, 1, &event);
	show_event(how, event, profiled);
	CHECK(clReleaseEvent, event);
	tally_kernels(queue, device, "nothing", 1, 1);
	CHECK(clReleaseCommandQueue, queue);
}

static cl_command_queue with_list(const cl_queue_properties *list)
{
	return CALL(clCreateCommandQueueWithProperties, context, device, list, NULL);
}

int main(int argc, char **argv)
{
	const cl_queue_properties empty[] = {0};
	const cl_queue_properties none[] = {CL_QUEUE_PROPERTIES, 0, 0};
	const cl_queue_properties unordered[] = {CL_QUEUE_PROPERTIES,
						 CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
	const cl_queue_properties profiled[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
	cl_program program;

	program_start("ocl_noprofile", argc, argv, NULL);
	device = first_device();
	context = make_context(device);
	program = make_program(context, source);
	kernel = make_kernel(program, "nothing");

	try_queue("old function", CALL(clCreateCommandQueue, context, device, 0, NULL), false);
	try_queue("no list", with_list(NULL), false);
	try_queue("empty list", with_list(empty), false);
	try_queue("no properties", with_list(none), false);
	try_queue("out of order", with_list(unordered), false);
	try_queue("profiled", with_list(profiled), true);

	CHECK(clReleaseKernel, kernel);
	CHECK(clReleaseProgram, program);
	CHECK(clReleaseContext, context);
	return program_end();
}
