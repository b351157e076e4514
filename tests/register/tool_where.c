/* SPDX-License-Identifier: Apache-2.0 */
/* A tool that appends the name of each program in which it is initialised to the file TOOL_REPORT.
 */
#include <stdio.h>
#include <stdlib.h>

#include <kymo/tool.h>

static kymo_status_t initialize(void *data)
{
	const char *path = getenv("TOOL_REPORT");
	FILE *in = fopen("/proc/self/comm", "r"), *out = path ? fopen(path, "a") : NULL;
	char name[64];

	if (in && out && fgets(name, sizeof(name), in))
		fputs(name, out);
	if (in)
		fclose(in);
	if (out)
		fclose(out);
	return KYMO_OK;
}

KYMO_EXPORT const kymo_tool_t *kymo_configure(uint32_t version, const char *library, uint32_t n)
{
	static const kymo_tool_t tool = {sizeof(tool), "where", initialize, NULL, NULL, NULL};

	return &tool;
}
