/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that uses what CUDA has: streams with priorities, copies of every kind, events, graphs,
 * managed memory, pools, cooperative and cluster launches. Prints as JSON what a trace of it must
 * hold. The argument chooses how it ends: return, exit, _exit, handler, fork, reset.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t error_ = (call);                                                           \
		if (error_ != cudaSuccess) {                                                        \
			fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error_));              \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

__global__ void vector_add(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		c[i] = a[i] + b[i];
}

__global__ void spin(long long cycles)
{
	long long start = clock64();

	while (clock64() - start < cycles)
		;
}

__global__ void touch(float *p, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		p[i] += 1;
}

__global__ void __cluster_dims__(2, 1, 1) clustered(float *p)
{
	p[blockIdx.x] = 1;
}

static const int N = 1 << 20;
static int kernels, copies, sets;
static float *a, *b, *c, *host;
enum { TIMED = 9 };
static double us[TIMED + 2];

static void add_on_streams()
{
	cudaStream_t streams[3];
	int low, high;

	CHECK(cudaDeviceGetStreamPriorityRange(&low, &high));
	CHECK(cudaStreamCreate(&streams[0]));
	CHECK(cudaStreamCreateWithFlags(&streams[1], cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithPriority(&streams[2], cudaStreamNonBlocking, high));
	CHECK(cudaMalloc(&a, N * 4));
	CHECK(cudaMalloc(&b, N * 4));
	CHECK(cudaMalloc(&c, N * 4));
	CHECK(cudaMallocHost(&host, N * 4));
	CHECK(cudaMemset(a, 0, N * 4));
	CHECK(cudaMemset(b, 0, N * 4));
	sets += 2;
	for (int i = 0; i < 30; i++, kernels++)
		vector_add<<<N / 256, 256, 0, streams[i % 3]>>>(a, b, c, N);
	CHECK(cudaMemcpyAsync(host, c, N * 4, cudaMemcpyDeviceToHost, streams[0]));
	for (int i = 0; i < 3; i++)
		CHECK(cudaStreamSynchronize(streams[i]));
	std::vector<float> pageable(N);
	CHECK(cudaMemcpy(pageable.data(), c, N * 4, cudaMemcpyDeviceToHost));
	CHECK(cudaMemcpy(a, pageable.data(), N * 4, cudaMemcpyHostToDevice));
	CHECK(cudaMemcpy(b, a, N * 4, cudaMemcpyDeviceToDevice));
	copies += 4;
	for (int i = 0; i < 3; i++)
		CHECK(cudaStreamDestroy(streams[i]));
}

/*
 * Microseconds between events around `count` kernels, for comparison with the trace. A kernel before
 * them keeps the device busy until all are in the stream.
 */
static double timed(int count, long long cycles)
{
	cudaEvent_t from, to;
	float ms;

	CHECK(cudaEventCreate(&from));
	CHECK(cudaEventCreate(&to));
	spin<<<1, 1>>>(2000000);
	CHECK(cudaEventRecord(from));
	for (int i = 0; i < count; i++)
		spin<<<1, 1>>>(cycles);
	CHECK(cudaEventRecord(to));
	CHECK(cudaEventSynchronize(to));
	CHECK(cudaEventElapsedTime(&ms, from, to));
	CHECK(cudaEventDestroy(from));
	CHECK(cudaEventDestroy(to));
	kernels += count + 1;
	return ms * 1e3;
}

/* One kernel of growing length, the first of none; then ten and twenty in a row. */
static void all_timed()
{
	for (int i = 0; i < TIMED; i++)
		us[i] = timed(1, 200000 * i);
	us[TIMED] = timed(10, 200000);
	us[TIMED + 1] = timed(20, 200000);
}

static void graph()
{
	cudaStream_t s;
	cudaGraph_t g;
	cudaGraphExec_t e;

	CHECK(cudaStreamCreate(&s));
	CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	for (int i = 0; i < 5; i++)
		vector_add<<<N / 256, 256, 0, s>>>(a, b, c, N);
	CHECK(cudaMemcpyAsync(b, a, N * 4, cudaMemcpyDeviceToDevice, s));
	CHECK(cudaStreamEndCapture(s, &g));
	CHECK(cudaGraphInstantiate(&e, g, 0));
	for (int i = 0; i < 10; i++, kernels += 5, copies++)
		CHECK(cudaGraphLaunch(e, s));
	CHECK(cudaStreamSynchronize(s));
	CHECK(cudaGraphExecDestroy(e));
	CHECK(cudaGraphDestroy(g));
	CHECK(cudaStreamDestroy(s));
}

static void managed()
{
	float *p;

	CHECK(cudaMallocManaged(&p, N * 4));
	for (int i = 0; i < N; i++)
		p[i] = 1;
	touch<<<N / 256, 256>>>(p, N);
	kernels++;
	CHECK(cudaDeviceSynchronize());
	if (p[N - 1] != 2)
		exit(1);
	CHECK(cudaFree(p));
}

static void pools_and_clusters()
{
	float *p;

	CHECK(cudaMallocAsync(&p, 1 << 16, 0));
	clustered<<<4, 32>>>(p);
	kernels++;
	CHECK(cudaFreeAsync(p, 0));
	CHECK(cudaDeviceSynchronize());
}

/* CUDA may be gone by then, which is its right; then there is nothing to record. */
static void at_the_end()
{
	vector_add<<<1, 256>>>(a, b, c, 256);
	if (cudaDeviceSynchronize() == cudaSuccess)
		printf("late\n");
}

int main(int argc, char **argv)
{
	const char *end = argc > 1 ? argv[1] : "return";

	if (strcmp(end, "handler") == 0)
		atexit(at_the_end); /* before CUDA is there: runs after what it registers */
	add_on_streams();
	all_timed();
	graph();
	managed();
	pools_and_clusters();
	printf("{\"kernels\": %d, \"copies\": %d, \"sets\": %d, \"event_us\": [", kernels, copies, sets);
	for (int i = 0; i < TIMED + 2; i++)
		printf("%s%.2f", i ? ", " : "", us[i]);
	printf("]}\n");
	fflush(stdout);
	if (strcmp(end, "exit") == 0)
		exit(0);
	if (strcmp(end, "_exit") == 0)
		_exit(0);
	if (strcmp(end, "reset") == 0)
		CHECK(cudaDeviceReset());
	if (strcmp(end, "fork") == 0) {
		pid_t child = fork();

		if (child == 0)
			exit(cudaDeviceSynchronize() == cudaSuccess ? 1 : 0);
		waitpid(child, NULL, 0);
	}
	return 0;
}
