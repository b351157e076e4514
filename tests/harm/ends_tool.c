/* SPDX-License-Identifier: Apache-2.0 */
/* A tool with a private buffer, so that there is a delivery thread, and a thread that never ends.
 */
#include <stdio.h>
#include <unistd.h>

#include <kymo/kymo.h>

static uint64_t marks;

static void never_ends(void *unused)
{
	for (;;)
		pause();
}

static void deliver(kymo_buffer_t buffer, const kymo_record_t *record, void *data)
{
	marks++;
}

static kymo_status_t initialize(void *data)
{
	kymo_selection_t marker = {.size = sizeof(marker), .domain = "marker"};
	kymo_buffer_desc_t desc = {.size = sizeof(desc), .deliver = deliver};
	kymo_context_t context;
	kymo_buffer_t buffer;

	if (kymo_context_create(&context) != KYMO_OK ||
	    kymo_buffer_create(context, &desc, &buffer) != KYMO_OK ||
	    kymo_buffer_service(context, &marker, buffer) != KYMO_OK ||
	    kymo_thread_start("forever", never_ends, NULL) != KYMO_OK)
		return KYMO_ERROR_SYSTEM;
	return kymo_context_start(context);
}

static void finalize(void *data)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "tool: %llu\n", (unsigned long long)marks);

	if (write(2, text, (size_t)n) < 0)
		marks = 0;
}

static const kymo_tool_t tool = {.size = sizeof(kymo_tool_t),
				 .name = "ends",
				 .initialize = initialize,
				 .finalize = finalize};

KYMO_EXPORT const kymo_tool_t *kymo_configure(uint32_t version, const char *library,
					      uint32_t priority);
const kymo_tool_t *kymo_configure(uint32_t version, const char *library, uint32_t priority)
{
	return &tool;
}
