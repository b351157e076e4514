/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that sees in its own memory that its kernels are done, and ends by _exit() at once: no
 * call of OpenCL comes after they are complete, and no handler or destructor runs.
 */
#include "support.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { N_KERNELS = 100, CELLS = 64 };

/* Takes longer than it takes to enqueue. */
static const char source[] = "kernel void count(global int *cells)\n"
			     "{\n"
			     "	uint x = cells[get_global_id(0)];\n"
			     "	for (int i = 0; i < 3000; i++)\n"
			     "		x = x * 1103515245 + 12345;\n"
			     "	cells[get_global_id(0)] += x == 7 ? 2 : 1;\n"
			     "}\n";

int main(int argc, char **argv)
{
	static _Atomic int cells[CELLS];
	const size_t global = CELLS;
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_kernel kernel;
	cl_mem buffer;
	int status;

	program_start("ocl_quick", argc, argv, NULL);
	device = first_device();
	context = make_context(device);
	queue = make_queue(context, device, 0);
	kernel = make_kernel(make_program(context, source), "count");
	buffer = make_buffer(context, sizeof(cells));
	CHECK(clSetKernelArg, kernel, 0, sizeof(buffer), &buffer);
	CHECK(clEnqueueWriteBuffer, queue, buffer, CL_TRUE, 0, sizeof(cells), cells, 0, NULL, NULL);
	tally_copy("write", sizeof(cells));
	for (int i = 0; i < N_KERNELS; i++)
		CHECK(clEnqueueNDRangeKernel, queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL);
	tally_kernels(queue, device, "count", global, N_KERNELS);
	CHECK(clEnqueueReadBuffer, queue, buffer, CL_FALSE, 0, sizeof(cells), cells, 0, NULL, NULL);
	CHECK(clFlush, queue);
	for (int i = 0; i < CELLS; i++)
		while (atomic_load(&cells[i]) != N_KERNELS)
			sched_yield();
	status = program_end();
	fflush(stdout);
	_exit(status);
}
