/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the OpenCL backend share: a tool that keeps every record, and how it is asked. */
#include "fixture.h"

/* ---- a tool that keeps every record ---- */

#define RECORDS_MAX 400000
struct record *records;
unsigned record_count;
kymo_context_t context;
kymo_buffer_t buffer;
const cl_icd_dispatch *cl;

static void deliver(kymo_buffer_t b, const kymo_record_t *r, void *data)
{
	const kymo_op_desc_t *op = &r->domain->ops[r->op];
	struct record *out = &records[record_count];

	if (++record_count == RECORDS_MAX)
		abort();
	*out = (struct record){.domain = r->domain, .op = op->name, .id = r->correlation};
	for (uint32_t i = 0; i < op->field_count; i++) {
		kymo_value_t v = {.size = sizeof(v)};

		if (kymo_record_value(r, i, &v) == KYMO_OK && v.present)
			out->values[i] = v.u;
	}
}

static kymo_status_t tool_initialize(void *data)
{
	const kymo_selection_t all = {.size = sizeof(all)};
	const kymo_buffer_desc_t desc = {.size = sizeof(desc),
					 .bytes = 64u << 20,
					 .block_ns = 5000000000u,
					 .arguments = KYMO_ARGUMENTS_FULL,
					 .deliver = deliver};

	kymo_context_create(&context);
	kymo_buffer_create(context, &desc, &buffer);
	kymo_buffer_service(context, &all, buffer);
	return kymo_context_start(context);
}

static const kymo_tool_t *configure(uint32_t version, const char *library, uint32_t priority)
{
	static const kymo_tool_t tool = {
		.size = sizeof(tool), .name = "test", .initialize = tool_initialize};

	return &tool;
}

/* Delivers what is complete and forgets what was delivered before. */
void drain_only(void)
{
	kymo_status_t status = KYMO_ERROR_TIMEOUT;

	kymo_drain(context, 0);
	/* Work that never ends is waited for all the time; the machine may be busy. */
	for (int i = 0; i < 30 && status == KYMO_ERROR_TIMEOUT; i++)
		status = kymo_drain(context, 2000000000u);
	assert_int_equal(status, KYMO_OK);
}

void forget(void)
{
	drain_only();
	record_count = 0;
}

bool is_of(const struct record *r, const char *domain, const char *op)
{
	return strcmp(r->domain->name, domain) == 0 && (!op || strcmp(r->op, op) == 0);
}

/* The n-th record of a domain (and op, unless NULL) since forget(); NULL: there is none. */
const struct record *record(const char *domain, const char *op, unsigned n)
{
	for (unsigned i = 0; i < record_count; i++)
		if (is_of(&records[i], domain, op) && n-- == 0)
			return &records[i];
	return NULL;
}

unsigned count(const char *domain, const char *op)
{
	unsigned n = 0;

	for (unsigned i = 0; i < record_count; i++)
		n += is_of(&records[i], domain, op);
	return n;
}

const struct record *dispatch(unsigned n)
{
	const struct record *r = record("dispatch", "kernel", n);

	if (!r)
		fail_msg("dispatch %u is missing, there are %u", n, count("dispatch", NULL));
	return r;
}

/* ---- a program ---- */

cl_command_queue queue_create(cl_context c, cl_command_queue_properties properties)
{
	const cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, properties, 0};
	cl_int error;
	cl_command_queue q = cl->clCreateCommandQueueWithProperties(c, fake_device(), list, &error);

	assert_int_equal(error, CL_SUCCESS);
	return q;
}

struct program program_begin(cl_command_queue_properties properties)
{
	cl_device_id device = fake_device();
	const char *source = "kernel void k() {}";
	struct program p;
	cl_int error;

	p.context = cl->clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	p.queue = queue_create(p.context, properties);
	p.program = cl->clCreateProgramWithSource(p.context, 1, &source, NULL, &error);
	p.kernel = cl->clCreateKernel(p.program, "k", &error);
	forget();
	return p;
}

cl_event enqueue(const struct program *p, bool with_event)
{
	const size_t global[2] = {64, 2}, local[2] = {8, 1};
	cl_event event = NULL;

	assert_int_equal(cl->clEnqueueNDRangeKernel(p->queue, p->kernel, 2, NULL, global, local, 0,
						    NULL, with_event ? &event : NULL),
			 CL_SUCCESS);
	return event;
}

void program_end(const struct program *p)
{
	cl->clReleaseKernel(p->kernel);
	cl->clReleaseProgram(p->program);
	if (p->queue)
		cl->clReleaseCommandQueue(p->queue);
	cl->clReleaseContext(p->context);
}

void nothing_alive(void)
{
	for (int kind = FAKE_CONTEXT; kind < FAKE_KINDS; kind++)
		if (fake_alive(kind))
			fail_msg("%u objects of kind %d are still alive", fake_alive(kind), kind);
}

int reset(void **state)
{
	fake_reset();
	return 0;
}

bool fixture_begin(void)
{
	cl_uint n;

	records = calloc(RECORDS_MAX, sizeof(*records));
	return kymo_force_configure(configure) == KYMO_OK &&
	       clInitLayer(sizeof(*cl) / sizeof(void *), fake_table(), &n, &cl) == CL_SUCCESS;
}
