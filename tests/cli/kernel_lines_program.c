/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_lines_program COUNT: two kernels, each with a line that takes nearly all of its time; COUNT turns of it. */
#include <CL/cl.h>
#include <stdlib.h>

enum { ITEMS = 1024, LAUNCHES = 4 };

static const char source[] = "kernel void heat(global float *a, int n)\n"
			     "{\n"
			     "	float x = a[get_global_id(0)];\n"
			     "\n"
			     "	for (int i = 0; i < n; i++) x = x / (x * x + 1.0f) + 1.5f;\n"
			     "	a[get_global_id(0)] = x;\n"
			     "}\n"
			     "\n"
			     "kernel void melt_workgroup(global float *a, int n)\n"
			     "{\n"
			     "	float x = a[get_global_id(0)];\n"
			     "	for (int i = 0; i < n; i++) x = x / (x * x + 2.0f) + 2.5f;\n"
			     "	a[get_global_id(0)] = x;\n"
			     "}\n";

static void launch(cl_command_queue queue, cl_kernel kernel, cl_mem memory, cl_int turns)
{
	const size_t items = ITEMS, group = 64;

	if (clSetKernelArg(kernel, 0, sizeof(memory), &memory) != CL_SUCCESS ||
	    clSetKernelArg(kernel, 1, sizeof(turns), &turns) != CL_SUCCESS)
		exit(2);
	for (int i = 0; i < LAUNCHES; i++)
		if (clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &group, 0, NULL, NULL) !=
		    CL_SUCCESS)
			exit(2);
	clFinish(queue);
}

int main(int argc, char **argv)
{
	const cl_int turns = argc > 1 ? atoi(argv[1]) : 1;
	const char *text = source;
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_program program;
	cl_mem memory;

	if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &device, NULL) != CL_SUCCESS)
		return 77;
	context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
	queue = clCreateCommandQueue(context, device, 0, NULL);
	program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
	memory = clCreateBuffer(context, CL_MEM_READ_WRITE, ITEMS * sizeof(float), NULL, NULL);
	if (!queue || !memory || clBuildProgram(program, 1, &device, "", NULL, NULL) != CL_SUCCESS)
		return 2;
	launch(queue, clCreateKernel(program, "heat", NULL), memory, turns);
	launch(queue, clCreateKernel(program, "melt_workgroup", NULL), memory, turns);
	return 0;
}
