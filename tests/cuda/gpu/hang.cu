/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel that spins until the host tells it to end: "ends" tells it, "killed" is killed by SIGKILL a
 * second later, "exits" leaves while it spins, "crowd" is killed, too, with other streams and a graph at
 * work around it. Prints as JSON what a trace of it must hold: kernels that ended and were waited for,
 * kernels that were never seen to.
 */
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#include <cuda_runtime.h>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t e = (call);                                                            \
		if (e != cudaSuccess) {                                                            \
			fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e));                 \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

__global__ void quick(int *p)
{
	if (p)
		atomicAdd(p, 1);
}

__global__ void spinning(volatile int *go)
{
	while (!*go)
		;
}

/* Nothing of this hangs: kernels, copies of nothing, a graph and what was captured for it. */
static int around(cudaStream_t stream, void *device)
{
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	for (int i = 0; i < 100; i++)
		quick<<<1, 1, 0, stream>>>(NULL);
	CHECK(cudaMemcpyAsync(device, device, 0, cudaMemcpyDefault, stream));
	CHECK(cudaMemsetAsync(device, 0, 0, stream));
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	for (int i = 0; i < 5; i++)
		quick<<<1, 1, 0, stream>>>(NULL);
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	CHECK(cudaGraphLaunch(exec, stream));
	CHECK(cudaStreamSynchronize(stream));
	return 105;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "ends";
	const bool crowd = strcmp(how, "crowd") == 0, ends = strcmp(how, "ends") == 0;
	cudaStream_t a, b;
	int quicks = 3;
	void *device;
	int *go;

	CHECK(cudaMallocHost(&go, sizeof(*go)));
	CHECK(cudaMalloc(&device, 4096));
	*go = 0;
	CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
	for (int i = 0; i < 3; i++)
		quick<<<1, 1, 0, a>>>(NULL);
	CHECK(cudaStreamSynchronize(a));
	if (crowd)
		quicks += around(b, device);
	spinning<<<1, 1, 0, a>>>(go);
	CHECK(cudaGetLastError());
	if (crowd)
		quicks += around(b, device);
	printf("{\"quick\":%d,\"spinning\":%d}\n", quicks, !ends);
	fflush(stdout);
	sleep(1);
	if (ends) {
		*(volatile int *)go = 1;
		CHECK(cudaDeviceSynchronize());
		return 0;
	}
	if (strcmp(how, "exits") == 0)
		_exit(0);
	raise(SIGKILL);
}
