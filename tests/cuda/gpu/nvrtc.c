/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel that is compiled at run time to PTX, loaded and launched by the driver's functions. Prints a sum of what it wrote. */
#include <cuda.h>
#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>

static const char source[] = "extern \"C\" __global__ void twice(const float *x, float *y, int n)\n"
			     "{\n"
			     "\tint i = blockIdx.x * blockDim.x + threadIdx.x;\n"
			     "\tif (i < n)\n"
			     "\t\ty[i] = 2.0f * x[i];\n"
			     "}\n";

static void check(int result, const char *what)
{
	if (result == 0)
		return;
	fprintf(stderr, "%s: %d\n", what, result);
	exit(1);
}

int main(void)
{
	enum { N = 1000, BLOCK = 128 };
	const char *options[] = {"--gpu-architecture=compute_80", "-lineinfo"};
	float host[N], sum = 0;
	CUdeviceptr x, y;
	nvrtcProgram p;
	CUfunction f;
	CUcontext c;
	CUmodule m;
	size_t bytes;
	char *ptx;
	int n = N;

	check(cuInit(0), "cuInit");
	check(cuDevicePrimaryCtxRetain(&c, 0), "context");
	check(cuCtxSetCurrent(c), "context");
	check(nvrtcCreateProgram(&p, source, "twice.cu", 0, NULL, NULL), "program");
	check(nvrtcCompileProgram(p, 2, options), "compile");
	check(nvrtcGetPTXSize(p, &bytes), "size");
	ptx = malloc(bytes);
	check(nvrtcGetPTX(p, ptx), "PTX");
	check(cuModuleLoadData(&m, ptx), "module");
	free(ptx);
	check(cuModuleGetFunction(&f, m, "twice"), "function");
	check(cuMemAlloc(&x, sizeof(host)), "x");
	check(cuMemAlloc(&y, sizeof(host)), "y");
	for (int i = 0; i < N; i++)
		host[i] = (float)i;
	check(cuMemcpyHtoD(x, host, sizeof(host)), "copy");
	for (int i = 0; i < 2; i++)
		check(cuLaunchKernel(f, (N + BLOCK - 1) / BLOCK, 1, 1, BLOCK, 1, 1, 0, NULL,
				     (void *[]){&x, &y, &n}, NULL),
		      "launch");
	check(cuMemcpyDtoH(host, y, sizeof(host)), "back");
	for (int i = 0; i < N; i++)
		sum += host[i];
	printf("twice %.1f\n", sum);
	return 0;
}
