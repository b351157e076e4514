/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tool that puts external ids on calls, filters kernels, and waits for ids to be retired. At the
 * end it writes a line for each call of CUDA that submits work to the file TOOL_OUT.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kymo/kymo.h>

#define CALLS 64

static struct {
	const char *name;
	uint64_t id;
	unsigned records, wrong, retired, early;
} calls[CALLS];
static unsigned count, filtered, complete;
static uint32_t refused;

static unsigned of(uint64_t id)
{
	for (unsigned i = 0; i < count; i++)
		if (calls[i].id == id)
			return i;
	return CALLS - 1;
}

static uint64_t request(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
	calls[count].name = r->domain->ops[r->op].name;
	calls[count].id = r->correlation;
	return 100 + count++;
}

static void on_call(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
}

static void on_work(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
	unsigned i = of(r->correlation);

	calls[i].records++;
	calls[i].wrong += r->external != 100 + i;
	calls[i].early += calls[i].retired != 0;
}

static void on_retirement(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
	calls[of(r->correlation)].retired++;
}

/* Refuses the second kernel that it is asked about. */
static bool filter(const kymo_work_t *w, void *data)
{
	filtered++;
	complete += w->kernel && w->queue && w->agent;
	if (filtered == 2)
		refused = w->kernel;
	return !w->kernel || w->kernel != refused;
}

static kymo_status_t initialize(void *data)
{
	kymo_selection_t runtime = {.size = sizeof(runtime), .domain = "cuda_runtime"};
	kymo_selection_t kernels = {
		.size = sizeof(kernels), .domain = "dispatch", .filter = filter};
	kymo_selection_t copies = {.size = sizeof(copies), .domain = "copy"};
	kymo_selection_t ids = {.size = sizeof(ids), .domain = "retirement"};
	kymo_context_t c;

	kymo_context_create(&c);
	kymo_external_request_service(c, &runtime, request, NULL);
	kymo_callback_service(c, &runtime, on_call, NULL);
	kymo_callback_service(c, &kernels, on_work, NULL);
	kymo_callback_service(c, &copies, on_work, NULL);
	kymo_callback_service(c, &ids, on_retirement, NULL);
	return kymo_context_start(c);
}

static void finalize(void *data)
{
	const char *path = getenv("TOOL_OUT");
	FILE *f = path ? fopen(path, "w") : NULL;

	if (!f)
		return;
	for (unsigned i = 0; i < count; i++)
		fprintf(f, "%s records %u wrong %u retired %u early %u\n", calls[i].name,
			calls[i].records, calls[i].wrong, calls[i].retired, calls[i].early);
	fprintf(f, "filter asked %u knows %u\n", filtered, complete);
	fclose(f);
}

KYMO_EXPORT const kymo_tool_t *kymo_configure(uint32_t version, const char *library,
					      uint32_t number);

const kymo_tool_t *kymo_configure(uint32_t version, const char *library, uint32_t number)
{
	static const kymo_tool_t tool = {.size = sizeof(tool),
					 .name = "origins",
					 .initialize = initialize,
					 .finalize = finalize};

	return &tool;
}
