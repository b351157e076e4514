/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kernel (its submission and its execution) takes to write to an OTF2 archive, against
 * libotf2 alone writing the same events, in the same run:
 *
 *   bench_otf2 FOLDER [KERNELS]
 *
 * Prints ns of processor time, the archive's end included, and their ratio; best of three.
 */
#include <otf2/otf2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "measure.h"
#include "formats/format.h"
#include "stream/trace.h"

#define CHUNK (1u << 20)
#define STEP  1000 /* ns between kernels */

/* ---- the library alone --------------------------------------------------------------------- */

static OTF2_FlushType pre_flush(void *data, OTF2_FileType type, OTF2_LocationRef location,
				void *caller, bool final)
{
	return OTF2_FLUSH;
}

static OTF2_TimeStamp post_flush(void *data, OTF2_FileType type, OTF2_LocationRef location)
{
	return 0;
}

static void write_kernel(OTF2_EvtWriter *host, OTF2_EvtWriter *queue, OTF2_AttributeList *list,
			 uint64_t i)
{
	uint64_t time = 1000 + i * STEP;

	OTF2_AttributeList_AddUint64(list, 0, i + 1);
	OTF2_AttributeList_AddUint8(list, 1, 1);
	OTF2_AttributeList_AddUint8(list, 2, 1);
	OTF2_EvtWriter_Enter(host, list, time, 0);
	OTF2_EvtWriter_Leave(host, list, time + 200, 0);
	OTF2_AttributeList_AddUint64(list, 0, i + 1);
	OTF2_AttributeList_AddStringRef(list, 6, 3);
	OTF2_EvtWriter_Enter(queue, list, time + 300, 1);
	OTF2_EvtWriter_Leave(queue, list, time + 900, 1);
}

static double alone(const char *folder, uint64_t kernels)
{
	static const OTF2_FlushCallbacks flush = {pre_flush, post_flush};
	OTF2_AttributeList *list = OTF2_AttributeList_New();
	OTF2_EvtWriter *host, *queue;
	OTF2_Archive *a;
	double begin = cpu();

	a = OTF2_Archive_Open(folder, "traces", OTF2_FILEMODE_WRITE, CHUNK, CHUNK,
			      OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
	need(a != NULL, "OTF2_Archive_Open");
	OTF2_Archive_SetSerialCollectiveCallbacks(a);
	OTF2_Archive_SetFlushCallbacks(a, &flush, NULL);
	OTF2_Archive_OpenEvtFiles(a);
	host = OTF2_Archive_GetEvtWriter(a, 0);
	queue = OTF2_Archive_GetEvtWriter(a, 1);
	for (uint64_t i = 0; i < kernels; i++)
		write_kernel(host, queue, list, i);
	OTF2_Archive_CloseEvtWriter(a, host);
	OTF2_Archive_CloseEvtWriter(a, queue);
	OTF2_Archive_CloseEvtFiles(a);
	OTF2_Archive_Close(a);
	OTF2_AttributeList_Delete(list);
	return (cpu() - begin) / (double)kernels;
}

/* ---- Kymo's writer ------------------------------------------------------------------------- */

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
	*trace_add(t, processes) = (struct t_process){
		.pid = 1, .rank = UINT32_MAX, .hostname = "h", .exe = "/p", .start = 1};
	*trace_add(t, threads) =
		(struct t_thread){.process = 1, .tid = 1, .name = "", .main = true};
	*trace_add(t, agents) = (struct t_agent){
		.process = 1, .name = "gpu", .label = "gpu", .hardware = "gpu", .domain = "opencl"};
	*trace_add(t, queues) =
		(struct t_queue){.process = 1, .agent = 1, .domain = "opencl", .label = "queue 0"};
	*trace_add(t, kernels) = (struct t_kernel){.process = 1, .domain = "opencl", .name = "k"};
	t->origin = 1000;
	return t;
}

static double kymo(const char *folder, uint64_t kernels)
{
	const struct format_options o = {.output = folder, .force = true};
	uint32_t call_op, kernel_op;
	struct trace *t = make_trace(&call_op, &kernel_op);
	struct stream_sink *s;
	double begin = cpu();

	t->end = (int64_t)(kernels + 2) * STEP;
	need(format_find("otf2")->write(&o, &s) == KYMO_OK, "write");
	stream_sink_complete(s);
	need(s->begin(s, t) == KYMO_OK, "begin");
	for (uint64_t i = 0; i < kernels; i++) {
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
					    .device = {.start = at + 300,
						       .end = at + 900,
						       .correlation = i + 1,
						       .submit = at},
					    .agent = 1,
					    .queue = 1,
					    .kernel = 1,
					    .dims = 1,
					    .global = {1024},
					    .local = {64}};

		need(s->call(s, &call) == KYMO_OK && s->dispatch(s, &work) == KYMO_OK, "record");
	}
	need(s->end(s, t) == KYMO_OK, "end");
	format_find("otf2")->sink_free(s);
	begin = cpu() - begin;
	trace_free(t);
	return begin / (double)kernels;
}

int main(int argc, char **argv)
{
	uint64_t kernels = argc > 2 ? strtoull(argv[2], NULL, 0) : 2000000;
	double best[2] = {1e9, 1e9}, got;
	char path[2][4200];

	need(argc > 1, "no folder told");
	for (int i = 0; i < 6; i++) {
		snprintf(path[i % 2], sizeof(path[0]), "%s/%s%d", argv[1], i % 2 ? "kymo" : "alone",
			 i / 2);
		got = i % 2 ? kymo(path[1], kernels) : alone(path[0], kernels);
		best[i % 2] = got < best[i % 2] ? got : best[i % 2];
	}
	printf("kernel=%.1f alone=%.1f ratio=%.2f\n", best[1], best[0], best[1] / best[0]);
	return 0;
}
