/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callbacks: of events, of memory objects and of contexts. Destructor callbacks must come when
 * the program has released everything, in the reverse order of their registration, and before it
 * ends: a tracer that keeps an event keeps the context alive, and the callback would never come.
 */
#include "support.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { N_KERNELS = 100, DEADLINE_S = 20 };

static const char source[] =
	"kernel void count(global int *cells) { cells[get_global_id(0)]++; }\n";

/* What was called back, in order: one letter each. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static char log_text[64];
static size_t log_length;
static int n_status[CL_QUEUED + 1]; /* event callbacks by status */

static void note(char what)
{
	pthread_mutex_lock(&lock);
	if (log_length < sizeof(log_text) - 1)
		log_text[log_length++] = what;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void CL_CALLBACK on_status(cl_event event, cl_int status, void *user)
{
	(void)event;
	(void)user;
	pthread_mutex_lock(&lock);
	if (status >= 0 && status <= CL_QUEUED)
		n_status[status]++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void CL_CALLBACK on_memory(cl_mem memory, void *user)
{
	(void)memory;
	note(*(const char *)user);
}

static void CL_CALLBACK on_context(cl_context context, void *user)
{
	(void)context;
	note(*(const char *)user);
}

static void wait_for_change(const char *what)
{
	struct timespec deadline;

	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += DEADLINE_S;
	if (pthread_cond_timedwait(&changed, &lock, &deadline))
		fail("%s did not come within %d s; so far: \"%s\"", what, DEADLINE_S, log_text);
}

static void wait_for_log(const char *wanted)
{
	pthread_mutex_lock(&lock);
	while (log_length < strlen(wanted))
		wait_for_change("a destructor callback");
	if (strcmp(log_text, wanted))
		fail("callbacks came as \"%s\", expected \"%s\"", log_text, wanted);
	pthread_mutex_unlock(&lock);
}

static void wait_for_status(cl_int status, int wanted)
{
	pthread_mutex_lock(&lock);
	while (n_status[status] < wanted)
		wait_for_change("an event callback");
	expect("event callbacks", n_status[status], wanted);
	pthread_mutex_unlock(&lock);
}

/* Kernels held back by a user event, each with a callback for every status. */
static void run_kernels(cl_context context, cl_command_queue queue, cl_kernel kernel)
{
	const size_t global = 1;
	cl_event events[N_KERNELS];
	cl_int error;
	cl_event gate = CALL(clCreateUserEvent, context, &error);

	check(error, "clCreateUserEvent");
	for (int i = 0; i < N_KERNELS; i++) {
		CHECK(clEnqueueNDRangeKernel, queue, kernel, 1, NULL, &global, NULL, 1, &gate,
		      &events[i]);
		CHECK(clSetEventCallback, events[i], CL_SUBMITTED, on_status, NULL);
		CHECK(clSetEventCallback, events[i], CL_RUNNING, on_status, NULL);
		CHECK(clSetEventCallback, events[i], CL_COMPLETE, on_status, NULL);
	}
	CHECK(clFlush, queue);
	pthread_mutex_lock(&lock);
	expect("kernels complete before the gate opened", n_status[CL_COMPLETE], 0);
	pthread_mutex_unlock(&lock);
	CHECK(clSetUserEventStatus, gate, CL_COMPLETE);
	for (int i = 0; i < N_KERNELS; i++)
		CHECK(clReleaseEvent, events[i]);
	CHECK(clReleaseEvent, gate);
	wait_for_status(CL_SUBMITTED, N_KERNELS);
	wait_for_status(CL_RUNNING, N_KERNELS);
	wait_for_status(CL_COMPLETE, N_KERNELS);
}

static void use_everything(cl_device_id device, cl_context context)
{
	cl_command_queue queue = make_queue(context, device, 0);
	cl_program program = make_program(context, source);
	cl_kernel kernel = make_kernel(program, "count");
	cl_mem buffer = make_buffer(context, sizeof(int));
	const int zero = 0;
	int count = 0;

	CHECK(clSetMemObjectDestructorCallback, buffer, on_memory, "1");
	CHECK(clSetMemObjectDestructorCallback, buffer, on_memory, "2");
	CHECK(clSetKernelArg, kernel, 0, sizeof(buffer), &buffer);
	CHECK(clEnqueueWriteBuffer, queue, buffer, CL_TRUE, 0, sizeof(zero), &zero, 0, NULL, NULL);
	tally_copy("write", sizeof(zero));
	run_kernels(context, queue, kernel);
	tally_kernels(queue, device, "count", 1, N_KERNELS);
	CHECK(clEnqueueReadBuffer, queue, buffer, CL_TRUE, 0, sizeof(count), &count, 0, NULL, NULL);
	tally_copy("read", sizeof(count));
	expect("the count", count, N_KERNELS);

	CHECK(clReleaseKernel, kernel);
	CHECK(clReleaseProgram, program);
	CHECK(clReleaseCommandQueue, queue);
	CHECK(clReleaseMemObject, buffer);
}

int main(int argc, char **argv)
{
	cl_device_id device;
	cl_context context;

	program_start("ocl_callbacks", argc, argv, NULL);
	device = first_device();
	context = make_context(device);
	CHECK(clSetContextDestructorCallback, context, on_context, "3");
	CHECK(clSetContextDestructorCallback, context, on_context, "4");
	use_everything(device, context);
	wait_for_log("21");
	CHECK(clReleaseContext, context);
	wait_for_log("2143");
	return program_end();
}
