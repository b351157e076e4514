/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forks while it uses OpenCL. The children: one that does nothing and leaves by exit(), one that
 * leaves by _exit(), one made by a raw clone() that no fork handler sees and that asks for the
 * name of the device, and one that executes this program anew and runs kernels of its own. The
 * parent goes on with OpenCL afterwards. All kernels are counted per process: the executed child
 * writes its counts to the parent's file with ".child" appended.
 */
#include "support.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PARENT_KERNELS = 20, CHILD_KERNELS = 30 };

static const char source[] = "kernel void parent(global int *cell) { cell[0]++; }\n"
			     "kernel void child(global int *cell) { cell[0]++; }\n";

static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static cl_kernel kernel;
static cl_mem buffer;

static void start(const char *name)
{
	const int zero = 0;

	device = first_device();
	context = make_context(device);
	queue = make_queue(context, device, 0);
	kernel = make_kernel(make_program(context, source), name);
	buffer = make_buffer(context, sizeof(int));
	CHECK(clSetKernelArg, kernel, 0, sizeof(buffer), &buffer);
	CHECK(clEnqueueWriteBuffer, queue, buffer, CL_TRUE, 0, sizeof(zero), &zero, 0, NULL, NULL);
	tally_copy("write", sizeof(zero));
}

static void run_kernels(const char *name, int count)
{
	const size_t global = 1;

	for (int i = 0; i < count; i++)
		CHECK(clEnqueueNDRangeKernel, queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL);
	CHECK(clFinish, queue);
	tally_kernels(queue, device, name, global, count);
}

static void expect_count(int wanted)
{
	int count = 0;

	CHECK(clEnqueueReadBuffer, queue, buffer, CL_TRUE, 0, sizeof(count), &count, 0, NULL, NULL);
	tally_copy("read", sizeof(count));
	expect("the count", count, wanted);
}

static void wait_for(const char *what, pid_t child)
{
	int status = 0;

	if (child < 0 || waitpid(child, &status, 0) != child)
		fail("%s was lost", what);
	expect(what, status, 0);
}

static void fork_and_leave(void)
{
	pid_t child = fork();

	if (!child)
		exit(EXIT_SUCCESS);
	wait_for("the child that exits", child);
	child = fork();
	if (!child)
		_exit(EXIT_SUCCESS);
	wait_for("the child that leaves by _exit", child);
}

static void clone_and_query(void)
{
	pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);

	if (!child) {
		char name[256];

		_exit(clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof(name), name, NULL) ? 1 : 0);
	}
	wait_for("the cloned child", child);
}

static void fork_and_execute(char *self, char *counts)
{
	pid_t child;

	fflush(NULL);
	child = fork();
	if (!child) {
		execl("/proc/self/exe", self, "--child", "yes", counts ? "--counts" : NULL, counts,
		      NULL);
		_exit(127);
	}
	wait_for("the executed child", child);
}

/* The child's counts file, or NULL. */
static char *child_counts(int argc, char **argv)
{
	char *name = NULL;

	for (int i = 1; i + 1 < argc; i++)
		if (!strcmp(argv[i], "--counts") && asprintf(&name, "%s.child", argv[i + 1]) < 0)
			fail("out of memory");
	return name;
}

int main(int argc, char **argv)
{
	const char *child = NULL;
	const struct program_option options[] = {{"child", NULL, &child}, {NULL, NULL, NULL}};

	program_start("ocl_fork", argc, argv, options);
	start(child ? "child" : "parent");
	if (child) {
		run_kernels("child", CHILD_KERNELS);
		expect_count(CHILD_KERNELS);
	} else {
		char *counts = child_counts(argc, argv);

		run_kernels("parent", PARENT_KERNELS);
		fork_and_leave();
		clone_and_query();
		fork_and_execute(argv[0], counts);
		run_kernels("parent", PARENT_KERNELS);
		expect_count(2 * PARENT_KERNELS);
		free(counts);
	}
	return program_end();
}
