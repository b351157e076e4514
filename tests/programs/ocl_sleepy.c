/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs kernels until it is killed, and keeps the number of those that finished in a file
 * (`--file NAME`), which survives any death of the program: a trace of it must hold at least as
 * many. The file holds two 64-bit integers: kernels finished, and the CLOCK_MONOTONIC time in
 * nanoseconds when the last one was.
 */
#include "support.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct progress {
	_Atomic int64_t finished;
	_Atomic int64_t time_ns;
};

static const char source[] = "kernel void tick(global int *cell) { cell[0]++; }\n";

static struct progress *open_progress(const char *file)
{
	int fd = open(file, O_RDWR | O_CREAT, 0644);
	struct progress *progress;

	if (fd < 0 || ftruncate(fd, sizeof(*progress)))
		fail("cannot write %s", file);
	progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (progress == MAP_FAILED)
		fail("cannot map %s", file);
	close(fd);
	return progress;
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int main(int argc, char **argv)
{
	const char *file = NULL;
	const struct program_option options[] = {{"file", NULL, &file}, {NULL, NULL, NULL}};
	const size_t global = 1;
	struct progress *progress;
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_kernel kernel;
	cl_mem buffer;

	program_start("ocl_sleepy", argc, argv, options);
	if (!file)
		fail("--file is needed");
	progress = open_progress(file);
	device = first_device();
	context = make_context(device);
	queue = make_queue(context, device, 0);
	kernel = make_kernel(make_program(context, source), "tick");
	buffer = make_buffer(context, sizeof(int));
	CHECK(clSetKernelArg, kernel, 0, sizeof(buffer), &buffer);
	for (;;) {
		CHECK(clEnqueueNDRangeKernel, queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL);
		CHECK(clFinish, queue);
		atomic_store(&progress->time_ns, now_ns());
		atomic_fetch_add(&progress->finished, 1);
	}
}
