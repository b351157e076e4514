/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tool: how long the kernels of a program take, as a histogram by name. It asks for the activity
 * domain `dispatch` only, so it works with every runtime that Kymo traces.
 *
 *   cc -shared -fPIC kernel_histogram.c $(pkg-config --cflags --libs kymo) -o libhistogram.so
 *   KYMO_TOOLS=./libhistogram.so OPENCL_LAYERS=$(pkg-config --variable=library kymo) ./a.out
 */
#include <kymo/kymo.h>

#include <stdio.h>
#include <string.h>

#define KERNELS 256
#define BUCKETS 40 /* powers of two of nanoseconds */

static struct {
	uint64_t id;
	const char *name;
	uint64_t count[BUCKETS];
} kernels[KERNELS];

static uint64_t field(const kymo_record_t *r, const char *name)
{
	const kymo_op_desc_t *op = &r->domain->ops[r->op];
	kymo_value_t v = {.size = sizeof(v)};

	for (uint32_t i = 0; i < op->field_count; i++)
		if (strcmp(op->fields[i].name, name) == 0 && !kymo_record_value(r, i, &v))
			return v.u;
	return 0;
}

/* Called on a thread of Kymo's, for one record after the other. */
static void dispatched(kymo_buffer_t buffer, const kymo_record_t *r, void *data)
{
	uint64_t id = field(r, "kernel"), ns = field(r, "duration");
	unsigned bucket = ns ? 63 - (unsigned)__builtin_clzll(ns) : 0, i = 0;

	while (i < KERNELS - 1 && kernels[i].id && kernels[i].id != id)
		i++;
	if (!kernels[i].id) {
		kernels[i].id = id;
		if (kymo_ref_name("kernel", id, &kernels[i].name))
			kernels[i].name = "?";
	}
	kernels[i].count[bucket < BUCKETS ? bucket : BUCKETS - 1]++;
}

static kymo_status_t start(void *data)
{
	kymo_selection_t dispatches = {.size = sizeof(dispatches), .domain = "dispatch"};
	kymo_buffer_desc_t desc = {.size = sizeof(desc), .deliver = dispatched};
	kymo_context_t context;
	kymo_buffer_t buffer;
	kymo_status_t s = kymo_context_create(&context);

	s = s ? s : kymo_buffer_create(context, &desc, &buffer);
	s = s ? s : kymo_buffer_service(context, &dispatches, buffer);
	return s ? s : kymo_context_start(context);
}

static void print(void *data)
{
	for (unsigned i = 0; i < KERNELS && kernels[i].id; i++)
		for (unsigned b = 0; b < BUCKETS; b++)
			if (kernels[i].count[b])
				fprintf(stderr, "%-24s %10llu ns and more: %llu\n", kernels[i].name,
					1ull << b, (unsigned long long)kernels[i].count[b]);
}

KYMO_EXPORT const kymo_tool_t *kymo_configure(uint32_t version, const char *library, uint32_t n)
{
	static const kymo_tool_t tool = {sizeof(tool), "histogram", start, print, NULL, NULL};

	return &tool;
}
