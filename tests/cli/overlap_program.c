/* SPDX-License-Identifier: Apache-2.0 */
/* Two ranks exchange rows: ten times while a kernel runs on each one's device, five times while none does. */
#include <CL/cl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { BYTES = 4 << 20, BESIDE = 10, ALONE = 5 };

static const char *source = "kernel void spin(global float *x)"
			    "{"
			    "	float y = x[0];"
			    "	for (int i = 0; i < 500000; i++)"
			    "		y = y * 1.000001f + 0.5f;"
			    "	x[0] = y;"
			    "}";

static cl_command_queue queue;
static cl_kernel kernel;
static char *out, *in;

static void prepare(void)
{
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_program program;
	cl_mem buffer;

	if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
		exit(77);
	context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
	queue = clCreateCommandQueue(context, device, 0, NULL);
	program = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
	clBuildProgram(program, 1, &device, "", NULL, NULL);
	kernel = clCreateKernel(program, "spin", NULL);
	buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 64, NULL, NULL);
	clSetKernelArg(kernel, 0, sizeof(buffer), &buffer);
}

static void exchange(int other, int compute)
{
	const size_t one = 1;
	MPI_Request r[2];

	MPI_Irecv(in, BYTES, MPI_BYTE, other, 0, MPI_COMM_WORLD, &r[0]);
	MPI_Isend(out, BYTES, MPI_BYTE, other, 0, MPI_COMM_WORLD, &r[1]);
	if (compute)
		clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL);
	clFinish(queue);
	MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	prepare();
	out = calloc(BYTES, 1);
	in = calloc(BYTES, 1);
	for (int i = 0; i < BESIDE + ALONE; i++)
		exchange(1 - rank, i < BESIDE);
	/* Of no message: it runs beside nothing. */
	clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &(size_t){1}, NULL, 0, NULL, NULL);
	clFinish(queue);
	free(out);
	free(in);
	return MPI_Finalize();
}
