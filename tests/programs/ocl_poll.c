/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that never waits: it polls the status of events until they are complete, also of the
 * read that fetches its result. A tracer that collects events only where a program synchronises
 * would see nothing of it. It leaves without finishing or releasing its queue.
 */
#include "support.h"

#include <sched.h>

enum { N_KERNELS = 500, CELLS = 64 };

static const char source[] =
	"kernel void count(global int *cells) { cells[get_global_id(0)]++; }\n";

static long n_polls;

static void poll_until_complete(cl_event event)
{
	cl_int status = CL_QUEUED;

	while (status != CL_COMPLETE) {
		CHECK(clGetEventInfo, event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status),
		      &status, NULL);
		if (status < 0)
			fail("an event failed with %d", status);
		n_polls++;
		sched_yield();
	}
	CHECK(clReleaseEvent, event);
}

int main(int argc, char **argv)
{
	static int cells[CELLS];
	const size_t global = CELLS;
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_kernel kernel;
	cl_mem buffer;
	cl_event event;

	program_start("ocl_poll", argc, argv, NULL);
	device = first_device();
	context = make_context(device);
	queue = make_queue(context, device, 0);
	kernel = make_kernel(make_program(context, source), "count");
	buffer = make_buffer(context, sizeof(cells));
	CHECK(clSetKernelArg, kernel, 0, sizeof(buffer), &buffer);

	CHECK(clEnqueueWriteBuffer, queue, buffer, CL_FALSE, 0, sizeof(cells), cells, 0, NULL,
	      &event);
	CHECK(clFlush, queue);
	poll_until_complete(event);
	tally_copy("write", sizeof(cells));

	for (int i = 0; i < N_KERNELS; i++) {
		CHECK(clEnqueueNDRangeKernel, queue, kernel, 1, NULL, &global, NULL, 0, NULL,
		      &event);
		CHECK(clFlush, queue);
		poll_until_complete(event);
	}
	tally_kernels(queue, device, "count", global, N_KERNELS);

	CHECK(clEnqueueReadBuffer, queue, buffer, CL_FALSE, 0, sizeof(cells), cells, 0, NULL,
	      &event);
	CHECK(clFlush, queue);
	poll_until_complete(event);
	tally_copy("read", sizeof(cells));
	for (int i = 0; i < CELLS; i++)
		expect("a cell", cells[i], N_KERNELS);
	tally_fact("polls", n_polls);
	return program_end();
}
