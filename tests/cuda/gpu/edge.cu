/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What programs rarely do with CUDA, one scene each: code compiled when it is loaded, pools, green
 * contexts, captures that fail, copies between devices, an end by SIGKILL. Prints as JSON what a trace
 * of it must hold.
 */
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>

#include <cuda.h>
#include <cuda_runtime.h>

static void must(int error, const char *what)
{
	if (error) {
		fprintf(stderr, "%s: error %d\n", what, error);
		exit(1);
	}
}
#define CHECK(call) must((int)(call), #call)

__global__ void work(int *p)
{
	if (p)
		atomicAdd(p, 1);
}

/* PTX that no cache can know: the kernel's name is new each time. */
static void jit()
{
	std::string name = "fresh_" + std::to_string(getpid()) + "_" + std::to_string(time(NULL));
	std::string ptx = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry " + name +
			  "()\n{\nret;\n}\n";
	CUmodule module;
	CUfunction function;

	CHECK(cudaFree(0));
	CHECK(cuModuleLoadData(&module, ptx.c_str()));
	CHECK(cuModuleGetFunction(&function, module, name.c_str()));
	CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	CHECK(cudaDeviceSynchronize());
	CHECK(cuModuleUnload(module));
	printf("{\"kernels\":1,\"jit_compile\":1}\n");
}

static void pool()
{
	cudaMemPoolProps props = {};
	cudaMemPool_t p;
	void *at[3];

	props.allocType = cudaMemAllocationTypePinned;
	props.location.type = cudaMemLocationTypeDevice;
	CHECK(cudaMemPoolCreate(&p, &props));
	for (int i = 0; i < 3; i++)
		CHECK(cudaMallocFromPoolAsync(&at[i], 1 << 20, p, 0));
	for (int i = 0; i < 3; i++)
		CHECK(cudaFreeAsync(at[i], 0));
	CHECK(cudaStreamSynchronize(0));
	CHECK(cudaMemPoolTrimTo(p, 0));
	CHECK(cudaMemPoolDestroy(p));
	printf("{\"kernels\":0,\"pool_create\":1,\"pool_trim\":1,\"pool_destroy\":1,"
	       "\"from_pool\":3}\n");
}

static void green()
{
	CUdevResource all, part;
	CUdevResourceDesc desc;
	unsigned groups = 1;
	CUgreenCtx context;
	CUstream stream;

	CHECK(cudaFree(0));
	CHECK(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
	CHECK(cuDevSmResourceSplitByCount(&part, &groups, &all, NULL, 0, 16));
	CHECK(cuDevResourceGenerateDesc(&desc, &part, 1));
	CHECK(cuGreenCtxCreate(&context, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM));
	CHECK(cuGreenCtxStreamCreate(&stream, context, CU_STREAM_NON_BLOCKING, 0));
	for (int i = 0; i < 20; i++)
		work<<<1, 32, 0, stream>>>(NULL);
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cuStreamDestroy(stream));
	CHECK(cuGreenCtxDestroy(context));
	printf("{\"kernels\":20}\n");
}

/* A capture that a wait makes invalid; nothing of it ever runs. The next one works. */
static void capture()
{
	cudaStream_t s;
	cudaGraph_t g = NULL;
	cudaGraphExec_t e;

	CHECK(cudaStreamCreate(&s));
	CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
	work<<<1, 1, 0, s>>>(NULL);
	int refused = cudaStreamSynchronize(s);
	int failed = cudaStreamEndCapture(s, &g);
	cudaGetLastError();
	CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
	for (int i = 0; i < 3; i++)
		work<<<1, 1, 0, s>>>(NULL);
	CHECK(cudaStreamEndCapture(s, &g));
	CHECK(cudaGraphInstantiate(&e, g, 0));
	CHECK(cudaGraphLaunch(e, s));
	CHECK(cudaStreamSynchronize(s));
	printf("{\"kernels\":3,\"refused\":%d,\"failed\":%d}\n", refused, failed);
}

static void peer()
{
	const size_t bytes = 1 << 24;
	void *here, *there;
	int count;

	CHECK(cudaGetDeviceCount(&count));
	if (count < 2) {
		printf("{\"skipped\":1}\n");
		return;
	}
	CHECK(cudaSetDevice(1));
	CHECK(cudaMalloc(&there, bytes));
	work<<<1, 1>>>(NULL);
	CHECK(cudaSetDevice(0));
	CHECK(cudaMalloc(&here, bytes));
	for (int i = 0; i < 4; i++)
		CHECK(cudaMemcpyPeer(there, 1, here, 0, bytes));
	CHECK(cudaDeviceEnablePeerAccess(1, 0));
	CHECK(cudaMemcpy(here, there, bytes, cudaMemcpyDefault));
	CHECK(cudaDeviceSynchronize());
	printf("{\"kernels\":1,\"to\":4,\"back\":1,\"bytes\":%zu}\n", bytes);
}

/* What was complete 300 ms before is there. */
static void killed()
{
	for (int i = 0; i < 100; i++)
		work<<<1, 1>>>(NULL);
	CHECK(cudaDeviceSynchronize());
	printf("{\"kernels\":100}\n");
	fflush(stdout);
	usleep(300000);
	raise(SIGKILL);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)();
	} scenes[] = {{"jit", jit}, {"pool", pool}, {"green", green}, {"capture", capture},
		      {"peer", peer}, {"killed", killed}};

	for (auto &s : scenes)
		if (argc > 1 && strcmp(argv[1], s.name) == 0)
			s.run();
	return 0;
}
