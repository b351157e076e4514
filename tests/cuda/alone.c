/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tool that listens to waits and to memory while nobody records: at the end it writes what it heard
 * to the file TOOL_OUT. Its filter refuses memory of less than 1 MiB.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kymo/kymo.h>

static struct {
	char name[32];
	unsigned count;
} heard[16];

static void on_record(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
	const char *name = r->domain->ops[r->op].name;
	unsigned i = 0;

	while (i < 15 && heard[i].count && strcmp(heard[i].name, name) != 0)
		i++;
	snprintf(heard[i].name, sizeof(heard[i].name), "%s", name);
	heard[i].count += r->phase == KYMO_PHASE_COMPLETE;
}

static bool large(const kymo_work_t *w, void *data)
{
	return w->bytes >= 1 << 20;
}

static kymo_status_t initialize(void *data)
{
	kymo_selection_t waits = {.size = sizeof(waits), .domain = "sync"};
	kymo_selection_t memory = {.size = sizeof(memory), .domain = "allocation", .filter = large};
	kymo_context_t c;

	kymo_context_create(&c);
	kymo_callback_service(c, &waits, on_record, NULL);
	kymo_callback_service(c, &memory, on_record, NULL);
	return kymo_context_start(c);
}

static void finalize(void *data)
{
	FILE *f = fopen(getenv("TOOL_OUT"), "w");

	for (unsigned i = 0; f && heard[i].count; i++)
		fprintf(f, "%s %u\n", heard[i].name, heard[i].count);
	if (f)
		fclose(f);
}

KYMO_EXPORT const kymo_tool_t *kymo_configure(uint32_t version, const char *library,
					      uint32_t number);

const kymo_tool_t *kymo_configure(uint32_t version, const char *library, uint32_t number)
{
	static const kymo_tool_t tool = {.size = sizeof(tool),
					 .name = "alone",
					 .initialize = initialize,
					 .finalize = finalize};

	return &tool;
}
