/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tool that does what it must not: calls OpenCL from its callbacks and from delivery. At the end
 * it says how often on the descriptor INNER_FD.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>

#include <kymo/kymo.h>

static _Atomic unsigned made;
static kymo_context_t context;

static void call(void)
{
	cl_uint n = 0;

	made++;
	clGetPlatformIDs(0, NULL, &n);
}

static bool launches(const kymo_domain_desc_t *domain, uint32_t op, void *data)
{
	return strcmp(domain->ops[op].name, "clEnqueueNDRangeKernel") == 0;
}

static void on_launch(kymo_context_t from, const kymo_callback_record_t *r, void *data)
{
	kymo_queue_info_t queue = {.size = sizeof(queue)};

	call();
	if (r->phase == KYMO_PHASE_EXIT && kymo_current_queue("opencl", &queue) == KYMO_OK) {
		made++;
		clFinish((cl_command_queue)(uintptr_t)queue.handle);
	}
}

static void deliver(kymo_buffer_t buffer, const kymo_record_t *r, void *data)
{
	call();
}

static kymo_status_t initialize(void *data)
{
	kymo_selection_t calls = {.size = sizeof(calls), .domain = "opencl", .select = launches};
	kymo_selection_t work = {.size = sizeof(work), .domain = "dispatch"};
	kymo_buffer_desc_t desc = {.size = sizeof(desc), .deliver = deliver};
	kymo_buffer_t buffer;

	kymo_context_create(&context);
	kymo_callback_service(context, &calls, on_launch, NULL);
	kymo_buffer_create(context, &desc, &buffer);
	kymo_buffer_service(context, &work, buffer);
	return kymo_context_start(context);
}

static void finalize(void *data)
{
	const char *fd = getenv("INNER_FD");

	if (fd)
		dprintf(atoi(fd), "%u %llu\n", made, (unsigned long long)kymo_inner_calls());
}

KYMO_EXPORT const kymo_tool_t *kymo_configure(uint32_t version, const char *library,
					      uint32_t number);

const kymo_tool_t *kymo_configure(uint32_t version, const char *library, uint32_t number)
{
	static const kymo_tool_t tool = {.size = sizeof(tool),
					 .name = "inner",
					 .initialize = initialize,
					 .finalize = finalize};

	return &tool;
}
