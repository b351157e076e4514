/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared virtual memory: allocated, mapped, filled, copied, used by kernels, freed by the host and
 * by the queue. Exits with 77 (skipped) where the device has none.
 */
#include "support.h"

#include <stdio.h>
#include <string.h>

enum { CELLS = 1024, SIZE = CELLS * sizeof(int), SKIPPED = 77 };

static const char source[] =
	"kernel void increment(global int *cells) { cells[get_global_id(0)]++; }\n";

static volatile int n_freed;

static void CL_CALLBACK free_memory(cl_command_queue queue, cl_uint n, void *pointers[], void *user)
{
	cl_context context = user;

	(void)queue;
	for (cl_uint i = 0; i < n; i++) {
		CALL(clSVMFree, context, pointers[i]);
		n_freed++;
	}
}

static int *allocate(cl_context context)
{
	int *memory = CALL(clSVMAlloc, context, CL_MEM_READ_WRITE, SIZE, 0);

	if (!memory)
		fail("clSVMAlloc failed");
	return memory;
}

static void write_mapped(cl_command_queue queue, int *cells)
{
	CHECK(clEnqueueSVMMap, queue, CL_TRUE, CL_MAP_WRITE, cells, SIZE, 0, NULL, NULL);
	tally_copy("svm_map", SIZE);
	for (int i = 0; i < CELLS; i++)
		cells[i] = i;
	CHECK(clEnqueueSVMUnmap, queue, cells, 0, NULL, NULL);
	tally_copy("svm_unmap", SIZE);
}

static void check_mapped(cl_command_queue queue, int *cells, int first, int per_cell)
{
	CHECK(clEnqueueSVMMap, queue, CL_TRUE, CL_MAP_READ, cells, SIZE, 0, NULL, NULL);
	tally_copy("svm_map", SIZE);
	for (int i = 0; i < CELLS; i++)
		expect("a cell", cells[i], first + i * per_cell);
	CHECK(clEnqueueSVMUnmap, queue, cells, 0, NULL, NULL);
	tally_copy("svm_unmap", 0); /* it was only read */
}

static void increment(cl_command_queue queue, cl_device_id device, cl_kernel kernel, int *cells)
{
	const size_t global = CELLS;

	CHECK(clSetKernelArgSVMPointer, kernel, 0, cells);
	CHECK(clEnqueueNDRangeKernel, queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL);
	tally_kernels(queue, device, "increment", global, 1);
}

int main(int argc, char **argv)
{
	const int pattern = 7;
	int *a, *b;
	void *pointers[1];
	cl_device_svm_capabilities capabilities = 0;
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_program program;
	cl_kernel kernel;

	program_start("ocl_svm", argc, argv, NULL);
	device = first_device();
	CALL(clGetDeviceInfo, device, CL_DEVICE_SVM_CAPABILITIES, sizeof(capabilities),
	     &capabilities, NULL);
	if (!(capabilities & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER)) {
		printf("ocl_svm: skipped, this device has no shared virtual memory\n");
		return SKIPPED;
	}
	context = make_context(device);
	queue = make_queue(context, device, 0);
	program = make_program(context, source);
	kernel = make_kernel(program, "increment");
	a = allocate(context);
	b = allocate(context);

	write_mapped(queue, a);
	increment(queue, device, kernel, a);
	CHECK(clEnqueueSVMMemcpy, queue, CL_FALSE, b, a, SIZE, 0, NULL, NULL);
	tally_copy("svm_copy", SIZE);
	check_mapped(queue, b, 1, 1);
	CHECK(clEnqueueSVMMemFill, queue, a, &pattern, sizeof(pattern), SIZE, 0, NULL, NULL);
	tally_copy("svm_fill", SIZE);
	increment(queue, device, kernel, a);
	CHECK(clEnqueueSVMMemcpy, queue, CL_TRUE, b, a, SIZE, 0, NULL, NULL);
	tally_copy("svm_copy", SIZE);
	check_mapped(queue, b, pattern + 1, 0);

	pointers[0] = a;
	CHECK(clEnqueueSVMFree, queue, 1, pointers, free_memory, context, 0, NULL, NULL);
	CHECK(clFinish, queue);
	expect("pointers freed", n_freed, 1);
	CALL(clSVMFree, context, b);
	tally_fact("allocated", 2);

	CHECK(clReleaseKernel, kernel);
	CHECK(clReleaseProgram, program);
	CHECK(clReleaseCommandQueue, queue);
	CHECK(clReleaseContext, context);
	return program_end();
}
