/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo list telemetry`: everything that --telemetry would read here, with its present value. */
#include <stdio.h>
#include <string.h>

#include "base/plain.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/run.h"
#include "telemetry/telemetry.h"

struct listing {
	bool json;
	struct text values, sources, missing;
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

	if (l->json) {
		json_value(l, v);
		return;
	}
	if (v->known)
		snprintf(value, sizeof(value), "%.6g", v->value);
	snprintf(unit, sizeof(unit), "%s%s", v->unit, v->per_second ? "/s" : "");
	if (v->number >= 0)
		snprintf(number, sizeof(number), "%d", v->number);
	plain_printf(stdout, "  %3s %-24.24s %-26s %14s %-8s %s\n", number,
		     *v->device ? v->device : "node", v->name, value, unit, v->description);
}

static void print_source(void *data, const char *name, const char *about, unsigned values,
			 uint64_t read_ns)
{
	struct listing *l = data;

	if (!l->json) {
		plain_printf(stdout, "%s: %s; %u values, a reading takes %.1f us\n", name, about,
			     values, (double)read_ns / 1e3);
		return;
	}
	text_add(&l->sources, l->sources.length ? ",\n    {" : "\n    {");
	add_key(&l->sources, "name", name);
	text_addf(&l->sources, ", \"values\": %u, \"read_ns\": %llu}", values,
		  (unsigned long long)read_ns);
}

static void print_missing(void *data, const char *source, const char *text, bool denied)
{
	struct listing *l = data;

	if (!l->json) {
		plain_printf(stdout, "%s: %s: %s\n", source, denied ? "cannot be read" : "not here",
			     text);
		return;
	}
	text_add(&l->missing, l->missing.length ? ",\n    {" : "\n    {");
	add_key(&l->missing, "source", source);
	add_key(&l->missing, "text", text);
	text_addf(&l->missing, ", \"denied\": %s}", denied ? "true" : "false");
}

static const char *or_nothing(const struct text *t)
{
	return t->s ? t->s : "";
}

static int run(int argc, char **argv)
{
	struct listing l = {.json = false};
	struct telemetry_visitor v = {print_value, print_source, print_missing, &l};
	const char *format = "text";

	if (argc == 2 && (strcmp(argv[0], "--format") == 0 || strcmp(argv[0], "-f") == 0))
		format = argv[1];
	else if (argc == 1 && strncmp(argv[0], "--format=", 9) == 0)
		format = argv[0] + 9;
	else if (argc)
		return cli_usage("list",
				 "list telemetry takes --format text|json or nothing, not "
				 "\"%s\"",
				 argv[0]);
	l.json = strcmp(format, "json") == 0;
	if (!l.json && strcmp(format, "text") != 0)
		return cli_usage("list", "--format of list telemetry is text or json, not \"%s\"",
				 format);
	telemetry_look(telemetry_root(), &v);
	if (l.json)
		printf("{\n  \"values\": [%s\n  ],\n  \"sources\": [%s\n  ],\n  \"missing\": [%s\n "
		       " ]\n}\n",
		       or_nothing(&l.values), or_nothing(&l.sources), or_nothing(&l.missing));
	text_release(&l.values);
	text_release(&l.sources);
	text_release(&l.missing);
	return CLI_OK;
}

extern const struct list list_telemetry;
const struct list list_telemetry = {
	"telemetry", "What run --telemetry reads here, with present values; --format json", run,
	"[--format FORMAT]"};
