/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels that cannot be repeated, or whose launch may not wait: each of the program's ways to launch one
 * is a case of its own, and each adds one to its cell exactly once, whoever counts. `--case NAME` runs one.
 */
#include "support.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct all {
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
};

#define ADD(name) "kernel void once_" name "(volatile global uint *cell) { atomic_inc(cell); }\n"

static cl_mem cell_new(const struct all *a)
{
	const cl_uint zero = 0;
	cl_mem cell = make_buffer(a->context, 4096);

	CHECK(clEnqueueWriteBuffer, a->queue, cell, CL_TRUE, 0, 4, &zero, 0, NULL, NULL);
	return cell;
}

static void expect_cell(const struct all *a, cl_mem cell, cl_uint wanted)
{
	cl_uint got = 0;

	CHECK(clEnqueueReadBuffer, a->queue, cell, CL_TRUE, 0, 4, &got, 0, NULL, NULL);
	expect("cell", got, wanted);
	CHECK(clReleaseMemObject, cell);
}

static void launch(cl_command_queue queue, cl_kernel kernel, cl_uint waits, const cl_event *list)
{
	const size_t one = 1;

	CHECK(clEnqueueNDRangeKernel, queue, kernel, 1, NULL, &one, NULL, waits, list, NULL);
}

/* Of a program with this source; its first argument is the cell. */
static void run_source(const struct all *a, const char *source, const char *name)
{
	cl_program program = make_program(a->context, source);
	cl_kernel kernel = make_kernel(program, name);
	cl_mem cell = cell_new(a);

	CHECK(clSetKernelArg, kernel, 0, sizeof(cell), &cell);
	launch(a->queue, kernel, 0, NULL);
	expect_cell(a, cell, 1);
	CHECK(clReleaseKernel, kernel);
	CHECK(clReleaseProgram, program);
}

static void case_printf(const struct all *a)
{
	run_source(a,
		   "kernel void once_printf(volatile global uint *cell)\n"
		   "{ atomic_inc(cell); printf(\"printed\\n\"); }\n",
		   "once_printf");
}

static void case_binary(const struct all *a)
{
	cl_program program = make_program(a->context, ADD("binary")), again;
	unsigned char *binary;
	cl_int error, status;
	cl_kernel kernel;
	cl_mem cell = cell_new(a);
	size_t size = 0;

	clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL);
	binary = malloc(size);
	clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(binary), &binary, NULL);
	again = clCreateProgramWithBinary(a->context, 1, &a->device, &size,
					  (const unsigned char **)&binary, &status, &error);
	check(error, "clCreateProgramWithBinary");
	CHECK(clBuildProgram, again, 1, &a->device, "", NULL, NULL);
	kernel = make_kernel(again, "once_binary");
	CHECK(clSetKernelArg, kernel, 0, sizeof(cell), &cell);
	launch(a->queue, kernel, 0, NULL);
	expect_cell(a, cell, 1);
	CHECK(clReleaseKernel, kernel);
	CHECK(clReleaseProgram, program);
	CHECK(clReleaseProgram, again);
	free(binary);
}

static void case_svm(const struct all *a)
{
	cl_program program = make_program(a->context, ADD("svm"));
	cl_kernel kernel = make_kernel(program, "once_svm");
	cl_uint *shared = clSVMAlloc(a->context, CL_MEM_READ_WRITE, 4096, 0);

	if (!shared)
		fail("no shared virtual memory");
	CHECK(clEnqueueSVMMap, a->queue, CL_TRUE, CL_MAP_WRITE, shared, 4, 0, NULL, NULL);
	*shared = 0;
	CHECK(clEnqueueSVMUnmap, a->queue, shared, 0, NULL, NULL);
	check(clSetKernelArgSVMPointer(kernel, 0, shared), "clSetKernelArgSVMPointer");
	launch(a->queue, kernel, 0, NULL);
	CHECK(clEnqueueSVMMap, a->queue, CL_TRUE, CL_MAP_READ, shared, 4, 0, NULL, NULL);
	expect("shared cell", *shared, 1);
	CHECK(clEnqueueSVMUnmap, a->queue, shared, 0, NULL, NULL);
	CHECK(clFinish, a->queue);
	clSVMFree(a->context, shared);
	CHECK(clReleaseKernel, kernel);
	CHECK(clReleaseProgram, program);
}

/* The program completes the event after it has launched what waits for it: in the same thread. */
static void case_user_event(const struct all *a)
{
	cl_program program = make_program(a->context, ADD("user_event"));
	cl_kernel kernel = make_kernel(program, "once_user_event");
	cl_mem cell = cell_new(a);
	cl_event mine;
	cl_int error;

	mine = CALL(clCreateUserEvent, a->context, &error);
	check(error, "clCreateUserEvent");
	CHECK(clSetKernelArg, kernel, 0, sizeof(cell), &cell);
	launch(a->queue, kernel, 1, &mine);
	launch(a->queue, kernel, 0, NULL); /* waits for the first, in order */
	CHECK(clFlush, a->queue);
	CHECK(clSetUserEventStatus, mine, CL_COMPLETE);
	CHECK(clReleaseEvent, mine);
	expect_cell(a, cell, 2);
	CHECK(clReleaseKernel, kernel);
	CHECK(clReleaseProgram, program);
}

/* Commands of another queue, without an order, that the kernel follows by its wait list alone. */
static void case_out_of_order(const struct all *a)
{
	cl_program program = make_program(a->context, ADD("out_of_order"));
	cl_kernel kernel = make_kernel(program, "once_out_of_order");
	cl_command_queue queue =
		make_queue(a->context, a->device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	cl_mem cell = cell_new(a);
	const cl_uint five = 5;
	cl_event written;

	CHECK(clSetKernelArg, kernel, 0, sizeof(cell), &cell);
	CHECK(clEnqueueWriteBuffer, queue, cell, CL_FALSE, 0, 4, &five, 0, NULL, &written);
	launch(queue, kernel, 1, &written);
	CHECK(clFinish, queue);
	CHECK(clReleaseEvent, written);
	CHECK(clReleaseCommandQueue, queue);
	expect_cell(a, cell, 6);
	CHECK(clReleaseKernel, kernel);
	CHECK(clReleaseProgram, program);
}

/* A clone has the arguments of its source. */
static void case_clone(const struct all *a)
{
	cl_program program = make_program(a->context, ADD("clone"));
	cl_kernel kernel = make_kernel(program, "once_clone"), clone;
	cl_mem cell = cell_new(a);
	cl_int error;

	CHECK(clSetKernelArg, kernel, 0, sizeof(cell), &cell);
	clone = clCloneKernel(kernel, &error);
	check(error, "clCloneKernel");
	CHECK(clReleaseKernel, kernel);
	launch(a->queue, clone, 0, NULL);
	expect_cell(a, cell, 1);
	CHECK(clReleaseKernel, clone);
	CHECK(clReleaseProgram, program);
}

struct thread {
	const struct all *a;
	cl_program program;
};

static void *thread_of(void *arg)
{
	const struct thread *t = arg;
	cl_command_queue queue = make_queue(t->a->context, t->a->device, 0);
	cl_kernel kernel = make_kernel(t->program, "once_threads");
	struct all own = {t->a->device, t->a->context, queue};
	cl_mem cell = cell_new(&own);

	CHECK(clSetKernelArg, kernel, 0, sizeof(cell), &cell);
	for (int i = 0; i < 20; i++)
		launch(queue, kernel, 0, NULL);
	expect_cell(&own, cell, 20);
	CHECK(clReleaseKernel, kernel);
	CHECK(clReleaseCommandQueue, queue);
	return NULL;
}

static void case_threads(const struct all *a)
{
	struct thread t = {a, make_program(a->context, ADD("threads"))};
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, thread_of, &t);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	CHECK(clReleaseProgram, t.program);
}

struct follower {
	cl_command_queue queue;
	cl_kernel kernel;
	pthread_mutex_t lock;
	pthread_cond_t done;
	bool launched;
};

static void CL_CALLBACK launch_next(cl_event event, cl_int status, void *data)
{
	struct follower *f = data;

	launch(f->queue, f->kernel, 0, NULL);
	CHECK(clFlush, f->queue);
	pthread_mutex_lock(&f->lock);
	f->launched = true;
	pthread_cond_signal(&f->done);
	pthread_mutex_unlock(&f->lock);
}

/* A callback launches the second kernel: it may not wait for it. The third one comes from here again. */
static void case_callback(const struct all *a)
{
	cl_program program = make_program(a->context, ADD("callback"));
	struct follower f = {a->queue, make_kernel(program, "once_callback"),
			     PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};
	cl_mem cell = cell_new(a);
	const size_t one = 1;
	cl_event event;

	CHECK(clSetKernelArg, f.kernel, 0, sizeof(cell), &cell);
	CHECK(clEnqueueNDRangeKernel, a->queue, f.kernel, 1, NULL, &one, NULL, 0, NULL, &event);
	CHECK(clSetEventCallback, event, CL_COMPLETE, launch_next, &f);
	CHECK(clFlush, a->queue);
	pthread_mutex_lock(&f.lock);
	while (!f.launched)
		pthread_cond_wait(&f.done, &f.lock);
	pthread_mutex_unlock(&f.lock);
	CHECK(clReleaseEvent, event);
	launch(a->queue, f.kernel, 0, NULL);
	expect_cell(a, cell, 3);
	CHECK(clReleaseKernel, f.kernel);
	CHECK(clReleaseProgram, program);
}

/* An error is the program's: nothing was launched. */
static void case_error(const struct all *a)
{
	cl_program program = make_program(a->context, ADD("error"));
	cl_kernel kernel = make_kernel(program, "once_error");
	const size_t one = 1, three = 3;
	cl_mem cell = cell_new(a);

	CHECK(clSetKernelArg, kernel, 0, sizeof(cell), &cell);
	expect("error",
	       CALL(clEnqueueNDRangeKernel, a->queue, kernel, 1, NULL, &one, &three, 0, NULL,
		    NULL) < 0,
	       1);
	expect_cell(a, cell, 0);
	CHECK(clReleaseKernel, kernel);
	CHECK(clReleaseProgram, program);
}

/* More queues than anybody waits for; one of them has something to do. */
static void case_queues(const struct all *a)
{
	enum { QUEUES = 130 };
	cl_program program = make_program(a->context, ADD("queues"));
	cl_kernel kernel = make_kernel(program, "once_queues");
	cl_mem cell = cell_new(a);
	cl_command_queue queues[QUEUES];

	for (unsigned i = 0; i < QUEUES; i++)
		queues[i] = make_queue(a->context, a->device, 0);
	CHECK(clSetKernelArg, kernel, 0, sizeof(cell), &cell);
	launch(queues[QUEUES - 1], kernel, 0, NULL);
	launch(a->queue, kernel, 0, NULL);
	for (unsigned i = 0; i < QUEUES; i++) {
		CHECK(clFinish, queues[i]);
		CHECK(clReleaseCommandQueue, queues[i]);
	}
	launch(a->queue, kernel, 0, NULL);
	expect_cell(a, cell, 3);
	CHECK(clReleaseKernel, kernel);
	CHECK(clReleaseProgram, program);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(const struct all *a);
	} cases[] = {
		{"printf", case_printf},
		{"binary", case_binary},
		{"svm", case_svm},
		{"user_event", case_user_event},
		{"out_of_order", case_out_of_order},
		{"clone", case_clone},
		{"threads", case_threads},
		{"error", case_error},
		{"callback", case_callback},
		{"queues", case_queues},
	};
	static const char *chosen;
	static const struct program_option options[] = {{"case", NULL, &chosen},
							{NULL, NULL, NULL}};
	struct all a;

	program_start("ocl_once", argc, argv, options);
	a.device = first_device();
	a.context = make_context(a.device);
	a.queue = make_queue(a.context, a.device, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!chosen || strcmp(chosen, cases[i].name) == 0)
			cases[i].run(&a);
	CHECK(clReleaseCommandQueue, a.queue);
	CHECK(clReleaseContext, a.context);
	return program_end();
}
