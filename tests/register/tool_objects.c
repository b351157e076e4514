/* SPDX-License-Identifier: Apache-2.0 */
/* A tool that counts what it is told of streams, programs, kernels and runtimes. */
#include <kymo/kymo.h>

#include <stdio.h>

static const char *const domains[] = {"stream", "code_object", "kernel_symbol", "runtime_init"};
static unsigned counts[4][4];

static void delivered(kymo_buffer_t buffer, const kymo_record_t *r, void *data)
{
	for (unsigned i = 0; i < 4; i++)
		if (r->domain->name[0] == domains[i][0] && r->op < 4)
			counts[i][r->op]++;
}

static kymo_status_t start(void *data)
{
	kymo_buffer_desc_t desc = {
		.size = sizeof(desc), .deliver = delivered, .arguments = KYMO_ARGUMENTS_SCALARS};
	kymo_context_t context;
	kymo_buffer_t buffer;
	kymo_status_t s = kymo_context_create(&context);

	s = s ? s : kymo_buffer_create(context, &desc, &buffer);
	for (unsigned i = 0; i < 4 && !s; i++) {
		kymo_selection_t one = {.size = sizeof(one), .domain = domains[i]};

		s = kymo_buffer_service(context, &one, buffer);
	}
	return s ? s : kymo_context_start(context);
}

static void print(void *data)
{
	for (unsigned i = 0; i < 4; i++)
		fprintf(stderr, "%s %u %u %u\n", domains[i], counts[i][0], counts[i][1],
			counts[i][2]);
}

KYMO_EXPORT const kymo_tool_t *kymo_configure(uint32_t version, const char *library, uint32_t n)
{
	static const kymo_tool_t tool = {sizeof(tool), "objects", start, print, NULL, NULL};

	return &tool;
}
