/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a runtime is seen that no profiler knows: it describes its calls, names its device, queue and
 * kernels, reads its clock now and then beside the host's, and publishes what happened. Device work
 * is told at the very end here, last first, as a device with a log of its own might.
 */
#include "toy_trace.h"

#include <stdlib.h>
#include <string.h>

#include <kymo/publish.h>

static const kymo_field_t run_fields[] = {
	{"kernel", "const char *", NULL, KYMO_KIND_STRING, 0, 1, 0},
	{"count", "size_t", NULL, KYMO_KIND_UNSIGNED, 0, 8, 0},
};
static const kymo_field_t copy_fields[] = {
	{"to", "void *", NULL, KYMO_KIND_POINTER, 0, 8, 0},
	{"bytes", "size_t", NULL, KYMO_KIND_SIZE, 0, 8, 0},
};
static const kymo_op_desc_t calls[TOY_CALLS] = {
	[TOY_WRITE] = {"toy_write", copy_fields, 2, KYMO_OP_SUBMITS | KYMO_OP_WAITS, NULL, 0},
	[TOY_READ] = {"toy_read", copy_fields, 2, KYMO_OP_SUBMITS | KYMO_OP_WAITS, NULL, 0},
	[TOY_RUN] = {"toy_run", run_fields, 2, KYMO_OP_SUBMITS | KYMO_OP_WAITS, NULL, 0},
};
static const kymo_domain_desc_t toy = {sizeof(toy), "toy", "Toy", 1, TOY_CALLS, calls};

static kymo_published_domain_t domain;
static kymo_clock_t device_clock;
static uint32_t agent, queue;

static struct { /* names already told */
	const char *name;
	uint32_t id;
} kernels[16];

static struct toy_work *log_of_device;
static size_t log_count, log_room;

/* The tightest of a few readings. */
static void read_clock(void)
{
	uint64_t before = 0, after = UINT64_MAX, value = 0;

	for (int i = 0; i < 4; i++) {
		uint64_t a = kymo_time(), v = toy_clock(), b = kymo_time();

		if (b - a >= after - before)
			continue;
		before = a;
		value = v;
		after = b;
	}
	kymo_clock_sync(device_clock, before, value, after, KYMO_SYNC_SAMPLED);
}

void toy_trace_open(void)
{
	kymo_agent_publication_t a = {.size = sizeof(a),
				      .type = KYMO_AGENT_ACCELERATOR,
				      .name = "Toy accelerator",
				      .domain = "toy",
				      .vendor = "Toys",
				      .compute_units = 1};
	kymo_queue_publication_t q = {.size = sizeof(q), .name = "engine"};

	kymo_domain_publish(&toy, &domain);
	kymo_clock_create("toy clock", "device", 52083, &device_clock);
	a.clock = device_clock;
	kymo_agent_publish(&a, &agent);
	q.agent = agent;
	kymo_queue_publish(&q, &queue);
	read_clock();
}

static uint32_t kernel_id(const char *name)
{
	unsigned i = 0;

	while (i < 15 && kernels[i].name && strcmp(kernels[i].name, name) != 0)
		i++;
	if (!kernels[i].name) {
		kernels[i].name = name;
		kymo_kernel_publish("toy", name, i, &kernels[i].id);
	}
	return kernels[i].id;
}

void toy_trace_enter(struct toy_work *w)
{
	w->entered = kymo_time();
}

void toy_trace_exit(struct toy_work *w)
{
	const char *name = w->name ? w->name : "";
	kymo_value_t run[] = {{.size = sizeof(run[0]),
			       .present = true,
			       .data = name,
			       .count = (uint32_t)strlen(name)},
			      {.size = sizeof(run[0]), .present = true, .u = w->count}};
	kymo_value_t copy[] = {
		{.size = sizeof(copy[0]), .present = true, .u = (uintptr_t)w->to},
		{.size = sizeof(copy[0]), .present = true, .u = w->count * sizeof(float)}};
	kymo_publication_t p = {.size = sizeof(p),
				.start = w->entered,
				.end = kymo_time(),
				.values = w->call == TOY_RUN ? run : copy,
				.value_count = 2};

	kymo_publish(domain, w->call, &p, &w->id);
	if (log_count == log_room) {
		size_t room = log_room ? 2 * log_room : 64;
		struct toy_work *more = realloc(log_of_device, room * sizeof(*more));

		if (!more)
			return;
		log_of_device = more;
		log_room = room;
	}
	log_of_device[log_count++] = *w;
	if (log_count % 16 == 0)
		read_clock();
}

static void tell_kernel(const struct toy_work *w)
{
	kymo_dispatch_publication_t d = {
		.size = sizeof(d),
		.correlation = w->id,
		.submitted_by = w->entered,
		.queue = queue,
		.kernel = kernel_id(w->name),
		.submitted = w->submitted,
		.start = w->start,
		.end = w->end,
		.dims = 1,
		.global = {w->count},
	};

	kymo_dispatch_publish(&d);
}

static void tell_copy(const struct toy_work *w)
{
	bool to_device = w->call == TOY_WRITE;
	kymo_copy_publication_t c = {
		.size = sizeof(c),
		.op = to_device ? KYMO_COPY_WRITE : KYMO_COPY_READ,
		.correlation = w->id,
		.submitted_by = w->entered,
		.queue = queue,
		.source = to_device ? 0 : agent,
		.destination = to_device ? agent : 0,
		.source_kind = to_device ? KYMO_MEMORY_PAGEABLE : KYMO_MEMORY_DEVICE,
		.destination_kind = to_device ? KYMO_MEMORY_DEVICE : KYMO_MEMORY_PAGEABLE,
		.bytes = w->count * sizeof(float),
		.submitted = w->submitted,
		.start = w->start,
		.end = w->end,
		.blocking = true,
	};

	kymo_copy_publish(&c);
}

void toy_trace_close(void)
{
	read_clock();
	while (log_count--) {
		if (log_of_device[log_count].call == TOY_RUN)
			tell_kernel(&log_of_device[log_count]);
		else
			tell_copy(&log_of_device[log_count]);
	}
	free(log_of_device);
}
