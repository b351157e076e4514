/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that does the same steps in each of its runs, for tests that compare runs: in each step
 * three kernels and a copy. The kernel "relax" can be given more to do: `--relax 1050` is 50 in a
 * thousand more. What its kernels do takes their time alone, not that of their memory.
 */
#include "support.h"

#include <stdio.h>

enum { CELLS = 64, COPIED = 1 << 18 };

static const char source[] =
	"#define SPIN(x, n) for (int i = 0; i < n; i++) x = x * 1103515245u + 12345u;\n"
	"kernel void relax(global uint *cells, int n)\n"
	"{ uint x = cells[get_global_id(0)]; SPIN(x, n) cells[get_global_id(0)] = x; }\n"
	"kernel void gather(global uint *cells, int n)\n"
	"{ uint x = cells[get_global_id(0)] + 1; SPIN(x, n) cells[get_global_id(0)] = x; }\n"
	"kernel void sweep(global uint *cells, int n)\n"
	"{ uint x = cells[get_global_id(0)] + 2; SPIN(x, n) cells[get_global_id(0)] = x; }\n";

static const char *const names[] = {"relax", "gather", "sweep"};
enum { KERNELS = sizeof(names) / sizeof(*names) };

int main(int argc, char **argv)
{
	static long steps = 300, length = 10000, relax = 1000;
	static const struct program_option options[] = {{"steps", &steps, NULL},
							{"length", &length, NULL},
							{"relax", &relax, NULL},
							{NULL, NULL, NULL}};
	static unsigned char copied[COPIED];
	const size_t global = CELLS;
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_program program;
	cl_kernel kernel[KERNELS];
	cl_mem cells, buffer;

	program_start("ocl_steps", argc, argv, options);
	device = first_device();
	context = make_context(device);
	queue = make_queue(context, device, 0);
	program = make_program(context, source);
	cells = make_buffer(context, CELLS * sizeof(cl_uint));
	buffer = make_buffer(context, COPIED);
	for (int k = 0; k < KERNELS; k++) {
		cl_int n = (cl_int)(k ? length * (k + 1) / 2 : length * relax / 1000);

		kernel[k] = make_kernel(program, names[k]);
		CHECK(clSetKernelArg, kernel[k], 0, sizeof(cells), &cells);
		CHECK(clSetKernelArg, kernel[k], 1, sizeof(n), &n);
	}
	for (long i = 0; i < steps; i++) {
		CHECK(clEnqueueWriteBuffer, queue, buffer, CL_FALSE, 0, COPIED, copied, 0, NULL,
		      NULL);
		for (int k = 0; k < KERNELS; k++)
			CHECK(clEnqueueNDRangeKernel, queue, kernel[k], 1, NULL, &global, &global,
			      0, NULL, NULL);
		CHECK(clFinish, queue);
	}
	tally_copy("write", (size_t)steps * COPIED);
	for (int k = 0; k < KERNELS; k++) {
		tally_kernels(queue, device, names[k], global, steps);
		CHECK(clReleaseKernel, kernel[k]);
	}
	CHECK(clReleaseMemObject, cells);
	CHECK(clReleaseMemObject, buffer);
	CHECK(clReleaseProgram, program);
	CHECK(clReleaseCommandQueue, queue);
	CHECK(clReleaseContext, context);
	return program_end();
}
