/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command buffers: recorded once, run several times, with what an unfinished one and no buffer at
 * all give. The functions are those of cl_khr_command_buffer, asked for by name; whether commands
 * have properties the version of the device's extension says. Exits with 77 (skipped) where the
 * device has none.
 */
#define CL_ENABLE_BETA_EXTENSIONS
#include "support.h"

#include <CL/cl_ext.h>
#include <stdio.h>
#include <string.h>

enum { CELLS = 1024, SIZE = CELLS * sizeof(cl_int), RUNS = 5, SKIPPED = 77 };

static const char source[] =
	"kernel void increment(global int *cells) { cells[get_global_id(0)]++; }\n";

/* The prototypes as they are since 0.9.5, and as they were. */
#define TAIL cl_uint, const cl_sync_point_khr *, cl_sync_point_khr *, cl_mutable_command_khr *
typedef cl_int (*fill_type)(cl_command_buffer_khr, cl_command_queue, const cl_properties *, cl_mem,
			    const void *, size_t, size_t, size_t, TAIL);
typedef cl_int (*old_fill_type)(cl_command_buffer_khr, cl_command_queue, cl_mem, const void *,
				size_t, size_t, size_t, TAIL);
typedef cl_int (*copy_type)(cl_command_buffer_khr, cl_command_queue, const cl_properties *, cl_mem,
			    cl_mem, size_t, size_t, size_t, TAIL);
typedef cl_int (*old_copy_type)(cl_command_buffer_khr, cl_command_queue, cl_mem, cl_mem, size_t,
				size_t, size_t, TAIL);
typedef cl_int (*kernel_type)(cl_command_buffer_khr, cl_command_queue, const cl_properties *,
			      cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *,
			      TAIL);

static cl_platform_id platform;
static bool properties; /* commands have them */

static struct {
	clCreateCommandBufferKHR_fn create;
	clReleaseCommandBufferKHR_fn release;
	clRetainCommandBufferKHR_fn retain;
	clFinalizeCommandBufferKHR_fn finalize;
	clEnqueueCommandBufferKHR_fn enqueue;
	kernel_type kernel;
	void *fill, *copy;
} f;

#define COUNT(function) count_call(CALLED_##function)

static void *find(const char *name)
{
	void *function = CALL(clGetExtensionFunctionAddressForPlatform, platform, name);

	if (!function)
		fail("there is no %s", name);
	return function;
}

/* False: the device has no command buffers. */
static bool look_up(cl_device_id device)
{
	static cl_name_version list[512];
	cl_version version = 0;
	size_t bytes = 0;

	CALL(clGetDeviceInfo, device, CL_DEVICE_EXTENSIONS_WITH_VERSION, sizeof(list), list,
	     &bytes);
	for (size_t i = 0; i < bytes / sizeof(list[0]); i++)
		if (strcmp(list[i].name, "cl_khr_command_buffer") == 0)
			version = list[i].version;
	if (!version)
		return false;
	properties = version >= CL_MAKE_VERSION(0, 9, 5);
	CHECK(clGetDeviceInfo, device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL);
	f.create = (clCreateCommandBufferKHR_fn)find("clCreateCommandBufferKHR");
	f.release = (clReleaseCommandBufferKHR_fn)find("clReleaseCommandBufferKHR");
	f.retain = (clRetainCommandBufferKHR_fn)find("clRetainCommandBufferKHR");
	f.finalize = (clFinalizeCommandBufferKHR_fn)find("clFinalizeCommandBufferKHR");
	f.enqueue = (clEnqueueCommandBufferKHR_fn)find("clEnqueueCommandBufferKHR");
	f.kernel = (kernel_type)find("clCommandNDRangeKernelKHR");
	f.fill = find("clCommandFillBufferKHR");
	f.copy = find("clCommandCopyBufferKHR");
	return true;
}

static void add_fill(cl_command_buffer_khr b, cl_mem m, cl_sync_point_khr *point)
{
	const cl_int pattern = 7;
	cl_int error;

	COUNT(clCommandFillBufferKHR);
	if (properties)
		error = ((fill_type)f.fill)(b, NULL, NULL, m, &pattern, sizeof(pattern), 0, SIZE, 0,
					    NULL, point, NULL);
	else
		error = ((old_fill_type)f.fill)(b, NULL, m, &pattern, sizeof(pattern), 0, SIZE, 0,
						NULL, point, NULL);
	check(error, "clCommandFillBufferKHR");
}

static void add_copy(cl_command_buffer_khr b, cl_mem from, cl_mem to, cl_sync_point_khr after)
{
	cl_int error;

	COUNT(clCommandCopyBufferKHR);
	if (properties)
		error = ((copy_type)f.copy)(b, NULL, NULL, from, to, 0, 0, SIZE, 1, &after, NULL,
					    NULL);
	else
		error = ((old_copy_type)f.copy)(b, NULL, from, to, 0, 0, SIZE, 1, &after, NULL,
						NULL);
	check(error, "clCommandCopyBufferKHR");
}

static cl_int run(cl_command_buffer_khr b, cl_event *event)
{
	COUNT(clEnqueueCommandBufferKHR);
	return f.enqueue(0, NULL, b, 0, NULL, event);
}

/* Fills one, increments it, copies it to the other. */
static cl_command_buffer_khr record(cl_command_queue queue, cl_kernel kernel, cl_mem one,
				    cl_mem other)
{
	const size_t global = CELLS;
	cl_sync_point_khr filled, done;
	cl_command_buffer_khr b;
	cl_int error;

	COUNT(clCreateCommandBufferKHR);
	b = f.create(1, &queue, NULL, &error);
	check(error, "clCreateCommandBufferKHR");
	add_fill(b, one, &filled);
	COUNT(clCommandNDRangeKernelKHR);
	check(f.kernel(b, NULL, NULL, kernel, 1, NULL, &global, NULL, 1, &filled, &done, NULL),
	      "clCommandNDRangeKernelKHR");
	add_copy(b, one, other, done);
	error = run(b, NULL);
	if (error == CL_SUCCESS)
		fail("a buffer ran before it was finalized");
	tally_error("clEnqueueCommandBufferKHR", error);
	COUNT(clFinalizeCommandBufferKHR);
	check(f.finalize(b), "clFinalizeCommandBufferKHR");
	return b;
}

static void run_all(cl_command_buffer_khr b, cl_command_queue queue, cl_device_id device)
{
	cl_command_type type;
	cl_event event;

	for (int i = 0; i < RUNS; i++) {
		check(run(b, i ? NULL : &event), "clEnqueueCommandBufferKHR");
		CHECK(clFinish, queue);
		tally_copy("fill", SIZE);
		tally_copy("copy", SIZE);
	}
	CHECK(clGetEventInfo, event, CL_EVENT_COMMAND_TYPE, sizeof(type), &type, NULL);
	printf("ocl_buffers: an event of command type 0x%x\n", type);
	CHECK(clReleaseEvent, event);
	tally_kernels(queue, device, "increment", CELLS, RUNS);
	tally_kernels(queue, device, "(command buffer)", 0, RUNS);
	tally_fact("inside", 3 * RUNS);
}

int main(int argc, char **argv)
{
	static cl_int cells[CELLS];
	cl_command_buffer_khr b;
	cl_command_queue queue;
	cl_context context;
	cl_device_id device;
	cl_program program;
	cl_kernel kernel;
	cl_mem one, other;

	program_start("ocl_buffers", argc, argv, NULL);
	device = first_device();
	if (!look_up(device)) {
		printf("ocl_buffers: skipped, this device has no command buffers\n");
		return SKIPPED;
	}
	context = make_context(device);
	queue = make_queue(context, device, 0);
	program = make_program(context, source);
	kernel = make_kernel(program, "increment");
	one = make_buffer(context, SIZE);
	other = make_buffer(context, SIZE);
	CHECK(clSetKernelArg, kernel, 0, sizeof(one), &one);

	b = record(queue, kernel, one, other);
	COUNT(clRetainCommandBufferKHR);
	check(f.retain(b), "clRetainCommandBufferKHR");
	COUNT(clReleaseCommandBufferKHR);
	check(f.release(b), "clReleaseCommandBufferKHR");
	run_all(b, queue, device);
	CHECK(clEnqueueReadBuffer, queue, other, CL_TRUE, 0, SIZE, cells, 0, NULL, NULL);
	tally_copy("read", SIZE);
	for (int i = 0; i < CELLS; i++)
		expect("a cell", cells[i], 8);
	COUNT(clReleaseCommandBufferKHR);
	check(f.release(b), "clReleaseCommandBufferKHR");
	tally_error("clEnqueueCommandBufferKHR", run(NULL, NULL));

	CHECK(clReleaseMemObject, one);
	CHECK(clReleaseMemObject, other);
	CHECK(clReleaseKernel, kernel);
	CHECK(clReleaseProgram, program);
	CHECK(clReleaseCommandQueue, queue);
	CHECK(clReleaseContext, context);
	return program_end();
}
