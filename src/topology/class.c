/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kernel drivers tell beyond PCI, in /sys/class: drm (GPUs), accel (NPUs and other
 * accelerators), net and infiniband (network adapters), and devices of these kinds that are not on
 * PCI. A device that sleeps is asked nothing of its own: many attributes would wake it.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "topology/model.h"

struct class_reader {
	struct topo *t;
	const char *class;      /* "drm" */
	kymo_agent_type_t type; /* of devices that are not on PCI */
	unsigned found;
	struct topo_agent *last; /* not on PCI, made by the entry before */
	char last_path[PATH_MAX];
};

/* ---- which device ---- */

/* The PCI function a device is, not one it is merely plugged into: only virtio may lie between. */
static struct topo_agent *pci_of(const struct topo *t, char *real)
{
	char *last = strrchr(real, '/');
	kymo_agent_pci_t p;

	if (last && strncmp(last + 1, "virtio", 6) == 0) {
		*last = '\0';
		last = strrchr(real, '/');
	}
	return last && topo_pci_parse(last + 1, &p)
		       ? topo_by_pci(t, p.domain, p.bus, p.device, p.function)
		       : NULL;
}

/* The value of KEY=value in the device's uevent. */
static bool uevent(const char *folder, const char *key, char *out, size_t room)
{
	char path[TOPO_PATH], text[8192], *s;
	size_t n;

	if ((size_t)snprintf(path, sizeof(path), "%s/uevent", folder) >= sizeof(path) ||
	    topo_read_file(path, text, sizeof(text)) != TOPO_READ_OK)
		return false;
	for (s = text; s && strncmp(s, key, strlen(key)) != 0; s = s ? s + 1 : NULL)
		s = strchr(s, '\n');
	if (!s)
		return false;
	s += strlen(key);
	n = strcspn(s, "\n");
	if (!n || n >= room)
		return false;
	memcpy(out, s, n);
	out[n] = '\0';
	return true;
}

/* A device of a class that is not on PCI: in systems on a chip, or on USB. */
static struct topo_agent *other_device(struct class_reader *r, const char *device, const char *real)
{
	struct topo_agent *a;
	char driver[64], compatible[128];

	if (r->last && strcmp(real, r->last_path) == 0)
		return r->last;
	if (!topo_link(device, "driver", driver, sizeof(driver)) || strcmp(driver, "vgem") == 0 ||
	    strcmp(driver, "vkms") == 0)
		return NULL;
	a = topo_agent_new(r->t, r->type);
	if (!a)
		return NULL;
	a->a.driver = topo_text(r->t, driver);
	if (uevent(device, "OF_COMPATIBLE_0=", compatible, sizeof(compatible))) {
		a->a.name = topo_text(r->t, compatible);
		if (strchr(compatible, ','))
			a->a.vendor = topo_format(r->t, "%.*s", (int)strcspn(compatible, ","),
						  compatible);
	} else {
		a->a.name = topo_text(r->t, driver);
	}
	r->last = a;
	snprintf(r->last_path, sizeof(r->last_path), "%s", real);
	return a;
}

/* The agent behind /sys/class/<class>/<name>; `device` becomes the path of its folder. */
static struct topo_agent *agent_of(struct class_reader *r, const char *name, char device[TOPO_PATH],
				   bool others)
{
	char real[PATH_MAX], cut[PATH_MAX];
	struct topo_agent *a;

	if (!topo_path(r->t, device, "/sys/class/%s/%s/device", r->class, name) ||
	    !realpath(device, real))
		return NULL;
	memcpy(cut, real, sizeof(cut));
	a = pci_of(r->t, cut);
	if (!a && others && !strstr(strrchr(real, '/'), "virtio"))
		a = other_device(r, device, real);
	r->found += a != NULL;
	return a;
}

static bool awake(const char *device)
{
	char status[32];

	return !topo_line(device, "power/runtime_status", status, sizeof(status)) ||
	       strcmp(status, "active") == 0 || strcmp(status, "unsupported") == 0;
}

/* ---- drm ---- */

static void amd_details(struct topo *t, struct topo_agent *a, const char *device)
{
	char text[256];
	uint64_t v;

	if (topo_number(device, "mem_info_vram_total", &v))
		a->a.memory_bytes = v;
	if (topo_line(device, "product_name", text, sizeof(text)))
		a->a.name = topo_text(t, text);
	if (topo_line(device, "unique_id", text, sizeof(text)))
		a->a.uuid = topo_format(t, "GPU-%s", text);
	if (topo_line(device, "current_compute_partition", text, sizeof(text)))
		topo_property(t, a, "compute_partition", "%s", text);
	if (topo_line(device, "current_memory_partition", text, sizeof(text)))
		topo_property(t, a, "memory_partition", "%s", text);
}

/* `card`: folder of the DRM device. */
static void intel_details(struct topo *t, struct topo_agent *a, const char *card,
			  const char *device)
{
	uint64_t v;

	if ((topo_number(card, "gt_RP0_freq_mhz", &v) || topo_number(card, "gt_max_freq_mhz", &v) ||
	     topo_number(device, "tile0/gt0/freq0/rp0_freq", &v)) &&
	    v < UINT32_MAX)
		a->a.clock_max_hz = v * 1000000;
	if (topo_number(device, "tile0/physical_vram_size_bytes", &v))
		a->a.memory_bytes = v;
}

static void read_drm(const char *name, void *data)
{
	struct class_reader *r = data;
	char device[TOPO_PATH], card[TOPO_PATH];
	bool render = strncmp(name, "renderD", 7) == 0;
	struct topo_agent *a;

	if ((!render && strncmp(name, "card", 4) != 0) || strchr(name, '-')) /* connectors */
		return;
	/* What has no render node only displays. */
	a = agent_of(r, name, device, render);
	if (!a)
		return;
	topo_property(r->t, a, render ? "drm_render" : "drm_card", "%s", name);
	if (render || !awake(device) || !topo_path(r->t, card, "/sys/class/drm/%s", name))
		return;
	if (a->has_pci && a->pci.vendor_id == 0x1002)
		amd_details(r->t, a, device);
	else if (a->has_pci && a->pci.vendor_id == 0x8086)
		intel_details(r->t, a, card, device);
}

/* ---- accel, net, infiniband ---- */

static void read_accel(const char *name, void *data)
{
	struct class_reader *r = data;
	char device[TOPO_PATH];
	struct topo_agent *a = agent_of(r, name, device, true);

	if (!a)
		return;
	topo_property(r->t, a, "accel", "%s", name);
	if (a->a.driver &&
	    (strcmp(a->a.driver, "rocket") == 0 || strcmp(a->a.driver, "ethosu") == 0))
		a->a.type = KYMO_AGENT_NPU;
}

static void read_net(const char *name, void *data)
{
	struct class_reader *r = data;
	char device[TOPO_PATH], folder[TOPO_PATH];
	struct topo_agent *a = agent_of(r, name, device, false);
	uint64_t mbit;

	if (!a)
		return;
	topo_property(r->t, a, "net", "%s", name);
	if (topo_path(r->t, folder, "/sys/class/net/%s", name) &&
	    topo_number(folder, "speed", &mbit) && mbit && mbit < UINT32_MAX)
		topo_property(r->t, a, "net_mbit_per_second", "%llu", (unsigned long long)mbit);
}

static void read_infiniband(const char *name, void *data)
{
	struct class_reader *r = data;
	char device[TOPO_PATH], folder[TOPO_PATH], text[128];
	struct topo_agent *a = agent_of(r, name, device, false);

	if (!a || !topo_path(r->t, folder, "/sys/class/infiniband/%s", name))
		return;
	topo_property(r->t, a, "infiniband", "%s", name);
	if (topo_line(folder, "fw_ver", text, sizeof(text)))
		topo_property(r->t, a, "firmware", "%s", text);
	if (topo_line(folder, "hca_type", text, sizeof(text)))
		topo_property(r->t, a, "hca_type", "%s", text);
	if (topo_line(folder, "node_guid", text, sizeof(text)))
		topo_property(r->t, a, "node_guid", "%s", text);
}

static void read_class(struct topo *t, const char *class, kymo_agent_type_t type,
		       void (*visit)(const char *name, void *data), const char *missing)
{
	struct class_reader r = {.t = t, .class = class, .type = type};
	char folder[TOPO_PATH];

	if (!topo_path(t, folder, "/sys/class/%s", class) || !topo_each(folder, "", visit, &r))
		topo_source_add(t, class,
				errno == EACCES ? KYMO_ERROR_SYSTEM : KYMO_ERROR_NOT_FOUND, "%s%s",
				errno == EACCES ? "no permission: " : "", missing);
	else
		topo_source_add(t, class, KYMO_OK, "%u device nodes", r.found);
}

void topo_read_drm(struct topo *t)
{
	read_class(t, "drm", KYMO_AGENT_GPU, read_drm, "no graphics driver is loaded");
}

void topo_read_accel(struct topo *t)
{
	read_class(t, "accel", KYMO_AGENT_ACCELERATOR, read_accel,
		   "no driver of an NPU or accelerator is loaded");
}

void topo_read_nics(struct topo *t)
{
	read_class(t, "net", KYMO_AGENT_NIC, read_net, "names of network interfaces are not known");
	read_class(t, "infiniband", KYMO_AGENT_NIC, read_infiniband, "no RDMA driver is loaded");
}
