/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of a film in flight: a queue each for uploads, kernels and downloads, four slots. */
#include "../../common/bus.h"
#include "../../common/ocl.h"

enum { FRAMES = 120, SLOTS = 4, WORDS = 1 << 18, TAKES = 8000 };

static const char source[] =
	"kernel void grade(global const float *in, global float *out, int us)\n"
	"{\n"
	"	int i = get_global_id(0);\n"
	"	for (int k = i; k < 1 << 18; k += get_global_size(0))\n"
	"		out[k] = sqrt(in[k]);\n"
	"	if (i == 0)\n"
	"		takes(us);\n"
	"}\n";

struct slot {
	cl_mem in, out;
	float *raw, *result;
	cl_event back;
};

static uint32_t take(struct slot *s, uint32_t hash)
{
	if (!s->back)
		return hash;
	check(clWaitForEvents(1, &s->back), "clWaitForEvents");
	clReleaseEvent(s->back);
	s->back = NULL;
	return fingerprint(hash, s->result, 256);
}

int main(void)
{
	struct ocl o = ocl_open();
	cl_kernel grade = ocl_kernel(ocl_build(&o, source, ""), "grade");
	cl_command_queue up = ocl_queue(&o, 0, 0), compute = ocl_queue(&o, 0, 0);
	cl_command_queue down = ocl_queue(&o, 0, 0);
	const size_t global = 4096, local = 64, size = sizeof(float) * WORDS;
	struct slot slots[SLOTS] = {{0}};
	uint32_t hash = 1;

	for (int i = 0; i < SLOTS; i++)
		slots[i] = (struct slot){ocl_buffer(&o, size), ocl_buffer(&o, size), memory(size),
					 memory(size), NULL};
	ocl_set_int(grade, 2, TAKES);
	for (int i = 0; i < FRAMES; i++) {
		struct slot *s = &slots[i % SLOTS];
		cl_event sent, graded;

		hash = take(s, hash);
		s->raw[0] = (float)i;
		clEnqueueWriteBuffer(up, s->in, CL_FALSE, 0, size, s->raw, 0, NULL, &sent);
		clFlush(up);
		ocl_set_mem(grade, 0, s->in);
		ocl_set_mem(grade, 1, s->out);
		clEnqueueNDRangeKernel(compute, grade, 1, NULL, &global, &local, 1, &sent, &graded);
		clFlush(compute);
		clEnqueueReadBuffer(down, s->out, CL_FALSE, 0, size, s->result, 1, &graded,
				    &s->back);
		clFlush(down);
		clReleaseEvent(sent);
		clReleaseEvent(graded);
	}
	for (int i = 0; i < SLOTS; i++) {
		struct slot *s = &slots[(FRAMES + i) % SLOTS];

		hash = take(s, hash);
		clReleaseMemObject(s->in);
		clReleaseMemObject(s->out);
		free(s->raw);
		free(s->result);
	}
	printf("film %08x\n", hash);
	clReleaseCommandQueue(up);
	clReleaseCommandQueue(compute);
	clReleaseCommandQueue(down);
	ocl_close(&o);
	return 0;
}
