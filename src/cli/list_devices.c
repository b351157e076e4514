/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo list devices`: the agents of this machine. Needs no runtime and asks none. */
#include <inttypes.h>
#include <string.h>

#include <kymo/agent.h>

#include "base/plain.h"
#include "base/text.h"
#include "cli/cli.h"

static void bytes_text(uint64_t bytes, char out[32])
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
	double v = (double)bytes;
	unsigned unit = 0;

	while (v >= 1024 && unit < 5) {
		v /= 1024;
		unit++;
	}
	snprintf(out, 32, v == (double)(uint64_t)v ? "%.0f %s" : "%.1f %s", v, units[unit]);
}

static void pci_text(const kymo_agent_pci_t *p, char out[32])
{
	snprintf(out, 32, "%04x:%02x:%02x.%x", p->domain, p->bus, p->device, p->function);
}

static const char *const cache_types[] = {"", "", "data", "instruction"};

/* ---- text ---- */

static void print_caches(const kymo_agent_t *a)
{
	for (size_t i = 0; a->caches[i]; i++) {
		const kymo_agent_cache_t *c = a->caches[i];
		char size[32];

		bytes_text(c->bytes, size);
		plain_printf(stdout, "      L%u%s%s  %u x %s, %u B lines, each for %u\n", c->level,
			     *cache_types[c->type] ? " " : "", cache_types[c->type], c->count, size,
			     c->line_bytes, c->shared_by);
	}
}

static void print_numa(const kymo_agent_t *a)
{
	for (size_t i = 0; a->numa[i]; i++) {
		const kymo_agent_numa_t *n = a->numa[i];
		char size[32];

		bytes_text(n->memory_bytes, size);
		plain_printf(stdout, "      NUMA node %u  %s, %u hardware threads\n", n->node, size,
			     n->threads);
	}
}

static void print_where(const kymo_agent_t *a)
{
	char pci[32];

	if (a->pci) {
		pci_text(a->pci, pci);
		plain_printf(stdout, "      PCI %s  %04x:%04x%s%s", pci, a->pci->vendor_id,
			     a->pci->device_id, a->driver ? ", driver " : ", no driver",
			     a->driver ? a->driver : "");
		plain_printf(stdout, a->version ? " %s" : "%s", a->version ? a->version : "");
		if (a->numa_node >= 0)
			plain_printf(stdout, ", near NUMA node %d", a->numa_node);
		putchar('\n');
	} else if (a->driver) {
		plain_printf(stdout, "      driver %s\n", a->driver);
	}
	if (a->uuid)
		plain_printf(stdout, "      uuid %s\n", a->uuid);
	if (a->parent)
		plain_printf(stdout, "      part of device %u%s%s\n", a->parent,
			     a->partition ? ": " : "", a->partition ? a->partition : "");
}

static void print_size(const kymo_agent_t *a)
{
	char size[32];
	const char *gap = "      ";

	if (a->compute_units) {
		plain_printf(stdout, "%s%u %s", gap, a->compute_units,
			     a->type == KYMO_AGENT_CPU ? "cores" : "compute units");
		gap = ", ";
	}
	if (a->threads && a->type == KYMO_AGENT_CPU) {
		plain_printf(stdout, "%s%u hardware threads", gap, a->threads);
		gap = ", ";
	}
	if (a->memory_bytes) {
		bytes_text(a->memory_bytes, size);
		plain_printf(stdout, "%s%s memory", gap, size);
		gap = ", ";
	}
	if (a->clock_max_hz) {
		plain_printf(stdout, "%sup to %" PRIu64 " MHz", gap, a->clock_max_hz / 1000000);
		gap = ", ";
	}
	if (*gap == ',')
		putchar('\n');
}

static kymo_status_t print_agent(const kymo_agent_t *a, void *data)
{
	unsigned *count = data;

	plain_printf(stdout, "%3u   %-12s %s%s%s%s\n", a->id, kymo_agent_type_name(a->type),
		     a->name, a->vendor ? " (" : "", a->vendor ? a->vendor : "",
		     a->vendor ? ")" : "");
	print_where(a);
	print_size(a);
	print_caches(a);
	print_numa(a);
	for (size_t i = 0; a->properties[i]; i++)
		plain_printf(stdout, "      %s: %s\n", a->properties[i]->name,
			     a->properties[i]->value);
	++*count;
	return KYMO_OK;
}

/* ---- JSON ---- */

static void json_text(struct text *j, const char *key, const char *value)
{
	text_addf(j, ", \"%s\": ", key);
	if (value)
		text_add_json(j, value);
	else
		text_add(j, "null");
}

static void json_pci(struct text *j, const kymo_agent_pci_t *p)
{
	char pci[32];

	if (!p)
		return;
	pci_text(p, pci);
	text_addf(j, ", \"pci\": {\"address\": \"%s\", \"vendor_id\": %u, \"device_id\": %u, "
		  "\"subsystem_vendor_id\": %u, \"subsystem_device_id\": %u, \"class\": %u, "
		  "\"revision\": %u}", pci, p->vendor_id, p->device_id, p->subsystem_vendor_id,
		  p->subsystem_device_id, p->class_code, p->revision);
}

static void json_parts(struct text *j, const kymo_agent_t *a)
{
	text_add(j, ", \"caches\": [");
	for (size_t i = 0; a->caches[i]; i++) {
		const kymo_agent_cache_t *c = a->caches[i];

		text_addf(j, "%s{\"level\": %u, \"type\": \"%s\", \"bytes\": %" PRIu64
			  ", \"line_bytes\": %u, \"shared_by\": %u, \"count\": %u}", i ? ", " : "",
			  c->level, *cache_types[c->type] ? cache_types[c->type] : "unified",
			  c->bytes, c->line_bytes, c->shared_by, c->count);
	}
	text_add(j, "], \"numa\": [");
	for (size_t i = 0; a->numa[i]; i++)
		text_addf(j, "%s{\"node\": %u, \"threads\": %u, \"memory_bytes\": %" PRIu64 "}",
			  i ? ", " : "", a->numa[i]->node, a->numa[i]->threads,
			  a->numa[i]->memory_bytes);
	text_add(j, "], \"properties\": [");
	for (size_t i = 0; a->properties[i]; i++) {
		text_add(j, i ? ", {\"name\": " : "{\"name\": ");
		text_add_json(j, a->properties[i]->name);
		text_add(j, ", \"value\": ");
		text_add_json(j, a->properties[i]->value);
		text_add(j, "}");
	}
	text_add(j, "]");
}

static kymo_status_t json_agent(const kymo_agent_t *a, void *data)
{
	struct text *j = data;

	text_addf(j, "%s\n    {\"id\": %u, \"type\": \"%s\"", j->s[j->length - 1] == '[' ? "" : ",",
		  a->id, kymo_agent_type_name(a->type));
	text_addf(j, ", \"parent\": %u, \"numa_node\": %d", a->parent, a->numa_node);
	json_text(j, "name", a->name);
	json_text(j, "vendor", a->vendor);
	json_text(j, "driver", a->driver);
	json_text(j, "driver_version", a->version);
	json_text(j, "uuid", a->uuid);
	json_text(j, "partition", a->partition);
	text_addf(j, ", \"memory_bytes\": %" PRIu64 ", \"compute_units\": %u, \"threads\": %u, "
		  "\"clock_max_hz\": %" PRIu64, a->memory_bytes, a->compute_units, a->threads,
		  a->clock_max_hz);
	json_pci(j, a->pci);
	json_parts(j, a);
	text_add(j, "}");
	return KYMO_OK;
}

static kymo_status_t json_source(const kymo_agent_source_t *s, void *data)
{
	struct text *j = data;

	text_addf(j, "%s\n    {\"name\": ", j->s[j->length - 1] == '[' ? "" : ",");
	text_add_json(j, s->name);
	text_addf(j, ", \"status\": %d, \"text\": ", s->status);
	text_add_json(j, s->text);
	text_add(j, "}");
	return KYMO_OK;
}

static int no_memory(void)
{
	cli_error("not enough memory to look at the machine");
	return CLI_FAILURE;
}

static int print_json(void)
{
	struct text j = {0};
	bool ok;

	text_add(&j, "{\n  \"devices\": [");
	ok = kymo_agents(json_agent, &j) == KYMO_OK;
	text_add(&j, "\n  ],\n  \"sources\": [");
	ok = ok && kymo_agent_sources(json_source, &j) == KYMO_OK && !j.failed;
	text_add(&j, "\n  ]\n}\n");
	if (ok)
		fputs(j.s, stdout);
	text_release(&j);
	return ok ? CLI_OK : no_memory();
}

static int print_text(void)
{
	unsigned count = 0;

	if (kymo_agents(print_agent, &count) != KYMO_OK)
		return no_memory();
	if (!count)
		plain_printf(stdout, "No device is known; kymo doctor says why.\n");
	return CLI_OK;
}

static int run(int argc, char **argv)
{
	const char *format = "text";

	if (argc == 2 && (strcmp(argv[0], "--format") == 0 || strcmp(argv[0], "-f") == 0))
		format = argv[1];
	else if (argc == 1 && strncmp(argv[0], "--format=", 9) == 0)
		format = argv[0] + 9;
	else if (argc)
		return cli_usage("list", "list devices takes --format text|json or nothing, not "
				 "\"%s\"", argv[0]);
	if (strcmp(format, "json") == 0)
		return print_json();
	if (strcmp(format, "text") == 0)
		return print_text();
	return cli_usage("list", "--format of list devices is text or json, not \"%s\"", format);
}

extern const struct list list_devices;
const struct list list_devices = {
	"devices", "Processors, accelerators and network adapters; --format json for programs", run, "[--format FORMAT]"};
