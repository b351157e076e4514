/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many kernels from many threads on out-of-order queues: what a tracer must neither lose nor
 * mix up. Each thread has its own queues, on two sub-devices in turn where the platform can
 * partition its device. Of the events of the kernels, some are never asked for, some are released
 * at once, some are kept to the very end. All kernels are atomic additions, so that the result
 * does not depend on their order, and every kernel has a global size of its own.
 *
 * A thread finishes its queues at its end and after every `--finish N` kernels: PoCL's list of
 * outstanding commands makes 200,000 kernels without any finish take half a minute.
 */
#include "support.h"

#include <pthread.h>
#include <stdlib.h>

enum { N_KERNELS = 4, CELLS = 32, MAX_THREADS = 64, MAX_QUEUES = 16, FLUSH_EVERY = 64 };

static const char source[] =
	"kernel void add_one(global int *cells) { atomic_add(&cells[get_global_id(0)], 1); }\n"
	"kernel void add_two(global int *cells) { atomic_add(&cells[get_global_id(0)], 2); }\n"
	"kernel void add_three(global int *cells) { atomic_add(&cells[get_global_id(0)], 3); }\n"
	"kernel void add_four(global int *cells) { atomic_add(&cells[get_global_id(0)], 4); }\n";

static const struct {
	const char *name;
	size_t global;
	int adds;
} kernel_facts[N_KERNELS] = {
	{"add_one", 4, 1},
	{"add_two", 8, 2},
	{"add_three", 16, 3},
	{"add_four", 32, 4},
};

static long n_threads = 8, n_queues = 2, n_total = 200000, finish_every = 2500;
static cl_context context;
static cl_program program;
static cl_device_id devices[2];

struct worker {
	pthread_t thread;
	cl_device_id device;
	long kernels; /* to run, over all queues */
	cl_command_queue queues[MAX_QUEUES];
	cl_kernel kernel[N_KERNELS];
	cl_mem cells;
	long done[MAX_QUEUES][N_KERNELS];
	cl_event *kept;
	long n_kept, n_released, n_without;
};

/* Two sub-devices of one compute unit each, or the device itself twice. */
static int find_devices(void)
{
	const cl_device_partition_property halves[] = {CL_DEVICE_PARTITION_BY_COUNTS, 1, 1,
						       CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0};
	cl_device_id whole = first_device();
	cl_uint n = 0;
	cl_int error = CALL(clCreateSubDevices, whole, halves, 2, devices, &n);

	if (!error && n == 2)
		return 2;
	if (error)
		tally_error("clCreateSubDevices", error);
	devices[0] = devices[1] = whole;
	return 1;
}

static void worker_init(struct worker *w, long index)
{
	const int zero[CELLS] = {0};

	w->device = devices[index % 2];
	w->kernels = n_total / n_threads + (index < n_total % n_threads);
	w->kept = calloc((size_t)w->kernels, sizeof(cl_event));
	if (!w->kept)
		fail("out of memory");
	w->cells = make_buffer(context, sizeof(zero));
	for (long q = 0; q < n_queues; q++)
		w->queues[q] =
			make_queue(context, w->device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	for (int k = 0; k < N_KERNELS; k++) {
		w->kernel[k] = make_kernel(program, kernel_facts[k].name);
		CHECK(clSetKernelArg, w->kernel[k], 0, sizeof(cl_mem), &w->cells);
	}
	CHECK(clEnqueueWriteBuffer, w->queues[0], w->cells, CL_TRUE, 0, sizeof(zero), zero, 0, NULL,
	      NULL);
	tally_copy("write", sizeof(zero));
}

static void run_kernel(struct worker *w, long i)
{
	long q = i % n_queues;
	int k = (int)(i / n_queues % N_KERNELS);
	bool with_event = i % 5 < 3;
	cl_event event = NULL;

	CHECK(clEnqueueNDRangeKernel, w->queues[q], w->kernel[k], 1, NULL, &kernel_facts[k].global,
	      NULL, 0, NULL, with_event ? &event : NULL);
	w->done[q][k]++;
	if (!with_event) {
		w->n_without++;
	} else if (i % 5 == 0) {
		w->kept[w->n_kept++] = event;
	} else {
		CHECK(clReleaseEvent, event);
		w->n_released++;
	}
	if (i % FLUSH_EVERY == 0)
		CHECK(clFlush, w->queues[q]);
}

static void check_cells(struct worker *w)
{
	int cells[CELLS];

	CHECK(clEnqueueReadBuffer, w->queues[0], w->cells, CL_TRUE, 0, sizeof(cells), cells, 0,
	      NULL, NULL);
	tally_copy("read", sizeof(cells));
	for (size_t c = 0; c < CELLS; c++) {
		long wanted = 0;

		for (long q = 0; q < n_queues; q++)
			for (int k = 0; k < N_KERNELS; k++)
				if (c < kernel_facts[k].global)
					wanted += kernel_facts[k].adds * w->done[q][k];
		expect("a cell", cells[c], wanted);
	}
}

static void worker_release(struct worker *w)
{
	for (long i = 0; i < w->n_kept; i++)
		CHECK(clReleaseEvent, w->kept[i]);
	free(w->kept);
	for (int k = 0; k < N_KERNELS; k++)
		CHECK(clReleaseKernel, w->kernel[k]);
	CHECK(clReleaseMemObject, w->cells);
}

static void tally_worker(const struct worker *w)
{
	for (long q = 0; q < n_queues; q++)
		for (int k = 0; k < N_KERNELS; k++)
			if (w->done[q][k])
				tally_kernels(w->queues[q], w->device, kernel_facts[k].name,
					      kernel_facts[k].global, w->done[q][k]);
	tally_fact("events_kept", w->n_kept);
	tally_fact("events_released_early", w->n_released);
	tally_fact("kernels_without_event", w->n_without);
}

static void finish_queues(const struct worker *w)
{
	for (long q = 0; q < n_queues; q++)
		CHECK(clFinish, w->queues[q]);
}

static void *work(void *argument)
{
	struct worker *w = argument;

	for (long i = 0; i < w->kernels; i++) {
		run_kernel(w, i);
		if ((i + 1) % finish_every == 0)
			finish_queues(w);
	}
	finish_queues(w);
	check_cells(w);
	tally_worker(w);
	worker_release(w);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct worker workers[MAX_THREADS];
	const struct program_option options[] = {{"kernels", &n_total, NULL},
						 {"threads", &n_threads, NULL},
						 {"queues", &n_queues, NULL},
						 {"finish", &finish_every, NULL},
						 {NULL, NULL, NULL}};
	int n_devices;
	cl_int error;

	program_start("ocl_many", argc, argv, options);
	if (n_threads > MAX_THREADS || n_queues > MAX_QUEUES)
		fail("at most %d threads and %d queues each", MAX_THREADS, MAX_QUEUES);
	n_devices = find_devices();
	tally_fact("devices", n_devices);
	context = CALL(clCreateContext, NULL, (cl_uint)n_devices, devices, NULL, NULL, &error);
	check(error, "clCreateContext");
	program = make_program(context, source);

	for (long i = 0; i < n_threads; i++)
		worker_init(&workers[i], i);
	for (long i = 0; i < n_threads; i++)
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			fail("cannot start a thread");
	for (long i = 0; i < n_threads; i++)
		pthread_join(workers[i].thread, NULL);

	/* Queues are released last, so that no two of them ever had the same handle. */
	for (long i = 0; i < n_threads; i++)
		for (long q = 0; q < n_queues; q++)
			CHECK(clReleaseCommandQueue, workers[i].queues[q]);
	CHECK(clReleaseProgram, program);
	CHECK(clReleaseContext, context);
	return program_end();
}
