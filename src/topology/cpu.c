/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU packages with cores, hardware threads, caches and NUMA nodes, as sysfs shows them; names and
 * clocks. hwloc, where it is asked first, replaces the part that counts cores and caches.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "topology/model.h"

#define CPUINFO_MAX ((size_t)8 << 20)
#define CPU_FOLDER  "/sys/devices/system/cpu"

static bool has_cpu(const uint64_t *bits, unsigned cpu)
{
	return cpu < TOPO_CPUS && bits[cpu / 64] >> cpu % 64 & 1;
}

static unsigned first_cpu(const uint64_t *bits)
{
	for (unsigned i = 0; i < TOPO_CPUS / 64; i++)
		if (bits[i])
			return i * 64 + (unsigned)__builtin_ctzll(bits[i]);
	return TOPO_CPUS;
}

static unsigned count_common(const uint64_t *a, const uint64_t *b)
{
	unsigned n = 0;

	for (unsigned i = 0; i < TOPO_CPUS / 64; i++)
		n += (unsigned)__builtin_popcountll(a[i] & b[i]);
	return n;
}

struct topo_package *topo_package(struct topo *t, struct topo_packages *all, int64_t number)
{
	struct topo_package *p;

	for (uint32_t i = 0; i < all->count; i++)
		if (all->p[i]->number == number)
			return all->p[i];
	if (all->count == TOPO_PACKAGES) {
		t->lost++;
		return NULL;
	}
	p = topo_alloc(t, sizeof(*p));
	if (!p)
		return NULL;
	p->agent = topo_agent_new(t, KYMO_AGENT_CPU);
	p->number = number;
	if (!p->agent)
		return NULL;
	topo_property(t, p->agent, "package", "%lld", (long long)number);
	all->p[all->count++] = p;
	return p;
}

/* ---- packages, cores, caches ---- */

struct cpu_reader {
	struct topo *t;
	struct topo_packages *all;
	struct topo_package *package; /* of the CPU whose caches are being read */
	unsigned cpu;
	char folder[TOPO_PATH];
	uint64_t online[TOPO_CPUS / 64];
	uint64_t set[TOPO_CPUS / 64];
};

/* Of the CPUs that share something the first one counts it. */
static bool is_first(struct cpu_reader *r)
{
	for (unsigned i = 0; i < TOPO_CPUS / 64; i++)
		r->set[i] &= r->package->cpus[i];
	return !has_cpu(r->set, r->cpu) || first_cpu(r->set) == r->cpu;
}

static uint64_t cache_bytes(const char *folder)
{
	char text[32], *end;
	uint64_t v;

	if (!topo_line(folder, "size", text, sizeof(text)) || text[0] < '0' || text[0] > '9')
		return 0;
	v = strtoull(text, &end, 10);
	if (v > UINT32_MAX)
		return 0;
	return *end == 'K' ? v << 10 : *end == 'M' ? v << 20 : *end ? 0 : v;
}

static void read_cache(const char *name, void *data)
{
	struct cpu_reader *r = data;
	kymo_agent_cache_t c = {.type = KYMO_AGENT_CACHE_UNIFIED};
	char folder[TOPO_PATH], type[32];
	uint64_t level = 0, line = 0;
	int shared;

	if ((size_t)snprintf(folder, sizeof(folder), "%s/%s", r->folder, name) >= sizeof(folder))
		return;
	shared = topo_list_file(folder, "shared_cpu_list", r->set, TOPO_CPUS);
	if (!is_first(r) || !topo_number(folder, "level", &level) || !level || level > 15)
		return;
	topo_number(folder, "coherency_line_size", &line);
	if (topo_line(folder, "type", type, sizeof(type)) && type[0] != 'U')
		c.type = type[0] == 'I' ? KYMO_AGENT_CACHE_INSTRUCTION : KYMO_AGENT_CACHE_DATA;
	c.level = (uint32_t)level;
	c.bytes = cache_bytes(folder);
	c.line_bytes = (uint32_t)line;
	c.shared_by = shared > 0 ? (uint32_t)shared : 1;
	topo_cache(r->t, r->package->agent, &c, 1);
}

/* Cores and caches of one CPU, as far as it is the first of those that share them. */
static void read_cpu(struct cpu_reader *r)
{
	if (!topo_path(r->t, r->folder, CPU_FOLDER "/cpu%u/topology", r->cpu))
		return;
	if (topo_list_file(r->folder, "core_cpus_list", r->set, TOPO_CPUS) < 0)
		topo_list_file(r->folder, "thread_siblings_list", r->set, TOPO_CPUS);
	r->package->agent->a.compute_units += is_first(r);
	r->package->agent->a.threads++;
	if (topo_path(r->t, r->folder, CPU_FOLDER "/cpu%u/cache", r->cpu))
		topo_each(r->folder, "index", read_cache, r);
}

static void find_package(struct cpu_reader *r, unsigned cpu)
{
	struct topo_package *p;
	int64_t number = 0;

	if (!topo_path(r->t, r->folder, CPU_FOLDER "/cpu%u/topology", cpu))
		return;
	if (!topo_signed(r->folder, "physical_package_id", &number) || number < 0)
		number = 0; /* machines with one package may not number it */
	p = topo_package(r->t, r->all, number);
	if (p)
		p->cpus[cpu / 64] |= (uint64_t)1 << cpu % 64;
}

static void find_cpu(const char *name, void *data)
{
	struct cpu_reader *r = data;
	char *end;
	unsigned long cpu = strtoul(name + 3, &end, 10);

	if (end > name + 3 && !*end && cpu < TOPO_CPUS)
		r->online[cpu / 64] |= (uint64_t)1 << cpu % 64;
}

/* False: sysfs does not tell of CPUs. */
static bool read_sysfs(struct topo *t, struct topo_packages *all)
{
	struct cpu_reader *r = calloc(1, sizeof(*r));
	uint64_t any[TOPO_CPUS / 64];

	if (!r)
		return false;
	r->t = t;
	r->all = all;
	if (topo_path(t, r->folder, CPU_FOLDER) &&
	    topo_list_file(r->folder, "online", r->online, TOPO_CPUS) <= 0) {
		memset(r->online, 0, sizeof(r->online));
		topo_each(r->folder, "cpu", find_cpu, r);
	}
	for (unsigned cpu = 0; cpu < TOPO_CPUS; cpu++)
		if (has_cpu(r->online, cpu))
			find_package(r, cpu);
	for (uint32_t i = 0; i < all->count; i++) {
		r->package = all->p[i];
		memcpy(any, r->package->cpus, sizeof(any));
		for (r->cpu = 0; r->cpu < TOPO_CPUS; r->cpu++)
			if (has_cpu(any, r->cpu))
				read_cpu(r);
	}
	free(r);
	return all->count > 0;
}

/* ---- NUMA nodes ---- */

struct node_reader {
	struct topo *t;
	struct topo_packages *all;
	uint32_t count;
	struct {
		unsigned number;
		struct topo_package *first; /* NULL: no CPU in it */
		uint64_t bytes;
	} n[TOPO_NODES];
};

static uint64_t node_bytes(struct topo *t, unsigned node)
{
	char path[TOPO_PATH], text[8192], key[48];
	uint64_t kib = 0;

	snprintf(key, sizeof(key), "Node %u MemTotal", node);
	if (!topo_path(t, path, "/sys/devices/system/node/node%u/meminfo", node) ||
	    topo_read_file(path, text, sizeof(text)) != TOPO_READ_OK ||
	    !topo_key_number(text, key, &kib) || kib > UINT64_MAX / 1024)
		return 0;
	return kib * 1024;
}

static void read_node(const char *name, void *data)
{
	struct node_reader *r = data;
	uint64_t cpus[TOPO_CPUS / 64];
	char folder[TOPO_PATH], *end;
	unsigned long number = strtoul(name + 4, &end, 10);
	uint32_t i = r->count;

	if (end == name + 4 || *end || number > UINT16_MAX || i == TOPO_NODES ||
	    !topo_path(r->t, folder, "/sys/devices/system/node/%s", name))
		return;
	r->n[i].number = (unsigned)number;
	r->n[i].bytes = node_bytes(r->t, (unsigned)number);
	if (topo_list_file(folder, "cpulist", cpus, TOPO_CPUS) < 0)
		memset(cpus, 0, sizeof(cpus));
	for (uint32_t p = 0; p < r->all->count; p++) {
		unsigned threads = count_common(cpus, r->all->p[p]->cpus);

		if (!threads)
			continue;
		topo_numa(r->t, r->all->p[p]->agent, (uint32_t)number, threads, r->n[i].bytes);
		if (!r->n[i].first) {
			r->n[i].first = r->all->p[p];
			r->n[i].first->agent->a.memory_bytes += r->n[i].bytes;
		}
	}
	r->count++;
}

/* The package nearest to a node that has memory only, by the kernel's distances. */
static struct topo_package *nearest(struct node_reader *r, uint32_t node)
{
	struct topo_package *best = NULL;
	unsigned long least = ULONG_MAX;
	char folder[TOPO_PATH], line[4096], *s = line, *end;

	if (!topo_path(r->t, folder, "/sys/devices/system/node/node%u", r->n[node].number) ||
	    !topo_line(folder, "distance", line, sizeof(line)))
		return r->all->p[0];
	for (uint32_t i = 0; i < r->count; i++, s = end) {
		unsigned long distance = strtoul(s, &end, 10);

		if (end == s)
			break;
		if (r->n[i].first && distance < least) {
			least = distance;
			best = r->n[i].first;
		}
	}
	return best ? best : r->all->p[0];
}

/* A kernel that knows no NUMA: all memory is near. */
static void one_node(struct topo *t, struct topo_packages *all)
{
	char path[TOPO_PATH], text[8192];
	uint64_t kib = 0;

	if (!topo_path(t, path, "/proc/meminfo") ||
	    topo_read_file(path, text, sizeof(text)) != TOPO_READ_OK ||
	    !topo_key_number(text, "MemTotal", &kib) || kib > UINT64_MAX / 1024)
		return;
	for (uint32_t i = 0; i < all->count; i++)
		topo_numa(t, all->p[i]->agent, 0, all->p[i]->agent->a.threads, kib * 1024);
	all->p[0]->agent->a.memory_bytes = kib * 1024;
}

static void read_nodes(struct topo *t, struct topo_packages *all)
{
	struct node_reader *r = calloc(1, sizeof(*r));
	char folder[TOPO_PATH];

	if (!r)
		return;
	r->t = t;
	r->all = all;
	if (topo_path(t, folder, "/sys/devices/system/node"))
		topo_each(folder, "node", read_node, r);
	for (uint32_t i = 0; i < r->count; i++)
		if (!r->n[i].first && r->n[i].bytes) {
			struct topo_package *p = nearest(r, i);

			topo_numa(t, p->agent, r->n[i].number, 0, r->n[i].bytes);
			p->agent->a.memory_bytes += r->n[i].bytes;
		}
	if (!r->count)
		one_node(t, all);
	free(r);
}

/* ---- names ---- */

static const char *vendor_name(const char *id)
{
	static const struct {
		char id[16], name[12];
	} known[] = {
		{"GenuineIntel", "Intel"},   {"AuthenticAMD", "AMD"}, {"HygonGenuine", "Hygon"},
		{"CentaurHauls", "Zhaoxin"}, {"0x41", "Arm"},         {"0x42", "Broadcom"},
		{"0x43", "Cavium"},          {"0x46", "Fujitsu"},     {"0x48", "HiSilicon"},
		{"0x4e", "NVIDIA"},          {"0x50", "Ampere"},      {"0x51", "Qualcomm"},
		{"0x61", "Apple"},           {"0xc0", "Ampere"},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(known[i].id, id) == 0)
			return known[i].name;
	return id;
}

/* The part of /proc/cpuinfo that is about `cpu`, terminated in place; "" if there is none. */
static char *cpuinfo_block(char *text, unsigned cpu)
{
	char *end;
	uint64_t number;

	for (; *text; text = end) {
		char kept;

		end = strstr(text, "\n\n");
		end = end ? end + 1 : text + strlen(text);
		kept = *end;
		*end = '\0';
		if (topo_key_number(text, "processor", &number) && number == cpu)
			return text;
		*end = kept;
		end += strspn(end, "\n");
	}
	return text;
}

static void describe_package(struct topo *t, struct topo_package *p, const char *cpuinfo)
{
	static const char keys[][12] = {"cpu family", "model",    "stepping",
					"microcode",  "CPU part", "uarch"};
	kymo_agent_t *a = &p->agent->a;
	char *text = strdup(cpuinfo), *block, value[256];

	if (!text)
		return;
	block = cpuinfo_block(text, first_cpu(p->cpus));
	if (topo_key(block, "model name", value, sizeof(value)) ||
	    topo_key(block, "cpu", value, sizeof(value)))
		a->name = topo_text(t, value);
	if (topo_key(block, "vendor_id", value, sizeof(value)) ||
	    topo_key(block, "CPU implementer", value, sizeof(value)))
		a->vendor = topo_text(t, vendor_name(value));
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (topo_key(block, keys[i], value, sizeof(value)))
			topo_property(t, p->agent, keys[i], "%s", value);
	free(text);
}

static void read_clock(struct topo *t, struct topo_package *p)
{
	char folder[TOPO_PATH];
	uint64_t khz;

	for (unsigned cpu = 0; cpu < TOPO_CPUS; cpu++)
		if (has_cpu(p->cpus, cpu) &&
		    topo_path(t, folder, CPU_FOLDER "/cpu%u/cpufreq", cpu) &&
		    topo_number(folder, "cpuinfo_max_freq", &khz) && khz < UINT32_MAX &&
		    khz * 1000 > p->agent->a.clock_max_hz)
			p->agent->a.clock_max_hz = khz * 1000;
}

static void describe_all(struct topo *t, struct topo_packages *all)
{
	char path[TOPO_PATH], *text = malloc(CPUINFO_MAX);

	if (!text)
		return;
	if (!topo_path(t, path, "/proc/cpuinfo") ||
	    topo_read_file(path, text, CPUINFO_MAX) != TOPO_READ_OK)
		text[0] = '\0';
	for (uint32_t i = 0; i < all->count; i++) {
		describe_package(t, all->p[i], text);
		read_clock(t, all->p[i]);
		if (!all->p[i]->agent->a.name)
			all->p[i]->agent->a.name = topo_text(t, "CPU");
	}
	free(text);
}

void topo_read_cpus(struct topo *t, bool with_hwloc)
{
	struct topo_packages all = {0};
	bool by_hwloc = with_hwloc && topo_read_hwloc(t, &all);

	if (!by_hwloc && !read_sysfs(t, &all)) {
		topo_source_add(t, "cpu", KYMO_ERROR_NOT_FOUND,
				"%s" CPU_FOLDER " lists no CPUs: is sysfs mounted?", t->root);
		return;
	}
	read_nodes(t, &all);
	describe_all(t, &all);
	topo_source_add(t, "cpu", KYMO_OK, "%u package%s%s", all.count, all.count == 1 ? "" : "s",
			by_hwloc ? ", cores and caches by hwloc" : "");
}
