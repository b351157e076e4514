/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that fail, and a program that does not build: error codes and the build log are what a
 * user of a tracer looks for first. Prints each error, and fails if one is not the expected one.
 */
#include "support.h"

#include <stdio.h>
#include <string.h>

static const char broken[] = "kernel void broken(global int *p) { p[0] = undeclared_name; }\n";
static const char sound[] = "kernel void sound(global int *p) { p[0] = 1; }\n";

static void expect_error(const char *function, cl_int got, cl_int wanted)
{
	printf("%s: error %d\n", function, got);
	expect(function, got, wanted);
	tally_error(function, got);
}

static void fail_to_build(cl_context context, cl_device_id device)
{
	static char log[65536];
	const char *source = broken;
	cl_int error;
	cl_program program = CALL(clCreateProgramWithSource, context, 1, &source, NULL, &error);

	check(error, "clCreateProgramWithSource");
	expect_error("clBuildProgram",
		     CALL(clBuildProgram, program, 1, &device, "-DNOTHING=1", NULL, NULL),
		     CL_BUILD_PROGRAM_FAILURE);
	CHECK(clGetProgramBuildInfo, program, device, CL_PROGRAM_BUILD_LOG, sizeof(log) - 1, log,
	      NULL);
	if (!strstr(log, "undeclared_name"))
		fail("the build log does not name the culprit: \"%s\"", log);
	CHECK(clReleaseProgram, program);
}

/* What there was no room for is not written. */
static void fail_to_ask(cl_device_id device)
{
	char name[8] = "unset";
	cl_platform_id platform = NULL;

	expect_error("clGetDeviceInfo",
		     CALL(clGetDeviceInfo, device, CL_DEVICE_NAME, 1, name, NULL),
		     CL_INVALID_VALUE);
	expect_error("clGetPlatformIDs", CALL(clGetPlatformIDs, 0, &platform, NULL),
		     CL_INVALID_VALUE);
	if (strcmp(name, "unset") != 0 || platform)
		fail("calls that fail have written something");
}

static void fail_to_create(cl_context context, cl_program program)
{
	cl_int error = CL_SUCCESS;

	if (CALL(clCreateKernel, program, "no_such_kernel", &error))
		fail("a kernel that does not exist was created");
	expect_error("clCreateKernel", error, CL_INVALID_KERNEL_NAME);
	if (CALL(clCreateBuffer, context, CL_MEM_READ_WRITE, 0, NULL, &error))
		fail("an empty buffer was created");
	expect_error("clCreateBuffer", error, CL_INVALID_BUFFER_SIZE);
	/* Nobody has to ask for the error. */
	if (CALL(clCreateBuffer, context, CL_MEM_READ_WRITE, 0, NULL, NULL))
		fail("an empty buffer was created");
	tally_error("clCreateBuffer", CL_INVALID_BUFFER_SIZE);
}

static void fail_to_enqueue(cl_command_queue queue, cl_kernel kernel, cl_mem buffer)
{
	const size_t global = 1;
	int value = 0;

	expect_error(
		"clEnqueueNDRangeKernel",
		CALL(clEnqueueNDRangeKernel, queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL),
		CL_INVALID_KERNEL_ARGS);
	expect_error(
		"clEnqueueNDRangeKernel",
		CALL(clEnqueueNDRangeKernel, queue, kernel, 4, NULL, &global, NULL, 0, NULL, NULL),
		CL_INVALID_WORK_DIMENSION);
	expect_error("clSetKernelArg", CALL(clSetKernelArg, kernel, 7, sizeof(value), &value),
		     CL_INVALID_ARG_INDEX);
	expect_error("clEnqueueReadBuffer",
		     CALL(clEnqueueReadBuffer, queue, buffer, CL_TRUE, 1 << 20, sizeof(value),
			  &value, 0, NULL, NULL),
		     CL_INVALID_VALUE);
	expect_error("clWaitForEvents", CALL(clWaitForEvents, 0, NULL), CL_INVALID_VALUE);
	expect_error("clFinish", CALL(clFinish, NULL), CL_INVALID_COMMAND_QUEUE);
}

/* A command that waits for a user event which ends with an error never runs. */
static void fail_to_run(cl_context context, cl_command_queue queue, cl_mem buffer)
{
	int value = 4711;
	cl_int error, status = 0;
	cl_event gate = CALL(clCreateUserEvent, context, &error), event;

	check(error, "clCreateUserEvent");
	CHECK(clEnqueueReadBuffer, queue, buffer, CL_FALSE, 0, sizeof(value), &value, 1, &gate,
	      &event);
	tally_copy("read", sizeof(value)); /* sent, though it never runs */
	tally_fact("never_ran", 1);
	CHECK(clSetUserEventStatus, gate, -4711);
	expect_error("clWaitForEvents", CALL(clWaitForEvents, 1, &event),
		     CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
	CHECK(clGetEventInfo, event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status,
	      NULL);
	if (status >= 0)
		fail("the read has status %d", status);
	expect("the value", value, 4711);
	CHECK(clReleaseEvent, event);
	CHECK(clReleaseEvent, gate);
}

int main(int argc, char **argv)
{
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_program program;
	cl_kernel kernel;
	cl_mem buffer;

	program_start("ocl_errors", argc, argv, NULL);
	device = first_device();
	context = make_context(device);
	queue = make_queue(context, device, 0);
	program = make_program(context, sound);
	kernel = make_kernel(program, "sound");
	buffer = make_buffer(context, 64);

	fail_to_build(context, device);
	fail_to_ask(device);
	fail_to_create(context, program);
	fail_to_enqueue(queue, kernel, buffer);
	fail_to_run(context, queue, buffer);

	CHECK(clReleaseMemObject, buffer);
	CHECK(clReleaseKernel, kernel);
	CHECK(clReleaseProgram, program);
	CHECK(clReleaseCommandQueue, queue);
	CHECK(clReleaseContext, context);
	return program_end();
}
