/* SPDX-License-Identifier: Apache-2.0 */
/* See fake_sysfs.h. Anything that fails ends the test program. */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#include "fake_sysfs.h"

static void check(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	abort();
}

const char *fake_root(void)
{
	const char *folder = getenv("TMPDIR");
	char *root = NULL;

	check(asprintf(&root, "%s/kymo-sysfs-XXXXXX", folder ? folder : "/tmp") > 0, "asprintf");
	check(mkdtemp(root) != NULL, root);
	return root;
}

void fake_remove(const char *root)
{
	check(file_remove_tree(root), root);
	free((char *)(uintptr_t)root);
}

void fake_bytes(const char *root, const char *path, const void *data, size_t bytes)
{
	char full[PATH_MAX];

	snprintf(full, sizeof(full), "%s%s", root, path);
	check(file_make_parents(full, 0755), full);
	check(file_replace(full, data, bytes) && chmod(full, 0644) == 0, full);
}

void fake_file(const char *root, const char *path, const char *format, ...)
{
	char text[16384];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fake_bytes(root, path, text, strlen(text));
}

void fake_link(const char *root, const char *path, const char *target)
{
	char full[PATH_MAX], to[PATH_MAX];

	snprintf(full, sizeof(full), "%s%s", root, path);
	snprintf(to, sizeof(to), "%s%s", root, target);
	check(file_make_parents(full, 0755), full);
	check(symlink(to, full) == 0, full);
}

/* ---- CPUs ---- */

static const char *list2(unsigned a, unsigned b)
{
	static char text[32];

	snprintf(text, sizeof(text), "%u,%u", a, b);
	return text;
}

static void cache(const char *root, unsigned cpu, unsigned index, unsigned level, const char *type,
		  const char *size, const char *shared)
{
	char path[256];

#define CACHE(file, ...)                                                                           \
	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/cache/index%u/" file, cpu,     \
		 index);                                                                           \
	fake_file(root, path, __VA_ARGS__)
	CACHE("level", "%u\n", level);
	CACHE("type", "%s\n", type);
	CACHE("size", "%s\n", size);
	CACHE("coherency_line_size", "64\n");
	CACHE("shared_cpu_list", "%s\n", shared);
#undef CACHE
}

static void cpu(const char *root, unsigned n, unsigned package, const char *core,
		const char *of_package)
{
	char path[256];

#define CPU(file, ...)                                                                             \
	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/" file, n);                    \
	fake_file(root, path, __VA_ARGS__)
	CPU("topology/physical_package_id", "%u\n", package);
	CPU("topology/core_cpus_list", "%s\n", core);
	CPU("cpufreq/cpuinfo_max_freq", "%u\n",
	    n ? 3000000 + n : 3000999); /* the first or the last is the fastest */
#undef CPU
	cache(root, n, 0, 1, "Data", "32K", core);
	cache(root, n, 1, 1, "Instruction", "32K", core);
	cache(root, n, 2, 2, "Unified", "1024K", core);
	cache(root, n, 3, 3, "Unified", "32768K", of_package);
}

void fake_cpus(const char *root, unsigned packages, unsigned cores)
{
	unsigned total = packages * cores;
	char path[128], list[64], info[8192] = "";

	fake_file(root, "/sys/devices/system/cpu/online", "0-%u\n", 2 * total - 1);
	for (unsigned p = 0; p < packages; p++) {
		unsigned a = p * cores, b = a + total;

		snprintf(list, sizeof(list), "%u-%u,%u-%u", a, a + cores - 1, b, b + cores - 1);
		for (unsigned c = 0; c < cores; c++) {
			cpu(root, a + c, p, list2(a + c, b + c), list);
			cpu(root, b + c, p, list2(a + c, b + c), list);
		}
		snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/cpulist", p);
		fake_file(root, path, "%s\n", list);
		snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/meminfo", p);
		fake_file(root, path,
			  "Node %u MemTotal:       67108864 kB\nNode %u MemFree: 1 kB\n", p, p);
	}
	for (unsigned i = 0; i < 2 * total; i++)
		snprintf(info + strlen(info), sizeof(info) - strlen(info),
			 "processor\t: %u\nvendor_id\t: GenuineIntel\nmodel\t\t: 207\n"
			 "model name\t: Test CPU %u @ 2.00GHz\n\n",
			 i, i % total / cores);
	fake_file(root, "/proc/cpuinfo", "%s", info);
}

/* ---- devices ---- */

void fake_pci(const char *root, const char *address, unsigned class_code, unsigned vendor,
	      unsigned device, const char *driver, int numa_node)
{
	char path[512], target[256];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s", address);
	snprintf(target, sizeof(target), "/sys/devices/pci0000:00/%s", address);
	fake_link(root, path, target);
#define PCI(file, ...)                                                                             \
	snprintf(path, sizeof(path), "%s/" file, target);                                          \
	fake_file(root, path, __VA_ARGS__)
	PCI("class", "0x%06x\n", class_code);
	PCI("vendor", "0x%04x\n", vendor);
	PCI("device", "0x%04x\n", device);
	PCI("subsystem_vendor", "0x%04x\n", vendor);
	PCI("subsystem_device", "0x0001\n");
	PCI("revision", "0xa1\n");
	PCI("numa_node", "%d\n", numa_node);
	PCI("power/runtime_status", "active\n");
#undef PCI
	if (!*driver)
		return;
	snprintf(path, sizeof(path), "%s/driver", target);
	snprintf(target, sizeof(target), "/sys/bus/pci/drivers/%s", driver);
	fake_link(root, path, target);
}

void fake_class(const char *root, const char *class, const char *name, const char *address)
{
	char path[256], target[256];

	snprintf(path, sizeof(path), "/sys/class/%s/%s/device", class, name);
	snprintf(target, sizeof(target), "/sys/devices/pci0000:00/%s", address);
	fake_link(root, path, target);
}

void fake_kfd_cpu(const char *root, unsigned node)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/topology/nodes/%u/properties", node);
	fake_file(root, path, "cpu_cores_count 48\nsimd_count 0\nmem_banks_count 1\n");
	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/topology/nodes/%u/gpu_id", node);
	fake_file(root, path, "0\n");
}

void fake_kfd_gpu(const char *root, unsigned node, unsigned location, uint64_t unique_id)
{
	char path[160];

#define KFD(file, ...)                                                                             \
	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/topology/nodes/%u/" file, node);          \
	fake_file(root, path, __VA_ARGS__)
	KFD("name", "ip discovery\n");
	KFD("properties",
	    "cpu_cores_count 0\nsimd_count 152\nmem_banks_count 1\ncaches_count 2\nio_links_count "
	    "2\n"
	    "wave_front_size 64\nsimd_per_cu 4\ngfx_target_version 90402\nvendor_id 4098\n"
	    "device_id 29857\nlocation_id %u\ndomain 0\ndrm_render_minor 128\nnum_xcc 1\n"
	    "max_engine_clk_fcompute 2100\nlocal_mem_size 0\nunique_id %llu\n",
	    location, (unsigned long long)unique_id);
	KFD("mem_banks/0/properties", "heap_type 1\nsize_in_bytes 25769803776\nwidth 8192\n");
	KFD("mem_banks/1/properties", "heap_type 4\nsize_in_bytes 65536\nwidth 0\n"); /* scratch */
	KFD("caches/0/properties", "processor_id_low 1\nlevel 1\nsize 32\ncache_line_size "
				   "128\ntype 9\nsibling_map 1,0,0,\n");
	KFD("caches/1/properties", "processor_id_low 2\nlevel 1\nsize 32\ncache_line_size "
				   "128\ntype 9\nsibling_map 0,1,0,\n");
	KFD("caches/2/properties",
	    "processor_id_low 1\nlevel 2\nsize 4096\ncache_line_size 128\ntype 9\n"
	    "sibling_map 1,1,1,\n");
	KFD("io_links/0/properties", "type 2\nnode_from 1\nnode_to 0\n");
	KFD("io_links/1/properties", "type 11\nnode_from 1\nnode_to 2\n");
#undef KFD
}

void fake_nvidia(const char *root, const char *address, unsigned minor, const char *uuid)
{
	char path[128];

	snprintf(path, sizeof(path), "/proc/driver/nvidia/gpus/%s/information", address);
	fake_file(root, path,
		  "Model: \t\t NVIDIA H200\nIRQ:   \t\t 210\nGPU UUID: \t %s\n"
		  "Video BIOS: \t 96.00.a5.00.01\nBus Type: \t PCIe\nBus Location: \t %s\n"
		  "Device Minor: \t %u\nGPU Firmware: \t 580.95.05\nGPU Excluded:\t No\n",
		  uuid, address, minor);
	fake_file(root, "/proc/driver/nvidia/version",
		  "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release "
		  "Build\n"
		  "GCC version:  gcc version 12.2.0\n");
}
