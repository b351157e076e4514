/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Native kernels: host functions that a queue runs. Exits with 77 (skipped) where the device has
 * none.
 */
#include "support.h"

#include <stdio.h>

enum { N_KERNELS = 100, CELLS = 256, SKIPPED = 77 };

struct arguments {
	int *cells;
	int adds;
};

static void CL_CALLBACK add(void *data)
{
	const struct arguments *arguments = data;

	for (int i = 0; i < CELLS; i++)
		arguments->cells[i] += arguments->adds;
}

static void run_all(cl_command_queue queue, cl_mem buffer)
{
	struct arguments arguments = {NULL, 0};
	const void *location = &arguments.cells;

	for (int i = 0; i < N_KERNELS; i++) {
		arguments.adds = i;
		CHECK(clEnqueueNativeKernel, queue, add, &arguments, sizeof(arguments), 1, &buffer,
		      &location, 0, NULL, NULL);
	}
}

int main(int argc, char **argv)
{
	static int cells[CELLS];
	cl_device_exec_capabilities capabilities = 0;
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_mem buffer;

	program_start("ocl_native", argc, argv, NULL);
	device = first_device();
	CHECK(clGetDeviceInfo, device, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof(capabilities),
	      &capabilities, NULL);
	if (!(capabilities & CL_EXEC_NATIVE_KERNEL)) {
		printf("ocl_native: skipped, this device has no native kernels\n");
		return SKIPPED;
	}
	context = make_context(device);
	queue = make_queue(context, device, 0);
	buffer = make_buffer(context, sizeof(cells));
	CHECK(clEnqueueWriteBuffer, queue, buffer, CL_FALSE, 0, sizeof(cells), cells, 0, NULL,
	      NULL);
	tally_copy("write", sizeof(cells));
	run_all(queue, buffer);
	tally_kernels(queue, device, "native", 1, N_KERNELS);
	CHECK(clEnqueueReadBuffer, queue, buffer, CL_TRUE, 0, sizeof(cells), cells, 0, NULL, NULL);
	tally_copy("read", sizeof(cells));
	for (int i = 0; i < CELLS; i++)
		expect("a cell", cells[i], N_KERNELS * (N_KERNELS - 1) / 2);
	CHECK(clReleaseMemObject, buffer);
	CHECK(clReleaseCommandQueue, queue);
	CHECK(clReleaseContext, context);
	return program_end();
}
