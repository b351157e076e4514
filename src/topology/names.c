/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of PCI vendors and devices: short names of the usual vendors, and the list pci.ids where
 * the distribution has one.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "topology/model.h"

#define IDS_MAX ((size_t)16 << 20)

static const struct {
	uint16_t id;
	char name[14];
} vendors[] = {
	{0x10de, "NVIDIA"},    {0x1002, "AMD"},      {0x1022, "AMD"},    {0x8086, "Intel"},
	{0x15b3, "Mellanox"},  {0x14e4, "Broadcom"}, {0x10ee, "Xilinx"}, {0x1da3, "Habana"},
	{0x17cb, "Qualcomm"},  {0x17db, "Cray"},     {0x1d0f, "Amazon"}, {0x1af4, "Red Hat"},
	{0x1a03, "ASPEED"},    {0x1dd8, "Pensando"}, {0x1077, "QLogic"}, {0x1ae0, "Google"},
	{0x1414, "Microsoft"}, {0x102b, "Matrox"},   {0x1172, "Altera"},
};

static const char *short_name(uint16_t id)
{
	for (size_t i = 0; i < sizeof(vendors) / sizeof(vendors[0]); i++)
		if (vendors[i].id == id)
			return vendors[i].name;
	return NULL;
}

/* Four hexadecimal digits and a blank; -1 if it is something else. */
static long id_at(const char *s)
{
	char digits[5];

	for (int i = 0; i < 4; i++)
		if (!isxdigit((unsigned char)s[i]))
			return -1;
	if (s[4] != ' ')
		return -1;
	memcpy(digits, s, 4);
	digits[4] = '\0';
	return strtol(digits, NULL, 16);
}

static const char *copy_line(struct topo *t, const char *s)
{
	return topo_format(t, "%.*s", (int)strcspn(s, "\n"), s);
}

static void name_line(struct topo *t, const char *line, long vendor, long device)
{
	for (uint32_t i = 0; i < t->count; i++) {
		struct topo_agent *a = t->agents[i];

		if (!a->has_pci || a->pci.vendor_id != vendor)
			continue;
		if (device < 0 && !a->a.vendor)
			a->a.vendor = copy_line(t, line + 4);
		else if (device == a->pci.device_id && !a->a.name)
			a->a.name = copy_line(t, line + 5);
	}
}

/* Lines: "vvvv  name", below it "<tab>dddd  name" and "<tab><tab>..."; classes follow at the end. */
static void read_ids(struct topo *t, const char *text)
{
	long vendor = -1, id;

	for (; *text && strncmp(text, "C ", 2) != 0; text += *text == '\n') {
		if (*text == '\t' && vendor >= 0 && (id = id_at(text + 1)) >= 0)
			name_line(t, text, vendor, id);
		else if (*text != '\t' && *text != '#' && (id = id_at(text)) >= 0)
			name_line(t, text, vendor = id, -1);
		text += strcspn(text, "\n");
	}
}

/* What no list knows: the numbers. */
static void name_by_number(struct topo *t, struct topo_agent *a)
{
	static const char kinds[][16] = {
		"device", "CPU", "GPU", "NPU", "accelerator", "FPGA", "network adapter", "device"};

	if (!a->a.vendor && a->has_pci)
		a->a.vendor = topo_format(t, "0x%04x", a->pci.vendor_id);
	if (a->a.name)
		return;
	a->name_guessed = true;
	if (a->has_pci)
		a->a.name = topo_format(t, "%s%s%04x:%04x", a->a.vendor ? a->a.vendor : "",
					a->a.vendor ? " " : "", a->pci.vendor_id, a->pci.device_id);
	else
		a->a.name = topo_text(t, kinds[a->a.type]);
}

void topo_read_names(struct topo *t)
{
	static const char *const files[] = {"/usr/share/misc/pci.ids", "/usr/share/hwdata/pci.ids"};
	char path[TOPO_PATH], *text = NULL;
	bool found = false, needed = false;

	for (uint32_t i = 0; i < t->count; i++) {
		struct topo_agent *a = t->agents[i];

		if (a->has_pci && !a->a.vendor)
			a->a.vendor = short_name(a->pci.vendor_id);
		needed = needed || (a->has_pci && (!a->a.name || !a->a.vendor));
	}
	if (needed)
		text = malloc(IDS_MAX);
	for (size_t i = 0; text && !found && i < sizeof(files) / sizeof(files[0]); i++)
		found = topo_path(t, path, "%s", files[i]) &&
			topo_read_file(path, text, IDS_MAX) == TOPO_READ_OK;
	if (found)
		read_ids(t, text);
	free(text);
	for (uint32_t i = 0; i < t->count; i++)
		name_by_number(t, t->agents[i]);
	if (needed && !found)
		topo_source_add(
			t, "pci.ids", KYMO_ERROR_NOT_FOUND,
			"no list of names of PCI devices (Debian: pci.ids); they are shown by "
			"number");
	else
		topo_source_add(t, "pci.ids", KYMO_OK, "%s", needed ? path : "not needed");
}
