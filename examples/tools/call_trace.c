/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tool: prints every call of every traced runtime as it returns, with what it took, by the
 * callback service. The word that a tool may keep from ENTER to EXIT holds the start.
 *
 *   cc -shared -fPIC call_trace.c $(pkg-config --cflags --libs kymo) -o libcalls.so
 *   KYMO_TOOLS=./libcalls.so OPENCL_LAYERS=$(pkg-config --variable=library kymo) ./a.out
 */
#include <kymo/kymo.h>

#include <stdio.h>

static void call(kymo_context_t context, const kymo_callback_record_t *r, void *data)
{
	if (r->phase == KYMO_PHASE_ENTER) {
		*r->user = kymo_time();
		return;
	}
	fprintf(stderr, "%u %s:%s #%llu = %d, %llu ns\n", r->tid, r->domain->name,
		r->domain->ops[r->op].name, (unsigned long long)r->correlation, r->status,
		(unsigned long long)(kymo_time() - *r->user));
}

static kymo_status_t start(void *data)
{
	kymo_context_t context;
	kymo_status_t s = kymo_context_create(&context);

	s = s ? s : kymo_callback_service(context, NULL, call, NULL);
	return s ? s : kymo_context_start(context);
}

KYMO_EXPORT const kymo_tool_t *kymo_configure(uint32_t version, const char *library, uint32_t n)
{
	static const kymo_tool_t tool = {sizeof(tool), "call trace", start, NULL, NULL, NULL};

	return &tool;
}
