/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices on PCI that are agents: displays, processing accelerators, network adapters, FPGAs and
 * NPUs. Only attributes that the kernel holds in memory are read: looking into configuration space
 * (file "config", link speeds) would wake a sleeping device.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/model.h"

#define PCI_FOLDER "/sys/bus/pci/devices"

static const struct {
	char driver[20];
	kymo_agent_type_t type;
} drivers[] = {
	{"intel_vpu", KYMO_AGENT_NPU},          {"amdxdna", KYMO_AGENT_NPU},
	{"xclmgmt", KYMO_AGENT_FPGA},           {"xocl", KYMO_AGENT_FPGA},
	{"dfl-pci", KYMO_AGENT_FPGA},           {"intel-fpga-pci", KYMO_AGENT_FPGA},
	{"habanalabs", KYMO_AGENT_ACCELERATOR}, {"qaic", KYMO_AGENT_ACCELERATOR},
};

/* Display adapters of management controllers and virtual machines: they do not compute. */
static const uint16_t plain_displays[] = {0x1a03, 0x102b, 0x1234, 0x1af4, 0x1013,
					  0x15ad, 0x1414, 0x1b36, 0x80ee};

static kymo_agent_type_t display_type(uint16_t vendor)
{
	for (size_t i = 0; i < sizeof(plain_displays) / sizeof(plain_displays[0]); i++)
		if (plain_displays[i] == vendor)
			return KYMO_AGENT_OTHER;
	return KYMO_AGENT_GPU;
}

/* 0: no agent. */
static int type_of(const kymo_agent_pci_t *p, const char *driver)
{
	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++)
		if (strcmp(drivers[i].driver, driver) == 0)
			return (int)drivers[i].type;
	switch (p->class_code >> 16) {
	case 0x02:
		return KYMO_AGENT_NIC;
	case 0x03:
		return (int)display_type(p->vendor_id);
	case 0x12: /* AMD's accelerators are GPUs, Xilinx's are FPGAs */
		return p->vendor_id == 0x1002   ? KYMO_AGENT_GPU
		       : p->vendor_id == 0x10ee ? KYMO_AGENT_FPGA
						: KYMO_AGENT_ACCELERATOR;
	default:
		return 0;
	}
}

static uint16_t id16(const char *folder, const char *name)
{
	uint64_t v = 0;

	return topo_number(folder, name, &v) && v <= UINT16_MAX ? (uint16_t)v : 0;
}

struct pci_reader {
	struct topo *t;
	unsigned found, bad;
};

static void read_driver(struct topo *t, struct topo_agent *a, const char *driver)
{
	char folder[TOPO_PATH], version[128];

	if (!*driver)
		return;
	a->a.driver = topo_text(t, driver);
	if (topo_path(t, folder, "/sys/module/%s", driver) &&
	    topo_line(folder, "version", version, sizeof(version)))
		a->a.version = topo_text(t, version);
}

static void add_device(struct pci_reader *r, const char *folder, const kymo_agent_pci_t *p,
		       kymo_agent_type_t type, const char *driver)
{
	struct topo_agent *a = topo_agent_new(r->t, type);
	int64_t node;
	char status[32];

	if (!a)
		return;
	a->pci = *p;
	a->has_pci = true;
	if (topo_signed(folder, "numa_node", &node) && node >= 0 && node <= INT32_MAX)
		a->a.numa_node = (int32_t)node;
	read_driver(r->t, a, driver);
	if (topo_line(folder, "power/runtime_status", status, sizeof(status)))
		topo_property(r->t, a, "power", "%s", status);
	r->found++;
}

static void read_device(const char *name, void *data)
{
	struct pci_reader *r = data;
	kymo_agent_pci_t p = {0};
	char folder[TOPO_PATH], driver[64];
	uint64_t class_code, revision = 0;
	int type;

	if (!topo_path(r->t, folder, PCI_FOLDER "/%s", name))
		return;
	if (!topo_pci_parse(name, &p) || !topo_number(folder, "class", &class_code) ||
	    class_code > 0xffffff) {
		r->bad++;
		return;
	}
	p.class_code = (uint32_t)class_code;
	p.vendor_id = id16(folder, "vendor");
	p.device_id = id16(folder, "device");
	p.subsystem_vendor_id = id16(folder, "subsystem_vendor");
	p.subsystem_device_id = id16(folder, "subsystem_device");
	p.revision = topo_number(folder, "revision", &revision) ? (uint32_t)revision : 0;
	if (!topo_link(folder, "driver", driver, sizeof(driver)))
		driver[0] = '\0';
	type = type_of(&p, driver);
	if (type)
		add_device(r, folder, &p, (kymo_agent_type_t)type, driver);
}

/* ---- virtual functions ---- */

struct function_reader {
	char folder[TOPO_PATH]; /* of the physical function */
	const char *name;       /* of the virtual one */
	int number;
};

static void match_function(const char *name, void *data)
{
	struct function_reader *r = data;
	char target[64];

	if (topo_link(r->folder, name, target, sizeof(target)) && strcmp(target, r->name) == 0)
		r->number = atoi(name + strlen("virtfn"));
}

static void link_function(struct topo *t, struct topo_agent *a)
{
	struct function_reader r = {.number = -1};
	kymo_agent_pci_t p;
	struct topo_agent *up;
	char folder[TOPO_PATH], name[32], physical[64];

	snprintf(name, sizeof(name), "%04x:%02x:%02x.%x", a->pci.domain, a->pci.bus, a->pci.device,
		 a->pci.function);
	if (!topo_path(t, folder, PCI_FOLDER "/%s", name) ||
	    !topo_link(folder, "physfn", physical, sizeof(physical)) ||
	    !topo_pci_parse(physical, &p))
		return;
	up = topo_by_pci(t, p.domain, p.bus, p.device, p.function);
	if (!up || up == a || up->a.parent) /* a virtual function has no functions */
		return;
	a->a.parent = up->a.id;
	r.name = name;
	if (topo_path(t, r.folder, PCI_FOLDER "/%s", physical))
		topo_each(r.folder, "virtfn", match_function, &r);
	if (r.number >= 0)
		a->a.partition = topo_format(t, "vf%d", r.number);
}

void topo_read_pci(struct topo *t)
{
	struct pci_reader r = {.t = t};
	uint32_t first = t->count;
	char folder[TOPO_PATH];

	if (!topo_path(t, folder, PCI_FOLDER) || !topo_each(folder, "", read_device, &r)) {
		topo_source_add(t, "pci",
				errno == EACCES ? KYMO_ERROR_SYSTEM : KYMO_ERROR_NOT_FOUND,
				"%s: %s; devices on PCI are not known", folder, strerror(errno));
		return;
	}
	for (uint32_t i = first; i < t->count; i++)
		link_function(t, t->agents[i]);
	if (r.bad)
		topo_source_add(t, "pci", KYMO_ERROR_CORRUPT,
				"%u agents; %u entries of %s make no sense and are left out",
				r.found, r.bad, folder);
	else
		topo_source_add(t, "pci", KYMO_OK, "%u agents", r.found);
}
