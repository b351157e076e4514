/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tool that wants kernels and no calls, by a callback and in a buffer of its own: at the end it writes to the file
 * TOOL_OUT how many of each it got.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <kymo/kymo.h>

static _Atomic unsigned told, delivered;
static kymo_context_t calling, recording;

static void on_kernel(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
	atomic_fetch_add(&told, 1);
}

static void deliver(kymo_buffer_t buffer, const kymo_record_t *r, void *data)
{
	atomic_fetch_add(&delivered, 1);
}

static kymo_status_t initialize(void *data)
{
	kymo_selection_t kernels = {.size = sizeof(kernels), .domain = "dispatch"};
	kymo_buffer_desc_t desc = {.size = sizeof(desc), .deliver = deliver};
	kymo_buffer_t buffer;

	if (kymo_context_create(&recording) != KYMO_OK ||
	    kymo_buffer_create(recording, &desc, &buffer) != KYMO_OK ||
	    kymo_buffer_service(recording, &kernels, buffer) != KYMO_OK)
		abort();
	if (getenv("TOOL_CALLS")) {
		kymo_context_create(&calling);
		kymo_callback_service(calling, &kernels, on_kernel, NULL);
		kymo_context_start(calling);
	}
	return kymo_context_start(recording);
}

static void finalize(void *data)
{
	FILE *f;

	kymo_drain(recording, 1000000000);
	f = fopen(getenv("TOOL_OUT"), "w");
	if (!f)
		return;
	fprintf(f, "told %u delivered %u\n", atomic_load(&told), atomic_load(&delivered));
	fclose(f);
}

KYMO_EXPORT const kymo_tool_t *kymo_configure(uint32_t version, const char *library,
					      uint32_t number);

const kymo_tool_t *kymo_configure(uint32_t version, const char *library, uint32_t number)
{
	static const kymo_tool_t tool = {.size = sizeof(tool),
					 .name = "beside",
					 .initialize = initialize,
					 .finalize = finalize};

	return &tool;
}
