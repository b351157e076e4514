/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What slices (a begin and an end each) take to write to a Perfetto file: calls that submit a kernel, and
 * the kernels, with their arguments and flows.
 *
 *   bench_perfetto FILE [KERNELS]
 *
 * Prints slices in a second of processor time, the end of the file included, best of three; and the
 * most memory that the process had.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "measure.h"
#include "formats/format.h"
#include "stream/trace.h"

#define STEP 1000 /* ns between kernels */

static uint32_t add_op(struct trace *t, const char *domain, const char *name, uint32_t flags)
{
	struct t_domain *d = trace_add(t, domains);
	struct t_op *op = trace_add(t, ops);

	*d = (struct t_domain){domain, domain};
	*op = (struct t_op){.name = name, .domain = t->domains_count - 1, .flags = flags};
	return t->ops_count - 1;
}

static struct trace *make_trace(uint32_t *call, uint32_t *kernel)
{
	struct trace *t = trace_new();

	need(t != NULL, "trace_new");
	*call = add_op(t, "opencl", "clEnqueueNDRangeKernel", KYMO_OP_SUBMITS);
	*kernel = add_op(t, "dispatch", "kernel", KYMO_OP_ACTIVITY);
	*trace_add(t, processes) = (struct t_process){.pid = 1,
						      .rank = UINT32_MAX,
						      .of_rank = UINT32_MAX,
						      .hostname = "h",
						      .exe = "/p",
						      .start = 1};
	*trace_add(t, threads) =
		(struct t_thread){.process = 1, .tid = 1, .name = "", .main = true};
	*trace_add(t, agents) = (struct t_agent){.process = 1,
						 .type = "gpu",
						 .name = "gpu",
						 .label = "gpu",
						 .hardware = "gpu",
						 .domain = "opencl"};
	*trace_add(t, queues) =
		(struct t_queue){.process = 1, .agent = 1, .domain = "opencl", .label = "queue 0"};
	*trace_add(t, kernels) = (struct t_kernel){.process = 1, .domain = "opencl", .name = "k"};
	t->origin = 1000;
	return t;
}

static void write_kernel(struct stream_sink *s, uint64_t i, uint32_t call_op, uint32_t kernel_op)
{
	int64_t at = 1000 + (int64_t)i * STEP;
	struct rec call = {.process = 1,
			   .thread = 1,
			   .op = call_op,
			   .ok = true,
			   .id = i + 1,
			   .start = at,
			   .end = at + 200};
	struct rec_dispatch work = {.base = {.process = 1,
					     .thread = 1,
					     .op = kernel_op,
					     .start = at + 900,
					     .end = at + 900},
				    .device = {.queued = at + 100,
					       .submitted = at + 150,
					       .start = at + 300,
					       .end = at + 900,
					       .correlation = i + 1},
				    .agent = 1,
				    .queue = 1,
				    .kernel = 1,
				    .dims = 1,
				    .global = {4096, 1, 1},
				    .local = {64, 1, 1}};

	need(s->call(s, &call) == KYMO_OK && s->dispatch(s, &work) == KYMO_OK, "record");
}

/* Slices in a second. */
static double kymo(const char *path, uint64_t kernels, bool no_args)
{
	const struct format_options o = {.output = path, .force = true, .no_args = no_args};
	uint32_t call_op, kernel_op;
	struct trace *t = make_trace(&call_op, &kernel_op);
	struct stream_sink *s;
	double begin = cpu();

	t->end = (int64_t)(kernels + 2) * STEP;
	need(format_find("perfetto")->write(&o, &s) == KYMO_OK, "write");
	stream_sink_complete(s);
	need(s->begin(s, t) == KYMO_OK, "begin");
	for (uint64_t i = 0; i < kernels; i++)
		write_kernel(s, i, call_op, kernel_op);
	need(s->end(s, t) == KYMO_OK, "end");
	format_find("perfetto")->sink_free(s);
	trace_free(t);
	return 2.0 * (double)kernels / (cpu() - begin) * 1e9;
}

int main(int argc, char **argv)
{
	uint64_t kernels = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000;
	double most = 0, most_bare = 0;
	struct rusage usage;

	if (argc < 2 || !kernels) {
		fprintf(stderr, "usage: bench_perfetto FILE [KERNELS]\n");
		return 2;
	}
	for (int i = 0; i < 3; i++) {
		double all = kymo(argv[1], kernels, false), bare = kymo(argv[1], kernels, true);

		most = all > most ? all : most;
		most_bare = bare > most_bare ? bare : most_bare;
	}
	getrusage(RUSAGE_SELF, &usage);
	remove(argv[1]);
	printf("slices/s %.0f\nno-args %.0f\nMiB %.1f\n", most, most_bare,
	       (double)usage.ru_maxrss / 1024);
	return 0;
}
