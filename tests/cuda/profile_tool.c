/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tool that samples kernels, but not between the first and the second wait of the program, and
 * writes what it was given to the file TOOL_OUT.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kymo/kymo.h>
#include <kymo/sample.h>

static kymo_context_t samples, other;
static FILE *out;

static void on_wait(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
	static int waits;

	if (r->phase != KYMO_PHASE_EXIT ||
	    strcmp(r->domain->ops[r->op].name, "cuStreamSynchronize") != 0)
		return;
	if (waits++ == 0)
		kymo_context_stop(samples);
	else
		kymo_context_start(samples);
}

static uint64_t number(const kymo_record_t *r, uint32_t field)
{
	kymo_value_t v = {.size = sizeof(v)};

	return kymo_record_value(r, field, &v) == KYMO_OK ? v.u : 0;
}

/* Fields as core/sample/device.h lists them. */
static void on_record(kymo_buffer_t buffer, const kymo_record_t *r, void *data)
{
	kymo_device_code_t code = {.size = sizeof(code)};
	const char *reason = "?";

	if (strcmp(r->domain->ops[r->op].name, "pc") != 0)
		return;
	kymo_device_code(number(r, 2), &code);
	kymo_ref_name("string", number(r, 3), &reason);
	fprintf(out, "%s+%llu %s:%u %s %llu %llu every %llu\n", code.function,
		(unsigned long long)code.offset, code.file, code.line, reason,
		(unsigned long long)number(r, 4), (unsigned long long)number(r, 5),
		(unsigned long long)number(r, 6));
}

static void service(kymo_context_t context, const kymo_device_sample_desc_t *desc)
{
	const char *text = kymo_status_text(kymo_device_sample_service(context, desc));

	fprintf(out, "%.*s ", (int)strcspn(text, ":"), text);
}

static kymo_status_t initialize(void *data)
{
	kymo_selection_t waits = {.size = sizeof(waits), .domain = "cuda"};
	kymo_selection_t wanted = {.size = sizeof(wanted), .domain = "device_sample"};
	kymo_buffer_desc_t desc = {.size = sizeof(desc), .deliver = on_record};
	kymo_device_sample_desc_t every = {.size = sizeof(every), .period_log2 = 10};
	kymo_buffer_t buffer;

	out = fopen(getenv("TOOL_OUT"), "w");
	kymo_context_create(&samples);
	kymo_context_create(&other);
	kymo_buffer_create(samples, &desc, &buffer);
	kymo_buffer_service(samples, &wanted, buffer);
	service(samples, &every);
	service(samples, &every);
	every.period_log2 = 11;
	service(other, &every);
	every.period_log2 = 4;
	service(other, &every);
	fputc('\n', out);
	kymo_callback_service(other, &waits, on_wait, NULL);
	kymo_context_start(other);
	return kymo_context_start(samples);
}

static void finalize(void *data)
{
	fclose(out);
}

KYMO_EXPORT const kymo_tool_t *kymo_configure(uint32_t version, const char *library,
					      uint32_t number);

const kymo_tool_t *kymo_configure(uint32_t version, const char *library, uint32_t n)
{
	static const kymo_tool_t tool = {.size = sizeof(tool),
					 .name = "sampler",
					 .initialize = initialize,
					 .finalize = finalize};

	return &tool;
}
