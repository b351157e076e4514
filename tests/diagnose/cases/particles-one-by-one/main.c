/* SPDX-License-Identifier: Apache-2.0 */
/* A particle code that sends each particle with a copy of its own: 16 bytes, ten thousand times. */
#include "../../common/ocl.h"

enum { STEPS = 10, PARTICLES = 10000, TAKES = 5000 };

static const char source[] = "kernel void push(global float4 *p, int n, int us)\n"
			     "{\n"
			     "	int i = get_global_id(0);\n"
			     "	if (i < n)\n"
			     "		p[i] += (float4)(0.5f, 0.25f, 1.0f, 0.0f);\n"
			     "	if (i == 0)\n"
			     "		takes(us);\n"
			     "}\n";

struct particle {
	float x, y, z, charge;
};

static void send(cl_command_queue queue, cl_mem to, const struct particle *p)
{
#ifdef REPAIRED
	check(clEnqueueWriteBuffer(queue, to, CL_FALSE, 0, PARTICLES * sizeof(*p), p, 0, NULL,
				   NULL),
	      "clEnqueueWriteBuffer");
#else
	for (size_t i = 0; i < PARTICLES; i++)
		check(clEnqueueWriteBuffer(queue, to, CL_FALSE, i * sizeof(*p), sizeof(*p), &p[i],
					   0, NULL, NULL),
		      "clEnqueueWriteBuffer");
#endif
}

int main(void)
{
	struct ocl o = ocl_open();
	cl_kernel push = ocl_kernel(ocl_build(&o, source, ""), "push");
	cl_command_queue queue = ocl_queue(&o, 0, 0);
	const size_t global = 10240, local = 64, size = sizeof(struct particle) * PARTICLES;
	cl_mem there = ocl_buffer(&o, size);
	struct particle *p = memory(size);

	for (int i = 0; i < PARTICLES; i++)
		p[i] = (struct particle){(float)i, (float)(i % 10), 0, 1};
	ocl_set_mem(push, 0, there);
	ocl_set_int(push, 1, PARTICLES);
	ocl_set_int(push, 2, TAKES);
	for (int step = 0; step < STEPS; step++) {
		send(queue, there, p);
		check(clEnqueueNDRangeKernel(queue, push, 1, NULL, &global, &local, 0, NULL, NULL),
		      "clEnqueueNDRangeKernel");
		clEnqueueReadBuffer(queue, there, CL_TRUE, 0, size, p, 0, NULL, NULL);
		for (int i = 0; i < PARTICLES; i++) /* walls */
			p[i].x = p[i].x > 9999 ? 0 : p[i].x;
	}
	printf("particles %08x\n", fingerprint(1, p, size));
	clReleaseMemObject(there);
	clReleaseCommandQueue(queue);
	free(p);
	ocl_close(&o);
	return 0;
}
