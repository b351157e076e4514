/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo list telemetry`: everything that --telemetry would read here, with its present value. */
#include <stdio.h>
#include <string.h>

#include "base/plain.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/list_output.h"
#include "cli/run.h"
#include "telemetry/telemetry.h"

struct listing {
	struct text values, sources, missing; /* JSON */
	struct list_output out;               /* other forms for programs */
};

static void add_key(struct text *t, const char *key, const char *value)
{
	text_addf(t, "%s\"%s\": ", t->s && t->s[t->length - 1] != '{' ? ", " : "", key);
	text_add_json(t, value);
}

static void json_value(struct listing *l, const struct telemetry_value *v)
{
	struct text *t = &l->values;

	text_add(t, t->length ? ",\n    {" : "\n    {");
	add_key(t, "source", v->source);
	add_key(t, "device", v->device);
	if (v->number >= 0)
		text_addf(t, ", \"device_number\": %d", v->number);
	else
		text_add(t, ", \"device_number\": null");
	add_key(t, "name", v->name);
	add_key(t, "unit", v->unit);
	add_key(t, "description", v->description);
	text_addf(t, ", \"per_second\": %s, \"value\": ", v->per_second ? "true" : "false");
	if (v->known)
		text_addf(t, "%.9g}", v->value);
	else
		text_add(t, "null}");
}

static void print_value(void *data, const struct telemetry_value *v)
{
	struct listing *l = data;
	char value[32] = "-", unit[40], number[16] = "";

	if (list_format() == REPORT_JSON) {
		json_value(l, v);
		return;
	}
	if (v->known)
		snprintf(value, sizeof(value), "%.6g", v->value);
	snprintf(unit, sizeof(unit), "%s%s", v->unit, v->per_second ? "/s" : "");
	if (v->number >= 0)
		snprintf(number, sizeof(number), "%d", v->number);
	if (list_format() != REPORT_TEXT) {
		LIST_ROW(&l->out, v->source, v->device, number, v->name, v->known ? value : NULL,
			 unit, v->description);
		return;
	}
	plain_printf(stdout, "  %3s %-24.24s %-26s %14s %-8s %s\n", number,
		     *v->device ? v->device : "node", v->name, value, unit, v->description);
}

static void print_source(void *data, const char *name, const char *about, unsigned values,
			 uint64_t read_ns)
{
	struct listing *l = data;

	if (list_format() == REPORT_TEXT)
		plain_printf(stdout, "%s: %s; %u values, a reading takes %.1f us\n", name, about,
			     values, (double)read_ns / 1e3);
	if (list_format() != REPORT_JSON)
		return;
	text_add(&l->sources, l->sources.length ? ",\n    {" : "\n    {");
	add_key(&l->sources, "name", name);
	text_addf(&l->sources, ", \"values\": %u, \"read_ns\": %llu}", values,
		  (unsigned long long)read_ns);
}

static void print_missing(void *data, const char *source, const char *text, bool denied)
{
	struct listing *l = data;

	if (list_format() == REPORT_TEXT)
		plain_printf(stdout, "%s: %s: %s\n", source, denied ? "cannot be read" : "not here",
			     text);
	else if (list_format() != REPORT_JSON)
		report_foot(&l->out.report, "%s: %s: %s", source,
			    denied ? "cannot be read" : "not here", text);
	if (list_format() != REPORT_JSON)
		return;
	text_add(&l->missing, l->missing.length ? ",\n    {" : "\n    {");
	add_key(&l->missing, "source", source);
	add_key(&l->missing, "text", text);
	text_addf(&l->missing, ", \"denied\": %s}", denied ? "true" : "false");
}

static const char *or_nothing(const struct text *t)
{
	return t->s ? t->s : "";
}

static int print_json(struct listing *l)
{
	printf("{\n  \"values\": [%s\n  ],\n  \"sources\": [%s\n  ],\n  \"missing\": [%s\n "
	       " ]\n}\n",
	       or_nothing(&l->values), or_nothing(&l->sources), or_nothing(&l->missing));
	text_release(&l->values);
	text_release(&l->sources);
	text_release(&l->missing);
	report_release(&l->out.report);
	return CLI_OK;
}

static int run(int argc, char **argv)
{
	struct listing l = {.values = {0}};
	struct telemetry_visitor v = {print_value, print_source, print_missing, &l};

	if (argc)
		return cli_usage("list", "list telemetry takes no operand, not \"%s\"", argv[0]);
	list_begin(&l.out, "telemetry", "Telemetry",
		   (const char *const[]){"source", "device", "device_number", "name", "value",
					 "unit", "description", NULL},
		   NULL);
	telemetry_look(telemetry_root(), &v);
	return list_format() == REPORT_JSON ? print_json(&l) : list_end(&l.out);
}

extern const struct list list_telemetry;
const struct list list_telemetry = {
	"telemetry", "What run --telemetry reads here, with present values; --format json has all",
	run, NULL};
