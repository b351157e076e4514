/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo list devices`: the agents of this machine. Needs no runtime and asks none. */
#include <inttypes.h>
#include <string.h>

#include <kymo/agent.h>

#include "base/json.h"
#include "base/plain.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/list_output.h"

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

static void add_text(struct json *j, const char *key, const char *value)
{
	json_name(j, key);
	json_add_string(j, value);
}

static void add_number(struct json *j, const char *key, uint64_t value)
{
	json_name(j, key);
	json_add_unsigned(j, value);
}

static void add_pci(struct json *j, const kymo_agent_pci_t *p)
{
	char address[32];

	if (!p)
		return;
	pci_text(p, address);
	json_name(j, "pci");
	json_open(j, '{');
	add_text(j, "address", address);
	add_number(j, "vendor_id", p->vendor_id);
	add_number(j, "device_id", p->device_id);
	add_number(j, "subsystem_vendor_id", p->subsystem_vendor_id);
	add_number(j, "subsystem_device_id", p->subsystem_device_id);
	add_number(j, "class", p->class_code);
	add_number(j, "revision", p->revision);
	json_close(j);
}

static void add_cache(struct json *j, const kymo_agent_cache_t *c)
{
	json_open(j, '{');
	add_number(j, "level", c->level);
	add_text(j, "type", *cache_types[c->type] ? cache_types[c->type] : "unified");
	add_number(j, "bytes", c->bytes);
	add_number(j, "line_bytes", c->line_bytes);
	add_number(j, "shared_by", c->shared_by);
	add_number(j, "count", c->count);
	json_close(j);
}

static void add_parts(struct json *j, const kymo_agent_t *a)
{
	json_name(j, "caches");
	json_open(j, '[');
	for (size_t i = 0; a->caches[i]; i++)
		add_cache(j, a->caches[i]);
	json_close(j);
	json_name(j, "numa");
	json_open(j, '[');
	for (size_t i = 0; a->numa[i]; i++) {
		json_open(j, '{');
		add_number(j, "node", a->numa[i]->node);
		add_number(j, "threads", a->numa[i]->threads);
		add_number(j, "memory_bytes", a->numa[i]->memory_bytes);
		json_close(j);
	}
	json_close(j);
	json_name(j, "properties");
	json_open(j, '[');
	for (size_t i = 0; a->properties[i]; i++) {
		json_open(j, '{');
		add_text(j, "name", a->properties[i]->name);
		add_text(j, "value", a->properties[i]->value);
		json_close(j);
	}
	json_close(j);
}

static kymo_status_t add_agent(const kymo_agent_t *a, void *data)
{
	struct json *j = data;

	json_line(j, 4);
	json_open(j, '{');
	add_number(j, "id", a->id);
	add_text(j, "type", kymo_agent_type_name(a->type));
	add_number(j, "parent", a->parent);
	json_name(j, "numa_node");
	json_add_signed(j, a->numa_node);
	add_text(j, "name", a->name);
	add_text(j, "vendor", a->vendor);
	add_text(j, "driver", a->driver);
	add_text(j, "driver_version", a->version);
	add_text(j, "uuid", a->uuid);
	add_text(j, "partition", a->partition);
	add_number(j, "memory_bytes", a->memory_bytes);
	add_number(j, "compute_units", a->compute_units);
	add_number(j, "threads", a->threads);
	add_number(j, "clock_max_hz", a->clock_max_hz);
	add_pci(j, a->pci);
	add_parts(j, a);
	json_close(j);
	return KYMO_OK;
}

static kymo_status_t add_source(const kymo_agent_source_t *s, void *data)
{
	struct json *j = data;

	json_line(j, 4);
	json_open(j, '{');
	add_text(j, "name", s->name);
	json_name(j, "status");
	json_add_signed(j, s->status);
	add_text(j, "text", s->text);
	json_close(j);
	return KYMO_OK;
}

static int no_memory(void)
{
	cli_error("not enough memory to look at the machine");
	return CLI_FAILURE;
}

static int print_json(void)
{
	struct text out = {0};
	struct json j = {.out = &out};
	bool ok;

	json_open(&j, '{');
	json_line(&j, 2);
	json_name(&j, "devices");
	json_open(&j, '[');
	ok = kymo_agents(add_agent, &j) == KYMO_OK;
	json_line(&j, 2);
	json_close(&j);
	json_line(&j, 2);
	json_name(&j, "sources");
	json_open(&j, '[');
	ok = ok && kymo_agent_sources(add_source, &j) == KYMO_OK && !out.failed;
	json_line(&j, 2);
	json_close(&j);
	json_line(&j, 0);
	json_close(&j);
	if (ok)
		puts(out.s);
	text_release(&out);
	return ok ? CLI_OK : no_memory();
}

static int print_text(void)
{
	unsigned count = 0;

	if (kymo_agents(print_agent, &count) != KYMO_OK)
		return no_memory();
	if (!count)
		plain_printf(stdout, "No device was found; kymo doctor shows why.\n");
	return CLI_OK;
}

/* ---- tables ---- */

static void set_number(char out[24], uint64_t number)
{
	snprintf(out, 24, "%" PRIu64, number);
}

static kymo_status_t add_row(const kymo_agent_t *a, void *data)
{
	char id[24], parent[24], node[24], memory[24], units[24], threads[24], clock[24], pci[32];

	set_number(id, a->id);
	set_number(parent, a->parent);
	snprintf(node, sizeof(node), "%d", a->numa_node);
	set_number(memory, a->memory_bytes);
	set_number(units, a->compute_units);
	set_number(threads, a->threads);
	set_number(clock, a->clock_max_hz);
	if (a->pci)
		pci_text(a->pci, pci);
	LIST_ROW(data, id, kymo_agent_type_name(a->type), a->name, a->vendor,
		 a->parent ? parent : NULL, a->pci ? pci : NULL, a->uuid, a->driver, a->version,
		 a->numa_node >= 0 ? node : NULL, a->memory_bytes ? memory : NULL,
		 a->compute_units ? units : NULL, a->threads ? threads : NULL,
		 a->clock_max_hz ? clock : NULL);
	return KYMO_OK;
}

static int print_table(void)
{
	struct list_output o;

	list_begin(&o, "devices", "Devices",
		   (const char *const[]){"id", "type", "name", "vendor", "parent", "pci", "uuid",
					 "driver", "driver_version", "numa_node", "memory_bytes",
					 "compute_units", "threads", "clock_max_hz", NULL},
		   NULL);
	if (kymo_agents(add_row, &o) != KYMO_OK) {
		report_release(&o.report);
		return no_memory();
	}
	return list_end(&o);
}

static int run(int argc, char **argv)
{
	if (argc)
		return cli_usage("list", "list devices takes no operand, not \"%s\"", argv[0]);
	if (list_format() == REPORT_JSON)
		return print_json();
	return list_format() == REPORT_TEXT ? print_text() : print_table();
}

extern const struct list list_devices;
const struct list list_devices = {
	"devices", "Processors, accelerators and network adapters; --format json has all of them",
	run, NULL};
