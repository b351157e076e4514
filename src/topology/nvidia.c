/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVIDIA's driver tells little without its library: model and uuid of each GPU, which MIG instances
 * there are. Reading /proc/driver/nvidia initialises no GPU.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/model.h"

#define GPU_FOLDER "/proc/driver/nvidia/gpus"

struct nvidia_reader {
	struct topo *t;
	struct topo_agent *gpu; /* whose instances are being read */
	char folder[TOPO_PATH]; /* of its instances */
	char instance[32];      /* "gi1" */
	char version[64];
	unsigned gpus, instances, denied, bad;
};

/* A GPU that nobody has initialised yet has question marks for digits. */
static bool is_uuid(const char *s)
{
	return strncmp(s, "GPU-", 4) == 0 && !strchr(s, '?');
}

/* ---- MIG instances ---- */

static void read_compute_instance(const char *name, void *data)
{
	struct nvidia_reader *r = data;
	struct topo_agent *a = topo_agent_new(r->t, KYMO_AGENT_GPU);

	if (!a)
		return;
	a->a.parent = r->gpu->a.id;
	a->a.numa_node = r->gpu->a.numa_node;
	a->a.driver = r->gpu->a.driver;
	a->a.version = r->gpu->a.version;
	a->a.partition = topo_format(r->t, "%s/%s", r->instance, name);
	a->a.name = topo_format(r->t, "%s MIG %s/%s", r->gpu->a.name ? r->gpu->a.name : "GPU",
				r->instance, name);
	a->pci = r->gpu->pci;
	a->has_pci = r->gpu->has_pci;
	r->instances++;
}

static void read_gpu_instance(const char *name, void *data)
{
	struct nvidia_reader *r = data;
	char folder[TOPO_PATH];

	snprintf(r->instance, sizeof(r->instance), "%s", name);
	if ((size_t)snprintf(folder, sizeof(folder), "%s/%s", r->folder, name) < sizeof(folder))
		topo_each(folder, "ci", read_compute_instance, r);
}

static void read_instances(struct nvidia_reader *r, const char *minor)
{
	unsigned before = r->instances;

	if (topo_path(r->t, r->folder, "/proc/driver/nvidia/capabilities/gpu%.8s/mig", minor))
		topo_each(r->folder, "gi", read_gpu_instance, r);
	if (r->instances > before)
		topo_property(r->t, r->gpu, "mig_instances", "%u", r->instances - before);
}

/* ---- GPUs ---- */

static struct topo_agent *find_gpu(struct topo *t, const char *name)
{
	kymo_agent_pci_t p = {.vendor_id = 0x10de, .class_code = 0x030200};
	struct topo_agent *a;

	if (!topo_pci_parse(name, &p))
		return NULL;
	a = topo_by_pci(t, p.domain, p.bus, p.device, p.function);
	if (a)
		return a;
	a = topo_agent_new(t, KYMO_AGENT_GPU); /* a container that hides PCI */
	if (a) {
		a->pci = p;
		a->has_pci = true;
	}
	return a;
}

static void describe_gpu(struct nvidia_reader *r, const char *text)
{
	struct topo *t = r->t;
	struct topo_agent *a = r->gpu;
	char value[256];

	if (topo_key(text, "Model", value, sizeof(value)))
		a->a.name = topo_text(t, value);
	if (topo_key(text, "GPU UUID", value, sizeof(value)) && is_uuid(value)) {
		a->a.uuid = topo_text(t, value);
		a->uuid_sure = true;
	}
	if (!a->a.driver)
		a->a.driver = "nvidia";
	if (*r->version)
		a->a.version = topo_text(t, r->version);
	if (topo_key(text, "Video BIOS", value, sizeof(value)) && !strchr(value, '?'))
		topo_property(t, a, "video_bios", "%s", value);
	if (topo_key(text, "GPU Firmware", value, sizeof(value)))
		topo_property(t, a, "firmware", "%s", value);
	if (topo_key(text, "Device Minor", value, sizeof(value))) {
		topo_property(t, a, "minor", "%s", value);
		if (strspn(value, "0123456789") == strlen(value))
			read_instances(r, value);
	}
}

static void read_gpu(const char *name, void *data)
{
	struct nvidia_reader *r = data;
	char path[TOPO_PATH], text[8192];
	enum topo_read_result result;

	r->gpu = find_gpu(r->t, name);
	if (!r->gpu || !topo_path(r->t, path, GPU_FOLDER "/%s/information", name)) {
		r->bad++;
		return;
	}
	result = topo_read_file(path, text, sizeof(text));
	r->gpus++;
	r->denied += result == TOPO_READ_DENIED;
	r->bad += result == TOPO_READ_BAD || result == TOPO_READ_MISSING;
	describe_gpu(r, text);
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95  Tue ...": the word with digits and dots. */
static void read_version(struct nvidia_reader *r)
{
	char folder[TOPO_PATH], line[512], *word, *rest = line;

	if (!topo_path(r->t, folder, "/proc/driver/nvidia") ||
	    !topo_line(folder, "version", line, sizeof(line)))
		return;
	while ((word = strsep(&rest, " \t")))
		if (strchr(word, '.') && strspn(word, "0123456789.") == strlen(word)) {
			snprintf(r->version, sizeof(r->version), "%s", word);
			return;
		}
}

static bool has_nvidia(const struct topo *t)
{
	for (uint32_t i = 0; i < t->count; i++)
		if (t->agents[i]->has_pci && t->agents[i]->pci.vendor_id == 0x10de &&
		    t->agents[i]->a.type == KYMO_AGENT_GPU)
			return true;
	return false;
}

void topo_read_nvidia(struct topo *t)
{
	struct nvidia_reader r = {.t = t};
	char folder[TOPO_PATH];

	read_version(&r);
	if (!topo_path(t, folder, GPU_FOLDER) || !topo_each(folder, "", read_gpu, &r)) {
		topo_source_add(
			t, "nvidia", errno == EACCES ? KYMO_ERROR_SYSTEM : KYMO_ERROR_NOT_FOUND,
			"%s%s", errno == EACCES ? "no permission: " : "",
			has_nvidia(t) ? "a NVIDIA GPU is there, but not NVIDIA's driver: its "
					"model and uuid are not known"
				      : "NVIDIA's driver is not loaded");
		return;
	}
	if (r.denied)
		topo_source_add(t, "nvidia", KYMO_ERROR_SYSTEM,
				"no permission to read about %u of %u GPUs", r.denied, r.gpus);
	else if (r.bad)
		topo_source_add(t, "nvidia", KYMO_ERROR_CORRUPT,
				"%u GPUs; %u entries of %s make no sense", r.gpus, r.bad, folder);
	else
		topo_source_add(t, "nvidia", KYMO_OK, "%u GPUs, %u MIG instances%s%s", r.gpus,
				r.instances, *r.version ? ", driver " : "", r.version);
}
