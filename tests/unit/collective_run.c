/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs made up for tests of collectives on devices; see collective_run.h. */
#include "collective_run.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct t_domain domains[] = {
	{"", ""}, {"cuda", "CUDA"}, {"nccl", "NCCL"}, {"dispatch", ""}, {"comm", ""}};
static struct t_op ops[OPS] = {
	[OP_NONE] = {.name = ""},
	[OP_LAUNCH] = {.name = "cuLaunchKernelEx", .domain = 1, .flags = KYMO_OP_SUBMITS},
	[OP_ALLREDUCE] = {.name = "ncclAllReduce", .domain = 2},
	[OP_BCAST] = {.name = "ncclBcast", .domain = 2},
	[OP_BROADCAST] = {.name = "ncclBroadcast", .domain = 2},
	[OP_REDUCE] = {.name = "ncclReduce", .domain = 2},
	[OP_GROUP_END] = {.name = "ncclGroupEnd", .domain = 2},
	[OP_KERNEL] = {.name = "kernel", .domain = 3, .flags = KYMO_OP_ACTIVITY},
	[OP_COLLECTIVE] = {.name = "collective",
			   .domain = 4,
			   .number = COMM_OP_COLLECTIVE,
			   .flags = KYMO_OP_ACTIVITY},
	[OP_SENT] = {.name = "send",
		     .domain = 4,
		     .number = COMM_OP_SEND,
		     .flags = KYMO_OP_ACTIVITY},
};
static struct t_kernel kernels[] = {
	{0},
	{.name = "step", .domain = "cuda"},
	{.name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(args)", .domain = "cuda"},
	{.name = "reduce", .domain = "cuda"}};
static const char *const labels[RANKS] = {"X #0", "X #1", "X #2", "X #3"};

struct job job;

void job_begin(uint32_t ranks)
{
	memset(&job, 0, sizeof(job));
	job.ranks = ranks;
	job.kernel = KERNEL_NCCL;
	job.op = OP_ALLREDUCE;
	job.root = -1;
	job.trace = (struct trace){.path = "T",
				   .domains = domains,
				   .domains_count = 5,
				   .ops = ops,
				   .ops_count = OPS,
				   .processes = job.processes,
				   .processes_count = ranks + 1,
				   .threads = job.threads,
				   .threads_count = ranks + 1,
				   .agents = job.agents,
				   .agents_count = ranks + 1,
				   .queues = job.queues,
				   .queues_count = 1 + ranks * QUEUES,
				   .kernels = kernels,
				   .kernels_count = 4,
				   .communicators = job.communicators,
				   .communicators_count = 1,
				   .sites = job.sites,
				   .sites_count = 1,
				   .pauses_count = 1};
	for (uint32_t i = 0; i < ranks; i++) {
		job.processes[i + 1] = (struct t_process){
			.pid = 100 + i, .hostname = "node", .start = 1, .rank = i, .ranks = ranks};
		job.threads[i + 1] = (struct t_thread){.process = i + 1, .main = true, .start = 1};
		job.agents[i + 1] = (struct t_agent){.process = i + 1,
						     .type = "gpu",
						     .name = "X",
						     .properties = "{\"multiprocessors\":132}",
						     .label = labels[i]};
		for (uint32_t q = 0; q < QUEUES; q++)
			job.queues[1 + i * QUEUES + q] = (struct t_queue){
				.process = i + 1, .agent = i + 1, .domain = "cuda", .name = ""};
		job.now[i] = 1000000;
	}
	timeline_sink_init(&job.sink, NULL);
	assert_int_equal(job.sink.sink.begin(&job.sink.sink, &job.trace), KYMO_OK);
}

uint32_t communicator_of(uint64_t key, uint32_t first, uint32_t count, uint32_t size)
{
	uint32_t index = job.trace.communicators_count;

	for (uint32_t i = 0; i < count; i++)
		job.communicators[job.trace.communicators_count++] =
			(struct t_communicator){.process = first + i + 1,
						.name = "",
						.size = size,
						.key = key,
						.own_rank = i + 1};
	return index;
}

uint32_t communicator(uint64_t key, uint32_t first, uint32_t count)
{
	return communicator_of(key, first, count, count);
}

/* Who makes a rank's calls. */
static uint32_t at(uint32_t rank)
{
	return job.one ? 0 : rank;
}

static struct rec record(uint32_t rank, uint32_t op, int64_t start, int64_t end)
{
	return (struct rec){.process = at(rank) + 1,
			    .thread = at(rank) + 1,
			    .op = op,
			    .ok = true,
			    .start = start,
			    .end = end};
}

static void call(uint32_t rank, uint32_t op, int64_t start, int64_t end, uint64_t id,
		 uint64_t parent)
{
	struct rec c = record(rank, op, start, end);

	c.id = id;
	c.parent = parent;
	job.sink.sink.call(&job.sink.sink, &c);
}

static void kernel(uint32_t rank, uint32_t queue, uint32_t name, int64_t start, int64_t end,
		   uint64_t groups, uint64_t launch, int64_t submit)
{
	struct rec_dispatch d = {.base = record(rank, OP_KERNEL, start, end),
				 .agent = rank + 1,
				 .queue = 1 + rank * QUEUES + queue,
				 .kernel = name,
				 .dims = 1,
				 .global = {groups},
				 .local = {1}};

	d.device = (struct rec_device){
		.start = start, .end = end, .submit = submit, .correlation = launch};
	job.sink.sink.dispatch(&job.sink.sink, &d);
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

void computes(uint32_t rank, int64_t ns, uint64_t groups)
{
	int64_t begin = job.now[at(rank)], start;
	uint64_t id = ++job.id[at(rank)];

	job.now[at(rank)] += CALL_NS;
	start = later(job.now[at(rank)], job.free[rank][0]) + START_NS;
	call(rank, OP_LAUNCH, begin, job.now[at(rank)], id, 0);
	kernel(rank, 0, KERNEL_OWN, start, start + ns, groups, id, begin);
	job.free[rank][0] = start + ns;
}

void compute(uint32_t rank, int64_t ns)
{
	computes(rank, ns, FULL);
}

void host(uint32_t rank, int64_t ns)
{
	job.now[at(rank)] =
		later(job.now[at(rank)], later(job.free[rank][0], job.free[rank][1])) + ns;
}

void message(uint32_t rank, uint32_t op, uint32_t index, int64_t start, int64_t end, uint64_t id,
	     uint64_t completed_by)
{
	struct rec_comm m = {.base = record(rank, op, start, end),
			     .correlation = id,
			     .completed_by = completed_by,
			     .communicator = index,
			     .peer = job.root,
			     .tag = -1};

	job.sink.sink.comm(&job.sink.sink, &m);
}

/* The call of NCCL of a rank, and its message; returns the launch in it. */
static uint64_t nccl(uint32_t rank, uint32_t index)
{
	int64_t begin = job.now[at(rank)], end = begin + NCCL_NS;
	uint64_t outer = ++job.id[at(rank)], inner = outer, launch;

	if (job.op == OP_BCAST)
		inner = ++job.id[at(rank)];
	launch = ++job.id[at(rank)];
	job.now[at(rank)] = end;
	call(rank, OP_LAUNCH, begin + 8000, begin + 8000 + CALL_NS, launch, inner);
	if (job.no_call)
		return launch;
	if (inner != outer) {
		call(rank, OP_BROADCAST, begin + 1000, end - 1000, inner, outer);
		message(rank, OP_COLLECTIVE, index, begin + 1000, end - 1000, inner, 0);
	}
	call(rank, job.op, begin, end, outer, 0);
	message(rank, OP_COLLECTIVE, index, begin, end, outer, 0);
	return launch;
}

/* Kernels of ranks first to first + count - 1 which all end `ns` after the last has begun. */
static void meet(uint32_t first, uint32_t count, const uint64_t *launches, int64_t ns)
{
	int64_t start[RANKS], end = 0;

	for (uint32_t i = first; i < first + count; i++) {
		start[i] = later(job.now[at(i)] - NCCL_NS + 8000 + CALL_NS,
				 later(job.free[i][0], job.free[i][1])) +
			   START_NS;
		end = later(end, start[i] + ns);
	}
	for (uint32_t i = first; i < first + count; i++) {
		kernel(i, 1, job.kernel, start[i], end, FEW, launches[i],
		       job.now[at(i)] - NCCL_NS + 8000);
		job.free[i][1] = end;
		if (!job.beside)
			job.free[i][0] = end;
	}
}

void collective(uint32_t index, uint32_t first, uint32_t count, int64_t ns)
{
	uint64_t launches[RANKS];

	for (uint32_t i = first; i < first + count; i++)
		launches[i] = nccl(i, index + i - first);
	meet(first, count, launches, ns);
}

void group(uint32_t one, uint32_t other, uint32_t count, int64_t ns)
{
	uint64_t launches[RANKS];

	for (uint32_t i = 0; i < count; i++) {
		int64_t begin = job.now[i], end = begin + NCCL_NS;
		uint64_t outer = job.id[i] + 3;

		launches[i] = job.id[i] + 4;
		call(i, OP_ALLREDUCE, begin - 3000, begin - 2000, job.id[i] + 1, 0);
		call(i, OP_ALLREDUCE, begin - 2000, begin - 1000, job.id[i] + 2, 0);
		call(i, OP_LAUNCH, begin + 8000, begin + 8000 + CALL_NS, launches[i], outer);
		call(i, OP_GROUP_END, begin, end, outer, 0);
		message(i, OP_COLLECTIVE, one + i, begin - 3000, end, job.id[i] + 1, outer);
		message(i, job.sends ? OP_SENT : OP_COLLECTIVE, other + i, begin - 2000, end,
			job.id[i] + 2, outer);
		job.id[i] += 4;
		job.now[i] = end;
	}
	meet(0, count, launches, ns);
}

void group_of_devices(uint32_t index, int64_t ns)
{
	int64_t begin = job.now[0], end = begin + NCCL_NS;
	uint64_t id = job.id[0], outer = id + 3, launches[RANKS] = {id + 4, id + 5};

	for (uint32_t i = 0; i < 2; i++) {
		call(i, OP_ALLREDUCE, begin - 3000 + i * 1000, begin - 2500 + i * 1000, id + 1 + i,
		     0);
		call(i, OP_LAUNCH, begin + 8000 - i * 4000, begin + 12000 - i * 4000, launches[i],
		     outer);
	}
	call(0, OP_GROUP_END, begin, end, outer, 0);
	for (uint32_t i = 0; i < 2; i++)
		message(i, OP_COLLECTIVE, index + i, begin - 3000 + i * 1000, end, id + 1 + i,
			outer);
	job.id[0] += 5;
	job.now[0] = end;
	meet(0, 2, launches, ns);
}

void judge(void)
{
	job.trace.origin = 1000;
	for (uint32_t i = 0; i < job.ranks; i++) {
		job.trace.end = later(job.trace.end, job.now[i]);
		for (uint32_t q = 0; q < QUEUES; q++)
			job.trace.end = later(job.trace.end, job.free[i][q]);
	}
	assert_int_equal(job.sink.sink.end(&job.sink.sink, &job.trace), KYMO_OK);
	assert_true(diagnose(&job.d, "T", job.sink.timeline, NULL, NULL));
	for (uint32_t i = 0; i < job.d.count; i++)
		print_message("  %s %llu us: %s\n%s", job.d.findings[i].rule->id,
			      (unsigned long long)job.d.findings[i].gain / 1000,
			      job.d.findings[i].title.s,
			      job.d.findings[i].evidence.s ? job.d.findings[i].evidence.s : "");
	if (job.d.abstained.s)
		print_message("  not known: %s", job.d.abstained.s);
}

int64_t length(void)
{
	return (int64_t)timeline_length(job.sink.timeline);
}

void job_end(void)
{
	diagnosis_release(&job.d);
	timeline_free(job.sink.timeline);
}

const struct finding *finding(const char *rule)
{
	for (uint32_t i = 0; i < job.d.count; i++)
		if (strcmp(job.d.findings[i].rule->id, rule) == 0)
			return &job.d.findings[i];
	return NULL;
}

bool says(const struct text *text, const char *what)
{
	return text->s && strstr(text->s, what);
}

void communicates(bool yes)
{
	kernels[KERNEL_NCCL].name = yes ? "ncclDevKernel_AllReduce_Sum_f32_RING_LL(args)" : "small";
	ops[OP_ALLREDUCE].domain = yes ? 2 : 1;
}
