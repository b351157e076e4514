/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AMD GPUs as the kernel's compute driver (KFD) shows them: one node for each GPU, or for each
 * partition of one. Partitions of a GPU share its PCI address; they become parts of its agent.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/model.h"

#define KFD_FOLDER "/sys/class/kfd/kfd/topology/nodes"

/* A GPU node. */
struct kfd_node {
	unsigned number;
	kymo_agent_pci_t pci;
	unsigned part; /* of the PCI function */
	uint64_t memory;
	char *text; /* its properties */
	char name[128];
};

struct kfd_reader {
	struct topo *t;
	struct kfd_node *nodes; /* TOPO_NODES */
	unsigned count, cpus, denied, bad;
	uint64_t sum;             /* of memory banks */
	struct topo_agent *agent; /* whose caches are being read */
	char folder[TOPO_PATH];
	char *text; /* TOPO_TEXT, for files of a moment */
	unsigned links;
};

static uint64_t get_property(const char *text, const char *key)
{
	uint64_t v = 0;

	return topo_key_number(text, key, &v) ? v : 0;
}

/* ---- first: which nodes are there ---- */

static bool read_properties(struct kfd_reader *r, const char *name)
{
	char path[TOPO_PATH];

	return (size_t)snprintf(path, sizeof(path), "%s/%s/properties", r->folder, name) <
		       sizeof(path) &&
	       topo_read_file(path, r->text, TOPO_TEXT) == TOPO_READ_OK;
}

static void add_bank(const char *name, void *data)
{
	struct kfd_reader *r = data;
	uint64_t heap, bytes;

	if (!read_properties(r, name))
		return;
	heap = get_property(r->text,
			    "heap_type"); /* 1, 2: the device's own, visible or not to the host */
	bytes = get_property(r->text, "size_in_bytes");
	if ((heap == 1 || heap == 2) && bytes <= UINT64_MAX - r->sum)
		r->sum += bytes;
}

/*
 * Bits 15..0 are bus, device, function; of a partition the number is in bits 31..28, or with older
 * kernels in the function's bits, where PCI has no such function.
 */
static void read_location(struct kfd_reader *r, struct kfd_node *n)
{
	uint64_t location = get_property(n->text, "location_id");

	n->pci.domain = (uint32_t)get_property(n->text, "domain");
	n->pci.bus = (uint8_t)(location >> 8);
	n->pci.device = (uint8_t)(location >> 3 & 31);
	n->pci.function = (uint8_t)(location & 7);
	n->pci.vendor_id = (uint16_t)get_property(n->text, "vendor_id");
	n->pci.device_id = (uint16_t)get_property(n->text, "device_id");
	n->part = (unsigned)(location >> 28 & 15);
	if (n->pci.function && !n->part &&
	    !topo_by_pci(r->t, n->pci.domain, n->pci.bus, n->pci.device, n->pci.function) &&
	    topo_by_pci(r->t, n->pci.domain, n->pci.bus, n->pci.device, 0)) {
		n->part = n->pci.function;
		n->pci.function = 0;
	}
}

static void read_node(const char *name, void *data)
{
	struct kfd_reader *r = data;
	struct kfd_node *n = &r->nodes[r->count];
	char *end, path[TOPO_PATH], banks[TOPO_PATH];
	unsigned long number = strtoul(name, &end, 10);
	enum topo_read_result result;

	if (*end || number > UINT16_MAX || r->count == TOPO_NODES ||
	    !topo_path(r->t, path, KFD_FOLDER "/%s/properties", name)) {
		r->bad++;
		return;
	}
	result = topo_read_file(path, r->text, TOPO_TEXT);
	if (result != TOPO_READ_OK) {
		r->denied += result == TOPO_READ_DENIED;
		r->bad += result != TOPO_READ_DENIED;
		return;
	}
	if (get_property(r->text, "simd_count") == 0) {
		if (get_property(r->text, "cpu_cores_count"))
			r->cpus++;
		else
			r->bad++;
		return;
	}
	n->text = strdup(r->text);
	if (!n->text)
		return;
	n->number = (unsigned)number;
	read_location(r, n);
	if (topo_path(r->t, banks, KFD_FOLDER "/%s", name))
		topo_line(banks, "name", n->name, sizeof(n->name));
	r->sum = 0;
	if (topo_path(r->t, r->folder, KFD_FOLDER "/%s/mem_banks", name))
		topo_each(r->folder, "", add_bank, r);
	n->memory = r->sum ? r->sum : get_property(n->text, "local_mem_size");
	r->count++;
}

/* ---- then: what they are ---- */

static unsigned count_ones(const char *list)
{
	unsigned n = 0;

	for (; *list && *list != '\n'; list++)
		n += *list == '1' && (list[1] == ',' || !list[1] || list[1] == '\n');
	return n;
}

static void add_cache(const char *name, void *data)
{
	struct kfd_reader *r = data;
	kymo_agent_cache_t c = {0};
	uint64_t kib, type, level;
	char map[16384];

	if (!read_properties(r, name))
		return;
	kib = get_property(r->text, "size");
	level = get_property(r->text, "level");
	type = get_property(r->text, "type"); /* bits: 1 data, 2 instruction */
	if (!level || level > 15 || kib > UINT32_MAX)
		return;
	c.level = (uint32_t)level;
	c.bytes = kib * 1024;
	c.line_bytes = (uint32_t)get_property(r->text, "cache_line_size");
	c.type = (type & 3) == 1   ? KYMO_AGENT_CACHE_DATA
		 : (type & 3) == 2 ? KYMO_AGENT_CACHE_INSTRUCTION
				   : KYMO_AGENT_CACHE_UNIFIED;
	c.shared_by = topo_key(r->text, "sibling_map", map, sizeof(map)) ? count_ones(map) : 0;
	topo_cache(r->t, r->agent, &c, 1);
}

static void add_link(const char *name, void *data)
{
	struct kfd_reader *r = data;

	r->links += read_properties(r, name) && get_property(r->text, "type") == 11; /* XGMI */
}

static void add_properties(struct topo *t, struct topo_agent *a, const struct kfd_node *n)
{
	static const char keys[][24] = {
		"simd_per_cu",     "wave_front_size", "max_waves_per_simd", "lds_size_in_kb",
		"array_count",     "num_xcc",         "num_sdma_engines",   "num_sdma_xgmi_engines",
		"num_cp_queues",   "fw_version",      "sdma_fw_version",    "hive_id",
		"drm_render_minor"};
	uint64_t v;

	if (topo_key_number(n->text, "gfx_target_version", &v) && v < 1000000)
		topo_property(t, a, "gfx_target", "gfx%llu%llx%llx", (unsigned long long)v / 10000,
			      (unsigned long long)v / 100 % 100, (unsigned long long)v % 100);
	topo_property(t, a, "kfd_node", "%u", n->number);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (topo_key_number(n->text, keys[i], &v))
			topo_property(t, a, keys[i], "%llu", (unsigned long long)v);
}

static void describe_agent(struct kfd_reader *r, struct topo_agent *a, const struct kfd_node *n)
{
	uint64_t simd = get_property(n->text, "simd_count"),
		 per_cu = get_property(n->text, "simd_per_cu");
	uint64_t mhz = get_property(n->text, "max_engine_clk_fcompute"),
		 id = get_property(n->text, "unique_id");

	a->kfd_node = (int32_t)n->number;
	a->a.threads = simd <= UINT32_MAX ? (uint32_t)simd : 0;
	a->a.compute_units = per_cu ? (uint32_t)(a->a.threads / per_cu) : 0;
	if (mhz && mhz < UINT32_MAX)
		a->a.clock_max_hz = mhz * 1000000;
	if (!a->a.memory_bytes)
		a->a.memory_bytes = n->memory;
	if (id && !a->a.uuid)
		a->a.uuid = topo_format(r->t, "GPU-%016llx", (unsigned long long)id);
	if (!a->a.driver)
		a->a.driver = "amdgpu";
	if (*n->name)
		topo_property(r->t, a, "codename", "%s", n->name);
	add_properties(r->t, a, n);
	r->agent = a;
	if (topo_path(r->t, r->folder, KFD_FOLDER "/%u/caches", n->number))
		topo_each(r->folder, "", add_cache, r);
	r->links = 0;
	if (topo_path(r->t, r->folder, KFD_FOLDER "/%u/io_links", n->number))
		topo_each(r->folder, "", add_link, r);
	if (r->links)
		topo_property(r->t, a, "xgmi_links", "%u", r->links);
}

static bool same_place(const struct kfd_node *a, const struct kfd_node *b)
{
	return a->pci.domain == b->pci.domain && a->pci.bus == b->pci.bus &&
	       a->pci.device == b->pci.device && a->pci.function == b->pci.function;
}

/* The nodes at the place of one. */
struct siblings {
	unsigned count, before; /* the one in question */
	bool numbered;          /* the driver tells them apart */
};

static struct siblings siblings(const struct kfd_reader *r, const struct kfd_node *n)
{
	struct siblings s = {0};

	for (unsigned i = 0; i < r->count; i++)
		if (same_place(&r->nodes[i], n)) {
			s.before += &r->nodes[i] < n;
			s.numbered = s.numbered || r->nodes[i].part;
			s.count++;
		}
	return s;
}

/* Of all nodes that share the place of `n`. */
static uint64_t memory_at(const struct kfd_reader *r, const struct kfd_node *n)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < r->count; i++)
		if (same_place(&r->nodes[i], n))
			bytes += r->nodes[i].memory;
	return bytes;
}

/* The agent of the PCI function, made if PCI does not show it. */
static struct topo_agent *whole_agent(struct topo *t, const struct kfd_node *n)
{
	struct topo_agent *a =
		topo_by_pci(t, n->pci.domain, n->pci.bus, n->pci.device, n->pci.function);

	if (!a) {
		a = topo_agent_new(t, KYMO_AGENT_GPU);
		if (!a)
			return NULL;
		a->pci = n->pci;
		a->has_pci = true;
	}
	a->a.type = KYMO_AGENT_GPU;
	return a;
}

static struct topo_agent *partition_agent(struct kfd_reader *r, struct topo_agent *up,
					  const struct kfd_node *n, const struct siblings *s)
{
	struct topo_agent *a = topo_agent_new(r->t, KYMO_AGENT_GPU);

	if (!a)
		return NULL;
	a->a.parent = up->a.id;
	a->a.numa_node = up->a.numa_node;
	a->a.driver = up->a.driver;
	a->a.version = up->a.version;
	a->a.name = up->a.name;
	a->a.partition = topo_format(r->t, "%u", s->numbered ? n->part : s->before);
	a->pci = up->pci;
	a->has_pci = true;
	return a;
}

static void add_node(struct kfd_reader *r, const struct kfd_node *n)
{
	struct topo_agent *up = whole_agent(r->t, n), *a = up;
	struct siblings s = siblings(r, n);

	if (!up)
		return;
	if (s.count > 1)
		a = partition_agent(r, up, n, &s);
	if (!a)
		return;
	describe_agent(r, a, n);
	if (a == up)
		return;
	up->a.compute_units += a->a.compute_units;
	up->a.threads += a->a.threads;
	if (a->a.clock_max_hz > up->a.clock_max_hz)
		up->a.clock_max_hz = a->a.clock_max_hz;
	if (s.before == 0)
		topo_property(r->t, up, "partitions", "%u", s.count);
	if (s.before == 0 && !up->a.memory_bytes)
		up->a.memory_bytes = memory_at(r, n);
}

static bool has_amd(const struct topo *t)
{
	for (uint32_t i = 0; i < t->count; i++)
		if (t->agents[i]->has_pci && t->agents[i]->pci.vendor_id == 0x1002 &&
		    t->agents[i]->a.type == KYMO_AGENT_GPU)
			return true;
	return false;
}

static void add_source(struct kfd_reader *r)
{
	if (r->denied)
		topo_source_add(r->t, "kfd", KYMO_ERROR_SYSTEM,
				"%u GPU nodes; no permission to read %u more (a container must be "
				"given the devices)",
				r->count, r->denied);
	else if (r->bad)
		topo_source_add(r->t, "kfd", KYMO_ERROR_CORRUPT,
				"%u GPU nodes; %u nodes make no sense and are left out", r->count,
				r->bad);
	else
		topo_source_add(r->t, "kfd", KYMO_OK, "%u GPU nodes, %u CPU nodes", r->count,
				r->cpus);
}

void topo_read_kfd(struct topo *t)
{
	struct kfd_reader r = {.t = t};
	char folder[TOPO_PATH];

	r.nodes = calloc(TOPO_NODES, sizeof(*r.nodes));
	r.text = malloc(TOPO_TEXT);
	if (!r.nodes || !r.text)
		topo_source_add(t, "kfd", KYMO_ERROR_NO_MEMORY, "not enough memory to read it");
	else if (!topo_path(t, folder, KFD_FOLDER) || !topo_each(folder, "", read_node, &r))
		topo_source_add(
			t, "kfd", errno == EACCES ? KYMO_ERROR_SYSTEM : KYMO_ERROR_NOT_FOUND,
			"%s%s", errno == EACCES ? "no permission: " : "",
			has_amd(t) ? "an AMD GPU is there, but its driver offers no compute; "
				     "compute units and caches are not known"
				   : "AMD's compute driver is not loaded");
	else {
		for (unsigned i = 0; i < r.count; i++)
			add_node(&r, &r.nodes[i]);
		add_source(&r);
	}
	for (unsigned i = 0; r.nodes && i < r.count; i++)
		free(r.nodes[i].text);
	free(r.nodes);
	free(r.text);
}
