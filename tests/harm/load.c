/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that make recorded calls and count them in a file that outlives them: begun before each
 * call, done after it. Whatever is killed when, what was recorded and what was lost must lie between.
 *
 * load FILE THREADS CALLS [PAUSE [HELD]]  marks, whose names change; a pause of PAUSE ns after every 64;
 *                                     the last HELD of each thread when there is a file FILE.go
 * load FILE THREADS CALLS cl          kernels, each waited for
 * load FILE THREADS CALLS hang        waits; each returns when a byte can be read from standard input
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <kymo/marker.h>

enum { SAME_NAME = 256, PAUSE_EVERY = 64 };

static struct count {
	_Atomic uint64_t begun, done, pad[6];
} * counts;

static uint64_t calls, held;
static long pause_ns;
static char go[4096];
static cl_context context;
static cl_device_id device;
static cl_program program;

static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "load: %s failed\n", what);
	_exit(99);
}

static void wait_for_go(void)
{
	while (access(go, F_OK) != 0)
		nanosleep(&(struct timespec){0, 1000000}, NULL);
}

static void *mark(void *arg)
{
	struct count *c = arg;
	char name[48];

	for (uint64_t i = 0; i < calls; i++) {
		if (held && i + held == calls)
			wait_for_go();
		if (i % SAME_NAME == 0)
			snprintf(name, sizeof(name), "m%u.%u", (unsigned)(c - counts),
				 (unsigned)(i / SAME_NAME));
		atomic_store(&c->begun, i + 1);
		kymo_mark(name);
		atomic_store(&c->done, i + 1);
		if (pause_ns && i % PAUSE_EVERY == 0)
			nanosleep(&(struct timespec){0, pause_ns}, NULL);
	}
	return NULL;
}

static void *release(void *event)
{
	char byte;

	if (read(STDIN_FILENO, &byte, 1) >= 0)
		clSetUserEventStatus(event, CL_COMPLETE);
	return NULL;
}

static void *hang(void *arg)
{
	struct count *c = arg;

	for (uint64_t i = 0; i < calls; i++) {
		cl_int error;
		cl_event event = clCreateUserEvent(context, &error);
		pthread_t other = 0;

		must(error == CL_SUCCESS && pthread_create(&other, NULL, release, event) == 0,
		     "clCreateUserEvent");
		atomic_store(&c->begun, i + 1);
		must(clWaitForEvents(1, &event) == CL_SUCCESS, "clWaitForEvents");
		atomic_store(&c->done, i + 1);
		pthread_join(other, NULL);
		clReleaseEvent(event);
	}
	return NULL;
}

static void open_device(void)
{
	const char *source =
		"__kernel void add(__global int *a) { if (get_global_id(0) == 0) a[0] += 1; }";
	cl_platform_id platform;
	cl_int error;

	must(clGetPlatformIDs(1, &platform, NULL) == CL_SUCCESS, "clGetPlatformIDs");
	must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) == CL_SUCCESS,
	     "clGetDeviceIDs");
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	must(error == CL_SUCCESS, "clCreateContext");
	program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
	must(clBuildProgram(program, 1, &device, "", NULL, NULL) == CL_SUCCESS, "clBuildProgram");
}

static void *compute(void *arg)
{
	struct count *c = arg;
	int sum = 0, zero = 0;
	size_t size = 1;
	cl_int error;
	cl_command_queue queue = clCreateCommandQueue(context, device, 0, &error);
	cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
				       sizeof(zero), &zero, &error);
	cl_kernel kernel = clCreateKernel(program, "add", &error);

	must(error == CL_SUCCESS, "clCreateKernel");
	clSetKernelArg(kernel, 0, sizeof(buffer), &buffer);
	for (uint64_t i = 0; i < calls; i++) {
		atomic_store(&c->begun, i + 1);
		must(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL) ==
			     CL_SUCCESS,
		     "clEnqueueNDRangeKernel");
		atomic_store(&c->done, i + 1);
		must(clFinish(queue) == CL_SUCCESS, "clFinish");
	}
	clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(sum), &sum, 0, NULL, NULL);
	must((uint64_t)sum == calls, "the sum");
	clReleaseKernel(kernel);
	clReleaseMemObject(buffer);
	clReleaseCommandQueue(queue);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned threads = argc > 3 ? (unsigned)atoi(argv[2]) : 0;
	int hangs = argc > 4 && strcmp(argv[4], "hang") == 0, fd;
	int cl = argc > 4 && (hangs || strcmp(argv[4], "cl") == 0);
	void *(*work)(void *) = hangs ? hang : cl ? compute : mark;
	pthread_t *t = calloc(threads + 1, sizeof(*t));
	char temporary[4096];

	must(threads > 0, "the command line");
	calls = strtoull(argv[3], NULL, 10);
	pause_ns = argc > 4 && !cl ? atol(argv[4]) : 0;
	held = argc > 5 ? strtoull(argv[5], NULL, 10) : 0;
	snprintf(go, sizeof(go), "%s.go", argv[1]);
	if (cl)
		open_device();
	snprintf(temporary, sizeof(temporary), "%s.new", argv[1]);
	fd = open(temporary, O_RDWR | O_CREAT | O_TRUNC, 0666);
	must(fd >= 0 && ftruncate(fd, (off_t)(threads * sizeof(*counts))) == 0,
	     "the file of counts");
	counts = mmap(NULL, threads * sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(counts != MAP_FAILED && rename(temporary, argv[1]) == 0, "the file of counts");
	for (unsigned i = 0; i < threads; i++)
		must(pthread_create(&t[i], NULL, work, &counts[i]) == 0, "pthread_create");
	for (unsigned i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	puts("done");
	free(t);
	return 7;
}
